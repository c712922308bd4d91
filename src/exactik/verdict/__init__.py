"""Whether a solved recording is good, usable with care, or not to be used, and for which reasons.

`collect_facts` measures, one small function a criterion compares with the table of thresholds, and
`judge_track` puts the reasons in order. docs/verdict.md says where each threshold comes from.
"""

from exactik.verdict._context import MarkerUse, RecordingContext, UpAxis
from exactik.verdict._criteria import judge_facts
from exactik.verdict._facts import RecordingFacts, collect_facts, is_on_subject
from exactik.verdict._limbs import LimbFacts, find_body_parts
from exactik.verdict._marker_jumps import MarkerJump
from exactik.verdict._mirrored_places import PlaceDifference
from exactik.verdict._scales import SegmentDeviation
from exactik.verdict._stretches import FarStretch
from exactik.verdict._thresholds import THRESHOLDS, Threshold
from exactik.verdict._verdict import (
    EXIT_CODES,
    GRADE_WORDS,
    RecordingVerdict,
    VerdictReason,
    judge_track,
)

__all__ = [
    "EXIT_CODES",
    "GRADE_WORDS",
    "THRESHOLDS",
    "FarStretch",
    "LimbFacts",
    "MarkerJump",
    "MarkerUse",
    "PlaceDifference",
    "RecordingContext",
    "RecordingFacts",
    "RecordingVerdict",
    "SegmentDeviation",
    "Threshold",
    "UpAxis",
    "VerdictReason",
    "collect_facts",
    "find_body_parts",
    "is_on_subject",
    "judge_facts",
    "judge_track",
]
