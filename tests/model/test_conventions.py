"""docs/conventions.md, row by row: `test_row_07_…` proves row 7."""

from __future__ import annotations

import re

import numpy as np
import pytest

import exactik as ik
from exactik.errors import GoalError, ModelError, NonFiniteError, ShapeError, UnknownNameError
from exactik.model import EULER_ORDERS
from exactik.spatial import axis_rotation, exp_rotation, log_rotation, matrix_from_wxyz
from exactik.typing import Array
from tests.support.checkout import DOCS
from tests.support.models import EVERY_JOINT, chain_of, configuration, planar_arm

PAGE = DOCS / "conventions.md"
QUARTER = np.pi / 2


def single_bone(joint: ik.Joint, **more) -> ik.Skeleton:
    """A single bone on this joint."""
    return ik.Skeleton.build("one", [ik.Bone("b", joint=joint, **more)])


def make_mixed_chain(seed: int = 0) -> tuple[ik.Skeleton, Array]:
    """A chain with every special joint, and a configuration of it."""
    joints = [ik.Joint.free("quaternion"), ik.Joint.exp_map(), ik.Joint.swing_twist()]
    skeleton = chain_of([*joints, ik.Joint.euler("ZYZ"), ik.Joint.prismatic("y")], seed)
    return skeleton, configuration(skeleton, seed)


def central_differences(function, skeleton: ik.Skeleton, q: Array, h: float = 1e-6) -> Array:
    """∂ function(integrate(q, v))/∂v at v = 0, (…, nv)."""
    steps = h * np.eye(skeleton.nv)
    ahead, behind = (
        np.stack([np.asarray(function(skeleton.integrate(q, s * v))) for v in steps], axis=-1)
        for s in (1.0, -1.0)
    )
    return (ahead - behind) / (2.0 * h)


# --- quantities and frames


def test_row_01_units_are_metres_and_radians_in_float64():
    arm = planar_arm(upper=0.4, lower=0.3)
    pose = arm.forward(np.array([QUARTER, 0], dtype=np.float32))
    assert pose.positions.dtype == pose.rotations.dtype == np.float64
    np.testing.assert_allclose(pose.markers[0], (0, 0.7, 0), atol=1e-6)
    assert 1.6 < ik.human().forward(ik.human().neutral()).markers[..., 2].max() < 1.8
    metres = ik.Problem(arm, [ik.MarkerGoal("HAND", (0.7, 0, 1000.0))])
    assert metres.residual((0, 0))[2] == 1000.0


def test_row_02_quaternions_are_wxyz_of_any_length():
    half = np.sqrt(0.5)
    quarter_about_z = np.array([half, 0, 0, half])
    np.testing.assert_allclose(
        matrix_from_wxyz(quarter_about_z), axis_rotation("z", QUARTER), atol=1e-15
    )
    ball = single_bone(ik.Joint.quaternion())
    np.testing.assert_array_equal(ball.neutral(), (1, 0, 0, 0))
    for scale in (1.0, -3.0):
        R = ball.forward(scale * quarter_about_z).rotations[0]
        np.testing.assert_allclose(R, axis_rotation("z", QUARTER), atol=1e-15)
        moved = ball.integrate(scale * quarter_about_z, np.zeros(3))
        assert np.linalg.norm(moved) == pytest.approx(1.0, abs=1e-15)
        goal = ik.OrientationGoal("b", wxyz=scale * quarter_about_z)
        np.testing.assert_allclose(goal.rotation, axis_rotation("z", QUARTER), atol=1e-15)


@pytest.mark.parametrize(("axis", "of", "to"), [("z", 0, 1), ("x", 1, 2), ("y", 2, 0)])
def test_row_03_rotations_are_active_and_right_handed(axis: str, of: int, to: int):
    hinge = single_bone(ik.Joint.revolute(axis), offset=(1, 2, 3))
    pose = hinge.forward([QUARTER])
    e = np.eye(3)
    np.testing.assert_allclose(pose.rotations[0] @ e[of], e[to], atol=1e-15)
    np.testing.assert_allclose(pose.point("b", e[of]), np.array([1, 2, 3]) + e[to], atol=1e-15)


