"""A skeleton as links and the joints between them, in metres and radians, as URDF has them.

A bone is the link of its name. A joint of several motions (`_axes`) is a row of joints with a
link after each; links between have the names of the bone and of the motion. A constant motion goes
into the origin of the next joint, and `post` into that of the last: with
Rot(a, θ) · post = post · Rot(postᵀ a, θ) it turns the axis instead.

Each coordinate is the value of one joint, its carrier, or a multiple of it: of a motion of its own
bone, one that moves as it does if there is any. Other motions follow carriers by <mimic>. Free
joints whose rotation has no axes are joints of type "floating".
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from exactik.io.robots.writing._axes import AxisMotion, Line, LineFitter, find_axis_motions, is_ball
from exactik.model import Bone, Skeleton
from exactik.spatial import euler_angles, exp_rotation, wxyz_from_matrix
from exactik.typing import Array


@dataclass
class WrittenJoint:
    """A joint of the file."""

    name: str  # in the file
    kind: str  # "fixed", "revolute", "prismatic" or "floating"
    parent: str  # link
    child: str  # link
    p_parent_child: Array  # [m], (3,)
    R_parent_child: Array  # (3, 3)
    axis: Array  # unit vector in the child's frame, (3,)
    # How far it goes; None for a coordinate that the skeleton does not have
    line: Line | None = None
    limits: tuple[float, float] = (-math.inf, math.inf)  # lower and upper [rad or m]
    mimics: str = ""  # name of the joint that it follows, empty for none
    multiplier: float = 1.0  # of the value of that joint
    offset: float = 0.0  # beside it [rad or m]
    max_speed: float = math.inf  # [rad/s or m/s]


class UrdfTree(NamedTuple):
    """What is written."""

    root: str  # the link that is no child
    joints: list[WrittenJoint]  # each after the one of its parent
    # Dof of the skeleton → the joint whose value is `line.slope` times that dof's
    carriers: dict[str, WrittenJoint]
    # Bone whose rotation has no axes → the joint that floats, or three hinges
    rotations: dict[str, list[WrittenJoint]]
    curves: int  # number of motions that follow a line in place of what they do in the skeleton


def make_urdf_tree(skeleton: Skeleton, markers: bool = False) -> UrdfTree:
    """Return links and joints for a skeleton, with links for its markers if asked for."""
    maker = _TreeMaker(skeleton)
    for k in (int(k) - 1 for k in skeleton.tree.frame_order):
        if skeleton.bones[k].name != maker.root:
            maker.add_bone(skeleton.bones[k])
    maker.set_limits_and_mimics()
    if markers:
        for name, (bone, point) in skeleton.markers.items():
            link = maker.name_link(name if name not in maker.links else f"{bone}_{name}")
            maker.add_joint(link, "fixed", bone, link, np.array(point), np.eye(3))
    lines = [motion.line for row in maker.motions.values() for motion in row]
    return UrdfTree(
        root=maker.root,
        joints=maker.joints,
        carriers=maker.carriers,
        rotations=maker.rotations,
        curves=sum(line is not None and line.deviation > 0.0 for line in lines),
    )


def compute_joint_values(tree: UrdfTree, skeleton: Skeleton, q: Array) -> dict[str, Array]:
    """Return the values of the file's joints, by name, in the pose of the skeleton at q.

    Joints that follow others are left out; one that floats has a translation and a quaternion wxyz.
    """
    dofs = dict(zip(skeleton.dof_names, skeleton.plain_q.tolist(), strict=True))
    values = {
        joint.name: joint.line.slope * q[[dofs[dof]]]
        for dof, joint in tree.carriers.items()
        if joint.line is not None
    }
    pose = skeleton.forward(q)
    for name, joints in tree.rotations.items():
        k = skeleton.bone_index(name)
        bone, parent = skeleton.bones[k], int(skeleton.parents[k])
        p_world_parent, R_world_parent = np.zeros(3), np.eye(3)
        if parent >= 0:
            p_world_parent, R_world_parent = pose.positions[parent], pose.rotations[parent]
        pre, post = bone.constant_rotations
        R_world_joint = R_world_parent @ pre
        R = R_world_joint.T @ pose.rotations[k] @ post.T
        if _floats(bone):
            from_joint = pose.positions[k] - p_world_parent - R_world_parent @ bone.offset
            shift = R_world_joint.T @ from_joint
            values[joints[0].name] = np.concatenate([shift, wxyz_from_matrix(R)])
            continue
        for joint, angle in zip(joints, euler_angles("XYZ", R), strict=True):
            values[joint.name] = np.array([angle])
    return values


class _TreeMaker:
    """Makes the joints of a skeleton, bone by bone, with names that are taken once."""

    def __init__(self, skeleton: Skeleton):
        self.fitter = LineFitter(skeleton)
        self.speeds = dict(zip(skeleton.dof_names, skeleton.max_speed.tolist(), strict=True))
        self.motions = {
            bone.name: [] if _floats(bone) else find_axis_motions(bone, self.fitter)
            for bone in skeleton.bones
        }
        self.carrying = _choose_carriers(self.motions)
        self.short_names = Counter(name.rpartition(".")[2] for name in skeleton.dof_names)
        self.links = set(skeleton.bone_names)
        self.joint_names: set[str] = set()
        self.joints: list[WrittenJoint] = []
        self.carriers: dict[str, WrittenJoint] = {}
        self.rotations: dict[str, list[WrittenJoint]] = {}
        roots = [bone for bone in skeleton.bones if bone.parent is None]
        stands_still = roots[0] == Bone(roots[0].name)
        self.root = roots[0].name if len(roots) == 1 and stands_still else self.name_link("world")

    def name_link(self, name: str) -> str:
        """Return a name that no link has yet: this one, or with a number."""
        name = _make_unique(name, self.links)
        self.links.add(name)
        return name

    def add_joint(
        self, name: str, kind: str, parent: str, child: str, p: Array, R: Array
    ) -> WrittenJoint:
        """Add a joint whose child is at p, R in the parent's frame."""
        name = _make_unique(name, self.joint_names)
        self.joint_names.add(name)
        joint = WrittenJoint(
            name=name,
            kind=kind,
            parent=parent,
            child=child,
            p_parent_child=p,
            R_parent_child=R,
            axis=np.array([1.0, 0.0, 0.0]),
        )
        self.joints.append(joint)
        return joint

    def add_bone(self, bone: Bone) -> None:
        """Add the joints that lead from the link of a bone's parent to its own."""
        parent = self.root if bone.parent is None else bone.parent
        p, (R, post) = np.array(bone.offset), bone.constant_rotations
        if _floats(bone):
            child = bone.name if bone.post is None else self.name_link(f"{bone.name}_free")
            joint = self.add_joint(f"{bone.name}_free", "floating", parent, child, p, R)
            self.rotations[bone.name] = [joint]
            if bone.post is not None:
                self.add_joint(bone.name, "fixed", child, bone.name, np.zeros(3), post)
            return
        row: list[tuple[int, AxisMotion, Array, Array]] = []  # what moves, and where its joint is
        for n, motion in _put_constants_first(self.motions[bone.name]):
            line = motion.line
            if line is not None and (line.slope == 0.0 or (bone.name, n) in self.carrying):
                # The value of a carrier is a multiple of its coordinate: the rest stays behind.
                p, R = _advance(p, R, motion, line.intercept)
            if line is None or line.slope != 0.0:
                row.append((n, motion, p, R))
                p, R = np.zeros(3), np.eye(3)
        if len(row) == 0:
            self.add_joint(bone.name, "fixed", parent, bone.name, p, R @ post)
            return
        R_after = R @ post
        for place, (n, motion, p, R) in enumerate(row):
            is_last = place == len(row) - 1
            dof = self.carrying.get((bone.name, n))
            label = motion.label if dof is None else dof.removeprefix(f"{bone.name}.")
            name = f"{bone.name}_{label}"
            child = bone.name if is_last else self.name_link(name)
            if dof is not None and bone.joint.kind == "custom" and self.short_names[label] == 1:
                name = label  # a coordinate that people know by its name
            joint = self.add_joint(
                name,
                "revolute" if motion.turns else "prismatic",
                parent,
                child,
                p,
                R @ R_after if is_last else R,
            )
            joint.axis = R_after.T @ motion.axis if is_last else motion.axis
            joint.line = motion.line
            if motion.line is None:
                self.rotations.setdefault(bone.name, []).append(joint)
            if dof is not None and motion.line is not None:
                joint.line = motion.line._replace(slope=abs(motion.line.slope), intercept=0.0)
                joint.axis = math.copysign(1.0, motion.line.slope) * joint.axis
                self.carriers[dof] = joint
            parent = child

    def set_limits_and_mimics(self) -> None:
        """Let every joint whose motion has a line carry its dof or follow the one that does."""
        for joint in self.joints:
            if joint.line is None or joint.line.source is None:
                continue
            carrier = self.carriers[joint.line.source]
            ends = [
                joint.line.slope * end + joint.line.intercept
                for end in self.fitter.limits[joint.line.source]
            ]
            joint.limits = min(ends), max(ends)
            joint.max_speed = abs(joint.line.slope) * self.speeds[joint.line.source]
            if joint is not carrier:
                assert carrier.line is not None
                joint.mimics = carrier.name
                joint.multiplier = joint.line.slope / carrier.line.slope
                joint.offset = joint.line.intercept


