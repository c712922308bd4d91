"""The recursion that carries the twist of another body, against whole rows and dense algebra."""

from __future__ import annotations

import numpy as np
import pytest

import exactik as ik
from exactik.kernels.calculus.evaluate import evaluate_in_layout
from exactik.kernels.calculus.joint_blocks import quadratic_form
from exactik.kernels.calculus.workspace import Workspace
from exactik.kernels.descent.descend import run_descent
from exactik.kernels.descent.options import LAYOUT
from exactik.kernels.descent.state import start_descent
from exactik.kernels.goals.sums import EXACT, GAUSS_NEWTON
from exactik.kernels.linear.active_set import solve_again, solve_damped
from exactik.kernels.linear.articulated import JOINT_BLOCKS, WHOLE_ROWS
from exactik.kernels.linear.loops import (
    MAX_LOOPS,
    has_loops,
    loop_quadratic_form,
    make_joint_pattern,
)
from exactik.lab.check import random_coordinates
from exactik.typing import Array
from tests.support.problems import goals_between_bodies
from tests.support.quadratics import spoil

JOINTS = (
    ik.Joint.euler("ZYX"),
    ik.Joint.revolute("x"),
    ik.Joint.exp_map(),
    ik.Joint.swing_twist("y"),
    ik.Joint.quaternion(),
    ik.Joint.prismatic("y"),
)


def random_problem(seed: int, *, pairs: int = 2) -> tuple[ik.Problem, Array]:
    """Bones in no order of their branches, sometimes of two roots, with goals between some."""
    rng = np.random.default_rng(seed)
    bones: list[ik.Bone] = []
    for k in range(int(rng.integers(3, 12))):
        parent = None if k == 0 or rng.random() < 0.05 else f"b{rng.integers(max(0, k - 4), k)}"
        joint = JOINTS[int(rng.integers(len(JOINTS)))]
        bones.append(ik.Bone(f"b{k}", parent=parent, offset=rng.normal(size=3), joint=joint))
    figure = ik.Skeleton.build("random", bones)
    names = figure.bone_names
    goals: list[ik.Goal] = [ik.PositionGoal(names[-1], rng.normal(size=3), weight=0.5)]
    for _ in range(int(rng.integers(1, pairs + 1))):
        a, b = rng.choice(names, 2, replace=False)
        choice = goals_between_bodies(str(a), str(b))
        goals.append(choice[int(rng.integers(len(choice)))])
        goals.append(choice[0])  # two on one pair
        goals.append(ik.PlaneGoal(str(b), (0, 0, 0.1), (0, 0, 1)))  # the world is no loop
    return ik.Problem(figure, goals, limits="off"), random_coordinates(rng, figure)


def take_steps(problem: ik.Problem, method: ik.CompiledMethod, q: Array, layout: int) -> Array:
    """The trials of six passes, and how many of them had loops."""
    options, descent, q = method.options(problem), problem.descent_state, q.copy()
    options[LAYOUT] = layout
    start_descent(problem.box, options, True, q, descent)
    arrays, work, trials = problem.packed.arrays, problem.workspace, []
    spoil(work)
    work.no_shift[:] = 0.0
    work.on_loop[:] = 0
    for _ in range(6):
        run_descent(problem.skeleton.tree, arrays, problem.box, options, q, 1, descent, work)
        trials.append([*descent.trial, *descent.step, float(work.on_loop[0] > 0)])
    return np.array(trials)


@pytest.mark.parametrize("method", [ik.Auto(), ik.LevenbergMarquardt(), ik.Newton()])
def test_both_layouts_take_the_same_steps(method: ik.CompiledMethod) -> None:
    with_loops = 0
    for seed in range(60):
        problem, q = random_problem(seed)
        rows, blocks = (take_steps(problem, method, q, n) for n in (WHOLE_ROWS, JOINT_BLOCKS))
        scale = np.abs(rows[:2]).max()
        np.testing.assert_allclose(blocks[:2, :-1], rows[:2, :-1], rtol=0, atol=1e-8 * scale)
        assert not rows[:, -1].any()
        with_loops += blocks[0, -1] > 0.0
    assert with_loops > 20


def comb(teeth: int) -> ik.Skeleton:
    """Pairs of hinges that hang on one bone."""
    bones = [ik.Bone("base", joint=ik.Joint.euler("XYZ"))]
    for k in range(teeth):
        for side in "lr":
            offset = (0.3, 0.1 * k, 0.2 if side == "l" else -0.2)
            joint = ik.Joint.revolute("y")
            bones.append(ik.Bone(f"{side}{k}", parent="base", offset=offset, joint=joint))
    return ik.Skeleton.build("comb", bones)


def count_loops(goals: list[ik.Goal], figure: ik.Skeleton) -> int:
    """The loops that an evaluation in joint blocks finds; −1 where it takes whole rows."""
    problem = ik.Problem(figure, goals)
    work, options = problem.workspace, ik.Auto().options(problem)
    options[LAYOUT] = JOINT_BLOCKS
    descent, q = problem.descent_state, figure.neutral()
    start_descent(problem.box, options, True, q, descent)
    work.P[:] = np.nan
    arrays = problem.packed.arrays
    run_descent(figure.tree, arrays, problem.box, options, q, 1, descent, work)
    return -1 if np.isnan(work.P).any() else int(work.on_loop[0])


