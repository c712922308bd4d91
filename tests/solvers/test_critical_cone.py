"""Second-order conditions on the critical cone, against its faces one by one and sampling."""

from __future__ import annotations

import re
from itertools import product

import numpy as np
import pytest

import exactik as ik
from exactik.solvers import (
    Iterate,
    View,
    compute_flat_curvature,
    compute_goal_errors,
    find_active_dofs,
    find_descent_in_cone,
    make_certificate,
)
from exactik.typing import Array, IntArray
from tests.support.models import gantry
from tests.support.solver_problems import planar_chain

FLAT = 1e-6
# Copositive, but neither positive semi-definite nor a sum of such a matrix and a non-negative one.
HORN = np.array(
    [[1, -1, 1, 1, -1], [-1, 1, -1, 1, 1], [1, -1, 1, -1, 1], [1, 1, -1, 1, -1], [-1, 1, 1, -1, 1]]
).astype(float)


def falls_on_a_face(H: Array, sides: IntArray) -> bool:
    """Whether an eigenvector of a face, inside of that face, has an eigenvalue below −FLAT."""
    bounded, other = np.flatnonzero(sides), np.flatnonzero(sides == 0)
    for chosen in product((False, True), repeat=len(bounded)):
        face = np.append(other, bounded[list(chosen)]).astype(int)
        values, vectors = np.linalg.eigh(H[np.ix_(face, face)])
        for sense in (1.0, -1.0):
            inside = (sense * vectors * sides[face][:, None] > 0.0)[sides[face] != 0].all(axis=0)
            if (inside & (values < -FLAT)).any():
                return True
    return False


def test_a_way_down_is_found_if_and_only_if_there_is_one() -> None:
    rng, found = np.random.default_rng(0), 0
    for _ in range(400):
        size = int(rng.integers(1, 7))
        J, shift = rng.normal(size=(size, size)), rng.uniform(0.0, 3.0)
        H, sides = J @ J.T - shift * np.eye(size), rng.integers(-1, 2, size)
        answer = find_descent_in_cone(H, sides, FLAT)
        assert answer.decided and (answer.direction is not None) == falls_on_a_face(H, sides)
        if answer.direction is None:
            d = rng.normal(size=(2000, size))
            d = np.where(sides == 0, d, sides * np.abs(d))
            assert (np.einsum("bi,ij,bj->b", d, H, d) >= -2 * FLAT * (d * d).sum(axis=1)).all()
        else:
            d, found = answer.direction, found + 1
            assert d @ H @ d < -FLAT and np.linalg.norm(d) == pytest.approx(1.0)
            assert (d * sides >= 0.0)[sides != 0].all()
    assert 100 < found < 350


@pytest.mark.parametrize(("curvature", "falls"), [(-2e-6, True), (-0.5e-6, False)])
@pytest.mark.parametrize("side", [-1, 0, 1])
def test_what_is_flat_is_no_way_down(curvature: float, falls: bool, side: int) -> None:
    H = np.diag([curvature, 1.0])
    answer = find_descent_in_cone(H, np.array([side, 0]), FLAT)
    assert (answer.direction is not None) == falls and answer.decided


@pytest.mark.parametrize(("size", "decided"), [(5, True), (12, True), (13, False), (20, False)])
def test_many_touched_limits_leave_it_undecided(size: int, decided: bool) -> None:
    """Up to twelve every face is looked at; dofs that change nothing do not count."""
    H = np.eye(size)
    H[:5, :5] = HORN
    unfelt = np.zeros((size + 30, size + 30))
    unfelt[:size, :size] = H
    answer = find_descent_in_cone(unfelt, np.ones(size + 30, np.int64), FLAT)
    assert answer.direction is None and answer.decided == decided


