"""Bodies that must not touch: distances, pairs, derivatives, and what a result says of them."""

from __future__ import annotations

import numpy as np
import pytest

import exactik as ik
from exactik.errors import GoalError, UnknownNameError
from exactik.goals import Collisions
from exactik.lab.check.oracle import evaluate
from exactik.model.shapes import (
    Capsule,
    CollisionShape,
    Cuboid,
    HalfSpace,
    Sphere,
    find_segment_distances,
)
from exactik.spatial import exp_rotation
from exactik.typing import Array

HUMAN = ik.human()


def make_arms(*shapes: Capsule) -> ik.Skeleton:
    """Two arms of one hinge each, side by side, which turn about z."""
    bones = [
        ik.Bone("base"),
        ik.Bone("left", parent="base", offset=(0, 0.5, 0), joint=ik.Joint.revolute("z")),
        ik.Bone("right", parent="base", offset=(0, -0.5, 0), joint=ik.Joint.revolute("z")),
    ]
    return ik.Skeleton.build("arms", bones).with_shapes(shapes)


LEFT = Capsule("left", (0, 0, 0), (1, 0, 0), 0.1)
RIGHT = Capsule("right", (0, 0, 0), (1, 0, 0), 0.1)
ARMS = make_arms(LEFT, RIGHT)


def place_tips(left: float, right: float) -> dict[str, tuple[float, float, float]]:
    """Where the tips of both arms are when they are turned inwards so far [rad]."""
    return {
        "left": (float(np.cos(left)), 0.5 - float(np.sin(left)), 0.0),
        "right": (float(np.cos(right)), float(np.sin(right)) - 0.5, 0.0),
    }


def pull_tips(left: float, right: float, weight: float = 1.0) -> list[ik.Goal]:
    tips = place_tips(left, right)
    return [ik.PositionGoal(arm, tips[arm], (1, 0, 0), weight=weight) for arm in tips]


def draw_segments(rng: np.random.Generator, count: int) -> Array:
    """Random segments, some of them points, (n, 2, 3)."""
    start = rng.normal(scale=0.5, size=(count, 3))
    length = rng.choice([0.0, 0.1, 1.0], size=(count, 1))
    return np.stack([start, start + length * rng.normal(size=(count, 3))], axis=1)


def measure_gap(a: Capsule, b: CollisionShape) -> float:
    """The gap as the kernels see it, from the residual of a wide margin."""
    bones = [ik.Bone("base"), ik.Bone("a", parent="base", joint=ik.Joint.free())]
    figure = ik.Skeleton.build("free", bones).with_shapes([a, Sphere("base", (90, 0, 0), 0.1)])
    goal = Collisions(figure, [("a", "base")], margin=50.0, band=1e-6, obstacles=[b])
    row = ik.Problem(figure, goal).residual(figure.neutral())[3]
    return 50.0 + row - 0.5e-6  # of a violation beyond the band


def test_gaps_are_those_between_sampled_points() -> None:
    rng = np.random.default_rng(1)
    first, second = draw_segments(rng, 200), draw_segments(rng, 200)
    t = np.linspace(0.0, 1.0, 201)[:, None, None]
    a, b = ((1 - t) * s[:, 0] + t * s[:, 1] for s in (first, second))
    sampled = np.linalg.norm(a[:, None] - b[None], axis=-1).min(axis=(0, 1))
    gaps = find_segment_distances(first, second)
    assert (gaps <= sampled + 1e-12).all()
    assert np.abs(gaps - sampled).max() < 0.02
    for k in range(20):
        (a0, a1), (b0, b1) = first[k], second[k]
        shapes = Capsule("a", a0, a1, 0.02), Capsule(None, b0, b1, 0.01)
        assert measure_gap(*shapes) == pytest.approx(gaps[k] - 0.03, abs=1e-9)


def test_gaps_of_boxes_are_those_of_sampled_points_also_inside() -> None:
    rng = np.random.default_rng(3)
    t, inside = np.linspace(0.0, 1.0, 2001)[:, None], 0
    for start, end in draw_segments(rng, 60):
        R, center, size = (
            exp_rotation(rng.normal(size=3)),
            0.3 * rng.normal(size=3),
            2.0 * rng.random(3),
        )
        beyond = np.abs(((1 - t) * start + t * end - center) @ R) - 0.5 * size
        outside = np.linalg.norm(np.maximum(beyond, 0.0), axis=1)
        sampled = (outside + np.minimum(beyond.max(axis=1), 0.0)).min()
        shapes = Capsule("a", start, end, 0.02), Cuboid(None, center, size, R)
        gap = measure_gap(*shapes) + 0.02
        assert gap <= sampled + 1e-9
        assert gap == pytest.approx(sampled, abs=2e-3)
        inside += int(gap < 0.0)
    assert inside > 5


