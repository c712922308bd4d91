"""The panel of the posing page."""

from exactik.studio.viewer.posing.panel._advanced import (
    SOLVER_COLOURS,
    find_arrival,
    format_table,
    make_cost_curves,
)
from exactik.studio.viewer.posing.panel._panel import Panel
from exactik.studio.viewer.posing.panel._timeline import (
    TO_LAST,
    TO_NEXT,
    choose_keys,
    describe_timeline,
    find_lock_span,
    read_time,
)
from exactik.studio.viewer.posing.panel._words import REACHED, PoseWords
