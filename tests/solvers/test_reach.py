"""What is out of reach: bounds against brute force, and when a verdict may claim it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import exactik as ik
from exactik.model.functions import Linear
from exactik.solvers import bound_reach, compute_goal_errors
from exactik.spatial import exp_rotation
from exactik.typing import Array
from tests.support.models import planar_arm
from tests.support.solver_problems import planar_chain

Rng = np.random.Generator
FAR = (0.0, 5.0, 0.0)


def rotation(rng: Rng) -> Array:
    return exp_rotation(rng.normal(size=3))


def unit(rng: Rng) -> Array:
    vector = rng.normal(size=3)
    return vector / np.linalg.norm(vector)


def two_links(rng: Rng, joint: ik.Joint) -> ik.Problem:
    """A ball, a link, a joint between constant rotations, and another link."""
    bones = [
        ik.Bone("first", joint=ik.Joint.quaternion()),
        ik.Bone(
            "second",
            parent="first",
            offset=rng.normal(size=3),
            pre=rotation(rng),
            joint=joint,
            post=rotation(rng),
        ),
    ]
    figure = ik.Skeleton.build("two links", bones, {"TIP": ("second", rng.normal(size=3))})
    return ik.Problem(figure, ik.MarkerGoal("TIP", FAR))


def distances(problem: ik.Problem, values: Array | None) -> Array:
    """How far the tip is from the root where the last dof, if it is one, has these values."""
    q = np.tile(problem.skeleton.neutral(), (1 if values is None else len(values), 1))
    if values is not None:
        q[:, -1] = values
    return np.linalg.norm(problem.skeleton.forward(q).markers[:, 0], axis=1)


def radius_of(problem: ik.Problem, q: Array | None = None) -> float:
    bone, point = problem.skeleton.marker("TIP")
    at = problem.skeleton.neutral() if q is None else q
    return bound_reach(problem, bone, np.asarray(point, float), at).radius


@pytest.mark.parametrize("shift", [-8.0, 0.0, 8.0])
def test_two_links_and_a_hinge_reach_as_far_as_the_best_angle_in_its_range(shift: float) -> None:
    """Any axis, any range, also far from 0 and wider than a turn; slack only for the grid."""
    rng, inside = np.random.default_rng(1), 0
    for _ in range(15):
        low = shift + rng.uniform(-4.0, 4.0)
        high = low + rng.uniform(0.1, 7.0)
        problem = two_links(rng, ik.Joint.revolute(unit(rng), limits=(low, high)))
        best = distances(problem, np.linspace(low, high, 241)).max()
        assert best - 1e-12 <= radius_of(problem) <= best + 1e-3
        ends = distances(problem, np.array([low, high])).max()
        inside += bool(best > ends + 1e-9)
    assert 2 < inside < 13


@pytest.mark.parametrize("limits", [(-np.inf, np.inf), (0.3, np.inf), (-np.inf, 0.3)])
def test_a_hinge_open_to_one_side_turns_all_the_way(limits: tuple[float, float]) -> None:
    rng = np.random.default_rng(2)
    for _ in range(10):
        problem = two_links(rng, ik.Joint.revolute(unit(rng), limits=limits))
        best = distances(problem, np.linspace(0.0, 2.0 * np.pi, 241)).max()
        assert best - 1e-12 <= radius_of(problem) <= best + 1e-3


def test_a_locked_hinge_and_a_fixed_joint_are_rigid() -> None:
    rng = np.random.default_rng(3)
    for _ in range(10):
        fixed = two_links(rng, ik.Joint.fixed())
        assert radius_of(fixed) == pytest.approx(distances(fixed, None)[0], rel=1e-12)
        hinge = two_links(rng, ik.Joint.revolute(unit(rng)))
        q = hinge.skeleton.neutral()
        q[-1] = rng.uniform(-3.0, 3.0)
        locked = ik.Problem(hinge.skeleton, hinge.goals, lock="second")
        assert radius_of(locked, q) == pytest.approx(distances(hinge, q[-1:])[0], rel=1e-12)


def test_a_slide_adds_its_longest_throw() -> None:
    rng = np.random.default_rng(4)
    for low, high in ((-0.3, 0.2), (0.1, 0.4), (-0.5, -0.1)):
        problem = two_links(rng, ik.Joint.prismatic(unit(rng), limits=(low, high)))
        rigid = distances(problem, np.zeros(1))[0]
        assert radius_of(problem) == pytest.approx(rigid + max(abs(low), abs(high)))
        q = problem.skeleton.neutral()
        q[-1] = 0.5 * (low + high)
        locked = ik.Problem(problem.skeleton, problem.goals, lock="second")
        assert radius_of(locked, q) == pytest.approx(rigid + abs(q[-1]))
    assert radius_of(two_links(rng, ik.Joint.prismatic("x"))) == np.inf


def test_no_pose_of_a_longer_chain_is_outside_its_ball() -> None:
    """The ball is about the first joint that can move, wherever that is; one below is tight."""
    rng = np.random.default_rng(5)
    for seed in range(20):
        kinds = [ik.Joint.revolute(unit(rng), limits=(-1.0, 0.5)) for _ in range(4)]
        kinds[seed % 4] = (ik.Joint.quaternion(), ik.Joint.fixed(), kinds[0])[seed % 3]
        bones = [
            ik.Bone(
                f"b{k}",
                parent=f"b{k - 1}" if k > 0 else None,
                offset=rng.normal(size=3),
                joint=joint,
            )
            for k, joint in enumerate(kinds)
        ]
        figure = ik.Skeleton.build("chain", bones, {"TIP": ("b3", rng.normal(size=3))})
        lock = "b0" if seed % 2 else ()
        problem = ik.Problem(figure, ik.MarkerGoal("TIP", FAR), lock=lock)
        q = figure.neutral()
        reach = bound_reach(problem, "b3", np.asarray(figure.marker("TIP")[1], float), q)
        coordinates = np.tile(q, (100, 1))
        for j in figure.plain_q[(figure.plain_q >= 0) & ~problem.locked]:
            coordinates[:, j] = rng.uniform(-1.0, 0.5, 100)
        tips = figure.forward(coordinates).markers[:, 0]
        farthest = np.linalg.norm(tips - reach.centre, axis=1).max()
        assert reach.moves and 0.3 * reach.radius < farthest <= reach.radius * (1.0 + 1e-12)


def test_shifts_by_functions_have_no_bound() -> None:
    """Of a joint's own coordinate, or of a slide that follows another dof."""
    custom = ik.Joint.custom(turns=[("z", None, "f")], shifts=[("x", 0.4)])
    slide = ik.Joint.prismatic("x", limits=(-0.1, 0.1))
    for joint, couplings, radius in (
        (custom, [], np.inf),
        (slide, [ik.Coupling("b.tx", "a.rz", Linear(0.2))], np.inf),
        (slide, [], 0.5 + 0.3 + 0.1),
    ):
        bones = [
            ik.Bone("a", joint=ik.Joint.revolute("z")),
            ik.Bone("b", parent="a", offset=(0.5, 0, 0), joint=joint),
        ]
        figure = ik.Skeleton.build("sliding", bones, {"TIP": ("b", (0.3, 0, 0))}, couplings)
        assert radius_of(ik.Problem(figure, ik.MarkerGoal("TIP", FAR))) == pytest.approx(radius)


