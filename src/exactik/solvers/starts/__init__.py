"""Where descents start, and what several of them find."""

from exactik.solvers.starts._solutions import find_solutions
from exactik.solvers.starts._table import (
    count_threads,
    make_start_table,
    require_count,
    require_seed,
    require_start,
)
