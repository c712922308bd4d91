"""Any number of markers and directions on a bone: the same as one by one, however they lie."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from exactik import DirectionGoal, Goal, PositionGoal, Problem, human
from exactik.typing import Array
from tests.support.models import configuration
from tests.support.problems import assert_same, menagerie, quantities

FIGURE = menagerie()
Q = configuration(FIGURE, 4)
LINE = np.array([0.3, -0.5, 0.2])

# Local points of n markers.
CLOUDS: dict[str, Callable[[np.random.Generator, int], Array]] = {
    "general": lambda rng, n: rng.normal(scale=0.2, size=(n, 3)),
    "coincident": lambda rng, n: np.tile(rng.normal(scale=0.2, size=3), (n, 1)),
    "at the origin": lambda rng, n: np.zeros((n, 3)),
    "collinear": lambda rng, n: rng.normal(size=(n, 1)) * LINE + (0.1, 0.2, 0.3),
    "along x": lambda rng, n: rng.normal(size=(n, 1)) * np.array([0.2, 0.0, 0.0]),
    "along z": lambda rng, n: rng.normal(size=(n, 1)) * np.array([0.0, 0.0, 0.2]),
    "coplanar": lambda rng, n: rng.normal(size=(n, 2)) @ np.array([LINE, (0.1, 0.0, 0.7)]),
    "on a tiny patch": lambda rng, n: LINE + rng.normal(scale=1e-7, size=(n, 3)),
    "far from the bone": lambda rng, n: 30.0 * LINE + rng.normal(scale=0.1, size=(n, 3)),
}
COUNTS = [1, 2, 3, 4, 7, 200]


def markers(shape: str, count: int, bone: str = "ball", noise: float = 0.3) -> list[Goal]:
    """Position goals with weights of their own around where the points are."""
    rng = np.random.default_rng([count, len(shape)])
    points = CLOUDS[shape](rng, count)
    pose = FIGURE.forward(Q)
    return [
        PositionGoal(
            bone,
            pose.point(bone, point) + rng.normal(scale=noise, size=3),
            point,
            weight=float(rng.uniform(0.1, 2.0)),
        )
        for point in points
    ]


def directions(count: int, bone: str = "ball") -> list[Goal]:
    rng = np.random.default_rng(count)
    axes, targets = rng.normal(size=(2, count, 3))
    return [
        DirectionGoal(bone, a, t, weight=float(rng.uniform(0.1, 2.0)))
        for a, t in zip(axes, targets, strict=True)
    ]


def one_by_one(goals: list[Goal]) -> dict[str, Array]:
    """The sum over problems with one goal each."""
    alone = [quantities(Problem(FIGURE, [goal]), Q) for goal in goals]
    return {name: np.sum([a[name] for a in alone], axis=0) for name in alone[0]}


def dense(goals: list[Goal]) -> dict[str, Array]:
    """The same by way of J, which has no clouds."""
    weight = Problem(FIGURE, goals).packed.weight
    return quantities(Problem(FIGURE, goals, weight_matrix=weight), Q)


def check(goals: list[Goal], tolerance: float = 1e-13) -> None:
    actual = quantities(Problem(FIGURE, goals), Q)
    assert_same(actual, one_by_one(goals), tolerance)
    if len(goals) < 30:  # large dense matrices take seconds on a busy machine
        assert_same(actual, dense(goals), tolerance)


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("shape", CLOUDS)
def test_markers_on_a_bone_count_one_by_one(shape: str, count: int):
    check(markers(shape, count), 1e-12 if shape == "far from the bone" else 1e-13)


@pytest.mark.parametrize("count", COUNTS)
def test_directions_on_a_bone_count_one_by_one(count: int):
    check(directions(count))


def test_markers_and_directions_may_share_bones_in_any_order():
    goals = [
        *markers("general", 5, "hinge"),
        *directions(3, "ball"),
        *markers("collinear", 4, "ball"),
        *directions(2, "hinge"),
        *markers("general", 1, "root"),
        *markers("coincident", 3, "quat"),
    ]
    check(goals)
    shuffled = [goals[i] for i in np.random.default_rng(1).permutation(len(goals))]
    expected = quantities(Problem(FIGURE, goals), Q)
    assert_same(quantities(Problem(FIGURE, shuffled), Q), expected, 1e-13)


@pytest.mark.parametrize("order", ["light first", "heavy first", "mixed"])
def test_weights_over_twelve_orders_of_magnitude_may_be_mixed(order: str):
    """Also the light ones count: their share is there after the heavy ones are taken away."""
    rng = np.random.default_rng(2)
    weights = 10.0 ** np.linspace(-6, 6, 40)
    weights = {"light first": weights, "heavy first": weights[::-1]}.get(
        order, rng.permutation(weights)
    )
    pose = FIGURE.forward(Q)
    goals: list[Goal] = []
    for w in weights:
        point = rng.normal(scale=0.2, size=3)
        target = pose.point("ball", point) + rng.normal(scale=0.3, size=3)
        goals.append(PositionGoal("ball", target, point, weight=float(w)))
        goals.append(DirectionGoal("ball", rng.normal(size=3), rng.normal(size=3), weight=float(w)))
    check(goals)


def test_light_markers_keep_their_digits_beside_heavy_ones():
    """A heavy marker that is met, and light ones that are not: the cost is the light ones' own."""
    rng = np.random.default_rng(6)
    pose = FIGURE.forward(Q)
    heavy_point = rng.normal(scale=0.2, size=3)
    heavy = PositionGoal("ball", pose.point("ball", heavy_point), heavy_point, weight=1e6)
    light = [
        PositionGoal("ball", pose.point("ball", p) + 0.1 * LINE, p, weight=1e-6)
        for p in rng.normal(scale=0.2, size=(9, 3))
    ]
    expected = 0.5e-6 * 9 * float(LINE @ LINE) * 0.01
    assert Problem(FIGURE, [*light, heavy]).cost(Q) == pytest.approx(expected, rel=1e-6)
    assert Problem(FIGURE, [heavy, *light]).cost(Q) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("shape", [name for name in CLOUDS if name != "far from the bone"])
