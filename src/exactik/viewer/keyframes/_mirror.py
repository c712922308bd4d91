"""Mirrored poses: what the left side does, the right side does, and the other way round.

A bone k of a pose is turned by D_k = R_k R⁰_kᵀ from the neutral pose R⁰. With M⁰ the reflection at
the plane of symmetry of the neutral figure and M that at the plane of the mirror, the partner m of
k does

    D_m = M D_k M⁰ ,    R_m = D_m R⁰_m ,

which needs no convention about the frames of bones: two reflections are a rotation. Joints give the
coordinates. Of a symmetric figure, with symmetric limits, the mirrored pose is exact, and mirrored
twice it is the pose itself; otherwise it is as near as joints and limits allow.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np

from exactik.errors import UsageError
from exactik.goals import Goal, OrientationGoal, PositionGoal, PostureGoal
from exactik.model import Bone, Skeleton
from exactik.problem import Problem
from exactik.solvers import Auto, solve
from exactik.spatial import other_euler_angles
from exactik.typing import Array, IntArray
from exactik.viewer._proportions import compute_lever, compute_posture_weights, compute_reach
from exactik.viewer.keyframes._constraints import PinConstraint

__all__ = ["Mirror"]

# Of the reach: bones so near to a reflected one are its partners. Files round to a hundredth of
# this, and bones are ten times as far apart: anything between will do, as for the next two.
SAME_PLACE_SHARE = 0.01
EXACT_RAD = 1e-9  # a mirrored pose that is nearer than this needs no solver
STAY_WEIGHT = 1e-6  # of the first guess beside the rotations: it decides what these leave open
SIDES = (
    (r"(?i)left", {"left": "right", "Left": "Right", "LEFT": "RIGHT"}),
    (r"(?<![A-Za-z])[lL](?![a-z])", {"l": "r", "L": "R"}),  # l_hand, hand.L, LHand
    (r"(?<=_[fhFH])[lL](?![A-Za-z])|(?<=^[fhFH])[lL](?![A-Za-z])", {"l": "r", "L": "R"}),  # fl_leg
    (r"^[lL](?=[A-Za-z])", {"l": "r", "L": "R"}),  # lfemur, LF_FOOT
)


def find_named_partner(name: str, names: set[str]) -> str | None:
    """Return the bone of the right side that a bone of the left side is called like, if any."""
    for pattern, other in SIDES:
        for match in re.finditer(pattern, name):
            swapped = other.get(match[0], match[0])
            candidate = name[: match.start()] + swapped + name[match.end() :]
            if candidate != name and candidate in names:
                return candidate
    return None


class Mirror:
    """Which bones of a figure are each other's mirror images.

    Attributes:
        skeleton: the figure.
        partners: of each bone, (n_bones,); itself for bones of the middle.
        normal: of the plane of symmetry of the neutral pose, world, (3,).
        middle: a point of it [m, world], (3,).
        asymmetry: the largest distance of a reflected bone from its partner, neutral pose [m].
    """

    def __init__(self, skeleton: Skeleton):
        """Pair the bones of a figure by their names, and where these say nothing by their places.

        Raises:
            UsageError: for a figure without two sides.
        """
        self.skeleton = skeleton
        pose = skeleton.forward(skeleton.neutral())
        self._R_neutral, places = pose.rotations, pose.positions
        names = set(skeleton.bone_names)
        partners = np.full(len(skeleton.bones), -1)
        for k, name in enumerate(skeleton.bone_names):
            other = find_named_partner(name, names)
            if other is not None:
                j = skeleton.bone_index(other)
                partners[k], partners[j] = j, k
        named = [(k, int(j)) for k, j in enumerate(partners) if j > k]
        reach = compute_reach(skeleton)
        planes = self._propose_planes(places, named, reach)
        matched = [self._match_places(places, partners, plane, reach) for plane in planes]
        counts = [int((found >= 0).sum()) for found in matched]
        best = int(np.argmax(counts))
        self.normal, self.middle = planes[best]
        found = matched[best]
        self.partners = np.where(found >= 0, found, np.arange(len(found)))
        if (self.partners == np.arange(len(found))).all():
            raise UsageError(f"{skeleton.name!r} has no bones on two sides that could be exchanged")
        reflected = self._reflect(places, self.normal, self.middle)
        gaps = np.linalg.norm(reflected - places[self.partners], axis=1)
        self.asymmetry = float(gaps.max())

    @staticmethod
    def _propose_planes(
        places: Array, named: list[tuple[int, int]], reach: float
    ) -> list[tuple[Array, Array]]:
        """Return planes of symmetry that are worth a try: normal and point."""
        if len(named) > 0:
            left, right = (places[[pair[side] for pair in named]] for side in (0, 1))
            # Pairs may be listed with either side first: all lines between sides point one way.
            lines = left - right
            lines *= np.where(lines @ lines[np.argmax((lines**2).sum(axis=1))] < 0, -1, 1)[:, None]
            normal = lines.sum(axis=0)
            if np.linalg.norm(normal) > SAME_PLACE_SHARE * reach:
                normal /= np.linalg.norm(normal)
                axis = np.eye(3)[np.argmax(np.abs(normal))]
                if abs(normal @ axis) > 1.0 - 1e-6:  # files round
                    normal = axis
                return [(normal, 0.5 * (left + right).mean(axis=0))]
        return [(axis, places[0]) for axis in np.eye(3)[[1, 0]]]

    def _match_places(
        self, places: Array, partners: IntArray, plane: tuple[Array, Array], reach: float
    ) -> IntArray:
        """Return partners with those that are found by place where names say nothing; −1 none."""
        found = partners.copy()
        reflected = self._reflect(places, *plane)
        for k in range(len(places)):
            if found[k] >= 0:
                continue
            parent = int(self.skeleton.parents[k])
            wanted = -1 if parent < 0 else int(found[parent])
            gaps = np.linalg.norm(places - reflected[k], axis=1)
            near = [
                j
                for j in np.argsort(gaps)
                if gaps[j] <= SAME_PLACE_SHARE * reach
                and (found[j] < 0 or j == k)
                and (wanted < 0 or self.skeleton.parents[j] == wanted)
                and self.skeleton.bones[j].joint.kind == self.skeleton.bones[k].joint.kind
            ]
            if len(near) > 0:
                j = k if k in near else int(near[0])
                found[k], found[j] = j, k
        return found

    @staticmethod
    def _reflect(points: Array, normal: Array, middle: Array) -> Array:
        return points - 2.0 * ((points - middle) @ normal)[..., None] * normal

    def pose(self, q: Array, *, in_place: bool = False) -> Array:
        """Return the mirrored pose, (nq,), of a pose q, (nq,).

        Args:
            q: the pose.
            in_place: mirror at the upright plane through the root along its heading; else at the
                plane of symmetry of the neutral figure, which stays where it is in the world.
        """
        skeleton, n = self.skeleton, self.normal
        pose = skeleton.forward(q)
        M_neutral = np.eye(3) - 2.0 * np.outer(n, n)
        D = pose.rotations @ np.swapaxes(self._R_neutral, 1, 2)
        normal, middle = n, self.middle
        if in_place:
            across = D[0] @ n
            across[2] = 0.0
            if np.linalg.norm(across) > 1e-6:
                normal = across / np.linalg.norm(across)
            middle = pose.positions[0]
        M = np.eye(3) - 2.0 * np.outer(normal, normal)
        rotations = np.empty_like(pose.rotations)
        rotations[self.partners] = M @ D @ M_neutral
        rotations = rotations @ self._R_neutral
        places = np.empty_like(pose.positions)
        places[self.partners] = self._reflect(pose.positions, normal, middle)
        return self._fit(places, rotations, q)

    def constraints(
        self, q: Array, constraints: Mapping[str, PinConstraint]
    ) -> dict[str, PinConstraint]:
        """Return what the mirrored pose q, (nq,), pins instead of what its original pins."""
        skeleton, pose = self.skeleton, self.skeleton.forward(q)
        M = np.eye(3) - 2.0 * np.outer(self.normal, self.normal)
        mirrored = {}
        for name, pin in constraints.items():
            k = skeleton.bone_index(pin.bone)
            j = int(self.partners[k])
            bone = skeleton.bone_names[j]
            point = self._R_neutral[j].T @ M @ self._R_neutral[k] @ np.array(pin.point)
            x, y, z = point.tolist()
            rotation = None if pin.rotation is None else pose.rotations[j].copy()
            # Handles are called after their bones.
            mirrored[bone if name == pin.bone else name] = PinConstraint(
                bone=bone,
                point=(x, y, z),
                position=pose.point(bone, point),
                rotation=rotation,
            )
        return mirrored

    def _fit(self, places: Array, rotations: Array, q: Array) -> Array:
        """Return the pose, (nq,), inside the limits, whose bones are turned and placed so."""
        skeleton = self.skeleton
        parts = []
        for k, bone in enumerate(skeleton.bones):
            parent = int(skeleton.parents[k])
            R_parent = np.eye(3) if parent < 0 else rotations[parent]
            origin = np.zeros(3) if parent < 0 else places[parent]
            pre = np.eye(3) if bone.pre is None else np.array(bone.pre)
            post = np.eye(3) if bone.post is None else np.array(bone.post)
            shift = (R_parent.T @ (places[k] - origin) - bone.offset) @ pre
            turn = pre.T @ R_parent.T @ rotations[k] @ post.T
            parts.append(_stay_inside(bone, bone.joint.coordinates_for(shift[None], turn[None])[0]))
        first = skeleton.clip(np.concatenate(parts)[skeleton.free_coordinates])
        pose = skeleton.forward(first)
        roots = np.flatnonzero(skeleton.parents < 0)
        error = np.abs(pose.rotations - rotations).max()
        apart = np.abs(pose.positions[roots] - places[roots]).max()
        if max(float(error), float(apart)) < EXACT_RAD:
            return first
        return self._solve(places, rotations, first)

    def _solve(self, places: Array, rotations: Array, first: Array) -> Array:
        """Return the pose, (nq,), inside the limits that is nearest to places and rotations."""
        skeleton, goals = self.skeleton, []
        goals: list[Goal]
        lever = compute_lever(skeleton)
        for k, bone in enumerate(skeleton.bones):
            if bone.joint.nv > 0:
                goals.append(OrientationGoal(bone.name, rotations[k], weight=lever**2))
            if bone.parent is None and bone.joint.translates:
                goals.append(PositionGoal(bone.name, places[k]))
        goals.append(PostureGoal(first, weight=STAY_WEIGHT * compute_posture_weights(skeleton)))
        solver = Auto(metric="dof", detour=False, escape=False)
        result = solve(Problem(skeleton, goals), q0=first, solver=solver)
        return result.q.copy() if np.isfinite(result.q).all() else first


def _stay_inside(bone: Bone, q: Array) -> Array:
    """Return the coordinates of a joint in the form, of all that are the same, inside its limits.

    Angles a turn away are the same, and Euler angles have a second solution.
    """
    part = bone.joint.rotation_part
    if len(part.periodic_dofs) == 0:
        return q
    first = bone.joint.nv - part.nv
    forms = [q]
    if part.kind == "euler" and part.nv == 3:
        other = q.copy()
        other[first:] = other_euler_angles(part.order, q[first:])
        forms.append(other)
    limits = np.array(bone.joint.limits, dtype=float).reshape(-1, 2)[first:]
    best, least = q, np.inf
    for form in forms:
        turned = form.copy()
        for i in part.periodic_dofs:
            low, high = limits[i]
            angle = turned[first + i]
            choices = np.array([angle, angle - 2.0 * np.pi, angle + 2.0 * np.pi])
            outside = np.maximum(low - choices, 0.0) + np.maximum(choices - high, 0.0)
            turned[first + i] = choices[np.argmin(outside)]
        values = turned[first:]
        excess = np.maximum(limits[:, 0] - values, 0.0) + np.maximum(values - limits[:, 1], 0.0)
        if excess.sum() < least - 1e-12:
            best, least = turned, float(excess.sum())
    return best