@pytest.mark.parametrize("members", [1, 2, 3, 7, 20])
def test_ways_down_among_many_touched_limits(members: int) -> None:
    """One direction of some of thirty dofs; all smaller sets of them go up."""
    H = 2.0 * np.eye(30)
    d = np.zeros(30)
    d[:members] = 1.0 / np.sqrt(members)
    H -= 2.1 * np.outer(d, d)
    H[-1, -2] = H[-2, -1] = -1.0  # neither positive semi-definite nor non-negative elsewhere
    order = np.random.default_rng(1).permutation(30)
    answer = find_descent_in_cone(H[np.ix_(order, order)], np.ones(30, np.int64), FLAT)
    assert answer.direction is not None
    np.testing.assert_allclose(answer.direction, d[order], atol=1e-6)


# --- certificates


def straight_arm(target: float) -> ik.Problem:
    """Two links of ½ m, both hinges from 0 to 2 rad, and a target on the line of the links.

    Stretched, H = (t ½t; ½t ½(t − ½)): between ½ and 1 m it falls only where one hinge passes its
    limit, below ½ m the elbow alone bends down.
    """
    chain = planar_chain(2, [(0, 2), (0, 2)])
    return ik.Problem(chain, ik.MarkerGoal("HAND", (target, 0, 0)))


@pytest.mark.parametrize("solver", ["newton", "levenberg-marquardt", "gauss-newton", "bfgs"])
def test_a_limit_touched_without_push_may_be_left(solver: str) -> None:
    result = ik.solve(straight_arm(0.25), q0=(0, 0), solver=solver)
    assert result.status == "saddle" and result.q.tolist() == [0.0, 0.0]
    assert result.certificate.descent is not None and result.certificate.descent[1] > 0.5
    result = ik.solve(straight_arm(0.75), q0=(0, 0), solver=solver)
    assert result.status == "local-minimum" and result.certificate.min_eigenvalue < -0.01


@pytest.mark.parametrize("target", [0.1, 0.25, 0.45])
def test_auto_leaves_a_limit_touched_without_push(target: float) -> None:
    """The shoulder cannot turn back, so that it may end at another limit, but never stays."""
    result = ik.solve(straight_arm(target), q0=(0, 0))
    assert result.q[1] > 0.1 and result.cost < 0.9 * straight_arm(target).cost((0, 0))


@pytest.mark.parametrize("inside", [1e-15, 1e-12, 1e-10, 1e-8, 1e-4])
def test_next_to_limits_it_is_judged_on_them(inside: float) -> None:
    """There is a minimum on the limits, although the curvature is negative inside of them."""
    certificate = make_certificate(straight_arm(0.75), np.full(2, inside))
    assert not certificate.saddle and certificate.decided
    assert make_certificate(straight_arm(0.25), np.full(2, inside)).saddle


@pytest.mark.parametrize(("away", "decided"), [(0.03, True), (0.3, False)])
def test_a_saddle_is_claimed_only_near_by(away: float, decided: bool) -> None:
    """Newton's way to the stationary point must be short, or nothing is said."""
    problem = ik.Problem(planar_chain(2), ik.MarkerGoal("HAND", (0.25, 0, 0)))
    certificate = make_certificate(problem, np.array([away, 0.0]))
    assert (certificate.saddle, certificate.decided) == (decided, decided)


def test_what_is_not_certain_is_not_said() -> None:
    """A method that stops at once has found nothing, and the verdict says that."""
    problem = ik.Problem(planar_chain(2), ik.MarkerGoal("HAND", (0.25, 0, 0)))
    result = ik.solve(problem, q0=(0.3, 0.0), solver=ik.Newton(tolerance=0.9))
    assert result.status == "stationary" and result.converged
    assert result.why == (
        "converged, HAND is 0.765 m short, but whether to a minimum or a saddle is not certain; "
        "a better pose elsewhere is not excluded, try starts="
    )


