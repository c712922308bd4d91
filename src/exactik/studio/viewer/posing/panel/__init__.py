"""The panel of the posing page."""

from exactik.studio.viewer.posing.panel._compare import (
    SOLVER_COLOURS,
    find_arrival,
    format_table,
    make_cost_curves,
)
from exactik.studio.viewer.posing.panel._locks import TO_LAST, TO_NEXT, find_lock_span
from exactik.studio.viewer.posing.panel._onion import choose_keys
from exactik.studio.viewer.posing.panel._panel import Panel
from exactik.studio.viewer.posing.panel._timeline import describe_timeline, read_time
from exactik.studio.viewer.posing.panel._words import REACHED, PoseWords
