"""Two recordings of walking, or the two sides of one, against each other."""

from exactik.studio.report.comparison._compare import (
    GaitComparison,
    compare_sides,
    compare_tracks,
    describe_change,
    write_cycles,
)
from exactik.studio.report.comparison._page import write_comparison
