"""From markers to motion: `track` and its stages.

In their order: prepare, first pass, branches, gaps, smoothing; their result is a `Track`.
`TrackingOptions` holds what they decide by.
"""

from exactik.recordings.tracking._branches import (
    PathWindow,
    find_limbs,
    improve_poor_segments,
    make_other_poses,
    search_branches,
    splice_branch,
)
from exactik.recordings.tracking._continuity import (
    NEIGHBOUR_RATIO,
    FramePoses,
    compute_step_charges,
    find_jumps,
    take_better_segments,
)
from exactik.recordings.tracking._error_bars import (
    GRAVITY,
    Quality,
    QualityArray,
    are_minima,
    compute_combination_deviations,
    compute_standard_deviations,
    estimate_noise,
    measure_frame_errors,
    raise_quality,
)
from exactik.recordings.tracking._figure_errors import FigureErrors
from exactik.recordings.tracking._first_pass import (
    align_to_markers,
    make_start_poses,
    solve_cold_start,
)
from exactik.recordings.tracking._frame_solver import (
    FrameSolutions,
    TrackingRun,
    find_nearest_equivalents,
    follow_branch,
    follow_frames,
    solve_frames,
    unwrap_motion,
    unwrap_path,
)
from exactik.recordings.tracking._gaps import (
    FramePostures,
    combine_postures,
    compute_lost_share,
    compute_marker_information,
    make_postures,
    solve_gap_frames,
)
from exactik.recordings.tracking._job import PROGRESS_SHARES, choose_methods
from exactik.recordings.tracking._options import (
    COLD_START,
    DEFAULT_OPTIONS,
    WARM_START,
    AssessmentOptions,
    TrackingOptions,
)
from exactik.recordings.tracking._problem import (
    ASSUMED_NOISE,
    LOSS_KINDS,
    UNKNOWN_SD,
    CoordinateReference,
    TrackingProblem,
    join_problems,
    make_tracking_problem,
    match_markers,
)
from exactik.recordings.tracking._result import Track
from exactik.recordings.tracking._track import count_threads, track, track_many
from exactik.recordings.tracking._track_options import PlainTrackOptions, TrackOptions
from exactik.recordings.tracking.preparation import (
    close_step,
    count_bones_between,
    cut_gaps,
    estimate_initial_noise,
    fill_gaps,
    find_neighbours,
    find_spikes,
    fits_better_exchanged,
    move_rigidly,
    prepare_markers,
    remove_outliers,
)
from exactik.recordings.tracking.smoothing import (
    Smoother,
    Smoothing,
    estimate_white_noise,
    make_prior,
)

__all__ = [
    "ASSUMED_NOISE",
    "COLD_START",
    "DEFAULT_OPTIONS",
    "GRAVITY",
    "LOSS_KINDS",
    "NEIGHBOUR_RATIO",
    "PROGRESS_SHARES",
    "UNKNOWN_SD",
    "WARM_START",
    "AssessmentOptions",
    "CoordinateReference",
    "FigureErrors",
    "FramePoses",
    "FramePostures",
    "FrameSolutions",
    "PathWindow",
    "PlainTrackOptions",
    "Quality",
    "QualityArray",
    "Smoother",
    "Smoothing",
    "Track",
    "TrackOptions",
    "TrackingOptions",
    "TrackingProblem",
    "TrackingRun",
    "align_to_markers",
    "are_minima",
    "choose_methods",
    "close_step",
    "combine_postures",
    "compute_combination_deviations",
    "compute_lost_share",
    "compute_marker_information",
    "compute_standard_deviations",
    "compute_step_charges",
    "count_bones_between",
    "count_threads",
    "cut_gaps",
    "estimate_initial_noise",
    "estimate_noise",
    "estimate_white_noise",
    "fill_gaps",
    "find_jumps",
    "find_limbs",
    "find_nearest_equivalents",
    "find_neighbours",
    "find_spikes",
    "fits_better_exchanged",
    "follow_branch",
    "follow_frames",
    "improve_poor_segments",
    "join_problems",
    "make_other_poses",
    "make_postures",
    "make_prior",
    "make_start_poses",
    "make_tracking_problem",
    "match_markers",
    "measure_frame_errors",
    "move_rigidly",
    "prepare_markers",
    "raise_quality",
    "remove_outliers",
    "search_branches",
    "solve_cold_start",
    "solve_frames",
    "solve_gap_frames",
    "splice_branch",
    "take_better_segments",
    "track",
    "track_many",
    "unwrap_motion",
    "unwrap_path",
]
