"""What workers do: a take solved, whole or in parts, or a subject calibrated; and their storage."""

from exactik.archive.tasks._clip import ClipOptions, ClipTask
from exactik.archive.tasks._join import SEAM_LIMIT, JoinTask
from exactik.archive.tasks._outputs import SEGMENT_FRAMES, TakeOptions, draw_curve
from exactik.archive.tasks._parts import find_window, join_motions
from exactik.archive.tasks._provenance import (
    find_result,
    hash_facts,
    publish_result,
    read_provenance,
    solver_version,
)
from exactik.archive.tasks._storage import (
    NO_SPACE,
    Storage,
    fetch_file,
    fingerprint_of,
    hash_file,
    is_remote,
    make_absolute,
    make_name,
    open_file_system,
    try_often,
)
from exactik.archive.tasks._subjects import SUBJECT_MARK, SubjectTask
from exactik.archive.tasks._take import Figure, TakeTask
from exactik.archive.tasks._worker import Task, TaskResult, forget_keys, run_task
