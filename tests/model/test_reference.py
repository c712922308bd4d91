"""The obvious algorithms agree with automatic differentiation; their published slips do not.

Every case has non-zero angles and a residual that is not small: at zero angles, or with the marker
on its target, most of the slips vanish.
"""

from __future__ import annotations

import numpy as np
import pytest

from exactik.goals import PositionGoal
from exactik.lab.check import random_coordinates, random_skeleton
from exactik.lab.check.oracle import evaluate, forward, point_jacobian
from exactik.model import EULER_ORDERS, Bone, Joint, Skeleton
from exactik.spatial import matrix_from_wxyz
from exactik.typing import Array
from tests.support.reference import (
    Dof,
    Marker,
    column,
    curvature,
    dofs,
    position_derivatives,
    position_jacobian,
)

ROTATIONS = [
    Joint.revolute((0.6, 0.0, 0.8)),
    *(Joint.euler(order) for order in EULER_ORDERS),
    Joint.euler("XZ"),
    Joint.exp_map(),
    *(Joint.swing_twist(twist) for twist in "xyz"),
    Joint.quaternion(),
]


def relative_error(a: Array, b: Array) -> float:
    return float(np.abs(a - b).max() / np.abs(b).max())


def arm(rng: np.random.Generator, *joints: Joint) -> Skeleton:
    """A chain of these joints with a turn before and after each."""
    bones = [
        Bone(
            f"b{k}",
            parent=f"b{k - 1}" if k > 0 else None,
            offset=rng.normal(scale=0.4, size=3),
            pre=matrix_from_wxyz(rng.normal(size=4)),
            joint=joint,
            post=matrix_from_wxyz(rng.normal(size=4)),
        )
        for k, joint in enumerate(joints)
    ]
    return Skeleton.build("arm", bones)


def make_markers(rng: np.random.Generator, *bones: str) -> list[Marker]:
    """Markers off the bone, with targets about a metre away and full weights."""
    actual = []
    for bone in bones:
        a = rng.normal(size=(3, 3))
        weight = a @ a.T + 0.2 * np.eye(3)
        actual.append(Marker(bone, rng.normal(scale=0.4, size=3), rng.normal(size=3), weight))
    return actual


def make_goals(markers: list[Marker]) -> list[PositionGoal]:
    return [PositionGoal(m.bone, m.target, m.point, weight=m.weight) for m in markers]


@pytest.mark.parametrize("seed", range(25))
def test_algorithms_3_and_4_agree_with_automatic_differentiation(seed: int):
    rng = np.random.default_rng(seed)
    skeleton = random_skeleton(rng)
    q = random_coordinates(rng, skeleton)
    names = [skeleton.bone_names[rng.integers(len(skeleton.bones))] for _ in range(4)]
    markers = make_markers(rng, *names)
    actual = position_derivatives(skeleton, q, markers)
    truth = evaluate(skeleton, make_goals(markers), q)
    assert actual.cost == pytest.approx(truth.cost, rel=1e-13)
    for ours, theirs in (
        (actual.gradient, truth.gradient),
        (actual.jacobian, truth.jacobian),
        (actual.hessian, truth.hessian),
    ):
        assert np.abs(ours - theirs).max() <= 1e-12 * max(np.abs(theirs).max(), 1e-3)
    linear, _ = point_jacobian(skeleton, q, markers[0].bone, markers[0].point)
    assert np.abs(linear - truth.jacobian[:3]).max() <= 1e-13


@pytest.mark.parametrize("joint", ROTATIONS, ids=str)
def test_the_block_inside_a_joint_is_symmetric_and_integrable(joint: Joint):
    """∂ω_a/∂θ_b − ∂ω_b/∂θ_a = ω_b × ω_a, whatever the parameters."""
    rng = np.random.default_rng(3)
    skeleton = arm(rng, joint)
    q = random_coordinates(rng, skeleton)
    actual = dofs(skeleton, q)
    for a in actual:
        for b in actual:
            expected = np.cross(b.omega, a.omega)
            difference = a.axis_derivatives[b.place] - b.axis_derivatives[a.place]
            assert np.abs(difference - expected).max() <= 1e-14


# --- what the sources print, and how wrong it is


def published_pair(i: Dof, j: Dof, e: Array) -> Array:
    """ω_j × J_i for all pairs, also inside a joint."""
    return np.cross(j.omega, column(i, e))


