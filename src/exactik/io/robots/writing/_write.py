"""Write any skeleton as URDF (`_tree` has what becomes of its bones and joints).

Masses and their centres are written where they are known, shapes are not. A skeleton has no moments
of inertia, and parsers demand some beside a mass: they are those of a ball of water.
"""

from __future__ import annotations

import math
from html import escape

import numpy as np

from exactik._text import count_noun, join_names
from exactik.io._files import open_atomic
from exactik.io.formats import find_format
from exactik.io.robots import NO_LIMIT, JointPlace, read_robot
from exactik.io.robots.writing._axes import is_ball
from exactik.io.robots.writing._text import compute_moment, format_numbers, require_plain_names
from exactik.io.robots.writing._tree import (
    UrdfTree,
    WrittenJoint,
    compute_joint_values,
    make_urdf_tree,
)
from exactik.model import BoneMass, Skeleton
from exactik.spatial import euler_angles
from exactik.typing import Array


def write_urdf(skeleton: Skeleton, path: str, *, markers: bool = False) -> None:
    """Write a skeleton as URDF.

    Args:
        markers: whether to write them too, as links that do not move.
    """
    tree = make_urdf_tree(skeleton, markers)
    links = [tree.root, *(joint.child for joint in tree.joints)]
    require_plain_names(path, [skeleton.name, *links, *(joint.name for joint in tree.joints)])
    followed = {joint.mimics for joint in tree.joints}
    lines = ['<?xml version="1.0" encoding="utf-8"?>', "<!-- written by exactik -->"]
    lines.append(f'<robot name="{escape(skeleton.name)}">')
    for name in links:
        lines += _format_link(name, skeleton.masses.get(name))
    for joint in tree.joints:
        lines += _format_joint(joint, is_followed=joint.name in followed)
    with open_atomic(path) as file:
        file.write("\n".join([*lines, "</robot>", ""]))


def _format_link(name: str, mass: BoneMass | None) -> list[str]:
    """Return the lines of a link."""
    if mass is None:
        return [f'  <link name="{escape(name)}"/>']
    on, off = f'"{compute_moment(mass.mass)!r}"', '"0.0"'
    return [
        f'  <link name="{escape(name)}">',
        "    <inertial>",
        f'      <origin xyz="{format_numbers(mass.center)}" rpy="0.0 0.0 0.0"/>',
        f'      <mass value="{mass.mass!r}"/>',
        f"      <inertia ixx={on} iyy={on} izz={on} ixy={off} ixz={off} iyz={off}/>",
        "    </inertial>",
        "  </link>",
    ]


def _format_joint(joint: WrittenJoint, is_followed: bool) -> list[str]:
    """Return the lines of a joint."""
    free = joint.limits == (-math.inf, math.inf)
    # Some readers have two numbers for a joint without limits, which nothing can follow.
    is_continuous = joint.kind == "revolute" and free and not is_followed and joint.mimics == ""
    kind = "continuous" if is_continuous else joint.kind
    lines = [
        f'  <joint name="{escape(joint.name)}" type="{kind}">',
        f'    <parent link="{escape(joint.parent)}"/>',
        f'    <child link="{escape(joint.child)}"/>',
    ]
    yaw_pitch_roll = euler_angles("ZYX", joint.R_parent_child)
    xyz, rpy = format_numbers(joint.p_parent_child), format_numbers(yaw_pitch_roll[::-1])
    lines.append(f'    <origin xyz="{xyz}" rpy="{rpy}"/>')
    if joint.kind in ("revolute", "prismatic"):
        lines.append(f'    <axis xyz="{format_numbers(joint.axis)}"/>')
        low, high = np.clip(joint.limits, -NO_LIMIT, NO_LIMIT).tolist()
        ends = "" if is_continuous else f'lower="{low!r}" upper="{high!r}" '
        speed = joint.max_speed if 0.0 < joint.max_speed < NO_LIMIT else NO_LIMIT  # NaN: 0 · inf
        lines.append(f'    <limit {ends}effort="{NO_LIMIT}" velocity="{speed!r}"/>')
    if joint.mimics != "":
        line = f'multiplier="{joint.multiplier!r}" offset="{joint.offset!r}"'
        lines.append(f'    <mimic joint="{escape(joint.mimics)}" {line}/>')
    return [*lines, "  </joint>"]


