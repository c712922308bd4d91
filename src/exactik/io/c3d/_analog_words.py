"""Analog channels and force plates as the words that a C3D file has for them.

Values are written as they are, with a scale of 1. A plate becomes one of type 2 whose channels are
its force and its moment about the middle of its surface, in its own frame: whatever it was, and
whatever was cut or turned, readers find the same ground reaction. Channels that hold these numbers
already are used, so that to write and read again and again adds none.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactik.io._files import make_unique
from exactik.model.motion import ForcePlate, Markers
from exactik.typing import Array

MAX_CHANNELS = 255  # of which one parameter holds the scales
PLATE_LABELS = ("Fx", "Fy", "Fz", "Mx", "My", "Mz")


class PlateWords(NamedTuple):
    """A plate as written."""

    corners: Array  # in the length unit of the file, (4, 3)
    channels: tuple[int, ...]  # numbers of its six channels, from 1


class AnalogWords(NamedTuple):
    """Channels as written."""

    samples: int  # of each channel in a frame; 1 without channels
    labels: tuple[str, ...]  # of the channels, (n,)
    units: tuple[str, ...]  # of the channels, (n,)
    values: NDArray[np.float32]  # one sample after the other, (m, n)
    plates: tuple[PlateWords, ...]  # those that could be written


def pack_analog(markers: Markers, metres: float) -> AnalogWords:
    """Return the channels and plates of a recording.

    Those whose samples do not fit into frames are left out, as after `Markers.resampled`, and so is
    a plate that measured nothing that is known.

    Args:
        metres: in the length unit of the file.
    """
    samples = _find_samples_per_frame(markers)
    rows = len(markers) * samples
    labels, units, columns = [], [], []
    analog = markers.analog
    if analog is not None and samples > 0 and _fits(analog.rate, markers, samples):
        labels, units = list(analog.labels), list(analog.units)
        columns = list(_fit_rows(analog.values, rows).T)
    length = {1e-3: "mm", 1e-2: "cm", 1.0: "m"}.get(metres, "")
    plates = []
    for number, plate in enumerate(markers.force_plates, start=1):
        if samples == 0 or not _fits(plate.rate, markers, samples) or not _is_known(plate):
            continue
        scale = np.repeat([1.0, 1.0 / metres], 3)
        channels = []
        for name, column in zip(
            PLATE_LABELS, (_fit_rows(plate.wrench, rows) * scale).T, strict=True
        ):
            at = next((k for k, c in enumerate(columns) if _are_equal(c, column)), None)
            if at is None:
                at = len(columns)
                columns.append(column)
                labels.append(f"{name}{number}")
                units.append("N" if name[0] == "F" else f"N{length}")
            channels.append(at + 1)
        plates.append(PlateWords(plate.corners / metres, tuple(channels)))
    if len(columns) == 0 or len(columns) > MAX_CHANNELS:
        return AnalogWords(1, (), (), np.empty((len(markers), 0), np.float32), ())
    values = np.stack(columns, axis=1).astype(np.float32)
    return AnalogWords(samples, tuple(make_unique(labels)), tuple(units), values, tuple(plates))


def _find_samples_per_frame(markers: Markers) -> int:
    """Return how many samples a frame has, 0 if that is no whole number or there are none."""
    sampled = [markers.analog, *markers.force_plates]
    rates = [one.rate for one in sampled if one is not None]
    ratio = rates[0] / markers.rate if len(rates) > 0 else 0.0
    return round(ratio) if abs(ratio - round(ratio)) < 1e-3 * ratio else 0


def _fits(rate: float, markers: Markers, samples: int) -> bool:
    return abs(rate / markers.rate - samples) < 1e-3 * samples


def _is_known(plate: ForcePlate) -> bool:
    return bool(np.isfinite(plate.wrench).any())


def _fit_rows(values: Array, rows: int) -> Array:
    """Return so many rows: those that there are, then not a number."""
    return np.pad(values[:rows], ((0, max(rows - len(values), 0)), (0, 0)), constant_values=np.nan)


def _are_equal(first: Array, second: Array) -> bool:
    """Return whether channels are the same in the 24 bits that a file has."""
    return np.array_equal(first.astype(np.float32), second.astype(np.float32), equal_nan=True)
