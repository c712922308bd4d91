"""What there is to say about a solved recording: findings, and the verdict that they come to.

`diagnose` measures once, one small function a criterion; each `Finding` has its value and what the
table of thresholds makes of it. `judge_findings` puts those that are beyond in order. Reports,
bookmarks and summaries read the same list. docs/verdict.md says where each threshold comes from.
"""

from exactik.recordings.diagnosis._attention import explain_frames, list_stretches
from exactik.recordings.diagnosis._context import MarkerUse, RecordingContext, UpAxis
from exactik.recordings.diagnosis._evidence import Evidence, count_poses, find_span, is_on_subject
from exactik.recordings.diagnosis._far_markers import find_far_stretches, find_marker_jumps
from exactik.recordings.diagnosis._figure import (
    PlaceDifference,
    find_middle_plane,
    find_place_differences,
    find_unpaired_markers,
    measure_heading,
)
from exactik.recordings.diagnosis._finding import Finding, measure
from exactik.recordings.diagnosis._limbs import LimbFacts
from exactik.recordings.diagnosis._swaps import measure_exchange
from exactik.recordings.diagnosis._thresholds import THRESHOLDS, Threshold
from exactik.recordings.diagnosis._verdict import (
    EXIT_CODES,
    GRADE_WORDS,
    Diagnosis,
    RecordingVerdict,
    diagnose,
    judge_findings,
)
from exactik.recordings.diagnosis._words import (
    CLEARLY_NEARER,
    STRETCHES,
    StretchWords,
    describe_swap,
)

__all__ = [
    "CLEARLY_NEARER",
    "EXIT_CODES",
    "GRADE_WORDS",
    "STRETCHES",
    "THRESHOLDS",
    "Diagnosis",
    "Evidence",
    "Finding",
    "LimbFacts",
    "MarkerUse",
    "PlaceDifference",
    "RecordingContext",
    "RecordingVerdict",
    "StretchWords",
    "Threshold",
    "UpAxis",
    "count_poses",
    "describe_swap",
    "diagnose",
    "explain_frames",
    "find_far_stretches",
    "find_marker_jumps",
    "find_middle_plane",
    "find_place_differences",
    "find_span",
    "find_unpaired_markers",
    "is_on_subject",
    "judge_findings",
    "list_stretches",
    "measure",
    "measure_exchange",
    "measure_heading",
]