def test_a_hinge_that_follows_another_is_not_bound_by_the_limits_of_the_next() -> None:
    """Straight where the first is at 0.5 rad; the last one moves a little only."""
    joints = [ik.Joint.revolute("z", limits=pair) for pair in ((-1, 1), (-9, 9), (0, 0.1))]
    bones = [
        ik.Bone(
            name,
            parent=parent,
            offset=(0.0 if parent is None else 0.5, 0, 0),
            pre=exp_rotation(np.array([0.0, 0.0, -1.5])) if name == "b" else None,
            joint=joint,
        )
        for name, parent, joint in zip("abc", (None, "a", "b"), joints, strict=True)
    ]
    coupling = ik.Coupling("b.rz", "a.rz", Linear(3.0))
    figure = ik.Skeleton.build("following", bones, {"TIP": ("c", (0.3, 0, 0))}, [coupling])
    problem = ik.Problem(figure, ik.MarkerGoal("TIP", FAR))
    straight = float(np.linalg.norm(figure.forward([0.5, 0.0]).markers[0]))
    assert straight == pytest.approx(1.3) and radius_of(problem) >= straight - 1e-12


def test_what_nothing_moves_stays() -> None:
    problem = ik.Problem(planar_arm(), ik.MarkerGoal("HAND", FAR), lock="*")
    reach = bound_reach(problem, "lower", np.array([0.3, 0.0, 0.0]), np.array([0.2, 0.3]))
    place = problem.skeleton.forward([0.2, 0.3]).markers[0]
    assert not reach.moves and reach.radius == 0.0
    np.testing.assert_allclose(reach.centre, place, atol=1e-15)


