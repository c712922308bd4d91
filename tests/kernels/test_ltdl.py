"""LᵀDL of branch-sparse matrices, against dense linear algebra."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exactik import Bone, Joint, Skeleton
from exactik.kernels.calculus.workspace import new_workspace
from exactik.kernels.linear.ltdl import factor, pad_to_lanes, solve
from exactik.typing import Array
from tests.support.models import bushy_tree, serial_chain
from tests.support.problems import menagerie


def tree_of(parents: Sequence[int], joints: Sequence[Joint] = ()) -> Skeleton:
    """Bones 0, 1, … on these parents, −1 for a root; hinges unless joints are given."""
    bones = [
        Bone(
            str(k),
            parent=None if parent < 0 else str(parent),
            joint=joints[k % len(joints)] if len(joints) > 0 else Joint.revolute(),
        )
        for k, parent in enumerate(parents)
    ]
    return Skeleton.build("tree", bones)


def paths(skeleton: Skeleton) -> list[list[int]]:
    """For each dof the dofs from the root down to itself."""
    actual: list[list[int]] = []
    last: dict[str | None, list[int]] = {None: []}
    for bone in skeleton.bones:
        path = last[bone.parent]
        for _ in range(bone.joint.nv):
            path = [*path, len(actual)]
            actual.append(path)
        last[bone.name] = path
    return actual


def factors(skeleton: Skeleton, rng: np.random.Generator, negative: float) -> tuple[Array, Array]:
    """A random L with unit diagonal and the tree's sparsity, and pivots, some of them negative."""
    nv = skeleton.nv
    lower = np.eye(nv)
    for i, path in enumerate(paths(skeleton)):
        lower[i, path[:-1]] = rng.uniform(-0.5, 0.5, size=len(path) - 1)
    signs = np.where(rng.random(nv) < negative, -1.0, 1.0)
    return lower, signs * rng.uniform(0.5, 2.0, size=nv)


def to_ancestor_rows(skeleton: Skeleton, matrix: Array, fill: float = np.nan) -> Array:
    """A symmetric matrix by ancestor rows, with `fill` in all places that mean nothing."""
    rows = new_workspace(skeleton.tree).H
    rows[:] = fill
    for i, path in enumerate(paths(skeleton)):
        rows[i, : len(path)] = matrix[i, path]
    return rows


def check(skeleton: Skeleton, seed: int, negative: float) -> None:
    rng = np.random.default_rng(seed)
    lower, pivots = factors(skeleton, rng, negative)
    matrix = lower.T @ np.diag(pivots) @ lower
    along = np.zeros(matrix.shape, bool)
    for i, path in enumerate(paths(skeleton)):
        along[i, path] = along[path, i] = True
    assert not matrix[~along].any()  # no entry between branches: nothing to fill in

    rows = to_ancestor_rows(skeleton, matrix)
    before = rows.copy()
    smallest = factor(skeleton.tree, rows)
    scale = np.abs(matrix).max()
    for i, path in enumerate(paths(skeleton)):
        level = len(path) - 1
        assert abs(rows[i, level] - pivots[i]) <= 1e-12 * scale
        np.testing.assert_allclose(rows[i, :level], lower[i, path[:-1]], atol=1e-11 * scale)
        outside = slice(pad_to_lanes(level + 1), None)
        np.testing.assert_array_equal(rows[i, outside], before[i, outside])
    actual = np.array([rows[i, len(path) - 1] for i, path in enumerate(paths(skeleton))])
    assert smallest == actual.min()
    # Sylvester: as many negative pivots as negative eigenvalues.
    assert (actual < 0.0).sum() == (np.linalg.eigvalsh(matrix) < 0.0).sum()

    b = rng.normal(size=skeleton.nv)
    x, scratch = b.copy(), np.full(rows.shape[1], np.nan)
    solve(skeleton.tree, rows, x, scratch)
    expected = np.linalg.solve(matrix, b)
    bar = 1e-14 * np.linalg.cond(matrix) * np.abs(expected).max()
    assert np.abs(x - expected).max() <= max(bar, 1e-14)


KINDS = pytest.mark.parametrize("negative", [0.0, 0.3, 1.0], ids=["definite", "mixed", "negative"])


@KINDS
@pytest.mark.parametrize("n", [*range(1, 10), 16, 17, 30])
def test_chains_of_any_length(n: int, negative: float):
    """Dofs go four at a time where they can: all remainders are met."""
    for seed in range(5):
        check(serial_chain(n), seed, negative)


@KINDS
@pytest.mark.parametrize("children", [2, 3, 7])
@pytest.mark.parametrize("n", [5, 23, 40])
def test_bushy_trees(n: int, children: int, negative: float):
    check(bushy_tree(n, children), n, negative)


@KINDS
def test_joints_of_several_dofs(negative: float):
    check(menagerie(), 1, negative)


@KINDS
def test_forests(negative: float):
    """Several roots, bones without dofs between, chains listed across each other."""
    check(tree_of([-1, -1, 0, 1, 2, 3, 4, 5, -1, 6, 7]), 2, negative)
    check(tree_of([-1] * 9), 3, negative)
    joints = [Joint.free("ZYX"), Joint.fixed(), Joint.euler("XZ"), Joint.revolute()]
    check(tree_of([-1, 0, -1, 1, 2, 3, 0, 5, 6, 4, 9], joints), 4, negative)


@given(st.lists(st.integers(0, 10**6), max_size=24), st.integers(0, 2**32 - 1), st.booleans())
def test_any_tree(choices: list[int], seed: int, definite: bool):
    """Bones in any order with parents first, so that branches interleave."""
    parents = [-1] + [choice % (k + 2) - 1 for k, choice in enumerate(choices)]
    check(tree_of(parents), seed, 0.0 if definite else 0.5)


@pytest.mark.parametrize("n", range(1, 10))
@np.errstate(divide="ignore", invalid="ignore")  # in plain Python numpy would warn
def test_a_dof_that_nothing_asks_for_has_no_positive_pivot(n: int):
    """An exactly singular matrix is never taken for a positive definite one, wherever it is so."""
    chain = serial_chain(n)
    for dead in range(n):
        lower, pivots = factors(chain, np.random.default_rng(n), 0.0)
        matrix = lower.T @ np.diag(pivots) @ lower
        matrix[dead] = matrix[:, dead] = 0.0
        assert not factor(chain.tree, to_ancestor_rows(chain, matrix)) > 0.0
    assert not factor(chain.tree, to_ancestor_rows(chain, np.zeros((n, n)))) > 0.0


def test_nothing_to_factor_is_positive_definite():
    statue = Skeleton.build("statue", [Bone("a")])
    work = new_workspace(statue.tree)
    assert factor(statue.tree, work.H) == np.inf
    solve(statue.tree, work.H, np.zeros(0), work.path[0])
