"""Servo: inside limits, speeds and accelerations at every step; no freeze, no lurch."""

from __future__ import annotations

import numpy as np
import pytest

import exactik as ik
from exactik.errors import UnknownNameError, UsageError

DT = 0.01
SPEED = 1.5
FORE, HAND = (-2.4, 2.4), (-2.0, 2.0)  # rad
ROUNDING = 1e-12  # rad/s


def make_arm(limit: float = 2.5) -> ik.Skeleton:
    """Three hinges about y and one about z; 0.9 m."""
    bones = [
        ik.Bone("base", joint=ik.Joint.revolute("z", limits=(-limit, limit))),
        ik.Bone("upper", parent="base", joint=ik.Joint.revolute("y", limits=(-limit, limit))),
        ik.Bone(
            "fore", parent="upper", offset=(0.4, 0, 0), joint=ik.Joint.revolute("y", (-2.4, 2.4))
        ),
        ik.Bone("hand", parent="fore", offset=(0.4, 0, 0), joint=ik.Joint.revolute("y", (-2, 2))),
    ]
    return ik.Skeleton.build("arm", bones)


def make_problem(arm: ik.Skeleton | None = None) -> ik.Problem:
    """The tip of the hand to a place."""
    goal = ik.PositionGoal("hand", (0.5, 0.2, 0.3), point=(0.1, 0, 0), name="tip")
    return ik.Problem(make_arm() if arm is None else arm, goal)


def test_no_step_leaves_limits_speeds_or_accelerations(subtests: pytest.Subtests) -> None:
    rng = np.random.default_rng(3)
    for k in range(20):
        with subtests.test(str(k)):
            arm = make_arm(limit=rng.uniform(0.2, 2.5))
            most = rng.uniform(1.0, 40.0) if k % 4 > 0 else np.inf
            servo = ik.Servo(make_problem(arm), DT, max_speed=SPEED, max_acceleration=most)
            q, v = servo.q, np.zeros(arm.nv)
            for n in range(300):
                targets = {"tip": rng.uniform(-1, 1, 3)} if n % 25 == 0 else None
                following = servo.step(targets)
                speed = (following - q) / DT
                assert (following >= arm.lower).all()
                assert (following <= arm.upper).all()
                assert np.abs(speed).max() <= SPEED + ROUNDING
                assert np.abs(speed - v).max() <= most * DT + 1e-9
                q, v = following, speed
            assert np.array_equal(servo.q, q)


def test_a_joint_brakes_no_earlier_than_it_must() -> None:
    arm = ik.Skeleton.build("one", [ik.Bone("a", joint=ik.Joint.revolute("z", limits=(-1, 1)))])
    goal = ik.PositionGoal("a", (0, 1, 0), point=(1, 0, 0))
    servo = ik.Servo(ik.Problem(arm, goal), DT, max_speed=3.0, max_acceleration=10.0)
    path = np.array([servo.step()[0] for _ in range(200)])
    # At full acceleration halfway and full braking after: 2 √(1/10) s, and at most two steps more.
    assert np.flatnonzero(path >= 1.0 - 1e-9)[0] + 1 <= 2 * np.sqrt(0.1) / DT + 2
    assert path.max() <= 1.0


def test_the_end_is_that_of_a_solve() -> None:
    problem = make_problem()
    servo = ik.Servo(problem, DT, max_speed=SPEED)
    for _ in range(400):
        servo.step()
    assert servo.reached
    assert "reached" in servo.why
    best = ik.solve(problem)
    assert servo.cost <= best.cost + 1e-12


def test_steps_are_exact_where_the_speed_allows() -> None:
    servo = ik.Servo(make_problem(), DT, max_speed=10.0)
    for _ in range(200):
        servo.step()
    for n in range(200):
        target = (0.5 + 0.05 * np.sin(0.02 * n), 0.2, 0.3)
        q = servo.step({"tip": target})
        pose = servo.problem.skeleton.forward(q)
        tip = pose.positions[-1] + pose.rotations[-1] @ (0.1, 0, 0)
        assert np.linalg.norm(tip - target) < 1e-5  # what a step costs holds it back
        assert np.abs(servo.speed).max() <= 10.0 + ROUNDING


