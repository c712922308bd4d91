"""Newton's method in a trust region, by preconditioned conjugate gradients (docs/maths.md §14).

Each step minimises the model ψ(ŝ) of `_coleman_li`, which is that of the cost with the exact
Hessian where no limits are near, within |ŝ| ≤ Δ:

1. Steihaug's conjugate gradients for Ĥ ŝ = −ĝ, preconditioned by M, a band of Ĥ, until √(rᵀM⁻¹r)
   has fallen to the share min(ε, √slope), which makes the last steps superlinear; a direction d of
   negative curvature, dᵀĤd ≤ 0, or one that leaves the region, is followed to the edge.
2. ψ is minimised exactly over the plane of that ŝ and ĝ, inside the region. M has no part in this,
   so the region is a ball whose measure does not change when M does.
3. Where it leaves the limits, ŝ is cut, reflected or replaced (`bring_inside`). If it meets one
   before half of its way, the dofs that do are held and 1 and 2 repeated for the others, else dofs
   next to a limit, pulled inside by g and pushed out by Newton, would stop every step; of all
   steps found, the one with the lowest ψ is tried.

With ρ the fall of the cost, less ½ ŝᵀCŝ, over the fall of the model: ρ ≤ ¼ shrinks the region to
min(|ŝ|, Δ)/4; ρ ≥ ¾ at its edge, |ŝ| ≥ 0.9 Δ, doubles it. Any step that lowers the cost is taken.

The preconditioner: of Ĥ, scaled to a unit diagonal, keep the entries with |i − j| ≤ b and factor

    M = C ( band(C⁻¹ Ĥ C⁻¹) + κ I ) C ,    C = √|diag Ĥ| ,

with κ = 0 if its pivots are clear of zero, else with the first κ of a growing sequence for which
they are: the band of an indefinite matrix, and often of a definite one, is indefinite. b = 0 is
Jacobi's preconditioner. The dofs of a limb follow one another, so a band holds what couples most.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from exactik.errors import UsageError
from exactik.solvers._method import PythonMethod
from exactik.solvers._view import Iterate, View
from exactik.solvers.methods._coleman_li import (
    ScaledModel,
    find_length_to_sphere,
    make_model,
    release_from_limits,
)
from exactik.solvers.methods._two_metric import snap_to_limits
from exactik.typing import Array

GOOD_RATIO, EDGE_SHARE, POOR_RATIO = 0.75, 0.9, 0.25  # ρ and |ŝ|/Δ, the usual ones of trust regions
MIN_STEP_SHARE = 0.5  # share of a step; a dof that stops it before is held
MIN_RADIUS = 1e-15  # Δ, below which no step lowers the cost
COST_ROUNDING = 1e-14  # of the cost
MIN_PIVOT_ROOT = 1e-5  # root of a pivot; the diagonal is 1
SHIFTS = tuple(1e-4 * 4.0**k for k in range(60))  # κ
ZERO_DIAGONAL = 1e-12  # |H_ii|, as a share of the largest, that counts as none


@dataclass(frozen=True, kw_only=True)
class NewtonPCG(PythonMethod):
    """The trust-region Newton method with a banded preconditioner and interior reflections.

    Attributes:
        bandwidth: of the preconditioner; 0 for its diagonal alone.
        epsilon: by how much conjugate gradients reduce the residual of the Newton equations.
        initial_radius: of the trust region [rad or m, for dofs of strength 1 far from limits].
    """

    name: ClassVar[str] = "newton-pcg"
    bandwidth: int = 24
    epsilon: float = 0.1
    initial_radius: float = 1.0

    def __post_init__(self) -> None:
        """Check the options that are numbers."""
        super().__post_init__()
        if not self.initial_radius > 0.0:
            raise UsageError(f"NewtonPCG(initial_radius={self.initial_radius!r}): must be > 0")

    def stepper(self, view: View) -> _PCGStepper:
        """Return a fresh stepper."""
        return _PCGStepper(view, self)


class _PCGStepper:
    """Remembers the radius."""

    def __init__(self, view: View, method: NewtonPCG):
        self.view, self.method = view, method
        self.control = method.initial_radius  # Δ

    def step(self, iterate: Iterate) -> Iterate | None:
        start = release_from_limits(self.view, iterate)
        following = self.search(start)
        if following is None:
            following = start if start.cost < iterate.cost else None
        return None if following is None else snap_to_limits(self.view, following)

    def search(self, iterate: Iterate) -> Iterate | None:
        """Return a lower place, the first that a shrinking region leads to."""
        full_model = make_model(self.view, iterate)
        while self.control > MIN_RADIUS and len(full_model.gradient) > 0:
            remaining = math.sqrt(iterate.projected_gradient)
            model, s = self.propose(full_model, min(self.method.epsilon, remaining))
            trial = self.view.at(self.view.move(iterate.q, model.unscale(s)))
            predicted, size = -model.evaluate(s), float(np.linalg.norm(s))
            if predicted <= COST_ROUNDING * iterate.cost:
                alike = trial.cost <= iterate.cost * (1.0 + COST_ROUNDING)
                return trial if alike and trial.is_flatter_than(iterate) else None
            ratio = (
                iterate.cost - trial.cost - 0.5 * float(s @ (model.limit_curvature * s))
            ) / predicted
            if ratio <= POOR_RATIO:
                self.control = 0.25 * min(size, self.control)
            elif ratio >= GOOD_RATIO and size >= EDGE_SHARE * self.control:
                self.control *= 2.0
            if trial.cost < iterate.cost:
                return trial
        return None

    def propose(self, model: ScaledModel, epsilon: float) -> tuple[ScaledModel, Array]:
        """Return the best step inside region and limits, and the model of the dofs it moves."""
        choices, radius = [], self.control
        while len(model.gradient) > 0:
            band = BandedPreconditioner(model.hessian, self.method.bandwidth)
            s = minimise_in_plane(model, solve_steihaug(model, band, epsilon, radius), radius)
            choices.append((model, model.bring_inside(s, radius)))
            first, hit = model.find_length_to_limit(s, np.zeros(len(s)))
            if first >= MIN_STEP_SHARE:
                break
            model = model.hold_dofs(hit)
        return min(choices, key=lambda choice: choice[0].evaluate(choice[1]))


class BandedPreconditioner:
    """M ≈ H, positive definite, that is cheap to solve with: O(b²n) to set up, O(bn) each time."""

    def __init__(self, H: Array, bandwidth: int):
        """Factor the band of a symmetric matrix.

        Args:
            H: (n, n).
            bandwidth: b, number of diagonals below the main one.
        """
        from scipy.linalg import cho_solve_banded, cholesky_banded

        self._solve = cho_solve_banded
        n, size = len(H), np.abs(np.diag(H))
        flat = size <= ZERO_DIAGONAL * float(size.max(initial=0.0))
        self.scale = 1.0 / np.sqrt(np.where(flat, 1.0, size))
        band = np.zeros((min(bandwidth, n - 1) + 1, n))
        for k in range(len(band)):
            band[k, : n - k] = np.diag(H, k) * self.scale[k:] * self.scale[: n - k]
        band[0, flat] = 1.0
        for kappa in (0.0, *SHIFTS):
            shifted_band = band.copy()
            shifted_band[0] += kappa
            try:
                self.factor = cholesky_banded(shifted_band, lower=True, check_finite=False)
            except np.linalg.LinAlgError:
                continue
            if self.factor[0].min() >= MIN_PIVOT_ROOT:
                return
        raise AssertionError("a matrix with entries that are no numbers")

    def solve(self, r: Array) -> Array:
        """Return M⁻¹ r, (n,)."""
        return self.scale * self._solve((self.factor, True), self.scale * r, check_finite=False)


def solve_steihaug(
    model: ScaledModel, preconditioner: BandedPreconditioner, epsilon: float, radius: float
) -> Array:
    """Return an approximate minimiser ŝ of ψ, (n,), within or on the sphere."""
    s, r = np.zeros(len(model.gradient)), -model.gradient
    z = preconditioner.solve(r)
    d, rz = z, float(r @ z)
    enough = epsilon**2 * rz
    for _ in range(len(s) ** 2):
        Hd = model.hessian @ d
        curvature = float(d @ Hd)
        if curvature <= 0.0:
            return s + find_length_to_sphere(s, d, radius) * d
        following = s + (rz / curvature) * d
        if np.linalg.norm(following) >= radius:
            return s + find_length_to_sphere(s, d, radius) * d
        s, r = following, r - (rz / curvature) * Hd
        z = preconditioner.solve(r)
        old, rz = rz, float(r @ z)
        if rz <= enough:
            break
        d = z + (rz / old) * d
    return s


def minimise_in_plane(model: ScaledModel, s: Array, radius: float) -> Array:
    """Return the minimiser of ψ over the ball in the plane of ĝ and ŝ."""
    basis, _ = np.linalg.qr(np.column_stack([s, model.gradient]))
    values, vectors = np.linalg.eigh(basis.T @ model.hessian @ basis)
    basis = basis @ vectors
    return basis @ np.array(
        minimise_in_ball(values.tolist(), (basis.T @ model.gradient).tolist(), radius)
    )


def minimise_in_ball(values: list[float], slopes: list[float], radius: float) -> list[float]:
    """Minimise Σ slope x + ½ value x² over |x| ≤ radius; values are in rising order."""

    def solve_shifted(shift: float) -> list[float]:
        curvatures = [max(value + shift, 1e-300) for value in values]
        return [-slope / curve for slope, curve in zip(slopes, curvatures, strict=True)]

    if values[0] > 0.0 and math.hypot(*solve_shifted(0.0)) <= radius:
        return solve_shifted(0.0)
    low = max(0.0, -values[0])
    high = low + math.hypot(*slopes) / radius
    for _ in range(60):
        middle = 0.5 * (low + high)
        if math.hypot(*solve_shifted(middle)) > radius:
            low = middle
        else:
            high = middle
    x = solve_shifted(high)
    remaining = radius**2 - sum(entry**2 for entry in x[1:])
    if values[0] < 0.0 and remaining > 0.0:
        # Without a slope along negative curvature, either sign of x[0] is a minimiser.
        x[0] = math.copysign(math.sqrt(remaining), x[0])
    return x