# --- when it may be claimed


def test_unfinished_and_out_of_reach() -> None:
    """What needs no convergence is said of what stalled, not of what ran out of iterations."""
    problem = ik.Problem(planar_arm(), ik.MarkerGoal("HAND", FAR))
    stopped = ik.solve(problem, solver=ik.Auto(max_iterations=0), q0=(1.0, 0.5))
    assert stopped.status == "iteration-limit"
    stalled = replace(stopped, ended="stalled")
    assert stalled.status == "out-of-reach"
    assert "; stalled before the nearest pose, relative projected gradient" in stalled.why


def judge(figure: ik.Skeleton, goals: list[ik.Goal], weight: Array | None = None) -> str:
    return ik.solve(ik.Problem(figure, goals, weight_matrix=weight)).status


def test_what_has_no_weight_in_some_direction_is_never_out_of_reach() -> None:
    """By rows or by rank; another goal keeps it from being reached."""
    elsewhere = ik.PositionGoal("lower", (0.0, 0.4, 0.0))
    assert judge(planar_arm(), [ik.MarkerGoal("HAND", FAR), elsewhere]) == "out-of-reach"
    rows = ik.MarkerGoal("HAND", (0.4, 0.2, 5.0), weight=(1, 1, 0))
    assert judge(planar_arm(), [rows, elsewhere]) == "local-minimum"
    n = np.array([0.6, 0.0, 0.8])
    flat = ik.MarkerGoal("HAND", (4.0, 0.2, -3.0), weight=np.outer(n, n) + np.diag([0, 1, 0]))
    assert judge(planar_arm(), [flat, elsewhere]) == "local-minimum"


@pytest.mark.parametrize(("share", "status"), [(0.3e-9, "out-of-reach"), (3e-9, "local-minimum")])
def test_a_billionth_without_weight_is_rounding(share: float, status: str) -> None:
    """One direction has none, and it is of the second goal but for √share of two rows."""
    n = np.array([np.sqrt(share), np.sqrt(share), 0.0, 0.0, 0.0, 1.0])
    n /= np.linalg.norm(n)
    goals: list[ik.Goal] = [ik.MarkerGoal("HAND", FAR), ik.PositionGoal("lower", (0.0, 0.4, 0.0))]
    assert judge(planar_arm(), goals, np.eye(6) - np.outer(n, n)) == status


