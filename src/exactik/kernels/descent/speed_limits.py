"""What a step of a control loop may be: within limits, speeds and accelerations at once.

In units of one step of duration dt: m = v_max dt is how far a dof may go, h = a_max dt² by how much
more or less than in the step before, s. A dof that brakes as hard as it may goes

    s, s − h, s − 2h, … > 0 :   (n + 1) s − h n (n + 1)/2   with n = ⌊s/h⌋ further steps,

so with room D to its limit it may go at most the s at which that is D: then n is the whole number
for which h n (n + 1)/2 ≤ D < h (n + 1)(n + 2)/2, and s = (D + h n (n + 1)/2)/(n + 1). Whoever keeps
to that can always brake: the interval of allowed steps is never empty. Without a bound on
acceleration h = ∞, n = 0 and s = D.

A dof that is outside its limits goes back as far as speed and acceleration allow, until it is in.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from exactik.compile import jit
from exactik.kernels.tree.integrate import difference, integrate
from exactik.typing import Array


class SpeedLimits(NamedTuple):
    """Limits of a control loop, and its last step."""

    lower: Array  #      (nv,) limits of the dofs
    upper: Array  #      (nv,)
    max_step: Array  #   (nv,) m; infinite where speed is not bounded
    max_change: Array  # (nv,) h; infinite where acceleration is not
    q: Array  #          (nq,) where it is
    step: Array  #       (nv,) s: what led there


@jit
def brake_within(room, h):
    """Return the longest step after which a dof can come to rest within so much room."""
    if not room > 0.0:
        return 0.0
    if not (h < np.inf and room < np.inf):
        return room
    n = math.floor(0.5 * (math.sqrt(1.0 + 8.0 * room / h) - 1.0))
    return (room + 0.5 * h * n * (n + 1.0)) / (n + 1.0)


@jit
def bound_step(coordinate, speed, lower, upper):
    """Write where the dofs may be after the next step to `lower` and `upper` (nv,).

    `coordinate` (nv,) is that of `Box`. Dofs of quaternions have no bounds: see `end_step`.
    """
    for i in range(coordinate.shape[0]):
        j = coordinate[i]
        if j < 0:
            continue
        low, high, h, q = speed.lower[i], speed.upper[i], speed.max_change[i], speed.q[j]
        least = max(-speed.max_step[i], speed.step[i] - h)
        most = min(speed.max_step[i], speed.step[i] + h)
        wanted_low = -brake_within(q - low, h) if q >= low else low - q
        wanted_high = brake_within(high - q, h) if q <= high else high - q
        if q < low:
            wanted_low = min(wanted_low, wanted_high)
        elif q > high:
            wanted_high = max(wanted_low, wanted_high)
        lower[i] = q + min(max(wanted_low, least), most)
        upper[i] = q + min(max(wanted_high, least), most)
        if q >= low:  # to the last bit, which braking may lack
            lower[i], upper[i] = max(lower[i], low), max(upper[i], low)
        if q <= high:
            lower[i], upper[i] = min(lower[i], high), min(upper[i], high)


@jit
def end_step(tree, coordinate, speed, q, scratch):
    """Make q (nq,) the place of the loop; turns of quaternions are shortened to their speed.

    `scratch` (nq,). Returns whether one was.
    """
    difference(tree, q, speed.q, speed.step)
    shortened, i = False, 0
    while i < coordinate.shape[0]:
        if coordinate[i] >= 0:
            i += 1
            continue
        factor = 1.0
        for a in range(i, i + 3):
            if abs(speed.step[a]) > speed.max_step[a]:
                factor = min(factor, speed.max_step[a] / abs(speed.step[a]))
        for a in range(i, i + 3):
            speed.step[a] *= factor
        shortened = shortened or factor < 1.0
        i += 3
    if shortened:
        integrate(tree, speed.q, speed.step, scratch)
        for i in range(coordinate.shape[0]):
            if coordinate[i] >= 0:  # these are as they were, to the last bit
                scratch[coordinate[i]] = q[coordinate[i]]
        for j in range(q.shape[0]):
            q[j] = scratch[j]
    for j in range(q.shape[0]):
        speed.q[j] = q[j]
    return shortened
