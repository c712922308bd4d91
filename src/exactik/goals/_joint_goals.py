"""Goals on the coordinates themselves: a rest posture, and limits as a penalty."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from exactik.goals._goal import Goal

if TYPE_CHECKING:
    from exactik.model import Skeleton

__all__ = ["PostureGoal", "SoftLimitGoal"]


@dataclass(frozen=True, eq=False)
class PostureGoal(Goal):
    """The figure should stay near a rest posture.

    Residual: difference(q_rest, q), one row per dof [rad or m]; for a quaternion joint the rotation
    vector, in the bone's own axes, from the present rotation to that at rest.

    Attributes:
        q_rest: coordinates of the rest posture, shape (nq,).
    """

    q_rest: ArrayLike

    def default_name(self) -> str:
        """Return posture."""
        return "posture"

    def rows(self, skeleton: Skeleton) -> int:
        """Return one row per dof."""
        return skeleton.nv


@dataclass(frozen=True, eq=False)
class SoftLimitGoal(Goal):
    """The coordinates should stay inside their limits, by a quadratic penalty outside them.

    Residual: clip(q, lower, upper) − q, one row per dof [rad or m]; zero inside. The second
    derivative of the cost jumps at the limit (it is C¹).
    """

    def default_name(self) -> str:
        """Return soft limits."""
        return "soft limits"

    def rows(self, skeleton: Skeleton) -> int:
        """Return one row per dof."""
        return skeleton.nv
