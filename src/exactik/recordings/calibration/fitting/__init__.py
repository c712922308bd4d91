"""Sizes of bones, places of markers and poses, fitted together to the frames of a recording."""

from exactik.recordings.calibration.fitting._fit_parameters import (
    WARM,
    FitFrames,
    FitSolution,
    Progress,
    fit_parameters,
    make_fit_problem,
    renew,
)
from exactik.recordings.calibration.fitting._fit_skeleton import SkeletonFit, fit_skeleton
from exactik.recordings.calibration.fitting._frames import (
    ChosenFrames,
    align_shapes,
    choose_diverse_frames,
)
from exactik.recordings.calibration.fitting._normal_equations import compute_normal_equations
from exactik.recordings.calibration.fitting._prior import Prior
from exactik.recordings.calibration.fitting._robust import compute_robust_weights
from exactik.recordings.calibration.fitting._scaled_skeleton import (
    SCALE_KINDS,
    ScaledSkeleton,
    make_scaled_skeleton,
)
