"""What is assumed before the markers are looked at, felt one by one on a figure of three bones."""

from __future__ import annotations

import numpy as np
import pytest

import exactik as ik
from exactik.calibration import calibrate
from exactik.calibration.fitting import Prior, _fit_parameters, make_scaled_skeleton
from exactik.typing import Array

NOISE = 1e-3


def make_arm(markers: dict[str, tuple[str, tuple[float, float, float]]]) -> ik.Skeleton:
    """A trunk that moves freely, an upper arm with a ball joint, a forearm with a hinge."""
    ball = ik.Joint.euler("ZXY", [(-1.5, 1.5)] * 3)
    bones = [
        ik.Bone("trunk", joint=ik.Joint.free("ZXY")),
        ik.Bone("upper", parent="trunk", offset=(0, 0.2, 0.3), joint=ball),
        ik.Bone("lower", parent="upper", offset=(0, 0.3, 0), joint=ik.Joint.revolute("z", (-2, 0))),
        ik.Bone("hand", parent="lower", offset=(0, 0.25, 0), joint=ik.Joint.revolute("x", (-1, 1))),
    ]
    return ik.Skeleton.build("arm", bones, markers)


MARKERS = {
    "T1": ("trunk", (0.1, 0, 0.3)),
    "T2": ("trunk", (-0.1, 0, 0.3)),
    "T3": ("trunk", (0.1, 0.1, 0)),
    "T4": ("trunk", (-0.1, -0.1, 0)),
    "U1": ("upper", (0.05, 0.1, 0)),
    "U2": ("upper", (0, 0.2, 0.05)),
    "U3": ("upper", (-0.05, 0.15, 0)),
    "L1": ("lower", (0.04, 0.1, 0)),
    "L2": ("lower", (0, 0.2, 0.04)),
    "L3": ("lower", (-0.04, 0.15, 0)),
}


def record(skeleton: ik.Skeleton, frames: int, noise: float = NOISE, seed: int = 0) -> ik.Markers:
    rng = np.random.default_rng(seed)
    lower = np.where(np.isfinite(skeleton.lower), skeleton.lower, -0.3)
    upper = np.where(np.isfinite(skeleton.upper), skeleton.upper, 0.3)
    q = lower + (upper - lower) * rng.uniform(0.1, 0.9, (frames, skeleton.nv))
    places = skeleton.forward(q).markers
    # Poses of chance, a second apart: nothing of it is a spike.
    return ik.Markers(places + rng.normal(0.0, noise, places.shape), tuple(skeleton.markers), 1.0)


def covariance(prior: Prior, skeleton: ik.Skeleton) -> Array:
    return np.linalg.inv(prior.precision(make_scaled_skeleton(skeleton, ("C7",), "symmetric")))


def test_people_differ_in_size_and_bones_with_them():
    """Together by a fifth, each by a tenth more, the pelvis by half of that."""
    prior = Prior(scale_sd=0.1, offset_sd=np.array([0.03]), sigma=None)
    human = ik.human()
    groups = [group[0] for group in make_scaled_skeleton(human, ("C7",), "symmetric").scale_groups]
    cov = covariance(prior, human)
    thigh, shin, pelvis = (groups.index(name) for name in ("l_thigh", "l_shin", "pelvis"))
    assert 0.1 < np.sqrt(cov[thigh, shin]) < 0.4  # children to giants
    assert np.sqrt(cov[thigh, thigh] - cov[thigh, shin]) == pytest.approx(0.1)
    assert 0.03 < np.sqrt(cov[pelvis, pelvis] - cov[pelvis, shin]) < 0.08
    assert np.sqrt(cov[-1, -1]) == pytest.approx(0.03)


def test_all_frames_together_count_as_eight():
    """σ of 64 frames is that of the noise times √8; of 4 frames it is that of the noise."""
    arm = make_arm(MARKERS)
    for frames, factor in ((64, np.sqrt(8.0)), (4, 1.0)):
        fit = calibrate(arm, record(arm, frames), frames=frames)
        assert fit.fit.solution.sigma == pytest.approx(factor * NOISE, rel=0.35)


def test_no_marker_is_better_than_a_fifth_of_a_millimetre():
    arm = make_arm(MARKERS)
    fit = calibrate(arm, record(arm, 12, noise=1e-7), frames=12)
    assert 1e-4 < fit.fit.solution.sigma < 5e-4
    assert fit.settled


def test_the_defaults_of_calibrate_are_the_error_bars_of_what_is_not_told():
    """The hand has one marker: neither its size nor where the marker is shows."""
    arm = make_arm({**MARKERS, "H": ("hand", (0.0, 0.08, 0.03))})
    markers = record(arm, 24)
    fit = calibrate(arm, markers, scale="bone", frames=24)
    assert 0.08 < fit.scale_sds["hand"] < 0.13
    assert 0.015 < fit.offset_sds["H"] / np.sqrt(3.0) < 0.035
    somewhere = calibrate(
        arm.with_markers(MARKERS), markers, bones={"H": "hand"}, scale="bone", frames=24
    )
    assert 0.05 < somewhere.offset_sds["H"] / np.sqrt(3.0) < 0.12


@pytest.mark.parametrize("factor", [0.1, 10.0])
def test_the_posture_does_not_bend_bones(monkeypatch: pytest.MonkeyPatch, factor: float):
    """Ten times more or less of it: nothing moves by a tenth of its error bar."""
    arm = make_arm({name: MARKERS[name] for name in ("T1", "T2", "T3", "U1", "U2", "L1", "L2")})
    markers = record(arm, 24)
    usual = calibrate(arm, markers, frames=24)
    weight = factor * _fit_parameters.POSTURE_WEIGHT
    monkeypatch.setattr(_fit_parameters, "POSTURE_WEIGHT", weight)
    other = calibrate(arm, markers, frames=24)
    for bone in ("upper", "lower"):
        assert abs(other.scales[bone] - usual.scales[bone]) < 0.1 * usual.scale_sds[bone]


def test_a_fit_that_has_come_to_rest_is_at_the_best(monkeypatch: pytest.MonkeyPatch):
    """Steps that promise less than it calls small move nothing by a tenth of its error bar."""
    other = make_scaled_skeleton(make_arm(MARKERS), tuple(MARKERS), "bone")
    rng = np.random.default_rng(1)
    own = other.build(0.05 * rng.normal(size=other.parameter_count) * np.r_[1, 1, 1, [0.3] * 30])
    markers = record(own, 40)
    usual = calibrate(make_arm(MARKERS), markers, frames=40)
    monkeypatch.setattr(_fit_parameters, "CONVERGED_REDUCTION", 1e-9)
    monkeypatch.setattr(_fit_parameters, "CONVERGED_RELATIVE_REDUCTION", 0.0)
    exact = calibrate(make_arm(MARKERS), markers, frames=40)
    sd = np.sqrt(np.diag(exact.fit.solution.covariance))
    away = np.abs(exact.fit.solution.theta - usual.fit.solution.theta) / sd
    assert usual.settled and away.max() < 0.1
