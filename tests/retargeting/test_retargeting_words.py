"""What a result says of itself: problems, notes and numbers, in words."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

import exactik as ik
from exactik.lab.synthetic import simulate_performance
from exactik.retargeting import (
    MAX_HINGE_SPEED,
    Retargeting,
    find_speed_limits,
    is_robot,
    retarget,
)
from tests.support.retargeting_figures import make_robot

ELBOW = "left_forearm_yaw_link.rz"


@pytest.fixture(scope="module")
def walked() -> Retargeting:
    """Two seconds of walking, taken over by a robot of hinges."""
    return retarget(simulate_performance(2.0, rate=30.0, acts=("walk",)), make_robot())


def with_dof(result: Retargeting, dof: str, values: np.ndarray) -> Retargeting:
    """Return the result with other values of a dof, (T,)."""
    q, skeleton = result.motion.q.copy(), result.motion.skeleton
    q[:, skeleton.plain_q[skeleton.dof_names.index(dof)]] = values
    return replace(result, motion=replace(result.motion, q=q))


def test_a_good_result_says_so(walked: Retargeting):
    assert walked.problems == ()
    text = str(walked)
    assert text.startswith("61 frames taken over at ")
    assert "; feet stand 8 times and slide by 0.00" in text
    assert text.endswith("no limit left, no jump.")
    assert walked.notes == ("the root 'pelvis', fixed in its file, moves freely",)


def test_a_result_without_contacts_says_so(walked: Retargeting):
    floating = replace(walked, contacts=(), remarks=("it is odd",), root_was_freed=False)
    assert floating.notes == ("it is odd", "no foot of the source stands anywhere")
    assert "feet stand 0 times; wrists" in str(floating)


def test_a_limit_that_is_left_is_told(walked: Retargeting):
    knee = "left_shin_pitch_link.ry"
    skeleton = walked.motion.skeleton
    upper = float(skeleton.upper[skeleton.dof_names.index(knee)])
    left = with_dof(walked, knee, np.full(len(walked.motion), upper + 0.25))
    assert left.limit_excess == pytest.approx(0.25)
    assert "limits are left by 0.25 rad or m" in left.problems


def test_of_many_jumps_three_are_named(walked: Retargeting):
    frames = np.arange(len(walked.motion))
    waist = with_dof(walked, "upper_back_yaw_link.rz", np.where(frames // 10 % 2 == 0, 0.0, 0.5))
    assert waist.jumps["trunk"] == (9, 19, 29, 39, 49, 59)
    jumps = [problem for problem in waist.problems if problem.startswith("the trunk jumps")]
    assert jumps == ["the trunk jumps at 0.30 s, 0.63 s, 0.97 s and 3 more"]


def test_the_fastest_hinge(walked: Retargeting):
    """Of joints with one dof alone: the free root moves faster here, and is none."""
    frames = np.arange(len(walked.motion))
    dof = "left_hand_yaw_link.rz"
    spun = with_dof(walked, dof, np.where(frames < 10, 0.0, 1.2))
    root = next(d for d in walked.motion.skeleton.dof_names if d.startswith("pelvis."))
    spun = with_dof(spun, root, np.where(frames < 20, 0.0, 9.0))
    fastest = spun.fastest_hinge
    assert (fastest.name, fastest.frame) == (dof, 9)
    assert fastest.speed == pytest.approx(36.0)
    assert fastest.limit == MAX_HINGE_SPEED and fastest.share == pytest.approx(1.2)
    assert spun.needs_look
    assert f"the hinge {dof} turns at 36 rad/s at 0.30 s, beyond 30" in spun.problems
    faster = with_dof(spun, "right_hand_yaw_link.rz", np.where(frames < 10, 0.0, 1.1))
    assert any(text.endswith("beyond 30, 1 more beyond theirs") for text in faster.problems)


def test_a_figure_without_motors_may_turn_as_fast_as_it_likes():
    """The human is no robot: its shoulders have three dofs."""
    human = ik.human()
    assert not is_robot(human) and np.isinf(find_speed_limits(human)).all()
    limits = find_speed_limits(make_robot())
    assert is_robot(make_robot()) and (limits == MAX_HINGE_SPEED).all()


def test_a_speed_that_the_file_of_a_robot_states_is_its_limit():
    robot = make_robot()
    robot = robot.with_max_speed({robot.dof_names[-1]: 12.0})
    limits = find_speed_limits(robot)
    assert limits[-1] == 12.0 and (limits[:-1] == MAX_HINGE_SPEED).all()


def test_why_a_wrist_is_off(walked: Retargeting):
    """An elbow that is held at 2.1 rad: every place could be reached."""
    off = with_dof(walked, ELBOW, np.full(len(walked.motion), -2.1))
    (problem,) = off.problems
    assert "beyond 2 % in 61 frames: the arm can reach these places one by one, but" in problem
    left = replace(off, hands_placed=False)
    assert left.problems[0].endswith("in 61 frames, for wrists were not placed")


def test_why_a_wrist_is_off_is_asked_of_fifty_frames(walked: Retargeting):
    """An elbow that cannot be straightened beyond 0.5 rad, where walking needs 0.3."""
    skeleton = walked.motion.skeleton
    stiff = skeleton.with_bones(
        [
            replace(bone, joint=ik.Joint.revolute("z", limits=(-2.1, -0.5)))
            if bone.name == "left_forearm_yaw_link"
            else bone
            for bone in skeleton.bones
        ]
    )
    off = with_dof(walked, ELBOW, np.full(len(walked.motion), -2.1))
    toes = skeleton.dof_names.index("left_toes_pitch_link.ry")  # at a limit, but no part of an arm
    bent = np.full(len(walked.motion), float(skeleton.upper[toes]))
    off = with_dof(off, "left_toes_pitch_link.ry", bent)
    anatomy = replace(walked.target_figure.anatomy, skeleton=stiff)
    off = replace(
        off,
        motion=replace(off.motion, skeleton=stiff),
        target_figure=replace(walked.target_figure, anatomy=anatomy),
    )
    (problem,) = off.problems
    assert re.search(r"in 61 frames: out of reach in \d\d of 50 of them, from 0\.00 s", problem)
    assert problem.endswith("inside the limits of the arm (left_forearm_yaw_link.rz at -29°)")
