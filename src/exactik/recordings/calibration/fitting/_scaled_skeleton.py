"""A skeleton as a function of parameters: scales of bones and points of markers.

    x_m = s_b l_m + d_m                          point of marker m in its bone b
    y_m = p_b + R_b x_m                          in the world
    p_c = p_b + R_b (s_b offset_c + pre d(q))    joint centre of a child c of b

s_b multiplies what is attached to bone b, so that the bone grows about its own joint: the joint
centres of its children, its markers, its centre of mass and its meshes (those of a bone with
neither children nor markers grow as the bone that carries it). Masses stay what they are, since
nobody was weighed. What a joint shifts by, and where a root stands, are not scaled, unless it is a
custom joint without slides: its shifts follow its turns, as in a knee, and belong to the bone that
carries it. The parameters are

    θ = (a, d)    s_b = exp(a_g) for all bones b of a group g;  d_m for the markers that may move

and with v_bm the vector from bone b towards marker m, which is the offset of the next bone on the
path or, in the marker's own bone, l_m,

    ∂y_m/∂a_g = Σ_{b in g, on the path of m} s_b R_b v_bm          ∂y_m/∂d_m = R_b
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from exactik.anatomy import find_partners
from exactik.errors import UsageError
from exactik.kernels.fitting.columns import FigureColumns
from exactik.kernels.tree.packed import Tree
from exactik.model import Bone, Loop, Skeleton
from exactik.recordings.calibration.fitting._columns import find_columns
from exactik.typing import Array, BoolArray, IntArray

SCALE_KINDS = ("bone", "symmetric", "global")


@dataclass(frozen=True, eq=False)
class ScaledSkeleton:
    """A skeleton, and which of its scales and marker points are parameters."""

    skeleton: Skeleton  # at parameters 0
    marker_names: tuple[str, ...]  # names on the skeleton of the markers in use, (M,)
    marker_bones: IntArray  # index of each marker's bone, (M,)
    marker_points: Array  # l, each marker's point in its bone's frame at parameters 0 [m], (M, 3)
    scale_groups: tuple[tuple[str, ...], ...]  # names of the bones that share a scale
    bone_groups: IntArray  # group of each bone, (n_bones,); −1 where there is nothing to scale
    movable: BoolArray  # whether a marker may move on its bone, (M,)

    @property
    def parameter_count(self) -> int:
        """Number of parameters."""
        return len(self.scale_groups) + 3 * int(self.movable.sum())

    def bone_scales(self, theta: Array) -> Array:
        """Return the scale s of every bone, (n_bones,)."""
        logs = np.append(theta[: len(self.scale_groups)], 0.0)
        return np.exp(logs[self.bone_groups])

    def marker_shifts(self, theta: Array) -> Array:
        """Return d, how far each marker in use moves in its bone's frame [m], (M, 3)."""
        d = np.zeros((len(self.marker_names), 3))
        d[self.movable] = theta[len(self.scale_groups) :].reshape(-1, 3)
        return d

    def scaled_points(self, theta: Array) -> Array:
        """Return x, the point of each marker in use in its bone's frame [m], (M, 3)."""
        return self.bone_scales(theta)[
            self.marker_bones, None
        ] * self.marker_points + self.marker_shifts(theta)

    def build(self, theta: Array) -> Skeleton:
        """Return the skeleton of these parameters; markers not in use grow with their bones."""
        scale, skeleton = self.bone_scales(theta), self.skeleton
        bones = []
        for bone, parent in zip(skeleton.bones, skeleton.parents, strict=True):
            factor = 1.0 if parent < 0 else float(scale[parent])
            bones.append(
                Bone(
                    bone.name,
                    parent=bone.parent,
                    offset=factor * np.asarray(bone.offset),
                    pre=bone.pre,
                    joint=bone.joint.with_scaled_shifts(factor)
                    if _has_scaled_shifts(bone)
                    else bone.joint,
                    post=bone.post,
                )
            )
        points = dict(zip(self.marker_names, self.scaled_points(theta), strict=True))
        markers = {
            name: (bone, points.get(name, scale[skeleton.bone_index(bone)] * np.asarray(point)))
            for name, (bone, point) in skeleton.markers.items()
        }
        T_new_old = {
            bone.name: np.diag([factor, factor, factor, 1.0])
            for bone, factor in zip(skeleton.bones, self._attachment_scales(scale), strict=True)
            if factor != 1.0
        }
        scaled = skeleton.with_bones(bones, markers)
        scaled = scaled.with_loops([self._scale_loop(loop, scale) for loop in skeleton.loops])
        return scaled if len(T_new_old) == 0 else scaled.with_attachments_mapped(T_new_old)

    def _scale_loop(self, loop: Loop, scale: Array) -> Loop:
        """Return a loop of bones that grow; a distance grows as both do on average."""
        factors = {bone: float(scale[self.skeleton.bone_index(bone)]) for bone in loop.bones}
        moved = loop.moved(lambda bone, point: factors.get(bone or "", 1.0) * point)
        if loop.distance is None:
            return moved
        return replace(moved, distance=loop.distance * float(np.mean([*factors.values()])))

    def build_tree(self, theta: Array) -> Tree:
        """Return the packed tree of the skeleton of these parameters."""
        if self.grows_shifts.any():
            return self.build(theta).tree
        tree, parents = self.skeleton.tree, self.skeleton.parents
        factor = np.where(parents < 0, 1.0, self.bone_scales(theta)[parents])
        offset = tree.offset.copy()
        offset[1:] *= factor[:, None]
        return tree._replace(offset=offset)

    def _attachment_scales(self, scale: Array) -> list[float]:
        """Return how masses and meshes on every bone grow, for scales of bones (n_bones,)."""
        grown = scale.tolist()
        for k, parent in enumerate(self.skeleton.parents.tolist()):
            if self.bone_groups[k] < 0 and parent >= 0:
                grown[k] = grown[parent]
        return grown

    @cached_property
    def grows_shifts(self) -> BoolArray:
        """Whether a bone's joint shifts it by lengths of its parent, (n_bones,)."""
        return np.array([_has_scaled_shifts(bone) for bone in self.skeleton.bones])

    @cached_property
    def columns(self) -> FigureColumns:
        """Where the parameters are in the kernels' matrices, without the levers of the markers."""
        return find_columns(
            self.skeleton.tree,
            self.bone_groups,
            self.grows_shifts,
            self.marker_bones,
            self.movable,
        )


