"""Other coordinates of the same pose: whole turns, the second solution of Euler angles.

Three angles about axes A, B, C have a second solution (α + π, −β, γ + π) if A = C, and
(α + π, π − β, γ + π) otherwise; a rotation vector w has w (1 − 2πk/|w|); a unit quaternion has its
negative.
"""

from __future__ import annotations

import math

import numpy as np

from exactik.compile import jit, jit_nogil
from exactik.kernels.tree.couplings import is_coupled
from exactik.kernels.tree.packed import AXES, EXP_MAP, QUATERNION, SWING_TWIST

TWO_PI = 2.0 * math.pi


@jit
def nearest_equivalent_angle(angle, reference, lower, upper):
    """Return the angle plus whole turns that is nearest to `reference` within the limits."""
    best = angle + TWO_PI * math.floor((reference - angle) / TWO_PI + 0.5)
    if best < lower:
        best += TWO_PI * math.ceil((lower - best) / TWO_PI)
    if best > upper:
        best -= TWO_PI * math.ceil((best - upper) / TWO_PI)
    return best if lower <= best <= upper else angle


@jit_nogil
def to_nearest_equivalent(tree, lower, upper, reference, q):
    """Replace q (n, nq) by the coordinates of the same poses nearest to `reference` (n, nq).

    Limits (nv,) are kept; a joint with NaN for limits keeps its coordinates, unless a quaternion.
    """
    for n in range(q.shape[0]):
        for k in range(1, tree.parent.shape[0]):
            if is_coupled(tree, k):  # other coordinates of this joint move other joints
                continue
            kind = tree.rotation[k]
            shifts = np.int64(tree.shift_count[k])
            j, i = np.int64(tree.first_q[k]) + shifts, np.int64(tree.first_v[k]) + shifts
            count = np.int64(tree.first_q[k + 1]) - j
            if kind == QUATERNION:
                dot = 0.0
                for a in range(4):
                    dot += q[n, j + a] * reference[n, j + a]
                for a in range(4):
                    q[n, j + a] *= -1.0 if dot < 0.0 else 1.0
            elif kind == AXES:
                to_nearest_euler_angles(tree, k, count, j, i, lower, upper, reference[n], q[n])
            elif kind == EXP_MAP:
                to_nearest_rotation_vector(j, i, lower, upper, reference[n], q[n])
            elif kind == SWING_TWIST:  # the twist is an angle
                q[n, j + 2] = nearest_equivalent_angle(
                    q[n, j + 2], reference[n, j + 2], lower[i + 2], upper[i + 2]
                )


@jit
def to_nearest_euler_angles(tree, k, count, j, i, lower, upper, reference, q):
    """Of both solutions of Euler angles, each with the best whole turns, take the nearer one."""
    distance = 0.0
    for a in range(count):
        q[j + a] = nearest_equivalent_angle(q[j + a], reference[j + a], lower[i + a], upper[i + a])
        distance += abs(q[j + a] - reference[j + a])
    if count < 3:
        return
    middle = 0.0 if tree.turn_axes[k, 0] == tree.turn_axes[k, 2] else math.pi
    x = nearest_equivalent_angle(q[j] + math.pi, reference[j], lower[i], upper[i])
    y = nearest_equivalent_angle(middle - q[j + 1], reference[j + 1], lower[i + 1], upper[i + 1])
    z = nearest_equivalent_angle(q[j + 2] + math.pi, reference[j + 2], lower[i + 2], upper[i + 2])
    allowed = lower[i] <= x <= upper[i] and lower[i + 1] <= y <= upper[i + 1]
    allowed = allowed and lower[i + 2] <= z <= upper[i + 2]
    if (
        allowed
        and abs(x - reference[j]) + abs(y - reference[j + 1]) + abs(z - reference[j + 2]) < distance
    ):
        q[j], q[j + 1], q[j + 2] = x, y, z


@jit
def to_nearest_rotation_vector(j, i, lower, upper, reference, q):
    """Take the nearest rotation vector of the same rotation."""
    norm = math.sqrt(q[j] ** 2 + q[j + 1] ** 2 + q[j + 2] ** 2)
    if norm < 1e-9:
        return
    along = (q[j] * reference[j] + q[j + 1] * reference[j + 1] + q[j + 2] * reference[j + 2]) / norm
    factor = nearest_equivalent_angle(norm, along, -np.inf, np.inf) / norm
    for a in range(3):
        if not lower[i + a] <= factor * q[j + a] <= upper[i + a]:
            return
    for a in range(3):
        q[j + a] *= factor


@jit_nogil
def unwrap_coordinates(tree, lower, upper, q):
    """Replace each row of q (T, nq) by the equivalent coordinates nearest to the row before."""
    for t in range(1, q.shape[0]):
        to_nearest_equivalent(tree, lower, upper, q[t - 1 : t], q[t : t + 1])
