"""Newton's own step, nothing around it, on the two links of Figure A.9, from many starts at once.

    tip(a, b) = (cos a + cos(a + b), sin a + sin(a + b)),   far = (cos(a + b), sin(a + b))
    r = goal − tip,   f = ½ r·r,   J = (tip, far) turned by a right angle
    g = −Jᵀ r,   H = JᵀJ + [[r·tip, r·far], [r·far, r·far]],   (a, b) ← (a, b) − H⁻¹ g

The second term of H has this sign because the second derivatives of the tip are −tip and −far.
"""

from __future__ import annotations

import numpy as np

from exactik.typing import Array

__all__ = ["ENDS", "count_newton_ends", "evaluate_two_links"]

ENDS = ("lowest minimum", "other minimum", "saddle", "maximum", "no end")
STEPS = 50  # at a singular solution each only halves the error; the shares are the same from 40 on
SLOPE = 1e-9  # |g| of an end
SAME_COST = 1e-9  # of minima that are equally low
FLAT = 1e-6  # of eigenvalues that count as zero: the solution at full stretch is singular


def evaluate_two_links(angles: Array, goal: float) -> tuple[Array, Array, Array]:
    """Return f, g and H of poses, (n,), (n, 2) and (n, 2, 2).

    Args:
        angles: of both joints [rad], (n, 2).
        goal: where the tip should be on the x axis, in lengths of a link.
    """
    a, both = angles[:, 0], angles[:, 0] + angles[:, 1]
    far = np.stack([np.cos(both), np.sin(both)], axis=1)
    tip = np.stack([np.cos(a), np.sin(a)], axis=1) + far
    r = np.array([goal, 0.0]) - tip
    levers = np.stack([tip, far], axis=1)  # (n, dof, xy); the columns of J, not yet turned
    turned = np.stack([-levers[..., 1], levers[..., 0]], axis=2)
    pull = np.einsum("nj,nij->ni", r, levers)
    second = np.stack([pull, np.repeat(pull[:, 1:], 2, axis=1)], axis=1)
    return (
        0.5 * np.einsum("nj,nj->n", r, r),
        -np.einsum("nj,nij->ni", r, turned),
        turned @ turned.transpose(0, 2, 1) + second,
    )


def count_newton_ends(goal: float, size: int) -> dict[str, float]:
    """Return the share of starts that end at each kind of stationary point, by `ENDS`.

    Args:
        goal: where the tip should be on the x axis, in lengths of a link.
        size: starts along each angle, over a whole turn, both ends included.
    """
    line = np.linspace(-np.pi, np.pi, size)
    angles = np.stack(np.meshgrid(line, line, indexing="ij"), axis=2).reshape(-1, 2)
    for _ in range(STEPS):
        _, slope, hessian = evaluate_two_links(angles, goal)
        regular = np.abs(np.linalg.det(hessian)) > 0.0
        angles[regular] -= np.linalg.solve(hessian[regular], slope[regular, :, None])[..., 0]
    cost, slope, hessian = evaluate_two_links(angles, goal)
    least, most = np.linalg.eigvalsh(hessian).T
    ended = np.linalg.norm(slope, axis=1) < SLOPE
    is_lowest = cost <= cost[ended].min() + SAME_COST
    kinds = np.select([~ended, is_lowest, least > -FLAT, most > FLAT], [4, 0, 1, 2], default=3)
    return {name: float(np.mean(kinds == k)) for k, name in enumerate(ENDS)}
