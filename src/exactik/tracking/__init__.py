"""From markers to motion."""

from exactik.tracking._attention import DEARER, IGNORED, Attention
from exactik.tracking._branches import UNLIMITED
from exactik.tracking._clean import find_spikes
from exactik.tracking._cold import solve_cold_start
from exactik.tracking._error_bars import (
    ANYWHERE,
    are_minima,
    compute_standard_deviations,
    estimate_noise,
)
from exactik.tracking._fill import fill_gaps
from exactik.tracking._jumps import find_jumps
from exactik.tracking._limbs import find_limbs
from exactik.tracking._passes import FrameSolutions, follow_branch, follow_frames, solve_frames
from exactik.tracking._recording import (
    LOSS_KINDS,
    TrackingProblem,
    make_tracking_problem,
    match_markers,
)
from exactik.tracking._rigid import align_to_markers
from exactik.tracking._smoothing import DAMPING, Sequence
from exactik.tracking._track import COLD, WARM, track
from exactik.tracking._tracked import Track

__all__ = [
    "ANYWHERE",
    "COLD",
    "DAMPING",
    "DEARER",
    "IGNORED",
    "LOSS_KINDS",
    "UNLIMITED",
    "WARM",
    "Attention",
    "FrameSolutions",
    "Sequence",
    "Track",
    "TrackingProblem",
    "align_to_markers",
    "are_minima",
    "compute_standard_deviations",
    "estimate_noise",
    "fill_gaps",
    "find_jumps",
    "find_limbs",
    "find_spikes",
    "follow_branch",
    "follow_frames",
    "make_tracking_problem",
    "match_markers",
    "solve_cold_start",
    "solve_frames",
    "track",
]
