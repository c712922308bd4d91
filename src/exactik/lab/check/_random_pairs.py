"""Random goals between two bodies, or one and the world as a body."""

from __future__ import annotations

import numpy as np

from exactik.goals import (
    AimGoal,
    Collisions,
    DirectionGoal,
    DistanceGoal,
    Goal,
    LineGoal,
    OrientationGoal,
    PlaneGoal,
    PoseGoal,
    PositionGoal,
)
from exactik.lab.check.oracle import forward
from exactik.model import Skeleton
from exactik.model.shapes import Capsule, Cuboid, HalfSpace, Sphere
from exactik.spatial import exp_rotation
from exactik.typing import Array

KINDS = 10
MAX_ANGLE = 2.6  # [rad] between a bone and its target


def random_pair_goals(rng: np.random.Generator, skeleton: Skeleton, q: Array) -> list[Goal]:
    """Return 1–4 goals between bodies of a skeleton with two bones or more.

    Args:
        rng: source of randomness.
        skeleton: the model.
        q: the configuration at which the goals will be evaluated; targets are laid around it.
    """
    style = str(rng.choice(["apart", "any"]))
    return [_draw_goal(rng, skeleton, q, style) for _ in range(rng.integers(1, 5))]


def _draw_goal(rng: np.random.Generator, skeleton: Skeleton, q: Array, style: str) -> Goal:
    positions, rotations = forward(skeleton, q)
    i, j = rng.choice(len(skeleton.bones), 2, replace=False)
    bone, other = skeleton.bone_names[i], skeleton.bone_names[j]
    any_body = other if rng.random() < 0.8 else None
    point, target, axis = rng.normal(scale=0.3, size=3), rng.normal(size=3), rng.normal(size=3)
    turn = exp_rotation(rng.uniform(0.0, MAX_ANGLE) * draw_direction(rng))
    transform = np.eye(4)
    transform[:3, :3], transform[:3, 3] = rotations[j].T @ turn @ rotations[i], target
    kind, weight = rng.integers(KINDS), draw_weight(rng, style, 3)
    if kind == 0:
        return PositionGoal(bone, target, point, relative_to=other, weight=weight)
    if kind == 1:
        return DirectionGoal(bone, axis, target, relative_to=other, weight=weight)
    if kind == 2:
        own = positions[i] + rotations[i] @ point
        sight = own + rng.uniform(0.3, 2.0) * draw_direction(rng) - positions[j]
        return AimGoal(bone, axis, rotations[j].T @ sight, point, relative_to=other, weight=weight)
    if kind == 3:
        return OrientationGoal(bone, transform[:3, :3], relative_to=other, weight=weight)
    if kind == 4:
        weight = draw_weight(rng, style, 9, short=3)
        R = transform[:3, :3]
        return OrientationGoal(bone, R, kind="axes", relative_to=other, weight=weight)
    if kind == 5:
        weight = draw_weight(rng, style, 6, short=2)
        return PoseGoal(bone, transform, point, relative_to=other, weight=weight)
    weight = float(rng.uniform(0.1, 3.0))
    if kind == 9:
        return _draw_collisions(rng, skeleton, (bone, other), weight)
    if kind == 6:
        return PlaneGoal(bone, target, axis, point, relative_to=any_body, weight=weight)
    if kind == 7:
        return LineGoal(bone, target, axis, point, relative_to=any_body, weight=weight)
    place = positions[i] + rotations[i] @ point
    there = target if any_body is None else positions[j] + rotations[j] @ target
    apart = float(np.linalg.norm(place - there))
    bound, band = apart + rng.uniform(-0.3, 0.3), float(rng.uniform(0.05, 0.5))
    least = most = exact = None
    choice = rng.integers(4)
    if choice == 0:
        exact = float(rng.uniform(0.0, 2.0))
    if choice == 1:
        least = max(bound, 0.0)
    if choice == 2:
        most = max(bound, 0.0)
    if choice == 3:
        least, most = apart + 0.1, apart + 0.2
    return DistanceGoal(
        bone,
        any_body,
        distance=exact,
        at_least=least,
        at_most=most,
        points=(point, target),
        band=band,
        weight=weight,
    )


def _draw_collisions(
    rng: np.random.Generator, skeleton: Skeleton, bones: tuple[str, str], weight: float
) -> Collisions:
    """Return a goal that keeps two bones apart, and the first from obstacles."""
    ends = rng.normal(scale=0.7, size=(4, 2, 3))
    radii = rng.uniform(0.1, 0.5, size=4)
    other = Sphere(bones[1], ends[1, 0], radii[1])
    if rng.random() < 0.7:
        other = Capsule(bones[1], ends[1, 0], ends[1, 1], radii[1])
    turn = exp_rotation(rng.normal(size=3))
    figure = skeleton.with_shapes([Capsule(bones[0], ends[0, 0], ends[0, 1], radii[0]), other])
    return Collisions(
        figure,
        [bones],
        margin=float(rng.uniform(0.0, 3.0)),
        obstacles=(
            Capsule(None, ends[2, 0], ends[2, 1], radii[2]),
            HalfSpace(None, ends[3, 0], ends[3, 1]),
            Cuboid(None, rng.normal(size=3), rng.uniform(0.1, 2.0, 3), turn),
        ),
        band=float(rng.uniform(0.05, 0.5)),
        weight=weight,
    )


# --- random weights in all their forms, and random directions


Rng = np.random.Generator


def make_positive_definite(rng: Rng, m: int) -> Array:
    """Return a well-conditioned symmetric positive definite matrix."""
    a = rng.normal(size=(m, m)) / np.sqrt(max(m, 1))
    return a @ a.T + 0.2 * np.eye(m)


def draw_weight(rng: Rng, style: str, rows: int, short: int = 0) -> Array | float:
    """Return a weight in one of its forms: scalar, per row, matrix, or `short` numbers.

    The style "markers" has scalars alone, and "apart" no matrix over more than three rows: these
    are the problems whose goals can be summed, by the two ways there are.
    """
    form = rng.integers(4 if short > 0 else 3)
    if style == "markers" or form == 0:
        return float(rng.uniform(0.1, 3.0)) if rng.random() < 0.95 else 0.0
    if style == "apart" and form == 2 and rows > 3:
        form = 1
    if form == 1:
        return rng.uniform(0.1, 3.0, size=rows)
    return make_positive_definite(rng, rows) if form == 2 else rng.uniform(0.1, 3.0, size=short)


def draw_direction(rng: Rng) -> Array:
    vector = rng.normal(size=3)
    return vector / np.linalg.norm(vector)