def test_row_04_a_bone_sits_at_its_joint_and_follows_its_parent():
    pre, post, turn = axis_rotation("x", 0.3), axis_rotation("y", 0.4), axis_rotation("z", 0.5)
    bones = [
        ik.Bone("a", offset=(0, 0, 1), joint=ik.Joint.revolute("x")),
        ik.Bone(
            "b",
            parent="a",
            offset=(0.1, 0.2, 0.3),
            pre=pre,
            joint=ik.Joint.free(ik.Joint.revolute("z")),
            post=post,
        ),
    ]
    two = ik.Skeleton.build("two", bones, {"M": ("b", (1, 0, 0))})
    shift = np.array([0.5, -0.1, 0.2])
    pose = two.forward([0.7, *shift, 0.5])
    R_a, R_b = pose.rotations
    p_a, p_b = pose.positions
    np.testing.assert_allclose(R_a, axis_rotation("x", 0.7), atol=1e-15)
    np.testing.assert_array_equal(p_a, (0, 0, 1))
    np.testing.assert_allclose(p_b, p_a + R_a @ ([0.1, 0.2, 0.3] + pre @ shift), atol=1e-15)
    np.testing.assert_allclose(R_b, R_a @ pre @ turn @ post, atol=1e-15)
    np.testing.assert_allclose(pose.markers[0], p_b + R_b[:, 0], atol=1e-15)
    target = (0.0, 0.0, 2.0)
    problem = ik.Problem(two, [ik.PositionGoal("b", target, (1, 0, 0))])
    np.testing.assert_allclose(
        problem.residual([0.7, *shift, 0.5]), target - pose.markers[0], atol=1e-15
    )


@pytest.mark.parametrize("order", [*EULER_ORDERS, "XZ", "Y"])
def test_row_05_the_first_euler_letter_is_outermost(order: str):
    angles = (0.3, -0.7, 1.1)[: len(order)]
    expected = np.eye(3)
    for letter, angle in zip(order, angles, strict=True):
        expected = expected @ axis_rotation(letter, angle)
    actual = single_bone(ik.Joint.euler(order)).forward(angles).rotations[0]
    np.testing.assert_allclose(actual, expected, atol=1e-15)


def test_row_06_rotation_vectors_and_swing_after_twist():
    w = np.array([0.2, -0.5, 0.4])
    R = single_bone(ik.Joint.exp_map()).forward(w).rotations[0]
    np.testing.assert_allclose(R @ w, w, atol=1e-15)
    assert np.trace(R) == pytest.approx(1 + 2 * np.cos(np.linalg.norm(w)), abs=1e-15)
    np.testing.assert_allclose(log_rotation(R), w, atol=1e-15)
    for twist, swing in (("x", [1, 2]), ("y", [2, 0]), ("z", [0, 1])):
        w = np.zeros(3)
        w[swing] = 0.3, -0.6
        R = single_bone(ik.Joint.swing_twist(twist)).forward([0.3, -0.6, 0.9]).rotations[0]
        np.testing.assert_allclose(R, exp_rotation(w) @ axis_rotation(twist, 0.9), atol=1e-15)


def test_row_07_a_free_joint_shifts_along_its_base_and_then_turns():
    pre = axis_rotation("x", QUARTER)
    free = single_bone(ik.Joint.free("ZYX"), pre=pre)
    pose = free.forward([1, 2, 3, 0.4, 0.5, 0.6])
    np.testing.assert_allclose(pose.positions[0], pre @ [1, 2, 3], atol=1e-15)
    assert free.dof_names[:3] == ("b.tx", "b.ty", "b.tz")


