"""Goals between two bodies: their cost, that they follow both, what a result says of them."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import exactik as ik
from exactik.errors import GoalError
from exactik.lab.check import random_coordinates
from exactik.lab.check.oracle import evaluate
from exactik.spatial import exp_rotation
from exactik.typing import Array
from tests.support.models import chain_of, configuration
from tests.support.problems import goals_between_bodies

HUMAN = ik.human()
TURN = exp_rotation(np.array([0.3, -0.8, 0.5]))
ARMS = ("*forearm*", "*upper_arm*", "*hand*", "*clavicle*", "*wrist*")


def rigid(turn: Array, place: Any) -> Array:
    """A rigid transform, (4, 4)."""
    matrix = np.eye(4)
    matrix[:3, :3], matrix[:3, 3] = turn, place
    return matrix


def random_pose(seed: int) -> Array:
    """A pose of the human, some joints beyond their limits."""
    return random_coordinates(np.random.default_rng(seed), HUMAN)


@pytest.mark.parametrize("goal", goals_between_bodies("l_hand", "r_foot"), ids=lambda g: g.label)
def test_what_moves_both_bodies_changes_nothing(goal: ik.Goal) -> None:
    problem, q = ik.Problem(HUMAN, goal), random_pose(1)
    cost, g, H = problem.evaluate(q)
    root = np.flatnonzero(HUMAN.dof_bones == 0)
    moved = HUMAN.integrate(q, np.where(np.arange(HUMAN.nv) < len(root), 0.7, 0.0))
    assert problem.cost(moved) == pytest.approx(cost, rel=1e-12)
    assert cost > 0.0 and np.abs(g).max() > 0.0
    assert np.abs(g[root]).max() < 1e-13 * np.abs(g).max()
    assert np.abs(H[root]).max() < 1e-13 * np.abs(H).max()


@pytest.mark.parametrize("goal", goals_between_bodies("a", "b"), ids=lambda g: g.label)
def test_derivatives_are_those_of_the_oracle(goal: ik.Goal) -> None:
    """Of bodies on two branches; `exactik check` has random trees and all joints."""
    joints = [ik.Joint.quaternion(), ik.Joint.exp_map(), ik.Joint.revolute("x")]
    stem = chain_of(joints, 3)
    tip = stem.bone_names[-1]
    arms = [
        ik.Bone("a", parent=tip, offset=(0, 0.3, 0), joint=ik.Joint.euler("ZYX")),
        ik.Bone("b", parent=tip, offset=(0, -0.3, 0), joint=ik.Joint.swing_twist("y")),
    ]
    figure = ik.Skeleton.build("fork", [*stem.bones, *arms])
    q = configuration(figure, 2)
    problem, truth = ik.Problem(figure, goal), evaluate(figure, [goal], q)
    cost, g, H = problem.evaluate(q)
    assert cost == pytest.approx(truth.cost, rel=1e-13)
    for ours, theirs in (
        (problem.residual(q), truth.residual),
        (problem.jacobian(q), truth.jacobian),
        (g, truth.gradient),
        (problem.gauss_newton(q), truth.gauss_newton),
        (H, truth.hessian),
    ):
        assert np.abs(ours - theirs).max() <= 1e-12 * max(np.abs(theirs).max(), 1e-3)
    assert ik.check_derivatives(problem, q).ok


def test_hands_come_together_and_stay_together_where_one_is_pulled() -> None:
    together = ik.PositionGoal("l_hand", (0.0, 0.1, 0.0), relative_to="r_hand")
    place = HUMAN.forward(HUMAN.neutral()).positions[HUMAN.bone_index("r_hand")] + (0.1, 0.3, 0.2)
    result = ik.solve(HUMAN, [together, ik.PositionGoal("r_hand", place)], lock=["pelvis"])
    assert result.reached and result.goal_errors["l_hand in r_hand"] < 1e-6
    pose = HUMAN.forward(result.q)
    left, right = (HUMAN.bone_index(f"{side}_hand") for side in "lr")
    seen = pose.rotations[right].T @ (pose.positions[left] - pose.positions[right])
    np.testing.assert_allclose(seen, (0.0, 0.1, 0.0), atol=1e-6)
    np.testing.assert_allclose(pose.positions[right], place, atol=1e-6)


def test_bounds_on_distances_act_only_where_they_are_broken() -> None:
    feet = ik.DistanceGoal("l_foot", "r_foot", at_least=0.6, at_most=0.7)
    for start in (0.0, 0.9):
        q = HUMAN.neutral()
        for side, sign in (("l", 1.0), ("r", -1.0)):
            q[HUMAN.dof_names.index(f"{side}_thigh.rx")] = sign * start
        result = ik.solve(HUMAN, feet, q0=q, limits="off")
        pose = HUMAN.forward(result.q)
        apart = np.linalg.norm(
            pose.positions[HUMAN.bone_index("l_foot")] - pose.positions[HUMAN.bone_index("r_foot")]
        )
        assert ik.Problem(HUMAN, feet).cost(q) > 1e-3
        assert result.reached and 0.599 < apart < 0.701
        again = ik.solve(HUMAN, feet, q0=result.q)
        assert again.goal_errors["l_foot to r_foot"] <= 1e-3
    inside = ik.Problem(HUMAN, ik.DistanceGoal("l_foot", "r_foot", at_most=2.0))
    cost, g, H = inside.evaluate(HUMAN.neutral())
    assert cost == 0.0 and not g.any() and not H.any()


def test_errors_are_violations_in_metres() -> None:
    q = HUMAN.neutral()
    pose = HUMAN.forward(q)
    a, b = (pose.positions[HUMAN.bone_index(f"{side}_hand")] for side in "lr")
    apart = float(np.linalg.norm(a - b))
    for bound, band in ((0.3, 1e-3), (0.05, 0.2), (0.0005, 1e-3)):
        goals = [
            ik.DistanceGoal("l_hand", "r_hand", at_least=apart + bound, band=band, name="more"),
            ik.DistanceGoal("l_hand", "r_hand", at_most=apart - bound, band=band, name="less"),
            ik.DistanceGoal("l_hand", "r_hand", distance=apart + bound, name="equal"),
        ]
        result = ik.solve(HUMAN, goals, q0=q, lock=["*"])
        assert [*result.goal_errors.values()] == pytest.approx([bound] * 3, rel=1e-9)


def test_the_second_derivative_of_a_bound_is_continuous() -> None:
    """Across the bound and across the end of its band."""
    slide = ik.Bone("slide", joint=ik.Joint.prismatic("x"))
    figure = ik.Skeleton.build("slide", [ik.Bone("base"), slide])
    problem = ik.Problem(figure, ik.DistanceGoal("slide", "base", at_most=1.0, band=0.1))
    for x in (1.0, 1.1):
        below, above = (problem.hessian([x + step])[0, 0] for step in (-1e-9, 1e-9))
        assert abs(above - below) < 1e-6
    assert problem.hessian([1.2])[0, 0] == pytest.approx(1.0)
    assert problem.cost([1.2]) == pytest.approx(0.5 * (0.04 - 0.02 + 0.01 / 3))


def test_planes_and_lines_of_the_world_and_of_bones() -> None:
    goals = [
        ik.PlaneGoal("r_foot", (0, 0, 0.1), (0, 0, 2)),
        ik.LineGoal("l_hand", (0.3, 0, 1.2), (0, 1, 0)),
        ik.PlaneGoal("head", (0, 0, 0.4), (0, 0, 1), relative_to="pelvis", name="bow"),
    ]
    result = ik.solve(HUMAN, goals)
    pose = HUMAN.forward(result.q)
    assert result.reached
    assert pose.positions[HUMAN.bone_index("r_foot")][2] == pytest.approx(0.1, abs=1e-6)
    np.testing.assert_allclose(
        pose.positions[HUMAN.bone_index("l_hand")][[0, 2]], (0.3, 1.2), atol=1e-6
    )
    R = pose.rotations[HUMAN.bone_index("pelvis")]
    head, pelvis = (pose.positions[HUMAN.bone_index(name)] for name in ("head", "pelvis"))
    assert (R.T @ (head - pelvis))[2] == pytest.approx(0.4, abs=1e-6)


def test_targets_of_a_batch_are_those_of_single_solves() -> None:
    problem = ik.Problem(HUMAN, ik.PoseGoal("l_hand", np.eye(4), relative_to="r_hand", name="grip"))
    rng = np.random.default_rng(4)
    targets = np.array([rigid(exp_rotation(r), 0.2 * t) for r, t in rng.normal(size=(6, 2, 3))])
    batch = ik.solve_batch(problem, {"grip": targets}, threads=2)
    for target, q in zip(targets, batch.q, strict=True):
        one = ik.solve(problem.with_targets({"grip": target}))
        assert (one.q == q).all()
        fresh = ik.PoseGoal("l_hand", target, relative_to="r_hand", name="grip")
        assert (ik.solve(HUMAN, fresh).q == q).all()


def test_sensitivities_follow_the_targets_in_the_other_bone() -> None:
    goals = [
        ik.PoseGoal("l_hand", rigid(TURN, (0.1, 0.2, 0)), relative_to="r_hand", name="grip"),
        ik.DirectionGoal("l_hand", (1, 0, 0), (0, 1, 1), relative_to="head", name="along"),
        ik.PlaneGoal("r_hand", (0.2, 0, 0), (1, 0.2, 0), relative_to="head", name="plane"),
        ik.PostureGoal(HUMAN.neutral(), weight=0.05),
    ]
    method = ik.Newton(tolerance=1e-14)
    problem = ik.Problem(HUMAN, goals, limits="off")
    result = ik.solve(problem, solver=method)
    moved = result.sensitivity()
    h = 1e-4
    for name, rows in (("grip", 6), ("along", 3), ("plane", 3)):
        goal = dict(zip(problem.rows, goals, strict=True))[name]
        assert moved[name].shape == (HUMAN.nv, rows)
        for axis in range(rows):
            ends = []
            for step in (h, -h):
                target = np.array(getattr(goal, "target"), float)  # noqa: B009
                if rows == 6 and axis < 3:
                    target[axis, 3] += step
                elif rows == 6:
                    target[:3, :3] = exp_rotation(step * np.eye(3)[axis - 3]) @ target[:3, :3]
                else:
                    target[axis] += step
                end = ik.solve(problem.with_targets({name: target}), q0=result.q, solver=method)
                ends.append(HUMAN.difference(end.q, result.q))
            seen = (ends[0] - ends[1]) / (2 * h)
            np.testing.assert_allclose(moved[name][:, axis], seen, atol=2e-6)
    assert np.isfinite(result.covariance(1e-3).sd).all()


@pytest.mark.parametrize("solver", ik.list_solvers())
def test_every_solver_takes_them(solver: str) -> None:
    hinge = ik.Joint.revolute
    bones = [ik.Bone("base", joint=hinge("z"))]
    for side, y in (("l", 0.2), ("r", -0.2)):
        parent = "base"
        for k, axis in enumerate("yzy"):
            offset = (0, y, 0) if k == 0 else (0.4, 0, 0)
            bones.append(ik.Bone(f"{side}{k}", parent=parent, offset=offset, joint=hinge(axis)))
            parent = f"{side}{k}"
    arms = ik.Skeleton.build("two arms", bones)
    goals = [
        ik.DistanceGoal("l2", "r2", distance=0.2, points=((0.3, 0, 0), (0.3, 0, 0))),
        ik.PositionGoal("l2", (0.5, 0.1, 0.3)),
    ]
    q0 = np.full(arms.nq, 0.3)
    result = ik.solve(ik.Problem(arms, goals), q0=q0, solver=solver)
    assert result.cost < 1e-4 * result.problem.cost(q0)


def test_scipy_sees_the_same_derivatives() -> None:
    problem = ik.Problem(HUMAN, goals_between_bodies("l_hand", "r_foot")[:5])
    q, x = random_pose(3), np.random.default_rng(0).normal(size=HUMAN.nq)
    scipy = problem.to_scipy()
    h = 1e-5
    slope = (scipy.fun(q + h * x) - scipy.fun(q - h * x)) / (2 * h)
    assert slope == pytest.approx(scipy.jac(q) @ x, rel=1e-6)
    bend = (scipy.jac(q + h * x) - scipy.jac(q - h * x)) / (2 * h)
    np.testing.assert_allclose(scipy.hessp(q, x), bend, atol=1e-5 * np.abs(bend).max())
    np.testing.assert_allclose(scipy.hess(q) @ x, scipy.hessp(q, x), atol=1e-9)


def test_what_nothing_can_change_is_out_of_reach() -> None:
    grip = ik.PositionGoal("l_hand", (0, 0, 0), relative_to="r_hand")
    result = ik.solve(HUMAN, grip, lock=ARMS)
    assert result.status == "out-of-reach"
    assert "l_hand in r_hand is" in result.why and "no free dof moves it" in result.why


def test_misuse_is_refused_with_a_reason() -> None:
    for make, said in (
        (lambda: ik.PositionGoal("head", (0, 0, 0), relative_to="head"), "in itself"),
        (lambda: ik.PositionGoal("head", (0, 0, 0), relative_to=3), "name of a bone"),  # pyright: ignore
        (lambda: ik.DistanceGoal("head", "pelvis"), "needs distance="),
        (lambda: ik.DistanceGoal("head", "pelvis", distance=1.0, at_most=2.0), "needs distance="),
        (lambda: ik.DistanceGoal("head", "pelvis", at_least=-1.0), "metres ≥ 0"),
        (lambda: ik.DistanceGoal("head", "pelvis", at_least=2.0, at_most=1.0), "more than"),
        (lambda: ik.DistanceGoal("head", "pelvis", at_least=1.0, band=0.0), "metres > 0"),
        (lambda: ik.DistanceGoal("head", "head", distance=0.1), "in itself"),
        (lambda: ik.PlaneGoal("head", (0, 0, 0), (0, 0, 1), weight=(1, 2, 3)), "one number"),
        (lambda: ik.Problem(HUMAN, ik.PlaneGoal("head", (0, 0, 0), (0, 0, 0))), "zero vector"),
    ):
        with pytest.raises(GoalError, match=said):
            make()
    with pytest.raises(ik.ExactikError, match="r_hnd"):
        ik.Problem(HUMAN, ik.PositionGoal("head", (0, 0, 0), relative_to="r_hnd"))


def test_planes_keep_their_normals_in_batches() -> None:
    goals = [
        ik.PlaneGoal("l_hand", (0.4, 0.0, 1.0), (1, 0, 0.3)),
        ik.PositionGoal("r_hand", (0.3, -0.3, 1.0)),
    ]
    places = np.array([(0.3, -0.3, 1.0), (0.2, -0.4, 1.2)])
    batch = ik.solve_batch(ik.Problem(HUMAN, goals), {"r_hand": places})
    for k, place in enumerate(places):
        alone = ik.Problem(HUMAN, [goals[0], ik.PositionGoal("r_hand", place)])
        assert alone.cost(batch.q[k]) == pytest.approx(batch.cost[k], abs=1e-12)


def test_what_is_missed_costs_half_its_square() -> None:
    """Times the weight; of a bound x² − εx + ε²/3 with the usual band of a millimetre."""
    figure = ik.human()
    q, band = figure.neutral(), 1e-3
    pose = figure.forward(q)
    head, com = pose.point("head"), pose.center_of_mass

    def cost(goal: ik.Goal) -> float:
        return ik.Problem(figure, goal).cost(q)

    plane = ik.PlaneGoal("head", (5.0, 5.0, 1.0), (0, 0, 2), weight=3.0)
    assert cost(plane) == pytest.approx(1.5 * (head[2] - 1.0) ** 2)
    line = ik.LineGoal("head", (0.2, 0.1, 9.0), (0, 0, 3), weight=2.0)
    assert cost(line) == pytest.approx((head[0] - 0.2) ** 2 + (head[1] - 0.1) ** 2)
    skew = np.array([1.0, 2.0, -0.5])
    off = np.cross(head - (0.2, 0.1, 0.0), skew / np.linalg.norm(skew))
    assert cost(ik.LineGoal("head", (0.2, 0.1, 0.0), skew)) == pytest.approx(0.5 * off @ off)
    apart = float(np.linalg.norm(head - pose.point("pelvis")))
    for goal, x in (
        (ik.DistanceGoal("head", "pelvis", at_most=0.1), apart - 0.1),
        (ik.DistanceGoal("head", "pelvis", at_least=2.0), 2.0 - apart),
        (ik.CenterOfMassGoal(inside=[(1, -1), (3, -1), (3, 1), (1, 1)]), 1.0 - com[0]),
    ):
        assert cost(goal) == pytest.approx(0.5 * (x * x - band * x + band**2 / 3), rel=1e-9)


@pytest.mark.parametrize(
    ("goal", "names"),
    [
        (ik.PlaneGoal, "relative_to weight name"),
        (ik.DistanceGoal, "distance at_least at_most points band weight name"),
        (ik.CenterOfMassGoal, "over inside bones band weight name"),
    ],
)
def test_what_goals_of_a_family_have_in_common_has_a_name(goal: type, names: str) -> None:
    parameters = inspect.signature(goal).parameters
    for name in names.split():
        assert parameters[name].kind is inspect.Parameter.KEYWORD_ONLY, name


def test_goals_of_one_weight_and_of_polygons_refuse_others() -> None:
    for make, said in (
        (lambda: ik.DistanceGoal("a", "b", distance=1.0, weight=(1, 2, 3)), "one number"),
        (lambda: ik.LineGoal("a", (0, 0, 0), (0, 0, 1), weight=(1, 2, 3)), "one number"),
        (lambda: ik.CenterOfMassGoal(inside=[(0, 0), (1, 0), (0, 1)], band=-1.0), "band"),
        (lambda: ik.CenterOfMassGoal(inside=[(0, 0), (1, 0), (0, 1)], band="x"), "band"),  # type: ignore
    ):
        with pytest.raises(ik.ExactikError, match=said):
            make()
    for corners in ([(0, 0), (1, np.nan), (0, 1)], [(0, 0, 0), (1, 0, 0), (0, 1, 0)], [0, 1, 2]):
        with pytest.raises(ik.ExactikError, match="inside of goal"):
            ik.Problem(ik.human(), ik.CenterOfMassGoal(inside=corners))
