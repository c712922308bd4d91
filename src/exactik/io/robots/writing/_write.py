"""Write any skeleton as URDF (`_tree` has what becomes of its bones and joints).

Masses and their centres are written where they are known, shapes are not. A skeleton has no moments
of inertia, and parsers demand some beside a mass: they are those of a ball of water.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from html import escape

import numpy as np

from exactik.errors import FileError
from exactik.io._files import open_atomic
from exactik.io.robots import NO_LIMIT
from exactik.io.robots.writing._tree import WrittenJoint, make_urdf_tree
from exactik.model import BoneMass, Skeleton
from exactik.spatial import euler_angles

__all__ = ["write_urdf"]

WATER_DENSITY = 1000.0  # [kg/m³] that of bodies and, within a factor of three, of most robots


def write_urdf(skeleton: Skeleton, path: str, *, markers: bool = False) -> None:
    """Write a skeleton as URDF.

    Args:
        skeleton: what to write.
        path: where.
        markers: whether to write them too, as links that do not move.
    """
    tree = make_urdf_tree(skeleton, markers)
    links = [tree.root, *(joint.child for joint in tree.joints)]
    for name in (skeleton.name, *links, *(joint.name for joint in tree.joints)):
        if name != name.strip() or not name.isprintable():
            fault = f"the name {name!r} has blanks around it or letters that cannot be printed"
            raise FileError(path, f"cannot be written: {fault}")
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
    # 2/5 m r² of the radius at which 4/3 π r³ weighs m.
    moment = 0.4 * mass.mass * (0.75 * mass.mass / (math.pi * WATER_DENSITY)) ** (2.0 / 3.0)
    on, off = f'"{moment!r}"', '"0.0"'
    return [
        f'  <link name="{escape(name)}">',
        "    <inertial>",
        f'      <origin xyz="{_format_numbers(mass.center)}" rpy="0.0 0.0 0.0"/>',
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
    xyz, rpy = _format_numbers(joint.p_parent_child), _format_numbers(yaw_pitch_roll[::-1])
    lines.append(f'    <origin xyz="{xyz}" rpy="{rpy}"/>')
    if joint.kind in ("revolute", "prismatic"):
        lines.append(f'    <axis xyz="{_format_numbers(joint.axis)}"/>')
        low, high = np.clip(joint.limits, -NO_LIMIT, NO_LIMIT).tolist()
        ends = "" if is_continuous else f'lower="{low!r}" upper="{high!r}" '
        lines.append(f'    <limit {ends}effort="{NO_LIMIT}" velocity="{NO_LIMIT}"/>')
    if joint.mimics != "":
        line = f'multiplier="{joint.multiplier!r}" offset="{joint.offset!r}"'
        lines.append(f'    <mimic joint="{escape(joint.mimics)}" {line}/>')
    return [*lines, "  </joint>"]


def _format_numbers(values: Iterable[float]) -> str:
    return " ".join(repr(float(x) + 0.0) for x in values)  # + 0.0: no minus before a zero
