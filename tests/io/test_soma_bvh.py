"""BVH of the SOMA skeleton, as BONES-SEED has it: read, measured and taken over."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import exactik as ik
from exactik.lab.synthetic import simulate_performance
from tests.support.retargeting_figures import make_robot
from tests.support.soma import to_soma


def test_soma_is_read_in_its_unit_and_taken_over(tmp_path: Path):
    """Its zero pose is no figure: the unit is told by the pose in which it stands best."""
    walk = simulate_performance(2.0, rate=30.0, acts=("walk",))
    path = tmp_path / "walk.bvh"
    to_soma(walk).save(path, length_unit="cm")
    with pytest.warns(ik.FileWarning, match="cm is taken"):
        read = ik.load_motion(path, length_unit="auto")
    pose, own = read.forward(), walk.forward()
    for bone, ours in (("Chest", "thorax"), ("LeftHand", "l_hand"), ("RightFoot", "r_foot")):
        assert np.allclose(pose.point(bone)[:, [2, 0, 1]], own.point(ours), atol=1e-4)
    robot = make_robot()
    taken, ours = (ik.retarget(motion, robot) for motion in (read, walk))
    assert not taken.needs_look and taken.scale == pytest.approx(ours.scale, rel=0.01)
    hands = [one.motion.forward().point("left_hand_yaw_link") for one in (taken, ours)]
    assert np.abs(hands[0] - hands[1]).max() < 0.03  # its rest pose is a frame of the walk