def test_what_counts_as_flat() -> None:
    """1e-11 of weight · lever², 1e-9 of the cost, and ten times the gradient that is left."""
    near = ik.Problem(planar_chain(2), ik.MarkerGoal("HAND", (0.25, 0, 0), weight=2.0))
    place = View(near).at(np.zeros(2))
    assert compute_flat_curvature(near, place) == pytest.approx(1e-9 * place.cost)
    reached = place._replace(cost=0.0)
    assert compute_flat_curvature(near, reached) == pytest.approx(1e-11 * 2.0)
    assert compute_flat_curvature(near, reached, 1e-5) == pytest.approx(10 * 1e-5 * 2.0)
    # The residual counts by its lever: √(2 · 8 · 2) = 5.66 beside 2.
    far = place._replace(cost=8.0)
    assert compute_flat_curvature(near, far, 1e-5) == pytest.approx(1e-4 * (2.0 + np.sqrt(32.0)))


@pytest.mark.parametrize(
    ("push", "slope", "held"),
    [(2e-9, 0.0, True), (0.5e-9, 0.0, False), (2e-6, 1e-7, True), (0.5e-6, 1e-7, False)],
)
def test_what_counts_as_a_push(push: float, slope: float, held: bool) -> None:
    """1e-9 of the scale of the dof, or ten times the gradient that is left."""
    problem = straight_arm(0.75)
    place = Iterate(
        q=np.zeros(2),
        cost=0.5,
        gradient=np.array([3.0 * push, 0.0]),
        active=np.array([True, False]),
        projected_gradient=slope,
        scale=np.array([3.0, 3.0]),
    )
    assert find_active_dofs(problem, place).tolist() == [held, False]


@pytest.mark.parametrize(("light", "rank"), [(3e-8, 3), (3e-9, 2)])
def test_rank_counts_what_is_above_a_hundred_millionth(light: float, rank: int) -> None:
    """Three slides: the eigenvalues of H are the weights."""
    goal = ik.MarkerGoal("HOOK", (0.5, 0.2, 9.0), weight=(1.0, 0.5, light))
    free = ik.Problem(gantry(), goal, limits="off")
    assert make_certificate(free, np.zeros(3)).rank == rank


@pytest.mark.parametrize(("beyond", "status"), [(5e-4, "local-minimum"), (5e-3, "at-limits")])
def test_limits_are_named_where_they_are_pushed_against(beyond: float, status: str) -> None:
    """By more than a thousandth: here by `beyond` beside a direction that is missed by √2."""
    slide = ik.Bone("slide", joint=ik.Joint.prismatic("x", limits=(-1, 0)))
    goals = [
        ik.PositionGoal("slide", (beyond, 0, 0), tolerance=0.1),
        ik.DirectionGoal("slide", axis=(0, 0, 1), target=(1, 0, 0), name="up"),
    ]
    assert ik.solve(ik.Skeleton.build("slide", [slide]), goals).status == status


def test_two_limits_are_named_and_the_others_counted() -> None:
    """Four slides, all at limits, and a direction that cannot be met."""
    bones = [
        ik.Bone(f"s{k}", parent=None if k == 0 else f"s{k - 1}", joint=joint)
        for k, joint in enumerate([ik.Joint.prismatic("x", limits=(-1, 0.1)) for _ in range(4)])
    ]
    goals = [
        ik.PositionGoal("s3", (0.9, 0, 0), tolerance=0.8),
        ik.DirectionGoal("s3", axis=(0, 0, 1), target=(1, 0, 0), name="up"),
    ]
    result = ik.solve(ik.Skeleton.build("slides", bones), goals)
    assert re.fullmatch(
        r"converged, but up is 90° off: s\d\.\w+ is at its upper limit, s\d\.\w+ is at its upper "
        r"limit and so are 2 more dofs at theirs, which stops it here; a better pose elsewhere .*",
        result.why,
    )


@pytest.mark.parametrize(
    ("goals", "lever"),
    [
        ([ik.MarkerGoal("HAND", (0.1, 0, 0))], 1.0),
        ([ik.PositionGoal("b1", (0.1, 0, 0), point=(0.1, 0, 0))], 0.6),
        ([ik.PositionGoal("b1", (0.1, 0, 0)), ik.PostureGoal((0, 0))], 1.0),
        ([ik.DirectionGoal("b1", axis=(1, 0, 0), target=(0, 1, 0))], 1.0),
    ],
    ids=["marker", "point", "posture", "direction"],
)
def test_levers(goals: list[ik.Goal], lever: float) -> None:
    """From the root to the point; 1 where a goal is an angle."""
    problem = ik.Problem(planar_chain(2), goals)
    nothing = View(problem).at(np.zeros(2))._replace(cost=0.0)
    assert compute_flat_curvature(problem, nothing) == pytest.approx(1e-11 * lever**2)


