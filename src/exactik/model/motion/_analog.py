"""Channels sampled beside the markers; force plates, and what stood on them pressed with."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from exactik._arrays import as_floats, freeze, require_finite, require_shape
from exactik.errors import ShapeError, UnknownNameError, UsageError
from exactik.model.motion._segments import check_rate
from exactik.typing import Array

MIN_LOAD_N = 10.0
"""[N] normal to a plate, below which there is no centre of pressure. The noise of a plate is about
1 N with about 0.1 N m beside it, which moves the centre by 10 mm at this load and by 100 mm at a
tenth of it; gait laboratories take 10 to 20 N for a contact."""


class LazySamples:
    """Rows of numbers that are read, or computed, when they are first asked for.

    A recording has often more analog samples than positions, and who solves poses asks for none of
    them. Recordings that come from one another share what was read. It is sent to another process
    as the function alone.
    """

    def __init__(self, read: Callable[[], Array], count: int):
        """Keep the function.

        Args:
            count: of rows, known before they are read.
        """
        self._read, self._count = read, count
        self._rows: Array | None = None
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return self._count

    def load(self) -> Array:
        """Return the rows, read-only, (count, n); the first call reads them.

        Raises:
            FileError: the file has gone, or is another than it was.
        """
        with self._lock:
            if self._rows is None:
                self._rows = freeze(np.asarray(self._read(), dtype=np.float64))
            return self._rows

    def cut(self, first: int, stop: int) -> LazySamples:
        """Return the rows from `first` to before `stop`."""
        return LazySamples(partial(_take_rows, self, first, stop), max(stop - first, 0))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._read, self._count)


def _take_rows(samples: LazySamples, first: int, stop: int) -> Array:
    return samples.load()[first:stop]


def _as_samples(name: str, rows: ArrayLike | LazySamples, columns: int) -> LazySamples:
    """Return rows as samples; an array is checked for its number of columns."""
    if isinstance(rows, LazySamples):
        return rows
    array = np.array(as_floats(name, rows))
    if array.ndim != 2 or array.shape[1] != columns:
        raise ShapeError(f"{name} have shape {array.shape}; expected (m, {columns})")
    return LazySamples(partial(np.asarray, array), len(array))


class Analog:
    """Analog channels of a recording, sampled at a rate of their own.

    Sample k was taken k / `rate` seconds after the first frame. Values are in the unit that the
    file states for each channel, scaled as the file asks; nothing else is done to them.

    Attributes:
        labels: of the channels, (n,), each once.
        units: of the channels, as the file has them, (n,); empty where it says nothing.
        rate: samples a second [Hz].
    """

    def __init__(
        self,
        values: ArrayLike | LazySamples,
        labels: Sequence[str],
        units: Sequence[str],
        rate: float,
    ):
        """Keep the channels.

        Args:
            values: (m, n), or what reads them when they are asked for.
            labels: of the channels, each once.
            units: of the channels.
            rate: samples a second [Hz].
        """
        self.labels, self.units = tuple(map(str, labels)), tuple(map(str, units))
        self.rate = check_rate(rate)
        if len(self.units) != len(self.labels):
            raise ShapeError(f"{len(self.units)} units for {len(self.labels)} channels")
        if len(set(self.labels)) < len(self.labels):
            raise UsageError("two analog channels have the same label; labels must be unique")
        self._samples = _as_samples("values", values, len(self.labels))

    def __len__(self) -> int:
        """Number of samples."""
        return len(self._samples)

    def __repr__(self) -> str:
        return f"<Analog: {len(self.labels)} channels, {len(self)} samples at {self.rate:g} Hz>"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._samples, self.labels, self.units, self.rate)

    @property
    def values(self) -> Array:
        """Samples of all channels, (m, n), in the units of the channels; read when first asked for.

        Raises:
            FileError: the file they are in has gone, or has changed since its markers were read.
        """
        return self._samples.load()

    @property
    def times(self) -> Array:
        """Time of each sample from the first frame [s], (m,)."""
        return np.arange(len(self)) / self.rate

    def channel(self, label: str) -> Array:
        """Return the samples of a channel, (m,)."""
        if label not in self.labels:
            raise UnknownNameError("analog channel", label, self.labels)
        return self.values[:, self.labels.index(label)]

    def cut(self, first: int, stop: int) -> Analog:
        """Return the samples from `first` to before `stop`."""
        return Analog(self._samples.cut(first, stop), self.labels, self.units, self.rate)


def compute_plate_axes(corners: Array) -> Array:
    """Return the rotation from a plate's frame to the world's, (3, 3).

    x points from corner 2 to corner 1, z is normal to the plate (down, where corners go round as
    C3D has them), and y is nearly the way from corner 4 to corner 1.

    Args:
        corners: [m], (4, 3), world frame.

    Raises:
        UsageError: the corners are on a line.
    """
    x, side = corners[0] - corners[1], corners[0] - corners[3]
    z = np.cross(x, side)
    area, length = float(np.linalg.norm(z)), float(np.linalg.norm(x))
    if not area > 1e-9 * max(length, float(np.linalg.norm(side))) ** 2:
        raise UsageError("corners of a force plate are on a line; expected a quadrangle")
    return np.stack([x / length, np.cross(z, x) / (area * length), z / area], axis=1)


class ForcePlate:
    """A force plate and the ground reaction that it measured.

    The sign is that of the ground reaction: `force` is what the plate does to the foot, and points
    up under somebody who stands on it. By custom C3D files have it this way in the frame of their
    corners; few have the force of the foot on the plate, and its sign is kept.

    A plate whose channels are missing, or of an unknown type, has its corners, and NaN for all that
    it measured.

    Attributes:
        type: of C3D: 1 (forces and centre of pressure), 2 (forces and moments), 3 (eight sensors),
            4 (as 2, with a calibration matrix); others are not understood.
        corners: of the surface [m], (4, 3), world frame of the markers.
        origin: where the plate measures: from there to the middle of its surface [m], (3,), frame
            of the plate; of type 3, distances of its sensors from the middle, and the depth.
        rate: samples a second [Hz].
    """

    def __init__(
        self,
        wrench: ArrayLike | LazySamples,
        *,
        type: int,
        corners: ArrayLike,
        origin: ArrayLike,
        rate: float,
    ):
        """Keep a plate.

        Args:
            wrench: force [N] and moment about the middle of the surface [N m], (m, 6), frame of the
                plate, see `compute_plate_axes`; or what makes them when they are asked for.
            type: of C3D.
            corners: [m], (4, 3), world frame; as seen from above, they go round as in C3D.
            origin: [m], (3,), frame of the plate.
            rate: samples a second [Hz].
        """
        self.type, self.rate = int(type), check_rate(rate)
        self.corners = freeze(require_shape("corners", require_finite("corners", corners), 4, 3))
        self.origin = freeze(require_shape("origin", require_finite("origin", origin), 3))
        self._R_world_plate = compute_plate_axes(self.corners)
        self._wrench = _as_samples("wrench", wrench, 6)

    def __len__(self) -> int:
        """Number of samples."""
        return len(self._wrench)

    def __repr__(self) -> str:
        return f"<ForcePlate: type {self.type}, {len(self)} samples at {self.rate:g} Hz>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _make_plate, (self._wrench, self.type, self.corners, self.origin, self.rate)

    @property
    def wrench(self) -> Array:
        """Force [N] and moment about the middle of the surface [N m], (m, 6), plate frame."""
        return self._wrench.load()

    @property
    def centre(self) -> Array:
        """Middle of the surface [m], (3,), world frame."""
        return self.corners.mean(axis=0)

    @property
    def force(self) -> Array:
        """Ground reaction of each sample [N], (m, 3), world frame; up under who stands on it."""
        return self.wrench[:, :3] @ self._R_world_plate.T

    @property
    def moment(self) -> Array:
        """Moment of the ground reaction about `centre` [N m], (m, 3), world frame."""
        return self.wrench[:, 3:] @ self._R_world_plate.T

    @property
    def centre_of_pressure(self) -> Array:
        """Where the force goes through the surface [m], (m, 3), world frame.

        Not a number where less than 10 N are normal to the plate: noise alone would place it then.
        """
        wrench = self.wrench
        normal = wrench[:, 2]
        with np.errstate(invalid="ignore"):
            is_loaded = np.abs(normal) >= MIN_LOAD_N
        places = np.full((len(wrench), 3), np.nan)
        loaded = wrench[is_loaded]
        places[is_loaded] = 0.0
        places[is_loaded, 0] = -loaded[:, 4] / loaded[:, 2]
        places[is_loaded, 1] = loaded[:, 3] / loaded[:, 2]
        return self.centre + places @ self._R_world_plate.T

    def cut(self, first: int, stop: int) -> ForcePlate:
        """Return the samples from `first` to before `stop`."""
        wrench = self._wrench.cut(first, stop)
        return _make_plate(wrench, self.type, self.corners, self.origin, self.rate)

    def turned(self, matrix: Array) -> ForcePlate:
        """Return the same plate in permuted axes of the world, see `axes_matrix`."""
        corners = self.corners @ matrix.T
        return _make_plate(self._wrench, self.type, corners, self.origin, self.rate)

    def scaled(self, factor: float) -> ForcePlate:
        """Return the same plate with all lengths multiplied, those in moments too.

        For files whose length unit is wrong: plates and moments are in it as markers are.
        """
        wrench = LazySamples(partial(_scale_moments, self._wrench, factor), len(self))
        corners, origin = factor * self.corners, factor * self.origin
        return _make_plate(wrench, self.type, corners, origin, self.rate)


def _make_plate(
    wrench: LazySamples, type: int, corners: Array, origin: Array, rate: float
) -> ForcePlate:
    return ForcePlate(wrench, type=type, corners=corners, origin=origin, rate=rate)


def _scale_moments(wrench: LazySamples, factor: float) -> Array:
    return wrench.load() * np.repeat([1.0, factor], 3)