def test_a_start_outside_the_limits_comes_back_at_full_speed_and_says_so() -> None:
    arm = make_arm(limit=0.5)
    servo = ik.Servo(make_problem(arm), DT, q0=[1.0, -0.9, 0.3, 0.1], max_speed=SPEED)
    for n in range(1, 34):
        q = servo.step()
        assert q[0] == pytest.approx(1.0 - n * SPEED * DT, abs=1e-12)
        assert set(servo.outside) >= {"base.rz"}
        assert servo.outside["base.rz"] == pytest.approx(q[0] - 0.5)
        assert "coming back inside the limits of base.rz" in servo.why
    for _ in range(5):
        servo.step()
    assert servo.outside == {}
    assert "coming back" not in servo.why


def test_a_stretched_arm_does_not_freeze() -> None:
    # Stretched along x with the target on the same line, nearer: the gradient of all hinges is 0.
    arm = make_arm()
    goal = ik.PositionGoal("hand", (0.6, 0, 0), point=(0.1, 0, 0), name="tip")
    servo = ik.Servo(ik.Problem(arm, goal), DT, q0=np.zeros(4), max_speed=SPEED)
    for _ in range(300):
        servo.step()
    assert servo.reached


def test_through_full_stretch_and_back_it_keeps_to_the_way_it_can_follow() -> None:
    # The elbow bends both ways, one way but a little: that way it could not follow.
    hinge = ik.Joint.revolute
    bones = [
        ik.Bone("upper", joint=hinge("y", (-2, 2))),
        ik.Bone("fore", parent="upper", offset=(0.4, 0, 0), joint=hinge("y", (-0.1, 2.6))),
        ik.Bone("tip", parent="fore", offset=(0.4, 0, 0)),
    ]
    arm = ik.Skeleton.build("arm", bones)
    goal = ik.PositionGoal("tip", (0.5, 0, 0))
    servo = ik.Servo(ik.Problem(arm, goal), DT, q0=[-0.8, 1.6], max_speed=SPEED)
    for n in range(1500):
        servo.step({"tip": (0.6 + 0.3 * np.sin(0.01 * n), 0.0, 0.0)})
        assert np.abs(servo.speed).max() <= SPEED + ROUNDING
    for _ in range(300):
        servo.step({"tip": (0.4, 0.0, 0.0)})
    assert servo.reached
    assert servo.q[1] > 1.0


def test_at_rest_nothing_moves() -> None:
    servo = ik.Servo(make_problem(), DT, max_speed=SPEED)
    for _ in range(1000):
        servo.step()
    q = servo.q.copy()
    assert np.abs(servo.step() - q).max() < 1e-9


def test_turns_of_quaternions_keep_their_speed() -> None:
    body = ik.Skeleton.build("body", [ik.Bone("root", joint=ik.Joint.free())])
    target = np.eye(4)
    target[:3, :3], target[:3, 3] = [[0, -1, 0], [1, 0, 0], [0, 0, 1]], (1, 0, 0)
    servo = ik.Servo(ik.Problem(body, ik.PoseGoal("root", target)), DT, max_speed=SPEED)
    q, n = servo.q, 0
    while not servo.reached and n < 200:
        following = servo.step()
        step = body.difference(following, q)
        assert np.abs(step).max() <= SPEED * DT + ROUNDING
        q, n = following, n + 1
    # A quarter turn takes longer than a metre.
    assert n == int(np.ceil((np.pi / 2 - 1e-2) / (SPEED * DT)))


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_of_two_ways_out_it_takes_the_one_to_the_middle_of_the_limits(side: float) -> None:
    """A stretched arm, pulled back along itself: its elbow bends to where it has more room."""
    limits = (-0.5, 2.5) if side > 0.0 else (-2.5, 0.5)
    bones = [
        ik.Bone("upper", joint=ik.Joint.revolute("z")),
        ik.Bone(
            "fore", parent="upper", offset=(1, 0, 0), joint=ik.Joint.revolute("z", limits=limits)
        ),
    ]
    goal = ik.PositionGoal("fore", (1.2, 0, 0), point=(1, 0, 0))
    servo = ik.Servo(ik.Problem(ik.Skeleton.build("arm", bones), goal), DT, max_speed=SPEED)
    for _ in range(200):
        servo.step()
    assert servo.reached and servo.q[1] == pytest.approx(side * 2.0 * np.arccos(0.6), abs=1e-3)


def test_the_cost_is_that_of_the_goals_alone() -> None:
    servo = ik.Servo(make_problem(), 0.1, max_speed=SPEED, damping=1e-2)
    for _ in range(3):
        q = servo.step({"tip": (-0.6, -0.3, -0.4)})
        assert servo.cost == pytest.approx(servo.problem.cost(q), rel=1e-6)


