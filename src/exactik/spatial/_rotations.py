"""Rotations as numpy arrays over any leading batch shape, for models, files and users.

Conventions: active rotations of column vectors, right-handed; quaternions `wxyz`; a rotation vector
is axis × angle [rad]; Euler order "ABC" means R = R_A(α) R_B(β) R_C(γ), so the first letter is
outermost.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from exactik.typing import Array

_LETTERS = {"X": 0, "Y": 1, "Z": 2}


def skew(p: ArrayLike) -> Array:
    """Return [p] with [p]u = p × u; (…, 3) → (…, 3, 3)."""
    p = np.asarray(p, dtype=float)
    m = np.zeros((*p.shape, 3))
    m[..., 0, 1], m[..., 0, 2], m[..., 1, 2] = -p[..., 2], p[..., 1], -p[..., 0]
    return m - np.swapaxes(m, -1, -2)


def axis_rotation(letter: str, angle: ArrayLike) -> Array:
    """Return the rotation by `angle` [rad] about the axis "x", "y" or "z"; (…) → (…, 3, 3)."""
    angle = np.asarray(angle, dtype=float)
    a = _LETTERS[letter.upper()]
    b, c = (a + 1) % 3, (a + 2) % 3
    m = np.zeros((*angle.shape, 3, 3))
    m[..., a, a] = 1.0
    m[..., b, b] = m[..., c, c] = np.cos(angle)
    m[..., c, b] = np.sin(angle)
    m[..., b, c] = -m[..., c, b]
    return m


def exp_rotation(w: ArrayLike) -> Array:
    """Return the rotation matrix of the rotation vector w [rad]; (…, 3) → (…, 3, 3)."""
    w = np.asarray(w, dtype=float)
    angle = np.linalg.norm(w, axis=-1)[..., None, None]
    k = skew(w)
    a = np.sinc(angle / np.pi)
    b = 0.5 * np.sinc(0.5 * angle / np.pi) ** 2
    return np.eye(3) + a * k + b * (k @ k)


def matrix_from_wxyz(wxyz: ArrayLike) -> Array:
    """Return the rotation matrix of a quaternion of any length; (…, 4) → (…, 3, 3)."""
    q = np.asarray(wxyz, dtype=float)
    q = q / np.linalg.norm(q, axis=-1, keepdims=True)
    w, v = q[..., :1, None], q[..., 1:]
    k = skew(v)
    return np.eye(3) + 2.0 * (w * k + k @ k)


def wxyz_from_matrix(rotation: ArrayLike) -> Array:
    """Return the unit quaternion with w ≥ 0 of a rotation matrix; (…, 3, 3) → (…, 4)."""
    m = np.asarray(rotation, dtype=float)
    # Rows of K are the quaternion times each of its own entries; the longest row loses no digits.
    k = np.empty((*m.shape[:-2], 4, 4))
    k[..., 0, 0] = 1.0 + m[..., 0, 0] + m[..., 1, 1] + m[..., 2, 2]
    for a in range(3):
        b, c = (a + 1) % 3, (a + 2) % 3
        k[..., a + 1, a + 1] = 1.0 + m[..., a, a] - m[..., b, b] - m[..., c, c]
        k[..., 0, a + 1] = k[..., a + 1, 0] = m[..., c, b] - m[..., b, c]
        k[..., a + 1, b + 1] = k[..., b + 1, a + 1] = m[..., a, b] + m[..., b, a]
    best = np.argmax(np.diagonal(k, axis1=-2, axis2=-1), axis=-1)
    q = np.take_along_axis(k, best[..., None, None], axis=-2)[..., 0, :]
    q = q / np.linalg.norm(q, axis=-1, keepdims=True)
    q = np.where(q[..., :1] < 0.0, -q, q)
    q[..., 0] += 0.0  # −0, of which arctan2 would make half a turn more
    return q


def log_rotation(rotation: ArrayLike) -> Array:
    """Return the rotation vector [rad] of a rotation matrix, length ≤ π; (…, 3, 3) → (…, 3)."""
    q = wxyz_from_matrix(rotation)
    n = np.linalg.norm(q[..., 1:], axis=-1, keepdims=True)
    small = n < 1e-9
    angle = 2.0 * np.arctan2(n, q[..., :1])
    return q[..., 1:] * np.where(small, 2.0, angle / np.where(small, 1.0, n))


def angle_between(first: ArrayLike, second: ArrayLike) -> Array:
    """Return the angle [rad] of the turn from one rotation to another; (…, 3, 3) → (…)."""
    squared = ((np.asarray(second) - np.asarray(first)) ** 2).sum(axis=(-2, -1))
    # |A − B|² = 8 sin²(angle/2): no loss of digits for small angles.
    return 2.0 * np.arcsin(np.minimum(np.sqrt(squared / 8.0), 1.0))


def euler_angles(order: str, rotation: ArrayLike) -> Array:
    """Return angles [rad] with R = R_A(α) R_B(β) R_C(γ); (…, 3, 3) → (…, 3), any of the 12 orders.

    The middle angle lies in [0, π] for orders such as "ZYZ" and in [−π/2, π/2] for "ZYX". In gimbal
    lock the first angle is set to zero and the third takes the whole turn.
    """
    m = np.asarray(rotation, dtype=float)
    a, b, c = (_LETTERS[letter] for letter in order.upper())
    if a == b or b == c:
        raise ValueError(f"Euler order {order!r} repeats an axis without another between")
    sign = 1.0 if (b - a) % 3 == 1 else -1.0  # +1 where (a, b, third) is right-handed
    if a == c:
        d = 3 - a - b
        beta = np.arctan2(np.hypot(m[..., a, b], m[..., a, d]), m[..., a, a])
        alpha = np.arctan2(m[..., b, a], -sign * m[..., d, a])
    else:
        beta = np.arctan2(sign * m[..., a, c], np.hypot(m[..., a, a], m[..., a, b]))
        alpha = np.arctan2(-sign * m[..., b, c], m[..., c, c])
    locked = np.hypot(m[..., b, c], m[..., c, c]) < 1e-12 if a != c else np.sin(beta) < 1e-12
    alpha = np.where(locked, 0.0, alpha)
    # Undoing the outer two leaves a turn about the third axis alone.
    letters = order.upper()
    outer = axis_rotation(letters[0], alpha) @ axis_rotation(letters[1], beta)
    rest = np.swapaxes(outer, -1, -2) @ m
    e, f = (c + 1) % 3, (c + 2) % 3
    gamma = np.arctan2(rest[..., f, e], rest[..., e, e])
    return np.stack([alpha, beta, gamma], axis=-1)


def other_euler_angles(order: str, angles: Array) -> Array:
    """Return the other three Euler angles of the same rotations, (…, 3), within half a turn."""
    middle = 0.0 if order[0] == order[2] else np.pi
    return wrap_angles(angles * (1.0, -1.0, 1.0) + (np.pi, middle, np.pi))


def wrap_angles(angles: Array) -> Array:
    """Return the same angles [rad] in [−π, π)."""
    return np.remainder(angles + np.pi, 2.0 * np.pi) - np.pi


def rotation_taking_z_to(axis: ArrayLike) -> Array:
    """Return one fixed rotation A with A e_z = axis, for a unit vector `axis` (3,)."""
    x, y, z = np.asarray(axis, dtype=float)
    if z < 0.0:  # the shortest turn is undefined towards −z: go over the x axis first
        return np.diag([1.0, -1.0, -1.0]) @ rotation_taking_z_to((x, -y, -z))
    k = skew((-y, x, 0.0))  # e_z × axis
    return np.eye(3) + k + k @ k / (1.0 + z)


def nearest_rotation(matrix: ArrayLike) -> Array:
    """Return the rotation nearest to a matrix that is one but for rounding in files; (…, 3, 3)."""
    matrix = np.asarray(matrix, dtype=float)
    inexact = _orthonormality_error(matrix) > 1e-14  # leave the others bit-identical
    if inexact.any():
        u, _, vt = np.linalg.svd(matrix[inexact])
        R = u @ vt
        # LAPACK leaves errors of 3e-15, more on some processors than on others; a step of Newton's
        # method leaves those of rounding, 5e-16.
        R = R + 0.5 * R @ (np.eye(3) - np.swapaxes(R, -1, -2) @ R)
        matrix = matrix.copy()
        matrix[inexact] = R
    return matrix


def is_rotation(matrix: ArrayLike, tolerance: float = 1e-6) -> bool:
    """Tell whether every (3, 3) block is orthonormal and right-handed within `tolerance`."""
    m = np.asarray(matrix, dtype=float)
    if m.shape[-2:] != (3, 3) or not np.isfinite(m).all():
        return False
    return bool((_orthonormality_error(m) <= tolerance).all() and (np.linalg.det(m) > 0).all())


def _orthonormality_error(matrix: Array) -> Array:
    """Return the largest entry of |M Mᵀ − I| of every (3, 3) block."""
    return np.abs(matrix @ np.swapaxes(matrix, -1, -2) - np.eye(3)).max(axis=(-2, -1))
