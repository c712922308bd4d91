"""The judge of the robot benchmark says what is reached, and sees the same robot as the peers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.calls import measure_calls
from benchmarks.support.robot_peers import PEERS, Judge
from tests.support.robot_files import pinocchio, write

ARM = """<robot name="arm"><link name="base"/><link name="upper"/><link name="lower"/>
<link name="tip"/>
<joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/>
<origin xyz="0 0 0.5" rpy="0.3 -0.2 0.1"/><axis xyz="0 -2 1"/>
<limit lower="-1" upper="2" effort="1" velocity="1"/></joint>
<joint name="elbow" type="revolute"><parent link="upper"/><child link="lower"/>
<origin xyz="0.4 0 0"/><axis xyz="0 0 1"/>
<limit lower="-2" upper="0.5" effort="1" velocity="1"/></joint>
<joint name="end" type="fixed"><parent link="lower"/><child link="tip"/>
<origin xyz="0.3 0 0" rpy="0 1 0"/></joint></robot>"""


@pytest.fixture
def arm(tmp_path: Path) -> Path:
    pinocchio()  # or skip
    return write(tmp_path, "arm.urdf", ARM)


def test_judge(arm: Path):
    judge, q = Judge(arm, ("tip",), False), np.array([0.2, -0.3])
    targets = judge.forward(q)
    assert judge.is_reached(q, targets)
    assert not judge.is_reached(np.array([0.2, -0.295]), targets)  # 1.5 mm away
    moved = targets.copy()
    moved[:, :3, 3] += 0.0005
    assert judge.is_reached(q, moved)
    assert judge.is_inside(np.array([2.0, -2.0]))
    assert not judge.is_inside(np.array([2.0, -2.0001]))
    floating = Judge(arm, ("tip",), True)
    q7 = np.r_[0, 0, 1, 0, 0, 0, 1, q]  # half a turn about z, 1 m up
    turned = np.diag([-1.0, -1, 1, 1]) @ targets + np.array([0, 0, 1, 0])[:, None] * [0, 0, 0, 1]
    np.testing.assert_allclose(floating.forward(q7), turned, atol=1e-12)


@pytest.mark.parametrize("name", PEERS)
@pytest.mark.filterwarnings("ignore")
def test_peers_see_the_same_robot(arm: Path, name: str):
    judge, q = Judge(arm, ("tip",), False), np.array([0.2, -0.3])
    try:
        peer = PEERS[name](arm, ("tip",), False)
    except ImportError:
        pytest.skip(f"{name} is not installed")
    assert peer is not None
    judge.check(peer, np.array([q, -q]))
    if name == "mink":  # the toolbox asks for six joints
        assert judge.is_reached(peer.solve(judge.forward(q), np.zeros((1, 2))), judge.forward(q))


def test_calls_take_turns_over_all_poses() -> None:
    asked: list[tuple[str, int]] = []
    calls = {name: lambda i, name=name: asked.append((name, i)) for name in ("one", "two")}
    spent = measure_calls(calls, poses=3, count=5)
    assert [i for name, i in asked if name == "two"] == [0, 0, 1, 2, 0, 1]  # the first is not timed
    assert all(us.shape == (5,) and (us > 0.0).all() for us in spent.values())
