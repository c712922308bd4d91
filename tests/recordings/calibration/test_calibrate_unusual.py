"""What calibration seldom sees: figures of several roots, without dofs, trials without frames."""

from __future__ import annotations

import numpy as np
import pytest

import exactik as ik
from exactik.recordings.calibration import Calibration
from exactik.typing import Array

POINTS = {
    "first": ((0.0, 0.1, 0.0), (0.3, 0.0, 0.1), (0.1, -0.1, 0.05), (0.1, 0.2, -0.2)),
    "second": ((0.1, 0.0, 0.0), (0.3, 0.05, 0.02), (0.2, 0.0, 0.1), (-0.1, 0.1, 0.2)),
}
MARKERS = {f"{bone}{n}": (bone, p) for bone, points in POINTS.items() for n, p in enumerate(points)}
RATE, SIZE = 100.0, 1.1


def figure(first: ik.Joint, second: ik.Joint, parent: str | None) -> ik.Skeleton:
    bones = [
        ik.Bone("first", joint=first),
        ik.Bone("second", parent=parent, offset=(0.4, 0.0, 0.0), joint=second),
    ]
    return ik.Skeleton.build("two bones", bones, MARKERS)


def record(skeleton: ik.Skeleton, frames: int = 40) -> ik.Markers:
    """A figure of another size that moves, seen without noise."""
    rng, time = np.random.default_rng(3), np.linspace(0.0, 6.0, frames)[:, None]
    sway = np.sin(time + rng.uniform(0.0, 6.0, skeleton.nv)) * rng.uniform(0.3, 0.8, skeleton.nv)
    q = skeleton.integrate(skeleton.neutral(), sway)
    return ik.Markers(SIZE * skeleton.forward(q).markers, tuple(MARKERS), RATE)


def scales_of(fit: Calibration) -> Array:
    return np.array(list(fit.scales.values()))


def test_two_roots_are_fitted_each_by_itself() -> None:
    pair = figure(ik.Joint.free(), ik.Joint.free(), parent=None)
    fit = ik.calibrate(pair, record(pair), scale="bone", offsets=False)
    np.testing.assert_allclose(scales_of(fit), SIZE, atol=2e-3)


def test_a_figure_that_cannot_move_is_fitted_where_it_is() -> None:
    statue = figure(ik.Joint.fixed(), ik.Joint.fixed(), parent="first")
    fit = ik.calibrate(statue, record(statue), scale="bone", offsets=False)
    np.testing.assert_allclose(scales_of(fit), SIZE, atol=2e-2)
    assert fit.track.motion.q.shape == (40, 0)


def test_a_trial_without_frames_tells_nothing() -> None:
    arm = figure(ik.Joint.free(), ik.Joint.revolute("y"), parent="first")
    markers = record(arm)
    empty = ik.Markers(markers.positions[:0], markers.names, RATE)
    alone, both = (ik.calibrate(arm, trials) for trials in (markers, [empty, markers]))
    np.testing.assert_array_equal(scales_of(alone), scales_of(both))
    assert len(both.track) == len(markers)


def test_a_size_that_nothing_may_change_is_refused() -> None:
    arm = figure(ik.Joint.free(), ik.Joint.revolute("y"), parent="first")
    with pytest.raises(ik.UsageError, match=r"scale_sd is 1e-09; it must be 1e-06 or more"):
        ik.calibrate(arm, record(arm), scale_sd=1e-9)
