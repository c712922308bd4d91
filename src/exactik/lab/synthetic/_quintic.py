"""Smooth curves through keys: quintic pieces, C2, that never leave the range of their keys.

Between two keys the curve is the polynomial of degree five with given value, slope and bend at both
ends, so slopes and bends (accelerations) agree where pieces meet. They are chosen from the keys:

    a key beside a hold, or the first or last   slope 0, bend 0: people start and stop like this
                                                (minimum jerk, Flash and Hogan 1985)
    a key that is passed upwards or downwards   slope: harmonic mean of those before and after,
                                                bend 0
    a key that is a turning point               slope 0, bend that of a cosine: keys up, down, up
                                                make a swing, not a row of stops

A piece is monotone, since its slopes are at most twice the mean one and its bends at most those of
a cosine. Keys within the limits of a joint therefore make a curve within them.
"""

from __future__ import annotations

import numpy as np

from exactik.typing import Array

_COSINE_END_CURVATURE = 0.5 * np.pi**2  # bend at the end of half a cosine of height 1 and length 1


def interpolate_quintic(times: Array, values: Array, query_times: Array) -> Array:
    """Return the curve through keys at some times, (T,); constant before and after the keys.

    Args:
        times: of the keys [s], (K,), increasing.
        values: of the keys, (K,), any unit.
        query_times: where to evaluate [s], (T,).
    """
    if len(times) == 1:
        return np.full(len(query_times), values[0])
    length, rise = np.diff(times), np.diff(values)
    slope, bend = np.zeros(len(times)), np.zeros(len(times))
    mean = rise / length
    before, after = mean[:-1], mean[1:]
    passed = before * after > 0.0
    total = np.where(passed, before + after, 1.0)
    slope[1:-1] = np.where(passed, 2.0 * before * after / total, 0.0)
    turning = before * after < 0.0
    bends = _COSINE_END_CURVATURE * rise / length**2
    smaller = np.minimum(np.abs(bends[:-1]), np.abs(bends[1:]))
    bend[1:-1] = np.where(turning, np.sign(after) * smaller, 0.0)

    i = np.clip(np.searchsorted(times, query_times, side="right") - 1, 0, len(length) - 1)
    h = length[i]
    s = np.clip((query_times - times[i]) / h, 0.0, 1.0)
    # Hermite basis of degree five, in the form that starts from the left key.
    v0, v1 = h * slope[i], h * slope[i + 1]
    a0, a1 = h * h * bend[i], h * h * bend[i + 1]
    remainder = rise[i] - v0 - 0.5 * a0
    c3 = 10.0 * remainder - 4.0 * (v1 - v0 - a0) + 0.5 * (a1 - a0)
    c4 = -15.0 * remainder + 7.0 * (v1 - v0 - a0) - (a1 - a0)
    c5 = 6.0 * remainder - 3.0 * (v1 - v0 - a0) + 0.5 * (a1 - a0)
    return values[i] + s * (v0 + s * (0.5 * a0 + s * (c3 + s * (c4 + s * c5))))
