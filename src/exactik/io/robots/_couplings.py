"""Joints that follow other joints: URDF's mimic, MJCF's equality between joints.

A coupling says that a dependent dof y is a polynomial of its source x,

    y = offset + multiplier · x + higher₂ x² + higher₃ x³ + higher₄ x⁴

where everything but the first two terms is rare. A skeleton keeps dependent dofs like any other;
the couplings are data beside it. Solving *under* couplings means to solve in the independent dofs u
alone. With q = c(u), C = ∂c/∂u (nv, nu) (a row of the identity for an independent dof; the slopes
of the chain of couplings, multiplied, for a dependent one), cost f and its derivatives g, H at q,

    gradient  Cᵀ g          Gauss–Newton  Cᵀ J ᵀW J C          Hessian  Cᵀ H C + Σ_y g_y ∂²y/∂u²

and the last sum is zero for linear couplings. The limits of a dependent dof become limits of its
source: those of u are the intersection of its own with (lower_y − offset) / multiplier and
(upper_y − offset) / multiplier, swapped where the multiplier is negative. Steps are taken in u and
carried to q by `apply_couplings`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.polynomial import polynomial
from numpy.typing import ArrayLike

from exactik.errors import ModelError, UnknownNameError
from exactik.model import Skeleton
from exactik.typing import Array

__all__ = ["Coupling", "apply_couplings", "sort_couplings"]


@dataclass(frozen=True)
class Coupling:
    """How a dependent dof follows from its source.

    Attributes:
        source: name of the dof that it follows; None if it is held still, at `offset`.
        multiplier: dependent units per source unit [rad or m each].
        offset: value [rad or m] where the source is zero.
        higher: coefficients of the source's square, cube, …; empty for a linear coupling.
    """

    source: str | None
    multiplier: float = 1.0
    offset: float = 0.0
    higher: tuple[float, ...] = ()

    @property
    def coefficients(self) -> tuple[float, ...]:
        """All coefficients, constant first."""
        return (self.offset, self.multiplier, *self.higher)

    def value(self, source: ArrayLike) -> Array:
        """Return the dependent value [rad or m] at these values of the source."""
        return self._polynomial(self.coefficients, source)

    def slope(self, source: ArrayLike) -> Array:
        """Return d(dependent)/d(source) at these values of the source."""
        return self._polynomial(polynomial.polyder(self.coefficients), source)

    @staticmethod
    def _polynomial(coefficients: ArrayLike, x: ArrayLike) -> Array:
        value = polynomial.polyval(np.asarray(x, dtype=float), np.asarray(coefficients))
        return np.asarray(value, dtype=np.float64)


def apply_couplings(skeleton: Skeleton, couplings: Mapping[str, Coupling], q: ArrayLike) -> Array:
    """Return q, (…, nq), with every dependent coordinate set from its source.

    Args:
        skeleton: the figure that the couplings belong to.
        couplings: dependent dof → coupling, as `load_couplings` gives them.
        q: coordinates, shape (…, nq). Limits are not applied.
    """
    out = skeleton.normalised(q)
    q_index = dict(zip(skeleton.dof_names, skeleton.plain_q.tolist(), strict=True))
    for dependent in sort_couplings(couplings):
        coupling = couplings[dependent]
        for name in (dependent, coupling.source):
            if name is not None and q_index.get(name, -1) < 0:
                raise UnknownNameError("dof that can be coupled", name, q_index)
        source = 0.0 if coupling.source is None else out[..., q_index[coupling.source]]
        out[..., q_index[dependent]] = coupling.value(source)
    return out


def sort_couplings(couplings: Mapping[str, Coupling]) -> list[str]:
    """Return the dependent dofs, each after its source; a cycle is a `ModelError`."""
    ordered: dict[str, None] = {}
    for first in couplings:
        path: dict[str, None] = {}
        name: str | None = first
        while name is not None and name in couplings and name not in ordered:
            if name in path:
                names = list(path)
                cycle = " → ".join([*names[names.index(name) :], name])
                raise ModelError(f"couplings run in a ring: {cycle}")
            path[name] = None
            name = couplings[name].source
        ordered.update(dict.fromkeys(reversed(path)))
    return list(ordered)