def _has_scaled_shifts(bone: Bone) -> bool:
    """Whether a bone's joint shifts it as it turns, by lengths of the bone that carries it."""
    joint = bone.joint
    is_custom = bone.parent is not None and joint.kind == "custom" and len(joint.shifts) > 0
    return is_custom and len(joint.turning_dofs) == joint.nv


def make_scaled_skeleton(
    skeleton: Skeleton, names: Sequence[str], kind: str, fixed: Sequence[str] = ()
) -> ScaledSkeleton:
    """Return what may change of a skeleton.

    Args:
        skeleton: the figure.
        names: of the markers in use.
        kind: of scales, one of `SCALE_KINDS` or "none".
        fixed: markers that stay where they are, but for the scale of their bone.
    """
    if kind not in (*SCALE_KINDS, "none"):
        expected = ", ".join(map(repr, SCALE_KINDS))
        raise UsageError(f"scale is {kind!r}; it must be True, False, {expected}")
    markers = [skeleton.marker(name) for name in names]
    groups = _find_scale_groups(skeleton, kind)
    return ScaledSkeleton(
        skeleton=skeleton,
        marker_names=tuple(names),
        marker_bones=np.array([skeleton.bone_index(bone) for bone, _ in markers], dtype=np.int64),
        marker_points=np.array([point for _, point in markers], dtype=float).reshape(-1, 3),
        scale_groups=groups,
        bone_groups=_group_indices(skeleton, groups),
        movable=np.array([name not in fixed for name in names], dtype=bool),
    )


def _find_scale_groups(skeleton: Skeleton, kind: str) -> tuple[tuple[str, ...], ...]:
    """Return the bones that share a scale, without bones that have nothing to scale."""
    grows = np.zeros(len(skeleton.bones), dtype=bool)
    grows[[skeleton.bone_index(bone) for bone, _ in skeleton.markers.values()]] = True
    for k, bone in enumerate(skeleton.bones):
        if skeleton.parents[k] >= 0 and (any(bone.offset) or _has_scaled_shifts(bone)):
            grows[skeleton.parents[k]] = True
    parts: dict[str, list[str]] = {}
    for bone, body, scales in zip(skeleton.bones, _find_bodies(skeleton), grows, strict=True):
        if scales:
            parts.setdefault(body, []).append(bone.name)
    names = list(parts)
    if kind == "none" or len(names) == 0:
        return ()
    if kind == "global":
        return (tuple(name for part in parts.values() for name in part),)
    if kind == "bone":
        return tuple(tuple(part) for part in parts.values())
    groups, taken, partners = [], set(), find_partners(skeleton)
    for name in names:
        if name not in taken:
            mirrored = partners.get(name)
            pair = (name, mirrored) if mirrored in parts and mirrored not in taken else (name,)
            groups.append(tuple(part for side in pair for part in parts[side]))
            taken.update(pair)
    return tuple(groups)


def _find_bodies(skeleton: Skeleton) -> list[str]:
    """Return for each bone whose size it has: its own, or that of the one bone fixed to it.

    A bone without markers that carries nothing but a fixed one is where that one's joint is, as in
    models whose bodies have their origins elsewhere.
    """
    bodies = [bone.name for bone in skeleton.bones]
    marked = {bone for bone, _ in skeleton.markers.values()}
    for k, bone in reversed(list(enumerate(skeleton.bones))):
        children = np.flatnonzero(skeleton.parents == k)
        if len(children) == 1 and bone.name not in marked:
            child = int(children[0])
            if skeleton.bones[child].joint.kind == "fixed":
                bodies[k] = bodies[child]
    return bodies


def _group_indices(skeleton: Skeleton, groups: tuple[tuple[str, ...], ...]) -> IntArray:
    number = {name: g for g, group in enumerate(groups) for name in group}
    return np.array([number.get(bone.name, -1) for bone in skeleton.bones], dtype=np.int64)
