"""Exponential and logarithm of rotations, and their first two derivatives (docs/maths.md §11).

With s = θ² = |w|² and ' = d/ds:

    A = sin θ/θ          B = (1 − cos θ)/s         C = (θ − sin θ)/θ³
    R(w)   = I + A[w] + B[w]²                      exp of the rotation vector w
    J_l(w) = I + B[w] + C[w]²                      dR = [J_l dw] R
    B' = (A − 2B)/(2s)   C' = (B − 3C)/(2s)
    J_r⁻¹(φ) = I + ½[φ] + G[φ]² ,   G = (1 − ½θ cot ½θ)/s

The closed forms lose every digit of B' and C' near zero, so θ < 2 uses the power series

    Σ (−s)ⁿ/(2n+k)!   (k = 1, 2, 3 for A, B, C),   −Σ (n+1)(−s)ⁿ/(2n+k+2)!   for their derivatives,
    G = Σ |B_2n| s^(n−1)/(2n)!  over n ≥ 1        (Bernoulli numbers)

Vectors travel as three scalars: kernels allocate nothing.
"""

from __future__ import annotations

import math
from fractions import Fraction

from exactik.compile import jit, jit_forceinline

_TERMS = 13  # of the exponential's series, θ < 2
_LOG_TERMS = 20  # of G, whose series converges like (θ/2π)²ⁿ


def _series(k: int) -> tuple[float, ...]:
    return tuple((-1.0) ** n / math.factorial(2 * n + k) for n in range(_TERMS))


def _series_derivative(k: int) -> tuple[float, ...]:
    return tuple(-(n + 1) * (-1.0) ** n / math.factorial(2 * n + k + 2) for n in range(_TERMS))


def _bernoulli_ratios(count: int) -> tuple[float, ...]:
    """Return |B_2n|/(2n)! for n = 1 … count, from Σ_k C(m+1, k) B_k = 0 in exact fractions."""
    b = [Fraction(1)]
    for m in range(1, 2 * count + 1):
        b.append(-sum((math.comb(m + 1, k) * b[k] for k in range(m)), Fraction(0)) / (m + 1))
    return tuple(float(abs(b[2 * n]) / math.factorial(2 * n)) for n in range(1, count + 1))


_A, _B, _C = _series(1), _series(2), _series(3)
_DB, _DC = _series_derivative(2), _series_derivative(3)
_G = _bernoulli_ratios(_LOG_TERMS)
_DG = tuple(n * _G[n] for n in range(1, _LOG_TERMS))


@jit_forceinline
def cross(ax, ay, az, bx, by, bz):
    """Return a × b."""
    return ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx


@jit_forceinline
def unit(axis):
    """Return the unit vector of a coordinate axis 0, 1 or 2."""
    return (
        1.0 if axis == 0 else 0.0,
        1.0 if axis == 1 else 0.0,
        1.0 if axis == 2 else 0.0,
    )


@jit
def exp_coefficients(s):
    """Return A, B, C, B', C' at s = |w|²."""
    if s < 4.0:
        a, b, c, db, dc = 0.0, 0.0, 0.0, 0.0, 0.0
        for i in range(_TERMS):
            n = _TERMS - 1 - i
            a = a * s + _A[n]
            b = b * s + _B[n]
            c = c * s + _C[n]
            db = db * s + _DB[n]
            dc = dc * s + _DC[n]
        return a, b, c, db, dc
    theta = math.sqrt(s)
    half_sine = math.sin(0.5 * theta)
    a = math.sin(theta) / theta
    b = 2.0 * half_sine * half_sine / s
    c = (1.0 - a) / s
    return a, b, c, (a - 2.0 * b) / (2.0 * s), (b - 3.0 * c) / (2.0 * s)


@jit
def left_jacobian_derivative(w, i, j, b, c, db, dc):
    """Return ∂(J_l(w) e_i)/∂w_j for unit vectors e_i, e_j; `w` is a triple of floats."""
    ix, iy, iz = unit(i)
    jx, jy, jz = unit(j)
    wx, wy, wz = w
    wj = wx * jx + wy * jy + wz * jz
    px, py, pz = cross(wx, wy, wz, ix, iy, iz)  # w × i
    qx, qy, qz = cross(jx, jy, jz, ix, iy, iz)  # j × i
    ppx, ppy, ppz = cross(wx, wy, wz, px, py, pz)
    jpx, jpy, jpz = cross(jx, jy, jz, px, py, pz)
    wqx, wqy, wqz = cross(wx, wy, wz, qx, qy, qz)
    return (
        2.0 * wj * (db * px + dc * ppx) + b * qx + c * (jpx + wqx),
        2.0 * wj * (db * py + dc * ppy) + b * qy + c * (jpy + wqy),
        2.0 * wj * (db * pz + dc * ppz) + b * qz + c * (jpz + wqz),
    )


@jit
def log_coefficients(s):
    """Return G and G' at s = |φ|²; finite up to and including |φ| = π."""
    if s < 4.0:
        g, dg = 0.0, 0.0
        for i in range(_LOG_TERMS - 1):
            n = _LOG_TERMS - 2 - i
            g = g * s + _G[n + 1]
            dg = dg * s + _DG[n]
        return g * s + _G[0], dg
    x = 0.5 * math.sqrt(s)
    sine = math.sin(x)
    cot = math.cos(x) / sine
    g = (1.0 - x * cot) / s
    return g, ((x / (sine * sine) - cot) / (8.0 * x) - g) / s


@jit
def log_vector(m00, m01, m02, m10, m11, m12, m20, m21, m22):
    """Return the rotation vector of a rotation matrix, |φ| ≤ π.

    Through the quaternion with the largest of the four pivots, so that no digits are lost near π.
    """
    trace = m00 + m11 + m22
    if trace >= m00 and trace >= m11 and trace >= m22:
        w, x, y, z = 1.0 + trace, m21 - m12, m02 - m20, m10 - m01
    elif m00 >= m11 and m00 >= m22:
        w, x, y, z = m21 - m12, 1.0 + m00 - m11 - m22, m01 + m10, m02 + m20
    elif m11 >= m22:
        w, x, y, z = m02 - m20, m01 + m10, 1.0 + m11 - m00 - m22, m12 + m21
    else:
        w, x, y, z = m10 - m01, m02 + m20, m12 + m21, 1.0 + m22 - m00 - m11
    if w < 0.0:
        w, x, y, z = -w, -x, -y, -z
    n = math.sqrt(x * x + y * y + z * z)
    if n < 1e-7 * w:
        k = (2.0 / w) * (1.0 - n * n / (3.0 * w * w))
    else:
        k = 2.0 * math.atan2(n, w) / n
    return k * x, k * y, k * z
