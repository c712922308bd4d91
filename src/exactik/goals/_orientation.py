"""Goals on how a bone is turned: alone, or together with where it is."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from exactik._arrays import require_shape
from exactik.errors import GoalError
from exactik.goals._geometry import (
    distance_beyond,
    refuse_any,
    require_rotation,
    require_rotations,
    spread_turn_gradients,
)
from exactik.goals._goal import GoalPart, Term
from exactik.goals._relative import RelativeGoal
from exactik.kernels.goals.terms import DIRECTION, LOG, POSITION
from exactik.spatial import matrix_from_wxyz
from exactik.typing import Array

if TYPE_CHECKING:
    from exactik.model import Skeleton


@dataclass(frozen=True, eq=False)
class OrientationGoal(RelativeGoal):
    """A bone should be turned in a given way.

    kind="log": residual log(R_target R_boneᵀ) [rad], in world axes or those of `relative_to`, 3
    rows; the cost is half the squared angle.
    kind="axes": residual is the difference of the three axes, 9 rows (x, y, z axis after each
    other); smooth everywhere, also half a turn away, where the log has a kink.

    Attributes:
        bone: name of the bone.
        target: rotation of the bone, (3, 3); or give `wxyz` instead.
        kind: "log" or "axes".
        wxyz: the target as a quaternion, shape (4,).
        relative_to: bone in whose axes the target and the rows are; None for the world.

    For kind="axes" the weight may also be three numbers, one per axis of the bone.
    """

    target_shape: ClassVar[tuple[int, ...] | None] = (3, 3)

    target: ArrayLike | None = None
    kind: str = "log"
    wxyz: ArrayLike | None = field(default=None, kw_only=True)

    def default_name(self) -> str:
        """Return bone.orientation."""
        return f"{super().default_name()}.orientation"

    @property
    def rotation(self) -> Array:
        """The target as a rotation matrix, (3, 3)."""
        if (self.target is None) == (self.wxyz is None):
            raise GoalError(
                f"goal {self.label!r} needs a target (3, 3) or wxyz (4,), one of the two"
            )
        if self.wxyz is not None:
            wxyz = require_shape(f"wxyz of goal {self.label!r}", self.wxyz, 4)
            if np.linalg.norm(wxyz) < 1e-12:
                raise GoalError(f"wxyz of goal {self.label!r} is the zero quaternion")
            return matrix_from_wxyz(wxyz)
        assert self.target is not None
        return require_rotation(f"target of goal {self.label!r}", self.target)

    def terms(self, skeleton: Skeleton) -> list[Term]:
        """Return one log term or three direction terms."""
        rotation = self.rotation
        if self.kind == "log":
            return self.relate([Term(LOG, self.bone, rotation=rotation)])
        if self.kind == "axes":
            axes = enumerate(np.eye(3))
            return self.relate(
                [Term(DIRECTION, self.bone, axis=axis, target=rotation[:, a]) for a, axis in axes]
            )
        raise GoalError(f"kind of goal {self.label!r} is {self.kind!r}; it must be 'log' or 'axes'")

    def spread_weight(self, weight: Array, rows: int) -> Array:
        """Spread one number per axis over its three rows."""
        return np.repeat(weight, 3) if rows == 9 and weight.shape == (3,) else weight

    def check_targets(self, what: str, targets: Array) -> Array:
        """Return rotation matrices, (B, 3, 3)."""
        return require_rotations(what, targets)

    def write_targets(self, targets: Array, points: Array, rotations: Array) -> None:
        """Write the rotation of the log term, or the three axes."""
        if self.kind == "log":
            rotations[:, 0] = targets
        else:
            points[:, :3] = np.swapaxes(targets, 1, 2)

    def with_target(self, target: Array) -> OrientationGoal:
        """Return the same goal with another rotation matrix."""
        return replace(self, target=target, wxyz=None)

    def join_target_derivatives(self, derivatives: list[Array]) -> Array:
        """Return the derivatives by a turn φ of the target [rad, its axes], (nv, 3)."""
        if self.kind == "log":
            return derivatives[0]
        # The three axes of the target turn together: τ_a = φ × t_a.
        turns = [np.cross(np.eye(3), axis) for axis in self.rotation.T]
        pairs = zip(derivatives, turns, strict=True)
        return np.sum([derivative @ turn.T for derivative, turn in pairs], axis=0)

    def gather_target_gradients(self, targets: Array, by_term: Array) -> Array:
        """Return the gradients by the entries of the rotations, (B, 3, 3)."""
        if self.kind == "axes":
            by_term = np.cross(np.swapaxes(targets, 1, 2), by_term).sum(axis=1, keepdims=True)
        return spread_turn_gradients(targets, by_term[:, 0])


@dataclass(frozen=True, eq=False)
class PoseGoal(RelativeGoal):
    """A bone should be at a place and turned in a given way: a position and a log orientation goal.

    Residual: position [m] (3 rows), then rotation vector [rad] (3 rows).

    Attributes:
        bone: name of the bone.
        target: rigid transform of the tool, (4, 4): its rotation is the bone's, its origin the
            place of `point` [m].
        point: tool point in the bone's frame [m], shape (3,).
        relative_to: bone in whose frame the target is, and in whose axes the rows are; None for
            the world.

    The weight may also be two numbers, one for the position and one for the rotation.
    """

    error_unit: ClassVar[str] = "m"
    target_shape: ClassVar[tuple[int, ...] | None] = (4, 4)

    target: ArrayLike
    point: ArrayLike = (0.0, 0.0, 0.0)

    def terms(self, skeleton: Skeleton) -> list[Term]:
        """Return one position and one log term."""
        what = f"target of goal {self.label!r}"
        transform = require_shape(what, self.target, 4, 4)
        if not np.allclose(transform[3], (0, 0, 0, 1), atol=1e-9):
            raise GoalError(f"{what} is not a rigid transform: its last row must be (0, 0, 0, 1)")
        rotation = require_rotation(f"rotation of {what}", transform[:3, :3])
        point = require_shape(f"point of goal {self.label!r}", self.point, 3)
        place = Term(POSITION, self.bone, point, target=transform[:3, 3])
        return self.relate([place, Term(LOG, self.bone, rotation=rotation)])

    def spread_weight(self, weight: Array, rows: int) -> Array:
        """Spread one number for the position and one for the rotation over three rows each."""
        return np.repeat(weight, 3) if weight.shape == (2,) else weight

    def check_targets(self, what: str, targets: Array) -> Array:
        """Return rigid transforms, (B, 4, 4)."""
        if len(targets) != 1 or targets[0, 3].tolist() != [0.0, 0.0, 0.0, 1.0]:
            skewed = np.abs(targets[:, 3] - (0, 0, 0, 1)).max(axis=1, initial=0.0) > 1e-9
            refuse_any(skewed, what, "not a rigid transform: its last row must be (0, 0, 0, 1)")
        rotations = targets[:, :3, :3]
        nearest = require_rotations(what, rotations)
        if nearest is rotations:
            return targets
        targets = targets.copy()
        targets[:, :3, :3] = nearest
        return targets

    def write_targets(self, targets: Array, points: Array, rotations: Array) -> None:
        """Write the place of the position term and the rotation of the log term."""
        points[:, 0], rotations[:, 1] = targets[:, :3, 3], targets[:, :3, :3]

    def error_parts(
        self, skeleton: Skeleton, name: str, rows: slice, terms: slice
    ) -> tuple[GoalPart, ...]:
        """Return the place [m] and the rotation [rad] apart."""
        row, term = rows.start + 3, terms.start + 1
        return (
            self.make_part(name, "m", slice(rows.start, row), slice(terms.start, term)),
            self.make_part(
                f"{name}.rotation", "rad", slice(row, rows.stop), slice(term, terms.stop)
            ),
        )

    def find_point(self, skeleton: Skeleton) -> tuple[str, Array]:
        """Return bone and point."""
        return self.bone, np.asarray(self.point, float)

    def shortfall(self, centre: Array, radius: float) -> float:
        """Return how far [m] the place is outside the ball."""
        return distance_beyond(np.asarray(self.target, float)[:3, 3], centre, radius)

    def gather_target_gradients(self, targets: Array, by_term: Array) -> Array:
        """Return the gradients by the entries of the transforms, (B, 4, 4)."""
        gradients = np.zeros_like(targets)
        gradients[:, :3, 3] = by_term[:, 0]
        gradients[:, :3, :3] = spread_turn_gradients(targets[:, :3, :3], by_term[:, 1])
        return gradients
