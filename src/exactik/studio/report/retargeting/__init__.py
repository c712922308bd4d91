"""The report on a motion that another figure has taken over."""

from exactik.studio.report.retargeting._measures import measure_retargeting
from exactik.studio.report.retargeting._page import (
    compose_pair,
    render_retargeting_report,
    write_retargeting_report,
)
