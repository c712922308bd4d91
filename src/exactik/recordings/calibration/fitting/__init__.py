"""Sizes of bones, places of markers and poses, fitted together to the frames of a recording."""

from exactik.recordings.calibration.fitting._fit_parameters import (
    FitFrames,
    FitSolution,
    Progress,
    compute_robust_weights,
    fit_parameters,
    make_fit_problem,
    resize,
)
from exactik.recordings.calibration.fitting._fit_skeleton import (
    ChosenFrames,
    SkeletonFit,
    align_shapes,
    choose_diverse_frames,
    fit_skeleton,
)
from exactik.recordings.calibration.fitting._poses import compute_fit_equations
from exactik.recordings.calibration.fitting._prior import Prior
from exactik.recordings.calibration.fitting._scaled_skeleton import (
    SCALE_KINDS,
    ScaledSkeleton,
    make_scaled_skeleton,
)