@pytest.mark.parametrize("up", range(3))
def test_row_08_world_axes_are_never_turned(up: int):
    along = np.eye(3)[up]
    bones = [ik.Bone("low", offset=along), ik.Bone("high", parent="low", offset=along)]
    pose = ik.Skeleton.build("pole", bones).forward([])
    np.testing.assert_array_equal(pose.positions, [along, 2 * along])
    figure = ik.human()
    pose = figure.forward(figure.neutral())
    head, left_hand, right_hand = (
        pose.positions[figure.bone_index(bone)] for bone in ("head", "l_hand", "r_hand")
    )
    toes, heel = (figure.bone_index(bone) for bone in ("l_toes", "l_foot"))
    assert head[2] > 1.5
    assert left_hand[1] > 0.3 > -0.3 > right_hand[1]
    assert pose.positions[toes, 0] > pose.positions[heel, 0]


# --- coordinates and steps


@pytest.mark.parametrize("name", EVERY_JOINT)
def test_row_09_only_quaternions_have_more_coordinates_than_dofs(name: str):
    joint = EVERY_JOINT[name]
    skeleton = chain_of([joint, ik.Joint.quaternion(), joint])
    own = 1 if joint.rotation_part.kind == "quaternion" else 0
    assert joint.nq - joint.nv == own
    assert (skeleton.nq, skeleton.nv) == (2 * joint.nq + 4, 2 * joint.nv + 3)
    assert len(skeleton.dof_names) == len(skeleton.lower) == skeleton.nv
    assert len(skeleton.neutral()) == skeleton.nq


def test_row_10_steps_are_integrated_on_the_right():
    skeleton, q = make_mixed_chain()
    v = np.random.default_rng(1).normal(scale=0.5, size=skeleton.nv)
    moved = skeleton.integrate(q, v)
    plain = skeleton.plain_q >= 0
    added = q[skeleton.plain_q[plain]] + v[plain]
    np.testing.assert_allclose(moved[skeleton.plain_q[plain]], added, atol=1e-15)
    np.testing.assert_allclose(
        matrix_from_wxyz(moved[3:7]), matrix_from_wxyz(q[3:7]) @ exp_rotation(v[3:6]), atol=1e-15
    )
    np.testing.assert_allclose(skeleton.difference(moved, q), v, atol=1e-14)
    back = skeleton.integrate(q, skeleton.difference(moved, q))
    np.testing.assert_allclose(back, moved, atol=1e-14)
    ball = single_bone(ik.Joint.quaternion())
    there = ball.integrate(ball.neutral(), [2 * np.pi - 0.5, 0, 0])
    np.testing.assert_allclose(ball.difference(there, ball.neutral()), [-0.5, 0, 0], atol=1e-14)


def test_row_11_parents_come_first_and_q_runs_over_the_bones():
    bones = [
        ik.Bone("hand", parent="arm", joint=ik.Joint.revolute("x")),
        ik.Bone("root", joint=ik.Joint.free("quaternion")),
        ik.Bone("arm", parent="root", joint=ik.Joint.exp_map()),
        ik.Bone("tail", parent="root", joint=ik.Joint.prismatic("y")),
    ]
    skeleton = ik.Skeleton.build("order", bones)
    assert skeleton.bone_names == ("root", "arm", "hand", "tail")
    assert [name.split(".")[0] for name in skeleton.dof_names] == (
        ["root"] * 6 + ["arm"] * 3 + ["hand"] + ["tail"]
    )
    q = skeleton.neutral()
    q[10] = 0.4  # 7 of the root, 3 of the arm, then the hand
    turned = skeleton.forward(q).rotations[2]
    np.testing.assert_allclose(turned, axis_rotation("x", 0.4), atol=1e-15)


def test_row_12_dofs_are_named_by_bone_and_motion():
    expected = {
        ik.Joint.revolute("y"): ["ry"],
        ik.Joint.revolute((0.6, 0, 0.8)): ["r"],
        ik.Joint.prismatic("x"): ["tx"],
        ik.Joint.translation(): ["tx", "ty", "tz"],
        ik.Joint.euler("ZYX"): ["rz", "ry", "rx"],
        ik.Joint.euler("ZYZ"): ["rz", "ry", "rz2"],
        ik.Joint.exp_map(): ["ex", "ey", "ez"],
        ik.Joint.swing_twist("x"): ["swing_y", "swing_z", "twist_x"],
        ik.Joint.quaternion(): ["wx", "wy", "wz"],
        ik.Joint.free("XY"): ["tx", "ty", "tz", "rx", "ry"],
    }
    for joint, names in expected.items():
        assert single_bone(joint).dof_names == tuple(f"b.{name}" for name in names)


