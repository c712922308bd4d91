"""Mirrored poses: what the left side does, the right side does, and the other way round.

With M the reflection at the plane of the mirror, R_k the rotation of a bone k and m its partner,

    R_m = M R_k S_k ,    S_k orthogonal with det S_k = −1,

two reflections, hence a rotation. S_k says which direction in the frame of k is the mirror image of
which in the frame of m. Where the bones below k are in its frame decides: those below m are at
their images,

    o_i = S_k o_j    for children i of k and their partners j, children of m,

as well as can be, and what that leaves open, as the twist of a bone with one child, is as the rest
pose of k and m from their parents has it. So neither conventions about the frames of bones matter,
nor whether the figure rests symmetrically: an arm that hangs and one that is held out are mirrored
all the same. Joints give the coordinates. Of a symmetric figure, with symmetric limits, the
mirrored pose is exact, and mirrored twice it is the pose itself; otherwise it is as near as joints
and limits allow.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from exactik.anatomy import find_moving_parts, find_symmetry, reflect
from exactik.errors import UsageError
from exactik.goals import Goal, OrientationGoal, PositionGoal, PostureGoal
from exactik.model import Bone, Pose, Skeleton
from exactik.problem import Problem
from exactik.solvers import Auto, solve
from exactik.spatial import other_euler_angles
from exactik.studio.player.proportions import compute_reach
from exactik.studio.viewer._posture_weights import compute_lever, compute_posture_weights
from exactik.studio.viewer.keyframes._constraints import PinConstraint
from exactik.typing import Array

EXACT_RAD = 1e-9  # a mirrored pose that is nearer than this needs no solver
TINY = 1e-12  # [m²] below which bones are in one place
STAY_WEIGHT = 1e-6  # of the first guess beside the rotations: it decides what these leave open
# Of what children say about a frame: what is taken from the rest pose where they say nothing. Less
# would leave that to rounding; a child's direction is off by as much, and each round by this less.
REST_WEIGHT, FRAME_ROUNDS = 1e-4, 4
# Of the reach: a figure whose sides differ by more, in lengths that no joint can change, has no two
# sides that could be exchanged; people's differ by one in a hundred.
MAX_DIFFERENCE_SHARE = 0.1


class Mirror:
    """Which bones of a figure are each other's mirror images.

    Attributes:
        partners: of each bone, (n_bones,); itself for bones of the middle.
        normal: of the plane of symmetry of the neutral pose, world, (3,).
        middle: a point of it [m, world], (3,).
        asymmetry: the largest distance of a bone of a side from its partner's image that no joint
            can change: differences of lengths [m].
    """

    def __init__(self, skeleton: Skeleton):
        """Pair the bones of a figure by their names, the tree, and their places.

        Raises:
            UsageError: for a figure without two sides, or with sides of different lengths.
        """
        self.skeleton = skeleton
        symmetry = find_symmetry(skeleton)
        if symmetry is None:
            raise UsageError(f"{skeleton.name!r} has no bones on two sides that could be exchanged")
        self.partners, self.normal, self.middle = (
            symmetry.partners,
            symmetry.normal,
            symmetry.middle,
        )
        pose = skeleton.forward(skeleton.neutral())
        self._R_root = pose.rotations[0]
        self._frames, gaps = self._match_frames(pose)
        gaps[self.partners == np.arange(len(gaps))] = 0.0
        self.asymmetry = float(gaps.max())
        if self.asymmetry > MAX_DIFFERENCE_SHARE * compute_reach(skeleton):
            worst = int(np.argmax(gaps))
            pair = " and ".join(skeleton.bone_names[k] for k in (worst, self.partners[worst]))
            raise UsageError(
                f"{skeleton.name!r} cannot be mirrored: its sides differ in length by "
                f"{self.asymmetry:.2g} m, see {pair}"
            )

    def _match_frames(self, pose: Pose) -> tuple[Array, Array]:
        """Return S of every bone, (n, 3, 3), and how far its image is from its partner [m], (n,).

        Distances are those that joints cannot change: differences of lengths, summed from the root.
        """
        parents, partners = self.skeleton.parents, self.partners
        frames, gaps = np.empty((len(partners), 3, 3)), np.zeros(len(partners))
        R, places = pose.rotations, pose.positions
        M = np.eye(3) - 2.0 * np.outer(self.normal, self.normal)
        moving = find_moving_parts(self.skeleton)
        for k, m in enumerate(partners):
            p, other = int(parents[k]), int(parents[m])
            if p < 0 or other != partners[p]:
                at_rest = R[k].T @ M @ R[m]
            else:
                at_rest = R[k].T @ R[p] @ frames[p] @ R[other].T @ R[m]
            children = [
                (R[k].T @ (places[i] - places[k]), R[m].T @ (places[j] - places[m]))
                for i, j in enumerate(partners)
                if parents[i] == k and parents[j] == m and (i != j or moving[i])
            ]
            seen = sum((np.outer(o, image) for o, image in children), np.zeros((3, 3)))
            length = max((float(o @ o) for o, _ in children), default=1.0)
            frames[k] = at_rest
            # A root of the middle tells where the figure heads, and its children may be askew.
            rounds = 0 if p < 0 and m == k else FRAME_ROUNDS
            for _ in range(rounds):
                frames[k] = _find_reflection(seen + max(REST_WEIGHT * length, TINY) * frames[k])
            if p >= 0 and other == partners[p]:
                offset = R[p].T @ (places[k] - places[p])
                image = frames[p] @ R[other].T @ (places[m] - places[other])
                gaps[k] = gaps[p] + np.linalg.norm(offset - image)
        return frames, gaps

    def pose(self, q: Array, *, in_place: bool = False) -> Array:
        """Return the mirrored pose, (nq,), of a pose q, (nq,).

        Args:
            in_place: mirror at the upright plane through the root along its heading; else at the
                plane of symmetry of the neutral figure, which stays where it is in the world.
        """
        pose = self.skeleton.forward(q)
        normal, middle = self.normal, self.middle
        if in_place:
            across = pose.rotations[0] @ self._R_root.T @ normal
            across[2] = 0.0
            if np.linalg.norm(across) > 1e-6:
                normal = across / np.linalg.norm(across)
            middle = pose.positions[0]
        M = np.eye(3) - 2.0 * np.outer(normal, normal)
        rotations, places = np.empty_like(pose.rotations), np.empty_like(pose.positions)
        rotations[self.partners] = M @ pose.rotations @ self._frames
        places[self.partners] = reflect(pose.positions, normal, middle)
        return self._fit(places, rotations, q)

    def constraints(
        self, q: Array, constraints: Mapping[str, PinConstraint]
    ) -> dict[str, PinConstraint]:
        """Return what the mirrored pose q, (nq,), pins instead of what its original pins."""
        skeleton, pose = self.skeleton, self.skeleton.forward(q)
        mirrored = {}
        for name, pin in constraints.items():
            k = skeleton.bone_index(pin.bone)
            j = int(self.partners[k])
            bone = skeleton.bone_names[j]
            point = self._frames[k].T @ np.array(pin.point)
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
            pre, post = bone.constant_rotations
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


def _find_reflection(matrix: Array) -> Array:
    """Return the orthogonal matrix of determinant −1 nearest to a matrix, (3, 3)."""
    U, _, Vt = np.linalg.svd(matrix)
    return U @ np.diag((1.0, 1.0, -np.sign(np.linalg.det(U @ Vt)))) @ Vt


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
