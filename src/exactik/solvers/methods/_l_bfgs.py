"""Limited-memory BFGS inside the limits (docs/maths.md §14).

The last m steps s and changes z of the gradient, in the variables y of `_bfgs`, are the columns of
S and Z. They stand for the Hessian (Byrd, Nocedal and Schnabel 1994)

    θ I − W M Wᵀ ,   W = [Z  θS] ,   M⁻¹ = [ −D     Lᵀ  ]    SᵀZ = L + D + (upper part) ,
                                          [  L   θSᵀS ]    θ = z·z / s·z  of the last pair.

Unlike the inverse that a two-loop recursion stands for, it can be cut down to the free dofs F by
dropping rows of W, and loses nothing that was learnt while others were free. The step is then

    d_F = −(1/θ) g_F − (1/θ²) W_F (M⁻¹ − W_Fᵀ W_F/θ)⁻¹ W_Fᵀ g_F ,

in O(m²n + m³). Which dofs are free, how limits are met and how far to go is as for BFGS: by two
metrics, where blocked dofs move by −g/θ.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from exactik.errors import ModelError
from exactik.solvers._loop import PythonMethod
from exactik.solvers._view import View
from exactik.solvers.methods._bfgs import QuasiNewtonStepper
from exactik.typing import Array, BoolArray

__all__ = ["LBFGS"]


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
            raise ModelError(f"LBFGS(memory={self.memory!r}): must be ≥ 1")

    def stepper(self, view: View) -> QuasiNewtonStepper:
        """Return a fresh stepper."""
        return QuasiNewtonStepper(view, _LimitedMemory(view.nv, self.memory))


class _LimitedMemory:
    """The last pairs, the newest at the end."""

    def __init__(self, nv: int, most: int):
        self.nv, self.max_pairs = nv, most
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