def test_row_13_limits_are_per_dof_and_no_part_of_the_cost():
    joints = [ik.Joint.revolute("z", limits=(-0.5, 0.5)), ik.Joint.quaternion()]
    skeleton = chain_of(joints)
    np.testing.assert_array_equal(skeleton.lower, [-0.5, -np.inf, -np.inf, -np.inf])
    np.testing.assert_array_equal(skeleton.upper, [0.5, np.inf, np.inf, np.inf])
    outside = np.array([0.8, 1, 0, 0, 0])
    goals = [ik.PositionGoal("b1", (1, 1, 1))]
    hard, soft, off = (
        ik.Problem(skeleton, goals, limits=limits) for limits in ("hard", "soft", "off")
    )
    assert ik.Problem(skeleton, goals).limits == "hard"
    assert hard.cost(outside) == off.cost(outside)
    assert soft.cost(outside) == pytest.approx(off.cost(outside) + 0.5 * 0.3**2, abs=1e-15)
    np.testing.assert_array_equal(hard.upper, skeleton.upper)
    assert not np.isfinite([soft.lower, soft.upper, off.lower, off.upper]).any()
    with pytest.raises(ModelError, match="quaternion"):
        ik.Joint.free("quaternion", limits=[(-1, 1)] * 6)


def test_row_14_batch_axes_come_first():
    skeleton, q = make_mixed_chain()
    many = np.tile(q, (2, 3, 1))
    pose = skeleton.forward(many)
    bones, markers = len(skeleton.bones), len(skeleton.markers)
    assert pose.positions.shape == (2, 3, bones, 3)
    assert pose.rotations.shape == (2, 3, bones, 3, 3)
    assert pose.markers.shape == (2, 3, markers, 3)
    assert skeleton.integrate(many, np.zeros(skeleton.nv)).shape == many.shape
    assert skeleton.difference(many, q).shape == (2, 3, skeleton.nv)


# --- cost and derivatives


def several_goals(skeleton: ik.Skeleton, q: Array) -> list[ik.Goal]:
    """A goal of every sort on the last bone, none of them fulfilled at q."""
    tip, turned = skeleton.bone_names[-1], exp_rotation([0.4, -0.3, 0.9])
    transform = np.eye(4)
    transform[:3, :3], transform[:3, 3] = turned, (0.3, 0.1, -0.4)
    return [
        ik.PositionGoal(tip, (1, 2, 3), (0.1, 0, 0.2), weight=(1, 2, 3)),
        ik.OrientationGoal(tip, turned, weight=0.5),
        ik.PoseGoal(tip, transform, weight=(2.0, 0.3)),
        ik.DirectionGoal(tip, (1, 0, 0), (0, 1, 1)),
        ik.AimGoal(tip, (0, 0, 1), (3, 1, 2), weight=[[2, 1, 0], [1, 2, 0], [0, 0, 1]]),
        ik.PostureGoal(skeleton.integrate(q, np.full(skeleton.nv, 0.2)), weight=0.1),
    ]


def test_row_15_residuals_are_target_minus_model():
    skeleton, q = make_mixed_chain()
    goals = several_goals(skeleton, q)
    pose = skeleton.forward(q)
    tip, R = skeleton.bone_names[-1], pose.rotations[-1]
    turned = exp_rotation([0.4, -0.3, 0.9])
    sight = np.array([3, 1, 2]) - pose.positions[-1]
    expected = [
        np.array([1, 2, 3]) - pose.point(tip, (0.1, 0, 0.2)),
        log_rotation(turned @ R.T),
        np.array([0.3, 0.1, -0.4]) - pose.positions[-1],
        log_rotation(turned @ R.T),
        np.array([0, 1, 1]) / np.sqrt(2) - R[:, 0],
        sight / np.linalg.norm(sight) - R[:, 2],
        np.full(skeleton.nv, 0.2),
    ]
    problem = ik.Problem(skeleton, goals)
    np.testing.assert_allclose(problem.residual(q), np.concatenate(expected), atol=1e-14)
    stops = np.cumsum([3, 3, 6, 3, 3, skeleton.nv]).tolist()
    assert [rows.stop for rows in problem.rows.values()] == stops
    # In world axes: φ turns the bone to its target from the left.
    np.testing.assert_allclose(exp_rotation(problem.residual(q)[3:6]) @ R, turned, atol=1e-14)