def _choose_carriers(motions: dict[str, list[AxisMotion]]) -> dict[tuple[str, int], str]:
    """Return which motions, by bone and number, are those that coordinates are read off."""
    best: dict[str, tuple[tuple[bool, ...], tuple[str, int]]] = {}
    for bone, row in motions.items():
        for n, motion in enumerate(row):
            line = motion.line
            if line is None or line.source is None or line.slope == 0.0:
                continue
            is_own = line.source.startswith(f"{bone}.")
            is_itself = abs(line.slope) == 1.0 and line.intercept == 0.0
            rank = (is_own, line.deviation == 0.0, is_itself, motion.turns)
            if line.source not in best or rank > best[line.source][0]:
                best[line.source] = rank, (bone, n)
    return {place: dof for dof, (_, place) in best.items()}


def _put_constants_first(motions: list[AxisMotion]) -> list[tuple[int, AxisMotion]]:
    """Return numbered motions, shifts that are constant first: shifts may change places."""

    def is_later(item: tuple[int, AxisMotion]) -> bool:
        line = item[1].line
        return item[1].turns or line is None or line.slope != 0.0

    return sorted(enumerate(motions), key=is_later)


def _advance(p: Array, R: Array, motion: AxisMotion, value: float) -> tuple[Array, Array]:
    """Return the frame p, R after a motion has gone so far."""
    if motion.turns:
        return p, R @ exp_rotation(value * motion.axis)
    return p + R @ (value * motion.axis), R


def _floats(bone: Bone) -> bool:
    """Return whether a bone's joint is one of type "floating"."""
    return bone.joint.kind == "free" and is_ball(bone.joint)


def _make_unique(name: str, taken: set[str]) -> str:
    number, chosen = 1, name
    while chosen in taken:
        number += 1
        chosen = f"{name}_{number}"
    return chosen
