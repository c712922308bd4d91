"""Limits of one side that are not the other's, reflected: found, told, and mended if asked."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import exactik as ik
from exactik.errors import UsageError
from exactik.lab.synthetic import simulate_performance
from exactik.retargeting import find_unmirrored_limits, mirror_limits
from tests.support.retargeting_figures import make_robot

LEFT, RIGHT = "left_upper_arm_{}_link", "right_upper_arm_{}_link"


def spoil(robot: ik.Skeleton, part: str) -> ik.Skeleton:
    """The robot with the limits of the left shoulder copied to the right, signs and all."""
    limits = robot.bones[robot.bone_index(LEFT.format(part))].joint.limits
    return robot.with_bones(
        [
            replace(b, joint=replace(b.joint, limits=limits)) if b.name == RIGHT.format(part) else b
            for b in robot.bones
        ]
    )


def test_a_robot_whose_sides_mirror_each_other_has_none():
    assert find_unmirrored_limits(make_robot()) == []


@pytest.mark.parametrize("part", ["roll", "yaw"])
def test_limits_that_were_copied_are_found_and_mended(part: str):
    robot = make_robot()
    spoilt = spoil(robot, part)
    (pair,) = find_unmirrored_limits(spoilt)
    assert pair.left.startswith(LEFT.format(part)) and pair.right.startswith(RIGHT.format(part))
    assert pair.sign == -1.0 and pair.left_limits == pair.right_limits
    mended = mirror_limits(spoilt, "left")
    assert find_unmirrored_limits(mended) == []
    assert np.allclose(mended.lower, robot.lower) and np.allclose(mended.upper, robot.upper)
    other = mirror_limits(spoilt, "right")
    assert find_unmirrored_limits(other) == [] and not np.allclose(other.lower, robot.lower)


def test_signs_are_those_of_poses_that_mirror_each_other():
    """A pose whose limits mirror puts both hands at each other's reflected places."""
    robot = mirror_limits(spoil(make_robot(), "roll"), "left")
    q = robot.neutral()
    for side, value in ((LEFT, robot.lower), (RIGHT, robot.upper)):
        dof = next(k for k, d in enumerate(robot.dof_names) if d.startswith(side.format("roll")))
        q[robot.plain_q[dof]] = value[dof]
    places = robot.forward(q)
    left, right = (places.point(f"{side}_hand_yaw_link") for side in ("left", "right"))
    assert np.allclose(left * [1.0, -1.0, 1.0], right, atol=1e-9)


def test_retarget_tells_of_them_and_takes_the_side_that_is_named():
    walk = simulate_performance(2.0, rate=30.0, acts=("walk",)).between(0.0, 0.3)
    spoilt = spoil(make_robot(), "roll")
    told = ik.retarget(walk, spoilt)
    assert any(LEFT.format("roll") in note and "mirror" in note for note in told.notes)
    mended = ik.retarget(walk, spoilt, mirror_limits="left")
    assert not any("mirror" in note for note in mended.notes)
    assert np.array_equal(mended.motion.q, ik.retarget(walk, make_robot()).motion.q)
    with pytest.raises(UsageError, match="expected 'left' or 'right'"):
        ik.retarget(walk, spoilt, mirror_limits="both")


@pytest.mark.slow
def test_the_humanoid_of_dm_control_lets_its_right_arm_hang(shared_data: Path):
    """Its file has the limits of the left shoulder at the right one."""
    robot = ik.load_skeleton(shared_data / "data/robots/mjcf/humanoid_CMU_V2020.xml")
    (pair,) = find_unmirrored_limits(robot)
    assert (pair.left, pair.right) == ("lhumerusrz.rz", "rhumerusrz.rz")
    walk = simulate_performance(2.0, rate=30.0, acts=("walk",))
    before, after = (ik.retarget(walk, robot, mirror_limits=side) for side in (None, "left"))
    assert before.hand_errors["right"].max() > 0.1 > 0.02 > after.hand_errors["right"].max()