def test_row_16_the_cost_is_half_the_weighted_square():
    skeleton, q = make_mixed_chain()
    goals = several_goals(skeleton, q)
    problem = ik.Problem(skeleton, goals)
    r = problem.residual(q)
    W = np.zeros((len(r), len(r)))
    W[:18, :18] = np.diag([1, 2, 3, *[0.5] * 3, *[2.0] * 3, *[0.3] * 3, *[1.0] * 3, 0, 0, 0])
    W[15:18, 15:18] = [[2, 1, 0], [1, 2, 0], [0, 0, 1]]
    W[18:, 18:] = 0.1 * np.eye(skeleton.nv)
    assert problem.cost(q) == pytest.approx(0.5 * r @ W @ r, rel=1e-14)
    rng = np.random.default_rng(0)
    half = rng.normal(size=W.shape)
    whole = ik.Problem(skeleton, goals, weight_matrix=half @ half.T)
    np.testing.assert_allclose(whole.residual(q), r, atol=1e-14)
    assert whole.cost(q) == pytest.approx(0.5 * np.sum((half.T @ r) ** 2), rel=1e-13)


def test_row_17_the_jacobian_is_minus_the_derivative_of_the_residual():
    skeleton, q = make_mixed_chain()
    problem = ik.Problem(skeleton, several_goals(skeleton, q))
    J = problem.jacobian(q)
    np.testing.assert_allclose(J, -central_differences(problem.residual, skeleton, q), atol=1e-8)
    tip = skeleton.bone_names[-1]
    np.testing.assert_allclose(J[:3], skeleton.jacobian(q, tip, (0.1, 0, 0.2)), atol=1e-14)


def test_row_18_the_gradient_is_the_derivative_of_the_cost_of_a_step():
    skeleton, q = make_mixed_chain()
    problem = ik.Problem(skeleton, several_goals(skeleton, q))
    g = problem.gradient(q)
    np.testing.assert_allclose(
        g, central_differences(problem.cost, skeleton, q), rtol=1e-6, atol=1e-6
    )
    W = problem.packed.weight
    np.testing.assert_allclose(g, -problem.jacobian(q).T @ W @ problem.residual(q), atol=1e-12)


def test_row_19_the_hessian_is_symmetric_and_belongs_to_the_cost_of_a_step():
    skeleton, q = make_mixed_chain()
    problem = ik.Problem(skeleton, several_goals(skeleton, q))
    H = problem.hessian(q)
    assert H.shape == (skeleton.nv, skeleton.nv)
    np.testing.assert_array_equal(H, H.T)
    h = 1e-3
    for i, j in ((4, 5), (3, 4), (6, 8), (0, 7), (11, 11)):  # two of them inside the quaternion
        a, b = h * np.eye(skeleton.nv)[[i, j]]
        cost = {
            (s, t): problem.cost(skeleton.integrate(q, s * a + t * b))
            for s in (1, -1)
            for t in (1, -1)
        }
        bend = (cost[1, 1] - cost[1, -1] - cost[-1, 1] + cost[-1, -1]) / (4 * h * h)
        assert H[i, j] == pytest.approx(bend, abs=1e-4)
    J, W = problem.jacobian(q), problem.packed.weight
    np.testing.assert_allclose(problem.gauss_newton(q), J.T @ W @ J, atol=1e-12)


