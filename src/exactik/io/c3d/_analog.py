"""Analog channels of a C3D file, read and written; force plates are written as channels.

The samples of a frame follow its points: all channels of the first sample, then all of the second.
A value is (sample − OFFSET) · SCALE · GEN_SCALE, of integers and of floats alike. How channels are
scaled is read with the markers, the samples themselves only when somebody asks for them.

Converters of 16 bits without a sign have their zero at 32768, which parameters of 16 bits hold as
−32768. ANALOG:FORMAT should say UNSIGNED then; files are found that say SIGNED, or nothing.

Values are written as they are, with a scale of 1. A plate becomes one of type 2 whose channels are
its force and its moment about the middle of its surface, in its own frame: whatever it was, and
whatever was cut or turned, readers find the same ground reaction. Channels that hold these numbers
already are used, so that to write and read again and again adds none.
"""

from __future__ import annotations

import math
import os
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactik._text import count_noun
from exactik.errors import FileError
from exactik.io._files import make_unique, read_bytes
from exactik.io._notes import Notes
from exactik.io.c3d._frames import DataLayout, FrameRange
from exactik.io.c3d._parameters import MAX_UINT16, C3dHeader, Encoding, Parameters
from exactik.model.motion import Analog, LazySamples, Markers
from exactik.typing import Array

LOWEST_SIGNED_OFFSET = -16384
"""[counts] below which an offset was written without a sign: half way from the zero of a converter
with a sign, 0, to that of one without, 32768, which 16 bits with a sign make −32768."""
MAX_CHANNELS = 255  # of which one parameter holds the scales
PLATE_LABELS = ("Fx", "Fy", "Fz", "Mx", "My", "Mz")


class _Stamp(NamedTuple):
    """What tells that a file is the one that was read before: size [bytes], time of change [ns]."""

    size: int
    changed_ns: int


class _SampleLayout(NamedTuple):
    """Where samples are in a file, and how they are scaled."""

    frames: DataLayout  # where the frames are
    frame_count: int  # how many
    samples: int  # of each channel in a frame
    encoding: Encoding  # how numbers are written
    offsets: tuple[float, ...]  # subtracted from samples, (n,)
    scales: tuple[float, ...]  # by which they are multiplied then, (n,)
    is_unsigned: bool  # whether integers have no sign


def read_analog(
    path: str,
    header: C3dHeader,
    parameters: Parameters,
    frames: FrameRange,
    rate: float,
    notes: Notes,
) -> Analog | None:
    """Return the channels of a file, None without any; samples are read when asked for.

    Args:
        rate: of the frames [Hz].
        notes: takes what is odd. Nothing about channels is a reason to refuse markers.
    """
    in_frame = frames.layout.analog_count
    if in_frame == 0:
        return None
    samples = _choose_samples_per_frame(in_frame, header, parameters, notes)
    if samples == 0:
        return None
    count = in_frame // samples
    labels = (parameters.texts("ANALOG:LABELS") + [""] * count)[:count]
    units = (parameters.texts("ANALOG:UNITS") + [""] * count)[:count]
    general = _find_general_scale(parameters, notes)
    scales = _pad(parameters, "ANALOG:SCALE", count, 1.0, notes)
    offsets = _pad(parameters, "ANALOG:OFFSET", count, 0.0, notes)
    is_unsigned = parameters.text("ANALOG:FORMAT").upper().startswith("UNSIGNED") or any(
        offset < LOWEST_SIGNED_OFFSET for offset in offsets
    )
    if is_unsigned:
        offsets = [offset + MAX_UINT16 + 1 if offset < 0.0 else offset for offset in offsets]
    layout = _SampleLayout(
        frames=frames.layout,
        frame_count=frames.total,
        samples=samples,
        encoding=header.encoding,
        offsets=tuple(offsets),
        scales=tuple(general * scale for scale in scales),
        is_unsigned=is_unsigned,
    )
    read = partial(_read_samples, path, _stamp(path), layout)
    names = make_unique(label or f"channel {k + 1}" for k, label in enumerate(labels))
    return Analog(LazySamples(read, frames.total * samples), names, units, samples * rate)


