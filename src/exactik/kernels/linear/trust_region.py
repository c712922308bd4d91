"""The minimiser of a quadratic model in a ball: the exact sub-problem of a trust region.

    min  g·s + ½ sᵀHs   subject to  |s|_D ≤ Δ ,    |s|²_D = sᵀDs

has s = −(H + μD)⁻¹g with the smallest μ ≥ 0 for which H + μD is positive definite and |s|_D ≤ Δ
(Moré and Sorensen). μ is found by Newton's method on 1/|s| = 1/Δ, kept between bounds; each pass is
a factorisation. In the hard case, where no such μ brings |s| up to Δ because g has no share in the
most negative direction z, s is lengthened along z.

The box of limits comes after: with that μ, `box_step` puts dofs that would leave on their limit.
"""

from __future__ import annotations

import math

import numpy as np

from exactik.kernels.descent.state import DAMPING, STEP_NORM, TRUST_RADIUS
from exactik.kernels.linear.active_set import box_step, copy_free_block
from exactik.kernels.linear.ltdl import factor, solve
from exactik.spatial import jit, jit_inline_always

__all__ = ["trust_region_step"]

MAX_ROUNDS = 60
BRACKET_TOLERANCE = (
    1e-6  # width of the bracket around μ, relative, at which no better one is sought
)
RADIUS_TOLERANCE = 0.1  # |s| within this share of Δ is near enough


@jit_inline_always
def scaled_norm(s, scale):
    """|s|_D."""
    total = 0.0
    for i in range(s.shape[0]):
        total += scale[i] * s[i] * s[i]
    return math.sqrt(total)


@jit
def trust_region_step(pattern, box, q, g, H, descent):
    """Write the step to descent.step and its length to state[SIZE]; return whether it was found."""
    state, held, s, w = descent.state, descent.active_set, descent.step, descent.rhs
    radius, scale, level = descent.state[TRUST_RADIUS], descent.scale, descent.path
    largest, steep = 0.0, 0.0
    for i in range(s.shape[0]):
        if held[i] == 0.0:
            largest = max(largest, abs(H[i, np.int64(pattern.dof_level[i])]) / scale[i])
            steep += g[i] * g[i] / scale[i]
    least = max(1e-3 * largest, 1e-3 * math.sqrt(steep) / radius)  # a first μ; H may be nothing
    lower, upper, damping, size, hard, definite = 0.0, np.inf, 0.0, 0.0, False, False
    for _ in range(MAX_ROUNDS):
        copy_free_block(pattern, H, damping, scale, held, descent.L)
        definite = factor(pattern, descent.L) > 0.0
        if not definite:
            lower = damping
            if upper == np.inf:
                damping = max(4.0 * damping, least)
            elif upper - lower <= BRACKET_TOLERANCE * upper:
                damping, hard = upper, True
                break
            else:
                damping = max(math.sqrt(lower * upper), 0.01 * upper)
            continue
        for i in range(s.shape[0]):
            s[i] = -g[i] if held[i] == 0.0 else 0.0
        solve(pattern, descent.L, s, level)
        size = scaled_norm(s, scale)
        if abs(size - radius) <= RADIUS_TOLERANCE * radius or (damping == 0.0 and size <= radius):
            break
        if size < radius:
            upper = damping
        else:
            lower = damping
        if upper < np.inf and upper - lower <= BRACKET_TOLERANCE * upper:
            damping, hard = upper, True
            break
        # Newton on 1/|s|: μ += |s|²/(sᵀDw) (|s| − Δ)/Δ with w = (H + μD)⁻¹ D s.
        for i in range(s.shape[0]):
            w[i] = scale[i] * s[i]
        solve(pattern, descent.L, w, level)
        bend = 0.0
        for i in range(s.shape[0]):
            bend += scale[i] * s[i] * w[i]
        damping += size * size / bend * (size - radius) / radius if bend > 0.0 else 0.0
        if not (lower < damping < upper):
            damping = 0.5 * (lower + upper) if upper < np.inf else max(4.0 * lower, least)
    if not definite and not hard and upper < np.inf:  # out of rounds at a bad guess
        damping, hard = upper, True
    if (
        not box_step(
            pattern, box.coordinate, descent.lower, descent.upper, q, g, H, damping, descent
        )
        > 0.0
    ):
        return False
    if hard:
        extend_to_boundary(pattern, radius, descent)
    state[STEP_NORM], state[DAMPING] = scaled_norm(s, scale), damping
    return True


@jit_inline_always
def extend_to_boundary(pattern, radius, descent):
    """Lengthen the step to the radius, along the softest direction of what is factored."""
    s, z, scale = descent.step, descent.rhs, descent.scale
    for i in range(z.shape[0]):
        z[i] = (1.0 + 0.1 * (i % 7)) if descent.active_set[i] == 0.0 else 0.0
    for _ in range(3):  # inverse iteration: the factored matrix is nearly singular along z
        solve(pattern, descent.L, z, descent.path)
        size = scaled_norm(z, scale)
        for i in range(z.shape[0]):
            z[i] /= size
    along, size = 0.0, scaled_norm(s, scale)
    for i in range(z.shape[0]):
        along += scale[i] * s[i] * z[i]
    root = math.sqrt(max(along * along + radius * radius - size * size, 0.0))
    extra = -root - along if along < 0.0 else root - along  # the nearer point of the rim
    for i in range(z.shape[0]):
        s[i] += extra * z[i]
