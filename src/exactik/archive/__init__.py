"""Archives: thousands of takes on the workers of a Dask cluster, resumable at any point.

`sources` lists takes, `plan` enters what is asked of each into the `ledger` (a `row` a take), `run`
sends what waits to workers, a `take` is what one of them does, `status`, `summary` and `index` tell
of the whole.
"""

from exactik.archive._archive import TIME_LIMIT, ArchiveResult, archive
from exactik.archive._ledger import FILTERS
from exactik.archive._progress import Progress
from exactik.archive._sources import ListedTake, list_takes
from exactik.archive._status import read_counts
from exactik.archive.tasks import SEGMENT_FRAMES, TakeOptions

__all__ = [
    "FILTERS",
    "SEGMENT_FRAMES",
    "TIME_LIMIT",
    "ArchiveResult",
    "ListedTake",
    "Progress",
    "TakeOptions",
    "archive",
    "list_takes",
    "read_counts",
]
