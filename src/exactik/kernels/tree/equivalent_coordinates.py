"""Other coordinates of the same pose: whole turns, the second solution of Euler angles.

Three angles about axes A, B, C have a second solution (α + π, −β, γ + π) if A = C, and
(α + π, π − β, γ + π) otherwise; a rotation vector w has w (1 − 2πk/|w|); a unit quaternion has its
negative.
"""

from __future__ import annotations

import math

import numpy as np

from exactik.kernels.tree.packed import AXES, EXP_MAP, QUATERNION
from exactik.spatial import jit, jit_nogil

__all__ = ["to_nearest_equivalent", "unwrap_coordinates"]

TWO_PI = 2.0 * math.pi


@jit
def nearest_equivalent_angle(angle, near, low, high):
    """Return the angle, whole turns added, that is nearest to `near` within the limits."""
    best = angle + TWO_PI * math.floor((near - angle) / TWO_PI + 0.5)
    if best < low:
        best += TWO_PI * math.ceil((low - best) / TWO_PI)
    if best > high:
        best -= TWO_PI * math.ceil((best - high) / TWO_PI)
    return best if low <= best <= high else angle


@jit_nogil
def to_nearest_equivalent(tree, lower, upper, near, q):
    """Replace q (n, nq) by the coordinates of the same poses that are nearest to `near` (n, nq).

    Limits (nv,) are kept.
    """
    for n in range(q.shape[0]):
        for k in range(1, tree.parent.shape[0]):
            kind = tree.rotation[k]
            shifts = np.int64(tree.shift_count[k])
            j, i = np.int64(tree.first_q[k]) + shifts, np.int64(tree.first_v[k]) + shifts
            count = np.int64(tree.first_q[k + 1]) - j
            if kind == QUATERNION:
                dot = 0.0
                for a in range(4):
                    dot += q[n, j + a] * near[n, j + a]
                for a in range(4):
                    q[n, j + a] *= -1.0 if dot < 0.0 else 1.0
            elif kind == AXES:
                to_nearest_euler_angles(tree, k, count, j, i, lower, upper, near[n], q[n])
            elif kind == EXP_MAP:
                to_nearest_rotation_vector(j, i, lower, upper, near[n], q[n])
            elif count == 3:  # swing and twist: the twist is an angle
                q[n, j + 2] = nearest_equivalent_angle(
                    q[n, j + 2], near[n, j + 2], lower[i + 2], upper[i + 2]
                )


@jit
def to_nearest_euler_angles(tree, k, count, j, i, lower, upper, near, q):
    """Both solutions of Euler angles, each with the best whole turns; the nearer one."""
    stay = 0.0
    for a in range(count):
        q[j + a] = nearest_equivalent_angle(q[j + a], near[j + a], lower[i + a], upper[i + a])
        stay += abs(q[j + a] - near[j + a])
    if count < 3:
        return
    middle = 0.0 if tree.turn_axes[k, 0] == tree.turn_axes[k, 2] else math.pi
    x = nearest_equivalent_angle(q[j] + math.pi, near[j], lower[i], upper[i])
    y = nearest_equivalent_angle(middle - q[j + 1], near[j + 1], lower[i + 1], upper[i + 1])
    z = nearest_equivalent_angle(q[j + 2] + math.pi, near[j + 2], lower[i + 2], upper[i + 2])
    allowed = lower[i] <= x <= upper[i] and lower[i + 1] <= y <= upper[i + 1]
    allowed = allowed and lower[i + 2] <= z <= upper[i + 2]
    if allowed and abs(x - near[j]) + abs(y - near[j + 1]) + abs(z - near[j + 2]) < stay:
        q[j], q[j + 1], q[j + 2] = x, y, z


@jit
def to_nearest_rotation_vector(j, i, lower, upper, near, q):
    """The rotation vector of the same rotation that is nearest."""
    size = math.sqrt(q[j] ** 2 + q[j + 1] ** 2 + q[j + 2] ** 2)
    if size < 1e-9:
        return
    along = (q[j] * near[j] + q[j + 1] * near[j + 1] + q[j + 2] * near[j + 2]) / size
    share = nearest_equivalent_angle(size, along, -np.inf, np.inf) / size
    for a in range(3):
        if not lower[i + a] <= share * q[j + a] <= upper[i + a]:
            return
    for a in range(3):
        q[j + a] *= share


@jit_nogil
def unwrap_coordinates(tree, lower, upper, q):
    """Replace each row of q (T, nq) by the coordinates nearest to those of the row before."""
    for t in range(1, q.shape[0]):
        to_nearest_equivalent(tree, lower, upper, q[t - 1 : t], q[t : t + 1])
