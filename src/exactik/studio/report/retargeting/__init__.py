"""The report on a motion that another figure has taken over."""

from exactik.studio.report.retargeting._measures import measure_retargeting
from exactik.studio.report.retargeting._page import (
    render_retargeting_report,
    write_retargeting_report,
)
from exactik.studio.report.retargeting._scene import compose_pair
