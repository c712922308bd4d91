"""Limits hold to the last bit, and an answer on them is a true optimum inside them.

Figures are random, with limits on most dofs; targets are mostly laid at poses outside the limits,
and starts are anywhere. Optimality is judged by the conditions of Karush, Kuhn and Tucker, written
here once more: the gradient of a dof that can move vanishes, and that of a dof on a limit pushes
against it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import NamedTuple, Protocol

import numpy as np
import pytest
from scipy.optimize import Bounds, minimize

import exactik as ik
from exactik.lab.check import oracle, random_coordinates, random_skeleton
from exactik.lab.check import random_goals as goals_of_every_kind
from exactik.typing import Array

Rng = np.random.Generator

NOTHING = 1e-18  # cost per weight [m² or rad²] that counts as none: the goals are met
ROUNDING = 4e-15  # of a gradient, per weight [m² or rad²], of figures a metre or two in size


# --- figures, goals, targets


@cache
def seven_hinges() -> ik.Skeleton:
    """An arm of seven hinges with limits, of the size and shape of a common robot."""
    offsets = [(0, 0, 0.333), (0, 0, 0), (0, 0, 0.316), (0.0825, 0, 0), (-0.0825, 0, 0.384)]
    offsets += [(0, 0, 0), (0.088, 0, 0)]
    degrees = [(-166, 166), (-101, 101), (-166, 166), (-176, -4), (-166, 166), (-1, 215)]
    bones = [
        ik.Bone(
            f"j{k}",
            parent=f"j{k - 1}" if k > 0 else None,
            offset=offset,
            joint=ik.Joint.revolute("zyzyzyz"[k], limits=np.radians(limits)),
        )
        for k, (offset, limits) in enumerate(zip(offsets, [*degrees, (-166, 166)], strict=True))
    ]
    return ik.Skeleton.build("seven hinges", bones, {"TOOL": ("j6", (0, 0, -0.2))})


def add_limits(rng: Rng, skeleton: ik.Skeleton) -> ik.Skeleton:
    """The same figure with limits on most dofs, up to ±1.2 rad or m about any middle."""

    def limits(free: tuple[float, float]) -> tuple[float, float]:
        middle, half = rng.uniform(-0.5, 0.5), rng.uniform(0.2, 1.2)
        return (middle - half, middle + half) if rng.random() < 0.85 else free

    bones = []
    for bone in skeleton.bones:
        ball = 3 if bone.joint.rotation_part.kind == "quaternion" else 0
        old = bone.joint.limits
        plain = tuple(limits(pair) for pair in old[: len(old) - ball])
        joint = replace(bone.joint, limits=plain + old[len(old) - ball :])
        bones.append(replace(bone, joint=joint))
    return ik.Skeleton.build(skeleton.name, bones, skeleton.markers)


def random_figure(rng: Rng, k: int) -> tuple[ik.Skeleton, str | tuple[()]]:
    """Figure number k, and what of it is locked: mostly random trees, also an arm and a human."""
    if k % 20 == 0:
        return ik.human(), "pelvis" if k % 40 == 0 else ()
    if k % 20 == 10:
        return seven_hinges(), ()
    skeleton = random_skeleton(rng)
    return (add_limits(rng, skeleton) if k % 4 > 0 else skeleton), ()


def random_goals(rng: Rng, skeleton: ik.Skeleton) -> list[ik.Goal]:
    """One to three markers, often a goal of another kind, sometimes a weak rest posture."""
    names, bone = list(skeleton.markers), str(rng.choice(skeleton.bone_names))
    count = min(len(names), int(rng.integers(1, 4)))
    goals: list[ik.Goal] = [
        ik.MarkerGoal(str(name), (0, 0, 0), weight=float(rng.uniform(0.3, 3.0)))
        for name in rng.choice(names, size=count, replace=False)
    ]
    others: list[list[ik.Goal]] = [
        [ik.OrientationGoal(bone, np.eye(3), weight=0.2)],
        [ik.OrientationGoal(bone, np.eye(3), kind="axes", weight=0.2)],
        [ik.PoseGoal(bone, np.eye(4), weight=(1.0, 0.1))],
        [ik.DirectionGoal(bone, (0, 0, 1), (0, 0, 1), weight=0.3)],
        [],
    ]
    goals += others[rng.integers(len(others))]
    if rng.random() < 0.3:
        goals.append(ik.PostureGoal(skeleton.neutral(), weight=1e-3))
    return goals


def targets_at(problem: ik.Problem, q: Array, shift: Array) -> dict[str, Array]:
    """Targets where the goals are reached at q, (B, nq), those of markers shifted by (B, 3)."""
    skeleton, pose, result = problem.skeleton, problem.skeleton.forward(q), {}
    for name, goal in zip(problem.rows, problem.goals, strict=True):
        match goal:
            case ik.MarkerGoal():
                bone, point = skeleton.marker(goal.marker)
                result[name] = pose.point(bone, point) + shift
            case ik.OrientationGoal():
                result[name] = pose.rotations[:, skeleton.bone_index(goal.bone)]
            case ik.DirectionGoal():
                result[name] = pose.rotations[:, skeleton.bone_index(goal.bone), :, 2]
            case ik.PoseGoal():
                k = skeleton.bone_index(goal.bone)
                result[name] = np.tile(np.eye(4), (len(q), 1, 1))
                result[name][:, :3, :3] = pose.rotations[:, k]
                result[name][:, :3, 3] = pose.positions[:, k]
    return result


def random_batch(seed: int, k: int, count: int) -> tuple[ik.Problem, Mapping[str, Array], Array]:
    """Problem, targets and starts number k of a seed; starts are anywhere, many on the limits."""
    rng = np.random.default_rng([seed, k])
    skeleton, lock = random_figure(rng, k)
    problem = ik.Problem(skeleton, random_goals(rng, skeleton), lock=lock)
    q = np.array([random_coordinates(rng, skeleton) for _ in range(count)])
    targets = targets_at(problem, q, rng.normal(scale=0.1, size=(count, 3)))
    q0 = np.array([random_coordinates(rng, skeleton) for _ in range(count)])
    q0[::4], q0[1::4] = skeleton.neutral(), skeleton.clip(q0[1::4])
    return problem, targets, q0


# --- an independent judge


class Derivatives(Protocol):
    @property
    def cost(self) -> float: ...
    @property
    def gradient(self) -> Array: ...
    @property
    def hessian(self) -> Array: ...
    @property
    def gauss_newton(self) -> Array: ...


class Here(NamedTuple):
    """What a problem says of a pose."""

    cost: float
    gradient: Array
    hessian: Array
    gauss_newton: Array


class Optimality(NamedTuple):
    """What is true of a pose.

    Attributes:
        outside: whether a coordinate is outside its limits, be it by the last bit.
        slopes: |gradient| that is left to dofs that can move, relative, (nv,): over √(2 cost ·
            curvature), so that its square is the share of the cost that the dof could still take
            away by itself.
        pushes: the same of dofs on a limit that push against it, (nv,).
    """

    outside: bool
    slopes: Array
    pushes: Array


def optimality(problem: ik.Problem, q: Array, here: Derivatives | None = None) -> Optimality:
    """Judge a pose, (nq,), by what the problem says there, or another source of derivatives."""
    if here is None:
        here = Here(*problem.evaluate(q), problem.gauss_newton(q))
    plain, g = problem.skeleton.plain_q, np.where(problem.locked, 0.0, here.gradient)
    own = np.where(plain >= 0, q[plain], 0.0)
    low, high = own <= problem.lower, own >= problem.upper
    pushed = (low & (g > 0.0)) | (high & (g < 0.0))
    heaviest = max(float(np.abs(weight).max()) for weight in problem.packed.weights)
    curvature = np.maximum(np.diag(here.gauss_newton), np.abs(np.diag(here.hessian)))
    scale = np.sqrt(2.0 * here.cost * curvature) + 1e-300
    seen = np.maximum(np.abs(g) - ROUNDING * heaviest, 0.0)
    relative = seen / scale if here.cost > NOTHING * heaviest else np.zeros_like(g)
    outside = bool(((own < problem.lower) | (own > problem.upper)).any())
    return Optimality(outside, np.where(pushed, 0.0, relative), np.where(pushed, relative, 0.0))


# --- the campaigns


def select_problem(problem: ik.Problem, targets: Mapping[str, Array], i: int) -> ik.Problem:
    """Problem i of a batch."""
    return problem.with_targets({name: value[i] for name, value in targets.items()})


@pytest.mark.full
@pytest.mark.parametrize("figures", [20, pytest.param(100, marks=pytest.mark.slow)])
def test_problems_with_active_limits(figures: int) -> None:
    """No limit is left by the last bit, and what is called converged is a constrained optimum.

    One in a thousand needs more steps than the method takes by default.
    """
    count, patient = 100, ik.Auto(max_iterations=500)
    violations, active, optimal, untruthful, total = [], 0, 0, [], figures * count
    for k in range(figures):
        problem, targets, q0 = random_batch(1, k, count)
        batch = ik.solve_batch(problem, targets, q0=q0, solver=patient)
        for i, q in enumerate(batch.q):
            own, where = select_problem(problem, targets, i), f"figure {k}, problem {i}"
            judged = optimality(own, q)
            slope = float(judged.slopes.max())
            if judged.outside:
                violations.append(where)
            active += bool(judged.pushes.max() > 1e-6)
            optimal += slope <= 1e-8
            if slope > 1e-8 and batch[i].converged:
                untruthful.append(f"{where}: {slope:.1e}, {batch[i].why}")
            if i == 50:
                answer = oracle.evaluate(own.skeleton, own.goals, q, lock=own.locked)
                exact = optimality(own, q, answer)
                np.testing.assert_allclose(judged.slopes, exact.slopes, atol=1e-9)
                np.testing.assert_allclose(judged.pushes, exact.pushes, atol=1e-9)
    assert violations == []
    assert untruthful == []
    assert active >= 0.5 * total, f"a limit is active in {active} of {total}"
    assert optimal >= 0.999 * total, f"{optimal} of {total} are optimal"


@pytest.mark.full
def test_goals_of_every_kind_keep_limits_and_locks() -> None:
    """Coupled weights, goals in Python, locks: inside the limits, locks held, and an optimum."""
    count, optimal, untruthful = 150, 0, []
    for k in range(count):
        rng = np.random.default_rng([7, k])
        skeleton = add_limits(rng, random_skeleton(rng))
        q0 = random_coordinates(rng, skeleton)
        goals, _ = goals_of_every_kind(rng, skeleton, q0)
        locked = (rng.random(skeleton.nv) < 0.1) & (skeleton.plain_q >= 0)
        q0 = skeleton.clip(q0) if locked.any() else q0
        lock = [name for name, own in zip(skeleton.dof_names, locked, strict=True) if own]
        result = ik.solve(skeleton, goals, q0=q0, lock=lock)
        judged = optimality(result.problem, result.q)
        own = skeleton.plain_q[locked]
        assert not judged.outside and (result.q[own] == q0[own]).all(), k
        optimal += bool(judged.slopes.max() <= 1e-8)
        if judged.slopes.max() > 1e-8 and result.converged:
            untruthful.append(f"problem {k}: {judged.slopes.max():.1e}, {result.why}")
    assert untruthful == []
    assert optimal >= 0.97 * count, f"{optimal} of {count} are optimal"


def test_detours_leave_locked_dofs_alone() -> None:
    """A locked angle is not turned by a whole turn, though it would look the same."""
    bones = [
        ik.Bone("upper", joint=ik.Joint.revolute("z", limits=(-1, 8))),
        ik.Bone("lower", parent="upper", joint=ik.Joint.revolute("z", limits=(0, 0.5))),
    ]
    arm = ik.Skeleton.build("arm", bones, {"HAND": ("lower", (0.3, 0, 0))})
    goal = ik.MarkerGoal("HAND", (0.3 * np.cos(8.0), 0.3 * np.sin(8.0), 0))
    assert ik.solve(arm, goal, lock="upper", q0=(7.0, 0.2)).q[0] == 7.0


LONG = ("projected-cg", "jacobian-transpose")  # six seconds each
RATHER_LONG = ("pseudo-inverse", "damped-least-squares")


def mark_solver(solver: str) -> list[pytest.MarkDecorator]:
    """Which of the slower tests a solver belongs to, if any."""
    if solver in LONG:
        return [pytest.mark.slow]
    return [pytest.mark.full] if solver in RATHER_LONG else []


@pytest.mark.parametrize(
    "solver", [pytest.param(solver, marks=mark_solver(solver)) for solver in ik.list_solvers()]
)
def test_every_solver_stays_inside(solver: str) -> None:
    """Whatever the method, and however it ends."""
    for k in (1, 2, 3, 10):
        problem, targets, q0 = random_batch(3, k, 5)
        batch = ik.solve_batch(problem, targets, q0=q0, solver=solver, threads=1)
        for i, q in enumerate(batch.q):
            assert not optimality(select_problem(problem, targets, i), q).outside, (k, i)


@pytest.mark.full
def test_no_better_point_near_an_optimum_on_a_limit() -> None:
    """Where a goal fights a limit, L-BFGS-B finds nothing better within 0.02 rad or m."""
    radius, compared = 0.02, 0
    for k in range(60):
        problem, targets, q0 = random_batch(5, k, 3)
        if len(problem.skeleton.quaternions) > 0:
            continue
        for i, result in enumerate(ik.solve_batch(problem, targets, q0=q0, threads=1)):
            q, own = result.q, result.problem
            pushes = optimality(own, q).pushes
            if result.reached or not result.converged or pushes.max() < 0.05:
                continue
            scipy = own.to_scipy()
            bounds = Bounds(
                np.maximum(scipy.bounds.lb, q - radius), np.minimum(scipy.bounds.ub, q + radius)
            )
            locked = own.skeleton.plain_q[own.locked]
            bounds.lb[locked] = bounds.ub[locked] = q[locked]
            start = np.random.default_rng([k, i]).uniform(bounds.lb, bounds.ub)
            settings = {"ftol": 0.0, "gtol": 1e-12, "maxiter": 500}
            how = {"method": "L-BFGS-B", "bounds": bounds, "options": settings}
            rival = minimize(scipy.fun, start, jac=scipy.jac, **how)
            assert rival.fun >= result.cost * (1.0 - 1e-9), (k, i, rival.fun, result.cost)
            compared += 1
    assert compared >= 40, compared
