"""Analog channels of a C3D file.

The samples of a frame follow its points: all channels of the first sample, then all of the second.
A value is (sample − OFFSET) · SCALE · GEN_SCALE, of integers and of floats alike. How channels are
scaled is read with the markers, the samples themselves only when somebody asks for them.

Converters of 16 bits without a sign have their zero at 32768, which parameters of 16 bits hold as
−32768. ANALOG:FORMAT should say UNSIGNED then; files are found that say SIGNED, or nothing.
"""

from __future__ import annotations

import math
import os
from functools import partial
from typing import NamedTuple

import numpy as np

from exactik._text import count_noun
from exactik.errors import FileError
from exactik.io._files import make_unique, read_bytes
from exactik.io._notes import Notes
from exactik.io.c3d._encoding import Encoding
from exactik.io.c3d._frames import DataLayout, FrameRange
from exactik.io.c3d._parameters import MAX_UINT16, C3dHeader, Parameters
from exactik.model.motion import Analog, LazySamples
from exactik.typing import Array

LOWEST_SIGNED_OFFSET = -16384
"""[counts] below which an offset was written without a sign: half way from the zero of a converter
with a sign, 0, to that of one without, 32768, which 16 bits with a sign make −32768."""


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
