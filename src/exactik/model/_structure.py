"""The tree that bones form, its markers and speeds, checked; its chains, and the tree as text."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from exactik._arrays import is_number, require_shape
from exactik._text import count_noun
from exactik.errors import ModelError, UnknownNameError
from exactik.model._bone import Bone

if TYPE_CHECKING:
    from exactik.model._skeleton import Skeleton


Point = tuple[float, float, float]


def order_parents_first(bones: Iterable[Bone]) -> tuple[Bone, ...]:
    """Return the bones with parents before children, else in the given order."""
    if not isinstance(bones, Iterable):
        raise ModelError(
            f"bones are of type {type(bones).__name__}; a skeleton is built of a list of Bones"
        )
    bones = tuple(bones)
    for bone in bones:
        if not isinstance(bone, Bone):
            raise ModelError(f"{bone!r} is no Bone; a skeleton is built of a list of them")
    if len(bones) == 0:
        raise ModelError("a skeleton needs at least one bone")
    by_name: dict[str, Bone] = {}
    for bone in bones:
        if bone.name in by_name:
            raise ModelError(f"two bones are named {bone.name!r}; names must be unique")
        by_name[bone.name] = bone
    ordered: dict[str, Bone] = {}
    for bone in bones:
        path: list[Bone] = []
        while bone.name not in ordered:
            if bone in path:
                cycle = " → ".join(b.name for b in [*path[path.index(bone) :], bone])
                raise ModelError(f"the bones form a cycle: {cycle}")
            path.append(bone)
            if bone.parent is None:
                break
            if bone.parent not in by_name:
                raise UnknownNameError("bone", bone.parent, by_name)
            bone = by_name[bone.parent]
        ordered.update((b.name, b) for b in reversed(path))
    return tuple(ordered.values())


def find_chains(bones: Sequence[Bone]) -> list[tuple[str, ...]]:
    """Return one chain of bone names per leaf, root first."""
    by_name = {bone.name: bone for bone in bones}
    inner = {bone.parent for bone in bones}
    chains = []
    for leaf in bones:
        if leaf.name not in inner:
            chain, bone = [leaf.name], leaf
            while bone.parent is not None:
                bone = by_name[bone.parent]
                chain.append(bone.name)
            chains.append(tuple(chain[::-1]))
    return chains


def format_tree(skeleton: Skeleton) -> str:
    """Return a tree with one bone a line: its name, joint, markers and limits."""
    children: dict[str | None, list[Bone]] = {}
    for bone in skeleton.bones:
        children.setdefault(bone.parent, []).append(bone)
    marked = [bone for bone, _ in skeleton.markers.values()]
    lines = [
        f"{skeleton.name}: {len(skeleton.bones)} bones, {skeleton.nv} dofs, "
        f"{count_noun(len(marked), 'marker')}"
    ]

    stack = [(root, "", "") for root in reversed(children[None])]  # bone, its stem, its children's
    while len(stack) > 0:  # not recursive: a chain may be a thousand bones long
        bone, stem, below = stack.pop()
        lines.append(f"{stem}{bone.name}  [{_describe_bone(bone, marked.count(bone.name))}]")
        for n, child in enumerate(reversed(children.get(bone.name, []))):
            branch, deeper = ("└─ ", "   ") if n == 0 else ("├─ ", "│  ")
            stack.append((child, below + branch, below + deeper))
    return "\n".join(lines)


def _describe_bone(bone: Bone, markers: int) -> str:
    facts = [str(bone.joint)]
    if markers > 0:
        facts.append(count_noun(markers, "marker"))
    limited = sum(bool(np.isfinite(pair).any()) for pair in bone.joint.limits)
    if limited > 0:
        facts.append(f"{limited} of {count_noun(bone.joint.nv, 'dof')} limited")
    return ", ".join(facts)


def check_marker_places(
    markers: Mapping[str, tuple[str, ArrayLike]] | None, bones: Sequence[str]
) -> dict[str, tuple[str, Point]]:
    """Return markers by name, each with its bone and its point in the bone's frame [m]."""
    markers = {} if markers is None else markers
    if not isinstance(markers, Mapping):
        raise ModelError(f"markers are {markers!r}; expected {{name: (bone, point)}}")
    known, checked = frozenset(bones), {}
    for marker, place in markers.items():
        name, (bone, point) = str(marker), _split_place(marker, place)
        if name in checked:
            raise ModelError(f"two markers are named {name!r}; names must be unique")
        if not isinstance(bone, str) or bone not in known:
            raise UnknownNameError("bone", bone, bones)
        x, y, z = require_shape(f"point of marker {name!r}", point, 3).tolist()
        checked[name] = (bone, (x, y, z))
    return checked


def _split_place(marker: object, place: object) -> tuple[str, ArrayLike]:
    if isinstance(place, tuple | list) and len(place) == 2:
        return place[0], place[1]
    raise ModelError(f"marker {marker!r} is at {place!r}; expected (bone, point)")


def check_speeds(speeds: Mapping[str, float] | None, dofs: Iterable[str]) -> dict[str, float]:
    """Return largest speeds by dof [rad/s or m/s], checked; without those that are infinite."""
    known = set(dofs)
    checked: dict[str, float] = {}
    for dof, speed in (speeds or {}).items():
        if dof not in known:
            raise UnknownNameError("dof", dof, tuple(known))
        if not is_number(speed) or not speed > 0.0:
            raise ModelError(f"the largest speed of {dof!r} is {speed!r}; expected more than zero")
        if speed < math.inf:
            checked[dof] = float(speed)
    return checked
