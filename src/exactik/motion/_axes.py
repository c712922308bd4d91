"""Axes of the world, renamed: quarter turns that keep them right-handed."""

from __future__ import annotations

import numpy as np

from exactik.errors import ModelError
from exactik.typing import Array

__all__ = ["axes_matrix", "quarter_turn", "turned_axis"]


# From → to, the turn about the third axis: what is up comes to point where it should.
_QUARTERS = {
    ("y", "z"): "X-ZY",
    ("z", "y"): "XZ-Y",
    ("x", "y"): "-YXZ",
    ("y", "x"): "Y-XZ",
    ("x", "z"): "-ZYX",
    ("z", "x"): "ZY-X",
}


def quarter_turn(up: str, to: str) -> str:
    """Return the axes, as for `axes_matrix`, that make one up axis another; the third one stays."""
    return _QUARTERS.get((up, to), "XYZ")


def turned_axis(up: str | None, matrix: Array) -> str | None:
    """Return the up axis in axes permuted by a matrix."""
    if up is None:
        return None
    return "xyz"[int(np.argmax(np.abs(matrix[:, "xyz".index(up)])))]


def axes_matrix(axes: str) -> Array:
    """Return the matrix, (3, 3), that takes the file's axes to the permuted ones."""
    rows, sign = [], 1.0
    for letter in axes.upper():
        if letter == "-":
            sign = -1.0
        elif letter in "XYZ":
            rows.append(sign * np.eye(3)["XYZ".index(letter)])
            sign = 1.0
        else:
            rows = []
            break
    matrix = np.array(rows, dtype=np.float64)
    if matrix.shape != (3, 3) or abs(np.linalg.det(matrix) - 1.0) > 1e-9:
        raise ModelError(
            f"axes is {axes!r}; expected three of X, Y and Z, each once, minus signs allowed, that "
            "keep the axes right-handed, such as 'YZX' or 'X-ZY'"
        )
    return matrix