def test_loops_have_frames_of_their_own() -> None:
    def tie(a: str, b: str, length: float = 2.0) -> ik.Goal:
        return ik.DistanceGoal(a, b, at_least=length)

    figure = comb(MAX_LOOPS + 1)
    for count in (1, 2, MAX_LOOPS):
        ties = [tie(f"l{k}", f"r{k}") for k in range(count)]
        assert count_loops(ties, figure) == count
        assert count_loops([*ties, tie("r0", "l0", 3.0)], figure) == count  # once more, turned
        assert count_loops([*ties, tie("l0", "r1", 0.001)], figure) == count  # it holds
        assert count_loops([*ties, tie("base", "l0")], figure) == -1
        assert count_loops([*ties, ik.PlaneGoal("l0", (0, 0, 9), (0, 0, 1))], figure) == count
    assert count_loops([tie("base", "l0")], figure) == 1
    assert count_loops([tie(f"l{k}", f"r{k}") for k in range(MAX_LOOPS + 1)], figure) == -1
    assert count_loops([tie("l0", "r0"), tie("r0", "l1")], figure) == -1
    hands, wide = tie("l_hand", "r_hand"), [(-9, -9), (9, -9), (9, 9), (-9, 9)]
    assert count_loops([hands, ik.CenterOfMassGoal(over=("l_foot",))], ik.human()) == -1
    assert count_loops([hands, ik.CenterOfMassGoal(inside=wide)], ik.human()) == 1


def evaluate_blocks(problem: ik.Problem, q: Array, order: int) -> Workspace | None:
    """Joint blocks with loops; None where it takes whole rows or has no loop."""
    work, arrays = problem.workspace, problem.packed.arrays
    spoil(work)
    work.no_shift[:], work.on_loop[:] = 0.0, 0
    evaluate_in_layout(problem.skeleton.tree, arrays, q, order, JOINT_BLOCKS, work)
    return work if work.on_loop[0] > 0 else None


@pytest.mark.full  # compiles the parts of a step one by one
@pytest.mark.parametrize("order", [GAUSS_NEWTON, EXACT])
def test_the_step_is_that_of_dense_linear_algebra(order: int) -> None:
    """With dofs that are free and moved by a given amount; curvature and definiteness too."""
    seen = 0
    for seed in range(80):
        problem, q = random_problem(seed)
        work, rng, nv = evaluate_blocks(problem, q, order), np.random.default_rng(seed), q.size
        if work is None:
            continue
        seen += 1
        tree, nv = problem.skeleton.tree, problem.skeleton.nv
        joints, descent, g = make_joint_pattern(tree, work), problem.descent_state, work.g.copy()
        spoil(descent)
        descent.scale[:], descent.step[:] = rng.uniform(0.5, 2.0, nv), 0.0
        descent.active_set[:] = rng.random(nv) < 0.3
        held = descent.active_set != 0.0
        descent.step[held] = rng.normal(size=held.sum())
        parts = work.H.copy(), work.S.copy(), work.P.copy()
        coupling = joints.coupling.copy(), work.on_loop.copy()
        H = problem.hessian(q) if order == EXACT else problem.gauss_newton(q)
        joints.coupling[:], work.on_loop[:] = coupling
        root = np.sqrt(descent.scale)
        lowest = float(np.linalg.eigvalsh(H / np.outer(root, root))[0])
        damping = 0.1 - 1.1 * min(lowest, 0.0)
        expected, free = descent.step.copy(), ~held
        matrix = (H + damping * np.diag(descent.scale))[np.ix_(free, free)]
        known = H[np.ix_(free, held)] @ expected[held]
        expected[free] = np.linalg.solve(matrix, -g[free] - known)
        system = joints, problem.pattern, JOINT_BLOCKS
        assert solve_damped(*system, g, *parts, damping, descent) > 0.0
        size = np.abs(expected).max()
        np.testing.assert_allclose(descent.rhs, expected, rtol=0.0, atol=1e-11 * size)
        assert has_loops(joints)
        curvature = quadratic_form(joints, parts[1], parts[2], parts[0], expected, descent.V)
        curvature += loop_quadratic_form(joints, descent.V)
        scale = float(np.abs(expected) @ np.abs(H) @ np.abs(expected))
        assert curvature == pytest.approx(expected @ H @ expected, abs=1e-12 * scale)
        rhs = rng.normal(size=nv) * free
        descent.rhs[:] = rhs
        solve_again(*system, parts[1], descent)
        again = np.linalg.solve(matrix, rhs[free])
        np.testing.assert_allclose(
            descent.rhs[free], again, atol=1e-10 * np.abs(again).max(initial=1.0)
        )
        descent.active_set[:], descent.step[:] = 0.0, 0.0
        for shift in (1e-8, -1e-8):
            pivot = solve_damped(*system, g, *parts, shift - lowest, descent)
            assert (pivot > 0.0) == (shift > 0.0)
    assert seen > 30
