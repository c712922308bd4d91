"""What all goals share: a name, a weight and a tolerance."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from exactik._arrays import freeze, require_finite
from exactik.errors import GoalError, ShapeError
from exactik.typing import Array

if TYPE_CHECKING:
    from exactik.model import Skeleton

__all__ = ["Goal"]


@dataclass(frozen=True, eq=False, kw_only=True)
class Goal:
    """Base of every goal: ½ rᵀ W r is added to the cost, r = target − model.

    Attributes:
        name: key of the goal in results; made from the bone or marker if empty.
        weight: a scalar, one number per row of the residual, or a symmetric positive semi-definite
            matrix W over the rows of this goal.
        tolerance: largest error that counts as reached [m or rad]; None means 1e-3 m and 1e-2 rad.
    """

    name: str = ""
    weight: ArrayLike = field(default=1.0, repr=False)
    tolerance: float | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        """Keep arrays of our own: the caller may go on writing on theirs."""
        for entry in fields(self):
            value = getattr(self, entry.name)
            if isinstance(value, np.ndarray):
                object.__setattr__(self, entry.name, freeze(value.copy()))
            elif isinstance(value, list):
                object.__setattr__(self, entry.name, copy.deepcopy(value))
        if self.tolerance is not None and not (
            isinstance(self.tolerance, int | float) and 0.0 < self.tolerance < np.inf
        ):
            raise GoalError(
                f"tolerance of goal {self.label!r} is {self.tolerance!r}; "
                "it must be a positive number or None"
            )

    def rows(self, skeleton: Skeleton) -> int:
        """Return the number of rows of this goal's residual."""
        raise NotImplementedError

    def default_name(self) -> str:
        """Return the name used when none is given."""
        return type(self).__name__

    def weight_matrix(self, m: int) -> Array:
        """Return W, shape (m, m), for a residual of m rows."""
        weight = require_finite(f"weight of goal {self.label!r}", self.weight)
        if weight.ndim < 2:
            weight = self._spread(weight, m)
        if weight.shape not in ((), (m,), (m, m)):
            raise ShapeError(
                f"weight of goal {self.label!r} has shape {weight.shape}; "
                f"expected (), ({m},) or ({m}, {m})"
            )
        if weight.ndim < 2:
            if (weight < 0.0).any():
                raise GoalError(f"weight of goal {self.label!r} is negative")
            return np.diag(np.broadcast_to(weight, (m,)).astype(float))
        return require_weight_matrix(f"weight of goal {self.label!r}", weight)

    def _spread(self, weight: Array, rows: int) -> Array:
        """Turn a short per-axis weight into one number per row, where a goal offers that."""
        return weight

    @property
    def label(self) -> str:
        """The name, or the default one."""
        return self.name or self.default_name()


def require_weight_matrix(what: str, matrix: Array) -> Array:
    """Return the matrix if it is symmetric and positive semi-definite to rounding, else raise."""
    scale = float(np.abs(matrix).max(initial=0.0))
    if np.abs(matrix - matrix.T).max(initial=0.0) > 1e-12 * scale:
        raise GoalError(f"{what} is not symmetric")
    matrix = 0.5 * (matrix + matrix.T)
    if matrix.size > 0 and np.linalg.eigvalsh(matrix)[0] < -1e-10 * scale:
        raise GoalError(f"{what} has a negative eigenvalue, so that the cost would have no minimum")
    return matrix
