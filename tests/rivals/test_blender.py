"""The armature that Blender poses is our figure; where a Python has bpy, its answers are judged."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

from benchmarks.peers.environments import ROOT
from benchmarks.peers.judge import Judge
from benchmarks.peers.protocol import Arm, save
from benchmarks.peers.tree import Tree
from exactik.spatial import axis_rotation
from exactik.typing import Array
from exactik_papers import Recording
from exactik_papers.blender import (
    Hinges,
    follow_with_blender,
    make_hinges,
    run_armature,
)
from exactik_papers.sampled import sample_take
from tests.support.blender import find_blender
from tests.support.robot_files import write

# The middle of the second one's limits is far from zero, and zero is outside.
ARM = """<robot name="arm"><link name="base"/><link name="one"/><link name="two"/>
<link name="three"/>
<link name="tip"/>
<joint name="a" type="revolute"><parent link="base"/><child link="one"/>
<origin xyz="0 0 0.3" rpy="0.3 -0.2 0.1"/><axis xyz="0 -2 1"/>
<limit lower="-1" upper="2" effort="1" velocity="1"/></joint>
<joint name="b" type="revolute"><parent link="one"/><child link="two"/>
<origin xyz="0.4 0 0"/><axis xyz="0 0 1"/>
<limit lower="-2.5" upper="-0.1" effort="1" velocity="1"/></joint>
<joint name="c" type="continuous"><parent link="two"/><child link="three"/>
<origin xyz="0.1 0.2 0" rpy="1 0 0"/><axis xyz="0 1 0"/></joint>
<joint name="end" type="fixed"><parent link="three"/><child link="tip"/>
<origin xyz="0.3 0 0" rpy="0 1 0"/></joint></robot>"""
FK_TOLERANCE = 1e-5  # [m]; Blender computes poses in single precision


@pytest.fixture(scope="module")
def blender() -> Path:
    return find_blender()


def forward(hinges: Hinges, q: Array) -> Array:
    """Return T_base_end, (ends, 4, 4)."""
    frames = []
    for k, above in enumerate(hinges.parent):
        T = hinges.constant[k] if above < 0 else frames[above] @ hinges.constant[k]
        turn = np.eye(4)
        turn[:3, :3] = axis_rotation("z", q[k])
        frames.append(T @ turn)
    return np.array(frames)[hinges.carrier] @ hinges.place


def draw_angles(limits: Array, count: int) -> Array:
    low, high = np.clip(limits, -2.0, 2.0).T
    return np.random.default_rng(0).uniform(low, high, (count, len(limits)))


def test_hinges_are_those_of_the_figure(recording: Recording):
    skeleton = sample_take(recording, 1.0).skeleton
    ends = ["head", "l_hand", "r_foot"]
    hinges = make_hinges(skeleton, ends)
    q = np.zeros(skeleton.nq)
    for angles in draw_angles(hinges.limits, 3):
        q[hinges.dofs] = angles
        pose = skeleton.forward(q)
        ours = [pose.point(end) - pose.point(skeleton.bones[0].name) for end in ends]
        np.testing.assert_allclose(forward(hinges, angles)[:, :3, 3], ours, atol=1e-12)


def test_blender_sees_the_same_arm_and_solves_it(blender: Path, tmp_path: Path):
    path = write(tmp_path, "arm.urdf", ARM)
    judge = Judge(path)
    tree = Tree(path, judge.joints, ["tip"])
    hinges = Hinges(
        dofs=np.arange(3),
        parent=tree.parent,
        constant=tree.constant,
        limits=judge.limits,
        carrier=tree.carrier,
        place=tree.place,
    )
    shown = draw_angles(judge.limits, 5)
    nothing = np.empty((0, 3))
    answer = run_armature(
        blender,
        hinges,
        iterations=1,
        start=shown[0],
        points=nothing[:, None],
        bases=nothing,
        shown=shown,
    )
    ours = [judge.forward(q, ["tip"]) for q in shown]
    np.testing.assert_allclose(answer["forward"], ours, atol=FK_TOLERANCE)
    targets = np.array(ours)[:, 0]
    starts = (shown + 0.1 * np.sign(judge.limits.clip(-1, 1).sum(axis=1) - shown))[:, None]
    task = Arm(path, "tip", judge.joints, judge.limits, targets, starts, (1e-3, 1e-2))
    save(tmp_path / "task.npz", task)
    command = [str(blender), "-m", "benchmarks.peers.ask", "blender", str(tmp_path / "task.npz")]
    subprocess.run([*command, "1", str(tmp_path)], cwd=ROOT, check=True, capture_output=True)
    for row in ("0.npz", "2.npz"):  # standard and iTaSC
        with np.load(tmp_path / row) as file:
            for q, target in zip(file["q"], targets, strict=True):
                assert judge.is_inside(q) and judge.is_reached(q, "tip", target), row


def test_blender_follows_a_figure_inside_its_limits(blender: Path, recording: Recording):
    data = sample_take(recording, 1.0)
    found = follow_with_blender(data, blender, 100)
    assert (found.q >= data.skeleton.lower).all() and (found.q <= data.skeleton.upper).all()
    root = data.skeleton.forward(found.q).positions[:, 0]
    np.testing.assert_allclose(root[1:], data.targets[1:, 0], atol=1e-9)
    assert np.median(found.objective[1:]) < 1e-4  # [unit²]
    assert 0.0 < found.ms < 1000.0