def test_what_moves_less_readily_takes_less_of_a_step() -> None:
    """And a joint with one limit has no middle to be drawn to."""
    moved = []
    for strength in (1.0, 0.1):
        hinge, half = ik.Joint.revolute("z"), ik.Joint.revolute("z", limits=(-1.0, np.inf))
        bones = [ik.Bone("a", joint=half), ik.Bone("b", parent="a", offset=(1, 0, 0), joint=hinge)]
        goal = ik.PositionGoal("b", (1.2, 1.2, 0), point=(1, 0, 0))
        problem = ik.Problem(ik.Skeleton.build("arm", bones), goal, strength={"a": strength})
        servo = ik.Servo(problem, 0.1, max_speed=1e3, damping=1.0)
        moved.append(abs(servo.step()[0]))
        assert np.isfinite(servo.cost)
    assert moved[1] < 0.3 * moved[0]


def test_all_that_are_at_full_speed_are_counted() -> None:
    servo = ik.Servo(make_problem(), DT, max_speed=0.2)
    servo.step({"tip": (-0.6, -0.3, -0.4)})
    assert servo.at_max_speed == servo.problem.skeleton.dof_names
    assert "base.rz, upper.ry, fore.ry and 1 more at full speed" in servo.why


def test_full_speed_is_named() -> None:
    servo = ik.Servo(make_problem(), DT, max_speed={"base": 0.1, "*": 3.0, "base.rz": 0.1})
    servo.step({"tip": (-0.5, 0.5, 0.1)})
    assert "base.rz" in servo.at_max_speed
    assert "at full speed" in servo.why
    assert "tip is" in servo.why


def test_speeds_of_the_skeleton_are_taken() -> None:
    arm = make_arm()
    arm = arm.with_max_speed({"base.rz": 0.5})
    servo = ik.Servo(make_problem(arm), DT)
    assert servo.max_speed.tolist() == [0.5, np.inf, np.inf, np.inf]
    assert ik.Servo(make_problem(arm), DT, max_speed={"hand": 2.0}).max_speed[3] == 2.0
    assert ik.Servo(make_problem(arm), DT, max_speed={"hand": 2.0}).max_speed[0] == 0.5


def test_misuse_is_answered() -> None:
    problem = make_problem()
    with pytest.raises(UsageError, match="no speed of 'arm' is known; give max_speed="):
        ik.Servo(problem, DT)
    with pytest.raises(UsageError, match="dt is 0"):
        ik.Servo(problem, 0, max_speed=1.0)
    with pytest.raises(UsageError, match=r"max_speed of base\.rz must be above zero"):
        ik.Servo(problem, DT, max_speed=0.0)
    with pytest.raises(UsageError, match=r"max_speed has shape \(3,\); expected a number, \(4,\)"):
        ik.Servo(problem, DT, max_speed=[1, 2, 3])
    for damping in (-1.0, np.inf, "little"):
        with pytest.raises(UsageError, match="damping is"):
            ik.Servo(problem, DT, max_speed=1.0, damping=damping)  # type: ignore[arg-type]
    for method in ("bfgs", ik.Auto(max_seconds=1.0)):
        with pytest.raises(UsageError, match="in compiled code alone"):
            ik.Servo(problem, DT, max_speed=1.0, solver=method)
    with pytest.raises(UnknownNameError):
        ik.Servo(problem, DT, max_speed={"elbow": 1.0})
    with pytest.raises(UsageError, match="needs a Problem"):
        ik.Servo(make_arm(), DT)  # type: ignore[arg-type]


def test_bounds_that_hold_do_not_slow_a_step() -> None:
    """What a step costs goes by the goals that pull, not by the firm ones that keep off."""
    arm, ends = make_arm(), []
    for weight in (0.0, 1e4):
        off = ik.DistanceGoal("hand", "base", at_least=0.01, weight=weight)
        wall = ik.DistanceGoal("hand", None, at_most=9.0, weight=weight)
        goals = [*make_problem(arm).goals, off, wall]
        servo = ik.Servo(ik.Problem(arm, goals), DT, max_speed=SPEED)
        ends.append([servo.step() for _ in range(60)])
    np.testing.assert_allclose(ends[1], ends[0], rtol=0.0, atol=1e-12)
