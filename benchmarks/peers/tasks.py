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
from benchmarks.peers.judge import POSITION_TOLERANCE, ROTATION_TOLERANCE, Judge
from benchmarks.peers.protocol import Arm, Figure
from benchmarks.robots import SHARED, START_COUNT, URDF, draw_coordinates
from benchmarks.support.hdm05 import LOCK, TAKES, Take, find_take_folder, load_take
from benchmarks.support.tracking_peers import list_hinges_and_sliders
from benchmarks.support.urdf import add_inertia, rpy_from_matrix, strip_urdf
from exactik.typing import Array

TRACKED_FRAMES, COLD_FRAMES = 300, 60
THIRD_TAKE = "06-03_03"  # no setting of another tool was chosen on it
WIDE_LIMIT = 100.0  # [rad or m] for programs that want a limit


@dataclass(frozen=True)
class Task:
    """A task, and how the page names it."""

    name: str
    title: str
    definition: Arm | Figure


def make_arm_tasks(folder: Path) -> Iterator[Task]:
    """Yield the poses of the protocol, others of the same arm, and two more arms."""
    panda = SHARED / "peers" / "panda.urdf"
    if not panda.is_file():
        return
    file, path = np.load(SHARED / "peers" / "panda_targets.npz"), _write_bare_urdf(panda, folder)
    starts = np.concatenate([file["q_start"][:, None], file["restarts"]], axis=1)[:, :START_COUNT]
    yield Task("panda", "Panda", _make_arm(path, "panda_hand_tcp", file["T"], starts))
    yield Task("panda-2", "Panda, other poses", _draw_arm(path, "panda_hand_tcp", 7))
    for name, file, tool in (("UR5", "ur5_robot", "tool0"), ("iiwa14", "iiwa14", "ee_link")):
        path = _write_bare_urdf(URDF / f"{file}.urdf", folder)
        yield Task(name.lower(), name, _draw_arm(path, tool, 8))


def _write_bare_urdf(path: Path, folder: Path) -> Path:
    out = folder / path.name
    out.write_text(strip_urdf(path, mujoco=False), encoding="utf-8")
    return out


def _make_arm(path: Path, tool: str, targets: Array, starts: Array) -> Arm:
    judge = Judge(path)
    return Arm(
        urdf=path,
        tool=tool,
        joints=judge.joints,
        limits=judge.limits,
        targets=targets,
        starts=starts,
        tolerance=(POSITION_TOLERANCE, ROTATION_TOLERANCE),
    )


def _draw_arm(path: Path, tool: str, seed: int, count: int = 200) -> Arm:
    """Return poses reached by random coordinates, and random starts."""
    judge, rng = Judge(path), np.random.default_rng(seed)
    goals = draw_coordinates(judge, count, rng)
    starts = draw_coordinates(judge, count * START_COUNT, rng).reshape(count, START_COUNT, -1)
    targets = np.array([judge.forward(q, [tool])[0] for q in goals])
    return _make_arm(path, tool, targets, starts)


def make_figure_tasks(folder: Path) -> Iterator[Task]:
    """Yield takes of HDM05 with the markers fixed to the bones where they are on average."""
    for name in (*TAKES, THIRD_TAKE):
        source = find_take_folder(name)
        if source is not None:
            path = folder / f"{name}.urdf"
            yield Task(f"hdm05-{name}", f"HDM05 {name}", make_figure(load_take(source, name), path))


def make_figure(take: Take, path: Path) -> Figure:
    """Return the task of a take, its figure written to `path`."""
    free = find_free_dofs(take.skeleton)
    path.write_text(make_figure_urdf(take.skeleton, free), encoding="utf-8")
    judge = Judge(path)
    assert judge.joints == [take.skeleton.dof_names[k] for k in free]
    first = len(take) // 2
    places, q = take.markers.positions, take.q[:, free]
    names = list(take.markers.names)
    # The same figure for the judge as for exactik.
    pose = take.skeleton.forward(take.q[0])
    ours = np.array([pose.point(*take.skeleton.marker(name)) for name in names])
    np.testing.assert_allclose(judge.forward(q[0], names)[:, :3, 3], ours, atol=1e-9)
    frames = np.arange(first, min(first + TRACKED_FRAMES, len(take)))
    cold = np.linspace(0, len(take) - 1, COLD_FRAMES).astype(np.int64)
    starts = np.array([_align_rest_pose(judge, names, places[t]) for t in cold])
    return Figure(
        urdf=path,
        joints=judge.joints,
        markers=names,
        take=take.name,
        frames=frames,
        places=places[frames],
        first=q[first],
        cold=cold,
        cold_places=places[cold],
        starts=starts,
    )


