"""Closed loops of real robots, beside MuJoCo, which reads the same file and measures their gaps.

The models are not here: tests/support/real_robots.py says where they are looked for.
"""

from __future__ import annotations

import numpy as np
import pytest

import exactik as ik
from exactik.io import load_joint_names, load_skeleton
from tests.support.real_robots import Judge, find_robot
from tests.support.robot_files import largest_error

ROBOTS = {
    "cassie": ("agility_cassie/cassie.xml", 4),
    "robotiq": ("robotiq_2f85/2f85.xml", 2),
    "softfoot": ("iit_softfoot/softfoot.xml", 5),
}
CLOSED = 1e-8  # m
PLACE = 1e-9  # m, and of the entries of a rotation


@pytest.mark.parametrize("name", ROBOTS)
def test_loops_are_closed_where_mujoco_has_them_closed(name: str) -> None:
    """From poses in which they gape, and where the tips should be as they are in such a pose."""
    path, count = find_robot("mujoco_menagerie", ROBOTS[name][0]), ROBOTS[name][1]
    figure, judge, rng = load_skeleton(path, floating=False), Judge(path), np.random.default_rng(4)
    judge.joints = load_joint_names(path, floating=False)  # Cassie's free joint has no name
    assert len(figure.loops) == count
    loops = np.flatnonzero(judge.model.eq_type == judge.mj.mjtEq.mjEQ_CONNECT)
    start = figure.neutral() if figure.home is None else figure.home
    stay = ik.PostureGoal(start, weight=1e-3)
    for _ in range(3):
        apart = figure.clip(figure.integrate(start, rng.normal(scale=0.2, size=figure.nv)))
        posed = ik.solve(figure, ik.PostureGoal(apart, weight=1e-3), q0=apart)
        assert posed.status != "loop-open", posed.why
        tip = max(figure.bone_names, key=lambda bone: _depth(figure, bone))
        goal = ik.PositionGoal(tip, figure.forward(posed.q).point(tip), tolerance=1e-4)
        again = ik.solve(figure, [goal, stay], q0=start)
        assert again.status != "loop-open", again.why
        for q in (posed.q, again.q):
            assert largest_error(figure, q, judge.pose(q)) < PLACE
            held = np.isin(judge.data.efc_id[: judge.data.ne], loops)
            gaps = judge.data.efc_pos[: judge.data.ne][held].reshape(-1, 3)
            assert len(gaps) == count and np.linalg.norm(gaps, axis=1).max() < 1.1 * CLOSED


def _depth(figure: ik.Skeleton, bone: str) -> int:
    """How many bones carry a bone."""
    k, depth = figure.bone_index(bone), 0
    while (k := int(figure.parents[k])) >= 0:
        depth += 1
    return depth
