"""Goals on where a point may be: at a distance from another one, on a plane, on a line.

Their residual leads from the point to the nearest place where it may be [m].
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from exactik._arrays import is_number, require_shape
from exactik.errors import GoalError
from exactik.goals._geometry import require_direction
from exactik.goals._goal import WORLD, Term, TermGoal
from exactik.goals._relative import RelativeGoal, check_bodies
from exactik.kernels.goals.terms import DISTANCE, POSITION
from exactik.typing import Array

if TYPE_CHECKING:
    from exactik.model import Skeleton

AT_MOST, EQUAL, AT_LEAST = -1.0, 0.0, 1.0


@dataclass(frozen=True, eq=False)
class DistanceGoal(TermGoal):
    """Two points, on two bones or on one and in the world, should be some distance apart.

    Give `distance`, or one or both of `at_least` and `at_most`, which cost nothing where they hold.
    Residual of each: from the point of `a` to the nearest place where it may be [m], in the axes of
    `b`, 3 rows. A violation x of a bound costs ½(x² − εx + ε²/3), and x³/(6ε) within the band ε, so
    that second derivatives have no jump.

    Attributes:
        a: name of a bone.
        b: name of another one; None for the world.
        distance: [m].
        at_least: [m].
        at_most: [m].
        points: of `a` and of `b`, each in its own frame [m], (2, 3).
        band: ε [m].

    The weight is one number.
    """

    error_unit: ClassVar[str] = "m"
    target_shape: ClassVar[tuple[int, ...] | None] = None

    a: str
    b: str | None
    distance: float | None = field(default=None, kw_only=True)
    at_least: float | None = field(default=None, kw_only=True)
    at_most: float | None = field(default=None, kw_only=True)
    points: ArrayLike = field(default=((0.0, 0.0, 0.0), (0.0, 0.0, 0.0)), kw_only=True)
    band: float = field(default=1e-3, kw_only=True)

    def __post_init__(self) -> None:
        """Check bodies, distances and weight."""
        super().__post_init__()
        check_bodies(self, self.a, self.b)
        given = {name: getattr(self, name) for name in ("distance", "at_least", "at_most")}
        given = {name: value for name, value in given.items() if value is not None}
        if len(given) == 0 or (self.distance is not None and len(given) > 1):
            raise GoalError(
                f"goal {self.label!r} needs distance=, or at_least= or at_most= or both of these"
            )
        for name, value in given.items():
            if not is_number(value) or not 0.0 <= value < np.inf:
                raise GoalError(f"{name} of goal {self.label!r} is {value!r}; expected metres ≥ 0")
        if self.at_least is not None and self.at_most is not None and self.at_least > self.at_most:
            raise GoalError(f"at_least of goal {self.label!r} is more than its at_most")
        if not is_number(self.band) or not 0.0 < self.band < np.inf:
            raise GoalError(f"band of goal {self.label!r} is {self.band!r}; expected metres > 0")
        require_one_weight(self)

    def default_name(self) -> str:
        """Return both names."""
        return f"{self.a} to {'a place' if self.b is None else self.b}"

    def terms(self, skeleton: Skeleton) -> list[Term]:
        """Return one distance term for each number given."""
        points = require_shape(f"points of goal {self.label!r}", self.points, 2, 3)
        wanted = (self.distance, EQUAL), (self.at_least, AT_LEAST), (self.at_most, AT_MOST)
        return [
            Term(
                DISTANCE,
                self.a,
                points[0],
                np.array([length, side, self.band]),
                points[1],
                relative_to=WORLD if self.b is None else self.b,
            )
            for length, side in wanted
            if length is not None
        ]


@dataclass(frozen=True, eq=False)
class _LevelGoal(RelativeGoal):
    """A goal of which only some rows count, in axes of its own: z is the normal or the line."""

    error_unit: ClassVar[str] = "m"
    counted_rows: ClassVar[tuple[float, float, float]]

    target: ArrayLike

    def __post_init__(self) -> None:
        """Check the weight."""
        super().__post_init__()
        require_one_weight(self)

    def make_terms(self, axis_name: str, axis: ArrayLike, point: ArrayLike) -> list[Term]:
        """Return the position term with rows in axes whose z is `axis`."""
        direction = require_direction(f"{axis_name} of goal {self.label!r}", axis)
        place = require_shape(f"target of goal {self.label!r}", self.target, 3)
        own = require_shape(f"point of goal {self.label!r}", point, 3)
        other = WORLD if self.relative_to is None else self.relative_to
        axes = _complete_axes(direction)
        return [Term(POSITION, self.bone, own, target=place, rotation=axes, relative_to=other)]

    def weight_matrix(self, m: int) -> Array:
        """Return W, (3, 3): the weight where rows count."""
        return super().weight_matrix(m) * np.diag(self.counted_rows)

    def watched_point(self, skeleton: Skeleton) -> None:
        """Return none: the nearest place depends on where the point is."""
        return


@dataclass(frozen=True, eq=False)
class PlaneGoal(_LevelGoal):
    """A point of a bone should be on a plane of the world or of another bone.

    Residual: from the point to `target` [m], in axes whose z is the normal; only the third of the
    3 rows counts.

    Attributes:
        bone: name of the bone.
        target: a place of the plane [m], shape (3,).
        normal: of the plane, shape (3,).
        point: tool point in the bone's frame [m], shape (3,).
        relative_to: bone that carries the plane; None for the world.

    The weight is one number.
    """

    counted_rows: ClassVar[tuple[float, float, float]] = (0.0, 0.0, 1.0)

    normal: ArrayLike
    point: ArrayLike = (0.0, 0.0, 0.0)

    def default_name(self) -> str:
        """Return bone.plane."""
        return f"{super().default_name()}.plane"

    def terms(self, skeleton: Skeleton) -> list[Term]:
        """Return one position term."""
        return self.make_terms("normal", self.normal, self.point)


@dataclass(frozen=True, eq=False)
class LineGoal(_LevelGoal):
    """A point of a bone should be on a line of the world or of another bone.

    Residual: from the point to `target` [m], in axes whose z is the direction; only the first two
    of the 3 rows count.

    Attributes:
        bone: name of the bone.
        target: a place of the line [m], shape (3,).
        direction: of the line, shape (3,).
        point: tool point in the bone's frame [m], shape (3,).
        relative_to: bone that carries the line; None for the world.

    The weight is one number.
    """

    counted_rows: ClassVar[tuple[float, float, float]] = (1.0, 1.0, 0.0)

    direction: ArrayLike
    point: ArrayLike = (0.0, 0.0, 0.0)

    def default_name(self) -> str:
        """Return bone.line."""
        return f"{super().default_name()}.line"

    def terms(self, skeleton: Skeleton) -> list[Term]:
        """Return one position term."""
        return self.make_terms("direction", self.direction, self.point)


def require_one_weight(goal: TermGoal) -> None:
    """Raise if the weight is not one number: the axes of the rows are not the user's."""
    if np.ndim(goal.weight) != 0:
        raise GoalError(f"weight of goal {goal.label!r} must be one number")


def _complete_axes(z: Array) -> Array:
    """Return a rotation matrix whose third column is a unit vector."""
    x = np.cross(np.eye(3)[int(np.argmin(np.abs(z)))], z)
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(z, x), z])
