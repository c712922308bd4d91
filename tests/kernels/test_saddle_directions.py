"""Ways down from a saddle: how steep they are, and that limits leave them open.

Against eigenvalues, and against the faces of the critical cone one by one.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import exactik as ik
from exactik.kernels.descent.saddles import (
    FLAT_CURVATURE,
    is_open,
    negative_curvature_direction,
    open_descent_direction,
    open_pair_direction,
)
from exactik.kernels.descent.state import DescentState
from exactik.typing import Array, IntArray
from tests.support.models import bushy_tree
from tests.support.quadratics import ancestor_pattern, blank_descent_state, to_ancestor_rows
from tests.support.solver_problems import planar_chain

Rng = np.random.Generator
ROOM = 2.0  # [rad] range of a hinge
# One direction of three dofs bends down; each dof and each pair of them bends up.
TRIPLE = np.eye(3) - 0.4


def problem_of(size: int) -> ik.Problem:
    chain = planar_chain(size, [(0, ROOM)] * size)
    return ik.Problem(chain, ik.MarkerGoal("HAND", (0.25, 0, 0)))


def search(
    matrix: Array, q: Array, scale: float = 1.0, upper: Array | None = None
) -> tuple[bool, DescentState]:
    """Let the kernel look for a way down on a chain whose dofs have limits 0 and `upper`."""
    size = len(matrix)
    problem = problem_of(size)
    descent = blank_descent_state(problem.skeleton)
    descent.lower[:], descent.upper[:] = 0.0, ROOM if upper is None else upper
    descent.scale[:] = scale
    rows = to_ancestor_rows(problem.skeleton, matrix)
    pattern = ancestor_pattern(problem.skeleton)
    found = open_descent_direction(pattern, problem.box, q, np.zeros(size), rows, descent)
    return bool(found), descent


def lowest_of(matrix: Array) -> float:
    """The least eigenvalue."""
    return float(np.linalg.eigvalsh(matrix)[0])


def falls_on_a_face(H: Array, sides: IntArray) -> bool:
    """Whether the form is negative somewhere in the cone, by all of its faces."""
    bounded, other = np.flatnonzero(sides), np.flatnonzero(sides == 0)
    for chosen in product((False, True), repeat=len(bounded)):
        face = np.append(other, bounded[list(chosen)]).astype(int)
        if len(face) == 0:
            continue
        values, vectors = np.linalg.eigh(H[np.ix_(face, face)])
        own = sides[face]
        for sense in (1.0, -1.0):
            inside = (sense * vectors * own[:, None] > 0.0)[own != 0].all(axis=0)
            if (inside & (values < -FLAT_CURVATURE)).any():
                return True
    return False


# --- how steep


@pytest.mark.parametrize("figure", [planar_chain(2), planar_chain(6), bushy_tree(12, 3)])
def test_the_way_is_at_least_a_tenth_as_steep_as_the_steepest(figure: ik.Skeleton) -> None:
    """By the measure D, over all sizes of the curvature; small pivots mislead no direction."""
    rng, descent = np.random.default_rng(2), blank_descent_state(figure)
    dof, _, above = figure.ancestor_pairs
    worst = 1.0
    for _ in range(150):
        matrix = np.zeros((figure.nv, figure.nv))
        matrix[dof, above] = rng.normal(size=len(dof)) * (rng.random(len(dof)) < 0.7)
        matrix = matrix + matrix.T
        np.fill_diagonal(matrix, np.abs(np.diag(matrix)) * (rng.random(figure.nv) < 0.5))
        matrix *= 10.0 ** rng.uniform(-5, 4)
        scale = rng.uniform(0.5, 2.0, size=figure.nv)
        lowest = lowest_of(matrix / np.sqrt(np.outer(scale, scale)))
        descent.scale[:], descent.active_set[:] = scale, 0.0
        found = negative_curvature_direction(
            ancestor_pattern(figure),
            np.zeros(figure.nv),
            to_ancestor_rows(figure, matrix),
            descent,
        )
        assert found == (lowest < -FLAT_CURVATURE)
        if found:
            d = descent.step
            steepness = float(d @ matrix @ d) / float(d @ (scale * d)) / lowest
            assert steepness >= 0.1
            worst = min(worst, steepness)
    assert worst < 0.5  # it is not the steepest, and the bound is a bound


def test_two_links_whose_own_curvatures_vanish() -> None:
    """(2 1; 1 0): the first pivot that is found negative belongs to a flat direction."""
    figure = planar_chain(2)
    lowest = lowest_of(np.array([[2.0, 1.0], [1.0, 0.0]]))
    for size in 10.0 ** np.linspace(-5, 4, 40):
        matrix, descent = size * np.array([[2.0, 1.0], [1.0, 0.0]]), blank_descent_state(figure)
        rows = to_ancestor_rows(figure, matrix)
        pattern = ancestor_pattern(figure)
        assert negative_curvature_direction(pattern, np.zeros(2), rows, descent)
        d = descent.step / np.linalg.norm(descent.step)
        assert d @ matrix @ d <= 0.1 * lowest * size


# --- what limits leave open


@pytest.mark.parametrize(("entry", "held"), [(3e-9, True), (0.3e-9, False)])
def test_a_limit_may_clip_a_billionth_of_the_way(entry: float, held: bool) -> None:
    """The second dof cannot move at all; more of it than that, and it is left out."""
    matrix = np.array([[-0.5, 1.1 * entry], [1.1 * entry, 1.0]])  # + 0.1 D when it is found
    found, descent = search(matrix, np.array([1.0, 0.0]), upper=np.array([ROOM, 0.0]))
    assert found and abs(descent.step[0]) == 1.0
    assert (descent.step[1] == 0.0) == held
    assert abs(descent.step[1]) == pytest.approx(0.0 if held else entry, rel=1e-6)


@pytest.mark.parametrize("blocked", [0, 1, 2, 3])
@pytest.mark.parametrize("coupling", [0.0, 0.3, -0.3])
def test_what_stops_a_way_is_held_and_the_rest_looked_at(blocked: int, coupling: float) -> None:
    """Three dofs bend down together, and a fourth, which cannot move, would have a share in it."""
    others = [k for k in range(4) if k != blocked]
    matrix = np.eye(4)
    matrix[np.ix_(others, others)] = TRIPLE
    matrix[blocked, others] = matrix[others, blocked] = coupling
    upper = np.full(4, ROOM)
    upper[blocked] = 0.0
    q = np.where(upper > 0.0, 1.0, 0.0)
    found, descent = search(matrix, q, upper=upper)
    assert found and descent.step[blocked] == 0.0
    assert not descent.active_set[others].any()
    d = descent.step[others]
    assert d @ TRIPLE @ d < -0.01 * (d @ d)


def test_no_way_leads_through_a_limit_and_most_ways_are_found() -> None:
    """Random forms and limits touched on either side."""
    rng, found, missed = np.random.default_rng(4), 0, 0
    for _ in range(250):
        size = int(rng.integers(2, 6))
        J, shift = rng.normal(size=(size, size)), rng.uniform(0.0, 2.0)
        matrix, sides = J @ J.T - shift * np.eye(size), rng.integers(-1, 2, size)
        q = np.where(sides == 0, 0.5 * ROOM, np.where(sides > 0, 0.0, ROOM))
        actual, descent = search(matrix, q)
        expected = falls_on_a_face(matrix, sides)
        assert expected or not actual
        missed += expected and not actual
        if actual:
            d, found = descent.step, found + 1
            assert (d * sides >= -1e-9).all() and np.abs(d).max() == pytest.approx(1.0)
            assert d @ matrix @ d < 0.0
        else:
            assert not descent.active_set.any()  # nothing is held for no reason
    assert found > 100 and missed <= 4


@pytest.mark.parametrize("sense", [1.0, -1.0])
def test_the_sense_is_the_one_that_is_open(sense: float) -> None:
    """Both hinges on the same side: the way is open one way only, whatever the gradient says."""
    matrix = np.array([[0.2, -1.0], [-1.0, 0.2]])
    q = np.zeros(2) if sense > 0.0 else np.full(2, ROOM)
    found, descent = search(matrix, q)
    assert found and (sense * descent.step > 0.0).all()


# --- single dofs and pairs


def pair_of(matrix: Array, q: Array, active: Array, scale: Array | None = None) -> Array | None:
    size = len(matrix)
    problem = problem_of(size)
    descent = blank_descent_state(problem.skeleton)
    descent.lower[:], descent.upper[:] = 0.0, ROOM
    descent.active_set[:] = active
    descent.scale[:] = 1.0 if scale is None else scale
    rows, pattern = to_ancestor_rows(problem.skeleton, matrix), ancestor_pattern(problem.skeleton)
    found = open_pair_direction(pattern, problem.box, q, rows, descent)
    return descent.step.copy() if found else None


def test_pairs_are_found_if_and_only_if_there_are_any() -> None:
    """Of all pairs on a chain, inside their limits, with dofs that are held."""
    rng, count = np.random.default_rng(5), 0
    for _ in range(400):
        size = int(rng.integers(1, 5))
        matrix = rng.normal(size=(size, size))
        matrix = 0.3 * (matrix + matrix.T) + np.diag(rng.uniform(0.0, 1.0, size))
        scale = 10.0 ** rng.uniform(-2, 2, size)
        sides, active = rng.integers(-1, 2, size), (rng.random(size) < 0.25).astype(float)
        q = np.where(sides == 0, 0.5 * ROOM, np.where(sides > 0, 0.0, ROOM))
        expected = False
        for i, j in product(range(size), repeat=2):
            if active[i] == 0.0 and active[j] == 0.0:
                face = np.unique([i, j])
                expected |= falls_on_a_face(matrix[np.ix_(face, face)], sides[face])
        d = pair_of(matrix, q, active, scale)
        assert (d is not None) == expected
        if d is not None:
            count += 1
            assert d @ matrix @ d < 0.0 and (d * sides >= 0.0)[sides != 0].all()
            assert np.abs(d).max() == pytest.approx(1.0, rel=1e-14) and not d[active != 0.0].any()
    assert 100 < count < 300


@pytest.mark.parametrize("tilt", [0.01, 1.0, 100.0])
def test_a_pair_goes_by_the_ratio_of_its_curvatures(tilt: float) -> None:
    """(a c; c b) falls most along (√b, ∓√a), by 2(ab − |c|√(ab))."""
    matrix = np.array([[tilt, 1.5 * np.sqrt(tilt)], [1.5 * np.sqrt(tilt), 1.0]])
    d = pair_of(matrix, np.ones(2), np.zeros(2))
    assert d is not None
    np.testing.assert_allclose(d / d[1], [-1.0 / np.sqrt(tilt), 1.0], rtol=1e-4)


def test_what_has_no_coordinate_has_no_limit() -> None:
    """A quaternion turns any way."""
    figure = ik.Skeleton.build("ball", [ik.Bone("b", joint=ik.Joint.quaternion())])
    problem = ik.Problem(figure, ik.PositionGoal("b", (1, 0, 0), (1, 0, 0)))
    descent = blank_descent_state(figure)
    descent.lower[:], descent.upper[:] = 0.0, 0.0
    q = figure.neutral()
    assert is_open(problem.box, q, descent, 0, 1.0) and is_open(problem.box, q, descent, 2, -1.0)
