"""The pseudo-inverse: y = J⁺e, the shortest of the steps that do most for the goals; Gauss–Newton.

With J for W½ JS and e = W½ r (docs/maths.md §14), the step is d = S y and J⁺ comes from

    svd   J = UΣVᵀ ,      J⁺ = VΣ⁺Uᵀ ,         σ inverted if σ > rcond σ₁
    qr    JᵀP = QR ,      J⁺ = Q (Rᵀ)⁺ Pᵀ ,    rows of R kept if |R_ii| > rcond |R_11| ;
          Rᵀ = Q₂R₂ ,     (Rᵀ)⁺ = R₂⁻¹Q₂ᵀ

with columns exchanged by P so that |R_ii| falls. The second factor makes it the pseudo-inverse at
any rank and shape; for a J of full rank both are the same up to rounding. Either has an orthonormal
basis B of the row space, V or Q, without the columns of what is dropped; I − J⁺J = I − BBᵀ.

A secondary goal, to be near q_rest, adds the part of its own step that the goals do not feel:

    y += (I − J⁺J) S ζ ,   ζ = rest_gain (q_rest ⊖ q)

to first order, as JS(I − J⁺J) = 0; and ζ·S(I − J⁺J)Sζ ≥ 0, so that it does bring q_rest nearer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from exactik._arrays import require_shape
from exactik.errors import UsageError
from exactik.solvers._view import Iterate, View
from exactik.solvers.methods._jacobian_method import JacobianMethod, JacobianStepper
from exactik.typing import Array, BoolArray

# Share of the reduction of the cost that the secondary goal may undo by its second order.
MAX_UNDONE_SHARE = 0.5
MAX_PULLS = 5  # with a quarter of the last pull each; its second order falls to 1/16 each time


@dataclass(frozen=True, kw_only=True)
class PseudoInverse(JacobianMethod):
    """Steps by the pseudo-inverse: quadratic near a reachable target, wild near singular poses.

    Attributes:
        max_step: on by default, as J⁺e has no bound near singular poses.
        factorisation: "svd" or "qr".
        rcond: singular values (for "qr", diagonal entries of R) below this share of the largest
            count as zero.
        rest: q_rest, (nq,), a posture to approach as far as the goals do not mind; None for none.
            Approached on the way only: the run ends when the goals are at rest. A `PostureGoal` of
            small weight goes all the way.
        rest_gain: share of the way to q_rest that each step asks for.
    """

    name: ClassVar[str] = "pseudo-inverse"
    max_iterations: int = 500
    tolerance: float = 1e-8
    max_step: float | None = 0.5
    factorisation: str = "svd"
    rcond: float = 1e-6
    rest: ArrayLike | None = None
    rest_gain: float = 0.2

    def __post_init__(self) -> None:
        """Check the options; keep q_rest as a tuple, which can be compared and hashed."""
        super().__post_init__()
        if self.factorisation not in ("svd", "qr"):
            raise UsageError(f"factorisation is {self.factorisation!r}; it must be 'svd' or 'qr'")
        if self.rest is not None:
            object.__setattr__(self, "rest", tuple(require_shape("rest", self.rest, -1).tolist()))

    def stepper(self, view: View) -> _PseudoInverseStepper:
        """Return a fresh stepper."""
        return _PseudoInverseStepper(self, view)


class _PseudoInverseStepper(JacobianStepper):
    def __init__(self, method: PseudoInverse, view: View):
        super().__init__(method, view)
        self.rcond, self.gain, self.rest = method.rcond, method.rest_gain, None
        self.invert = invert_by_svd if method.factorisation == "svd" else invert_by_qr
        self.pull = np.zeros(view.nv)  # Sζ
        if method.rest is not None:
            skeleton = view.problem.skeleton
            self.rest = skeleton.normalised(require_shape("rest", method.rest, skeleton.nq))

    def solve(self, J: Array, e: Array, free: BoolArray) -> Array:
        y, B = self.invert(J, e, self.rcond)
        pull = self.pull[free]
        return y + pull - B @ (B.T @ pull)

    def step(self, iterate: Iterate) -> Iterate | None:
        if self.rest is None:
            return super().step(iterate)
        full_pull = self.gain * self.view.strength * self.view.moved(self.rest, iterate.q)
        if not self.method.safeguard:
            self.pull = full_pull
            return super().step(iterate)
        self.pull = np.zeros(self.view.nv)
        alone = super().step(iterate)
        if alone is None:
            return None
        max_cost = alone.cost + MAX_UNDONE_SHARE * (iterate.cost - alone.cost)
        for attempt in range(MAX_PULLS):
            self.pull = 0.25**attempt * full_pull
            d = self.compute_step(iterate)
            if d is not None:
                combined = self.view.at(self.view.move(iterate.q, self.control * d))
                if combined.cost <= max_cost:
                    return combined
        return alone


def invert_by_svd(J: Array, e: Array, rcond: float) -> tuple[Array, Array]:
    """Return J⁺e, (n,), and an orthonormal basis of the row space of J, (n, rank)."""
    U, s, Vt = np.linalg.svd(J, full_matrices=False)
    is_nonzero = s > rcond * s.max(initial=0.0)
    B = Vt[is_nonzero].T
    return B @ ((U[:, is_nonzero].T @ e) / s[is_nonzero]), B


def invert_by_qr(J: Array, e: Array, rcond: float) -> tuple[Array, Array]:
    """Return the same as `invert_by_svd`, by two QR factors."""
    from scipy.linalg import qr, solve_triangular  # heavy, and not needed to import exactik

    Q, R, order = qr(J.T, mode="economic", pivoting=True, check_finite=False)
    size = np.abs(np.diag(R))
    rank = int(np.count_nonzero(size > rcond * size.max(initial=0.0)))
    B = Q[:, :rank]
    Q2, R2 = np.linalg.qr(R[:rank].T)
    return B @ solve_triangular(R2, Q2.T @ e[order], check_finite=False), B
