"""The goals of the handles as one problem, packed once and written on at every update.

Besides the handles there are two postures. One is the pose of the update before: it makes every
update a step of the proximal-point method,

    q ← argmin  cost(p) + ½ |p ⊖ q|²_D ,

which goes down on the cost and comes to rest wherever the cost has a minimum, flat or not; a plain
solve would be free to jump along the flat directions of a stretched arm. The other is the pose
where the drag began: who drags back and forth comes back to it.

A handle that is farther away than `PULL` pulls with a constant force (Huber's loss): pinned feet
stay planted however far beyond reach a hand is dragged. All weights are relative to the figure's
size, so that a hand is posed as a body is.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from exactik.goals import Goal, OrientationGoal, PositionGoal, PostureGoal
from exactik.kernels.goals.targets import Targets
from exactik.model import Skeleton
from exactik.problem import Problem, compute_strengths
from exactik.spatial import exp_rotation, log_rotation
from exactik.typing import Array
from exactik.viewer.posing._handles import Handle, compute_reach

__all__ = ["InteractiveGoals", "make_handle_goals"]


PULL, TWIST = 0.08, 0.5  # [reach], [rad] beyond which the force of a handle is constant
LEVER = 0.2  # [reach] an angle counts as much as what it moves at this distance
DAMPING, COMFORT = 3e-3, 3e-4  # weights of the two postures beside a dragged handle's 1
LIGHT, HEAVY = 0.1, 3.0  # factors of a dof that carries nothing, and more if it carries all
PINNED = 100.0  # weight of a pinned handle


def make_handle_goals(skeleton: Skeleton, handles: Iterable[Handle], dragged: Iterable[str]) -> list[Goal]:
    """Return the goals of handles, at their true targets: position, then rotation if asked for."""
    lever, dragged = LEVER * compute_reach(skeleton), set(dragged)
    goals: list[Goal] = []
    for handle in handles:
        weight = handle.weight * (1.0 if handle.name in dragged else PINNED)
        place = {"point": handle.point, "name": handle.name, "weight": weight}
        goals.append(PositionGoal(handle.bone, handle.position, **place))
        if handle.oriented:
            turn = {"name": f"{handle.name}.rotation", "weight": weight * lever**2}
            goals.append(OrientationGoal(handle.bone, handle.rotation, **turn))
    return goals


def make_comfort_goal(skeleton: Skeleton, rest: Array) -> PostureGoal:
    """Return the wish to stay near the pose `rest`, (nq,)."""
    weight = COMFORT * compute_posture_weights(skeleton)
    return PostureGoal(rest, weight=weight, name="comfort")


def compute_posture_weights(skeleton: Skeleton) -> Array:
    """Return how much a dof counts, (nv,) [m²/rad², or 1 for shifts].

    Angles count by the lever, and all dofs by the share of the figure that they carry: an arm
    reaches before the back bends, and the back bends before the figure walks.
    """
    lever = LEVER * compute_reach(skeleton)
    carried = np.array([float(np.linalg.norm(bone.offset)) for bone in skeleton.bones])
    carried[skeleton.parents < 0] = 0.0  # where a root is says nothing of its size
    for bone, point in skeleton.markers.values():
        k = skeleton.bone_index(bone)
        carried[k] = max(carried[k], float(np.linalg.norm(point)))
    for k in range(len(skeleton.bones) - 1, -1, -1):
        if skeleton.parents[k] >= 0:
            carried[skeleton.parents[k]] += carried[k]
    share = carried / max(float(carried.max(initial=0.0)), 1e-12)
    each = np.repeat(LIGHT + HEAVY * share**2, [bone.joint.nv for bone in skeleton.bones])
    return each * np.where(skeleton.turns, lever**2, 1.0)


class InteractiveGoals:
    """The problem of a set of handles; targets change without building it anew.

    Attributes:
        problem: what the kernels solve; its arrays are written on by `aim`.
        names: of the handles, in order.
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
        goals = asked(skeleton, handles, dragged)
        damping = (
            DAMPING * posture_metric(skeleton) / compute_strengths(skeleton, strength or {}) ** 2
        )
        goals.append(PostureGoal(rest, weight=damping, name="last pose"))
        goals.append(make_comfort_goal(skeleton, rest))
        mode = "hard" if limits else "off"
        self.problem = Problem(skeleton, goals, limits=mode, lock=lock, strength=strength)
        self.names = [handle.name for handle in handles]
        self.pull = PULL * compute_reach(skeleton)
        kinds = [goal for goal in goals if not isinstance(goal, PostureGoal)]
        turned = np.array([isinstance(goal, OrientationGoal) for goal in kinds])
        self.turned = np.flatnonzero(turned)  # terms of rotations
        self.placed = np.flatnonzero(~turned)  # terms of positions, one per handle
        self.oriented = [k for k, handle in enumerate(handles) if handle.oriented]
        terms = self.problem.packed.arrays.terms
        self.frames = terms.frame[self.placed].astype(np.int64)
        self.points = np.array([handle.point for handle in handles]).reshape(-1, 3)
        n = len(terms.kind)
        self.targets = Targets(np.zeros((1, 3)), np.zeros((1, n, 3)), terms.rotation[None].copy())

    def aim(self, position: Array, rotation: Array, places: Array, turns: Array) -> None:
        """Ask for positions (n, 3) and rotations (n, 3, 3), from where the handles are now.

        Targets that are farther away than `PULL` or `TWIST` are brought so near.
        """
        away = position - places
        far = np.sqrt(np.einsum("ij,ij->i", away, away))
        share = self.pull / np.maximum(far, self.pull)
        target = places + share[:, None] * away
        origin = target[0]
        self.targets.origin[0] = origin
        self.targets.target[0, self.placed] = target - origin
        if len(self.oriented) > 0:
            own, wanted = turns[self.oriented], rotation[self.oriented]
            twice = np.einsum("nij,nij->n", own, wanted)  # 1 + 2 cos of the angle between them
            if (twice < 1.0 + 2.0 * math.cos(TWIST)).any():
                turn = log_rotation(wanted @ np.swapaxes(own, 1, 2))
                angle = np.linalg.norm(turn, axis=1)
                turn *= (TWIST / np.maximum(angle, TWIST))[:, None]
                wanted = exp_rotation(turn) @ own
            self.targets.rotation[0, self.turned] = wanted

    def stay_near(self, q: Array) -> None:
        """Make q, (nq,), the pose of the update before."""
        self.problem.packed.arrays.coordinates.rest[0] = q
