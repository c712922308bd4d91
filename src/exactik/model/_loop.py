"""What closes a loop: a condition on two bodies, and by how much a pose misses it.

A tree of bones cannot have loops. A skeleton keeps them beside its tree: `connect` and `weld` of
MuJoCo's, constraints of OpenSim's, hands on a bar.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from exactik._arrays import is_number, require_shape
from exactik.errors import ModelError, UnknownNameError
from exactik.model._pose import Pose
from exactik.spatial import is_rotation, nearest_rotation
from exactik.typing import Array

LOOP_KINDS = ("point", "weld", "distance", "plane", "line")


@dataclass(frozen=True, kw_only=True)
class _Common:
    """Fields of a loop that have defaults; see `Loop`."""

    kind: str = "point"
    points: ArrayLike = ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    rotation: ArrayLike | None = None
    axis: ArrayLike | None = None
    distance: float | None = None
    arm: float = 0.1
    tolerance: float = 1e-8
    name: str = ""


@dataclass(frozen=True)
class Loop(_Common):
    """Two bodies that are held together, as a four-bar linkage is closed.

    Attributes:
        a: name of a bone.
        b: name of another one; None for the world.
        kind: "point": the two points coincide; "weld": so do the bodies' axes; "distance": the
            points are `distance` apart; "plane": the point of `a` is on a plane of `b`; "line": on
            a line of `b`.
        points: of `a` and of `b`, each in its own frame [m], (2, 3); kept as tuples.
        rotation: of `a` in the axes of `b` for a weld, (3, 3); None for the same axes.
        axis: normal of the plane or direction of the line, in the axes of `b`, (3,).
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
            raise ModelError(f"kind of loop {self.label!r} is {self.kind!r}; one of {LOOP_KINDS}")
        if self.a == self.b:
            raise ModelError(f"loop {self.label!r} holds {self.a!r} to itself")
        self._keep("points", require_shape(f"points of loop {self.label!r}", self.points, 2, 3))
        if self.kind in ("plane", "line"):
            given = (0.0, 0.0, 0.0) if self.axis is None else self.axis
            axis = require_shape(f"axis of loop {self.label!r}", given, 3)
            length = float(np.linalg.norm(axis))
            if length < 1e-12:
                raise ModelError(f"axis of loop {self.label!r} is missing or the zero vector")
            self._keep("axis", axis / length)
        if self.rotation is not None:
            R_b_a = require_shape(f"rotation of loop {self.label!r}", self.rotation, 3, 3)
            if not is_rotation(R_b_a):
                raise ModelError(f"rotation of loop {self.label!r} is not a rotation matrix")
            self._keep("rotation", nearest_rotation(R_b_a))
        numbers: list[tuple[str, float | None]] = [("arm", self.arm), ("tolerance", self.tolerance)]
        if self.kind == "distance":
            numbers.append(("distance", self.distance))
        for name, value in numbers:
            if not is_number(value) or not 0.0 < value < np.inf:
                raise ModelError(f"{name} of loop {self.label!r} is {value!r}; expected metres > 0")

    def _keep(self, field: str, value: Array) -> None:
        """Keep an array as tuples, so that loops can be compared."""
        rows = value.tolist()
        kept = tuple(tuple(row) for row in rows) if value.ndim == 2 else tuple(rows)
        object.__setattr__(self, field, kept)

    @property
    def label(self) -> str:
        """The name, or both bones."""
        return self.name or f"{self.a} to {'the world' if self.b is None else self.b}"

    @property
    def bones(self) -> tuple[str, ...]:
        """The bones that it holds."""
        return (self.a,) if self.b is None else (self.a, self.b)

    @property
    def size(self) -> int:
        """Number of equations."""
        return {"point": 3, "weld": 9, "distance": 1, "plane": 1, "line": 3}[self.kind]

    def find_gap(self, pose: Pose) -> Array:
        """Return what each equation is missed by [m], in the axes of `b`, (…, size)."""
        own, other = self.list_points()
        seen = np.stack([pose.point(self.a, point) for point in own], axis=-2)
        if self.b is not None:
            k = pose.skeleton.bone_index(self.b)
            seen = (seen - pose.positions[..., k, None, :]) @ pose.rotations[..., k, :, :]
        missed = other - seen
        if self.kind == "distance":
            return np.linalg.norm(missed[..., 0, :], axis=-1)[..., None] - self.distance
        if self.kind in ("plane", "line"):
            axis = np.asarray(self.axis)
            along = missed @ axis
            across = missed - along[..., None] * axis
            return along if self.kind == "plane" else across[..., 0, :]
        return missed.reshape(*missed.shape[:-2], self.size)

    def measure_gap(self, pose: Pose) -> Array:
        """Return by how much the loop is open in a pose [m], (…)."""
        return np.linalg.norm(self.find_gap(pose), axis=-1)

    def list_points(self) -> tuple[Array, Array]:
        """Return the points of `a` and those of `b` that belong together, both (n, 3)."""
        own, other = np.asarray(self.points, float)
        arms = np.zeros((1, 3))
        if self.kind == "weld":
            arms = np.array([(0, 0, 0), (self.arm, 0, 0), (0, self.arm, 0)])
        R_b_a = np.eye(3) if self.rotation is None else np.asarray(self.rotation, float)
        return own + arms, other + arms @ R_b_a.T

    def moved(self, move: Callable[[str | None, Array], Array]) -> Loop:
        """Return the same with each point where `move(bone, point)` has it."""
        ends = zip((self.a, self.b), np.asarray(self.points), strict=True)
        return replace(self, points=[move(bone, point) for bone, point in ends])


def check_loops(loops: Iterable[Loop], bones: Sequence[str]) -> tuple[Loop, ...]:
    """Return loops, all of whose bones exist."""
    checked = tuple(loops)
    for loop in checked:
        if not isinstance(loop, Loop):
            raise ModelError(f"{loop!r} is no Loop")
        for bone in loop.bones:
            if bone not in bones:
                raise UnknownNameError("bone", bone, bones)
    return checked


def name_loops(loops: Iterable[Loop]) -> dict[str, Loop]:
    """Return the loops by their names, numbered from the second of a name on."""
    named: dict[str, Loop] = {}
    for loop in loops:
        name, count = loop.label, 1
        while name in named:
            count += 1
            name = f"{loop.label}#{count}"
        named[name] = loop
    return named
