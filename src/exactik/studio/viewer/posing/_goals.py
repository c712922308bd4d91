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
from exactik.model import Skeleton, name_loops
from exactik.problem import Problem, compute_strengths
from exactik.solvers import Auto, solve
from exactik.solvers.loops import make_loop_goals
from exactik.spatial import exp_rotation, log_rotation
from exactik.studio.player.proportions import compute_reach
from exactik.studio.viewer._posture_weights import compute_lever, compute_posture_weights
from exactik.studio.viewer.posing._handles import Handle
from exactik.typing import Array

# Beyond these the force of a handle is constant.
MAX_PULL_SHARE = 0.08  # of the figure's reach
MAX_TWIST = 0.5  # [rad]
# Weights beside the 1 of a dragged handle.
DAMPING_WEIGHT = 3e-3  # of the pose of the update before
COMFORT_WEIGHT = 3e-4  # of the pose where the drag began
PINNED_WEIGHT = 100.0  # of a pinned handle
LOOP_WEIGHT = 1e5  # of closed loops: open by less than 0.1 mm while a hand pulls from 10 cm away
ARRIVED_M, ARRIVED_RAD = 1e-5, 1e-4  # below these distances a target counts as reached


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
        problem: what is solved; the pose of the update before is written to its arrays.
        names: of the handles, in order.
        bones: index of the bone of each handle, (n,).
        points: of the handles in the frames of their bones [m], (n, 3).
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
        others: Iterable[Goal] = (),
    ):
        """Pack the goals of at least one handle, and others whose targets do not change.

        `rest` (nq,) is where the drag began.
        """
        goals = [*make_handle_goals(skeleton, handles, dragged), *others]
        strengths = compute_strengths(skeleton, strength or {})
        damping = DAMPING_WEIGHT * compute_posture_weights(skeleton) / strengths**2
        goals.append(PostureGoal(rest, weight=damping, name="last pose"))
        goals.append(make_comfort_goal(skeleton, rest))
        for name, loop in name_loops(skeleton.loops).items():
            goals += make_loop_goals(loop, f"loop {name}", LOOP_WEIGHT, np.zeros(loop.size))
        mode = "hard" if limits else "off"
        self.problem = Problem(skeleton.opened, goals, limits=mode, lock=lock, strength=strength)
        self.names = [handle.name for handle in handles]
        self.bones = np.array([skeleton.bone_index(handle.bone) for handle in handles])
        self.points = np.array([handle.point for handle in handles]).reshape(-1, 3)
        self._max_pull = MAX_PULL_SHARE * compute_reach(skeleton)
        self._oriented = np.flatnonzero([handle.oriented for handle in handles])

    def choose_targets(
        self, position: Array, rotation: Array, handle_position: Array, handle_rotation: Array
    ) -> dict[str, Array]:
        """Return targets by name of the goal, from where the handles are now.

        Targets farther away than `MAX_PULL_SHARE` or `MAX_TWIST` are brought as near as that.

        Args:
            position: targets of the handles [m, world], (n, 3).
            rotation: targets of their bones, R_world_bone, (n, 3, 3).
            handle_position: where the handles are, (n, 3).
            handle_rotation: how their bones are turned, (n, 3, 3).
        """
        error = position - handle_position
        distance = np.sqrt(np.einsum("ij,ij->i", error, error))
        share = self._max_pull / np.maximum(distance, self._max_pull)
        pulled = handle_position + share[:, None] * error
        # A target that is near stays the same to the bit, so that it need not be set anew.
        chosen = np.where(share[:, None] < 1.0, pulled, position)
        targets = dict(zip(self.names, chosen, strict=True))
        if len(self._oriented) > 0:
            current, wanted = handle_rotation[self._oriented], rotation[self._oriented]
            trace = np.einsum("nij,nij->n", current, wanted)  # 1 + 2 cos of the angle between them
            if (trace < 1.0 + 2.0 * math.cos(MAX_TWIST)).any():
                turn = log_rotation(wanted @ np.swapaxes(current, 1, 2))
                angle = np.linalg.norm(turn, axis=1)
                turn *= (MAX_TWIST / np.maximum(angle, MAX_TWIST))[:, None]
                wanted = exp_rotation(turn) @ current
            for k, one in zip(self._oriented.tolist(), wanted, strict=True):
                targets[f"{self.names[k]}.rotation"] = one
        return targets

    def set_last_pose(self, q: Array) -> None:
        """Make q, (nq,), the pose of the update before."""
        self.problem.packed.arrays.coordinates.rest[0] = q


