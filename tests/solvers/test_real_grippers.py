"""Real grippers, hands and a foot whose joints follow others, solved beside MuJoCo.

The models are not here: tests/support/real_robots.py says where they are looked for. MuJoCo reads
the same files; it gets our q, and its own polynomials move the joints that follow others.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytest

import exactik as ik
from exactik.errors import FileWarning
from exactik.typing import Array
from tests.support.real_robots import Judge, driven_coordinates, find_robot
from tests.support.robot_files import largest_error

# Repository, file, joints that follow others, closed loops, which test_real_loops is about.
ROBOTS = {
    "schunk-svh": ("dex-urdf", "robots/hands/schunk_hand/schunk_svh_hand_right.urdf", 11, 0),
    "inspire": ("dex-urdf", "robots/hands/inspire_hand/inspire_hand_right.urdf", 6, 0),
    "ability": ("dex-urdf", "robots/hands/ability_hand/ability_hand_right.urdf", 4, 0),
    "xarm6": ("pybullet_data", "xarm/xarm6_with_gripper.urdf", 5, 0),
    "tiago": ("example-robot-data", "robots/tiago_pro_description/robots/tiago_pro.urdf", 10, 0),
    "robotiq": ("mujoco_menagerie", "robotiq_2f85/2f85.xml", 1, 2),
    "aero": ("mujoco_menagerie", "tetheria_aero_hand_open/right_hand.xml", 5, 0),
    "stretch": ("mujoco_menagerie", "hello_robot_stretch/stretch.xml", 5, 0),
    "softfoot": ("mujoco_menagerie", "iit_softfoot/softfoot.xml", 45, 5),
    "arm": ("mujoco_menagerie", "ms_human_700/MS-Human-700-Manipulation.xml", 14, 0),
}
SLOW = ("softfoot", "arm")  # MuJoCo takes seconds to read them
NAMES = [pytest.param(name, marks=pytest.mark.slow if name in SLOW else ()) for name in ROBOTS]
PLACE = 1e-9  # m, and of the entries of a rotation
RATIO = 1e-12  # rad or m


class Robot:
    """One of the robots, ours and MuJoCo's."""

    def __init__(self, name: str):
        repository, path, count, loops = ROBOTS[name]
        self.path = find_robot(repository, path)
        looped = ik.load_skeleton(self.path)
        self.skeleton, self.judge = looped.opened, Judge(self.path)
        assert len(looped.loops) == loops
        assert len(self.skeleton.couplings) == len(self.judge.equalities) == count
        parents = {bone.parent for bone in self.skeleton.bones}
        self.tips = [bone.name for bone in self.skeleton.bones if bone.name not in parents]

    def random_pose(self, rng: np.random.Generator) -> Array:
        """Coordinates within the limits, up to half a turn or half a metre where there are none."""
        span = np.where(self.skeleton.turns, np.pi, 0.5)
        low, high = np.maximum(self.skeleton.lower, -span), np.minimum(self.skeleton.upper, span)
        return rng.uniform(low, high)

    def assert_same(self, poses: Iterable[Array]) -> None:
        """MuJoCo has the same poses and, at its ratios, the same joints that follow others."""
        for q in poses:
            assert largest_error(self.skeleton, q, self.judge.pose(q)) < PLACE
            driven = driven_coordinates(self.skeleton, q)
            assert len(driven) == len(self.skeleton.couplings)
            for bone, value in driven.items():
                assert abs(value - self.judge.following_joint(bone)) < RATIO


@pytest.mark.parametrize("name", NAMES)
def test_goals_are_reached_where_mujoco_has_the_tips(name: str):
    robot, rng = Robot(name), np.random.default_rng(1)
    for _ in range(3):
        places = robot.judge.pose(robot.random_pose(rng))
        goals = [ik.PositionGoal(tip, places[tip].position, tolerance=1e-6) for tip in robot.tips]
        result = ik.solve(robot.skeleton, goals, starts=32)
        assert result.reached, result.why
        robot.assert_same([result.q])
        reached = robot.judge.pose(result.q)
        for tip in robot.tips:
            assert np.abs(reached[tip].position - places[tip].position).max() < 1e-6


@pytest.mark.parametrize("name", NAMES)
def test_ratios_and_limits_hold_on_the_way_to_what_cannot_be_reached(name: str):
    robot, rng = Robot(name), np.random.default_rng(2)
    model, skeleton = robot.judge.model, robot.skeleton
    goals = [ik.PositionGoal(tip, rng.normal(scale=2.0, size=3)) for tip in robot.tips]
    problem, q0 = ik.Problem(skeleton, goals), robot.random_pose(rng)
    on_the_way = [
        ik.solve(problem, q0=q0, solver=ik.Newton(max_iterations=count)).q for count in range(1, 30)
    ]
    robot.assert_same(on_the_way)
    for q in on_the_way:
        assert (q >= skeleton.lower).all() and (q <= skeleton.upper).all()
        robot.judge.pose(q)
        within = model.jnt_range[:, 0] - 1e-12, model.jnt_range[:, 1] + 1e-12
        angles = robot.judge.data.qpos[model.jnt_qposadr]
        limited = model.jnt_limited.astype(bool)
        assert ((angles >= within[0]) & (angles <= within[1]))[limited].all()


@pytest.mark.parametrize("name", NAMES)
def test_ratios_hold_in_every_frame_of_a_track(name: str):
    robot, rng = Robot(name), np.random.default_rng(3)
    ends = robot.random_pose(rng), robot.random_pose(rng)
    share = 0.3 * np.sin(np.linspace(0.0, np.pi, 40))[:, None]
    q = ends[0] + share * (ends[1] - ends[0])
    points = {f"{tip}{k}": (tip, 0.02 * np.eye(3)[k]) for tip in robot.tips for k in range(3)}
    skeleton = robot.skeleton.with_markers(points)
    places = skeleton.forward(q).markers + rng.normal(scale=1e-3, size=(40, len(points), 3))
    track = ik.track(skeleton, ik.Markers(positions=places, names=tuple(points), rate=100.0))
    assert (track.motion.q >= skeleton.lower).all() and (track.motion.q <= skeleton.upper).all()
    robot.assert_same(track.motion.q)


@pytest.mark.parametrize(
    ("repository", "path", "dofs"),
    [
        ("dex-urdf", "robots/hands/schunk_hand/schunk_svh_hand_left.urdf", "left_hand_e2.rz"),
        (
            "example-robot-data",
            "robots/pr2_description/urdf/pr2.urdf",
            "r_gripper_r_parallel_link.r, l_gripper_r_parallel_link.r",
        ),
    ],
)
def test_limits_that_contradict_a_ratio_are_said(repository: str, path: str, dofs: str):
    """Two files of makers let a joint follow another to where its own limits are not."""
    with pytest.warns(FileWarning, match=rf"limits?: {dofs}$"):
        ik.load_skeleton(find_robot(repository, path))
