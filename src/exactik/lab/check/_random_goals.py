"""Random goals of all kinds with weights of all forms, and the problems made of them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from exactik.goals import (
    AimGoal,
    DirectionGoal,
    FrameGoal,
    Goal,
    MarkerGoal,
    OrientationGoal,
    PoseGoal,
    PositionGoal,
    PostureGoal,
    SoftLimitGoal,
)
from exactik.lab.check._random import random_coordinates, random_rotation, random_skeleton
from exactik.lab.check._random_mechanisms import add_mechanisms
from exactik.lab.check._random_pairs import (
    draw_direction,
    draw_weight,
    make_positive_definite,
    random_pair_goals,
)
from exactik.lab.check.oracle import forward
from exactik.model import Skeleton
from exactik.problem import Problem
from exactik.spatial import exp_rotation, wxyz_from_matrix
from exactik.typing import Array, BoolArray

Rng = np.random.Generator

LONG_LOG = 2.9  # [rad] longer rotation vectors are reported apart: the log is less accurate there


@dataclass(frozen=True, eq=False)
class Distance(FrameGoal):
    """A custom goal, one row: the bone's origin should be `length` [m] from `centre`."""

    centre: tuple[float, float, float] = (0.0, 0.0, 0.0)
    length: float = 1.0

    def residual(self, rotation: Array, position: Array) -> Array:
        """Return length − |position − centre|."""
        arm = position - np.asarray(self.centre)
        return np.array([self.length - math.sqrt(arm @ arm)])

    def derivatives(self, rotation: Array, position: Array) -> tuple[Array, Array]:
        """Return the exact derivatives."""
        arm = position - np.asarray(self.centre)
        rho = math.sqrt(arm @ arm)
        u = arm / rho
        first, second = np.zeros((1, 6)), np.zeros((1, 6, 6))
        first[0, 3:] = -u
        second[0, 3:, 3:] = (np.outer(u, u) - np.eye(3)) / rho
        return first, second


@dataclass(frozen=True, eq=False)
class Lever(FrameGoal):
    """A custom goal that mixes rotation and position, two rows.

    The rows are (a · Rb)(c · p) and (a · Rb) + (a · p)², with Rb = y, which a turn by ω takes to
    y + ω × y + ½ ω × (ω × y).
    """

    a: tuple[float, float, float] = (1.0, 0.0, 0.0)
    b: tuple[float, float, float] = (0.0, 1.0, 0.0)
    c: tuple[float, float, float] = (0.0, 0.0, 1.0)

    def residual(self, rotation: Array, position: Array) -> Array:
        """Return the two rows."""
        a, c, y = np.asarray(self.a), np.asarray(self.c), rotation @ np.asarray(self.b)
        return np.array([(a @ y) * (c @ position), a @ y + (a @ position) ** 2])

    def derivatives(self, rotation: Array, position: Array) -> tuple[Array, Array]:
        """Return the exact derivatives."""
        a, c, y = np.asarray(self.a), np.asarray(self.c), rotation @ np.asarray(self.b)
        slope = np.cross(y, a)
        bend = 0.5 * (np.outer(a, y) + np.outer(y, a)) - (a @ y) * np.eye(3)
        first, second = np.zeros((2, 6)), np.zeros((2, 6, 6))
        first[0, :3], first[0, 3:] = (c @ position) * slope, (a @ y) * c
        first[1, :3], first[1, 3:] = slope, 2.0 * (a @ position) * a
        second[0, :3, :3] = (c @ position) * bend
        second[0, :3, 3:] = np.outer(slope, c)
        second[0, 3:, :3] = second[0, :3, 3:].T
        second[1, :3, :3] = bend
        second[1, 3:, 3:] = 2.0 * np.outer(a, a)
        return first, second


def _as_tuple(vector: Array) -> tuple[float, float, float]:
    x, y, z = vector.tolist()
    return x, y, z


def _draw_log_angle(rng: Rng, far: bool) -> float:
    """Return the angle of a rotation vector [rad]: mostly ordinary, sometimes nothing at all."""
    if far and rng.random() < 0.7:
        return float(rng.uniform(LONG_LOG, np.pi - 1e-3))
    special = (0.0, 1e-9, 1e-5, 1e-2)
    if rng.random() < 0.2:
        return float(special[rng.integers(len(special))])
    return float(rng.uniform(0.0, LONG_LOG - 1e-6))


def _draw_rest_posture(rng: Rng, skeleton: Skeleton, q: Array, far: bool) -> tuple[Array, float]:
    """Return a rest posture and the largest rotation vector of its quaternions."""
    v = rng.normal(scale=0.7, size=skeleton.nv)
    largest = 0.0
    for k, bone in enumerate(skeleton.bones):
        if bone.joint.rotation_part.kind == "quaternion":
            first = int(np.flatnonzero(skeleton.dof_bones == k)[-3])
            angle = _draw_log_angle(rng, far)
            v[first : first + 3] = angle * draw_direction(rng)
            largest = max(largest, angle)
    return skeleton.integrate(q, v), largest


