"""Handles of a figure, and which of them there are from the start.

Handles are chosen from the tree alone: its roots, and the end of every chain. Where an end is a
finger or a toe, and a hand or a foot is above it, that is the handle; if no bone is called so, it
is where the fingers begin. Likewise the head of a face: a body is not posed by its ten fingers, or
by its tongue. A robot's gripper is one handle, its tool,
and a tool that can be turned at will is placed with its rotation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from exactik.anatomy import LIKELY, describe_body, read_bone_name
from exactik.model import Joint, Skeleton
from exactik.studio.player.proportions import Point, compute_reach, find_tip
from exactik.studio.viewer.posing._robots import TOOL_DOFS, count_dofs_above, find_tools, is_robot
from exactik.typing import Array

MAX_HANDLES = 32  # more cannot be told apart
FLOOR_SHARE = 0.1  # of the figure's reach: tips so near to the lowest stand on the floor


@dataclass(frozen=True, eq=False)
class Handle:
    """A point of a bone that can be dragged, and its target.

    Attributes:
        name: unique among the handles.
        bone: on which it sits.
        point: where, in the bone's frame [m].
        kind: "root", "tip" or "grab" (somewhere on a bone, removed when released).
        pinned: whether it is to stay where it is while others are dragged.
        oriented: whether the bone's rotation has a target too.
        weight: how much it counts beside others, 1 by default.
        position: where the point should be [m, world], (3,).
        rotation: how the bone should be turned, R_world_bone, (3, 3).
    """

    name: str
    bone: str
    point: Point
    kind: str
    pinned: bool
    oriented: bool
    weight: float
    position: Array
    rotation: Array


def choose_handles(skeleton: Skeleton, q: Array) -> dict[str, Handle]:
    """Return handles by name, in the pose q, (nq,).

    Where two or more tips of a figure that moves freely stand on the floor they are pinned, else
    its root is: something must stay where it is when the rest is dragged.
    """
    pose, reach = skeleton.forward(q), compute_reach(skeleton)
    places: dict[str, tuple[Point, str]] = {}
    roots = [b.name for b in skeleton.bones if b.parent is None and b.joint.translates]
    for bone in roots:
        places[bone] = ((0.0, 0.0, 0.0), "root")
    robot, dofs = is_robot(skeleton), count_dofs_above(skeleton)
    ends = (_find_tools if robot else _find_body_ends)(skeleton)
    for bone, point in (ends | _find_trunk(skeleton, ends) if robot and roots else ends).items():
        if bone not in places and len(places) < MAX_HANDLES:
            places[bone] = (point, "tip")
    points = {bone: pose.point(bone, point) for bone, (point, _) in places.items()}
    low = min((float(p[2]) for p in points.values()), default=0.0)
    moving = {b.name for b in skeleton.bones if b.joint.moves_freely}
    standing = {
        bone
        for bone, (_, kind) in places.items()
        if kind == "tip" and points[bone][2] < low + FLOOR_SHARE * reach and len(moving) > 0
    }
    standing = standing if len(standing) > 1 else set(roots) & moving
    kinds = _find_kinds(skeleton)

    def can_turn(bone: str) -> bool:
        if robot:
            return dofs[bone] - dofs[skeleton.bone_names[0]] >= TOOL_DOFS
        return kinds[bone] == "limb" and bone in standing

    return {
        bone: Handle(
            name=bone,
            bone=bone,
            point=point,
            kind=kind,
            pinned=bone in standing,
            oriented=(kind == "root" or can_turn(bone)),
            weight=1.0,
            position=points[bone],
            rotation=pose.rotations[skeleton.bone_index(bone)].copy(),
        )
        for bone, (point, kind) in places.items()
    }


def _find_kinds(skeleton: Skeleton) -> dict[str, str]:
    """Return what each bone is to who poses: "limb" for a hand or foot, "head", "digit" or ""."""
    body, robot = describe_body(skeleton), is_robot(skeleton)
    kinds = {}
    for bone, role in zip(skeleton.bone_names, body.roles, strict=True):
        name, part = read_bone_name(bone), body.parts.get(f"{role.side}_{role.part}")
        # The end of a robot's arm may carry a tool: only a name makes it a hand.
        ends_limb = role.part in ("hand", "foot") and part is not None and part.bone == bone
        is_digit = role.part in ("fingers", "toes", "palm") or name.stem == "palm"
        if is_digit and name.part != "paw":
            kinds[bone] = "digit"
        elif name.part in ("hand", "foot") or (ends_limb and not robot):
            kinds[bone] = "limb"
        else:
            kinds[bone] = "head" if role.part == "head" and role.confidence >= LIKELY else ""
    return kinds


def _find_tools(skeleton: Skeleton) -> dict[str, Point]:
    """Return the ends of a robot's chains: bone → point in its frame [m]; a gripper is one."""
    tools = find_tools(skeleton)
    ends: dict[str, Point] = {}
    for bone, point in _find_chain_ends(skeleton).items():
        tool = tools.get(bone, bone)
        ends[tool] = point if tool == bone else find_tip(skeleton, tool)
    return ends


