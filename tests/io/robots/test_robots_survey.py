"""Every robot of some large collections beside MuJoCo; see tests/support/real_robots.py."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import exactik as ik
from exactik.errors import FileError, FileWarning
from tests.support.real_robots import Judge, list_robots
from tests.support.robot_files import largest_error

# Repository → how many of its files at least both can read.
COMPARED = {
    "mujoco_menagerie": 150,
    "example-robot-data": 60,
    "dex-urdf": 50,
    "pybullet_data": 100,
}


@pytest.mark.slow
@pytest.mark.parametrize("repository", COMPARED)
def test_every_robot_is_where_mujoco_has_it(repository: str):
    """In a random pose, joints that follow others included."""
    compared, wrong = 0, []
    for path in list_robots(repository):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FileWarning)
            try:
                skeleton = ik.load_skeleton(path)
                judge = Judge(path)
            except (FileError, ValueError):  # one of the two cannot read it
                continue
        q = skeleton.normalised(np.random.default_rng(0).uniform(-1.0, 1.0, skeleton.nq))
        if largest_error(skeleton, q, judge.pose(q)) > 1e-9:
            wrong.append(path.name)
        compared += 1
    assert wrong == [] and compared >= COMPARED[repository]
