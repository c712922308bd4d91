"""Curves as viser's plots take them."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from exactik.motion import find_segments
from exactik.typing import Array

__all__ = ["split_at_gaps"]

MAX_PIECES = 6  # of a curve with gaps


def split_at_gaps(values: Array, count: int = MAX_PIECES) -> list[Array]:
    """Return a curve in pieces between its longest gaps; each is NaN outside.

    The plot draws straight lines through NaN, so that a gap must lie between two curves.

    Args:
        values: (n,), NaN in gaps.
        count: number of pieces, at most; the shortest gaps are drawn through.
    """
    gaps = [
        run for run in find_segments(np.isnan(values)) if run[0] > 0 and run[1] < len(values) - 1
    ]
    longest = sorted(gaps, key=lambda run: run[0] - run[1])[: count - 1]
    edges = [0, *sorted(first for first, _ in longest), len(values)]
    pieces = []
    for first, end in pairwise(edges):
        piece = np.full(len(values), np.nan)
        piece[first:end] = values[first:end]
        pieces.append(piece)
    return pieces
