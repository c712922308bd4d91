"""Goals on the coordinates themselves: a rest posture, and limits as a penalty."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from numpy.typing import ArrayLike

from exactik._arrays import require_shape
from exactik.goals._goal import CoordinateTerm, Goal, GoalPart

if TYPE_CHECKING:
    from exactik.model import Skeleton


@dataclass(frozen=True, eq=False)
class _CoordinateGoal(Goal):
    """A goal with one row per dof."""

    is_secondary: ClassVar[bool] = True

    def rows(self, skeleton: Skeleton) -> int:
        """Return one row per dof."""
        return skeleton.nv

    def error_parts(
        self, skeleton: Skeleton, name: str, rows: slice, terms: slice
    ) -> tuple[GoalPart, ...]:
        """Return the largest row, which has a unit if all dofs are angles, or all are shifts."""
        turns = skeleton.turns
        unit = "rad" if turns.all() else ("m" if not turns.any() else "")
        return (self.make_part(name, unit, rows, by_row=True),)


@dataclass(frozen=True, eq=False)
class PostureGoal(_CoordinateGoal):
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

    def coordinate_term(self, skeleton: Skeleton) -> CoordinateTerm:
        """Return the way back to the rest posture."""
        q_rest = require_shape(f"q_rest of goal {self.label!r}", self.q_rest, skeleton.nq)
        return CoordinateTerm(skeleton.normalised(q_rest))


@dataclass(frozen=True, eq=False)
class SoftLimitGoal(_CoordinateGoal):
    """The coordinates should stay inside their limits, by a quadratic penalty outside them.

    Residual: clip(q, lower, upper) − q, one row per dof [rad or m]; zero inside. The second
    derivative of the cost jumps at the limit (it is C¹).
    """

    def default_name(self) -> str:
        """Return soft limits."""
        return "soft limits"

    def coordinate_term(self, skeleton: Skeleton) -> CoordinateTerm:
        """Return the way back into the limits."""
        return CoordinateTerm(q_rest=None)
