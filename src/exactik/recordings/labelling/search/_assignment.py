"""Who is whom, at least cost: softly while poses are rough, one to one at the end.

Of trajectories, two that are seen at once never have the same label. Those of the frame in which
most are undecided are assigned together, then those of the next such frame, with what is decided
kept.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from exactik.recordings.labelling.search._trajectories import Trajectory
from exactik.typing import Array, BoolArray, IntArray

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


def _compute_margins(cost: Array, columns: IntArray, unassigned_cost: float) -> Array:
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


class TrajectoryLabels(NamedTuple):
    """Labels of trajectories."""

    labels: IntArray  # (n,); −1 for none
    margins: Array  # by how much the cost rises without this label, (n,); 0 where there is none


def assign_trajectories(
    cost: Array,
    trajectories: list[Trajectory],
    able: BoolArray,
    fixed: IntArray,
    unassigned_cost: float,
) -> TrajectoryLabels:
    """Return the labels of trajectories at least cost.

    Args:
        cost: of each trajectory and label, (n, M).
        trajectories: (n,).
        able: which of them can be decided, as something is known of them, (n,).
        fixed: labels that are given, (n,); −1 for none.
        unassigned_cost: of a trajectory without a label.
    """
    first = np.array([trajectory.first for trajectory in trajectories])
    last = np.array([trajectory.last for trajectory in trajectories])
    labels, margins = fixed.copy(), np.zeros(len(trajectories))
    margins[fixed >= 0] = np.inf
    open_ = able & (fixed < 0)
    while open_.any():
        frame = _find_fullest_frame(first, last, open_)
        rows = np.flatnonzero(open_ & (first <= frame) & (frame <= last))
        local = cost[rows].copy()
        for i, k in enumerate(rows):
            beside = (first <= last[k]) & (first[k] <= last) & (labels >= 0)
            local[i, labels[beside]] = np.inf
        local[local >= unassigned_cost] = np.inf
        chosen = assign(local, unassigned_cost)
        labels[rows] = chosen
        margins[rows] = np.where(chosen >= 0, _compute_margins(local, chosen, unassigned_cost), 0.0)
        open_[rows] = False
    return TrajectoryLabels(labels=labels, margins=margins)


def _find_fullest_frame(first: IntArray, last: IntArray, open_: BoolArray) -> int:
    """Return the frame with the longest open trajectories together, a first frame of one."""
    length = (last - first + 1) * open_
    starts = first[open_]
    inside = (first <= starts[:, None]) & (starts[:, None] <= last)
    return int(starts[np.argmax(inside @ length)])
