"""The judge of other tools agrees with Pinocchio; the figure they get is ours; the tables."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import exactik as ik
from benchmarks.peers.environments import ROOT, Tool, read_tools
from benchmarks.peers.judge import Judge
from benchmarks.peers.page import (
    Results,
    format_arm_table,
    format_number,
    format_page,
    format_table,
)
from benchmarks.peers.protocol import Arm, load, save
from benchmarks.peers.scores import ArmScore, FigureScore
from benchmarks.peers.tasks import make_figure_urdf
from benchmarks.peers.tree import Tree, compute_pose_error
from benchmarks.support.urdf import matrix_from_rpy, rpy_from_matrix
from tests.support.robot_files import pinocchio, write

ARM = """<robot name="arm"><link name="base"/><link name="rail"/><link name="upper"/>
<link name="lower"/><link name="tip"/>
<joint name="slide" type="prismatic"><parent link="base"/><child link="rail"/>
<origin xyz="0 0.1 0" rpy="0 0.4 0"/><axis xyz="1 0 1"/>
<limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
<joint name="shoulder" type="revolute"><parent link="rail"/><child link="upper"/>
<origin xyz="0 0 0.5" rpy="0.3 -0.2 0.1"/><axis xyz="0 -2 1"/>
<limit lower="-1" upper="2" effort="1" velocity="1"/></joint>
<joint name="elbow" type="revolute"><parent link="upper"/><child link="lower"/>
<origin xyz="0.4 0 0"/><axis xyz="0 0 1"/>
<limit lower="-2" upper="0.5" effort="1" velocity="1"/></joint>
<joint name="end" type="fixed"><parent link="lower"/><child link="tip"/>
<origin xyz="0.3 0 0" rpy="0 1 0"/></joint></robot>"""
Q = np.array([0.2, 0.7, -0.3])


@pytest.fixture
def arm(tmp_path: Path) -> Path:
    return write(tmp_path, "arm.urdf", ARM)


def test_judge_agrees_with_pinocchio(arm: Path):
    pin, judge = pinocchio(), Judge(arm)
    model = pin.buildModelFromUrdf(str(arm))
    data = model.createData()
    for q in np.random.default_rng(0).uniform(-1, 0.5, (5, 3)):
        pin.framesForwardKinematics(model, data, q)
        there = data.oMf[model.getFrameId("tip")].homogeneous
        np.testing.assert_allclose(judge.forward(q, ["tip"])[0], there, atol=1e-12)


def test_judge_decides(arm: Path):
    judge = Judge(arm)
    assert judge.joints == ["slide", "shoulder", "elbow"]
    target = judge.forward(Q, ["tip"])[0]
    assert judge.is_reached(Q, "tip", target)
    assert judge.compute_error(Q + np.array([0.002, 0, 0]), "tip", target) == pytest.approx(
        (0.002, 0.0), abs=1e-9
    )
    assert judge.compute_error(Q + np.array([0, 0, 0.004]), "tip", target)[1] == pytest.approx(
        0.004
    )
    assert not judge.is_reached(Q + np.array([0.0011, 0, 0]), "tip", target)
    turned = target.copy()
    turned[:3, :3] = target[:3, :3] @ matrix_from_rpy(np.array([0.011, 0, 0]))
    assert not judge.is_reached(Q, "tip", turned)
    turned[:3, :3] = target[:3, :3] @ np.diag([1.0, -1, -1])
    assert judge.compute_error(Q, "tip", turned)[1] == pytest.approx(np.pi)
    assert judge.is_inside(np.array([1.0, 2.0, -2.0]))
    assert not judge.is_inside(np.array([1.0, 2.0, -2.0001]))


def test_tree_is_what_the_judge_sees(arm: Path):
    judge, links = Judge(arm), ["tip", "upper"]
    tree = Tree(arm, judge.joints, links)
    poses, shift, turn = tree.with_jacobian(Q)
    np.testing.assert_allclose(poses, judge.forward(Q, links), atol=1e-12)
    for k, step in enumerate(1e-6 * np.eye(3)):
        change = [
            compute_pose_error(*pair) / 2e-6
            for pair in zip(tree.poses(Q - step), tree.poses(Q + step), strict=True)
        ]
        np.testing.assert_allclose(np.hstack([shift[..., k], turn[..., k]]), change, atol=1e-8)


@pytest.mark.parametrize("rpy", [(0.3, -0.4, 2.0), (0.0, np.pi / 2, 0.5), (0.0, -np.pi / 2, 0.5)])
def test_rpy(rpy: tuple[float, float, float]):
    R = matrix_from_rpy(np.array(rpy))
    np.testing.assert_allclose(matrix_from_rpy(rpy_from_matrix(R)), R, atol=1e-12)


def test_figure_as_urdf_is_ours(tmp_path: Path):
    spin = ik.Joint.euler("ZYX")
    turn = matrix_from_rpy(np.array([0.2, 0.5, -1.0]))
    bones = [
        ik.Bone("root", joint=ik.Joint.free(spin)),
        ik.Bone("arm", parent="root", offset=(0, 0, 0.3), joint=spin, pre=turn, post=turn.T),
        ik.Bone("hand", parent="arm", offset=(0.1, 0, 0.3), joint=ik.Joint.revolute((0, 0.6, 0.8))),
    ]
    skeleton = ik.Skeleton.build("figure", bones, {"M": ("hand", (0.1, 0.2, 0.3))})
    path = write(tmp_path, "figure.urdf", make_figure_urdf(skeleton, range(skeleton.nv)))
    judge, q = Judge(path), np.random.default_rng(0).normal(size=skeleton.nq)
    assert judge.joints == list(skeleton.dof_names)
    point = skeleton.forward(q).point(*skeleton.marker("M"))
    np.testing.assert_allclose(judge.forward(q, ["M"])[0, :3, 3], point, atol=1e-12)


def test_a_task_is_read_as_it_was_written(arm: Path, tmp_path: Path):
    judge = Judge(arm)
    targets, starts = judge.forward(Q, ["tip"]), np.zeros((1, 2, 3))
    task = Arm(arm, "tip", judge.joints, judge.limits, targets, starts, (1e-3, 1e-2))
    save(tmp_path / "task.npz", task)
    read = load(tmp_path / "task.npz")
    assert isinstance(read, Arm)
    for name, value in vars(task).items():
        if isinstance(value, np.ndarray):
            np.testing.assert_array_equal(getattr(read, name), value)
        else:
            assert getattr(read, name) == value


def test_adapters_say_what_they_need():
    found = {tool.name: tool for tool in read_tools()}
    assert next(iter(found)) == "exactik"
    assert found["exactik"].requirements == ()
    assert found["mink"].tasks == {"arm", "figure"}
    assert found["ikpy"].tasks == {"arm"}
    assert all(
        tool.requirements and tool.about for tool in found.values() if tool.name != "exactik"
    )


def test_what_runs_beside_another_tool_needs_no_exactik():
    """Each tool has an environment of its own, where exactik is not installed."""
    code = """if True:
        import sys
        sys.modules["exactik"] = None
        import benchmarks.peers.ask, benchmarks.peers.tree, benchmarks.support.robot_peers
        """
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


def test_page():
    assert format_table(["", "ms"], [["a|b", "1"]]) == "|  | ms |\n| --- | ---: |\n| a\\|b | 1 |\n"
    assert [format_number(x) for x in (0.0123, 1.26, 12.34, 123.4)] == [
        "0.012",
        "1.3",
        "12.3",
        "123",
    ]
    scores = [
        ArmScore(name, "1.0", attempts, 500, ok, ok + 5, ms, 3 * ms)
        for name, ok, ms in (
            ("exactik, one call each", 75.0, 0.2),
            ("exactik, one batch", 75.0, 0.03),
            ("quick", 60.0, 0.1),
        )
        for attempts in (1, 30)
    ]
    lines = format_arm_table(scores).splitlines()
    assert [line.split(" | ")[0] for line in lines[2:]] == [
        "| **exactik, one batch**",
        "| quick",
        "| **exactik, one call each**",
    ]
    assert "60.0 (65.0) | 0.1 / 0.3 | 500" in lines[3]
    frames = [FigureScore("exactik, a call a frame", "1.0", 300, 1.9, 50, 60, 5, 1.0)]
    tool = Tool("quick", "quick", "quick", ("quick",), "Its defaults.", frozenset({"arm"}))
    page = format_page(Results([tool], {"Panda": scores}, {"Take": (frames, frames)}))
    assert "0.2 ms (less: quick (0.1); a tie: nobody)" in page
    assert "say what each tool was given: quick 1.0.\n" in page
    whole = format_page(Results([tool], {"Panda": scores}, {}), every_table=True)
    assert "* **quick** 1.0 (`benchmarks/peers/adapters/with_quick.py`): Its defaults." in whole
    assert "exactik, a call a frame 60 % (more: nobody)" in page
