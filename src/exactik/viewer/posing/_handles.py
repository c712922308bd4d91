"""Places of a figure to take hold of, and which of them are there from the start.

Handles are chosen from the tree alone: its roots, and the end of every chain. Where an end is a
finger or a toe, and a hand or a foot is above it, that is the handle; likewise the head of a face:
nobody poses a body by its ten fingers, or by its tongue.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from exactik.model import Joint, Skeleton
from exactik.typing import Array

__all__ = ["Handle", "choose_handles", "head_of", "reach_of", "tip_of"]

Point = tuple[float, float, float]

MOST = 32  # handles; more cannot be told apart
ALIKE = 0.8  # of the distance of the farthest marker: those beyond make the tip together
FLOOR = 0.1  # of the figure's reach: tips so near to the lowest stand on the floor
ROUND = 3  # markers around a bone that nothing hangs on: it is a head
ROUNDNESS = 0.9  # radius of a head over the distance of its markers from their middle
DIGITS = ("finger", "thumb", "toe", "digit", "index", "mid", "ring", "pinky", "little")
LIMBS, HEAD = ("hand", "foot", "wrist", "ankle"), ("head",)


@dataclass(frozen=True, eq=False)
class Handle:
    """A point of a bone that can be dragged, and what is asked of it.

    Attributes:
        name: unique among the handles.
        bone: on which it sits.
        point: where, in the bone's frame [m].
        kind: "root", "tip" or "grab" (taken somewhere on a bone, gone when released).
        pinned: whether it is to stay where it is while others are dragged.
        oriented: whether the bone's rotation is asked for as well.
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


def reach_of(skeleton: Skeleton) -> float:
    """Return the length of the longest chain [m], from its root; what "far" means for a figure."""
    longest = 0.0
    index = {bone.name: bone for bone in skeleton.bones}
    tips = {bone: np.array(point) for bone, point in skeleton.markers.values()}
    for chain in skeleton.chains():
        end = float(np.linalg.norm(tips.get(chain[-1], np.zeros(3))))
        own = sum(float(np.linalg.norm(index[bone].offset)) for _, bone in pairwise(chain))
        longest = max(longest, end + own)
    return longest if longest > 1e-6 else 1.0


def choose_handles(skeleton: Skeleton, q: Array) -> dict[str, Handle]:
    """Return handles by name, in the pose q, (nq,).

    Where two or more tips of a figure that moves freely stand on the floor they are pinned, else
    its root is: something must stay where it is when the rest is dragged.
    """
    pose, reach = skeleton.forward(q), reach_of(skeleton)
    places: dict[str, tuple[Point, str]] = {}
    roots = [b.name for b in skeleton.bones if b.parent is None and b.joint.translates]
    for bone in roots:
        places[bone] = ((0.0, 0.0, 0.0), "root")
    for bone, point in _ends(skeleton).items():
        if bone not in places and len(places) < MOST:
            places[bone] = (point, "tip")
    points = {bone: pose.point(bone, point) for bone, (point, _) in places.items()}
    low = min((float(p[2]) for p in points.values()), default=0.0)
    moving = {b.name for b in skeleton.bones if b.joint.kind == "free"}
    standing = {
        bone
        for bone, (_, kind) in places.items()
        if kind == "tip" and points[bone][2] < low + FLOOR * reach and len(moving) > 0
    }
    standing = standing if len(standing) > 1 else set(roots) & moving
    limbs = {bone for bone in places if _says(bone, LIMBS)}
    return {
        bone: Handle(
            *(bone, bone, point, kind, bone in standing),
            *(kind == "root" or (bone in limbs and bone in standing), 1.0),
            *(points[bone], pose.rotations[skeleton.bone_index(bone)].copy()),
        )
        for bone, (point, kind) in places.items()
    }


def _says(name: str, words: tuple[str, ...]) -> bool:
    return any(word in name.lower() for word in words)


def _ends(skeleton: Skeleton) -> dict[str, Point]:
    """Return the ends of all chains: bone → point in its frame [m]."""
    joints = {bone.name: bone.joint for bone in skeleton.bones}
    chains = skeleton.chains()
    limbs = {chain: _limb(chain, joints) for chain in chains}
    above = {b for chain, limb in limbs.items() if limb is not None for b in _before(chain, limb)}
    found: dict[str, Point] = {}
    taken: set[str] = set()
    for chain in chains:
        limb = limbs[chain]
        moving = next((bone for bone in reversed(chain) if joints[bone].nv > 0), None)
        if limb is not None:
            if limb not in above:  # a thumb may hang on the wrist, the fingers on the hand
                found[limb] = (0.0, 0.0, 0.0)
        elif moving is not None and moving not in taken and moving not in limbs.values():
            taken.add(moving)  # what else is rigid with it is the same end
            found[chain[-1]] = tip_of(skeleton, chain[-1])
    return found


def _limb(chain: tuple[str, ...], joints: Mapping[str, Joint]) -> str | None:
    """Return the hand, foot or head that the end of a chain is only a part of, if any."""
    for bone in reversed(chain[1:-1]):
        if _says(bone, LIMBS) and not _says(bone, DIGITS) and joints[bone].nv > 0:
            return bone if _says(chain[-1], DIGITS) else None
        if _says(bone, HEAD) and joints[bone].nv > 0:
            below = chain[chain.index(bone) + 1 :]
            return bone if any(joints[other].nv > 0 for other in below) else None
    return None


def _before(chain: tuple[str, ...], bone: str) -> tuple[str, ...]:
    return chain[: chain.index(bone)]


def head_of(skeleton: Skeleton, bone: str) -> tuple[Array, float] | None:
    """Return the middle of a ball [m, bone], (3,), and its radius [m], if a bone is one.

    It is where markers are all around a bone that nothing hangs on.
    """
    points = np.array([p for b, p in skeleton.markers.values() if b == bone]).reshape(-1, 3)
    if len(points) < ROUND or any(child.parent == bone for child in skeleton.bones):
        return None
    middle = points.mean(axis=0)
    return middle, ROUNDNESS * float(np.linalg.norm(points - middle, axis=1).mean())


def tip_of(skeleton: Skeleton, bone: str) -> Point:
    """Return the end of a bone [m, bone]: the middle of its outermost markers, the top of a head.

    The bone's origin if it has no markers.
    """
    points = np.array([p for b, p in skeleton.markers.values() if b == bone]).reshape(-1, 3)
    if len(points) == 0:
        return (0.0, 0.0, 0.0)
    away, head = np.linalg.norm(points, axis=1), head_of(skeleton, bone)
    if head is not None and np.linalg.norm(head[0]) > 0.0:
        x, y, z = (head[0] * (1.0 + head[1] / np.linalg.norm(head[0]))).tolist()
    else:
        x, y, z = points[away >= ALIKE * away.max()].mean(axis=0).tolist()
    return (x, y, z)