def test_shifts_have_a_lever_of_one_metre() -> None:
    slide = ik.Skeleton.build("slide", [ik.Bone("s", joint=ik.Joint.prismatic("x"))])
    problem = ik.Problem(slide, ik.PositionGoal("s", (0.1, 0, 0), point=(0.2, 0, 0)))
    nothing = View(problem).at(np.zeros(1))._replace(cost=0.0)
    assert compute_flat_curvature(problem, nothing) == pytest.approx(1e-11)


def test_the_way_down_goes_with_the_gradient() -> None:
    """Where a method stopped next to a saddle, and no limit says which way."""
    problem = ik.Problem(planar_chain(2), ik.MarkerGoal("HAND", (0.25, 0, 0)))
    for side in (1.0, -1.0):
        q = np.array([0.0, side * 1e-3])
        certificate = make_certificate(problem, q)
        assert certificate.descent is not None
        assert certificate.descent @ problem.gradient(q) < 0.0
        touched = make_certificate(straight_arm(0.25), np.array([0.0, 1e-12]))
        assert touched.descent is not None and touched.descent[1] > 0.0


def test_a_range_of_nothing_is_no_way_down() -> None:
    """The elbow would bend, but both of its limits are where it is."""
    chain = planar_chain(2, [(-1, 1), (0, 0)])
    result = ik.solve(chain, ik.MarkerGoal("HAND", (0.25, 0, 0)), solver="newton")
    assert result.status in ("local-minimum", "at-limits") and result.certificate.size == 1


# --- weights without full rank


@pytest.mark.parametrize(("third", "counts"), [(2e-12, True), (0.5e-12, False)])
def test_only_what_has_weight_is_missed(third: float, counts: bool) -> None:
    """A weight of 1, 1 and `third` in turned axes; missed by 3 mm along the third."""
    rng = np.random.default_rng(2)
    axes = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    weight = axes @ np.diag([1.0, 1.0, third]) @ axes.T
    weight = 0.5 * (weight + weight.T)
    place = np.asarray(planar_chain(2).forward((0.3, 0.5)).markers[0])
    for problem in (
        ik.Problem(
            planar_chain(2), ik.MarkerGoal("HAND", place + 3e-3 * axes[:, 2], weight=weight)
        ),
        ik.Problem(
            planar_chain(2),
            ik.MarkerGoal("HAND", place + 3e-3 * axes[:, 2]),
            weight_matrix=weight,
        ),
    ):
        (miss,) = compute_goal_errors(problem, np.array([0.3, 0.5]))
        assert miss == pytest.approx(3e-3 if counts else 0.0, abs=1e-12)


def test_directions_without_weight_do_not_count() -> None:
    """Two of three axes of a frame: the third row of a direction is left out in turned axes."""
    axes = np.linalg.qr(np.random.default_rng(3).normal(size=(3, 3)))[0]
    weight = axes[:, :1] @ axes[:, :1].T
    figure = planar_chain(2)
    target = np.asarray(figure.forward((0.3, 0.5)).rotations[1] @ (1.0, 0.0, 0.0))
    goal = ik.DirectionGoal("b1", axis=(1, 0, 0), target=target, weight=weight)
    problem = ik.Problem(figure, goal)
    q = np.array([0.9, 0.5])
    across = float(axes[:, 0] @ (target - figure.forward(q).rotations[1] @ (1.0, 0.0, 0.0)))
    (miss,) = compute_goal_errors(problem, q)
    assert miss == pytest.approx(2.0 * np.arcsin(0.5 * abs(across)), rel=1e-9)
    assert ik.solve(problem, q0=q).reached
