"""Frames that are parallel to the world at rest, in which BVH and Acclaim files describe bones.

These formats know no rotation before or after a joint. With W the rotation of a bone in the world
at q = 0, λ its parent, and Q the rotation of its joint, the file's frame is R Wᵀ, and what a file
needs of a bone is

    G = W_λ pre                      axes of the joint
    W_λ offset + G shift(q)          position
    L = G Q(q) Gᵀ = W_λ R_λᵀ R Wᵀ    rotation

all three in the parent's frame of the file.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from exactik.model import Joint, Skeleton
from exactik.typing import Array

__all__ = [
    "NUMBER",
    "AtRest",
    "at_rest",
    "axis_letter",
    "local_places",
    "local_rotations",
]

NUMBER = "%.12g"  # a micrometre at a thousand kilometres, a nanoradian after ten turns


class AtRest(NamedTuple):
    """A skeleton at q = 0."""

    rotations: Array  #      W of all bones, (n, 3, 3)
    above: Array  #          W_λ, (n, 3, 3)
    axes: Array  #           G, (n, 3, 3)
    ends: frozenset[str]  #  bones "<parent>_end" that are the end of their parent and nothing else


def at_rest(skeleton: Skeleton) -> AtRest:
    """Return the frames of a skeleton at q = 0, quaternions at 1."""
    q = np.zeros(skeleton.nq)
    q[[at for _, at in skeleton.quaternions]] = 1.0
    rotations = skeleton.forward(q).rotations
    above = np.concatenate([rotations, np.eye(3)[None]])[skeleton.parents]
    pre = np.array([np.eye(3) if b.pre is None else np.array(b.pre) for b in skeleton.bones])
    parents = {bone.parent for bone in skeleton.bones}
    ends = {
        bone.name
        for bone in skeleton.bones
        if bone.parent is not None
        and bone.name == f"{bone.parent}_end"
        and bone.joint.kind == "fixed"
        and bone.name not in parents
    }
    return AtRest(rotations, above, above @ pre, frozenset(ends))


def axis_letter(joint: Joint) -> str:
    """Return "X", "Y" or "Z" for a hinge or slider with a coordinate axis, else nothing."""
    return "".join("XYZ"[a] for a, part in enumerate(joint.axis or ()) if part == 1.0)


def local_places(skeleton: Skeleton, rest: AtRest, k: int, q: Array) -> Array:
    """Return W_λ offset + G shift(q) of bone k [m], (T, 3) or (1, 3), for q (T, nq)."""
    joint, at = skeleton.bones[k].joint, int(skeleton.tree.first_q[k + 1])
    places = (rest.above[k] @ np.array(skeleton.bones[k].offset))[None]
    if joint.kind == "prismatic":
        return places + q[:, at, None] * (rest.axes[k] @ np.array(joint.axis))
    if joint.kind in ("free", "translation"):
        return places + q[:, at : at + 3] @ rest.axes[k].T
    return places


def local_rotations(skeleton: Skeleton, rest: AtRest, bones: Sequence[int], q: Array) -> Array:
    """Return L of these bones, (T, len(bones), 3, 3), for q (T, nq)."""
    rotations = skeleton.forward(q).rotations
    turned = rotations[:, bones] @ np.swapaxes(rest.rotations[bones], -1, -2)
    for i, k in enumerate(bones):
        if (parent := int(skeleton.parents[k])) >= 0:
            turned[:, i] = rest.above[k] @ np.swapaxes(rotations[:, parent], -1, -2) @ turned[:, i]
    return turned