@pytest.mark.full
def test_gaps_are_those_of_coal() -> None:
    coal = pytest.importorskip("coal", reason="coal measures the same distances")
    rng, count = np.random.default_rng(2), 100_000
    ends, radii = [draw_segments(rng, count) for _ in range(2)], rng.uniform(0.01, 0.3, (2, count))
    ours = find_segment_distances(*ends) - radii.sum(axis=0)
    theirs = np.empty(count)
    request = coal.DistanceRequest()
    request.enable_signed_distance = True
    for k in range(count):
        shapes = []
        for (start, end), radius in zip((ends[0][k], ends[1][k]), radii[:, k], strict=True):
            length = float(np.linalg.norm(end - start))
            axis = (end - start) / length if length > 0.0 else np.array([0.0, 0.0, 1.0])
            x = np.cross(np.eye(3)[np.argmin(np.abs(axis))], axis)
            x /= np.linalg.norm(x)
            R = np.column_stack([x, np.cross(axis, x), axis])
            shape = coal.Capsule(radius, length) if length > 0.0 else coal.Sphere(radius)
            shapes += [shape, coal.Transform3s(R, 0.5 * (start + end))]
        theirs[k] = coal.distance(*shapes, request, coal.DistanceResult())
    assert (theirs < 0.0).sum() > 1000  # some of them overlap
    assert np.abs(ours - theirs).max() < 1e-9


@pytest.mark.parametrize("seed", range(4))
def test_derivatives_are_those_of_the_oracle(seed: int) -> None:
    """Of the whole human; `exactik check` has random trees and all joints."""
    rng = np.random.default_rng(seed)
    q = HUMAN.integrate(HUMAN.neutral(), rng.normal(size=HUMAN.nv))
    box = Cuboid(None, (0.1, 0.1, 1.0), (0.6, 0.9, 0.3), exp_rotation(rng.normal(size=3)))
    obstacles = [HalfSpace(None, through=(0, 0, 0.3)), Sphere(None, (0, 0, 0.5), 0.4), box]
    goal = Collisions(HUMAN, band=0.02 if seed % 2 == 0 else 1e-3, obstacles=obstacles)
    problem, truth = ik.Problem(HUMAN, goal), evaluate(HUMAN, [goal], q)
    cost, g, H = problem.evaluate(q)
    assert cost > 0.0
    for ours, theirs, bar in (
        (problem.residual(q), truth.residual, 1e-12),
        (g, truth.gradient, 1e-12),
        (problem.jacobian(q), truth.jacobian, 1e-11),
        (problem.gauss_newton(q), truth.gauss_newton, 1e-11),
        (H, truth.hessian, 1e-11),
    ):
        assert np.abs(ours - theirs).max() < bar * max(np.abs(theirs).max(), 1.0)


@pytest.mark.parametrize("second", [(0.3, 0.2), (0.0, 0.9)], ids=["crossed", "beside"])
def test_segments_that_cross_or_lie_side_by_side_have_finite_derivatives(
    second: tuple[float, float],
) -> None:
    start = (0.5, -second[0], 0.0)
    end = (0.5 + second[1], second[0] if second[1] < 0.5 else -second[0], 0.0)
    obstacle = Capsule(None, start, end, 0.1)
    figure = make_arms(Capsule("left", (0, -0.5, 0), (1, -0.5, 0), 0.1), RIGHT)
    problem = ik.Problem(figure, Collisions(figure, obstacles=[obstacle]))
    cost, g, H = problem.evaluate(np.zeros(2))
    assert cost > 0.0
    assert np.isfinite(g).all()
    assert np.isfinite(H).all()


