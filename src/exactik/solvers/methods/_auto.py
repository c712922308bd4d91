"""`auto`, the default: damped Newton with exact curvature, that finds its way around limits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from exactik.kernels.descent.options import (
    CURVATURE,
    DAMPED,
    ESCAPE_SADDLES,
    HYBRID,
    INITIAL_DAMPING,
    RULE,
    TRY_DETOUR,
)
from exactik.solvers._loop import CompiledMethod

__all__ = ["Auto"]


@dataclass(frozen=True, kw_only=True)
class Auto(CompiledMethod):
    """The method of choice.

    Attributes:
        initial_damping: μ of the first step, relative to the curvature of each dof.
        escape: leave saddles along a direction of negative curvature.
        detour: where limits stop the descent short of the goals, try once more from the same start
            without limits first.
    """

    name: ClassVar[str] = "auto"
    initial_damping: float = 1.0
    escape: bool = True
    detour: bool = True

    def settings(self) -> dict[int, float]:
        """Damping, both curvatures."""
        return {
            RULE: DAMPED,
            CURVATURE: HYBRID,
            INITIAL_DAMPING: self.initial_damping,
            ESCAPE_SADDLES: float(self.escape),
            TRY_DETOUR: float(self.detour),
        }
