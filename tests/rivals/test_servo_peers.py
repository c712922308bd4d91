"""The judge of control loops measures the gaps that ours keeps, and what it says of a path."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.support.servo_peers import MARGIN, Loop, Ours, PinocchioModel, judge, measure
from exactik.model.shapes import Capsule, find_segment_distances
from exactik.typing import Array
from tests.support.robot_files import pinocchio, write

ARM = """<robot name="arm"><link name="base"/>{}</robot>"""
LINK = """<link name="link{0}"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="joint{0}" type="revolute"><parent link="{1}"/><child link="link{0}"/>
<origin xyz="{2} 0 0"/><axis xyz="0 1 0"/>
<limit lower="-2.5" upper="2.5" effort="1" velocity="2"/></joint>"""
CAPSULES = [Capsule(f"link{k}", (0.0, 0.02, 0.0), (0.25, 0.0, 0.0), 0.04) for k in range(4)]


@pytest.fixture
def loop(tmp_path: Path) -> Loop:
    """Four links that are told to roll up, until the last meets the first."""
    pinocchio()  # or skip
    above = ["base", *(f"link{k}" for k in range(3))]
    links = [LINK.format(k, name, 0.0 if k == 0 else 0.3) for k, name in enumerate(above)]
    path = write(tmp_path, "arm.urdf", ARM.format("".join(links)))
    start = {f"joint{k}": 0.1 for k in range(4)}
    loop = Loop("arm", path, start, 0.02, {"link3": np.eye(4)[None]}, shapes=CAPSULES)
    rolled = np.linspace(0.1, 1.9, 80)[:, None] * np.ones(4)
    pose = loop.skeleton.forward(rolled)
    path_of_tip = np.tile(np.eye(4), (80, 1, 1))
    k = loop.skeleton.bone_index("link3")
    path_of_tip[:, :3, :3], path_of_tip[:, :3, 3] = pose.rotations[:, k], pose.positions[:, k]
    return Loop("arm", path, start, 0.02, {"link3": path_of_tip}, shapes=CAPSULES)


def measure_by_hand(loop: Loop, q: Array) -> float:
    """The least gap of the pairs at a pose, by distances of segments [m]."""
    pose, pairs = loop.skeleton.forward(q), np.array(loop.list_pairs())
    ends = np.array([np.stack([pose.point(str(s.bone), end) for end in s.ends]) for s in CAPSULES])
    return float((find_segment_distances(ends[pairs[:, 0]], ends[pairs[:, 1]]) - 0.08).min())


def test_gaps_are_those_of_our_capsules(loop: Loop) -> None:
    q = np.random.default_rng(1).uniform(1.0, 2.2, (40, 4))
    gaps = PinocchioModel(loop).measure_gaps(q)
    apart = [measure_by_hand(loop, row) for row in q]
    outside = gaps > 0.0  # by how much bodies overlap is measured otherwise
    np.testing.assert_allclose(gaps[outside], np.array(apart)[outside], atol=1e-7)
    assert ((gaps > 0.0) == (np.array(apart) > 0.0)).all() and 3 < outside.sum() < 37


def test_a_loop_is_judged_by_its_targets_gaps_and_speeds(loop: Loop) -> None:
    rows = measure(loop, [Ours(loop), Ours(loop, apart=False)])
    (apart, passing) = rows
    assert [row[0] for row in rows] == ["exactik", "exactik, bodies pass"]
    assert float(apart[8]) == 0.0 < float(passing[8])  # share of steps with overlaps
    assert float(passing[9]) > 1e3 * MARGIN
    still = np.tile(loop.q0, (loop.count + 1, 1))
    cells = judge(loop, still, np.ones(loop.count, bool))
    assert float(cells[0]) < 10.0 and cells[5] == "0.000" and float(cells[3]) > 50.0  # frozen
