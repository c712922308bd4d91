"""Copositivity where many limits are touched: what is found, what is proven, what is rounding.

Answers are known because the ways down are planted, or all faces of the cone are looked at.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from exactik.solvers import find_descent_in_cone
from exactik.typing import Array

FLAT = 1e-6
SIZE = 13  # the fewest of which not all subsets are looked at
# Copositive, but neither positive semi-definite nor non-negative.
HORN = np.array(
    [[1, -1, 1, 1, -1], [-1, 1, -1, 1, 1], [1, -1, 1, -1, 1], [1, 1, -1, 1, -1], [-1, 1, 1, -1, 1]]
).astype(float)


def least_on_cone(C: Array) -> float:
    """The least wᵀCw of unit vectors w ≥ 0: of all faces with a positive eigenvector."""
    best = np.inf
    for members in range(1, len(C) + 1):
        subset = np.array(list(combinations(range(len(C)), members)))
        values, vectors = np.linalg.eigh(C[subset[:, :, None], subset[:, None, :]])
        inside = (vectors > 0.0).all(axis=1) | (vectors < 0.0).all(axis=1)
        best = min(best, float(np.where(inside, values, np.inf).min()))
    return best


def ways(H: Array) -> tuple[Array | None, bool]:
    answer = find_descent_in_cone(H, np.ones(len(H), np.int64), FLAT)
    return answer.direction, answer.decided


@pytest.mark.parametrize("seed", [1, 2, 4, 8])
def test_ways_that_fall_by_a_hair(seed: int) -> None:
    """Random forms of thirteen dofs, shifted so that the least value of all is −1e-4."""
    rng = np.random.default_rng(seed)
    signs = np.where(rng.random((SIZE, SIZE)) < 0.3, -1.0, 1.0)
    C = np.triu(np.abs(rng.normal(size=(SIZE, SIZE))) * signs)
    C = C + np.triu(C, 1).T
    C -= (least_on_cone(C) + 1e-4) * np.eye(SIZE)
    d, _ = ways(C)
    assert d is not None and (d >= 0.0).all() and np.linalg.norm(d) == pytest.approx(1.0)
    assert d @ C @ d < -FLAT


@pytest.mark.parametrize("members", [1, 2, 3, 5, 9])
@pytest.mark.parametrize("size", [SIZE, 40])
def test_few_that_fall_together_among_many_that_do_not(members: int, size: int) -> None:
    """All others couple strongly, so that eigenvectors tell nothing of the few."""
    rng = np.random.default_rng(members)
    H = np.triu(rng.uniform(0.0, 30.0, size=(size, size)), 1)
    H = H + H.T + np.eye(size)
    few = rng.choice(size, members, replace=False)
    H[np.ix_(few, few)] = -1.02 / max(members - 1, 1)
    H[few, few] = 1.0 if members > 1 else -0.02
    d, decided = ways(H)
    assert d is not None and decided
    np.testing.assert_allclose(d[few], 1.0 / np.sqrt(members), atol=1e-3)


def test_what_is_proven_whatever_its_size() -> None:
    """Non-negative forms and positive semi-definite ones need no faces to be looked at."""
    rng, size = np.random.default_rng(3), 20
    positive = rng.uniform(0.0, 1.0, size=(size, size))
    positive = positive + positive.T
    assert np.linalg.eigvalsh(positive)[0] < -0.1
    J = rng.normal(size=(size, size))
    assert (J @ J.T).min() < -0.1
    for H in (positive, J @ J.T):
        assert ways(H) == (None, True)
    horn = np.eye(size)
    horn[:5, :5] = HORN
    assert ways(horn) == (None, False)


@pytest.mark.parametrize(("felt", "decided"), [(3e-3, False), (0.3e-3, True)])
def test_a_dof_that_changes_nothing_is_not_asked(felt: float, decided: bool) -> None:
    """Less than a thousandth of what is flat: then twelve are left, which are looked at all."""
    H = np.eye(SIZE)
    H[:5, :5] = HORN
    H[-1, -1] = felt * FLAT
    assert ways(H) == (None, decided)


@pytest.mark.parametrize(("below", "falls"), [(3e-13, True), (0.3e-13, False)])
@pytest.mark.parametrize("size", [3, 20])
def test_rounding_is_no_way_down(below: float, falls: bool, size: int) -> None:
    """1e-13 of the largest entry of C = H + ε, whatever its unit."""
    for unit in (1.0, 1e6):
        flat = 1e-20 * unit
        H = np.eye(size) * unit
        H[-1, -1] = -below * unit
        H[0, 1] = H[1, 0] = -0.5 * unit
        answer = find_descent_in_cone(H, np.ones(size, np.int64), flat)
        assert (answer.direction is not None) == falls and answer.decided


def test_two_sided_dofs_that_are_almost_not_flat() -> None:
    """(−0.997ε c; c h) falls in its cone if and only if c² > 0.003ε (h + ε)."""
    for factor, falls in ((0.002, False), (0.005, True)):
        cross = np.sqrt(factor * FLAT * (1.0 + FLAT))
        H = np.array([[-0.997 * FLAT, cross], [cross, 1.0]])
        answer = find_descent_in_cone(H, np.array([0, 1]), FLAT)
        assert (answer.direction is not None) == falls and answer.decided
        if answer.direction is not None:
            d = answer.direction
            assert d @ H @ d < -FLAT and d[1] > 0.0
