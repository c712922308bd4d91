"""Channels that were sampled beside the markers: force plates, muscles, voltages."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from exactik._arrays import as_floats, freeze
from exactik.errors import ShapeError, UnknownNameError, UsageError
from exactik.model.motion._segments import check_rate
from exactik.typing import Array


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


def as_samples(name: str, rows: ArrayLike | LazySamples, columns: int) -> LazySamples:
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
        self._samples = as_samples("values", values, len(self.labels))

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
