"""Labels of trajectories, of which two that are seen at once never have the same.

Those of the frame in which most are undecided are assigned together, then those of the next such
frame, with what is decided kept.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from exactik.recordings.labelling.search._assignment import assign, compute_margins
from exactik.recordings.labelling.search._trajectories import Trajectory
from exactik.typing import Array, BoolArray, IntArray


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
        margins[rows] = np.where(chosen >= 0, compute_margins(local, chosen, unassigned_cost), 0.0)
        open_[rows] = False
    return TrajectoryLabels(labels=labels, margins=margins)


def _find_fullest_frame(first: IntArray, last: IntArray, open_: BoolArray) -> int:
    """Return the frame with the longest open trajectories together, a first frame of one."""
    length = (last - first + 1) * open_
    starts = first[open_]
    inside = (first <= starts[:, None]) & (starts[:, None] <= last)
    return int(starts[np.argmax(inside @ length)])