class TargetFilter:
    """Filtered target of each handle, as the solver sees it, on its way to the true one.

    Browsers send drags at 20 Hz, the figure moves at 60 Hz: targets are smoothed exponentially.

    Attributes:
        seconds: time constant of the exponential approach, 0 for none.
    """

    def __init__(self, seconds: float):
        """Follow with this time constant [s]."""
        self.seconds = max(float(seconds), 0.0)
        self._filtered: dict[str, tuple[Array, Array]] = {}

    def reset(self, handle: Handle) -> None:
        """Begin at the present target of a handle."""
        self._filtered[handle.name] = (handle.position, handle.rotation)

    def keep_only(self, names: Iterable[str]) -> None:
        """Forget all other handles."""
        kept = set(names)
        self._filtered = {name: pose for name, pose in self._filtered.items() if name in kept}

    def advance(self, handles: Sequence[Handle], seconds: float) -> tuple[Array, Array, bool]:
        """Let time pass [s]; return targets (n, 3), (n, 3, 3), and whether all have arrived."""
        share = 1.0 if self.seconds == 0.0 else -math.expm1(-max(seconds, 0.0) / self.seconds)
        positions, rotations = np.empty((len(handles), 3)), np.empty((len(handles), 3, 3))
        all_arrived = True
        for k, handle in enumerate(handles):
            position, rotation = self._filtered.get(handle.name, (handle.position, handle.rotation))
            if position is not handle.position:
                error = handle.position - position
                arrived = math.hypot(*error.tolist()) < ARRIVED_M or share == 1.0
                position = handle.position if arrived else position + share * error
                all_arrived &= arrived
            if rotation is not handle.rotation:
                turn = log_rotation(handle.rotation @ rotation.T)
                arrived = float(np.linalg.norm(turn)) < ARRIVED_RAD or share == 1.0
                arrived = arrived or not handle.oriented
                rotation = handle.rotation if arrived else exp_rotation(share * turn) @ rotation
                all_arrived &= arrived
            self._filtered[handle.name] = (position, rotation)
            positions[k], rotations[k] = position, rotation
        return positions, rotations, all_arrived


# --- direct rotation of a bone (forward kinematics): its joint alone moves, inside its limits


def find_moving_bone(skeleton: Skeleton, bone: str) -> str | None:
    """Return the bone itself if its joint has dofs, else the nearest above it that has; or None."""
    moving = set(skeleton.dof_bones[skeleton.upper > skeleton.lower].tolist())
    path = skeleton.find_ancestors(bone)
    return next((skeleton.bone_names[k] for k in path if k in moving), None)


def solve_bone_frame(
    skeleton: Skeleton,
    q: Array,
    bone: str,
    rotation: Array,
    position: Array | None = None,
    *,
    limits: bool = True,
) -> Array:
    """Return the pose q, (nq,), with the joint of one bone moved so that the bone is turned so.

    Where its joint or its limits cannot do that, the bone is as near as they allow.

    Args:
        bone: its name; its joint has dofs.
        rotation: R_world_bone wanted, (3, 3).
        position: where the bone's origin should be [m, world], (3,), for joints that shift.
    """
    goals: list[Goal] = [
        OrientationGoal(bone, rotation, weight=compute_lever(skeleton) ** 2, name="turn")
    ]
    if position is not None and skeleton.bones[skeleton.bone_index(bone)].joint.translates:
        goals.append(PositionGoal(bone, position, name="shift"))
    own = skeleton.bone_index(bone)
    others = np.flatnonzero(skeleton.dof_bones != own)
    locked = [skeleton.dof_names[i] for i in others]
    problem = Problem(skeleton, goals, limits="hard" if limits else "off", lock=locked)
    solver = Auto(metric="dof", detour=False, escape=False)
    result = solve(problem, q0=q, solver=solver)
    return result.q.copy() if np.isfinite(result.q).all() else q.copy()
