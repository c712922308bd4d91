"""Bones in an order where parents come first."""

from __future__ import annotations

from collections.abc import Sequence

from exactik.errors import ModelError, UnknownNameError
from exactik.model._bone import Bone

__all__ = ["parents_first"]


def parents_first(bones: Sequence[Bone]) -> tuple[Bone, ...]:
    """Return the bones with parents before children, else in the given order."""
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
