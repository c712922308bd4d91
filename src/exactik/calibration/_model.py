"""A figure as a function of its size: scales of bones and places of markers.

    x_m = s_b l_m + d_m                          place of marker m in its bone b
    y_m = p_b + R_b x_m                          in the world
    p_c = p_b + R_b (s_b offset_c + pre d(q))    joint centre of a child c of b

s_b multiplies what is attached to bone b, so that the bone grows about its own joint: the joint
centres of its children and its markers. What a joint shifts by, and where a root stands, are not
scaled. The parameters are

    θ = (a, d)    s_b = exp(a_g) for all bones b of a group g;  d_m for the markers that may move

and with v_bm the way from bone b towards marker m, which is the offset of the next bone on the path
or, in the marker's own bone, l_m,

    ∂y_m/∂a_g = Σ_{b in g, on the path of m} s_b R_b v_bm          ∂y_m/∂d_m = R_b
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from exactik.errors import ModelError
from exactik.model import Bone, Skeleton
from exactik.typing import Array, BoolArray, IntArray

__all__ = ["SCALES", "ScaledSkeleton", "find_mirrored_bone", "make_scaled_skeleton"]


SCALES = ("bone", "symmetric", "global")
SIDES = (("l_", "r_"), ("left", "right"), ("l", "r"))  # how names of bones begin, longest first
ENDS = (("_l", "_r"), (".l", ".r"), ("_left", "_right"), (".left", ".right"), ("left", "right"))


@dataclass(frozen=True, eq=False)
class ScaledSkeleton:
    """What of a skeleton may change.

    Attributes:
        skeleton: before.
        names: of the markers in use, its own names, (M,).
        bone: index of each marker's bone, (M,).
        place: of each marker in its bone before, l [m], (M, 3).
        groups: names of the bones that share a scale.
        group: of each bone, (n_bones,); −1 where there is nothing to scale.
        moves: whether a marker's place may change, (M,).
    """

    skeleton: Skeleton
    names: tuple[str, ...]
    bone: IntArray
    place: Array
    groups: tuple[tuple[str, ...], ...]
    group: IntArray
    moves: BoolArray

    @property
    def size(self) -> int:
        """Number of parameters."""
        return len(self.groups) + 3 * int(self.moves.sum())

    def bone_scales(self, theta: Array) -> Array:
        """Return s of every bone, (n_bones,)."""
        logs = np.append(theta[: len(self.groups)], 0.0)
        return np.exp(logs[self.group])

    def shifts(self, theta: Array) -> Array:
        """Return d of every marker in use [m, its bone], (M, 3)."""
        d = np.zeros((len(self.names), 3))
        d[self.moves] = theta[len(self.groups) :].reshape(-1, 3)
        return d

    def places(self, theta: Array) -> Array:
        """Return x of every marker in use [m, its bone], (M, 3)."""
        return self.bone_scales(theta)[self.bone, None] * self.place + self.shifts(theta)

    def build(self, theta: Array) -> Skeleton:
        """Return the skeleton of these parameters; markers not in use grow with their bones."""
        scale, places = self.bone_scales(theta), self.places(theta)
        old, bones = self.skeleton, []
        for k, bone in enumerate(old.bones):
            parent = int(old.parents[k])
            factor = 1.0 if parent < 0 else float(scale[parent])
            offset = factor * np.asarray(bone.offset)
            bones.append(
                Bone(
                    *(bone.name,),
                    **{"parent": bone.parent, "offset": offset},
                    **{"pre": bone.pre, "joint": bone.joint, "post": bone.post},
                )
            )
        own = dict(zip(self.names, places, strict=True))
        markers = {
            name: (bone, own.get(name, scale[old.bone_index(bone)] * np.asarray(point)))
            for name, (bone, point) in old.markers.items()
        }
        return Skeleton(old.name, bones, markers)

    @cached_property
    def ways(self) -> Array:
        """v: the way from each bone towards each marker [m, the bone], (n_bones, M, 3)."""
        skeleton = self.skeleton
        ways = np.zeros((len(skeleton.bones), len(self.names), 3))
        for m, k in enumerate(self.bone.tolist()):
            ways[k, m] = self.place[m]
            while (parent := int(skeleton.parents[k])) >= 0:
                ways[parent, m] = skeleton.bones[k].offset
                k = parent
        return ways

    def by_scales(self, theta: Array, rotations: Array) -> Array:
        """Return ∂y/∂a [m, world], (F, M, 3, groups).

        Args:
            theta: parameters.
            rotations: R_world_bone, (F, n_bones, 3, 3).
        """
        scale = self.bone_scales(theta)
        out = np.zeros((len(rotations), len(self.names), 3, len(self.groups)))
        for k in np.flatnonzero((self.group >= 0) & self.ways.any(axis=(1, 2))):
            way = scale[k] * self.ways[k]
            out[..., self.group[k]] += np.einsum("fij,mj->fmi", rotations[:, k], way)
        return out

    def with_groups(self, kind: str) -> ScaledSkeleton:
        """Return the same with scales of another kind, see `SCALES`; "none" for none."""
        groups = _groups(self.skeleton, kind)
        return replace(self, groups=groups, group=_numbers(self.skeleton, groups))

    def with_moves(self, moves: BoolArray) -> ScaledSkeleton:
        """Return the same with other markers that may move."""
        return replace(self, moves=moves)


def make_scaled_skeleton(
    skeleton: Skeleton, names: Sequence[str], kind: str, fixed: Sequence[str] = ()
) -> ScaledSkeleton:
    """Return what may change of a skeleton.

    Args:
        skeleton: the figure.
        names: of the markers in use.
        kind: of scales, one of `SCALES` or "none".
        fixed: markers that stay where they are, but for the scale of their bone.
    """
    if kind not in (*SCALES, "none"):
        expected = ", ".join(map(repr, SCALES))
        raise ModelError(f"scale is {kind!r}; it must be True, False, {expected}")
    own = [skeleton.marker(name) for name in names]
    bone = np.array([skeleton.bone_index(b) for b, _ in own], dtype=np.int64)
    place = np.array([point for _, point in own], dtype=float).reshape(-1, 3)
    moves = np.array([name not in fixed for name in names], dtype=bool)
    groups = _groups(skeleton, kind)
    return ScaledSkeleton(
        skeleton, tuple(names), bone, place, groups, _numbers(skeleton, groups), moves
    )


def _groups(skeleton: Skeleton, kind: str) -> tuple[tuple[str, ...], ...]:
    """Return the bones that share a scale, those left out with which nothing would grow."""
    grows = np.zeros(len(skeleton.bones), dtype=bool)
    grows[[skeleton.bone_index(bone) for bone, _ in skeleton.markers.values()]] = True
    for k, bone in enumerate(skeleton.bones):
        if skeleton.parents[k] >= 0 and any(bone.offset):
            grows[skeleton.parents[k]] = True
    names = [bone.name for bone, own in zip(skeleton.bones, grows, strict=True) if own]
    if kind == "none" or len(names) == 0:
        return ()
    if kind == "global":
        return (tuple(names),)
    if kind == "bone":
        return tuple((name,) for name in names)
    groups, taken = [], set()
    for name in names:
        if name not in taken:
            other = find_mirrored_bone(name, names)
            pair = (name,) if other is None or other in taken else (name, other)
            groups.append(pair)
            taken.update(pair)
    return tuple(groups)


def _numbers(skeleton: Skeleton, groups: tuple[tuple[str, ...], ...]) -> IntArray:
    number = {name: g for g, group in enumerate(groups) for name in group}
    return np.array([number.get(bone.name, -1) for bone in skeleton.bones], dtype=np.int64)


def find_mirrored_bone(name: str, names: Sequence[str]) -> str | None:
    """Return the name of the same bone on the other side, if it is one of `names`."""
    known = {other.casefold(): other for other in names}
    low = name.casefold()
    for one, two in SIDES:
        for mine, yours in ((one, two), (two, one)):
            if low.startswith(mine) and (other := yours + low[len(mine) :]) in known:
                return known[other]
    for one, two in ENDS:
        for mine, yours in ((one, two), (two, one)):
            if low.endswith(mine) and (other := low[: -len(mine)] + yours) in known:
                return known[other]
    for one, two in (("left", "right"), (".l.", ".r."), ("_l_", "_r_")):
        for mine, yours in ((one, two), (two, one)):
            if mine in low and (other := low.replace(mine, yours, 1)) in known:
                return known[other]
    return None