def _find_trunk(skeleton: Skeleton, ends: Mapping[str, Point]) -> dict[str, Point]:
    """Return the bone that carries a robot's arms → the middle between them, if that has no end.

    It moves against the root, and two chains or more part there; a head would be its end.
    """
    chains = [chain for chain in skeleton.chains() if not ends.keys().isdisjoint(chain)]
    dofs = count_dofs_above(skeleton)
    for bone in skeleton.bones[1:]:
        through = {c[c.index(bone.name) + 1] for c in chains if bone.name in c[:-1]}
        root = next((c[0] for c in chains if bone.name in c), bone.name)
        moves = dofs[bone.name] > dofs[root]
        below = {end for c in chains if bone.name in c for end in c[c.index(bone.name) :]}
        if len(through) < 2 or not moves or below >= set(ends):
            continue
        if any(end in below and dofs[end] == dofs[bone.name] for end in ends):
            continue
        first = [skeleton.bones[skeleton.bone_index(child)].offset for child in sorted(through)]
        x, y, z = np.mean(first, axis=0).tolist()
        return {bone.name: (x, y, z)}
    return {}


def _find_body_ends(skeleton: Skeleton) -> dict[str, Point]:
    """Return the ends of a body's chains: bone → point in its frame [m]; fingers are one."""
    ends, kinds = _find_chain_ends(skeleton), _find_kinds(skeleton)
    carriers: dict[str, list[str]] = {}  # of fingers → those of its children that lead to them
    fingers: dict[str, str] = {}
    for chain in skeleton.chains():
        k = len(chain) - 1
        while k > 0 and kinds[chain[k]] == "digit":
            k -= 1
        if chain[-1] in ends and 0 < k < len(chain) - 1:
            fingers[chain[-1]] = chain[k]
            carriers.setdefault(chain[k], []).append(chain[k + 1])
    for bone, carrier in fingers.items():
        if len(carriers[carrier]) > 1:
            del ends[bone]
            first = [skeleton.bones[skeleton.bone_index(b)].offset for b in set(carriers[carrier])]
            x, y, z = np.mean(first, axis=0).tolist()
            ends[carrier] = (x, y, z)
    return ends


def _find_chain_ends(skeleton: Skeleton) -> dict[str, Point]:
    """Return the ends of all chains: bone → point in its frame [m]."""
    joints = {bone.name: bone.joint for bone in skeleton.bones}
    chains, kinds = skeleton.chains(), _find_kinds(skeleton)
    limbs = {chain: _find_extremity(chain, joints, kinds) for chain in chains}
    above = {
        b for chain, limb in limbs.items() if limb is not None for b in chain[: chain.index(limb)]
    }
    ends: dict[str, Point] = {}
    # Bones rigid with one of these are the same end; a frame on a link that others move on is none.
    taken: set[str] = set()
    for chain in chains:
        joined = [bone for bone in chain if joints[bone].nv > 0]
        taken.update(joined[:-1])
    for chain in chains:
        limb = limbs[chain]
        moving = next((bone for bone in reversed(chain) if joints[bone].nv > 0), None)
        if limb is not None:
            if limb not in above:  # a thumb may hang on the wrist, the fingers on the hand
                ends[limb] = (0.0, 0.0, 0.0)
        elif moving is not None and moving not in taken and moving not in limbs.values():
            taken.add(moving)
            ends[chain[-1]] = find_tip(skeleton, chain[-1])
    return ends


def _find_extremity(
    chain: tuple[str, ...], joints: Mapping[str, Joint], kinds: Mapping[str, str]
) -> str | None:
    """Return the hand, foot or head that the end of a chain is part of, if any."""
    for bone in reversed(chain[1:-1]):
        if kinds[bone] == "limb" and joints[bone].nv > 0:
            return bone if kinds[chain[-1]] == "digit" else None
        if kinds[bone] == "head" and joints[bone].nv > 0:
            below = chain[chain.index(bone) + 1 :]
            return bone if any(joints[other].nv > 0 for other in below) else None
    return None
