"""The tasks: arms from anywhere, and markers of HDM05 on a figure that is written as URDF."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

import exactik as ik
from benchmarks.peers.judge import POSITION, ROTATION, Judge
from benchmarks.peers.protocol import Arm, Figure
from benchmarks.robots import ATTEMPTS, SHARED, URDF, random_coordinates
from benchmarks.support.hdm05 import LOCK, TAKES, Take, hdm05_folder, load_take
from benchmarks.support.tracking_peers import motions
from benchmarks.support.urdf import add_weight, bare_urdf, rpy_from_matrix
from exactik.typing import Array

FRAMES, COLD = 300, 60
FAR = 100.0  # [rad], [m] a limit for programs that want one


@dataclass(frozen=True)
class Task:
    """What is asked, and how the page names it."""

    name: str
    title: str
    asked: Arm | Figure


def arms(folder: Path) -> Iterator[Task]:
    """The poses of the protocol, others of the same arm, and two more arms."""
    panda = SHARED / "peers" / "panda.urdf"
    if not panda.is_file():
        return
    file, path = np.load(SHARED / "peers" / "panda_targets.npz"), _bare(panda, folder)
    starts = np.concatenate([file["q_start"][:, None], file["restarts"]], axis=1)[:, :ATTEMPTS]
    yield Task("panda", "Panda", _arm(path, "panda_hand_tcp", file["T"], starts))
    yield Task("panda-2", "Panda, other poses", _drawn(path, "panda_hand_tcp", 7))
    for name, file, tool in (("UR5", "ur5_robot", "tool0"), ("iiwa14", "iiwa14", "ee_link")):
        path = _bare(URDF / f"{file}.urdf", folder)
        yield Task(name.lower(), name, _drawn(path, tool, 8))


def _bare(path: Path, folder: Path) -> Path:
    out = folder / path.name
    out.write_text(bare_urdf(path, mujoco=False), encoding="utf-8")
    return out


def _arm(path: Path, tool: str, targets: Array, starts: Array) -> Arm:
    judge = Judge(path)
    return Arm(path, tool, judge.joints, judge.limits, targets, starts, (POSITION, ROTATION))


def _drawn(path: Path, tool: str, seed: int, count: int = 200) -> Arm:
    """Poses reached by random coordinates, and random starts."""
    judge, rng = Judge(path), np.random.default_rng(seed)
    goals = random_coordinates(judge, count, rng)
    starts = random_coordinates(judge, count * ATTEMPTS, rng).reshape(count, ATTEMPTS, -1)
    targets = np.array([judge.forward(q, [tool])[0] for q in goals])
    return _arm(path, tool, targets, starts)


def figures(folder: Path) -> Iterator[Task]:
    """Takes of HDM05 with the markers fixed to the bones where they are on average."""
    source = hdm05_folder()
    for name in TAKES if source is not None else ():
        assert source is not None
        path = folder / f"{name}.urdf"
        yield Task(f"hdm05-{name}", f"HDM05 {name}", figure(load_take(source, name), path))


def figure(take: Take, path: Path) -> Figure:
    """The task that a take sets, its figure written to `path`."""
    free = free_dofs(take.skeleton)
    path.write_text(figure_urdf(take.skeleton, free), encoding="utf-8")
    judge = Judge(path)
    assert judge.joints == [take.skeleton.dof_names[k] for k in free]
    first = len(take) // 2
    places, q = take.markers.positions, take.q[:, free]
    names = list(take.markers.names)
    # The same figure for the judge as for exactik.
    posed = take.skeleton.forward(take.q[0])
    ours = np.array([posed.point(*take.skeleton.marker(name)) for name in names])
    np.testing.assert_allclose(judge.forward(q[0], names)[:, :3, 3], ours, atol=1e-9)
    frames = np.arange(first, first + FRAMES)
    cold = np.linspace(0, len(take) - 1, COLD).astype(np.int64)
    starts = np.array([_brought(judge, names, places[t]) for t in cold])
    return Figure(
        path,
        judge.joints,
        names,
        take.name,
        frames,
        places[frames],
        q[first],
        cold,
        places[cold],
        starts,
    )


def _brought(judge: Judge, names: list[str], places: Array) -> Array:
    """The pose at rest, as a rigid body brought to the markers."""
    q = np.zeros(len(judge.joints))
    rest = judge.forward(q, names)[:, :3, 3]
    here, there = rest.mean(axis=0), places.mean(axis=0)
    order = "".join(name[-1].upper() for name in judge.joints[3:6])  # such as root.rz
    turn, _ = Rotation.align_vectors(places - there, rest - here)
    q[:3], q[3:6] = there - turn.apply(here), turn.as_euler(order)
    moved = judge.forward(q, names)[:, :3, 3]
    np.testing.assert_allclose(moved, turn.apply(rest - here) + there, atol=1e-9)
    return q


def free_dofs(skeleton: ik.Skeleton) -> NDArray[np.int64]:
    """Which dofs are not locked in these takes."""
    problem = ik.Problem(skeleton, [ik.PostureGoal(skeleton.neutral())], lock=LOCK)
    return np.flatnonzero(~problem.locked)


def figure_urdf(skeleton: ik.Skeleton, free: Iterable[int]) -> str:
    """A figure as URDF: a hinge or a slider for every free dof, a link for every marker."""
    robot = ET.Element("robot", name=skeleton.name)
    free = set(free)

    def link(name: str) -> None:
        add_weight(ET.SubElement(robot, "link", name=name))

    def joint(name: str, kind: str, parent: str, child: str, x: Array, R: Array) -> ET.Element:
        link(child)
        made = ET.SubElement(robot, "joint", name=name, type=kind)
        ET.SubElement(made, "parent", link=parent)
        ET.SubElement(made, "child", link=child)
        ET.SubElement(made, "origin", xyz=_text(x), rpy=_text(rpy_from_matrix(R)))
        return made

    link("world_origin")
    ends: dict[str | None, str] = {None: "world_origin"}
    dof = 0
    for bone in skeleton.bones:
        at, x = ends[bone.parent], np.array(bone.offset, dtype=float)
        R = np.eye(3) if bone.pre is None else np.array(bone.pre, dtype=float)
        for kind, axis in motions(bone.joint):
            if dof in free:
                name = skeleton.dof_names[dof]
                moved = "prismatic" if kind == "SLIDE" else "revolute"
                made = joint(name, moved, at, f"{name}.link", x, R)
                ET.SubElement(made, "axis", xyz=_text(axis))
                ET.SubElement(
                    made,
                    "limit",
                    lower=f"{-FAR}",
                    upper=f"{FAR}",
                    effort="1000",
                    velocity="1000",
                )
                at, x, R = f"{name}.link", np.zeros(3), np.eye(3)
            dof += 1
        R = R if bone.post is None else R @ np.array(bone.post, dtype=float)
        joint(f"{bone.name}.end", "fixed", at, bone.name, x, R)
        ends[bone.name] = bone.name
    for name in skeleton.markers:
        carrier, point = skeleton.marker(name)
        joint(f"{name}.fixed", "fixed", carrier, name, np.array(point, dtype=float), np.eye(3))
    return ET.tostring(robot, encoding="unicode")


def _text(values: Array | tuple[float, ...]) -> str:
    return " ".join(repr(float(x)) for x in values)
