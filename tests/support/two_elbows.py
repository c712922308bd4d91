"""An arm whose hand can be where it is with the elbow up or down: two solutions of a frame."""

from __future__ import annotations

from typing import Any

import numpy as np

from exactik.model import Skeleton
from exactik.model.motion import Markers
from exactik.recordings.tracking import (
    DEFAULT_OPTIONS,
    TrackingOptions,
    TrackingRun,
    make_tracking_problem,
)
from exactik.typing import Array
from tests.support.models import planar_arm

__all__ = ["ARM", "RATE", "WEIGHTS", "make_run", "place_arm", "place_targets"]

RATE = 100.0  # [Hz]
WEIGHTS = {"ELBOW": 0.01, "HAND": 1.0}
ARM = planar_arm().with_markers(
    {"ELBOW": ("lower", (0.0, 0.0, 0.0)), "HAND": ("lower", (0.3, 0.0, 0.0))}
)


def place_arm(elbow: float) -> Array:
    """The pose (2,) with the elbow bent so far and the hand on the x axis."""
    tip = ARM.forward(np.array([0.0, elbow])).markers[1]
    return np.array([-np.arctan2(tip[1], tip[0]), elbow])


def place_targets(preference: Array, bend: float = 0.9) -> Array:
    """Targets [m], (T, 2, 3), that fit an elbow that is bent down better, or up, by `preference`.

    Of −½, (T,), where up fits exactly, to ½, where down does.
    """
    up, down = (ARM.forward(place_arm(angle)).markers for angle in (bend, -bend))
    place = np.tile(up, (len(preference), 1, 1))
    place[:, 0] = 0.5 * (up[0] + down[0]) + preference[:, None] * (down[0] - up[0])
    return place


def make_run(
    figure: Skeleton,
    place: Array,
    tracking_options: TrackingOptions = DEFAULT_OPTIONS,
    **options: Any,
) -> TrackingRun:
    """A run of one thread over markers, (T, M, 3), without a posture."""
    markers = Markers(place, tuple(figure.markers), RATE)
    problem = make_tracking_problem(figure, markers, posture=0.0, **options)
    method = DEFAULT_OPTIONS.warm_start.options(problem.frame_problem)
    return TrackingRun(
        problem=problem, warm_start=method, cold_start=method, options=tracking_options, threads=1
    )
