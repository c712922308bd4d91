"""Archives: thousands of takes on the workers of a Dask cluster, resumable at any point.

`sources` lists takes, `plan` enters what is asked of each into the `ledger` (a `row` a take), `run`
sends what waits to workers, a `take` is what one of them does, `status`, `summary` and `index` tell
of the whole.
"""

import sys as _sys

from exactik._renamed import answer_calls as _answer_calls
from exactik.archive._archive import ArchiveResult, retarget_archive, solve_archive
from exactik.archive._ledger import FILTERS, Ledger
from exactik.archive._options import (
    LOST_LOOKS,
    TIME_LIMIT,
    ArchiveOptions,
    Progress,
    RetargetArchiveOptions,
    RunOptions,
    kept_up,
    open_client,
)
from exactik.archive._rows import LedgerRow, read_counts
from exactik.archive._run import MAX_UNSTARTED, Queue
from exactik.archive._sources import LISTED_FOLDERS, ListedTake, SkeletonSource, list_takes
from exactik.archive._summary import write_index
from exactik.archive.tasks import SEGMENT_FRAMES, ClipOptions, TakeOptions

__all__ = [
    "FILTERS",
    "LISTED_FOLDERS",
    "LOST_LOOKS",
    "MAX_UNSTARTED",
    "SEGMENT_FRAMES",
    "TIME_LIMIT",
    "ArchiveOptions",
    "ArchiveResult",
    "ClipOptions",
    "Ledger",
    "LedgerRow",
    "ListedTake",
    "Progress",
    "Queue",
    "RetargetArchiveOptions",
    "RunOptions",
    "SkeletonSource",
    "TakeOptions",
    "kept_up",
    "list_takes",
    "open_client",
    "read_counts",
    "retarget_archive",
    "solve_archive",
    "write_index",
]

_answer_calls(_sys.modules[__name__], "exactik.archive()", "exactik.solve_archive()", solve_archive)
