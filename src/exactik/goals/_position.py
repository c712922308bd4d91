"""Goals on where a point is: of a bone, or a marker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from exactik._arrays import require_shape
from exactik.goals._geometry import distance_beyond
from exactik.goals._goal import Term, TermGoal
from exactik.goals._relative import RelativeGoal
from exactik.kernels.goals.terms import POSITION
from exactik.typing import Array

if TYPE_CHECKING:
    from exactik.model import Skeleton


@dataclass(frozen=True, eq=False)
class PositionGoal(RelativeGoal):
    """A point of a bone should be at a place.

    Residual: target − (p + R point) [m], world axes or those of `relative_to`, 3 rows.

    Attributes:
        bone: name of the bone.
        target: place [m], shape (3,).
        point: tool point in the bone's frame [m], shape (3,).
        relative_to: bone in whose frame the target is; None for the world.
    """

    error_unit: ClassVar[str] = "m"

    target: ArrayLike
    point: ArrayLike = (0.0, 0.0, 0.0)

    def terms(self, skeleton: Skeleton) -> list[Term]:
        """Return one position term."""
        point = require_shape(f"point of goal {self.label!r}", self.point, 3)
        target = require_shape(f"target of goal {self.label!r}", self.target, 3)
        return self.relate([Term(POSITION, self.bone, point, target=target)])

    def find_point(self, skeleton: Skeleton) -> tuple[str, Array]:
        """Return bone and point."""
        return self.bone, np.asarray(self.point, float)

    def shortfall(self, centre: Array, radius: float) -> float:
        """Return how far [m] the target is outside the ball."""
        return distance_beyond(self.target, centre, radius)


@dataclass(frozen=True, eq=False)
class MarkerGoal(TermGoal):
    """A marker of the skeleton should be at a place.

    Attributes:
        marker: name of the marker.
        target: place in the world [m], shape (3,).
    """

    error_unit: ClassVar[str] = "m"

    marker: str
    target: ArrayLike

    def default_name(self) -> str:
        """Return the marker's name."""
        return self.marker

    def terms(self, skeleton: Skeleton) -> list[Term]:
        """Return one position term at the marker's local point."""
        bone, point = self.watched_point(skeleton)
        target = require_shape(f"target of goal {self.label!r}", self.target, 3)
        return [Term(POSITION, bone, point, target=target)]

    def watched_point(self, skeleton: Skeleton) -> tuple[str, Array]:
        """Return the marker's bone and local point."""
        bone, point = skeleton.marker(self.marker)
        return bone, np.asarray(point)

    def shortfall(self, centre: Array, radius: float) -> float:
        """Return how far [m] the target is outside the ball."""
        return distance_beyond(self.target, centre, radius)
