"""Random robots as files, and the poses that pinocchio and MuJoCo give them."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from exactik.io.robots import JointPlace
from exactik.model import Skeleton
from exactik.spatial import wxyz_from_matrix
from exactik.typing import Array
from tests.support.models import random_rotation


class FramePose(NamedTuple):
    """Position and rotation of a frame in the world."""

    position: Array
    rotation: Array


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def random_q(skeleton: Skeleton, rng: np.random.Generator) -> Array:
    """Any coordinates, also outside the limits."""
    return skeleton.normalised(rng.uniform(-2.5, 2.5, skeleton.nq))


def largest_error(skeleton: Skeleton, q: Array, expected: dict[str, FramePose]) -> float:
    """The largest difference over all bones that are expected."""
    pose = skeleton.forward(q)
    error = 0.0
    for name, frame_pose in expected.items():
        k = skeleton.bone_index(name)
        error = max(
            error,
            float(np.abs(pose.positions[k] - frame_pose.position).max()),
            float(np.abs(pose.rotations[k] - frame_pose.rotation).max()),
        )
    return error


# --- pinocchio


def pinocchio() -> Any:
    return pytest.importorskip("pinocchio", reason="pinocchio (pip install pin) is the oracle here")


def pinocchio_poses(
    model: Any, joints: dict[str, JointPlace], q: Array, root: int | None = None
) -> dict[str, FramePose]:
    """The frames of all links; `root` is the coordinate at which a floating base begins."""
    pin = pinocchio()
    pin_q = pin.neutral(model)
    for k in range(1, model.njoints):
        name, joint = model.names[k], model.joints[k]
        if joint.nq == 0:
            continue  # it follows another
        first = root if name == "root_joint" and root is not None else joints[name].q
        assert first is not None
        kind = joint.shortname()
        if "FreeFlyer" in kind:
            x, y, z, qw, qx, qy, qz = q[first : first + 7]
            pin_q[joint.idx_q : joint.idx_q + 7] = (x, y, z, qx, qy, qz, qw)
        elif "Planar" in kind:
            x, y, angle = q[first : first + 3]
            pin_q[joint.idx_q : joint.idx_q + 4] = (x, y, math.cos(angle), math.sin(angle))
        elif joint.nq == 2:
            pin_q[joint.idx_q : joint.idx_q + 2] = (math.cos(q[first]), math.sin(q[first]))
        else:
            assert joint.nq == 1
            pin_q[joint.idx_q] = q[first]
    data = model.createData()
    pin.framesForwardKinematics(model, data, pin_q)
    return {
        frame.name: FramePose(data.oMf[k].translation.copy(), data.oMf[k].rotation.copy())
        for k, frame in enumerate(model.frames)
        if frame.type == pin.FrameType.BODY
    }


# --- MuJoCo


def mujoco() -> Any:
    return pytest.importorskip("mujoco", reason="mujoco (pip install mujoco) is the oracle here")


def strip_to_kinematics(path: Path) -> str:
    """The kinematics of a file alone, with a mass on every body, as its meshes are not here."""
    root = ET.parse(path).getroot()
    for section in list(root):
        if section.tag not in ("compiler", "default", "worldbody", "equality"):
            root.remove(section)
    for compiler in root.iter("compiler"):
        for key in set(compiler.attrib) - {"angle", "eulerseq", "autolimits"}:
            del compiler.attrib[key]
    kept = {"default", "joint", "freejoint", "body", "frame", "equality"}
    for element in list(root.iter()):
        for child in list(element) if element is not root else ():
            if child.tag not in kept:
                element.remove(child)
    for body in root.iter("body"):
        ET.SubElement(body, "inertial", pos="0 0 0", mass="1", diaginertia="1 1 1")
        body.attrib.pop("mocap", None)
    return ET.tostring(root, encoding="unicode")


def mujoco_poses(model: Any, q: Array) -> dict[str, FramePose]:
    """The frames of all bodies; those without name have the name that `load_skeleton` gives."""
    mj = mujoco()
    data = mj.MjData(model)
    data.qpos[:] = q
    mj.mj_kinematics(model, data)
    return {
        model.body(k).name or f"body{k}": FramePose(
            data.xpos[k].copy(), data.xmat[k].reshape(3, 3).copy()
        )
        for k in range(1, model.nbody)
    }


# --- random files


def format_numbers(values: Any) -> str:
    return " ".join(repr(float(x)) for x in np.ravel(values))


def random_urdf(rng: np.random.Generator, links: int = 12) -> str:
    """A tree with joints of every type, listed in any order."""
    parts = [f'<link name="link{k}"/>' for k in range(links)]
    for k in range(1, links):
        kind = str(
            rng.choice(["fixed", "revolute", "continuous", "prismatic", "floating", "planar"])
        )
        # Pinocchio knows no planar joint about another axis.
        axis = (0, 0, 1) if kind == "planar" else rng.normal(size=3) * rng.choice([0.1, 1, 7])
        if kind not in ("planar", "floating") and rng.random() < 0.3:
            axis = np.eye(3)[rng.integers(3)] * rng.choice([-1.0, 1.0])
        # It also insists on unit axes where they are oblique.
        axis = np.asarray(axis, dtype=float) / np.linalg.norm(axis)
        xyz, rpy = format_numbers(rng.normal(size=3)), format_numbers(rng.normal(size=3))
        origin = f'<origin xyz="{xyz}" rpy="{rpy}"/>'
        parts.append(
            f'<joint name="joint{k}" type="{kind}"><parent link="link{rng.integers(k)}"/>'
            f'<child link="link{k}"/>{origin if rng.random() < 0.8 else ""}'
            f'<axis xyz="{format_numbers(axis)}"/>'
            '<limit lower="-1" upper="2" effort="1" velocity="1"/></joint>'
        )
    order = rng.permutation(len(parts))
    return f'<?xml version="1.0"?><robot name="random">{"".join(parts[k] for k in order)}</robot>'


ORIENTATIONS = ("quat", "axisangle", "euler", "xyaxes", "zaxis")


def random_orientation(rng: np.random.Generator, degrees: bool) -> str:
    """One of the five ways to state an orientation, or none."""
    angle = 180.0 if degrees else math.pi
    attribute = rng.choice([*ORIENTATIONS, ""])
    if attribute == "":
        return ""
    values = {
        "quat": 3.0 * wxyz_from_matrix(random_rotation(rng)),
        "axisangle": np.append(rng.normal(size=3), rng.uniform(-angle, angle)),
        "euler": rng.uniform(-angle, angle, 3),
        "xyaxes": rng.normal(size=6),
        "zaxis": rng.normal(size=3),
    }
    return f' {attribute}="{format_numbers(values[attribute])}"'


def random_mjcf(rng: np.random.Generator, bodies: int = 12) -> str:
    """A tree with several joints per body, anchors, refs, frames and default classes."""
    degrees = bool(rng.random() < 0.5)
    compiler = ET.Element("compiler", angle="degree" if degrees else "radian")
    letters = "".join(rng.permutation(list("xyz")))
    cases = zip(letters, rng.random(3) < 0.5, strict=True)
    compiler.set("eulerseq", "".join(c.upper() if up else c for c, up in cases))
    children: list[list[int]] = [[] for _ in range(bodies)]
    tops = [0]
    for k in range(1, bodies):
        parent = int(rng.integers(-1, k))
        (tops if parent < 0 else children[parent]).append(k)

    def body(k: int, top: bool) -> str:
        name = f' name="part{k}"' if rng.random() < 0.9 else ""
        childclass = (
            f' childclass="{rng.choice(["one", "two", "inner"])}"' if rng.random() < 0.4 else ""
        )
        pose = f'pos="{format_numbers(rng.normal(size=3))}"{random_orientation(rng, degrees)}'
        n = int(rng.integers(0, 4))
        joints = [joint(f"{k}_{i}", last=i == n - 1) for i in range(n)]
        if top and rng.random() < 0.4:
            joints = [f'<freejoint name="free{k}"/>']
        inner = [body(child, False) for child in children[k]]
        # Joints may follow the bodies that they carry along.
        return framed(f"<body{name}{childclass} {pose}>{''.join(inner + joints)}</body>")

    def joint(label: str, last: bool) -> str:
        unit = 60.0 if degrees else 1.0
        name = f' name="joint{label}"' if rng.random() < 0.8 else ""
        # MuJoCo has no rotation after a ball.
        kind = str(rng.choice(["", "hinge", "slide", "ball" if last else "slide"]))
        text = f"<joint{name}" + (f' type="{kind}"' if kind else "")
        if rng.random() < 0.6:
            text += f' axis="{format_numbers(rng.normal(size=3))}"'
        if rng.random() < 0.5:
            text += f' pos="{format_numbers(rng.normal(size=3))}"'
        if rng.random() < 0.3 and kind != "ball":
            text += f' ref="{format_numbers(unit * rng.uniform(-1, 1))}"'
        if rng.random() < 0.5 and kind != "ball":
            text += f' range="{format_numbers(unit * np.array([-rng.random(), rng.random()]))}"'
        if rng.random() < 0.3:
            text += f' class="{rng.choice(["main", "one", "two", "inner"])}"'
        return framed(text + "/>")

    def framed(text: str) -> str:
        if rng.random() < 0.8:
            return text
        childclass = f' childclass="{rng.choice(["one", "two"])}"' if rng.random() < 0.5 else ""
        pose = f'pos="{format_numbers(rng.normal(size=3))}"{random_orientation(rng, degrees)}'
        return f"<frame{childclass} {pose}>{text}</frame>"

    defaults = (
        '<default><default class="one"><joint axis="1 0 0" pos=".1 .2 .3"/><default class="inner">'
        '<joint pos="0 0 0" ref=".5"/></default></default>'
        '<joint axis="0 1 0"/><default class="two"><joint axis="0 -1 1"/></default></default>'
    )
    world = "".join(body(k, True) for k in tops)
    settings = ET.tostring(compiler, encoding="unicode")
    return f"<mujoco><worldbody>{world}</worldbody>{defaults}{settings}</mujoco>"
