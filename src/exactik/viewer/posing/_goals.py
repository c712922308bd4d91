"""The goals of the handles as one problem, packed once and rewritten at every update.

Besides the handles there are two postures. One is the pose of the update before: it makes every
update a step of the proximal-point method,

    q ← argmin  cost(p) + ½ |p ⊖ q|²_D ,

which goes down on the cost and comes to rest wherever the cost has a minimum, flat or not; a plain
solve would be free to jump along the flat directions of a stretched arm. The other is the pose
where the drag began: who drags back and forth comes back to it.

A handle that is farther away than `MAX_PULL_SHARE` of the reach pulls with a constant force
(Huber's loss): pinned feet stay planted however far beyond reach a hand is dragged. All weights are
relative to the figure's size, so that a hand is posed as a body is.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from exactik.goals import Goal, OrientationGoal, PositionGoal, PostureGoal
from exactik.kernels.goals.targets import Targets
from exactik.model import Skeleton
from exactik.player import compute_reach
from exactik.problem import Problem, compute_strengths
from exactik.spatial import exp_rotation, log_rotation
from exactik.typing import Array
from exactik.viewer._posture_weights import compute_lever, compute_posture_weights
from exactik.viewer.posing._handles import Handle

__all__ = ["InteractiveGoals", "make_comfort_goal", "make_handle_goals"]


# Beyond these the force of a handle is constant.
MAX_PULL_SHARE = 0.08  # of the figure's reach
MAX_TWIST = 0.5  # [rad]
# Weights beside the 1 of a dragged handle.
DAMPING_WEIGHT = 3e-3  # of the pose of the update before
COMFORT_WEIGHT = 3e-4  # of the pose where the drag began
PINNED_WEIGHT = 100.0  # of a pinned handle


def make_handle_goals(
    skeleton: Skeleton, handles: Iterable[Handle], dragged: Iterable[str]
) -> list[Goal]:
    """Return the goals of handles, at their true targets: position, then rotation if oriented."""
    lever, dragged = compute_lever(skeleton), set(dragged)
    goals: list[Goal] = []
    for handle in handles:
        weight = handle.weight * (1.0 if handle.name in dragged else PINNED_WEIGHT)
        goals.append(
            PositionGoal(
                handle.bone, handle.position, point=handle.point, name=handle.name, weight=weight
            )
        )
        if handle.oriented:
            name = f"{handle.name}.rotation"
            goals.append(
                OrientationGoal(handle.bone, handle.rotation, name=name, weight=weight * lever**2)
            )
    return goals


def make_comfort_goal(skeleton: Skeleton, rest: Array) -> PostureGoal:
    """Return the goal to stay near the pose `rest`, (nq,)."""
    weight = COMFORT_WEIGHT * compute_posture_weights(skeleton)
    return PostureGoal(rest, weight=weight, name="comfort")


class InteractiveGoals:
    """The problem of a set of handles; targets change without building it anew.

    Attributes:
        problem: what the kernels solve; its arrays are rewritten by `set_targets`.
        names: of the handles, in order.
        bones: index of the bone of each handle, (n,).
        points: of the handles in the frames of their bones [m], (n, 3).
        targets: as the kernels take them, for a batch of one.
    """

    def __init__(
        self,
        skeleton: Skeleton,
        handles: Sequence[Handle],
        dragged: Iterable[str],
        rest: Array,
        *,
        limits: bool = True,
        lock: Iterable[str] = (),
        strength: Mapping[str, float] | None = None,
    ):
        """Pack the goals of at least one handle; `rest` (nq,) is where the drag began."""
        goals = make_handle_goals(skeleton, handles, dragged)
        strengths = compute_strengths(skeleton, strength or {})
        damping = DAMPING_WEIGHT * compute_posture_weights(skeleton) / strengths**2
        goals.append(PostureGoal(rest, weight=damping, name="last pose"))
        goals.append(make_comfort_goal(skeleton, rest))
        mode = "hard" if limits else "off"
        self.problem = Problem(skeleton, goals, limits=mode, lock=lock, strength=strength)
        self.names = [handle.name for handle in handles]
        self._max_pull = MAX_PULL_SHARE * compute_reach(skeleton)
        # A handle has a term for its position, and a second one for its rotation if oriented.
        oriented = np.array([handle.oriented for handle in handles], dtype=bool)
        self._oriented = np.flatnonzero(oriented)
        self._position_terms = np.arange(len(handles)) + np.cumsum(oriented) - oriented
        self._rotation_terms = self._position_terms[oriented] + 1
        terms = self.problem.packed.arrays.terms
        self.bones = terms.frame[self._position_terms].astype(np.int64)
        self.points = np.array([handle.point for handle in handles]).reshape(-1, 3)
        n = len(terms.kind)
        self.targets = Targets(np.zeros((1, 3)), np.zeros((1, n, 3)), terms.rotation[None].copy())

    def set_targets(
        self, position: Array, rotation: Array, handle_position: Array, handle_rotation: Array
    ) -> None:
        """Set targets of positions (n, 3) and rotations (n, 3, 3), from where the handles are now.

        Targets farther away than `MAX_PULL_SHARE` or `MAX_TWIST` are brought as near as that.
        """
        error = position - handle_position
        distance = np.sqrt(np.einsum("ij,ij->i", error, error))
        share = self._max_pull / np.maximum(distance, self._max_pull)
        target = handle_position + share[:, None] * error
        origin = target[0]
        self.targets.origin[0] = origin
        self.targets.target[0, self._position_terms] = target - origin
        if len(self._oriented) > 0:
            current, wanted = handle_rotation[self._oriented], rotation[self._oriented]
            trace = np.einsum("nij,nij->n", current, wanted)  # 1 + 2 cos of the angle between them
            if (trace < 1.0 + 2.0 * math.cos(MAX_TWIST)).any():
                turn = log_rotation(wanted @ np.swapaxes(current, 1, 2))
                angle = np.linalg.norm(turn, axis=1)
                turn *= (MAX_TWIST / np.maximum(angle, MAX_TWIST))[:, None]
                wanted = exp_rotation(turn) @ current
            self.targets.rotation[0, self._rotation_terms] = wanted

    def set_last_pose(self, q: Array) -> None:
        """Make q, (nq,), the pose of the update before."""
        self.problem.packed.arrays.coordinates.rest[0] = q
