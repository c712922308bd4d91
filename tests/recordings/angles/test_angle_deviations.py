"""Standard deviations of joint angles: rates against differences, and against noise itself."""

from __future__ import annotations

import numpy as np
import pytest

import exactik as ik
from exactik.model.motion import Markers, Motion
from exactik.recordings.angles import compute_angle_rates, compute_joint_angles, find_body_segments
from exactik.recordings.tracking import UNKNOWN_SD

HUMAN = ik.human()


def bent_pose() -> np.ndarray:
    """Away from gimbal lock and from limits."""
    rng = np.random.default_rng(5)
    lower = np.where(np.isfinite(HUMAN.lower), HUMAN.lower, -0.5)
    upper = np.where(np.isfinite(HUMAN.upper), HUMAN.upper, 0.5)
    share = rng.uniform(0.3, 0.7, HUMAN.nv)
    return lower + share * (upper - lower)


def test_rates_are_the_derivatives_of_the_angles():
    q, step = bent_pose(), 1e-6
    both = np.concatenate([q + step * np.eye(HUMAN.nv), q - step * np.eye(HUMAN.nv)])
    angles = compute_joint_angles(Motion(HUMAN, both, 1.0))
    wrapped = np.angle(np.exp(1j * (angles.values[: HUMAN.nv] - angles.values[HUMAN.nv :])))
    rates = compute_angle_rates(find_body_segments(HUMAN), angles.names, q[None])[0]
    np.testing.assert_allclose(rates, wrapped.T / (2.0 * step), atol=2e-8)


def test_rates_of_quaternions_too():
    hips = ik.Bone("hips", joint=ik.Joint.free())
    bones = [hips]
    for side, y in (("left", 0.1), ("right", -0.1)):
        ball = ik.Joint.quaternion()
        bones.append(ik.Bone(f"{side}_thigh", parent="hips", offset=(0, y, 0), joint=ball))
        bones.append(
            ik.Bone(f"{side}_shin", parent=f"{side}_thigh", offset=(0, 0, -0.4), joint=ball)
        )
    legs = ik.Skeleton.build("legs", bones)
    rng = np.random.default_rng(0)
    q = legs.integrate(legs.neutral(), rng.uniform(-0.5, 0.5, legs.nv))
    step = 1e-6 * np.eye(legs.nv)
    both = np.concatenate([legs.integrate(q, step), legs.integrate(q, -step)])
    angles = compute_joint_angles(Motion(legs, both, 1.0))
    expected = (angles.values[: legs.nv] - angles.values[legs.nv :]).T / 2e-6
    rates = compute_angle_rates(find_body_segments(legs), angles.names, q[None])[0]
    np.testing.assert_allclose(rates, expected, atol=2e-8)


@pytest.fixture(scope="module")
def noisy_markers() -> Markers:
    """One pose recorded 200 times with noise of 2 mm."""
    rng = np.random.default_rng(1)
    pose = HUMAN.forward(bent_pose())
    names = tuple(HUMAN.markers)
    truth = []
    for bone, point in HUMAN.markers.values():
        k = HUMAN.bone_index(bone)
        truth.append(pose.positions[k] + pose.rotations[k] @ np.array(point))
    positions = np.array(truth) + rng.normal(scale=0.002, size=(200, len(names), 3))
    return Markers(positions, names, 100.0)


@pytest.fixture(scope="module")
def noisy_track(noisy_markers: Markers) -> ik.Track:
    """Every frame by itself."""
    return ik.track(HUMAN, noisy_markers, branches=False, sigma=0.002, limits="off", smooth=None)


def test_deviations_are_what_noise_does(noisy_track: ik.Track):
    angles = noisy_track.angles()
    assert angles.sd is not None and angles.sd.shape == angles.values.shape
    for name in (
        "hip_flexion_r",
        "knee_flexion_l",
        "trunk_rotation",
        "elbow_flexion_r",
        "pelvis_tilt",
    ):
        k = angles.names.index(name)
        measured, said = float(angles.values[:, k].std()), float(np.median(angles.sd[:, k]))
        assert 0.8 < measured / said < 1.25, name
    assert angles.sd.max() <= UNKNOWN_SD
    assert noisy_track.angles() is angles


def test_a_chain_is_known_better_than_the_sum_of_its_joints(noisy_track: ik.Track):
    angles = noisy_track.angles()
    assert angles.sd is not None
    spine = [HUMAN.dof_names.index(f"{bone}.rz") for bone in ("lower_back", "upper_back", "thorax")]
    sum_of_parts = float(np.sqrt((noisy_track.sd[0, spine] ** 2).sum()))
    assert angles.sd[0, angles.names.index("trunk_rotation")] < 0.8 * sum_of_parts


def test_smoothing_narrows_the_deviations_with_those_of_the_dofs(
    noisy_markers: Markers, noisy_track: ik.Track
):
    smooth = ik.track(HUMAN, noisy_markers, branches=False, sigma=0.002, limits="off", smooth=6.0)
    alone, together = noisy_track.angles().sd, smooth.angles().sd
    assert alone is not None and together is not None
    knee = smooth.angles().names.index("knee_flexion_r")
    dof = HUMAN.dof_names.index("r_shin.ry")  # a hinge: the angle is the dof
    np.testing.assert_allclose(together[:, knee], smooth.sd[:, dof], rtol=1e-6)
    assert np.median(together[:, knee]) < 0.8 * np.median(alone[:, knee])