def test_neighbours_what_touches_at_rest_and_what_the_file_lets_touch_are_left_out() -> None:
    assert [c.names for c in Collisions(ARMS).contacts] == [("left", "right")]
    wide = make_arms(LEFT, Capsule("right", (0, 0, 0), (1, 0, 0), 0.9))
    with pytest.raises(GoalError, match="no two shapes"):
        Collisions(wide)
    assert len(Collisions(wide, [("right", "left")]).contacts) == 1
    base = make_arms(LEFT, RIGHT, Sphere("base", (5, 0, 0), 0.1))
    assert [c.names for c in Collisions(base).contacts] == [("left", "right")]
    allowed = base.shapes._replace(left_out=frozenset({frozenset(("left", "right"))}))
    with pytest.raises(GoalError, match="no two shapes"):
        Collisions(base.with_shapes(allowed))
    floor = Collisions(base, obstacles=[HalfSpace(None)])
    assert [c.names for c in floor.contacts[1:]] == [
        ("left", "an obstacle"),
        ("right", "an obstacle"),
    ]


@pytest.mark.parametrize("solver", ["auto", "levenberg-marquardt", "bfgs", "newton-pcg"])
def test_arms_stop_before_each_other(solver: str) -> None:
    goals = pull_tips(0.6, 0.5)
    assert ik.solve(ARMS, goals).reached
    result = ik.solve(ARMS, [*goals, Collisions(ARMS)], solver=solver)
    assert result.converged
    assert result.status == "local-minimum"
    assert "held by left against right" in result.why
    assert set(result.contacts) == {("left", "right")}
    assert result.goal_errors["collisions"] < 0.005
    pose = ARMS.forward(result.q)
    ends = [pose.positions[k] + LEFT.ends @ pose.rotations[k].T for k in (1, 2)]
    gap = find_segment_distances(ends[0][None], ends[1][None])[0] - 0.2
    assert gap == pytest.approx(0.005 - result.contacts["left", "right"], abs=1e-9)


def test_a_result_says_which_pair_is_too_near() -> None:
    why = ik.solve(ARMS, [*pull_tips(0.6, 0.5, weight=1e4), Collisions(ARMS)]).why
    assert "left is " in why
    assert "nearer to right than it may be" in why


def test_a_hand_stays_above_the_floor() -> None:
    floor = Collisions(HUMAN, obstacles=[HalfSpace(None, through=(0, 0, 0))])
    goals = [ik.PositionGoal("l_hand", (0.3, 0.3, -0.3)), floor]
    result = ik.solve(HUMAN, goals)
    assert result.converged
    assert "held by l_" in result.why
    assert "against an obstacle" in result.why
    assert result.goal_errors["collisions"] < 0.005


def test_batches_sensitivities_and_certificates() -> None:
    start = np.zeros(2)
    goals = [*pull_tips(0.6, 0.5), Collisions(ARMS)]
    problem = ik.Problem(ARMS, goals)
    places = [place_tips(angle, 0.5)["left"] for angle in (0.1, 0.5, 0.8)]
    batch = ik.solve_batch(problem, {"left": places}, q0=start)
    for k, place in enumerate(places):
        alone = ik.solve(problem.with_targets({"left": place}), q0=start)
        assert np.allclose(batch.q[k], alone.q, atol=1e-5)
    tight = ik.Auto(tolerance=1e-13)
    result = ik.solve(problem, q0=start, solver=tight)
    assert len(result.contacts) == 1
    assert result.certificate.min_eigenvalue > 0.0
    slopes, step = result.sensitivity()["left"], 1e-6
    for axis in range(2):
        moved = np.array(place_tips(0.6, 0.5)["left"]) + step * np.eye(3)[axis]
        again = ik.solve(problem.with_targets({"left": moved}), q0=result.q, solver=tight)
        assert np.allclose((again.q - result.q) / step, slopes[:, axis], atol=1e-4)


def test_bodies_that_are_far_apart_change_no_bit() -> None:
    goals = [
        ik.PositionGoal("l_hand", (0.3, 0.5, 1.4)),
        ik.PositionGoal("r_hand", (0.3, -0.5, 1.2)),
    ]
    alone, with_bodies = ik.solve(HUMAN, goals), ik.solve(HUMAN, [*goals, Collisions(HUMAN)])
    assert len(with_bodies.contacts) == 0
    assert (alone.q == with_bodies.q).all()


