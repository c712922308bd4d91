"""Write any skeleton as MJCF (`_tree` has what becomes of its bones and joints), with its loops.

A loop is an equality between two sites, which have the places and turns of its ends: where bodies
are in the file then plays no part. Joints that follow others are equalities too, and speeds the
ranges of actuators of speed. Bodies without mass, which MuJoCo refuses, have next to none.
"""

from __future__ import annotations

from collections import defaultdict
from html import escape

import numpy as np

from exactik.errors import FileError
from exactik.io._files import open_atomic
from exactik.io.robots.writing._text import compute_moment, format_numbers, require_plain_names
from exactik.io.robots.writing._tree import WrittenJoint, make_urdf_tree
from exactik.model import BoneMass, Loop, Skeleton, name_loops
from exactik.spatial import wxyz_from_matrix
from exactik.typing import Array

LOOP_TAGS = {"point": "connect", "weld": "weld"}
WORLD = "world"
LEAST_MASS = 1e-9  # [kg, kg m²] that MuJoCo gives to bodies without any
SPACE = "  "
KINDS = {"revolute": "hinge", "prismatic": "slide"}


def write_mjcf(skeleton: Skeleton, path: str) -> None:
    """Write a skeleton as MJCF; loops of distances, planes and lines, it has no words for."""
    tree = make_urdf_tree(skeleton)
    links = [tree.root, *(joint.child for joint in tree.joints)]
    loops = {n: loop for n, loop in name_loops(skeleton.loops).items() if loop.kind in LOOP_TAGS}
    require_plain_names(path, [skeleton.name, *links, *(j.name for j in tree.joints), *loops])
    if WORLD in skeleton.bone_names:
        raise FileError(path, f"cannot be written: {WORLD!r} is no name for a bone in MJCF")
    children: dict[str, list[WrittenJoint]] = defaultdict(list)
    for joint in tree.joints:
        if joint.kind == "floating" and joint.parent in skeleton.bone_names:
            fault = f"{joint.name!r} floats on {joint.parent!r}: free joints are the world's"
            raise FileError(path, f"cannot be written: {fault} in MJCF")
        children[joint.parent].append(joint)
    sites: dict[str, list[str]] = defaultdict(list)
    for name, loop in loops.items():
        for bone, site in _format_sites(name, loop):
            sites[WORLD if bone is None else bone].append(site)
    root = [] if tree.root in skeleton.bone_names else children.pop(tree.root)
    body = [*sites[WORLD]]
    if len(root) == 0:  # a bone that stands still
        body += _format_body(tree.root, "", [], skeleton, children, sites)
    for joint in root:
        body += _format_bodies(joint, skeleton, children, sites)
    bound = f'boundmass="{LEAST_MASS}" boundinertia="{LEAST_MASS}"'
    lines = [
        "<!-- written by exactik -->",
        f'<mujoco model="{escape(skeleton.name)}">',
        f'{SPACE}<compiler angle="radian" autolimits="true" {bound}/>',
        f"{SPACE}<worldbody>",
        *(2 * SPACE + line for line in body),
        f"{SPACE}</worldbody>",
    ]
    equalities = [_format_follower(joint) for joint in tree.joints if joint.mimics != ""]
    for name, loop in loops.items():
        own, other = (escape(end) for end in _name_sites(name))
        tag = LOOP_TAGS[loop.kind]
        equalities.append(f'<{tag} name="{escape(name)}" site1="{own}" site2="{other}"/>')
    speeds = [
        _format_speed(j) for j in tree.joints if j.mimics == "" and 0.0 < j.max_speed < np.inf
    ]
    for tag, parts in (("equality", equalities), ("actuator", speeds)):
        if len(parts) > 0:
            inner = [2 * SPACE + part for part in parts]
            lines += [f"{SPACE}<{tag}>", *inner, f"{SPACE}</{tag}>"]
    with open_atomic(path) as file:
        file.write("\n".join([*lines, "</mujoco>", ""]))


def _format_bodies(
    joint: WrittenJoint,
    skeleton: Skeleton,
    children: dict[str, list[WrittenJoint]],
    sites: dict[str, list[str]],
) -> list[str]:
    """Return the lines of the body that a joint carries, and of all that it carries."""
    quaternion = wxyz_from_matrix(joint.R_parent_child)
    place = f' pos="{format_numbers(joint.p_parent_child)}" quat="{format_numbers(quaternion)}"'
    return _format_body(joint.child, place, _format_joint(joint), skeleton, children, sites)


def _format_body(
    name: str,
    place: str,
    joint: list[str],
    skeleton: Skeleton,
    children: dict[str, list[WrittenJoint]],
    sites: dict[str, list[str]],
) -> list[str]:
    inner = [*joint, *_format_mass(skeleton.masses.get(name)), *sites[name]]
    for below in children[name]:
        inner += _format_bodies(below, skeleton, children, sites)
    return [f'<body name="{escape(name)}"{place}>', *(SPACE + line for line in inner), "</body>"]


def _format_joint(joint: WrittenJoint) -> list[str]:
    if joint.kind == "fixed":
        return []
    name = f'name="{escape(joint.name)}"'
    if joint.kind == "floating":
        return [f"<freejoint {name}/>"]
    kind = KINDS[joint.kind]
    limits = np.clip(joint.limits, -1e9, 1e9)
    ends = f' range="{format_numbers(limits)}"' if np.isfinite(joint.limits).any() else ""
    return [f'<joint {name} type="{kind}" axis="{format_numbers(joint.axis)}"{ends}/>']


def _format_mass(mass: BoneMass | None) -> list[str]:
    if mass is None:
        return []
    moments = format_numbers([compute_moment(mass.mass)] * 3)
    place = f'pos="{format_numbers(mass.center)}" mass="{mass.mass!r}"'
    return [f'<inertial {place} diaginertia="{moments}"/>']


def _name_sites(loop: str) -> tuple[str, str]:
    return f"{loop} a", f"{loop} b"


def _format_sites(name: str, loop: Loop) -> list[tuple[str | None, str]]:
    """Return the bones that a loop holds, None for the world, each with a site."""
    R_b_a = np.eye(3) if loop.rotation is None else np.asarray(loop.rotation)
    turns: list[Array] = [np.eye(3), R_b_a]
    return [
        (
            bone,
            f'<site name="{escape(site)}" pos="{format_numbers(point)}" '
            f'quat="{format_numbers(wxyz_from_matrix(R))}"/>',
        )
        for bone, site, point, R in zip(
            (loop.a, loop.b), _name_sites(name), np.asarray(loop.points), turns, strict=True
        )
    ]


def _format_follower(joint: WrittenJoint) -> str:
    line = format_numbers([joint.offset, joint.multiplier, 0.0, 0.0, 0.0])
    names = f'joint1="{escape(joint.name)}" joint2="{escape(joint.mimics)}"'
    return f'<joint {names} polycoef="{line}"/>'


def _format_speed(joint: WrittenJoint) -> str:
    ends = format_numbers([-joint.max_speed, joint.max_speed])
    return f'<velocity joint="{escape(joint.name)}" ctrllimited="true" ctrlrange="{ends}"/>'
