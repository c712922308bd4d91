"""Four ways to the Jacobian of points on bones, as loops that can be timed and counted.

Each fills J (3, nv) for one bone after another; `times` repeats it all. Coordinates must be angles
or shifts, as the built-in figures have them, for the differences.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from exactik.compile import jit
from exactik.kernels.tree import jacobian as routes
from exactik.kernels.tree.fk import forward_kinematics
from exactik.kernels.tree.jacobian import adjoint_jacobian, cross_jacobian
from exactik.kernels.tree.jacobian_dot import unit_velocity_jacobian
from exactik.model import Skeleton
from exactik.spatial import sincos
from exactik.typing import Array, IntArray
from exactik_papers.recipe.counted import Count, count_operations

__all__ = [
    "ADJUSTED",
    "BODY",
    "DIFFERENCES",
    "VELOCITIES",
    "WAYS",
    "WORLD",
    "PassScratch",
    "compute_jacobian",
    "operations",
    "scratch",
    "seconds",
]


STEP = 6e-6  # of central differences [rad or m]
MOST = 1 << 20  # repetitions when timed


class PassScratch(NamedTuple):
    """Arrays of one way; see `kernels.tree.fk` and `kernels.tree.jacobian`."""

    q: Array
    point: Array
    origin: Array
    sine: Array
    cosine: Array
    R: Array
    p: Array
    S: Array
    A: Array
    t: Array
    Q: Array
    U: Array
    v: Array
    V: Array
    J: Array


def scratch(skeleton: Skeleton, q: Array, point: Array) -> PassScratch:
    """Return the arrays for a figure at q, (nq,), and a point in the bone's frame [m], (3,)."""
    n, nv = len(skeleton.bones) + 1, skeleton.nv
    frames = np.zeros((n, 3, 3)), np.zeros((n, 3)), np.zeros((nv, 6))
    climb = np.zeros((3, 3)), np.zeros(3), np.zeros((3, 3)), np.zeros((3, 3))
    angles = np.zeros(skeleton.nq), np.zeros(skeleton.nq)
    last = np.zeros(nv), np.zeros((n, 6)), np.zeros((3, nv))
    return PassScratch(np.array(q), np.array(point), np.zeros(3), *angles, *frames, *climb, *last)


@jit
def world(tree, bones, times, q, point, origin, sine, cosine, R, p, S, A, t, Q, U, v, V, J):
    """Two passes: frames of the world, outwards; then columns, inwards."""
    for _ in range(times):
        forward_kinematics(tree, q, origin, sine, cosine, R, p, S)
        for b in bones:
            cross_jacobian(tree, b, point, routes.WORLD, routes.LINEAR, origin, R, p, S, J)


@jit
def body(tree, bones, times, q, point, origin, sine, cosine, R, p, S, A, t, Q, U, v, V, J):
    """One pass, inwards, over local transforms."""
    for _ in range(times):
        sincos(q, sine, cosine)
        for b in bones:
            climb = routes.AdjointWorkspace(A, t, Q, U)
            adjoint_jacobian(
                tree, q, sine, cosine, b, point, routes.BODY, routes.LINEAR, False, climb, J
            )


@jit
def adjusted(tree, bones, times, q, point, origin, sine, cosine, R, p, S, A, t, Q, U, v, V, J):
    """One pass, inwards, with a block for every Euler joint."""
    for _ in range(times):
        sincos(q, sine, cosine)
        for b in bones:
            climb = routes.AdjointWorkspace(A, t, Q, U)
            adjoint_jacobian(
                tree, q, sine, cosine, b, point, routes.BODY, routes.LINEAR, True, climb, J
            )


@jit
def unit_velocities(
    tree, bones, times, q, point, origin, sine, cosine, R, p, S, A, t, Q, U, v, V, J
):
    """Frames of the world, then one pass of velocities for every dof."""
    for _ in range(times):
        forward_kinematics(tree, q, origin, sine, cosine, R, p, S)
        for b in bones:
            unit_velocity_jacobian(
                tree, b, point, routes.WORLD, routes.LINEAR, origin, R, p, S, v, V, J
            )


@jit
def differences(tree, bones, times, q, point, origin, sine, cosine, R, p, S, A, t, Q, U, v, V, J):
    """Frames of the world twice for every dof."""
    for _ in range(times):
        for i in range(J.shape[1]):
            kept = q[i]
            for r in range(3):
                J[r, i] = 0.0
            for side in range(2):
                sign = 1.0 if side == 0 else -1.0
                q[i] = kept + sign * STEP
                forward_kinematics(tree, q, origin, sine, cosine, R, p, S)
                for b in bones:
                    for r in range(3):
                        place = p[b, r] + R[b, r, 0] * point[0]
                        place += R[b, r, 1] * point[1] + R[b, r, 2] * point[2]
                        J[r, i] += sign * place / (2.0 * STEP)
            q[i] = kept


WORLD, BODY, ADJUSTED = "world frame, two passes", "body frame, one pass", "body frame, adjusted"
VELOCITIES, DIFFERENCES = "unit velocities", "central differences"
WAYS: dict[str, Callable[..., None]] = {
    WORLD: world,
    BODY: body,
    ADJUSTED: adjusted,
    VELOCITIES: unit_velocities,
    DIFFERENCES: differences,
}


def _bones(skeleton: Skeleton, names: Sequence[str]) -> IntArray:
    return np.array([skeleton.bone_index(name) + 1 for name in names], dtype=np.int64)


def compute_jacobian(way: str, skeleton: Skeleton, q: Array, bone: str, point: Array) -> Array:
    """Return J (3, nv) in the axes of the world."""
    arrays = scratch(skeleton, q, point)
    WAYS[way](skeleton.tree, _bones(skeleton, [bone]), 1, *arrays)
    if way in (BODY, ADJUSTED):
        return skeleton.forward(q).rotations[skeleton.bone_index(bone)] @ arrays.J
    return arrays.J


def operations(
    way: str, skeleton: Skeleton, q: Array, bones: Sequence[str], point: Array
) -> tuple[Count, Array]:
    """Return what one round costs, and the J (3, nv) of the last bone that it leaves."""
    arrays = scratch(skeleton, q, point)
    count, after = count_operations(WAYS[way], skeleton.tree, _bones(skeleton, bones), 1, *arrays)
    J = np.array([[float(entry) for entry in row] for row in after[-1]])
    return count, J


def seconds(
    way: str, skeleton: Skeleton, q: Array, bones: Sequence[str], point: Array, least: float = 0.02
) -> float:
    """Return the processor time of one round: the least of five, each of `least` seconds."""
    arrays, index, run = scratch(skeleton, q, point), _bones(skeleton, bones), WAYS[way]
    run(skeleton.tree, index, 1, *arrays)
    times, took = 1, 0.0
    while took < least and times < MOST:
        times *= 2
        took = _time_passes(run, skeleton.tree, index, times, arrays)
    return min(_time_passes(run, skeleton.tree, index, times, arrays) for _ in range(5)) / times


def _time_passes(
    run: Callable[..., None], tree: Any, index: Any, times: int, arrays: PassScratch
) -> float:
    began = time.thread_time()
    run(tree, index, times, *arrays)
    return time.thread_time() - began