POSES = 100  # random ones in which places are compared, for a figure that is told to two digits
SPAN = 1.0  # rad or m about the neutral pose that they take where a dof has no limit
MAX_NAMES = 3  # in a sentence


def find_robot_losses(old: Skeleton, new: Skeleton, path: str) -> list[str]:
    """Return what was lost, a sentence each.

    Args:
        old: what was written.
        new: what was read from the file.
    """
    form, tree, lost = find_format(path), make_urdf_tree(old), list[str]()
    name = "" if form is None else form.name
    kept = [name for name in old.markers if name in new.bone_names]
    extra = [bone for bone in new.bone_names if bone not in (*old.bone_names, *kept)]
    if len(extra) > 0:
        count = count_noun(len(extra), "bone")
        lost.append(f"the number of bones: {name} needs {count} more, {_quote(extra)}")
    balls = [b.name for b in old.bones if is_ball(b.joint) and b.joint.kind != "free"]
    if len(balls) > 0:
        count = count_noun(len(balls), "ball joint")
        lost.append(f"the coordinates of {count}, {_quote(balls)}: they become three hinges each")
    held = [d for d in old.dof_names if d not in tree.carriers and not _is_of_ball(old, d)]
    if len(held) > 0:
        count = count_noun(len(held), "dof")
        lost.append(f"{count}, held: they move nothing on a line, {_quote(held)}")
    if tree.curves > 0:
        count = count_noun(tree.curves, "motion")
        off = _find_distance(old, new, tree, read_robot(path, None, floating=False).joints)
        text = f"curves of {count} that follow coordinates: {name} has lines here"
        lost.append(f"{text}, and bones are up to {off:.2g} m from their places")
    limited = [
        dof
        for dof, low, high in zip(old.dof_names, old.lower, old.upper, strict=True)
        if np.isfinite([low, high]).any()
    ]
    unkept = [dof for dof in limited if dof not in tree.carriers]
    if len(unkept) > 0:
        which = f"{len(unkept)} of {len(limited)}" if len(unkept) < len(limited) else "all"
        lost.append(f"limits of {count_noun(len(unkept), 'dof')}, {which} that had some")
    for markers, what in (
        (kept, "as markers: they become bones that do not move"),
        ([name for name in old.markers if name not in kept], "of the skeleton"),
    ):
        if len(markers) > 0:
            lost.append(f"{count_noun(len(markers), 'marker')} {what}, {_quote(markers)}")
    return lost


def _find_distance(
    old: Skeleton, new: Skeleton, tree: UrdfTree, joints: dict[str, JointPlace]
) -> float:
    """Return how far bones are from their places [m], the most over random poses."""
    rng = np.random.default_rng(0)
    neutral = old.neutral()
    plain = old.plain_q >= 0
    low = np.maximum(old.lower[plain], neutral[old.plain_q[plain]] - SPAN)
    high = np.minimum(old.upper[plain], neutral[old.plain_q[plain]] + SPAN)
    index = [new.bone_index(bone) for bone in old.bone_names]
    worst = 0.0
    for _ in range(POSES):
        q = neutral.copy()
        q[old.plain_q[plain]] = rng.uniform(low, high)
        there = new.forward(_place_values(new, compute_joint_values(tree, old, q), joints))
        apart = old.forward(q).positions - there.positions[index]
        worst = max(worst, float(np.linalg.norm(apart, axis=-1).max()))
    return worst


def _place_values(
    skeleton: Skeleton, values: dict[str, Array], joints: dict[str, JointPlace]
) -> Array:
    q = skeleton.neutral()
    for name, value in values.items():
        place = joints[name]
        q[place.q : place.q + place.nq] = value
    return q


def _is_of_ball(skeleton: Skeleton, dof: str) -> bool:
    bone = skeleton.bones[skeleton.dof_bones[skeleton.dof_names.index(dof)]]
    return is_ball(bone.joint)


def _quote(names: list[str]) -> str:
    return join_names([repr(name) for name in names], MAX_NAMES, last=", ", rest=", …")
