"""The articulated recursion, against the whole Hessian and dense linear algebra."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from exactik import MarkerGoal, Problem, Skeleton, human
from exactik.kernels.calculus.evaluate import evaluate_in_layout
from exactik.kernels.calculus.joint_blocks import quadratic_form
from exactik.kernels.calculus.workspace import Workspace, new_workspace
from exactik.kernels.descent.state import DescentState
from exactik.kernels.goals.sums import EXACT, GAUSS_NEWTON
from exactik.kernels.linear.active_set import copy_free_block
from exactik.kernels.linear.articulated import (
    JOINT_BLOCKS,
    WHOLE_ROWS,
    eliminate_joints,
    reduce_right_side,
    substitute_joints,
)
from exactik.kernels.linear.ltdl import factor
from exactik.kernels.linear.variances import compute_variances, new_variance_scratch
from exactik.typing import Array
from tests.support.models import bushy_tree, serial_chain
from tests.support.problems import make_pose_and_goals, menagerie
from tests.support.quadratics import ancestor_pattern, blank_descent_state, spoil

pytestmark = pytest.mark.full  # compiles the parts of a step one by one: 20 s

FIGURES = (menagerie(), human(), serial_chain(1), serial_chain(40), bushy_tree(23, 3))


class Evaluated(NamedTuple):
    """A problem in the layout of joint blocks, and its whole Hessian."""

    problem: Problem
    work: Workspace
    H: Array
    descent: DescentState

    def solve(self, damping: float) -> float:
        """Solve for what `descent` prescribes: x in descent.rhs; return the smallest pivot."""
        tree, work = self.problem.skeleton.tree, self.work
        pivot = eliminate_joints(tree, work.S, work.P, work.g, work.H, damping, self.descent)
        if pivot > 0.0:
            substitute_joints(tree, work.S, self.descent)
        return pivot


def evaluate_blocks(figure: Skeleton, seed: int, order: int, *, lock: bool = False) -> Evaluated:
    """Goals of every kind, postures and soft limits among them, at a random pose."""
    q, goals = make_pose_and_goals(figure, seed)
    plain = [name for name, j in zip(figure.dof_names, figure.plain_q, strict=True) if j >= 0]
    problem = Problem(figure, goals[:-1], limits="soft", lock=plain[1::5] if lock else ())
    work, descent = new_workspace(figure.tree), blank_descent_state(figure)
    spoil(work)
    evaluate_in_layout(figure.tree, problem.packed.arrays, q, order, JOINT_BLOCKS, work)
    descent.active_set[:] = problem.packed.arrays.free == 0.0
    descent.step[:] = 0.0
    H = problem.hessian(q) if order == EXACT else problem.gauss_newton(q)
    return Evaluated(problem, work, H, descent)


def damping_for(H: Array, scale: Array) -> float:
    """A μ that makes H + μD positive definite."""
    root = np.sqrt(scale)
    return 0.1 - 1.1 * min(float(np.linalg.eigvalsh(H / np.outer(root, root))[0]), 0.0)


@pytest.mark.parametrize("order", [GAUSS_NEWTON, EXACT])
@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.name)
def test_the_step_is_that_of_dense_linear_algebra(figure: Skeleton, order: int):
    """With dofs that are free, locked, held where they are and moved by a given amount."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        found = evaluate_blocks(figure, seed, order, lock=seed % 2 == 1)
        descent, g = found.descent, found.work.g
        descent.scale[:] = rng.uniform(0.5, 2.0, size=figure.nv)
        held = (descent.active_set == 0.0) & (rng.random(figure.nv) < 0.3)
        descent.active_set[held] = 1.0
        descent.step[held] = rng.normal(size=held.sum()) * (rng.random(held.sum()) < 0.7)
        damping = damping_for(found.H, descent.scale)
        expected, free = descent.step.copy(), descent.active_set == 0.0
        matrix = (found.H + damping * np.diag(descent.scale))[np.ix_(free, free)]
        known = found.H[np.ix_(free, ~free)] @ expected[~free]
        expected[free] = np.linalg.solve(matrix, -g[free] - known)
        found.solve(damping)
        np.testing.assert_allclose(
            descent.rhs, expected, rtol=0.0, atol=1e-12 * np.abs(expected).max(initial=1.0)
        )
        curvature = quadratic_form(
            figure.tree, found.work.S, found.work.P, found.work.H, descent.rhs, descent.V
        )
        scale = float(np.abs(expected) @ np.abs(found.H) @ np.abs(expected))
        assert curvature == pytest.approx(expected @ found.H @ expected, abs=1e-13 * scale)


