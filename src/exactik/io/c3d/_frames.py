"""Where the frames of a C3D file are and how many, and the points in them.

A frame is a row of words, all 16-bit integers or all 32-bit floats: four for each point (x, y, z
and a status), then the analog samples. Floats are coordinates in the unit of the file; integers
become so by a common factor. The status word is an integer also where it is written as a float:
negative for a point that no camera saw, else the residual in its low byte (in steps of the factor's
size) and in its high byte the cameras that saw the point.

The first block and the parameters both state the number of points, of analog samples and of frames,
the scale and the start of the data, and in real files any of them can be wrong. The first block
leads; where others disagree, the one that fills the file to its end is right.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactik.io._notes import Notes
from exactik.io.c3d._parameters import BLOCK, MAX_UINT16, C3dHeader, Encoding, Parameters
from exactik.typing import Array, BoolArray

# Frames that are believed where they have no points and no samples, so that the size of the file
# says nothing about their number.
MAX_EMPTY_FRAMES = 1 << 24


class DataLayout(NamedTuple):
    """Where the frames of a file are."""

    start: int  # first byte of the first frame
    point_count: int  # points in each frame
    analog_count: int  # words in each frame after those of the points
    is_float: bool  # whether the words are floats

    @property
    def frame_bytes(self) -> int:
        """Size of a frame [bytes]."""
        return (4 * self.point_count + self.analog_count) * (4 if self.is_float else 2)

    def fills_file(self, size: int, frames: int) -> bool:
        """Return whether `frames` frames end where the file does, up to the padding of a block."""
        return 0 <= size - self.start - frames * self.frame_bytes < 512


class FrameRange(NamedTuple):
    """The frames of a file."""

    layout: DataLayout  # where they are
    total: int  # how many of them
    first: int  # number of the first one
    scale: float  # factor of integers, and of residuals


class Points(NamedTuple):
    """Points of all frames."""

    values: Array  # in the unit of the file, (T, P, 3)
    # Negative where a point is missing, else cameras and residual, (T, P)
    status_words: NDArray[np.float32]

    @property
    def is_flagged(self) -> BoolArray:
        """Where the file marks a point as missing, (T, P)."""
        return ~(self.status_words >= 0.0)

    @property
    def is_not_finite(self) -> BoolArray:
        """Where a coordinate is infinite or not a number, (T, P)."""
        x, y, z = np.moveaxis(self.values, 2, 0)  # far faster than a reduction over an axis of 3
        with np.errstate(invalid="ignore"):
            return ~np.isfinite(x + y + z)

    @property
    def is_at_origin(self) -> BoolArray:
        """Where a point is exactly at (0, 0, 0), (T, P)."""
        x, y, z = np.moveaxis(self.values, 2, 0)
        return (x == 0.0) & (y == 0.0) & (z == 0.0)

    def select(self, index: Sequence[int] | NDArray[np.intp]) -> Points:
        """Return a copy of these points only."""
        return Points(self.values.take(index, axis=1), self.status_words.take(index, axis=1))

    def compute_residuals(self, scale: float) -> Array:
        """Return how well the cameras agreed where a point is not missing [unit of the file]."""
        seen = self.status_words[(self.status_words >= 0.0) & (self.status_words < 32768.0)]
        return np.asarray((seen.astype(np.int32) & 0xFF) * abs(scale), dtype=np.float64)


def find_frames(data: bytes, header: C3dHeader, parameters: Parameters, notes: Notes) -> FrameRange:
    """Return where the frames are; note each contradiction, and frames that are not there."""
    first, stated_counts = _collect_counts(header, parameters, notes)
    layout = _choose_layout(len(data), header, parameters, list(stated_counts.values()), notes)
    scale = _choose_scale(header, parameters, layout.is_float, notes)
    if layout.frame_bytes == 0:
        count = min([*stated_counts.values(), 0][0], MAX_EMPTY_FRAMES)
        return FrameRange(layout=layout, total=count, first=first, scale=scale)
    present = max(len(data) - layout.start, 0) // layout.frame_bytes
    expected = _choose_count(len(data), layout, stated_counts, present)
    for source, stated in stated_counts.items():
        if stated != expected:
            report = notes.flag_damage if source == "the header" else notes.remark
            report(f"{source} says {stated} frames; {min(expected, present)} are read")
    if present == 0 and expected > 0:
        raise notes.error(
            f"the file ends at byte {len(data)} before the first frame does; expected {expected} "
            f"frames of {layout.frame_bytes} bytes",
            f"byte {layout.start}",
        )
    if expected > present:
        notes.flag_damage(
            f"cut short: {present} of {expected} frames are there", f"byte {len(data)}"
        )
    elif expected < present and not layout.fills_file(len(data), expected):
        extra = len(data) - layout.start - expected * layout.frame_bytes
        notes.remark(f"{extra} bytes follow the last of {expected} frames; they are not read")
    return FrameRange(layout=layout, total=min(expected, present), first=first, scale=scale)


def _collect_counts(
    header: C3dHeader, parameters: Parameters, notes: Notes
) -> tuple[int, dict[str, int]]:
    """Return the number of the first frame, and how many frames there are by each that says so."""
    first, counts = header.first_frame, {}
    trial_first, trial_last = (
        _read_uint32(parameters, f"TRIAL:ACTUAL_{word}_FIELD") for word in ("START", "END")
    )
    if trial_first is not None and trial_last is not None and trial_last >= trial_first:
        counts["TRIAL"] = trial_last - trial_first + 1
        if first == min(trial_first, MAX_UINT16) or first == trial_first % (MAX_UINT16 + 1):
            first = trial_first
        else:
            notes.remark(
                f"TRIAL starts at frame {trial_first}, the header at {first}, which is used"
            )
    for name in ("POINT:LONG_FRAMES", "POINT:FRAMES"):
        count = parameters.count(name)
        if count is not None:
            counts[name] = count
    in_header = header.last_frame - header.first_frame + 1
    largest = max(counts.values(), default=0)
    # What 16 bits leave of a larger number is no contradiction.
    wrapped = largest % (MAX_UINT16 + 1) if largest > MAX_UINT16 else None
    counts = {k: n for k, n in counts.items() if n == largest or n not in (MAX_UINT16, wrapped)}
    header_is_wrapped = in_header < largest and (
        header.last_frame == MAX_UINT16 or in_header % (MAX_UINT16 + 1) == wrapped
    )
    if in_header < 0 and not header_is_wrapped:
        notes.flag_damage(
            f"the first frame has number {header.first_frame}, the last {header.last_frame}",
            "byte 6",
        )
    if in_header < 0 or header_is_wrapped:
        return first, counts
    return first, {"the header": in_header, **counts}


def _read_uint32(parameters: Parameters, name: str) -> int | None:
    """Return a number of 32 bits that is kept as two of 16, the low one first."""
    words = [int(w) % (MAX_UINT16 + 1) for w in parameters.numbers(name) if math.isfinite(w)]
    if len(words) == 0:
        return None
    return words[0] + (MAX_UINT16 + 1) * (words[1] if len(words) > 1 else 0)


def _choose_count(
    size: int, layout: DataLayout, stated_counts: dict[str, int], present: int
) -> int:
    """Return the number of frames: the one that fills the file, else the first above zero."""
    if all(n == MAX_UINT16 < present for n in stated_counts.values()):
        return present  # no source states more than 16 bits hold
    exact = [n for n in stated_counts.values() if layout.fills_file(size, n)]
    positive = [n for n in stated_counts.values() if n > 0]
    return (exact or positive or [0])[0]


def _choose_layout(
    size: int, header: C3dHeader, parameters: Parameters, counts: list[int], notes: Notes
) -> DataLayout:
    """Return where the frames are, by the first block unless only the parameters fill the file."""
    by_header = DataLayout(
        start=_find_data_start(size, header, parameters, notes),
        point_count=header.point_count,
        analog_count=header.analog_count,
        is_float=header.scale < 0.0,
    )
    by_parameters = _make_layout_of_parameters(by_header, header, parameters)
    if by_header == by_parameters:
        return by_header
    header_fits = any(by_header.fills_file(size, n) for n in counts)
    if not header_fits:
        for is_float, start, point_count, analog_count in product(
            (by_header.is_float, by_parameters.is_float),
            (by_header.start, by_parameters.start),
            (by_header.point_count, by_parameters.point_count),
            (by_header.analog_count, by_parameters.analog_count),
        ):
            layout = DataLayout(
                start=start, point_count=point_count, analog_count=analog_count, is_float=is_float
            )
            if layout.start <= size and any(layout.fills_file(size, n) for n in counts):
                notes.flag_damage(
                    f"header and parameters disagree; frames fit with {_describe(layout)}"
                )
                return layout
    report = notes.remark if header_fits else notes.flag_damage
    if by_header.point_count != by_parameters.point_count:
        report(
            f"POINT:USED says {by_parameters.point_count} points, the header "
            f"{by_header.point_count}, which are read"
        )
    if by_header.analog_count != by_parameters.analog_count:
        report(
            f"ANALOG:USED makes {by_parameters.analog_count} samples a frame, the header "
            f"{by_header.analog_count}, which are taken"
        )
    if by_header.is_float != by_parameters.is_float:
        kind = "floats" if by_header.is_float else "integers"
        report(f"POINT:SCALE and the header have opposite signs; {kind} are read")
    return by_header


def _describe(layout: DataLayout) -> str:
    kind = "floats" if layout.is_float else "integers"
    counts = f"{layout.point_count} points and {layout.analog_count} analog samples"
    return f"{counts} as {kind} from byte {layout.start}"


def _find_data_start(size: int, header: C3dHeader, parameters: Parameters, notes: Notes) -> int:
    """Return the first byte of the data."""
    block, stated = header.data_block, parameters.count("POINT:DATA_START")
    if block < 2 or (block - 1) * BLOCK == header.parameter_start:
        after_parameters = -(-parameters.end // BLOCK) + 1
        used = stated if stated is not None and stated >= 2 else after_parameters
        notes.flag_damage(f"data in block {block}; block {used} is read instead", "byte 16")
        block = used
    elif stated is not None and stated != block:
        notes.remark(f"POINT:DATA_START says block {stated}, the header {block}")
    start = (block - 1) * BLOCK
    if start > size:
        raise notes.error(
            f"data start in block {block}, at byte {start}, but the file ends at byte {size}; "
            "expected a block inside the file",
            "byte 16",
        )
    return start


def _make_layout_of_parameters(
    by_header: DataLayout, header: C3dHeader, parameters: Parameters
) -> DataLayout:
    """Return what the parameters say; where they say nothing, what the first block does."""
    block, points = parameters.count("POINT:DATA_START"), parameters.count("POINT:USED")
    channels, scale = parameters.count("ANALOG:USED"), parameters.number("POINT:SCALE")
    layout = by_header
    if block is not None and block >= 2:
        layout = layout._replace(start=(block - 1) * BLOCK)
    if points is not None:
        layout = layout._replace(point_count=points)
    if channels is not None:
        layout = layout._replace(analog_count=channels * max(header.samples_per_frame, 1))
    if scale is not None:
        layout = layout._replace(is_float=scale < 0.0)
    return layout


def _choose_scale(header: C3dHeader, parameters: Parameters, is_float: bool, notes: Notes) -> float:
    """Return the factor of integers: that of the first block, which the data were written with."""
    in_header, in_parameters = header.scale, parameters.number("POINT:SCALE")
    header_is_sound = math.isfinite(in_header) and in_header != 0.0
    scale = abs(in_header if header_is_sound or in_parameters is None else in_parameters)
    if not is_float and not (math.isfinite(scale) and scale > 0.0):
        raise notes.error(f"scale is {in_header:g}; expected the factor of integers", "byte 12")
    if in_parameters is not None and abs(abs(in_parameters) - scale) > 1e-3 * scale:
        text = f"POINT:SCALE is {in_parameters:g}, the header has {in_header:g}"
        if is_float:
            notes.remark(f"{text}; coordinates do not depend on it")
        else:
            notes.flag_damage(f"{text}, which is used", "byte 12")
    return scale if math.isfinite(scale) else 0.0


def read_points(
    data: bytes, layout: DataLayout, frames: int, encoding: Encoding, scale: float
) -> Points:
    """Return the points of the first `frames` frames, which the file must have.

    Args:
        frames: how many.
        scale: what integers are multiplied by.
    """
    shape = (frames, layout.point_count)
    if frames == 0 or layout.point_count == 0:  # frames without points take no memory
        return Points(np.empty((*shape, 3)), np.empty(shape, "f4"))
    point_bytes = 16 if layout.is_float else 8
    all_bytes = np.frombuffer(data, np.uint8, frames * layout.frame_bytes, layout.start)
    rows = all_bytes.reshape(frames, layout.frame_bytes)[:, : point_bytes * layout.point_count]
    raw = np.ascontiguousarray(rows).reshape(*shape, point_bytes)
    if layout.is_float:
        words = encoding.decode_floats(raw)
        with np.errstate(invalid="ignore"):
            return Points(words[..., :3].astype(np.float64), words[..., 3])
    counts = encoding.decode_integers(raw)
    values = np.asarray(counts[..., :3] * scale, dtype=np.float64)
    return Points(values, counts[..., 3].astype(np.float32))
