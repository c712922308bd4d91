"""A skeleton as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from exactik.model._bone import Bone

if TYPE_CHECKING:
    from exactik.model._skeleton import Skeleton

__all__ = ["tree_text"]


def tree_text(skeleton: Skeleton) -> str:
    """Return a tree with one bone a line: its name, joint, markers and limits."""
    children: dict[str | None, list[Bone]] = {}
    for bone in skeleton.bones:
        children.setdefault(bone.parent, []).append(bone)
    marked = [bone for bone, _ in skeleton.markers.values()]
    lines = [
        f"{skeleton.name}: {len(skeleton.bones)} bones, {skeleton.nv} dofs, "
        f"{_count(len(marked), 'marker')}"
    ]

    stack = [(root, "", "") for root in reversed(children[None])]  # bone, its stem, its children's
    while len(stack) > 0:  # not recursive: a chain may be a thousand bones long
        bone, stem, below = stack.pop()
        lines.append(f"{stem}{bone.name}  [{_notes(bone, marked.count(bone.name))}]")
        for n, child in enumerate(reversed(children.get(bone.name, []))):
            branch, deeper = ("└─ ", "   ") if n == 0 else ("├─ ", "│  ")
            stack.append((child, below + branch, below + deeper))
    return "\n".join(lines)


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}{'' if number == 1 else 's'}"


def _notes(bone: Bone, markers: int) -> str:
    notes = [str(bone.joint)]
    if markers > 0:
        notes.append(_count(markers, "marker"))
    limited = sum(bool(np.isfinite(pair).any()) for pair in bone.joint.limits)
    if limited > 0:
        notes.append(f"{limited} of {_count(bone.joint.nv, 'dof')} limited")
    return ", ".join(notes)