def _choose_samples_per_frame(
    in_frame: int, header: C3dHeader, parameters: Parameters, notes: Notes
) -> int:
    """Return how many samples of each channel a frame has; 0 if they cannot be told apart."""
    stated, used = max(header.samples_per_frame, 1), parameters.count("ANALOG:USED")
    if in_frame % stated == 0 and (header.samples_per_frame > 0 or used in (None, 0, in_frame)):
        return stated
    if used is not None and used > 0 and in_frame % used == 0:
        notes.remark(
            f"{in_frame} analog samples a frame are {count_noun(used, 'channel')} by ANALOG:USED; "
            f"the header has {header.samples_per_frame} samples of each",
            code="analog-damaged",
        )
        return in_frame // used
    notes.remark(
        f"{in_frame} analog samples a frame are no whole number of channels, "
        f"{header.samples_per_frame} samples of each; they are not read",
        code="analog-damaged",
    )
    return 0


def _find_general_scale(parameters: Parameters, notes: Notes) -> float:
    value = parameters.number("ANALOG:GEN_SCALE")
    if value is None or value == 0.0:
        notes.remark("ANALOG:GEN_SCALE is missing or 0; 1 is taken", code="analog-damaged")
        return 1.0
    return value


def _pad(parameters: Parameters, name: str, count: int, usual: float, notes: Notes) -> list[float]:
    """Return a number for each channel; the usual one where there is none that is finite."""
    stated = parameters.numbers(name)[:count]
    values = [value if math.isfinite(value) else usual for value in stated]
    sound = sum(map(math.isfinite, stated))
    if sound < count:
        notes.remark(
            f"{name} has numbers for {sound} of {count_noun(count, 'channel')}; {usual:g} is taken "
            "for the others",
            code="analog-damaged",
        )
    return values + [usual] * (count - len(values))


def _stamp(path: str) -> _Stamp | None:
    """Return what tells a file from its successors; None if it cannot be looked at."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return _Stamp(found.st_size, found.st_mtime_ns)


def _read_samples(path: str, stamp: _Stamp | None, layout: _SampleLayout) -> Array:
    """Return the samples of all channels, scaled, (m, n)."""
    data = read_bytes(path)
    if _stamp(path) != stamp:
        raise FileError(path, "has changed since its markers were read; expected the same file")
    form, count = layout.frames, layout.frame_count
    shape = (count * layout.samples, len(layout.scales))
    if count == 0:
        return np.empty(shape)
    first = 4 * form.point_count * (4 if form.is_float else 2)
    all_bytes = np.frombuffer(data, np.uint8, count * form.frame_bytes, form.start)
    rows = np.ascontiguousarray(all_bytes.reshape(count, form.frame_bytes)[:, first:])
    if form.is_float:
        words = layout.encoding.decode_floats(rows)
    else:
        words = layout.encoding.decode_integers(rows)
        words = words.view(np.uint16) if layout.is_unsigned else words
    with np.errstate(invalid="ignore", over="ignore"):
        values = words.reshape(shape).astype(np.float64)
        values -= layout.offsets
        values *= layout.scales
    values[~np.isfinite(values)] = np.nan
    return values


class _PlateWords(NamedTuple):
    """A plate as written."""

    corners: Array  # in the length unit of the file, (4, 3)
    channels: tuple[int, ...]  # numbers of its six channels, from 1


class AnalogWords(NamedTuple):
    """Channels as written."""

    samples: int  # of each channel in a frame; 1 without channels
    labels: tuple[str, ...]  # of the channels, (n,)
    units: tuple[str, ...]  # of the channels, (n,)
    values: NDArray[np.float32]  # one sample after the other, (m, n)
    plates: tuple[_PlateWords, ...]  # those that could be written


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
        fits = samples > 0 and _fits(plate.rate, markers, samples)
        if not fits or not np.isfinite(plate.wrench).any():
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
        plates.append(_PlateWords(plate.corners / metres, tuple(channels)))
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


def _fit_rows(values: Array, rows: int) -> Array:
    """Return so many rows: those that there are, then not a number."""
    return np.pad(values[:rows], ((0, max(rows - len(values), 0)), (0, 0)), constant_values=np.nan)


def _are_equal(first: Array, second: Array) -> bool:
    """Return whether channels are the same in the 24 bits that a file has."""
    return np.array_equal(first.astype(np.float32), second.astype(np.float32), equal_nan=True)