def _align_rest_pose(judge: Judge, names: list[str], places: Array) -> Array:
    """Return the pose at rest, moved as a rigid body to the markers."""
    q = np.zeros(len(judge.joints))
    rest = judge.forward(q, names)[:, :3, 3]
    rest_mean, mean = rest.mean(axis=0), places.mean(axis=0)
    order = "".join(name[-1].upper() for name in judge.joints[3:6])  # such as root.rz
    turn, _ = Rotation.align_vectors(places - mean, rest - rest_mean)
    q[:3], q[3:6] = mean - turn.apply(rest_mean), turn.as_euler(order)
    moved = judge.forward(q, names)[:, :3, 3]
    np.testing.assert_allclose(moved, turn.apply(rest - rest_mean) + mean, atol=1e-9)
    return q


def find_free_dofs(skeleton: ik.Skeleton) -> NDArray[np.int64]:
    """Return the dofs that are not locked in these takes."""
    problem = ik.Problem(skeleton, [ik.PostureGoal(skeleton.neutral())], lock=LOCK)
    return np.flatnonzero(~problem.locked)


def make_figure_urdf(skeleton: ik.Skeleton, free: Iterable[int]) -> str:
    """Return a figure as URDF: a hinge or a slider for every free dof, a link for every marker."""
    robot = ET.Element("robot", name=skeleton.name)
    free = set(free)

    def link(name: str) -> None:
        add_inertia(ET.SubElement(robot, "link", name=name))

    def joint(name: str, kind: str, parent: str, child: str, x: Array, R: Array) -> ET.Element:
        link(child)
        element = ET.SubElement(robot, "joint", name=name, type=kind)
        ET.SubElement(element, "parent", link=parent)
        ET.SubElement(element, "child", link=child)
        ET.SubElement(
            element, "origin", xyz=_format_numbers(x), rpy=_format_numbers(rpy_from_matrix(R))
        )
        return element

    link("world_origin")
    ends: dict[str | None, str] = {None: "world_origin"}
    dof = 0
    for bone in skeleton.bones:
        link_name, x = ends[bone.parent], np.array(bone.offset, dtype=float)
        R = np.eye(3) if bone.pre is None else np.array(bone.pre, dtype=float)
        for kind, axis in list_hinges_and_sliders(bone.joint):
            if dof in free:
                name = skeleton.dof_names[dof]
                joint_type = "prismatic" if kind == "SLIDE" else "revolute"
                element = joint(name, joint_type, link_name, f"{name}.link", x, R)
                ET.SubElement(element, "axis", xyz=_format_numbers(axis))
                ET.SubElement(
                    element,
                    "limit",
                    lower=f"{-WIDE_LIMIT}",
                    upper=f"{WIDE_LIMIT}",
                    effort="1000",
                    velocity="1000",
                )
                link_name, x, R = f"{name}.link", np.zeros(3), np.eye(3)
            dof += 1
        R = R if bone.post is None else R @ np.array(bone.post, dtype=float)
        joint(f"{bone.name}.end", "fixed", link_name, bone.name, x, R)
        ends[bone.name] = bone.name
    for name in skeleton.markers:
        carrier, point = skeleton.marker(name)
        joint(f"{name}.fixed", "fixed", carrier, name, np.array(point, dtype=float), np.eye(3))
    return ET.tostring(robot, encoding="unicode")


def _format_numbers(values: Array | tuple[float, ...]) -> str:
    return " ".join(repr(float(x)) for x in values)