def check_resolved(figure: ik.Skeleton, count: int, starts: int = 1) -> int:
    """Solve random poses that collide; return how many stay so, each with its pair named."""
    rng, apart, stuck = np.random.default_rng(0), Collisions(figure), 0
    bounded = np.isfinite(figure.lower) & np.isfinite(figure.upper)
    low, high = np.where(bounded, figure.lower, 0.0), np.where(bounded, figure.upper, 0.0)
    while count > 0:
        q = figure.clip(figure.integrate(figure.neutral(), rng.uniform(low, high)))
        if len(find_overlaps(apart, q)) == 0:
            continue
        count -= 1
        goals = [apart, ik.PostureGoal(q, weight=1e-3)]
        result = ik.solve(figure, goals, q0=q, starts=starts)
        overlaps = find_overlaps(apart, result.q)
        assert result.reached == (len(overlaps) == 0)
        if len(overlaps) > 0:
            stuck += 1
            worst = next(iter(result.contacts))
            assert worst in overlaps
            assert all(name in result.why for name in worst)
    return stuck


def find_overlaps(goal: Collisions, q: Array) -> set[tuple[str, str]]:
    """The pairs whose shapes overlap at q, by distances in NumPy."""
    pose, ends = goal.skeleton.forward(q), []
    for k in (0, 1):
        places = []
        for shapes in goal.contacts:
            shape = shapes[k]
            assert isinstance(shape, Capsule)
            bone = goal.skeleton.bone_index(shape.bone or "")
            places.append(pose.positions[bone] + shape.ends @ pose.rotations[bone].T)
        ends.append(np.array(places))
    gaps = find_segment_distances(ends[0], ends[1])
    return {
        shapes.names
        for shapes, gap in zip(goal.contacts, gaps, strict=True)
        if gap < sum(shape.radius for shape in shapes if isinstance(shape, Capsule))
    }


def test_colliding_poses_are_resolved_or_name_the_pair() -> None:
    assert check_resolved(HUMAN, 6) <= 3
    assert check_resolved(HUMAN, 6, starts=10) == 0


@pytest.mark.full
def test_colliding_poses_of_a_robot_are_resolved_or_name_the_pair() -> None:
    try:
        robot = ik.load_skeleton(ik.io.find_robot("unitree_g1"))
    except ik.ExactikError as error:
        pytest.skip(f"no robot: {error}")
    assert check_resolved(robot, 200) < 40
    assert check_resolved(robot, 100, starts=10) == 0


def test_misuse_is_refused_with_a_reason() -> None:
    with pytest.raises(GoalError, match="margin of goal 'collisions' is -1"):
        Collisions(ARMS, margin=-1)
    with pytest.raises(GoalError, match="band of goal 'collisions' is 0"):
        Collisions(ARMS, band=0)
    with pytest.raises(GoalError, match="expected 'auto' or pairs"):
        Collisions(ARMS, "all")
    with pytest.raises(GoalError, match="expected names of two bones"):
        Collisions(ARMS, [("left", "left")])
    with pytest.raises(UnknownNameError, match="no bone named 'lefd'; did you mean 'left'"):
        Collisions(ARMS, [("lefd", "right")])
    with pytest.raises(UnknownNameError, match="no bone with a shape named 'base'"):
        Collisions(ARMS, [("left", "base")])
    with pytest.raises(GoalError, match="expected a shape whose bone is None"):
        Collisions(ARMS, obstacles=[RIGHT])
    with pytest.raises(GoalError, match="must be one number"):
        Collisions(ARMS, weight=(1, 2, 3))


def test_it_shows_what_it_was_given_and_no_figure() -> None:
    goal = Collisions(ik.human(), obstacles=[Sphere(None, (0.0, 0.0, 0.0), 0.1)])
    assert repr(goal) == "Collisions(name='', pairs='auto', margin=0.005, band=0.001)"
    with pytest.raises(TypeError, match="positional"):
        Collisions(ik.human(), "auto", 0.005, (), "name", 100.0, None, 1e-3)  # type: ignore


@pytest.mark.parametrize("pair", [("head",), ("head", "head"), "ab", ("head", "pelvis", "l_hand")])
def test_a_pair_is_of_two_bones(pair: tuple[str, ...]) -> None:
    figure = ik.human()
    with pytest.raises(ik.ExactikError):
        ik.Problem(figure, Collisions(figure, pairs=[pair]))  # type: ignore


def test_bones_that_touch_whenever_the_body_bends_are_left_out():
    pairs = {frozenset(contact.names) for contact in ik.Collisions(ik.human()).contacts}
    assert not {frozenset(("pelvis", "upper_back")), frozenset(("lower_back", "thorax"))} & pairs
    kept = [("l_hand", "pelvis"), ("l_foot", "l_thigh"), ("l_shin", "r_shin"), ("head", "pelvis")]
    assert {frozenset(pair) for pair in kept} <= pairs
