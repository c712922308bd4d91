"""What closes a loop: a condition on two bodies, its gap, and the goals that pull it shut."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from exactik._arrays import is_number, require_shape
from exactik.errors import UsageError
from exactik.goals import DistanceGoal, Goal, PlaneGoal, PositionGoal
from exactik.model import Pose
from exactik.spatial import is_rotation
from exactik.typing import Array

LOOP_KINDS = ("point", "weld", "distance", "plane")
LOOSE = 1.0  # [m] tolerance of the goals: they do not decide whether a pose is reached


@dataclass(frozen=True, eq=False, kw_only=True)
class _Common:
    """Fields of a loop that have defaults; see `Loop`."""

    kind: str = "point"
    points: ArrayLike = ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    rotation: ArrayLike | None = None
    normal: ArrayLike | None = None
    distance: float | None = None
    arm: float = 0.1
    tolerance: float = 1e-8
    name: str = ""


@dataclass(frozen=True, eq=False)
class Loop(_Common):
    """Two bodies that are held together, as a four-bar linkage is closed.

    Attributes:
        a: name of a bone.
        b: name of another one; None for the world.
        kind: "point": the two points coincide; "weld": so do the bodies' axes; "distance": the
            points are `distance` apart; "plane": the point of `a` is on a plane of `b`.
        points: of `a` and of `b`, each in its own frame [m], (2, 3).
        rotation: of `a` in the axes of `b` for a weld, (3, 3); None for the same axes.
        normal: of the plane in the axes of `b`, (3,).
        distance: [m].
        arm: length over which the turn of a weld is measured [m]: it is closed where three points
            that far apart coincide.
        tolerance: largest gap of a closed loop [m].
        name: in results; made of the bones if empty.
    """

    a: str
    b: str | None

    def __post_init__(self) -> None:
        """Check kind, points and numbers."""
        if self.kind not in LOOP_KINDS:
            raise UsageError(f"kind of loop {self.label!r} is {self.kind!r}; one of {LOOP_KINDS}")
        if self.a == self.b:
            raise UsageError(f"loop {self.label!r} holds {self.a!r} to itself")
        require_shape(f"points of loop {self.label!r}", self.points, 2, 3)
        if self.kind == "plane":
            require_shape(f"normal of loop {self.label!r}", self.normal or (0,), 3)
        if self.rotation is not None and not is_rotation(np.asarray(self.rotation, float)):
            raise UsageError(f"rotation of loop {self.label!r} is not a rotation matrix")
        numbers: list[tuple[str, float | None]] = [("arm", self.arm), ("tolerance", self.tolerance)]
        if self.kind == "distance":
            numbers.append(("distance", self.distance))
        for name, value in numbers:
            if not is_number(value) or not 0.0 < value < np.inf:
                raise UsageError(f"{name} of loop {self.label!r} is {value!r}; expected metres > 0")

    @property
    def label(self) -> str:
        """The name, or both bones."""
        return self.name or f"{self.a} to {'the world' if self.b is None else self.b}"

    @property
    def size(self) -> int:
        """Number of equations."""
        return {"point": 3, "weld": 9, "distance": 1, "plane": 1}[self.kind]

    def find_gap(self, pose: Pose) -> Array:
        """Return what each equation is missed by [m], in the axes of `b`."""
        own, other = self._list_points()
        seen = np.array([pose.point(self.a, point) for point in own])
        if self.b is not None:
            k = pose.skeleton.bone_index(self.b)
            seen = (seen - pose.positions[k]) @ pose.rotations[k]
        missed = other - seen
        if self.kind == "distance":
            return np.array([float(np.linalg.norm(missed)) - float(self.distance or 0.0)])
        return missed @ self._unit_normal() if self.kind == "plane" else missed.ravel()

    def make_goals(self, weight: float, shift: Array) -> list[Goal]:
        """Return goals whose cost is ½ weight |gap + shift|²; `shift` (size,) [m]."""
        own, other = self._list_points()
        common = {"weight": weight, "tolerance": LOOSE, "name": f"loop {self.label}"}
        if self.kind == "distance":
            length, points = max(float(self.distance or 0.0) - shift[0], 0.0), (own[0], other[0])
            return [DistanceGoal(self.a, self.b, distance=length, points=points, **common)]
        if self.kind == "plane":
            n = self._unit_normal()
            place = other[0] + shift[0] * n
            return [PlaneGoal(self.a, place, n, own[0], relative_to=self.b, **common)]
        return [
            PositionGoal(self.a, place, point, relative_to=self.b, **common)
            for place, point in zip(other + shift.reshape(-1, 3), own, strict=True)
        ]

    def _list_points(self) -> tuple[Array, Array]:
        """Return the points of `a` and those of `b` that belong together, both (n, 3)."""
        own, other = np.asarray(self.points, float)
        arms = np.zeros((1, 3))
        if self.kind == "weld":
            arms = np.array([(0, 0, 0), (self.arm, 0, 0), (0, self.arm, 0)])
        R = np.eye(3) if self.rotation is None else np.asarray(self.rotation, float)
        return own + arms, other + arms @ R.T

    def _unit_normal(self) -> Array:
        normal = np.asarray(self.normal, float)
        return normal / np.linalg.norm(normal)
