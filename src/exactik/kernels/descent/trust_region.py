"""The exact trust-region sub-problem: the minimiser of a quadratic model in a ball.

    min  g·s + ½ sᵀHs   subject to  |s|_D ≤ Δ ,    |s|²_D = sᵀDs

has s = −(H + μD)⁻¹g with the smallest μ ≥ 0 for which H + μD is positive definite and |s|_D ≤ Δ
(Moré and Sorensen). μ is found by Newton's method on 1/|s| = 1/Δ, kept between bounds; each pass is
a factorisation. In the hard case, where no such μ brings |s| up to Δ because g has no share in the
most negative direction z, s is lengthened along z.

Limits come after: `box_step` with that μ puts dofs that would leave the box on their limit.
"""

from __future__ import annotations

import math

import numpy as np

from exactik.compile import jit, jit_forceinline
from exactik.kernels.descent.state import DAMPING, STEP_NORM, TRUST_RADIUS
from exactik.kernels.linear.active_set import box_step, clear_step, solve_again, solve_damped

MAX_ROUNDS = 60  # of the search for μ
BRACKET_TOLERANCE = 1e-6  # relative width of the bracket around μ at which the search for it ends
RADIUS_TOLERANCE = 0.1  # relative; Δ is only a guess, so that |s| = Δ need not hold closely


@jit_forceinline
def scaled_norm(s, scale):
    """Return |s|_D."""
    total = 0.0
    for i in range(s.shape[0]):
        total += scale[i] * s[i] * s[i]
    return math.sqrt(total)


@jit
def trust_region_step(joints, pattern, box, layout, q, g, H, S, P, descent):
    """Write the step to descent.step and |s|_D to state[STEP_NORM]; return whether it exists."""
    state, active_set, s, w = descent.state, descent.active_set, descent.step, descent.rhs
    radius, scale = descent.state[TRUST_RADIUS], descent.scale
    largest_curvature, gradient_square = 0.0, 0.0
    for i in range(s.shape[0]):
        if active_set[i] == 0.0:
            largest_curvature = max(
                largest_curvature, abs(H[i, np.int64(pattern.dof_level[i])]) / scale[i]
            )
            gradient_square += g[i] * g[i] / scale[i]
    # The second bound is for H = 0.
    initial_damping = max(1e-3 * largest_curvature, 1e-3 * math.sqrt(gradient_square) / radius)
    lower, upper, damping, norm, hard_case, definite = 0.0, np.inf, 0.0, 0.0, False, False
    for _ in range(MAX_ROUNDS):
        clear_step(descent)
        definite = solve_damped(joints, pattern, layout, g, H, S, P, damping, descent) > 0.0
        if not definite:
            lower = damping
            if upper == np.inf:
                damping = max(4.0 * damping, initial_damping)
            elif upper - lower <= BRACKET_TOLERANCE * upper:
                damping, hard_case = upper, True
                break
            else:
                damping = max(math.sqrt(lower * upper), 0.01 * upper)
            continue
        for i in range(s.shape[0]):
            s[i] = w[i]
        norm = scaled_norm(s, scale)
        if abs(norm - radius) <= RADIUS_TOLERANCE * radius or (damping == 0.0 and norm <= radius):
            break
        if norm < radius:
            upper = damping
        else:
            lower = damping
        if upper < np.inf and upper - lower <= BRACKET_TOLERANCE * upper:
            damping, hard_case = upper, True
            break
        # Newton on 1/|s|: μ += |s|²/(sᵀDw) (|s| − Δ)/Δ with w = (H + μD)⁻¹ D s.
        for i in range(s.shape[0]):
            w[i] = scale[i] * s[i]
        solve_again(joints, pattern, layout, S, descent)
        curvature = 0.0
        for i in range(s.shape[0]):
            curvature += scale[i] * s[i] * w[i]
        damping += norm * norm / curvature * (norm - radius) / radius if curvature > 0.0 else 0.0
        if not (lower < damping < upper):
            damping = 0.5 * (lower + upper) if upper < np.inf else max(4.0 * lower, initial_damping)
    if not definite and not hard_case and upper < np.inf:  # out of rounds at a bad guess
        damping, hard_case = upper, True
    smallest_pivot = box_step(
        joints, pattern, box.coordinate, layout, q, g, H, S, P, damping, descent
    )
    if not smallest_pivot > 0.0:
        return False
    if hard_case:
        extend_to_boundary(joints, pattern, layout, S, radius, descent)
    state[STEP_NORM], state[DAMPING] = scaled_norm(s, scale), damping
    return True


@jit
def extend_to_boundary(joints, pattern, layout, S, radius, descent):
    """Lengthen the step to |s|_D = Δ along the direction of least curvature of H + μD."""
    s, z, scale = descent.step, descent.rhs, descent.scale
    for i in range(z.shape[0]):
        z[i] = (1.0 + 0.1 * (i % 7)) if descent.active_set[i] == 0.0 else 0.0
    for _ in range(3):  # inverse iteration: the factored matrix is nearly singular along z
        solve_again(joints, pattern, layout, S, descent)
        norm = scaled_norm(z, scale)
        for i in range(z.shape[0]):
            z[i] /= norm
    overlap, norm = 0.0, scaled_norm(s, scale)
    for i in range(z.shape[0]):
        overlap += scale[i] * s[i] * z[i]
    root = math.sqrt(max(overlap * overlap + radius * radius - norm * norm, 0.0))
    # To the nearer of the two points on the boundary.
    length = -root - overlap if overlap < 0.0 else root - overlap
    for i in range(z.shape[0]):
        s[i] += length * z[i]
