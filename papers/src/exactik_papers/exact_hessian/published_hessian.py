"""The Hessian of the published MATLAB code, its error included: an emulation, marked as such.

Not for use: it is here to measure what the error does. Let joint k turn about axes ω_i, i outer to
j, and Δp lead from its centre to a marker. Inside a joint the published code takes the second
derivative with the inner axis first, ω_j × (ω_i × Δp), on both sides of the diagonal; right is
ω_i × (ω_j × Δp). The strict upper triangle of each joint's block is therefore off by

    −Σ r·((ω_j × ω_i) × Δp) = −(ω_j × ω_i)·τ ,    τ = Σ Δp × r

over the markers below. It vanishes with the residual r, and with it the error. Blocks between
joints, and those of the root's translation, are exact there; see docs/maths.md §13.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from exactik.kernels.goals.terms import POSITION
from exactik.problem import Problem
from exactik.solvers import Iterate, NewtonPCG, View
from exactik.typing import Array

__all__ = ["PublishedNewton", "compute_published_hessian"]


def compute_published_hessian(problem: Problem, q: Array) -> Array:
    """Return the Hessian as the published code has it, (nv, nv), not symmetric.

    All goals must be positions of weight 1.
    """
    skeleton = problem.skeleton
    H, pose = problem.hessian(q), skeleton.forward(q)
    terms, targets = problem.packed.arrays.terms, problem.packed.targets
    assert (terms.kind == POSITION).all()
    r = problem.residual(q).reshape(-1, 3)
    force, moment = np.zeros((len(skeleton.bones), 3)), np.zeros((len(skeleton.bones), 3))
    for frame, target, residual in zip(terms.frame, targets, r, strict=True):
        k = int(frame) - 1  # frame 0 is the world
        force[k] += residual
        moment[k] += np.cross(target - residual, residual)  # r = target − place
    for k in range(len(skeleton.bones) - 1, 0, -1):  # children come after their parents
        parent = int(skeleton.parents[k])
        if parent >= 0:
            force[parent] += force[k]
            moment[parent] += moment[k]
    first = skeleton.tree.first_v
    for k, bone in enumerate(skeleton.bones):
        dofs = np.arange(int(first[k + 1]), int(first[k + 2]))
        dofs = dofs[skeleton.turns[dofs] & ~problem.locked[dofs]]
        if len(dofs) < 2:
            continue
        torque = moment[k] - np.cross(pose.positions[k], force[k])
        axes = skeleton.jacobian(q, bone.name, rows="angular")[:, dofs]
        for a in range(len(dofs)):
            for b in range(a + 1, len(dofs)):
                H[dofs[a], dofs[b]] -= np.cross(axes[:, b], axes[:, a]) @ torque
    return H


class _PublishedView(View):
    """A view with the wrong Hessian; it shares all else with the one it is made from."""

    def __init__(self, view: View):
        self.__dict__ = view.__dict__  # the count of evaluations too

    def hessian(self, iterate: Iterate) -> Array:
        return compute_published_hessian(self.problem, iterate.q)


@dataclass(frozen=True, kw_only=True)
class PublishedNewton(NewtonPCG):
    """The trust-region method with the Hessian of the published code."""

    name: ClassVar[str] = "published-newton"

    def stepper(self, view: View) -> Any:
        """Return a fresh stepper that sees the wrong Hessian."""
        return super().stepper(_PublishedView(view))
