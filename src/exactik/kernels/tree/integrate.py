"""Steps in configuration space: q ⊕ v, q₁ ⊖ q₀, re-parameterisation (docs/maths.md §2).

All coordinates add, except quaternions, which are updated on the right and kept at unit length:
q ⊗ (cos|v|/2, sin(|v|/2) v/|v|).
"""

from __future__ import annotations

import math

import numpy as np

from exactik.compile import jit
from exactik.kernels.tree.packed import EXP_MAP, QUATERNION, SWING_TWIST
from exactik.spatial import exp_coefficients


@jit
def integrate(tree, q, v, out):
    """Write q ⊕ v to `out`, which may be `q`."""
    for k in range(1, tree.parent.shape[0]):
        idx_q, idx_v = np.int64(tree.first_q[k]), np.int64(tree.first_v[k])
        plain = np.int64(tree.first_v[k + 1]) - idx_v
        if tree.rotation[k] == QUATERNION:
            plain -= 3
        for a in range(plain):
            out[idx_q + a] = q[idx_q + a] + v[idx_v + a]
        if tree.rotation[k] == QUATERNION:
            idx_q += plain
            idx_v += plain
            # exp_coefficients at s = |v/2|²: A = sin(|v|/2)/(|v|/2), and B = (1 − cos(|v|/2))/s.
            x, y, z = 0.5 * v[idx_v], 0.5 * v[idx_v + 1], 0.5 * v[idx_v + 2]
            s = x * x + y * y + z * z
            if s == 0.0:  # bit-identical
                for a in range(4):
                    out[idx_q + a] = q[idx_q + a]
                continue
            a_, b_, _, _, _ = exp_coefficients(s)
            bw, bx, by, bz = 1.0 - b_ * s, a_ * x, a_ * y, a_ * z
            aw, ax, ay, az = q[idx_q], q[idx_q + 1], q[idx_q + 2], q[idx_q + 3]
            w = aw * bw - ax * bx - ay * by - az * bz
            x = aw * bx + ax * bw + ay * bz - az * by
            y = aw * by - ax * bz + ay * bw + az * bx
            z = aw * bz + ax * by - ay * bx + az * bw
            n = 1.0 / math.sqrt(w * w + x * x + y * y + z * z)
            out[idx_q] = n * w
            out[idx_q + 1] = n * x
            out[idx_q + 2] = n * y
            out[idx_q + 3] = n * z


@jit
def integrate_batch(tree, q, v, out):
    """Write q ⊕ v row by row to `out` (B, nq)."""
    for b in range(q.shape[0]):
        integrate(tree, q[b], v[b], out[b])


@jit
def relative_rotation_vector(q1, q0, index):
    """Return the rotation vector of conj(q0) ⊗ q1 for the quaternions at `index`, |φ| ≤ π."""
    aw, ax, ay, az = q0[index], -q0[index + 1], -q0[index + 2], -q0[index + 3]
    bw, bx, by, bz = q1[index], q1[index + 1], q1[index + 2], q1[index + 3]
    w = aw * bw - ax * bx - ay * by - az * bz
    x = aw * bx + ax * bw + ay * bz - az * by
    y = aw * by - ax * bz + ay * bw + az * bx
    z = aw * bz + ax * by - ay * bx + az * bw
    if w < 0.0:
        w, x, y, z = -w, -x, -y, -z
    n = math.sqrt(x * x + y * y + z * z)
    k = 2.0 / w if n < 1e-12 * w else 2.0 * math.atan2(n, w) / n
    return k * x, k * y, k * z


@jit
def difference(tree, q1, q0, out):
    """Write the v with q0 ⊕ v = q1 to `out`; the shorter way round for quaternions."""
    for k in range(1, tree.parent.shape[0]):
        idx_q, idx_v = np.int64(tree.first_q[k]), np.int64(tree.first_v[k])
        plain = np.int64(tree.first_v[k + 1]) - idx_v
        if tree.rotation[k] == QUATERNION:
            plain -= 3
            x, y, z = relative_rotation_vector(q1, q0, idx_q + plain)
            out[idx_v + plain] = x
            out[idx_v + plain + 1] = y
            out[idx_v + plain + 2] = z
        for a in range(plain):
            out[idx_v + a] = q1[idx_q + a] - q0[idx_q + a]


@jit
def difference_batch(tree, q1, q0, out):
    """Write q₁ ⊖ q₀ row by row to `out` (B, nv)."""
    for b in range(q1.shape[0]):
        difference(tree, q1[b], q0[b], out[b])


@jit
def reparameterise(tree, q, lower, upper):
    """Bring exponential maps and swings beyond half a turn to the same rotation within, in place.

    w ← (1 − 2π/θ) w for θ = |w| > π, which keeps clear of the singularity at 2π. A joint whose
    limits exclude the new coordinates stays as it is. Call it between steps only: it changes the
    coordinates that a step, a quasi-Newton memory or a trust region are expressed in. Returns the
    number of joints moved.
    """
    moved = 0
    for k in range(1, tree.parent.shape[0]):
        kind = tree.rotation[k]
        if kind != EXP_MAP and kind != SWING_TWIST:
            continue
        idx_q = np.int64(tree.first_q[k]) + tree.shift_count[k]
        idx_v = np.int64(tree.first_v[k]) + tree.shift_count[k]
        count = 3 if kind == EXP_MAP else 2
        s = 0.0
        for a in range(count):
            s += q[idx_q + a] * q[idx_q + a]
        theta = math.sqrt(s)
        if theta > math.pi:
            turns = math.floor((theta + math.pi) / (2.0 * math.pi))
            factor = 1.0 - 2.0 * math.pi * turns / theta
            allowed = True
            for a in range(count):
                value = factor * q[idx_q + a]
                allowed = allowed and lower[idx_v + a] <= value and value <= upper[idx_v + a]
            if allowed:
                moved += 1
                for a in range(count):
                    q[idx_q + a] *= factor
    return moved
