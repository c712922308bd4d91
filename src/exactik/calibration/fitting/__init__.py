"""Sizes of bones, places of markers and poses, fitted together to the frames of a recording."""

from exactik.calibration.fitting._fit_parameters import (
    FitFrames,
    FitSolution,
    Progress,
    fit_parameters,
    make_fit_problem,
)
from exactik.calibration.fitting._fit_skeleton import SkeletonFit, fit_skeleton
from exactik.calibration.fitting._frames import ChosenFrames, align_shapes, choose_diverse_frames
from exactik.calibration.fitting._prior import Prior
from exactik.calibration.fitting._scaled_skeleton import (
    SCALE_KINDS,
    ScaledSkeleton,
    find_mirrored_bone,
    make_scaled_skeleton,
)

__all__ = [
    "SCALE_KINDS",
    "ChosenFrames",
    "FitFrames",
    "FitSolution",
    "Prior",
    "Progress",
    "ScaledSkeleton",
    "SkeletonFit",
    "align_shapes",
    "choose_diverse_frames",
    "find_mirrored_bone",
    "fit_parameters",
    "fit_skeleton",
    "make_fit_problem",
    "make_scaled_skeleton",
]
