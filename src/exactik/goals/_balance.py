"""A goal on where the centre of mass is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from exactik._arrays import as_floats, is_number, require_shape
from exactik.errors import GoalError, UnknownNameError
from exactik.goals._goal import Term, TermGoal
from exactik.goals._places import require_one_weight
from exactik.kernels.goals.terms import LEVEL, POSITION
from exactik.typing import Array

if TYPE_CHECKING:
    from exactik.model import Skeleton


@dataclass(frozen=True, eq=False)
class CenterOfMassGoal(TermGoal):
    """The centre of mass, of the figure or of some of its bones, should be somewhere.

    Give one of three. `target`: at a place; residual target − centre [m], 3 rows. `over`: above the
    middle between bones, which may move; the same, of which only the first two rows count.
    `inside`: above a convex polygon on the floor; for each edge 3 rows, which lead back inside [m],
    and a violation costs as that of a `DistanceGoal` does.

    Attributes:
        target: in the world [m], shape (3,).
        over: names of bones, as the feet.
        inside: corners in the world, x and y [m], in any order, shape (n, 2).
        bones: names of the bones that count; all that have a mass if None.
        band: ε of `inside` [m], see `DistanceGoal`.

    The weight is one number, unless `target` is given.
    """

    error_unit: ClassVar[str] = "m"

    target: ArrayLike | None = None
    over: Sequence[str] | None = field(default=None, kw_only=True)
    inside: ArrayLike | None = field(default=None, kw_only=True)
    bones: Sequence[str] | None = field(default=None, kw_only=True)
    band: float = field(default=1e-3, kw_only=True)

    def __post_init__(self) -> None:
        """Check that one thing is asked."""
        super().__post_init__()
        given = [value for value in (self.target, self.over, self.inside) if value is not None]
        if len(given) != 1:
            raise GoalError(f"goal {self.label!r} needs one of target=, over= and inside=")
        if not is_number(self.band) or not 0.0 < self.band < np.inf:
            raise GoalError(f"band of goal {self.label!r} is {self.band!r}; expected metres > 0")
        if self.target is None:
            object.__setattr__(self, "target_shape", None)
            require_one_weight(self)

    def default_name(self) -> str:
        """Return centre of mass."""
        return "centre of mass"

    def terms(self, skeleton: Skeleton) -> list[Term]:
        """Return one position term, or one term for each edge."""
        members = self._find_members(skeleton)
        if self.target is not None:
            target = require_shape(f"target of goal {self.label!r}", self.target, 3)
            return [Term(POSITION, "", target=target, members=members)]
        if self.over is not None:
            names = (self.over,) if isinstance(self.over, str) else tuple(self.over)
            feet = tuple((name, np.zeros(3), -1.0 / len(names)) for name in names)
            return [Term(POSITION, "", members=(*members, *feet))]
        corners = find_corners(f"inside of goal {self.label!r}", self.inside)
        return [
            Term(LEVEL, "", axis=self.band * normal, target=corner, members=members)
            for corner, normal in zip(corners, find_normals(corners), strict=True)
        ]

    def weight_matrix(self, m: int) -> Array:
        """Return W: with `over` the height does not count."""
        weight = super().weight_matrix(m)
        return weight * np.diag([1.0, 1.0, 0.0]) if self.over is not None else weight

    def _find_members(self, skeleton: Skeleton) -> tuple[tuple[str, Array, float], ...]:
        """Return bone, centre and share of the mass of all bones that count."""
        masses = skeleton.masses
        for name in self.bones or ():
            if name not in skeleton.bone_names:
                raise UnknownNameError("bone", name, skeleton.bone_names)
        names = [n for n in masses if self.bones is None or n in self.bones]
        total = sum(masses[name].mass for name in names)
        if not total > 0.0:
            which = f"figure {skeleton.name!r}" if self.bones is None else "these bones"
            raise GoalError(
                f"goal {self.label!r}: {which} has no mass; give masses to the skeleton"
            )
        return tuple(
            (name, np.asarray(masses[name].center, float), masses[name].mass / total)
            for name in names
        )


def find_corners(what: str, corners: ArrayLike | None) -> Array:
    """Return the corners of the convex hull [m], (n, 3), counterclockwise, at height 0."""
    points = as_floats(what, () if corners is None else corners)
    if points.ndim != 2 or points.shape[1] != 2 or not np.isfinite(points).all():
        raise GoalError(f"{what} has shape {points.shape}; expected corners, (n, 2), in metres")
    ordered = np.unique(points, axis=0).tolist()
    halves = []
    for side in (ordered, ordered[::-1]):
        hull: list[list[float]] = []
        for point in side:
            while len(hull) > 1 and _turn(hull[-2], hull[-1], point) <= 0.0:
                hull.pop()
            hull.append(point)
        halves += hull[:-1]
    if len(halves) < 3:
        raise GoalError(f"{what} has no area; expected three corners or more, not on a line")
    return np.column_stack([halves, np.zeros(len(halves))])


def _turn(a: list[float], b: list[float], c: list[float]) -> float:
    """Return twice the area of a triangle, positive if it is counterclockwise."""
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def find_normals(corners: Array) -> Array:
    """Return the outward normal of the edge after each corner, (n, 3)."""
    edges = np.roll(corners, -1, axis=0) - corners
    normals = np.column_stack([edges[:, 1], -edges[:, 0], np.zeros(len(edges))])
    return normals / np.linalg.norm(normals, axis=1, keepdims=True)
