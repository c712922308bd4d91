"""Certificates of places next to stationary points, against Newton's method in dense numpy."""

from __future__ import annotations

import numpy as np
import pytest

import exactik as ik
from exactik.solvers import (
    MAX_POLISH,
    Iterate,
    View,
    _certificate,
    compute_flat_curvature,
    find_stationary_point,
)
from exactik.solvers import make_certificate as certify
from exactik.typing import Array
from tests.support.adversaries import random_chain
from tests.support.models import gantry
from tests.support.solver_problems import planar_chain


def saddle() -> ik.Problem:
    """Two links of ½ m, straight at a target that is nearer: the elbow wants to bend."""
    return ik.Problem(planar_chain(2), ik.MarkerGoal("HAND", (0.25, 0, 0)))


@pytest.mark.parametrize(("slope", "decided"), [(0.5e-9, True), (2e-9, False)])
def test_nothing_is_said_far_from_rest(
    monkeypatch: pytest.MonkeyPatch, slope: float, decided: bool
) -> None:
    """A relative gradient above 1e-9 that Newton's method cannot remove."""
    monkeypatch.setattr(
        _certificate,
        "find_stationary_point",
        lambda view, place: place._replace(projected_gradient=slope),
    )
    certificate = certify(saddle(), np.zeros(2))
    assert (certificate.saddle, certificate.decided) == (decided, decided)


@pytest.mark.parametrize(("light", "moves"), [(3e-7, True), (0.3e-7, False)])
def test_flat_directions_are_not_gone_along(light: float, moves: bool) -> None:
    """Three slides, whose eigenvalues are the weights: 1e-7 of the largest is the least."""
    goal = ik.MarkerGoal("HOOK", (0.5, 0.2, 0.4), weight=(1.0, 0.5, light))
    view = View(ik.Problem(gantry(), goal, limits="off"))
    best = np.array([0.5, 0.2, 0.5])  # the hook is 0.1 m below the hoist
    start = best + np.array([0.0, 0.0, 0.03])
    end = find_stationary_point(view, view.at(start)).q
    np.testing.assert_allclose(end, best if moves else start, atol=1e-9)


def newton_step(view: View, place: Iterate) -> tuple[Array, Iterate]:
    """One step of Newton's method on all dofs, and where it leads."""
    step = np.asarray(np.linalg.solve(view.problem.hessian(place.q), -place.gradient), float)
    return step, view.at(view.move(place.q, step))


@pytest.mark.full
def test_newtons_way_is_gone_as_long_as_it_is_short_and_helps() -> None:
    """Each step at most 0.05 rad, and at most half of the gradient left after it."""
    rng, seen = np.random.default_rng(1), {"short": 0, "long": 0, "worse": 0, "slow": 0}
    for _ in range(160):
        chain = random_chain(rng, int(rng.integers(2, 4)))
        view = View(chain.problem)
        rest = chain.roll(rng.uniform(-2, 2, chain.size))[1]
        start = view.at(rest + 10.0 ** rng.uniform(-2, -0.8) * rng.normal(size=chain.size))
        if start.cost < 1e-6:
            continue  # no residual left, where exact and flat are hard to tell
        values = np.abs(np.linalg.eigvalsh(chain.problem.hessian(start.q)))
        if values.min() < 1e-5 * values.max():
            continue
        step, following = newton_step(view, start)
        ratio, size = following.projected_gradient / start.projected_gradient, np.abs(step).max()
        end = find_stationary_point(view, start)
        if size > MAX_POLISH:
            seen["long"] += ratio < 0.5
            assert np.array_equal(end.q, start.q)
        elif ratio < 0.5:
            seen["short"] += 1
            seen["slow"] += ratio > 0.05
            assert end.projected_gradient <= following.projected_gradient * (1.0 + 1e-9) + 1e-12
        else:
            seen["worse"] += ratio < 5.0
            assert np.array_equal(end.q, start.q)
    assert min(seen.values()) >= 2, seen


def test_a_way_off_a_limit_is_not_turned_round() -> None:
    """The elbow leaves its limit however the gradient points that is left at the shoulder."""
    chain = planar_chain(2, [(-1, 1), (0, 2)])
    problem = ik.Problem(chain, ik.MarkerGoal("HAND", (0.25, 0, 0)))
    uphill = set()
    for turn in (1e-6, -1e-6):
        q = np.array([turn, 0.0])
        descent = certify(problem, q).descent
        assert descent is not None and descent[1] > 0.0
        uphill.add(bool(problem.gradient(q) @ descent > 0.0))
    assert uphill == {True, False}


@pytest.mark.parametrize("links", [2, 3, 5])
def test_levers_are_summed_along_the_chain(links: int) -> None:
    problem = ik.Problem(planar_chain(links), ik.MarkerGoal("HAND", (0.1, 0, 0)))
    nothing = View(problem).at(np.zeros(links))._replace(cost=0.0)
    assert compute_flat_curvature(problem, nothing) == pytest.approx(1e-11)


@pytest.mark.parametrize(
    ("root", "offset", "shift", "lever"),
    [
        (ik.Joint.revolute("z"), (0.0, 0.0, 0.0), 0.4, 0.4 + 0.3),  # what its function shifts
        (
            ik.Joint.revolute("z"),
            (0.5, 0.0, 0.0),
            -0.4,
            0.5 + 0.3,
        ),  # shortened to 0.1 m: offsets count
        (ik.Joint.custom(turns=[("z", None, "r")], shifts=[("x", 0.2)]), (0.0, 0.0, 0.0), 0.4, 0.7),
    ],
    ids=["length in a function", "length in the offset", "a root that is shifted"],
)
def test_levers_of_joints_with_functions(
    root: ik.Joint, offset: tuple[float, float, float], shift: float, lever: float
) -> None:
    sliding = ik.Joint.custom(turns=[("z", None, "f")], shifts=[("x", shift)])
    bones = [
        ik.Bone("root", joint=root),
        ik.Bone("knee", parent="root", offset=offset, joint=sliding),
    ]
    figure = ik.Skeleton.build("leg", bones, {"TOE": ("knee", (0.3, 0, 0))})
    problem = ik.Problem(figure, ik.MarkerGoal("TOE", (0.1, 0, 0)))
    nothing = View(problem).at(np.zeros(2))._replace(cost=0.0)
    assert compute_flat_curvature(problem, nothing) == pytest.approx(1e-11 * lever**2)


def test_what_has_no_weight_has_some_flatness() -> None:
    """So that comparisons with it can be made; nothing is a way down where nothing costs."""
    problem = ik.Problem(planar_chain(2), ik.MarkerGoal("HAND", (0.1, 0, 0), weight=0.0))
    assert compute_flat_curvature(problem, View(problem).at(np.zeros(2))) > 0.0
    certificate = certify(problem, np.zeros(2))
    assert certificate.decided and not certificate.saddle and certificate.rank == 0
