"""Random weights in all their forms, and random directions."""

from __future__ import annotations

import numpy as np

from exactik.typing import Array

Rng = np.random.Generator


def make_positive_definite(rng: Rng, m: int) -> Array:
    """Return a well-conditioned symmetric positive definite matrix."""
    a = rng.normal(size=(m, m)) / np.sqrt(max(m, 1))
    return a @ a.T + 0.2 * np.eye(m)


def draw_weight(rng: Rng, style: str, rows: int, short: int = 0) -> Array | float:
    """Return a weight in one of its forms: scalar, per row, matrix, or `short` numbers.

    The style "markers" has scalars alone, and "apart" no matrix over more than three rows: these
    are the problems whose goals can be summed, by the two ways there are.
    """
    form = rng.integers(4 if short > 0 else 3)
    if style == "markers" or form == 0:
        return float(rng.uniform(0.1, 3.0)) if rng.random() < 0.95 else 0.0
    if style == "apart" and form == 2 and rows > 3:
        form = 1
    if form == 1:
        return rng.uniform(0.1, 3.0, size=rows)
    return make_positive_definite(rng, rows) if form == 2 else rng.uniform(0.1, 3.0, size=short)


def draw_direction(rng: Rng) -> Array:
    vector = rng.normal(size=3)
    return vector / np.linalg.norm(vector)
