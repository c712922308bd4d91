"""What is held between two keys stays where it is: every pose between them is solved for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from exactik._arrays import freeze
from exactik.goals import Goal, OrientationGoal, PositionGoal, PostureGoal
from exactik.model import Skeleton
from exactik.problem import Problem
from exactik.solvers import Auto, solve
from exactik.spatial import exp_rotation, log_rotation
from exactik.typing import Array
from exactik.viewer.posing._goals import LEVER, compute_posture_weights
from exactik.viewer.posing._handles import Handle, compute_reach

__all__ = ["PinConstraint", "Key", "solve_constrained_pose", "interpolate_constraints", "make_constraints"]

Point = tuple[float, float, float]

NEARNESS = 1e-5  # weight of the tweened pose beside a held place's 1


@dataclass(frozen=True, eq=False)
class PinConstraint:
    """A point of a bone that is held.

    Attributes:
        bone: its name.
        point: in its frame [m].
        position: where [m, world], (3,).
        rotation: R_world_bone, (3, 3), or None if it may turn.
    """

    bone: str
    point: Point
    position: Array
    rotation: Array | None = None


@dataclass(frozen=True, eq=False)
class Key:
    """A pose at a time.

    Attributes:
        time: [s].
        q: the pose, (nq,), read-only.
        holds: what is held there, by name of the handle.
    """

    time: float
    q: Array
    holds: Mapping[str, PinConstraint] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Keep a pose that nobody can write on."""
        object.__setattr__(self, "q", freeze(np.array(self.q, dtype=float)))


def make_constraints(skeleton: Skeleton, q: Array, handles: Mapping[str, Handle]) -> dict[str, PinConstraint]:
    """Return the pinned handles as they are in the pose q, (nq,)."""
    pose = skeleton.forward(q)
    found = {}
    for name, handle in handles.items():
        if handle.pinned:
            turn = pose.rotations[skeleton.bone_index(handle.bone)].copy()
            place = pose.point(handle.bone, handle.point)
            found[name] = PinConstraint(handle.bone, handle.point, place, turn if handle.oriented else None)
    return found


def interpolate_constraints(first: Key, last: Key, share: float) -> dict[str, PinConstraint]:
    """Return what is held between two keys, by both: at the share of the way from one to other."""
    found = {}
    for name, a in first.holds.items():
        b = last.holds.get(name)
        if b is None or (a.bone, a.point) != (b.bone, b.point):
            continue
        turn = None
        if a.rotation is not None and b.rotation is not None:
            turn = exp_rotation(share * log_rotation(b.rotation @ a.rotation.T)) @ a.rotation
        place = a.position + share * (b.position - a.position)
        found[name] = PinConstraint(a.bone, a.point, place, turn)
    return found


def solve_constrained_pose(
    skeleton: Skeleton, q: Array, holds: Mapping[str, PinConstraint], limits: bool = True
) -> Array:
    """Return the pose, (nq,), nearest to q that has everything where it is held."""
    lever = LEVER * compute_reach(skeleton)
    goals: list[Goal] = []
    for name, hold in holds.items():
        goals.append(PositionGoal(hold.bone, hold.position, point=hold.point, name=name))
        if hold.rotation is not None:
            turn = {"name": f"{name}.rotation", "weight": lever**2}
            goals.append(OrientationGoal(hold.bone, hold.rotation, **turn))
    goals.append(PostureGoal(q, weight=NEARNESS * compute_posture_weights(skeleton)))
    problem = Problem(skeleton, goals, limits="hard" if limits else "off")
    result = solve(problem, q0=q, solver=Auto(detour=False, escape=False, max_iterations=100))
    return result.q if np.isfinite(result.q).all() else q.copy()
