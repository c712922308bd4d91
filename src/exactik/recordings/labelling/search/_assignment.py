"""Who is whom, at least cost: softly while poses are rough, one to one at the end."""

from __future__ import annotations

import numpy as np

from exactik.typing import Array, IntArray

SINKHORN_ROUNDS = 12
"""Rounds of normalising rows and columns in turn: shares then sum to 1 within some percent, and the
next pose changes them by more than that."""


def assign_softly(square_distance: Array, sigma: float, outlier_distance: float) -> Array:
    """Return the share to which each point is each marker, (…, N, M); rows and columns sum to ≤ 1.

    A point at the outlier distance from all markers is as likely none of them, and likewise for
    markers (softassign: Gold and Rangarajan 1996).

    Args:
        square_distance: of N points from M markers [m²], (…, N, M); infinite where not seen.
        sigma: standard deviation of a distance along each axis [m].
        outlier_distance: [m].
    """
    exponent = (outlier_distance**2 - square_distance) / (2.0 * sigma**2)
    weight = np.exp(np.minimum(exponent, 60.0))
    row, column = np.ones(weight.shape[:-1]), np.ones((*weight.shape[:-2], weight.shape[-1]))
    for _ in range(SINKHORN_ROUNDS):
        row = 1.0 / (1.0 + np.einsum("...nm,...m->...n", weight, column))
        column = 1.0 / (1.0 + np.einsum("...nm,...n->...m", weight, row))
    return row[..., None] * weight * column[..., None, :]


def assign(cost: Array, unassigned_cost: float) -> IntArray:
    """Return the column of each row at least total cost, (N,); −1 for none.

    Args:
        cost: (N, M).
        unassigned_cost: of a row that gets no column.
    """
    columns = np.full(len(cost), -1)
    if cost.size == 0:
        return columns
    rows, chosen = _solve(cost, unassigned_cost)
    is_real = chosen < cost.shape[1]
    columns[rows[is_real]] = chosen[is_real]
    return columns


def compute_margins(cost: Array, columns: IntArray, unassigned_cost: float) -> Array:
    """Return by how much the total cost rises if a row may not have its column, (N,).

    Rows that have none: if they must have one.
    """
    margins = np.full(len(cost), np.inf)
    if cost.size == 0:
        return margins
    least = _total(cost, unassigned_cost)
    for k, column in enumerate(columns):
        if column < 0:
            continue
        forbidden = cost.copy()
        forbidden[k, column] = np.inf
        margins[k] = _total(forbidden, unassigned_cost) - least
    return margins


def _solve(cost: Array, unassigned_cost: float) -> tuple[IntArray, IntArray]:
    from scipy.optimize import linear_sum_assignment

    none = np.full((len(cost), len(cost)), min(unassigned_cost, 1e9))
    return linear_sum_assignment(np.concatenate([np.minimum(cost, 1e9), none], axis=1))


def _total(cost: Array, unassigned_cost: float) -> float:
    rows, chosen = _solve(cost, unassigned_cost)
    full = np.concatenate([np.minimum(cost, 1e9), np.full((len(cost),) * 2, unassigned_cost)], 1)
    return float(full[rows, chosen].sum())
