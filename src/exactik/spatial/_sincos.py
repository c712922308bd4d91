"""Sine and cosine of a whole coordinate vector, branch-free so that the compiler vectorises it.

With n = round(2x/π) and r = x − nπ/2 ∈ [−π/4, π/4] (π/2 in three parts of 33 bits, so that the
products are exact),

    sin r = r + r³ S(r²) ,    cos r = 1 − r²/2 + r⁴ C(r²)

where S and C are degree-5 Chebyshev interpolants over [0, (π/4)²], in error by 2e-17 and 1e-18; the
quadrant n mod 4 swaps and negates. Within 1.2e-16 of the true value for |x| ≤ `FAST_RANGE`; beyond
it the C library takes over. 58 angles cost 0.07 µs this way and 0.65 µs through the C library, more
than the rest of forward kinematics.
"""

from __future__ import annotations

import math
from fractions import Fraction

from exactik.compile import jit, jit_forceinline

FAST_RANGE = 1.0e5
_ROUND = 6755399441055744.0  # 1.5 · 2⁵²: adding it leaves no bits for a fraction
_TWO_OVER_PI = 0.6366197723675814
_HALF_PI = Fraction("1.57079632679489661923132169163975144209858469968755291")
_FIRST = float(Fraction(int(_HALF_PI * 2**32), 2**32))
_SECOND = float(Fraction(int((_HALF_PI - Fraction(_FIRST)) * 2**66), 2**66))
_THIRD = float(_HALF_PI - Fraction(_FIRST) - Fraction(_SECOND))
_S0, _S1, _S2 = -0.16666666666666666, 0.008333333333330943, -0.0001984126983674956
_S3, _S4, _S5 = 2.755731609787775e-06, -2.5051130870968297e-08, 1.591805913698281e-10
_C0, _C1, _C2 = 0.041666666666666664, -0.0013888888888887393, 2.4801587298760048e-05
_C3, _C4, _C5 = -2.755731726880539e-07, 2.0876145659059344e-09, -1.1382588535352522e-11


@jit_forceinline
def reduced_sincos(x):
    """Return sin x and cos x for |x| ≤ `FAST_RANGE`."""
    n = (x * _TWO_OVER_PI + _ROUND) - _ROUND
    r = ((x - n * _FIRST) - n * _SECOND) - n * _THIRD
    z = r * r
    s = r + r * z * (_S0 + z * (_S1 + z * (_S2 + z * (_S3 + z * (_S4 + z * _S5)))))
    c = 1.0 - 0.5 * z + z * z * (_C0 + z * (_C1 + z * (_C2 + z * (_C3 + z * (_C4 + z * _C5)))))
    quadrant = int(n)
    swap = quadrant & 1
    a = c if swap != 0 else s
    b = s if swap != 0 else c
    return -a if (quadrant & 2) != 0 else a, -b if ((quadrant + 1) & 2) != 0 else b


@jit
def sincos(x, sine, cosine):
    """Write sin x and cos x for every entry of the vector `x` [rad]."""
    far = 0
    for i in range(x.shape[0]):
        far |= abs(x[i]) > FAST_RANGE
        sine[i], cosine[i] = reduced_sincos(x[i])
    if far != 0:
        for i in range(x.shape[0]):
            sine[i] = math.sin(x[i])
            cosine[i] = math.cos(x[i])


@jit_forceinline
def sincos_of(x):
    """Return sin x and cos x of one angle [rad]."""
    return reduced_sincos(x) if abs(x) <= FAST_RANGE else (math.sin(x), math.cos(x))