@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.name)
def test_pivots_are_those_of_the_factored_rows(figure: Skeleton):
    found = evaluate_blocks(figure, 1, EXACT)
    descent, pattern = found.descent, ancestor_pattern(figure)
    descent.active_set[::3] = 1.0
    damping = damping_for(found.H, descent.scale)
    found.solve(damping)
    actual = descent.inverse_pivot.copy()
    rows = new_workspace(figure.tree).H
    dof, level, above = figure.ancestor_pairs
    rows[dof, level] = found.H[dof, above]
    copy_free_block(pattern, rows, damping, descent.scale, descent.active_set, descent.L)
    factor(pattern, descent.L)
    pivots = descent.L[np.arange(figure.nv), figure.tree.dof_level]
    expected = np.where(descent.active_set == 0.0, 1.0 / pivots, 0.0)
    np.testing.assert_allclose(actual, expected, rtol=1e-10)


@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.name)
def test_a_pivot_tells_whether_the_matrix_is_positive_definite(figure: Skeleton):
    """At random poses, far from any minimum."""
    for seed in range(6):
        found = evaluate_blocks(figure, seed, EXACT)
        root = np.sqrt(found.descent.scale)
        lowest = float(np.linalg.eigvalsh(found.H / np.outer(root, root))[0])
        assert found.solve(1e-9 - lowest) > 0.0
        assert not found.solve(-1e-9 - lowest) > 0.0


def test_a_long_chain_loses_no_digits():
    """A thousand hinges: the recursion is as deep as the chain."""
    figure = serial_chain(1000)
    rng = np.random.default_rng(0)
    q = rng.normal(scale=0.05, size=figure.nq)
    goals = [MarkerGoal(name, rng.normal(size=3)) for name in list(figure.markers)[-3:]]
    problem = Problem(figure, goals)
    work, descent = new_workspace(figure.tree), blank_descent_state(figure)
    descent.step[:] = 0.0
    evaluate_in_layout(figure.tree, problem.packed.arrays, q, GAUSS_NEWTON, JOINT_BLOCKS, work)
    found = Evaluated(problem, work, problem.gauss_newton(q), descent)
    assert found.solve(1.0) > 0.0
    residual = found.H @ descent.rhs + descent.rhs + work.g
    assert np.abs(residual).max() < 1e-12 * np.abs(work.g).max()


@pytest.mark.parametrize("order", [GAUSS_NEWTON, EXACT])
def test_blocks_are_those_of_the_whole_rows(order: int):
    figure = menagerie()
    q, goals = make_pose_and_goals(figure, 4)
    arrays = Problem(figure, goals[:-1]).packed.arrays
    whole, blocks = new_workspace(figure.tree), new_workspace(figure.tree)
    cost = evaluate_in_layout(figure.tree, arrays, q, order, WHOLE_ROWS, whole)
    assert evaluate_in_layout(figure.tree, arrays, q, order, JOINT_BLOCKS, blocks) == cost
    tree = figure.tree
    for k in range(1, len(tree.parent)):
        rows = slice(int(tree.first_v[k]), int(tree.first_v[k + 1]))
        columns = slice(int(tree.depth[k]), int(tree.depth[k]) + rows.stop - rows.start)
        expected, actual = (np.tril(work.H[rows, columns]) for work in (whole, blocks))
        np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize("order", [GAUSS_NEWTON, EXACT])
@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.name)
def test_variances_are_those_of_dense_inverses(figure: Skeleton, order: int):
    """diag A⁻¹GA⁻¹ with A exact or not, G Gauss–Newton's, dofs free, locked and held."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        one = evaluate_blocks(figure, seed, order, lock=seed % 2 == 1)
        other = evaluate_blocks(figure, seed, GAUSS_NEWTON, lock=seed % 2 == 1)
        descent, work = one.descent, other.work
        descent.scale[:] = rng.uniform(0.5, 2.0, size=figure.nv)
        descent.active_set[rng.random(figure.nv) < 0.2] = 1.0
        prior, actual = rng.uniform(0.1, 1.0, size=figure.nv), np.full(figure.nv, np.nan)
        scratch, damping = new_variance_scratch(figure.tree), damping_for(one.H, descent.scale)
        for array in scratch:
            array[...] = np.nan
        assert one.solve(damping) > 0.0
        work.H[np.arange(figure.nv), figure.tree.dof_level] += prior
        free, expected = descent.active_set == 0.0, np.zeros(figure.nv)
        inverse = np.linalg.inv((one.H + damping * np.diag(descent.scale))[np.ix_(free, free)])
        G = (other.H + np.diag(prior))[np.ix_(free, free)]
        expected[free] = np.diag(inverse @ G @ inverse)
        descent.rhs[:] = np.where(free, rng.normal(size=figure.nv), 0.0)
        combined = inverse @ descent.rhs[free]
        reduce_right_side(figure.tree, work.S, descent)
        substitute_joints(figure.tree, work.S, descent)
        np.testing.assert_allclose(
            descent.rhs[free], -combined, rtol=0.0, atol=1e-12 * np.abs(combined).max(initial=1.0)
        )
        compute_variances(figure.tree, work.S, work.P, work.H, actual, scratch, descent)
        np.testing.assert_allclose(actual, expected, rtol=1e-11, atol=0.0)
