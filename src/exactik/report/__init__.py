"""What came of a solved recording: in numbers, in words, and as a page to open."""

from exactik.report._headline import headline_of
from exactik.report._page import render_report, write_report
from exactik.report._playback import render_track_card
from exactik.report._series import Bins, encode_png, error_colours, round_axis_end
from exactik.report._summary import collect_versions, summary_of
from exactik.report.retargeting import render_retargeting_report, write_retargeting_report

__all__ = [
    "Bins",
    "collect_versions",
    "encode_png",
    "error_colours",
    "headline_of",
    "render_report",
    "render_retargeting_report",
    "render_track_card",
    "round_axis_end",
    "summary_of",
    "write_report",
    "write_retargeting_report",
]
