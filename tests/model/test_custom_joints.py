"""Joints whose coordinates drive axes, and dofs that follow others: the model's side."""

from __future__ import annotations

import math
import pickle
from collections.abc import Sequence

import numpy as np
import pytest

import exactik as ik
from exactik.errors import ModelError, UnknownNameError
from exactik.kernels.tree.packed import AXES, CUSTOM
from exactik.model import JointAxis
from exactik.model.functions import Constant, CubicSpline, Linear, Product, Sine
from exactik.typing import Array


def knee() -> ik.Joint:
    """A knee that bends by one coordinate, which also moves its centre."""
    angles = (-2.0, -1.0, 0.0, 0.2)
    return ik.Joint.custom(
        turns=[("z", None, "flexion")],
        shifts=[("x", CubicSpline(angles, (0.0, 0.01, 0.0, 0.0)), "flexion"), ("y", -0.4)],
        limits=(-2.0, 0.2),
    )


def leg() -> ik.Skeleton:
    bones = [
        ik.Bone("thigh", joint=ik.Joint.euler("ZXY")),
        ik.Bone("shank", parent="thigh", joint=knee()),
        ik.Bone("patella", parent="thigh", offset=(0.05, -0.4, 0), joint=ik.Joint.revolute("z")),
    ]
    coupling = ik.Coupling("patella.rz", "shank.flexion", Linear(0.5))
    return ik.Skeleton.build("leg", bones, {"TOE": ("shank", (0, -0.4, 0.1))}, [coupling])


def rotation_about(axis: Sequence[float] | Array, angle: float) -> Array:
    """By Rodrigues' formula."""
    x, y, z = axis
    K = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + math.sin(angle) * K + (1 - math.cos(angle)) * K @ K


def test_a_user_sees_coordinates_only():
    skeleton = leg()
    assert skeleton.dof_names == ("thigh.rz", "thigh.rx", "thigh.ry", "shank.flexion")
    assert (skeleton.nq, skeleton.nv) == (4, 4)
    assert skeleton.lower.tolist() == [-math.inf] * 3 + [-2.0]
    assert skeleton.dof_bones.tolist() == [0, 0, 0, 1]
    assert skeleton.turns.all()
    # A whole turn of what drives others is another pose, and the knee moves as well as it turns.
    assert skeleton.is_periodic.tolist() == [True, True, True, False]
    np.testing.assert_array_equal(
        skeleton.joint_coordinates([[0, 0, 0, -1.0]]), [[0, 0, 0, -1, -0.5]]
    )
    assert pickle.loads(pickle.dumps(skeleton)) == skeleton
    assert skeleton != ik.Skeleton.build(skeleton.name, skeleton.bones, skeleton.markers)


def test_a_custom_joint_shifts_in_its_base_and_turns_in_sequence():
    """By hand, as OpenSim's CustomJoint: R = Rot(a₁) Rot(a₂), p = Σ d b, in the parent's frame."""
    a, b = np.array([0.6, 0.8, 0.0]), np.array([0.0, 0.6, 0.8])
    joint = ik.Joint.custom(
        turns=[(a, Linear(2.0, 0.1), "u"), ("y", Sine(), "v")],
        shifts=[(b, Product(Linear(), Sine(1.0, 1.0, math.pi / 2)), ("v", "u")), ("x", 0.25)],
        coordinates=("v", "u"),
    )
    assert (joint.dof_names, joint.nq, str(joint)) == (("v", "u"), 2, "custom v u")
    skeleton = ik.Skeleton.build("one", [ik.Bone("b", joint=joint)])
    v, u = 0.3, -0.7
    pose = skeleton.forward([v, u])

    R = rotation_about(a, 2 * u + 0.1) @ rotation_about([0, 1, 0], math.sin(v))
    np.testing.assert_allclose(pose.rotations[0], R, atol=1e-15)
    np.testing.assert_allclose(pose.positions[0], v * math.cos(u) * b + [0.25, 0, 0], atol=1e-15)


X, Y, Z = np.eye(3)
OBLIQUE = np.array([0.6, 0.0, 0.8])


@pytest.mark.parametrize(
    ("axes", "slopes"),
    [
        ((Z, X, Y), (1, 1, 1)),
        ((Z, -X, -Y), (1, 1, 1)),
        ((Z, X, Y), (1, -1, 1)),  # left-handed, as the next
        ((X, Z, -Y), (-1, 1, -1)),
        ((Y, -Z), (1, 1)),
        ((OBLIQUE,), (-1,)),
        ((-Z,), (1,)),
    ],
)
def test_a_custom_joint_that_only_turns_is_euler_angles_to_the_kernels(axes, slopes):
    names = "abc"[: len(axes)]
    turns = [(u, Linear(s), n) for u, s, n in zip(axes, slopes, names, strict=True)]
    bone = ik.Bone("b", joint=ik.Joint.custom(turns=turns), pre=rotation_about(OBLIQUE, 0.7))
    skeleton = ik.Skeleton.build("one", [bone])
    assert skeleton.tree.rotation[1] == AXES
    assert len(skeleton.tree.custom_axes) == 0
    R, q = rotation_about(OBLIQUE, 0.7), np.array([0.4, -0.9, 1.3])[: len(axes)]
    for axis, slope, angle in zip(axes, slopes, q, strict=True):
        R = R @ rotation_about(axis, slope * angle)
    np.testing.assert_allclose(skeleton.forward(q).rotations[0], R, atol=1e-15)
    problem = ik.Problem(skeleton, [ik.PositionGoal("b", (0.1, 0.5, 0.2), point=(0.3, 0.1, 0.4))])
    assert ik.check_derivatives(problem, q).ok


