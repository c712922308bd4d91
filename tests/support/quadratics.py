"""Quadratic models on trees: matrices as ancestor rows, and descents whose arrays hold NaN."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from exactik import Skeleton
from exactik.kernels.calculus.workspace import new_workspace
from exactik.kernels.descent.state import DescentState, new_descent_state
from exactik.kernels.linear.ltdl import AncestorPattern
from exactik.typing import Array, IndexArray

__all__ = [
    "ancestor_pattern",
    "blank_descent_state",
    "indefinite",
    "positive_definite",
    "spoil",
    "to_ancestor_rows",
    "value",
]


def ancestor_pattern(skeleton: Skeleton) -> AncestorPattern:
    """Which dofs are the ancestors of which."""
    tree = skeleton.tree
    return AncestorPattern(tree.dof_order, tree.dof_parent, tree.dof_level)


def to_ancestor_rows(skeleton: Skeleton, matrix: Array) -> Array:
    """A symmetric matrix as ancestor rows, NaN in the padding."""
    ancestor_rows = new_workspace(skeleton.tree).H
    ancestor_rows[:] = np.nan
    dof, level, above = skeleton.ancestor_pairs
    ancestor_rows[dof, level] = matrix[dof, above]
    return ancestor_rows


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


def blank_descent_state(skeleton: Skeleton) -> DescentState:
    """A descent without limits, with an empty active set and D = 1; NaN everywhere else."""
    descent = new_descent_state(skeleton.tree, new_workspace(skeleton.tree).H.shape[1])
    spoil(descent)
    descent.lower[:], descent.upper[:] = -np.inf, np.inf
    descent.active_set[:], descent.scale[:] = 0.0, 1.0
    return descent


def spoil(arrays: Iterable[Array | IndexArray], scratch: float = np.nan) -> None:
    """Fill scratch arrays, those of floats, with this."""
    for array in arrays:
        if array.dtype == float:
            array[...] = scratch


def value(g: Array, matrix: Array, step: Array) -> float:
    """g·s + ½ sᵀHs."""
    return float(g @ step + 0.5 * step @ matrix @ step)
