"""All frames of a recording together: markers and accelerations weighed against each other.

    min  Σ_t cost_t(q_t) + ½ Σ_t Σ_k w_k |a_tk|²      within the limits

with the angular acceleration a of every bone in the world (`kernels/smoothing/accelerations.py`):
the most probable motion, if markers have independent errors of standard deviation σ from frame to
frame and bone k has accelerations of s_k in a stretch of frames, w_k = σ²/s_k². What the markers
determine well stays where it is, and what they determine badly follows a smooth course
(docs/maths.md §15).

    _strength     σ and s_k, from the recording or from a cut-off frequency
    _prior        w_k, by bones and dofs
    _smoother     steps of all frames, chunk by chunk
    _smooth_path  the stage: strength, then one step after another; what noise leaves in the motion
"""

from exactik.recordings.tracking.smoothing._prior import Smoothing, make_prior
from exactik.recordings.tracking.smoothing._smooth_path import (
    compute_smooth_variances,
    require_smooth,
    smooth_path,
)
from exactik.recordings.tracking.smoothing._smoother import Smoother
from exactik.recordings.tracking.smoothing._strength import estimate_white_noise
