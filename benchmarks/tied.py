"""Section tied: two hands on an object that moves, no body through another, beside mink and Pink.

Two Pandas, and a Unitree G1 that stands, its centre of mass over its feet; 1,000 targets each. All
have the same capsules around the robot's collision meshes and keep the same pairs apart, which
`ik.Collisions` chooses; gaps are measured by coal. "overlap" are steps in which any two meet. A row
has ours without that goal: what the targets alone would do. `support.servo_peers` has the rest.
"""

from __future__ import annotations

import tempfile
import xml.etree.ElementTree as ET
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

import exactik as ik
from benchmarks.support.report import Report
from benchmarks.support.servo_peers import Loop, Ours, find_peers, list_headers, measure
from benchmarks.support.urdf import strip_urdf
from exactik.io import load_joint_names
from exactik.model.shapes import Capsule
from exactik.spatial import exp_rotation
from exactik.typing import Array

TOOL = "panda_hand_tcp"
STEPS = 1000
DT = 0.01  # s
FINGERS = "finger"  # in names of what holds the object


def list_capsules(path: Path) -> list[Capsule]:
    """Return the capsules of a robot's file."""
    shapes = ik.load_skeleton(path).shapes.shapes
    return [s for s in shapes if isinstance(s, Capsule) and FINGERS not in str(s.bone)]


def carry(hands: dict[str, Array], shift: Array, turns: Array) -> dict[str, Array]:
    """Return the poses of hands on an object that is shifted and turned, (T, 4, 4) each.

    Args:
        hands: bone → its pose at first, (4, 4).
        shift: of the object [m], (T, 3).
        turns: of the object about the middle between the hands [rad], (T, 3).
    """
    middle = np.mean([T[:3, 3] for T in hands.values()], axis=0)
    R = np.array([exp_rotation(turn) for turn in turns])
    carried = {}
    for bone, T in hands.items():
        poses = np.tile(np.eye(4), (len(shift), 1, 1))
        poses[:, :3, :3] = R @ T[:3, :3]
        poses[:, :3, 3] = middle + shift + R @ (T[:3, 3] - middle)
        carried[bone] = poses
    return carried


def make_two_arms(path: Path, folder: Path) -> Loop:
    """Return two Pandas side by side with an object between their hands that moves and turns."""
    robot = ET.Element("robot", name="two")
    ET.SubElement(robot, "link", name="floor")
    inertial = ET.SubElement(robot[0], "inertial")
    ET.SubElement(inertial, "mass", value="1")
    ET.SubElement(inertial, "inertia", ixx="1", iyy="1", izz="1", ixy="0", ixz="0", iyz="0")
    for side, place in (("l", "0 0.3 0"), ("r", "0 -0.3 0")):
        part = ET.fromstring(strip_urdf(path, mujoco=False).replace('"panda_', f'"{side}_panda_'))
        joint = ET.SubElement(robot, "joint", name=f"{side}_base", type="fixed")
        ET.SubElement(joint, "parent", link="floor")
        ET.SubElement(joint, "child", link=f"{side}_panda_link0")
        ET.SubElement(joint, "origin", xyz=place, rpy="0 0 0")
        robot.extend(each for each in part if FINGERS not in each.attrib["name"])
    file = folder / "two.urdf"
    file.write_text(ET.tostring(robot, encoding="unicode"), "utf-8")
    shapes = [replace(s, bone=f"{d}_{s.bone}") for d in "lr" for s in list_capsules(path)]
    hands = {}
    for side, y in (("l", 0.14), ("r", -0.14)):
        T = np.eye(4)
        T[:3, :3] = exp_rotation(np.array([np.pi, 0.0, 0.0]))
        T[:3, 3] = 0.45, y, 0.35
        hands[f"{side}_{TOOL}"] = T
    a = np.linspace(0.0, 2.0 * np.pi, STEPS)
    nought = np.zeros(STEPS)
    shift = np.column_stack([0.1 * np.sin(a), nought, 0.1 * (np.cos(a) - 1.0)])
    turns = np.column_stack([0.3 * np.sin(2.0 * a), nought, 1.3 * np.sin(a)])
    start = dict(zip(range(1, 8), [0.0, 0.0, 0.0, -2.0, 0.0, 2.0, 0.8], strict=True))
    loop = Loop(
        "two arms, hands tied to an object that moves",
        file,
        {f"{side}_panda_joint{i}": x for side in "lr" for i, x in start.items()},
        DT,
        carry(hands, shift, turns),
        tied=(f"l_{TOOL}", f"r_{TOOL}"),
        shapes=shapes,
    )
    loop.q0 = ik.solve(loop.make_problem(), q0=loop.q0).q.copy()
    return loop


def make_humanoid(path: Path, folder: Path) -> Loop:
    """Return a G1 that stands, hands tied to an object that moves."""
    file = folder / "g1.urdf"
    file.write_text(strip_urdf(path, mujoco=False), "utf-8")
    figure = ik.load_skeleton(file, floating=True)
    joints = load_joint_names(file, floating=True)
    bent = {
        "hip_pitch": -0.3,
        "knee": 0.6,
        "ankle_pitch": -0.3,
        "elbow": 0.6,
        "shoulder_pitch": -0.3,
        "shoulder_roll": 0.2,
    }
    start = {
        f"{side}_{name}_joint": -x if name == "shoulder_roll" and side == "right" else x
        for side in ("left", "right")
        for name, x in bent.items()
    }
    q0 = figure.neutral()
    for name, value in start.items():
        q0[joints[name].q] = value
    pose = figure.forward(q0)

    def frame(bone: str) -> Array:
        k, T = figure.bone_index(bone), np.eye(4)
        T[:3, :3], T[:3, 3] = pose.rotations[k], pose.positions[k]
        return T

    feet = {f"{s}_ankle_roll_link": frame(f"{s}_ankle_roll_link") for s in ("left", "right")}
    tools = ("left_rubber_hand", "right_rubber_hand")
    a = np.linspace(0.0, 2.0 * np.pi, STEPS)
    nought = np.zeros(STEPS)
    away = 0.5 * (1.0 - np.cos(a))
    shift = np.column_stack([-0.12 * away, 0.1 * np.sin(2.0 * a), 0.1 * away])
    turns = np.column_stack([nought, nought, 0.6 * np.sin(a)])
    return Loop(
        "G1, hands tied to an object that moves, standing",
        file,
        start,
        DT,
        carry({tool: frame(tool) for tool in tools}, shift, turns),
        floating=True,
        feet=feet,
        tied=tools,
        balance=True,
        shapes=list_capsules(path),
    )


def run(report: Report) -> None:
    """Measure and print the section."""
    try:
        panda, g1 = (Path(ik.io.find_robot(name)) for name in ("panda", "unitree_g1"))
    except ik.ExactikError as error:
        report.title("tied")
        report.console.print(f"skipped: {error}")
        return
    with tempfile.TemporaryDirectory() as name:
        for loop in (make_two_arms(panda, Path(name)), make_humanoid(g1, Path(name))):
            pairs = len(loop.list_pairs())
            report.title(f"tied: {loop.name}; {loop.count} steps, {pairs} pairs of bodies")
            peers = [make(loop) for make in (*find_peers(report), partial(Ours, apart=False))]
            report.table(list_headers(loop), measure(loop, peers))
