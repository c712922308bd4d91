"""What is true of a place, however it was found: gradient and curvature on the free dofs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from exactik.problem import Problem
from exactik.solvers._view import Place, View
from exactik.typing import Array, BoolArray

__all__ = ["FLAT_EIGENVALUE", "Certificate", "find_held_dofs", "make_certificate"]


FLAT_EIGENVALUE = 1e-8  # of the largest curvature: one within this of zero is none
PUSH_ROUNDING = 1e-9  # relative gradient below which a limit is touched but not pushed against


@dataclass(frozen=True, eq=False)
class Certificate:
    """Proof of what kind of place a result is.

    Reduced means: on the dofs that are neither locked nor held by a limit that the goals push
    against.

    Attributes:
        projected_gradient: largest |gradient| of a reduced dof, relative: over √(2 cost · curvature
            of the dof), which makes it the cosine of the angle between the residual and the effect
            of the dof; 0 at a stationary point.
        min_eigenvalue: smallest eigenvalue of the reduced exact Hessian; negative at a saddle.
        max_eigenvalue: the largest.
        rank: number of its eigenvalues that are not zero (relative to 1e-8 of the largest).
        size: number of reduced dofs; those beyond the rank are undetermined.
        descent: direction of negative curvature that the limits leave open, (nv,), or None.
    """

    projected_gradient: float
    min_eigenvalue: float
    max_eigenvalue: float
    rank: int
    size: int
    descent: Array | None

    @property
    def saddle(self) -> bool:
        """Whether the cost falls along a direction of negative curvature."""
        return self.descent is not None


def find_held_dofs(problem: Problem, place: Place) -> BoolArray:
    """Return the dofs that are locked, or pushed against a limit by more than rounding, (nv,).

    Where a method stopped early, what is left of the gradient elsewhere is noise, too.
    """
    noise = max(PUSH_ROUNDING, 10.0 * place.slope) * place.scale
    return problem.locked | (place.held & (np.abs(place.gradient) > noise))


def make_certificate(problem: Problem, q: Array) -> Certificate:
    """Return the certificate of a configuration inside the limits, (nq,)."""
    view = View(problem)
    place = view.at(q)
    free = ~find_held_dofs(problem, place)
    size = int(free.sum())
    if size == 0:
        return Certificate(
            projected_gradient=place.slope,
            min_eigenvalue=0.0,
            max_eigenvalue=0.0,
            rank=0,
            size=0,
            descent=None,
        )
    H = problem.hessian(q)[np.ix_(free, free)]
    values, vectors = np.linalg.eigh(H)
    largest = float(np.abs(values).max())
    rank = int((np.abs(values) > FLAT_EIGENVALUE * largest).sum()) if largest > 0.0 else 0
    low, high = view.room(q)
    descent = None
    for value, vector in zip(values, vectors.T, strict=True):
        if value >= -FLAT_EIGENVALUE * largest or descent is not None:
            break
        direction = np.zeros(problem.skeleton.nv)
        direction[free] = vector
        for signed in (direction, -direction):
            # A limit that is touched without push may still block this sense.
            if not ((signed < -1e-9) & (low >= 0.0) | (signed > 1e-9) & (high <= 0.0)).any():
                descent = signed
    return Certificate(
        projected_gradient=place.slope,
        min_eigenvalue=float(values[0]),
        max_eigenvalue=float(values[-1]),
        rank=rank,
        size=size,
        descent=descent,
    )