def random_goals(
    rng: Rng, skeleton: Skeleton, q: Array, *, far: bool = False
) -> tuple[list[Goal], float]:
    """Return 2–9 goals in random order, and the longest rotation vector among their residuals.

    Args:
        rng: source of randomness.
        skeleton: the model.
        q: the configuration at which the goals will be evaluated; targets are laid around it.
        far: let rotation goals stand up to π − 1e-3 rad away.
    """
    positions, rotations = forward(skeleton, q)
    markers = list(skeleton.markers)
    goals: list[Goal] = []
    largest = 0.0
    style = str(rng.choice(["markers", "apart", "any"], p=[0.2, 0.4, 0.4]))
    kinds = 3 if style == "markers" else 10
    for kind in rng.integers(0, kinds, size=int(rng.integers(2, 10))):
        k = int(rng.integers(len(skeleton.bones)))
        bone, point = skeleton.bones[k].name, rng.normal(scale=0.3, size=3)
        position, target = positions[k] + rotations[k] @ point, rng.normal(size=3)
        angle = _draw_log_angle(rng, far)
        R_target = exp_rotation(angle * draw_direction(rng)) @ rotations[k]
        axis = rng.normal(size=3)
        if kind == 0:
            goals.append(PositionGoal(bone, target, point, weight=draw_weight(rng, style, 3)))
        elif kind == 1:
            marker = markers[rng.integers(len(markers))]
            goals.append(MarkerGoal(marker, target, weight=draw_weight(rng, style, 3)))
        elif kind == 2:
            goals.append(DirectionGoal(bone, axis, target, weight=draw_weight(rng, style, 3)))
        elif kind == 3:
            sight = position + rng.uniform(0.3, 2.0) * draw_direction(rng)
            goals.append(AimGoal(bone, axis, sight, point, weight=draw_weight(rng, style, 3)))
        elif kind == 4:
            weight = draw_weight(rng, style, 3)
            if rng.random() < 0.5:
                goals.append(OrientationGoal(bone, R_target, weight=weight))
            else:
                goals.append(OrientationGoal(bone, wxyz=wxyz_from_matrix(R_target), weight=weight))
            largest = max(largest, angle)
        elif kind == 5:
            any_target, weight = random_rotation(rng), draw_weight(rng, style, 9, short=3)
            goals.append(OrientationGoal(bone, any_target, kind="axes", weight=weight))
        elif kind == 6:
            transform = np.eye(4)
            transform[:3, :3], transform[:3, 3] = R_target, target
            goals.append(
                PoseGoal(bone, transform, point, weight=draw_weight(rng, style, 6, short=2))
            )
            largest = max(largest, angle)
        elif kind == 7:
            rest, longest = _draw_rest_posture(rng, skeleton, q, far)
            goals.append(PostureGoal(rest, weight=draw_weight(rng, style, skeleton.nv)))
            largest = max(largest, longest)
        elif kind == 8:
            goals.append(SoftLimitGoal(weight=draw_weight(rng, style, skeleton.nv)))
        elif rng.random() < 0.5:
            centre = positions[k] + rng.uniform(0.5, 2.0) * draw_direction(rng)
            goals.append(Distance(bone, _as_tuple(centre), weight=draw_weight(rng, style, 1)))
        else:
            a, b, c = (_as_tuple(rng.normal(size=3)) for _ in range(3))
            goals.append(Lever(bone, a, b, c, weight=draw_weight(rng, style, 2)))
    return goals, largest


@dataclass(frozen=True, eq=False)
class RandomProblem:
    """One random problem with a configuration to look at."""

    problem: Problem  # skeleton, goals, limits and locks
    q: Array  # the configuration, (nq,)
    goals: tuple[Goal, ...]  # the goals as given to the problem
    limits: str  # "hard", "soft" or "off", as given
    lock: BoolArray  # True where a dof is locked, (nv,)
    weight_matrix: Array | None  # W over all rows, or None where the goals' own weights hold
    largest_log: float  # longest rotation vector among the residuals at q [rad]

    @property
    def skeleton(self) -> Skeleton:
        """The model."""
        return self.problem.skeleton

    @property
    def lock_names(self) -> tuple[str, ...]:
        """Names of the locked dofs."""
        names = self.skeleton.dof_names
        return tuple(name for name, locked in zip(names, self.lock, strict=True) if locked)


def random_problem(seed: int, tree: int = 0, *, pairs: bool = False) -> RandomProblem:
    """Return problem number `tree` of a seed; the same arguments give the same problem.

    Every second tree has screws, custom joints and couplings. With `pairs` there are goals between
    two bodies, too.
    """
    rng = np.random.default_rng([seed, tree])
    skeleton = random_skeleton(rng, f"random {seed}/{tree}")
    if tree % 2 == 1:
        skeleton = add_mechanisms(np.random.default_rng([seed, tree, 2]), skeleton)
    q = random_coordinates(rng, skeleton)
    goals, largest = random_goals(rng, skeleton, q, far=rng.random() < 0.3)
    if pairs and len(skeleton.bones) > 1:
        goals += random_pair_goals(np.random.default_rng([seed, tree, 3]), skeleton, q)
    limits = str(rng.choice(["hard", "soft", "off"]))
    lock = rng.random(skeleton.nv) < (0.15 if rng.random() < 0.4 else 0.0)
    for dofs in np.flatnonzero(skeleton.plain_q < 0).reshape(-1, 3):
        lock[dofs] = lock[dofs].any()  # quaternions are locked whole
    names = tuple(np.array(skeleton.dof_names)[lock].tolist())
    strength = {skeleton.dof_names[0]: 0.3} if rng.random() < 0.2 else None
    weights = None
    if rng.random() < 0.2:
        rows = sum(goal.rows(skeleton) for goal in goals)
        weights = make_positive_definite(rng, rows + (skeleton.nv if limits == "soft" else 0))
    problem = Problem(
        skeleton,
        goals,
        limits=limits,
        lock=names,
        strength=strength,
        weight_matrix=weights,
    )
    return RandomProblem(
        problem=problem,
        q=q,
        goals=tuple(goals),
        limits=limits,
        lock=lock,
        weight_matrix=weights,
        largest_log=largest,
    )
