"""Loops over a batch inside one compiled call, for the array face of the model."""

from __future__ import annotations

from exactik.kernels.tree import fk
from exactik.kernels.tree import integrate as moves
from exactik.spatial import jit

__all__ = ["difference_all", "forward_all", "integrate_all"]


@jit
def forward_all(tree, q, origin, sine, cosine, R, p, S):
    """Forward kinematics of each row of q (B, nq) into R (B, n+1, 3, 3) and p (B, n+1, 3)."""
    for b in range(q.shape[0]):
        fk.forward_kinematics(tree, q[b], origin, sine, cosine, R[b], p[b], S)


@jit
def integrate_all(tree, q, v, out):
    """Row by row q ⊕ v."""
    for b in range(q.shape[0]):
        moves.integrate(tree, q[b], v[b], out[b])


@jit
def difference_all(tree, q1, q0, out):
    """Row by row q₁ ⊖ q₀."""
    for b in range(q1.shape[0]):
        moves.difference(tree, q1[b], q0[b], out[b])
