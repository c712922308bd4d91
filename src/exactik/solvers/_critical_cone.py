"""Whether a quadratic form falls along a direction that limits leave open.

Dofs that sit on a limit without being pushed against it may move one way only. With two-sided dofs
F and one-sided ones S, turned so that they may only grow, a stationary point is a minimum to second
order if

    dᵀHd + ε|d|² ≥ 0   for all d with d_S ≥ 0,

where ε is what counts as flat. That is so if and only if A = H_FF + ε is positive definite and the
Schur complement  C = H_SS + ε − H_SF A⁻¹ H_FS  is copositive: wᵀCw ≥ 0 for all w ≥ 0. A matrix is
copositive if and only if no principal submatrix has a positive eigenvector with a negative
eigenvalue (Kaplan 2000); all of them are looked at where few dofs are one-sided. Where they are
many, a positive semi-definite or non-negative C is copositive, small principal submatrices and
projected descents look for a way down, and if there is none, nothing is decided.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import NamedTuple

import numpy as np

from exactik.typing import Array, IntArray

MAX_ENUMERATED = 12  # one-sided dofs, of which all subsets are looked at: 4096, some 30 ms
MAX_SUBSET = 3  # size of the subsets that are looked at where there are more dofs
PROJECTED_STEPS = 200  # of each descent; directions that fall by a hair take more than 20
UNFELT = 1e-3  # of ε: a dof whose whole row of H is below it changes nothing
ROUNDING = 1e-13  # of the largest entry: an eigenvalue above −this is not negative


class ConeAnswer(NamedTuple):
    """What was found."""

    direction: Array | None  # unit vector of negative curvature inside the cone, (n,), or None
    decided: bool  # False where there is no direction and it is not proven that there is none


def find_descent_in_cone(H: Array, sides: IntArray, flat: float) -> ConeAnswer:
    """Return a direction d inside the cone with dᵀHd < −flat |d|², if there is one.

    Args:
        H: symmetric, (n, n).
        sides: (n,) 0 for what may go both ways, 1 for what may only grow, −1 for only shrink.
        flat: ε > 0, curvature that counts as none.
    """
    # A dof that changes nothing need not be asked, and there may be many that sit on limits.
    felt = np.abs(H).sum(axis=1) > UNFELT * flat
    two_sided, one_sided = np.flatnonzero(sides == 0), np.flatnonzero((sides != 0) & felt)
    values, vectors = np.linalg.eigh(H[np.ix_(two_sided, two_sided)])
    if len(values) > 0 and values[0] < -flat:
        return ConeAnswer(_place(vectors[:, 0], two_sided, len(H)), decided=True)
    if len(one_sided) == 0:
        return ConeAnswer(None, decided=True)
    sign = sides[one_sided].astype(float)
    cross = vectors.T @ H[np.ix_(two_sided, one_sided)] * sign
    # Rounding may leave an eigenvalue at −flat exactly.
    inverse = 1.0 / np.maximum(values + flat, 1e-3 * flat)
    C = H[np.ix_(one_sided, one_sided)] * np.outer(sign, sign) + flat * np.eye(len(sign))
    C -= cross.T @ (inverse[:, None] * cross)
    w, decided = _find_negative_weights(0.5 * (C + C.T))
    if w is None:
        return ConeAnswer(None, decided)
    d = _place(sign * w, one_sided, len(H))
    d[two_sided] = -vectors @ (inverse * (cross @ w))
    return ConeAnswer(d / np.linalg.norm(d), decided=True)


def _place(values: Array, where: IntArray, size: int) -> Array:
    out = np.zeros(size)
    out[where] = values
    return out


def _find_negative_weights(C: Array) -> tuple[Array | None, bool]:
    """Return w ≥ 0 with wᵀCw < 0, or None and whether C is proven copositive."""
    size, largest = len(C), float(np.abs(C).max())
    slack = ROUNDING * largest
    if (C >= 0.0).all() or np.linalg.eigvalsh(C)[0] >= -slack:
        return None, True
    every = size <= MAX_ENUMERATED
    for subset in _list_subsets(size, size if every else MAX_SUBSET):
        blocks = C[subset[:, :, None], subset[:, None, :]]
        values, vectors = np.linalg.eigh(blocks)
        for sign in (1.0, -1.0):
            hit = (values < -slack) & (sign * vectors > 0.0).all(axis=1)
            if hit.any():
                # The steepest of them.
                k, column = np.unravel_index(int(np.argmin(np.where(hit, values, 0.0))), hit.shape)
                return _place(np.abs(vectors[k, :, column]), subset[k], size), True
    if every:
        return None, True
    return _descend_on_simplex(C, slack), False


def _list_subsets(size: int, largest: int) -> Iterator[IntArray]:
    """Yield all subsets of each number of members, (count, members)."""
    for members in range(1, largest + 1):
        yield np.array(list(combinations(range(size), members)))


def _descend_on_simplex(C: Array, slack: float) -> Array | None:
    """Return w ≥ 0 with wᵀCw < 0 if projected descents find one.

    From each dof together with all that it falls with, and from parts of the eigenvectors.
    """
    step = 1.0 / (float(np.abs(np.linalg.eigvalsh(C)).max()) + slack)
    _, vectors = np.linalg.eigh(C)
    parts = np.abs(vectors.T), np.maximum(vectors.T, 0.0), np.maximum(-vectors.T, 0.0)
    for start in np.concatenate([(C < 0.0) | np.eye(len(C), dtype=bool), *parts]):
        w = start / max(float(np.linalg.norm(start)), 1e-300)
        for _ in range(PROJECTED_STEPS):
            moved = np.maximum(w - step * (C @ w - (w @ C @ w) * w), 0.0)
            norm = float(np.linalg.norm(moved))
            if norm == 0.0:
                break
            w = moved / norm
        if w @ C @ w < -slack:
            return w
    return None
