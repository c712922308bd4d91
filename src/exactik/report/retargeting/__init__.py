"""The report on a motion that another figure has taken over."""

from exactik.report.retargeting._page import render_retargeting_report, write_retargeting_report

__all__ = ["render_retargeting_report", "write_retargeting_report"]
