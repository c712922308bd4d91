"""Quadratic models on trees: matrices by ancestor rows, and scratch that holds no numbers."""

from __future__ import annotations

import numpy as np

from exactik import Skeleton
from exactik.kernels.calculus.workspace import new_workspace
from exactik.kernels.descent.state import DescentState, new_descent_state
from exactik.kernels.linear.ltdl import AncestorPattern
from exactik.typing import Array

__all__ = ["blank_search", "indefinite", "pattern_of", "positive_definite", "rows_of", "value"]


def pattern_of(skeleton: Skeleton) -> AncestorPattern:
    """Whose ancestors the rows are of."""
    tree = skeleton.tree
    return AncestorPattern(tree.dof_order, tree.dof_parent, tree.dof_level)


def rows_of(skeleton: Skeleton, matrix: Array) -> Array:
    """A symmetric matrix by ancestor rows; not a number in all places that mean nothing."""
    rows = new_workspace(skeleton.tree).H
    rows[:] = np.nan
    dof, level, above = skeleton.ancestor_pairs
    rows[dof, level] = matrix[dof, above]
    return rows


def positive_definite(skeleton: Skeleton, rng: np.random.Generator) -> Array:
    """A random matrix LᵀDL with the sparsity of the tree, and condition up to some thousands."""
    return _with_pivots(skeleton, rng, rng.uniform(0.2, 2.0, size=skeleton.nv))


def indefinite(skeleton: Skeleton, rng: np.random.Generator, negative: float) -> Array:
    """The same with each pivot negative with this probability."""
    signs = np.where(rng.random(skeleton.nv) < negative, -1.0, 1.0)
    return _with_pivots(skeleton, rng, signs * rng.uniform(0.2, 2.0, size=skeleton.nv))


def _with_pivots(skeleton: Skeleton, rng: np.random.Generator, pivots: Array) -> Array:
    lower = np.zeros((skeleton.nv, skeleton.nv))
    dof, _, above = skeleton.ancestor_pairs
    lower[dof, above] = rng.uniform(-0.5, 0.5, size=len(dof))
    np.fill_diagonal(lower, 1.0)
    return lower.T @ np.diag(pivots) @ lower


def blank_search(skeleton: Skeleton) -> DescentState:
    """Scratch of a descent: no limits, nothing held, D = 1, and not a number everywhere else."""
    search = new_descent_state(skeleton.tree, new_workspace(skeleton.tree).H.shape[1])
    for array in search:
        array[...] = np.nan
    search.lower[:], search.upper[:] = -np.inf, np.inf
    search.active_set[:], search.scale[:] = 0.0, 1.0
    return search


def value(g: Array, matrix: Array, step: Array) -> float:
    """g·s + ½ sᵀHs."""
    return float(g @ step + 0.5 * step @ matrix @ step)