@pytest.mark.parametrize(
    ("turns", "shifts", "order"),
    [
        ([(Z, None, "a"), (X, None, "b")], [], "ba"),
        ([(Z, None, "a"), (Z, None, "b")], [], "ab"),
        ([(Z, None, "a"), (OBLIQUE, None, "b")], [], "ab"),
        ([(Z, Linear(2.0), "a")], [], "a"),
        ([(Z, Linear(1.0, 0.1), "a")], [], "a"),
        ([(Z, Sine(), "a")], [], "a"),
        ([(Z, None, "a")], [(X, 0.1)], "a"),
    ],
)
def test_other_custom_joints_keep_their_functions(turns, shifts, order):
    joint = ik.Joint.custom(turns=turns, shifts=shifts, coordinates=tuple(order))
    assert ik.Skeleton.build("one", [ik.Bone("b", joint=joint)]).tree.rotation[1] == CUSTOM


def test_a_screw_advances_by_its_pitch_in_a_turn():
    joint = ik.Joint.screw((0.6, 0.0, 0.8), pitch=0.02)
    skeleton = ik.Skeleton.build("bolt", [ik.Bone("b", joint=joint)])
    pose = skeleton.forward([[2 * math.pi], [-math.pi]])
    np.testing.assert_allclose(pose.positions[:, 0], [[0.012, 0, 0.016], [-0.006, 0, -0.008]])
    np.testing.assert_allclose(pose.rotations[0, 0], np.eye(3), atol=1e-15)
    assert skeleton.dof_names == ("b.screw",)
    assert ik.Joint.screw("y").dof_names == ("screw_y",)
    shift, rotation = pose.positions[:, 0], pose.rotations[:, 0]
    np.testing.assert_allclose(joint.coordinates_for(shift, rotation)[0], [2 * math.pi])


@pytest.mark.parametrize("seed", range(3))
def test_coordinates_of_a_custom_joint_are_found_from_its_motion(seed: int):
    rng = np.random.default_rng(seed)
    pelvis = ik.Joint.custom(
        turns=[("z", None, "tilt"), ("x", None, "list"), ("y", None, "rotation")],
        shifts=[(axis, None, "t" + axis) for axis in "xyz"],
    )
    # Left-handed axes, with slopes and intercepts; and axes that are not at right angles.
    turned = ik.Joint.custom(
        turns=[("x", Linear(-1.5, 0.1), "a"), ("z", None, "b"), ("y", Linear(0.8), "c")],
        shifts=[((0.6, 0.8, 0.0), Linear(2.0, 0.3), "d"), ("x", None, "e"), ("z", None, "f")],
    )
    skew = ik.Joint.custom(
        turns=[("x", None, "a"), ((0.6, 0.8, 0.0), None, "b"), ("z", None, "c")],
        shifts=[(axis, None, "t" + axis) for axis in "xyz"],
    )
    assert pelvis.moves_freely and turned.moves_freely and skew.moves_freely
    for joint in (pelvis, turned, skew, knee()):
        skeleton = ik.Skeleton.build("one", [ik.Bone("b", joint=joint)])
        q = rng.uniform(-1.2, 0.0, (5, joint.nq))
        pose = skeleton.forward(q)
        found = joint.coordinates_for(pose.positions[:, 0], pose.rotations[:, 0])
        np.testing.assert_allclose(found, q, atol=1e-9, err_msg=str(joint))
    assert not knee().moves_freely


def test_what_cannot_be_said_is_refused():
    one = [ik.Bone("a", joint=ik.Joint.revolute()), ik.Bone("b", joint=ik.Joint.quaternion())]
    with pytest.raises(ModelError, match="takes 1 coordinates, not 2"):
        JointAxis("x", Linear(), ("a", "b"))
    with pytest.raises(ModelError, match="4 turns; expected three at most"):
        ik.Joint.custom(turns=[("x", None, "a")] * 4)
    with pytest.raises(ModelError, match="the axes of the joint use a"):
        ik.Joint.custom(turns=[("x", None, "a")], coordinates=("a", "b"))
    with pytest.raises(ModelError, match="one of a ball joint"):
        ik.Skeleton.build("x", one, None, [ik.Coupling("a.rz", "b.wx")])
    with pytest.raises(UnknownNameError):
        ik.Skeleton.build("x", one, None, [ik.Coupling("a.rz", "b.none")])
    with pytest.raises(ModelError, match=r"ring: a.rz → a.rz"):
        ik.Skeleton.build("x", one, None, [ik.Coupling("a.rz", "a.rz")])
    with pytest.raises(ModelError, match="follows two others"):
        held = ik.Coupling("a.rz", None, Constant(0.5))
        ik.Skeleton.build("x", one, None, [held, held])
    with pytest.raises(ModelError, match="pitch"):
        ik.Joint.screw("x", math.inf)
    with pytest.raises(ModelError, match="turns before it shifts"):
        knee().inverse()


def test_rerooting_keeps_couplings_off_its_path():
    arm = ik.Bone("arm", parent="thigh", offset=(0, 0.2, 0), joint=ik.Joint.revolute("x"))
    root = ik.Bone("thigh", joint=ik.Joint.free())
    skeleton = leg()
    skeleton = skeleton.with_bones([root, *skeleton.bones[1:], arm])
    moved = skeleton.reroot("arm")
    assert moved.couplings == skeleton.couplings
    q = skeleton.integrate(skeleton.neutral(), np.full(skeleton.nv, 0.3))
    there = moved.forward(skeleton.reroot_coordinates("arm", q))
    for name in skeleton.bone_names:
        R = skeleton.forward(q).rotations[skeleton.bone_index(name)]
        np.testing.assert_allclose(there.rotations[moved.bone_index(name)], R, atol=1e-12)
    with pytest.raises(ModelError, match=r"cannot re-root over 'patella.rz'"):
        skeleton.reroot("patella")
