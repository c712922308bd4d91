"""What a goal is, and what the rest of the library asks it.

A goal answers for itself; nobody else switches on its class. It says

    how it is evaluated    `terms` (compiled, on bones), `coordinate_term` (compiled, on the
                           coordinates), or `evaluate` (in Python, on the frame of a bone)
    what its target is     `target_shape`, `check_targets`, `write_targets`, `with_target`
    how far it is missed   `error_unit`, `error_parts`, `is_secondary`
    when it cannot be met  `watched_point`, `shortfall`
    how its target acts    `join_target_derivatives`, `gather_target_gradients`

with a default for each but the first. So a new goal is one class; its base is `TermGoal` where the
terms of `kernels.goals.terms` suffice, else `FrameGoal`.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, ClassVar, NamedTuple, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from exactik._arrays import freeze, is_number, require_finite
from exactik.errors import GoalError, ShapeError
from exactik.kernels.goals.terms import POSITION
from exactik.typing import Array

if TYPE_CHECKING:
    from exactik.model import Skeleton


LEAST_DESCRIBED = 1e-3  # [mm, degrees]: below any tolerance and any measurement

DEFAULT_POSITION_TOLERANCE = 1e-3  # [m]
DEFAULT_ANGLE_TOLERANCE = 1e-2  # [rad]

_ZERO, _EYE = np.zeros(3), np.eye(3)


WORLD = ""
"""Name of the world where a body is asked for."""


class Term(NamedTuple):
    """Three residual rows on one bone; the kind says which fields matter (`kernels.goals.terms`).

    Attributes:
        kind: POSITION, DIRECTION, LOG, AIM, DISTANCE, LEVEL or SEGMENTS.
        bone: name of the bone.
        point: in the bone's frame [m], (3,).
        axis: unit vector in the bone's frame, (3,); of distances their length, side and band.
        target: place [m] or unit vector in the world, (3,).
        rotation: target of LOG in the world, (3, 3); of SEGMENTS see `Terms`.
        relative_to: bone in whose axes the target and the rows are; WORLD for the world as a body,
            None where there is only one. POSITION then has its rows in the axes `rotation` there.
        members: bone, point of it [m] and share of each point whose weighted sum takes the place of
            the bone's point; `bone` is "" then. Shares add up to 1, or to 0 for a difference.
    """

    kind: int
    bone: str
    point: Array = _ZERO
    axis: Array = _ZERO
    target: Array = _ZERO
    rotation: Array = _EYE
    relative_to: str | None = None
    members: tuple[tuple[str, Array, float], ...] = ()

    @property
    def bodies(self) -> set[tuple[str, str | None]]:
        """Names of its bones, each with that which it is measured in; None for the world."""
        if len(self.members) > 0:
            return {(bone, None) for bone, _, _ in self.members}
        return {(self.bone, self.relative_to or None)}

    @property
    def is_place(self) -> bool:
        """Whether it asks that a point of the bone be at a place of the world."""
        return self.kind == POSITION and self.relative_to is None and self.bone != ""


class CoordinateTerm(NamedTuple):
    """One residual row per dof [rad or m], on the coordinates themselves.

    Attributes:
        q_rest: posture to return to, (nq,); None for a return into the limits.
    """

    q_rest: Array | None


class GoalPart(NamedTuple):
    """A part of a goal whose error is one number: a whole goal, or the rotation of a pose.

    Attributes:
        name: of the goal; "name.rotation" for the rotation of a pose.
        unit: of the error: "m", "rad", or "" for others.
        tolerance: largest error that counts as reached.
        rows: its rows of the residual.
        terms: its terms, whose largest error counts; if empty, the rows are measured.
        by_row: whether the largest row is the error; else the length of all rows.
        contacts: of each term, the two bodies that it keeps apart; none for other goals.
    """

    name: str
    unit: str
    tolerance: float
    rows: slice
    terms: slice = slice(0, 0)
    by_row: bool = False
    contacts: tuple[tuple[str, str], ...] = ()

    @property
    def has_terms(self) -> bool:
        """Whether the kernels measure its error."""
        return self.terms.stop > self.terms.start

    def describe(self, error: float) -> str:
        """Return "12.3 mm", "0.41 m", "3.1°"; "<0.001 mm" of what nobody needs to know better."""
        if self.unit == "m" and error >= 0.1:
            return f"{error:.3g} m"
        if self.unit not in ("m", "rad"):
            return f"{error:.3g}"
        number, unit = (1e3 * error, " mm") if self.unit == "m" else (np.degrees(error), "°")
        small = number < LEAST_DESCRIBED
        return f"<{LEAST_DESCRIBED:g}{unit}" if small else f"{number:.3g}{unit}"


@dataclass(frozen=True, eq=False, kw_only=True)
class Goal:
    """Base of every goal: ½ rᵀ W r is added to the cost, r = target − model.

    Attributes:
        name: key of the goal in results; made from the bone or marker if empty.
        weight: a scalar, one number per row of the residual, or a symmetric positive semi-definite
            matrix W over the rows of this goal.
        tolerance: largest error that counts as reached [m or rad]; None means 1e-3 m and 1e-2 rad.
    """

    error_unit: ClassVar[str] = ""  # "m", "rad", or "" for others
    is_secondary: ClassVar[bool] = False  # counts as reached, unless it has a tolerance or is alone
    target_shape: ClassVar[tuple[int, ...] | None] = None  # None: there is no target to set

    name: str = ""
    weight: ArrayLike = field(default=1.0, repr=False)
    tolerance: float | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        """Copy arrays and lists: the caller may go on to change theirs."""
        for entry in fields(self):
            value = getattr(self, entry.name)
            if isinstance(value, np.ndarray):
                object.__setattr__(self, entry.name, freeze(value.copy()))
            elif isinstance(value, list):
                object.__setattr__(self, entry.name, copy.deepcopy(value))
        if not isinstance(self.name, str):
            raise GoalError(f"name of a goal is {self.name!r}; it must be text")
        if self.tolerance is not None:
            if not is_number(self.tolerance) or not 0.0 < self.tolerance < np.inf:
                raise GoalError(
                    f"tolerance of goal {self.label!r} is {self.tolerance!r}; "
                    "it must be a positive number or None"
                )
            object.__setattr__(self, "tolerance", float(self.tolerance))

    @property
    def label(self) -> str:
        """The name, or the default one."""
        return self.name or self.default_name()

    def default_name(self) -> str:
        """Return the name used when none is given."""
        return type(self).__name__

    # --- how it is evaluated

    def rows(self, skeleton: Skeleton) -> int:
        """Return the number of rows of this goal's residual."""
        refuse_goal(self)

    def terms(self, skeleton: Skeleton) -> list[Term]:
        """Return the terms that it is made of, in the order of the rows; none for other goals."""
        return []

    def coordinate_term(self, skeleton: Skeleton) -> CoordinateTerm | None:
        """Return what it asks of the coordinates; None for goals on bones."""
        return None

    @property
    def evaluated_bone(self) -> str:
        """Name of the bone whose frame `evaluate` takes, for goals without compiled terms."""
        refuse_goal(self)

    def evaluate(
        self, rotation: Array, position: Array, rows: int, order: int
    ) -> tuple[Array, Array, Array]:
        """Return residual (m,), first and second derivatives (m, 6), (m, 6, 6); see `FrameGoal`."""
        refuse_goal(self)

    def weight_matrix(self, m: int) -> Array:
        """Return W, shape (m, m), for a residual of m rows."""
        weight = require_finite(f"weight of goal {self.label!r}", self.weight)
        if weight.ndim < 2:
            weight = self.spread_weight(weight, m)
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

    def weight_blocks(self, m: int) -> tuple[Array, ...]:
        """Return the blocks on the diagonal of W, of m rows together: at least one."""
        return (self.weight_matrix(m),)

    def spread_weight(self, weight: Array, rows: int) -> Array:
        """Turn a short per-axis weight into one number per row, where a goal offers that."""
        return weight

    # --- what its target is

    def check_targets(self, what: str, targets: Array) -> Array:
        """Return targets of B problems, (B, *target_shape), normalised; raise if one is invalid.

        Args:
            what: their name in an error.
            targets: of the right shape, finite.
        """
        return targets

    def write_targets(self, targets: Array, points: Array, rotations: Array) -> None:
        """Write checked targets, (B, *target_shape), to those of its n terms.

        Args:
            targets: of B problems.
            points: `Term.target` of its terms, (B, n, 3).
            rotations: `Term.rotation`, (B, n, 3, 3).
        """

    def with_target(self, target: Array) -> Goal:
        """Return the same goal with another target."""
        return replace(self, target=target)

    # --- how far it is missed

    def error_parts(
        self, skeleton: Skeleton, name: str, rows: slice, terms: slice
    ) -> tuple[GoalPart, ...]:
        """Return what is measured to tell whether the goal is reached.

        Args:
            skeleton: the figure.
            name: of the goal in the problem.
            rows: its rows of the problem's residual.
            terms: its terms among the problem's.
        """
        return (self.make_part(name, self.error_unit, rows, terms),)

    def make_part(
        self, name: str, unit: str, rows: slice, terms: slice = slice(0, 0), by_row: bool = False
    ) -> GoalPart:
        """Return a part with the goal's tolerance, or the default one of its unit."""
        default = DEFAULT_ANGLE_TOLERANCE if unit == "rad" else DEFAULT_POSITION_TOLERANCE
        return GoalPart(
            name=name,
            unit=unit,
            tolerance=self.tolerance or default,
            rows=rows,
            terms=terms,
            by_row=by_row,
        )

    # --- when it cannot be met

    def watched_point(self, skeleton: Skeleton) -> tuple[str, Array] | None:
        """Return the bone and the point of it [m], (3,), whose place the goal is about, if any."""
        return None

    def shortfall(self, centre: Array, radius: float) -> float:
        """Return by how much the goal is missed at least, if its point cannot leave a ball.

        Args:
            centre: of the ball in the world [m], (3,).
            radius: [m].
        """
        return 0.0

    # --- how its target acts

    def join_target_derivatives(self, derivatives: list[Array]) -> Array:
        """Return derivatives by the target, (nv, k), from those by the targets of the terms.

        Args:
            derivatives: one (nv, 3) per term, by its place [m], its unit vector or a turn of its
                rotation [rad, world].
        """
        return np.hstack(derivatives)

    def gather_target_gradients(self, targets: Array, by_term: Array) -> Array:
        """Return gradients of a loss by the targets, (B, *target_shape), from those by its terms.

        Args:
            targets: of B problems, as given.
            by_term: (B, n, 3), by what `join_target_derivatives` takes.
        """
        return by_term[:, 0]