def test_the_cost_at_a_solution_is_nothing_but_the_rounding_of_places(shape: str, count: int):
    """Below 1e-28 m², where sums of moments would leave 1e-16."""
    problem = Problem(FIGURE, markers(shape, count, noise=0.0))
    assert problem.cost(Q) <= 1e-28
    assert np.abs(problem.gradient(Q)).max() <= 1e-15 * (10 + count)


def test_a_human_that_meets_its_markers_has_no_cost():
    q = np.random.default_rng(1).uniform(-0.7, 0.7, size=58)
    places = human().forward(q).markers
    goals = [
        PositionGoal(*human().marker(name)[:1], place, human().marker(name)[1])
        for name, place in zip(human().markers, places, strict=True)
    ]
    assert Problem(human(), goals).cost(q) <= 1e-28


@pytest.mark.parametrize("size", [1e-3, 1e-6, 1e-9])
def test_small_residuals_have_an_accurate_cost(size: float):
    """Its relative error is that of the residuals, about 1e-16 m over their size."""
    shift = size * LINE / np.linalg.norm(LINE)
    pose = FIGURE.forward(Q)
    points = np.random.default_rng(3).normal(scale=0.2, size=(200, 3))
    goals = [PositionGoal("ball", pose.point("ball", p) + shift, p) for p in points]
    expected = 0.5 * 200 * size**2
    assert Problem(FIGURE, goals).cost(Q) == pytest.approx(expected, rel=1e-15 / size + 1e-14)


def test_markers_that_no_pose_can_meet_have_a_floor_under_their_cost():
    """Targets farther apart than the markers: the best pose leaves exactly what cannot be met."""
    here = FIGURE.forward(Q).point("ball")
    apart = np.array([0.0, 0.1, 0.0])
    goals = [PositionGoal("ball", here + s * apart) for s in (1.0, -1.0)]
    problem = Problem(FIGURE, goals)
    assert problem.cost(Q) == pytest.approx(0.01, rel=1e-14)
    assert np.abs(problem.gradient(Q)).max() <= 1e-15


@pytest.mark.parametrize("tiny", [1e-100, 1e-170, 5e-324])
def test_offsets_too_small_to_square_do_no_harm(tiny: float):
    """Their squares vanish, and nothing is divided by them."""
    figure = human()
    q = figure.neutral()
    twins = [PositionGoal("head", (0, 0, 1)), PositionGoal("head", (0, 0, 1), point=(tiny, 0, 0))]
    one = Problem(figure, [PositionGoal("head", (0, 0, 1), weight=2.0)])
    two = Problem(figure, twins)
    assert two.cost(q) == pytest.approx(one.cost(q), rel=1e-14)
    np.testing.assert_allclose(two.hessian(q), one.hessian(q), atol=1e-13)
