"""The tree that bones form: parents first, chains from root to leaf, and the tree as text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from exactik._text import count_noun
from exactik.errors import ModelError, UnknownNameError
from exactik.model._bone import Bone

if TYPE_CHECKING:
    from exactik.model._skeleton import Skeleton


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