def test_row_20_locked_dofs_keep_their_place_with_zeros():
    skeleton, q = make_mixed_chain()
    goals = several_goals(skeleton, q)
    free, held = ik.Problem(skeleton, goals), ik.Problem(skeleton, goals, lock=("b1", "b3.ry"))
    locked = np.zeros(skeleton.nv, bool)
    locked[[6, 7, 8, 13]] = True
    np.testing.assert_array_equal(held.locked, locked)
    assert held.cost(q) == free.cost(q)
    np.testing.assert_array_equal(held.gradient(q), np.where(locked, 0, free.gradient(q)))
    np.testing.assert_array_equal(held.jacobian(q), np.where(locked, 0, free.jacobian(q)))
    either = locked | locked[:, None]
    for name in ("hessian", "gauss_newton"):
        ours, theirs = getattr(held, name)(q), getattr(free, name)(q)
        np.testing.assert_array_equal(ours, np.where(either, 0, theirs))


def test_row_21_strength_is_no_part_of_the_cost():
    skeleton, q = make_mixed_chain()
    goals = several_goals(skeleton, q)
    plain, weak = ik.Problem(skeleton, goals), ik.Problem(skeleton, goals, strength={"b1*": 0.2})
    np.testing.assert_array_equal(np.flatnonzero(weak.strength == 0.2), [6, 7, 8])
    for name in ("cost", "residual", "jacobian", "gradient", "gauss_newton", "hessian"):
        np.testing.assert_array_equal(getattr(plain, name)(q), getattr(weak, name)(q))


class Turned(ik.FrameGoal):
    """The x axis of the bone, and where the bone is."""

    def residual(self, rotation: Array, position: Array) -> Array:
        return -np.concatenate([rotation[:, 0], position])


def test_row_22_a_goal_of_your_own_is_differentiated_by_rotation_then_position():
    skeleton, q = make_mixed_chain()
    goal, pose = Turned(skeleton.bone_names[-1]), skeleton.forward(q)
    R, p = pose.rotations[-1], pose.positions[-1]
    first, second = goal.derivatives(R, p)
    assert (first.shape, second.shape) == ((6, 6), (6, 6, 6))
    axes = np.cross(np.eye(3), R[:, 0]).T  # columns e_a × x
    np.testing.assert_allclose(first[:3, :3], -axes, atol=1e-9)
    np.testing.assert_allclose(first[3:, 3:], -np.eye(3), atol=1e-9)
    np.testing.assert_allclose(first[3:, :3], 0, atol=1e-9)
    J = ik.Problem(skeleton, [goal]).jacobian(q)
    both = skeleton.jacobian(q, skeleton.bone_names[-1], rows="both")
    np.testing.assert_allclose(J[3:], both[:3], atol=1e-8)
    np.testing.assert_allclose(J[:3], axes @ both[3:], atol=1e-8)


def test_row_23_frames_of_a_jacobian():
    skeleton, q = make_mixed_chain()
    bone, point = skeleton.bone_names[-1], (0.3, -0.2, 0.5)
    pose = skeleton.forward(q)
    R, e = pose.rotations[-1], pose.point(bone, point)
    world, body, spatial = (
        skeleton.jacobian(q, bone, point, frame=frame, rows="both")
        for frame in ("world", "body", "spatial")
    )
    moved = central_differences(lambda x: skeleton.forward(x).point(bone, point), skeleton, q)
    np.testing.assert_allclose(world[:3], moved, atol=1e-8)
    np.testing.assert_allclose(body, np.kron(np.eye(2), R.T) @ world, atol=1e-14)
    np.testing.assert_allclose(spatial[3:], world[3:], atol=1e-14)
    np.testing.assert_allclose(spatial[:3], world[:3] - np.cross(world[3:].T, e).T, atol=1e-14)


def test_row_24_linear_rows_come_before_angular_ones():
    skeleton, q = make_mixed_chain()
    bone = skeleton.bone_names[-1]
    both, linear, angular = (
        skeleton.jacobian(q, bone, rows=rows) for rows in ("both", "linear", "angular")
    )
    np.testing.assert_array_equal(both, np.concatenate([linear, angular]))
    np.testing.assert_array_equal(skeleton.jacobian(q, bone), linear)
    v = np.ones(skeleton.nv)
    rate = skeleton.jacobian_dot(q, v, bone, rows="both")
    np.testing.assert_array_equal(rate[:3], skeleton.jacobian_dot(q, v, bone))
    there = np.eye(4)
    there[:3, :3], there[:3, 3] = skeleton.forward(q).rotations[-1], (5, 6, 7)
    residual = ik.Problem(skeleton, [ik.PoseGoal(bone, there)]).residual(q)
    np.testing.assert_allclose(residual[3:], 0, atol=1e-14)
    assert np.abs(residual[:3]).min() > 1


