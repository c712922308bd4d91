"""Spheres, capsules, boxes and half-spaces, each on a bone or in the world."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from exactik._arrays import freeze, is_number, require_shape
from exactik.errors import ExactikError, ModelError
from exactik.typing import Array

MAX_SPLIT = 4  # capsules across a box: thinner boxes would need hundreds


@dataclass(frozen=True, eq=False)
class CollisionShape:
    """Base of all shapes; places are in the frame of the bone, or in the world without one."""

    bone: str | None  # name of the bone that carries it; None for an obstacle that stays

    def __post_init__(self) -> None:
        """Check and keep arrays."""
        if self.bone is not None and not isinstance(self.bone, str):
            raise ModelError(f"the bone of a shape is {self.bone!r}; expected a name or None")
        for entry in fields(self):
            value = getattr(self, entry.name)
            if entry.name == "bone":
                continue
            what = f"{entry.name} of a {type(self).__name__}"
            if entry.name == "radius":
                if not is_number(value) or not 0.0 < value < np.inf:
                    raise ModelError(f"{what} is {value!r}; expected a length > 0 [m]")
                continue
            shape = (3, 3) if entry.name == "rotation" else (3,)
            object.__setattr__(self, entry.name, freeze(require_shape(what, value, *shape).copy()))


@dataclass(frozen=True, eq=False)
class Capsule(CollisionShape):
    """All that is within a radius of a segment."""

    start: ArrayLike  # of the segment [m], (3,)
    end: ArrayLike  # [m], (3,); the same for a sphere
    radius: float  # [m]

    @property
    def ends(self) -> Array:
        """Both ends of the segment [m], (2, 3)."""
        return np.array([self.start, self.end], dtype=float)


class Sphere(Capsule):
    """All that is within a radius of a centre."""

    def __init__(self, bone: str | None, center: ArrayLike, radius: float):
        """Make the capsule whose ends are one."""
        super().__init__(bone, center, center, radius)


@dataclass(frozen=True, eq=False)
class Cuboid(CollisionShape):
    """A box."""

    center: ArrayLike  # [m], (3,)
    size: ArrayLike  # its lengths along its own axes [m], (3,)
    # Its axes are the columns, (3, 3)
    rotation: ArrayLike = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))

    def __post_init__(self) -> None:
        """Check sizes, too."""
        super().__post_init__()
        R = np.asarray(self.rotation, float)
        if not (np.asarray(self.size, float) > 0.0).all():
            raise ModelError(f"size of a Cuboid is {self.size}; expected three lengths > 0 [m]")
        if np.abs(R.T @ R - np.eye(3)).max() > 1e-6:
            raise ModelError("rotation of a Cuboid is no rotation; its columns are three unit axes")


@dataclass(frozen=True, eq=False)
class HalfSpace(CollisionShape):
    """All that is behind a plane, such as the floor.

    Attributes:
        normal: of the plane, out of the half-space, (3,); made a unit vector.
        through: a point of the plane [m], (3,).
    """

    normal: ArrayLike = (0.0, 0.0, 1.0)
    through: ArrayLike = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        """Make the normal a unit vector."""
        super().__post_init__()
        length = float(np.linalg.norm(np.asarray(self.normal, float)))
        if not length > 0.0:
            raise ModelError("normal of a HalfSpace is zero; expected a direction")
        object.__setattr__(self, "normal", freeze(np.asarray(self.normal, float) / length))


class Shapes(NamedTuple):
    """The shapes of a figure, and what is known about them.

    Attributes:
        shapes: on its bones.
        left_out: pairs of bones that may touch, as its file says.
        source: where the shapes are from: "file", "meshes", "bones" or "given".
        notes: what they do not say, a sentence each.
    """

    shapes: tuple[CollisionShape, ...] = ()
    left_out: frozenset[frozenset[str]] = frozenset()
    source: str = "given"
    notes: tuple[str, ...] = ()


class LazyShapes:
    """A function that makes shapes, and what it made once it was called; as `LazyVisuals`.

    A file that cannot be read gives none, and a note that says why.
    """

    def __init__(self, make: Callable[[], Shapes]):
        """Keep the function."""
        self._make = make
        self._shapes: Shapes | None = None
        self._lock = threading.Lock()

    def load(self) -> Shapes:
        """Return the shapes; the first call makes them."""
        with self._lock:
            if self._shapes is None:
                try:
                    self._shapes = self._make()
                except ExactikError as error:
                    self._shapes = Shapes(notes=(str(error),))
            return self._shapes

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._make,)


def split_box(bone: str | None, center: Array, size: Array, rotation: Array) -> list[Capsule]:
    """Return capsules along the longest side of a box that cover its faces but for the corners.

    Their radius is half its thinnest side, and they lie side by side across the middle one, in it.
    """
    order = np.argsort(size)
    thin, wide, long = (float(size[k]) for k in order)
    radius = 0.5 * thin
    across, along = rotation[:, order[1]], rotation[:, order[2]]
    count = min(max(int(np.ceil(wide / thin)), 1), MAX_SPLIT)
    half = max(0.5 * long - radius, 0.0) * along
    spread = max(0.5 * wide - radius, 0.0)
    return [
        Capsule(bone, center + x * across - half, center + x * across + half, radius)
        for x in (np.linspace(-spread, spread, count) if count > 1 else [0.0])
    ]


# --- how far shapes are apart


def find_segment_distances(a: Array, b: Array) -> Array:
    """Return the distances of segments given by their ends, (n, 2, 3) each [m], (n,)."""
    u, v, w = a[:, 1] - a[:, 0], b[:, 1] - b[:, 0], b[:, 0] - a[:, 0]
    uu, vv, uv = _dot(u, u), _dot(v, v), _dot(u, v)
    uw, vw = _dot(u, w), _dot(v, w)
    det = uu * vv - uv * uv
    with np.errstate(divide="ignore", invalid="ignore"):
        s, t = (uw * vv - uv * vw) / det, (uv * uw - uu * vw) / det
        places = [(np.clip(np.nan_to_num(s), 0.0, 1.0), np.clip(np.nan_to_num(t), 0.0, 1.0))]
        for end in (np.zeros(len(u)), np.ones(len(u))):
            places.append((end, np.clip(np.nan_to_num((end * uv - vw) / vv), 0.0, 1.0)))
            places.append((np.clip(np.nan_to_num((end * uv + uw) / uu), 0.0, 1.0), end))
    gaps = [np.linalg.norm(w + t[:, None] * v - s[:, None] * u, axis=1) for s, t in places]
    return np.min(gaps, axis=0)


def _dot(a: Array, b: Array) -> Array:
    return np.einsum("ni,ni->n", a, b)
