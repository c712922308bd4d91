"""Constraints between two keys: what both pin stays where it is in every pose between them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from exactik._arrays import freeze
from exactik.goals import Goal, OrientationGoal, PositionGoal, PostureGoal
from exactik.model import Skeleton
from exactik.problem import Problem
from exactik.solvers import Auto, solve
from exactik.spatial import exp_rotation, log_rotation
from exactik.studio.player.proportions import Point
from exactik.studio.viewer._posture_weights import compute_lever, compute_posture_weights
from exactik.typing import Array

if TYPE_CHECKING:
    from exactik.studio.viewer.posing import Handle


POSTURE_WEIGHT = 1e-5  # of the interpolated pose beside the 1 of a constraint
MAX_ITERATIONS = 100
# The posture pulls held points off, by micrometres where poses are near. From there the pose is the
# posture itself, and the next solve nearer by the ratio of the weights: the second is near enough.
EXACT_M, MAX_ROUNDS = 1e-6, 4


@dataclass(frozen=True, eq=False)
class PinConstraint:
    """A point of a bone that is held in place.

    Attributes:
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
        holds: constraints by the names of their handles.
    """

    time: float
    q: Array
    holds: Mapping[str, PinConstraint] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Keep a read-only copy of the pose."""
        object.__setattr__(self, "q", freeze(np.array(self.q, dtype=float)))


def make_constraints(
    skeleton: Skeleton, q: Array, handles: Mapping[str, Handle]
) -> dict[str, PinConstraint]:
    """Return the pinned handles as they are in the pose q, (nq,)."""
    pose = skeleton.forward(q)
    constraints = {}
    for name, handle in handles.items():
        if handle.pinned:
            R_world_bone = pose.rotations[skeleton.bone_index(handle.bone)].copy()
            constraints[name] = PinConstraint(
                bone=handle.bone,
                point=handle.point,
                position=pose.point(handle.bone, handle.point),
                rotation=R_world_bone if handle.oriented else None,
            )
    return constraints


def interpolate_constraints(first: Key, last: Key, share: float) -> dict[str, PinConstraint]:
    """Return the constraints that two keys have in common, at a share of the time between them."""
    constraints = {}
    for name, a in first.holds.items():
        b = last.holds.get(name)
        if b is None or (a.bone, a.point) != (b.bone, b.point):
            continue
        rotation = None
        if a.rotation is not None and b.rotation is not None:
            turn = share * log_rotation(b.rotation @ a.rotation.T)
            rotation = exp_rotation(turn) @ a.rotation
        position = a.position + share * (b.position - a.position)
        constraints[name] = PinConstraint(a.bone, a.point, position, rotation)
    return constraints


def solve_constrained_pose(
    skeleton: Skeleton, q: Array, constraints: Mapping[str, PinConstraint], limits: bool = True
) -> Array:
    """Return the pose, (nq,), near q that meets the constraints, to a micrometre if any does."""
    lever = compute_lever(skeleton)
    goals: list[Goal] = []
    for name, pin in constraints.items():
        goals.append(PositionGoal(pin.bone, pin.position, point=pin.point, name=name))
        if pin.rotation is not None:
            goals.append(
                OrientationGoal(pin.bone, pin.rotation, name=f"{name}.rotation", weight=lever**2)
            )
    weight = POSTURE_WEIGHT * compute_posture_weights(skeleton)
    solver = Auto(metric="dof", detour=False, escape=False, max_iterations=MAX_ITERATIONS)
    near = q
    for _ in range(MAX_ROUNDS):
        problem = Problem(
            skeleton, [*goals, PostureGoal(near, weight=weight)], limits="hard" if limits else "off"
        )
        result = solve(problem, q0=near, solver=solver)
        if not np.isfinite(result.q).all():
            return q.copy() if near is q else near
        near = result.q.copy()
        if measure_slide(skeleton, near, constraints) < EXACT_M:
            break
    return near


def measure_slide(skeleton: Skeleton, q: Array, constraints: Mapping[str, PinConstraint]) -> float:
    """Return how far held points are from where they should be in the pose q, at most [m]."""
    pose = skeleton.forward(q)
    gaps = [pose.point(pin.bone, pin.point) - pin.position for pin in constraints.values()]
    return max((float(np.linalg.norm(gap)) for gap in gaps), default=0.0)
