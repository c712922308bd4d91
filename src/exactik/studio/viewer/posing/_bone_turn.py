"""Direct rotation of a bone (forward kinematics): its joint alone moves, inside its limits."""

from __future__ import annotations

import numpy as np

from exactik.goals import Goal, OrientationGoal, PositionGoal
from exactik.model import Skeleton
from exactik.problem import Problem
from exactik.solvers import Auto, solve
from exactik.studio.viewer._posture_weights import compute_lever
from exactik.typing import Array


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
