"""Labels of fragments, of which two that are seen at once never have the same.

The fragments of the frame that most are undecided in are assigned together, then those of the next
such frame, with what is decided kept.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from exactik.labelling.search._assignment import assign, compute_margins
from exactik.labelling.search._fragments import Fragment
from exactik.typing import Array, BoolArray, IntArray

__all__ = ["FragmentLabels", "assign_fragments"]


class FragmentLabels(NamedTuple):
    """Labels of fragments.

    Attributes:
        labels: (n,); −1 for none.
        margins: by how much the cost rises without this label, (n,); 0 where there is none.
    """

    labels: IntArray
    margins: Array


def assign_fragments(
    cost: Array, fragments: list[Fragment], able: BoolArray, fixed: IntArray, unassigned_cost: float
) -> FragmentLabels:
    """Return the labels of fragments at least cost.

    Args:
        cost: of each fragment and label, (n, M).
        fragments: (n,).
        able: which of them can be decided, as something is known of them, (n,).
        fixed: labels that are given, (n,); −1 for none.
        unassigned_cost: of a fragment without a label.
    """
    first = np.array([fragment.first for fragment in fragments])
    last = np.array([fragment.last for fragment in fragments])
    labels, margins = fixed.copy(), np.zeros(len(fragments))
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
    return FragmentLabels(labels=labels, margins=margins)


def _find_fullest_frame(first: IntArray, last: IntArray, open_: BoolArray) -> int:
    """Return the frame with the longest open fragments together: a first frame of one of them."""
    length = (last - first + 1) * open_
    starts = first[open_]
    inside = (first <= starts[:, None]) & (starts[:, None] <= last)
    return int(starts[np.argmax(inside @ length)])