def backwards_pair(i: Dof, j: Dof, e: Array) -> Array:
    """ω_i × J_j inside a joint: the same product taken with the inner axis first."""
    return np.cross(i.omega, column(j, e)) if i.joint == j.joint else curvature(i, j, e)


@pytest.mark.parametrize("order", EULER_ORDERS)
def test_inside_an_euler_joint_only_the_outer_axis_may_come_first(order: str):
    """E4, E5: of the two triangles of a within-joint block one is right and must be mirrored."""
    rng = np.random.default_rng(5)
    skeleton = arm(rng, Joint.euler("ZYX"), Joint.euler(order), Joint.euler("XYZ"))
    q = random_coordinates(rng, skeleton)
    markers = make_markers(rng, "b2", "b2")
    truth = evaluate(skeleton, make_goals(markers), q).hessian
    right = position_derivatives(skeleton, q, markers, pair=published_pair).hessian
    wrong = position_derivatives(skeleton, q, markers, pair=backwards_pair).hessian
    assert relative_error(right, truth) <= 1e-13
    assert relative_error(wrong, truth) >= 1e-2
    same = np.kron(np.eye(3), np.ones((3, 3))) > 0
    assert np.abs(wrong - truth)[~same].max() <= 1e-13 * np.abs(truth).max()


@pytest.mark.parametrize(
    "joint",
    [Joint.exp_map(), Joint.swing_twist("x"), Joint.quaternion()],
    ids=str,
)
def test_inside_a_ball_joint_the_pair_rule_needs_a_correction(joint: Joint):
    """E18, E19: ω_j × J_i is not the second derivative; ∂ω_i/∂θ_j has to be added."""
    rng = np.random.default_rng(7)
    skeleton = arm(rng, Joint.euler("ZYZ"), joint, Joint.revolute("y"))
    q = random_coordinates(rng, skeleton)
    q[3 : 3 + joint.nq] = rng.normal(size=joint.nq)
    markers = make_markers(rng, "b2", "b1")
    truth = evaluate(skeleton, make_goals(markers), q).hessian
    right = position_derivatives(skeleton, q, markers).hessian
    wrong = position_derivatives(skeleton, q, markers, pair=published_pair).hessian
    assert relative_error(right, truth) <= 1e-13
    assert relative_error(wrong, truth) >= 1e-2


def test_inside_a_quaternion_joint_the_pair_rule_is_symmetrised():
    """E19: the mean of ω_i × (ω_j × p) and ω_j × (ω_i × p) is the second derivative."""
    rng = np.random.default_rng(11)
    skeleton = arm(rng, Joint.quaternion())
    q = random_coordinates(rng, skeleton)
    e = rng.normal(size=3)
    for i in dofs(skeleton, q):
        for j in dofs(skeleton, q):
            p = e - i.centre
            mean = 0.5 * np.cross(i.omega, np.cross(j.omega, p))
            mean += 0.5 * np.cross(j.omega, np.cross(i.omega, p))
            assert np.abs(curvature(i, j, e) - mean).max() <= 1e-14


@pytest.mark.parametrize("angle", [0.0, 1e-9, 1e-5, 1e-3, 1.0, np.pi - 1e-6, np.pi, 6.0])
@pytest.mark.parametrize("joint", [Joint.exp_map(), Joint.swing_twist("z")], ids=str)
def test_exponential_map_is_exact_near_zero_and_near_half_a_turn(joint: Joint, angle: float):
    rng = np.random.default_rng(13)
    skeleton = arm(rng, Joint.revolute("x"), joint, Joint.euler("XZY"))
    q = random_coordinates(rng, skeleton)
    axis = np.array([0.6, 0.8, 0.0]) if joint.kind == "swing_twist" else np.array([0.36, 0.48, 0.8])
    q[1:4] = angle * axis + (np.array([0, 0, 0.4]) if joint.kind == "swing_twist" else 0.0)
    markers = make_markers(rng, "b2", "b1")
    truth = evaluate(skeleton, make_goals(markers), q)
    actual = position_derivatives(skeleton, q, markers)
    assert relative_error(actual.gradient, truth.gradient) <= 1e-12
    assert relative_error(actual.hessian, truth.hessian) <= 1e-12