@pytest.mark.parametrize(("gradient", "converged"), [(0.5e-8, True), (2e-8, False)])
def test_a_gradient_of_a_hundred_millionth_counts_as_none(gradient: float, converged: bool) -> None:
    """Whatever tolerance the method aimed at; a looser one counts, too."""
    result = ik.solve(planar_arm(), ik.MarkerGoal("HAND", (0.5, 0.2, 0)))
    stalled = replace(result, ended="stalled", projected_gradient=gradient, tolerance=1e-12)
    assert stalled.converged == converged
    assert replace(stalled, tolerance=1e-3).converged
    assert replace(stalled, ended="converged").converged


# --- misses where weights have no full rank


def test_large_misses_are_measured_by_what_they_are() -> None:
    """A place by its distance, a rotation vector by its length, an axis by its angle."""
    figure, q = planar_chain(2), np.array([0.4, 0.9])
    pose = figure.forward(q)
    turned = exp_rotation(np.array([0.0, 0.0, 1.0])) @ pose.rotations[1]
    a = pose.rotations[1] @ (1.0, 0.0, 0.0)
    about = np.array([[0.5, 0.5, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])
    axis = exp_rotation(np.array([0.0, 0.0, 1.2])) @ a
    cases: list[tuple[ik.Goal, float]] = [
        (ik.MarkerGoal("HAND", pose.markers[0] + (0.8, 0.6, 0), weight=about), 1.4 / np.sqrt(2)),
        (ik.OrientationGoal("b1", turned, kind="log", weight=about), 1.0),
        (
            ik.DirectionGoal("b1", axis=(1, 0, 0), target=axis, weight=about),
            2.0 * np.arcsin(0.5 * abs((axis - a)[:2].sum()) / np.sqrt(2)),
        ),
    ]
    for goal, expected in cases:
        (miss,) = compute_goal_errors(ik.Problem(figure, goal), q)
        assert miss == pytest.approx(expected, rel=1e-9)


def mimicking_fingers(*middle: ik.Bone, tip_parent: str) -> ik.Skeleton:
    """A finger that turns, and one beside it, not below it, that turns with it."""
    finger = ik.Joint.revolute("z")
    bones = [
        ik.Bone("palm"),
        ik.Bone("left", parent="palm", joint=finger),
        ik.Bone("left_tip", parent="left", offset=(1.0, 0.0, 0.0)),
        ik.Bone("right", parent="palm", offset=(0.0, 2.0, 0.0), joint=finger),
        *middle,
        ik.Bone("right_tip", parent=tip_parent, offset=(0.5, 0.0, 0.0)),
    ]
    return ik.Skeleton.build("fingers", bones, couplings=[ik.Coupling("right.rz", "left.rz")])


@pytest.mark.parametrize("has_joint_of_its_own", [False, True])
def test_a_finger_that_follows_another_one_can_be_moved(has_joint_of_its_own: bool) -> None:
    """Its goal is within reach, only not together with that of the finger that it follows."""
    middle = ik.Bone("middle", parent="right", offset=(1, 0, 0), joint=ik.Joint.revolute("z"))
    figure = (
        mimicking_fingers(middle, tip_parent="middle")
        if has_joint_of_its_own
        else mimicking_fingers(tip_parent="right")
    )
    reachable = figure.forward(np.full(figure.nq, 0.5 * np.pi)).point("right_tip")
    alone = ik.solve(figure, [ik.PositionGoal("right_tip", reachable)], starts=8)
    assert alone.reached
    goals = [ik.PositionGoal("left_tip", (1, 0, 0)), ik.PositionGoal("right_tip", reachable)]
    assert ik.solve(figure, goals).status == "local-minimum"
    held = ik.solve(figure, ik.PositionGoal("right_tip", reachable), lock=figure.dof_names)
    assert held.status == "out-of-reach" and held.why.endswith("no free dof moves it")


@pytest.mark.parametrize(
    ("goal", "off"),
    [
        (ik.OrientationGoal("base", wxyz=(0, 1, 0, 0)), "180°"),
        (ik.DirectionGoal("base", (1, 0, 0), (0, 1, 0)), "90°"),
        (ik.AimGoal("base", (1, 0, 0), (0, 1, 0)), "90°"),
    ],
)
def test_a_direction_of_a_bone_that_nothing_turns_is_out_of_reach(goal: ik.Goal, off: str) -> None:
    bones = [ik.Bone("base"), ik.Bone("arm", parent="base", joint=ik.Joint.revolute("z"))]
    result = ik.solve(ik.Skeleton.build("arm", bones), [goal])
    assert result.status == "out-of-reach"
    assert f"is {off} off, and no free dof moves it" in result.why


def random_joint(rng: Rng) -> ik.Joint:
    axis, range_ = unit(rng), np.sort(rng.uniform(-1.5, 1.5, (3, 2)), axis=1)
    return (
        ik.Joint.fixed(),
        ik.Joint.revolute(axis),
        ik.Joint.revolute(axis, limits=range_[0]),
        ik.Joint.prismatic(axis, limits=0.3 * range_[0]),
        ik.Joint.euler("XYZ", limits=range_),
        ik.Joint.quaternion(),
        ik.Joint.swing_twist("x"),
        ik.Joint.screw(axis, pitch=0.2, limits=range_[0]),
    )[rng.choice([0, 0, 0, 0, *range(1, 8)])]


def random_figure(rng: Rng) -> ik.Skeleton:
    """A small tree of any joints; often a dof follows another one, wherever that is."""
    bones = [
        ik.Bone(
            f"b{k}",
            parent=f"b{rng.integers(k)}" if k > 0 else None,
            offset=0.4 * rng.normal(size=3),
            joint=random_joint(rng),
        )
        for k in range(rng.integers(2, 7))
    ]
    plain = ik.Skeleton.build("free", bones)
    dofs = [name for name, q in zip(plain.dof_names, plain.plain_q, strict=True) if q >= 0]
    if len(dofs) < 2 or rng.random() < 0.3:
        return plain
    driven, driver = rng.choice(len(dofs), 2, replace=False)
    if "swing" in dofs[driven] + dofs[driver] or "twist" in dofs[driven] + dofs[driver]:
        return plain  # of a ball, which cannot be driven
    coupling = ik.Coupling(dofs[driven], dofs[driver], Linear(rng.uniform(-2, 2)))
    return ik.Skeleton.build("coupled", bones, couplings=[coupling])


@pytest.mark.parametrize("seed", range(8))
def test_what_a_pose_reaches_is_never_said_to_be_out_of_reach(seed: int) -> None:
    """Places and directions of a random pose, asked for with a goal that spoils them."""
    rng = np.random.default_rng(seed)
    for _ in range(25):
        figure = random_figure(rng)
        low, high = np.maximum(figure.lower, -3.0), np.minimum(figure.upper, 3.0)
        there, start = (
            figure.clip(figure.integrate(figure.neutral(), step))
            for step in rng.uniform(low, high, (2, figure.nv))
        )
        pose, name = figure.forward(there), str(rng.choice(figure.bone_names))
        if len(figure.couplings) > 0 and rng.random() < 0.8:
            name = figure.couplings[0].driven.partition(".")[0]
        k, point = figure.bone_index(name), 0.3 * rng.normal(size=3)
        along = pose.rotations[k] @ (1.0, 0.0, 0.0)
        goals: list[ik.Goal] = [
            ik.PositionGoal(name, pose.point(name, point), point, name="place"),
            ik.OrientationGoal(name, pose.rotations[k], name="orientation"),
            ik.DirectionGoal(name, (1, 0, 0), along, name="direction"),
            ik.AimGoal(name, (1, 0, 0), pose.positions[k] + 2.0 * along, name="aim"),
        ]
        spoiler = ik.PositionGoal(figure.bone_names[-1], rng.normal(size=3), name="spoiler")
        result = ik.solve(figure, [goals[rng.integers(4)], spoiler], q0=start)
        if result.status == "out-of-reach":
            assert result.why.startswith("out of reach: spoiler"), result.why
