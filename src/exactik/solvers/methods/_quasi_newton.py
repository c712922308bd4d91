"""BFGS and L-BFGS: Newton with an inverse Hessian estimated from gradients (docs/maths.md §14).

In y = v/σ with σ = strength/√(JᵀWJ)_ii at the start, which makes the steps v of all dofs alike
whatever their units and levers, let s be the step made, z the change of the gradient and ρ = 1/s·z.
The estimate B of the inverse Hessian becomes

    B ← (I − ρ s zᵀ) B (I − ρ z sᵀ) + ρ s sᵀ    if  s·z > 1e-10 |s||z| ,

and B = I is scaled by s·z/z·z before its first update. A gradient of quaternions belongs to the
tangent space of its own place; the turn between two places, of the order of s, is ignored.

Cutting d = −B g off at the limits need not go down. Here limits are met by two metrics (Bertsekas
1982): dofs A within ε of a limit that the gradient pushes them to move by the diagonal of B alone.
The others, F, take the Newton step of the Hessian B⁻¹ without the rows and columns A,

    d_F = −(B_FF − B_FA B_AA⁻¹ B_AF) g_F ,    d_A = −diag(B)_A g_A ,

which does go down along clip(q ⊕ τ d). Dofs on a limit that d_F pushes out although the gradient
does not are left where they are, as clip would do, but before the others are solved for. ε falls
with the projected gradient: in the end A is what limits really hold. All of z is kept, also the
part of A: B is an estimate for all dofs and stays good when A changes. If the whole step is clear
of the limits, τ satisfies the strong Wolfe conditions, which make s·z > 0; else it is found by the
projected Armijo search. Dofs that end a hair's breadth from a limit are put on it
(`snap_to_limits`).

With limited memory, the last m steps s and changes z are the columns of S and Z. They stand for the
Hessian (Byrd, Nocedal and Schnabel 1994)

    θ I − W M Wᵀ ,   W = [Z  θS] ,   M⁻¹ = [ −D     Lᵀ  ]    SᵀZ = L + D + (upper part) ,
                                          [  L   θSᵀS ]    θ = z·z / s·z  of the last pair.

Unlike the inverse that a two-loop recursion stands for, it can be cut down to the free dofs F by
dropping rows of W, and loses nothing that was learnt while others were free. The step is then

    d_F = −(1/θ) g_F − (1/θ²) W_F (M⁻¹ − W_Fᵀ W_F/θ)⁻¹ W_Fᵀ g_F ,

in O(m²n + m³); blocked dofs move by −g/θ.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from exactik.errors import UsageError
from exactik.solvers._method import PythonMethod
from exactik.solvers._view import Iterate, View
from exactik.solvers.methods._line_search import (
    find_length_to_limit,
    limit_turn,
    search_armijo,
    search_wolfe,
)
from exactik.solvers.methods._two_metric import (
    clip_to_limits,
    compute_open_step,
    find_blocked_dofs,
    snap_to_limits,
)
from exactik.typing import Array, BoolArray

MAX_FIRST_TURN = 0.1  # [rad] of any dof, while curvature is unknown
MAX_TURN = 1.0  # [rad] of any dof, afterwards
MIN_CURVATURE_SHARE = 1e-3  # least (JᵀWJ)_ii that σ regards, as a share of the largest
MIN_CONVEXITY = 1e-10  # least s·z / |s||z| of an update


class InverseHessian(Protocol):
    """An estimate of the inverse Hessian, in y = v/σ."""

    @property
    def is_initial(self) -> bool:
        """Whether it was never updated."""
        ...

    def diagonal(self) -> Array:
        """Return a positive diagonal that stands for the inverse Hessian, (nv,)."""
        ...

    def solve_free(self, g: Array, free: BoolArray) -> Array:
        """Return the Newton step of the free dofs alone, (nv,), zero for the others."""
        ...

    def update(self, s: Array, z: Array) -> None:
        """Learn from a step and the change of the gradient along it, s·z > 0."""
        ...

    def reset(self) -> None:
        """Start afresh."""
        ...


@dataclass(frozen=True, kw_only=True)
class BFGS(PythonMethod):
    """BFGS with two-metric projection at the limits.

    Superlinear at best, and slow in nearly flat valleys: the default tolerance is looser than that
    of the Newton methods.
    """

    name: ClassVar[str] = "bfgs"
    max_iterations: int = 1000
    tolerance: float = 1e-8

    def stepper(self, view: View) -> QuasiNewtonStepper:
        """Return a fresh stepper."""
        return QuasiNewtonStepper(view, DenseInverse(view.nv))


class DenseInverse:
    """The matrix B itself, (nv, nv)."""

    def __init__(self, nv: int):
        self.B = np.eye(nv)
        self.is_initial = True

    def reset(self) -> None:
        self.B = np.eye(len(self.B))
        self.is_initial = True

    def diagonal(self) -> Array:
        return np.diag(self.B)

    def solve_free(self, g: Array, free: BoolArray) -> Array:
        # With w_F = g_F, choose w_A so that the step −B w leaves A where it is.
        w, blocked = np.where(free, g, 0.0), ~free
        if blocked.any():
            w[blocked] = -np.linalg.solve(self.B[np.ix_(blocked, blocked)], (self.B @ w)[blocked])
        return np.where(free, -self.B @ w, 0.0)

    def update(self, s: Array, z: Array) -> None:
        sz = float(s @ z)
        if self.is_initial:
            self.B *= sz / float(z @ z)
            self.is_initial = False
        Bz = self.B @ z
        self.B += np.outer(s, s) * ((sz + float(z @ Bz)) / sz**2)
        self.B -= (np.outer(Bz, s) + np.outer(s, Bz)) / sz


class QuasiNewtonStepper:
    """Direction, search and update, for any estimate."""

    def __init__(self, view: View, inverse: InverseHessian):
        """Begin with an estimate."""
        self.view, self.inverse = view, inverse
        self.control = 1.0  # length of the last step
        self.scale = np.zeros(0)  # σ, (nv,) from the first step on

    def step(self, iterate: Iterate) -> Iterate | None:
        """Return the next place; an estimate that misleads is dropped and the gradient tried."""
        if len(self.scale) == 0:
            self.scale = compute_dof_scale(self.view, iterate)
        following = self.search(iterate)
        if following is None and not self.inverse.is_initial:
            self.inverse.reset()
            following = self.search(iterate)
        if following is not None:
            following = snap_to_limits(self.view, following)
            s = self.view.moved(following.q, iterate.q) / self.scale
            z = self.scale * (following.gradient - iterate.gradient)
            if s @ z > MIN_CONVEXITY * np.linalg.norm(s) * np.linalg.norm(z):
                self.inverse.update(s, z)
        return following

    def search(self, iterate: Iterate) -> Iterate | None:
        """Return a lower place along the direction of the estimate."""
        view, g = self.view, iterate.gradient
        diagonal = self.scale**2 * self.inverse.diagonal()
        outer = find_blocked_dofs(view, iterate, diagonal)

        def newton(free: BoolArray) -> Array:
            return self.scale * self.inverse.solve_free(self.scale * g, free)

        try:
            inner = compute_open_step(view, iterate, ~outer, newton)
        except np.linalg.LinAlgError:  # updates by steps that are all but parallel
            return None
        if not g @ inner <= 0.0:
            return None
        d = np.where(outer, clip_to_limits(view, iterate, -diagonal * g), inner)
        length = limit_turn(view, d, MAX_FIRST_TURN if self.inverse.is_initial else MAX_TURN)
        search = (
            search_wolfe if find_length_to_limit(view, iterate, d) > 2.0 * length else search_armijo
        )
        following, self.control = search(view, iterate, d, length)
        return following


def compute_dof_scale(view: View, iterate: Iterate) -> Array:
    """Return σ, (nv,), in which all dofs that matter have about the same curvature."""
    curve = np.diag(view.problem.gauss_newton(iterate.q))
    flattest = max(MIN_CURVATURE_SHARE * float(curve.max(initial=0.0)), 1e-300)
    return view.strength / np.sqrt(np.maximum(curve, flattest))


@dataclass(frozen=True, kw_only=True)
class LBFGS(PythonMethod):
    """Limited-memory BFGS with two-metric projection at the limits.

    Linear convergence: the default tolerance is looser than that of the Newton methods, and more
    steps are allowed.

    Attributes:
        memory: pairs of steps and gradients to remember.
    """

    name: ClassVar[str] = "l-bfgs"
    max_iterations: int = 2000
    tolerance: float = 1e-8
    memory: int = 10

    def __post_init__(self) -> None:
        """Check the options that are numbers."""
        super().__post_init__()
        if self.memory < 1:
            raise UsageError(f"LBFGS(memory={self.memory!r}): must be ≥ 1")

    def stepper(self, view: View) -> QuasiNewtonStepper:
        """Return a fresh stepper."""
        return QuasiNewtonStepper(view, LimitedMemory(view.nv, self.memory))


class LimitedMemory:
    """The last pairs, the newest at the end."""

    def __init__(self, nv: int, max_pairs: int):
        self.nv, self.max_pairs = nv, max_pairs
        self.reset()

    def reset(self) -> None:
        self.S, self.Z = np.empty((self.nv, 0)), np.empty((self.nv, 0))
        self.theta, self.M_inverse = 1.0, np.empty((0, 0))

    @property
    def is_initial(self) -> bool:
        return self.S.shape[1] == 0

    def diagonal(self) -> Array:
        return np.full(self.nv, 1.0 / self.theta)

    def solve_free(self, g: Array, free: BoolArray) -> Array:
        d = np.where(free, -g / self.theta, 0.0)
        if not self.is_initial:
            W = np.hstack([self.Z, self.theta * self.S])[free]
            inner = self.M_inverse - W.T @ W / self.theta
            d[free] -= W @ np.linalg.solve(inner, W.T @ g[free]) / self.theta**2
        return d

    def update(self, s: Array, z: Array) -> None:
        keep = slice(max(0, self.S.shape[1] + 1 - self.max_pairs), None)
        self.S = np.hstack([self.S[:, keep], s[:, None]])
        self.Z = np.hstack([self.Z[:, keep], z[:, None]])
        self.theta = float(z @ z) / float(s @ z)
        SZ = self.S.T @ self.Z
        L, D = np.tril(SZ, -1), np.diag(np.diag(SZ))
        self.M_inverse = np.block([[-D, L.T], [L, self.theta * self.S.T @ self.S]])