# --- data and misuse


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_row_25_what_a_problem_is_made_of_is_finite(bad: float):
    skeleton, q = make_mixed_chain()
    tip = skeleton.bone_names[-1]
    problem = ik.Problem(skeleton, [ik.PositionGoal(tip, (1, 2, 3))])
    spoilt, step = q.copy(), np.zeros(skeleton.nv)
    spoilt[2] = step[2] = bad
    for call, argument in (
        (lambda: skeleton.forward(spoilt), "q[2]"),
        (lambda: problem.cost(spoilt), "q[2]"),
        (lambda: skeleton.integrate(q, step), "v[2]"),
        (lambda: problem.hessian_product(q, step), "x[2]"),
        (
            lambda: ik.Problem(skeleton, [ik.PositionGoal(tip, (0, bad, 0), name="reach")]),
            "target of goal 'reach'[1]",
        ),
        (
            lambda: ik.Problem(skeleton, [ik.PositionGoal(tip, (0, 0, 0), weight=bad)]),
            f"weight of goal '{tip}'",
        ),
        (lambda: ik.Skeleton.build("s", [ik.Bone("b", offset=(0, 0, bad))]), "offset of bone 'b'"),
    ):
        with pytest.raises(NonFiniteError, match=re.escape(argument)):
            call()


def test_row_26_misuse_is_an_exactik_error_and_an_ordinary_one():
    arm = planar_arm()
    for call, error, kind, message in (
        (lambda: arm.jacobian((0, 0), "lowr"), UnknownNameError, KeyError, "'lower'"),
        (lambda: arm.forward((0, 0, 0)), ShapeError, ValueError, "(…, 2)"),
        (lambda: arm.forward((0, np.nan)), NonFiniteError, ValueError, "finite"),
        (lambda: ik.Joint.revolute((1, 1, 0)), ModelError, ValueError, "unit vector"),
        (lambda: ik.Problem(arm, []), GoalError, ValueError, "at least one"),
    ):
        with pytest.raises(error, match=re.escape(message)) as caught:
            call()
        assert isinstance(caught.value, ik.ExactikError)
        assert isinstance(caught.value, kind)


def test_row_27_arguments_are_never_changed_and_models_cannot_be():
    skeleton, q = make_mixed_chain()
    q *= 1.5  # the quaternion too: it is normalised in a copy
    v = np.random.default_rng(2).normal(size=skeleton.nv)
    goals = several_goals(skeleton, q)
    kept, step = q.copy(), v.copy()
    problem = ik.Problem(skeleton, goals, lock="b2*")
    problem.hessian(q)
    problem.residual(q)
    problem.hessian_product(q, v)
    skeleton.forward(skeleton.integrate(q, v))
    skeleton.jacobian_dot(q, v, "b1")
    np.testing.assert_array_equal(q, kept)
    np.testing.assert_array_equal(v, step)
    held = (skeleton.lower, skeleton.parents, skeleton.tree.offset, problem.locked)
    for array in (*held, problem.strength, problem.packed.weight):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    for thing, field in ((skeleton, "name"), (skeleton.bones[0], "offset"), (goals[0], "target")):
        with pytest.raises(AttributeError):
            setattr(thing, field, None)


# --- the page itself


def test_every_row_has_a_test_and_every_test_a_row():
    text = PAGE.read_text(encoding="utf-8")
    rows = [int(n) for n in re.findall(r"^\| (\d+) \|", text, re.MULTILINE)]
    tests = {m[1] for name in globals() if (m := re.match(r"test_row_(\d\d)_", name))}
    assert rows == list(range(1, len(rows) + 1))
    assert sorted(int(n) for n in tests) == rows
