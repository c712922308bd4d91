"""From markers to motion: `track` and its stages.

In their order: prepare, first pass, branches, gaps, smoothing; their result is a `Track`.
`TrackingOptions` holds what they decide by.
"""

from exactik.tracking._assessment import (
    Attention,
    are_minima,
    compute_combination_deviations,
    compute_standard_deviations,
    estimate_noise,
)
from exactik.tracking._branches import find_limbs
from exactik.tracking._continuity import find_jumps
from exactik.tracking._first_pass import align_to_markers, solve_cold_start
from exactik.tracking._frame_solver import (
    FrameSolutions,
    follow_branch,
    follow_frames,
    solve_frames,
)
from exactik.tracking._job import TrackSettings
from exactik.tracking._options import (
    DEFAULT_OPTIONS,
    AssessmentOptions,
    BranchOptions,
    FirstPassOptions,
    GapOptions,
    JumpOptions,
    PreparationOptions,
    SmoothingOptions,
    TrackingOptions,
)
from exactik.tracking._prepare import fill_gaps, find_likely_swaps, find_spikes
from exactik.tracking._problem import (
    LOSS_KINDS,
    UNKNOWN_SD,
    CoordinateReference,
    TrackingProblem,
    make_tracking_problem,
    match_markers,
)
from exactik.tracking._result import Track
from exactik.tracking._similar_frames import find_start_poses, improve_poses
from exactik.tracking._track import track, track_many
from exactik.tracking.smoothing import Smoother, Smoothing, estimate_white_noise, make_prior

__all__ = [
    "DEFAULT_OPTIONS",
    "LOSS_KINDS",
    "UNKNOWN_SD",
    "AssessmentOptions",
    "Attention",
    "BranchOptions",
    "CoordinateReference",
    "FirstPassOptions",
    "FrameSolutions",
    "GapOptions",
    "JumpOptions",
    "PreparationOptions",
    "Smoother",
    "Smoothing",
    "SmoothingOptions",
    "Track",
    "TrackSettings",
    "TrackingOptions",
    "TrackingProblem",
    "align_to_markers",
    "are_minima",
    "compute_combination_deviations",
    "compute_standard_deviations",
    "estimate_noise",
    "estimate_white_noise",
    "fill_gaps",
    "find_jumps",
    "find_likely_swaps",
    "find_limbs",
    "find_spikes",
    "find_start_poses",
    "follow_branch",
    "follow_frames",
    "improve_poses",
    "make_prior",
    "make_tracking_problem",
    "match_markers",
    "solve_cold_start",
    "solve_frames",
    "track",
    "track_many",
]