@pytest.mark.parametrize("effectors", [1, 3])
@pytest.mark.parametrize("rotation", ["ZYX", "exp_map", "quaternion"])
def test_a_moving_root_couples_translation_and_rotation(effectors: int, rotation: str):
    """E2: the translation block is ΣW, its coupling ΣW J; block-diagonal is wrong."""
    rng = np.random.default_rng(17)
    root = Joint.free(rotation)
    bones = [
        Bone("hip", joint=root),
        *(
            Bone(f"leg{k}", parent="hip", offset=rng.normal(size=3), joint=Joint.euler("ZYZ"))
            for k in range(3)
        ),
    ]
    skeleton = Skeleton.build("figure", bones)
    q = random_coordinates(rng, skeleton)
    markers = make_markers(rng, *(f"leg{k}" for k in range(effectors)))
    markers = [m._replace(weight=1.0) for m in markers]
    truth = evaluate(skeleton, make_goals(markers), q).hessian
    actual = position_derivatives(skeleton, q, markers).hessian
    total = sum(position_jacobian(skeleton, q, m.bone, m.point) for m in markers)
    assert relative_error(actual, truth) <= 1e-13
    assert np.abs(truth[:3, :3] - effectors * np.eye(3)).max() <= 1e-13
    assert np.abs(truth[:3] - total).max() <= 1e-12
    printed = truth.copy()
    printed[:3, 3:], printed[3:, :3], printed[:3, :3] = 0.0, 0.0, np.eye(3)
    assert relative_error(printed, truth) >= 0.05


def test_a_translation_has_curvature_when_it_is_carried_by_a_rotation():
    """E3: K = 0 holds for T·R, translation outside the rotation, and not for R·T."""

    def no_curvature_of_shifts(i: Dof, j: Dof, e: Array) -> Array:
        shifts = not i.omega.any() or not j.omega.any()
        return np.zeros(3) if shifts else curvature(i, j, e)

    rng = np.random.default_rng(19)
    turn, shift = Joint.euler("ZYX"), Joint.translation()
    for joints, holds in (((shift, turn), True), ((turn, shift), False)):
        skeleton = arm(rng, *joints)
        q = random_coordinates(rng, skeleton)
        markers = make_markers(rng, "b1")
        truth = evaluate(skeleton, make_goals(markers), q).hessian
        printed = position_derivatives(skeleton, q, markers, pair=no_curvature_of_shifts).hessian
        assert relative_error(position_derivatives(skeleton, q, markers).hessian, truth) <= 1e-13
        assert (relative_error(printed, truth) <= 1e-13) is holds
        assert holds or relative_error(printed, truth) >= 0.05


def test_axes_belong_to_the_frame_of_the_parent():
    """E12: an axis is turned by the frame before the joint, not by the bone that it moves."""
    rng = np.random.default_rng(23)
    skeleton = arm(rng, Joint.euler("ZYX"), Joint.euler("ZYZ"))
    q = random_coordinates(rng, skeleton)
    positions, rotations = forward(skeleton, q)
    e = positions[1] + rotations[1] @ np.array([0.3, 0.1, 0.2])
    linear, angular = point_jacobian(skeleton, q, "b1", (0.3, 0.1, 0.2))
    base = rotations[0] @ np.array(skeleton.bones[1].pre)
    right, wrong = base[:, 2], rotations[1][:, 2]
    assert np.abs(angular[:, 3] - right).max() <= 1e-14
    assert np.abs(angular[:, 3] - wrong).max() >= 0.1
    assert np.abs(linear[:, 3] - np.cross(right, e - positions[1])).max() <= 1e-14


def test_goals_in_descendants_use_the_mirrored_pair():
    """E4: with j below i the product ω_j × J_i is wrong; K_ij = K_ji is used instead."""
    rng = np.random.default_rng(29)
    skeleton = arm(rng, Joint.euler("ZYZ"), Joint.euler("ZYZ"))
    q = random_coordinates(rng, skeleton)
    actual = dofs(skeleton, q)
    e = rng.normal(size=3)
    outer, inner = actual[1], actual[4]
    right = np.cross(outer.omega, column(inner, e))
    wrong = np.cross(inner.omega, column(outer, e))
    assert np.abs(curvature(inner, outer, e) - right).max() == 0.0
    assert np.abs(wrong - right).max() >= 0.1