@dataclass(frozen=True, eq=False)
class TermGoal(Goal):
    """A goal made of terms, each with three rows, whose target by default is that of the first."""

    error_unit: ClassVar[str] = "rad"
    target_shape: ClassVar[tuple[int, ...] | None] = (3,)

    def terms(self, skeleton: Skeleton) -> list[Term]:
        """Return the terms in the order of the rows."""
        refuse_goal(self)

    def rows(self, skeleton: Skeleton) -> int:
        """Return three rows per term."""
        return 3 * len(self.terms(skeleton))

    def write_targets(self, targets: Array, points: Array, rotations: Array) -> None:
        """Write targets (B, 3) to the first term."""
        points[:, 0] = targets


def refuse_goal(goal: object) -> NoReturn:
    """Raise, because this cannot be evaluated."""
    raise GoalError(
        f"{goal!r} is no goal that can be evaluated; subclass FrameGoal to write your own"
    )


def require_weight_matrix(what: str, matrix: Array) -> Array:
    """Return the matrix if it is symmetric and positive semi-definite to rounding, else raise."""
    scale = float(np.abs(matrix).max(initial=0.0))
    if np.abs(matrix - matrix.T).max(initial=0.0) > 1e-12 * scale:
        raise GoalError(f"{what} is not symmetric")
    matrix = 0.5 * (matrix + matrix.T)
    if matrix.size > 0 and np.linalg.eigvalsh(matrix)[0] < -1e-10 * scale:
        raise GoalError(f"{what} has a negative eigenvalue, so that the cost would have no minimum")
    return matrix
