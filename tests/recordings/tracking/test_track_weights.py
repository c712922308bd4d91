"""What weights of markers do to a track, and what they must not do."""

from __future__ import annotations

import numpy as np
import pytest

import exactik as ik

RATE, FRAMES, NOISE = 100.0, 60, 1e-3
ARM = ik.Skeleton.build(
    "arm",
    [
        ik.Bone("upper", joint=ik.Joint.free()),
        ik.Bone(
            "lower",
            parent="upper",
            offset=(0.4, 0.0, 0.0),
            joint=ik.Joint.revolute("y", limits=(-0.2, 2.6)),
        ),
    ],
    markers={
        "A": ("upper", (0.0, 0.1, 0.0)),
        "B": ("upper", (0.3, 0.0, 0.1)),
        "C": ("upper", (0.1, -0.1, 0.05)),
        "D": ("lower", (0.1, 0.0, 0.0)),
        "E": ("lower", (0.3, 0.05, 0.02)),
        "F": ("lower", (0.2, 0.0, 0.1)),
    },
)


def make_motion() -> np.ndarray:
    """Coordinates of an arm that is carried about, turns twice and bends, (T, nq)."""
    time = np.linspace(0.0, 1.0, FRAMES)
    half = 2.0 * np.pi * time
    q = np.zeros((FRAMES, ARM.nq))
    q[:, 0], q[:, 2] = 0.3 * np.sin(3.0 * time), 1.0
    q[:, 3], q[:, 4], q[:, 5] = np.cos(half), 0.6 * np.sin(half), 0.8 * np.sin(half)
    q[:, 7] = 1.0 + 0.8 * np.sin(6.0 * time)
    return q


def record(noise: float = NOISE) -> ik.Markers:
    exact = ARM.forward(make_motion()).markers
    errors = np.random.default_rng(5).normal(size=exact.shape)
    return ik.Markers(exact + noise * errors, tuple(ARM.markers), RATE)


def spoil(markers: ik.Markers, name: str) -> ik.Markers:
    """A marker that has come loose: 20 cm away, and shaking by 5 cm."""
    positions, m = markers.positions.copy(), markers.names.index(name)
    shaking = np.random.default_rng(6).normal(size=(len(markers), 3))
    positions[:, m] += (0.2, 0.0, 0.0) + 0.05 * shaking
    return ik.Markers(positions, markers.names, markers.rate)


@pytest.mark.parametrize("smooth", ["auto", 8.0, None])
@pytest.mark.parametrize("factor", [0.01, 100.0])
def test_only_ratios_of_weights_count(factor: float, smooth: str | float | None) -> None:
    """Motion and error bars stay if all weights are multiplied, whatever smooths them."""
    markers = record()
    plain = ik.track(ARM, markers, smooth=smooth)
    scaled = ik.track(ARM, markers, weights=[factor] * len(ARM.markers), smooth=smooth)
    assert scaled.motion.q == pytest.approx(plain.motion.q, abs=1e-7)
    assert scaled.sigma == pytest.approx(plain.sigma, rel=1e-6)
    # The pull to the neutral pose that nothing is known by is not one of the weights.
    assert scaled.sd == pytest.approx(plain.sd, rel=0.15 if smooth is None else 0.02)


@pytest.mark.parametrize("smooth", ["auto", None])
def test_a_marker_without_weight_is_as_good_as_left_out(smooth: str | None) -> None:
    """Noise, error bars, gaps filled from neighbours, smoothing, jumps and verdict."""
    positions = spoil(record(), "A").positions.copy()
    positions[20:30, 1] = np.nan
    markers = ik.Markers(positions, tuple(ARM.markers), RATE)
    bare = ARM.with_markers({name: place for name, place in ARM.markers.items() if name != "A"})
    without = ik.track(bare, markers, smooth=smooth)
    weightless = ik.track(ARM, markers, weights={"A": 0.0}, smooth=smooth)
    # The pull to the neutral pose is relative to all markers, with weight and without.
    assert weightless.motion.q == pytest.approx(without.motion.q, abs=1e-4)
    assert weightless.sigma == pytest.approx(without.sigma, rel=1e-3)
    assert weightless.sd == pytest.approx(without.sd, rel=1e-2)
    assert weightless.mean_error == pytest.approx(without.mean_error, rel=1e-3)
    assert not weightless.jumps.any()
    assert weightless.verdict.reasons == without.verdict.reasons
    measured = weightless.marker_errors[:, 0]
    assert np.isfinite(measured).all() and measured.mean() > 0.15
    assert np.isnan(weightless.errors_that_count[:, 0]).all()


@pytest.mark.parametrize("robust", ["huber", "tukey"])
@pytest.mark.parametrize("smooth", ["auto", None])
def test_a_robust_loss_does_no_harm_where_there_is_no_noise(
    robust: str, smooth: str | None
) -> None:
    """Markers that a program made fit to rounding; none of them is an outlier."""
    track = ik.track(ARM, record(noise=0.0), robust=robust, smooth=smooth)
    assert track.marker_errors.max() < 1e-5
    assert track.marker_weights is not None and track.marker_weights.min() > 0.99


@pytest.mark.parametrize("lock", ["lower", "*"])
def test_what_is_locked_stays_where_it_is(lock: str) -> None:
    """Also where no limb is left that could be elsewhere."""
    track = ik.track(ARM, record(), lock=lock)
    assert (track.motion.q[:, 7] == ARM.neutral()[7]).all()
    assert lock == "lower" or (track.motion.q == ARM.neutral()).all()
