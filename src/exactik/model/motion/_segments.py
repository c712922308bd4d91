"""Frames at an even rate, segments of consecutive ones, frames spread evenly; axes of the world.

Where another axis is to be up, all three move on in a circle: y up, looking along z, becomes z up,
looking along x, as is the custom with both. A quarter turn about one axis would keep that axis and
change where figures look. Commands, viewers and conversions all take these functions, so that a
file shows the same way round wherever it is opened.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from exactik._arrays import is_number
from exactik.errors import UsageError
from exactik.model import Bone, Skeleton
from exactik.typing import Array, BoolArray, IntArray

if TYPE_CHECKING:
    from exactik.model.motion._markers import Markers
    from exactik.model.motion._motion import Motion

_MotionOrMarkers = TypeVar("_MotionOrMarkers", "Markers", "Motion")


def check_rate(rate: float) -> float:
    """Return a rate [Hz]; raise `UsageError` unless it is a positive number."""
    if not is_number(rate) or not 0.0 < rate < np.inf:
        raise UsageError(f"rate is {rate!r}; it must be a positive number of frames a second")
    return float(rate)


def slice_frames(count: int, rate: float, start: float | None, end: float | None) -> slice:
    """Return the frames from `start` to `end`, both included [s from the first frame]."""
    first, last = 0, count
    if start is not None:
        first = int(np.ceil(np.clip(_check_time("start", start) * rate - 1e-6, 0, count)))
    if end is not None:
        last = int(np.floor(np.clip(_check_time("end", end) * rate + 1e-6, -1, count - 1))) + 1
    return slice(first, last)


def _check_time(name: str, seconds: float) -> float:
    """Return a time [s], which may be infinite; raise `UsageError` if it is none."""
    if not is_number(seconds) or np.isnan(seconds):
        raise UsageError(f"{name} is {seconds!r}; it must be a number of seconds")
    return float(seconds)


def compute_resampled_positions(count: int, rate: float, new: float) -> Array:
    """Return where frames of another rate lie, in frames of the old one, (n,)."""
    if count == 0:
        return np.empty(0)
    step = rate / check_rate(new)
    return step * np.arange(int(np.floor((count - 1) / step + 1e-9)) + 1, dtype=np.float64)


class Segment(NamedTuple):
    """Consecutive frames, first and last included."""

    first: int
    last: int

    @property
    def frame_count(self) -> int:
        """Number of frames."""
        return self.last - self.first + 1


def find_segments(flags: BoolArray, join: int = 0) -> list[Segment]:
    """Return the segments in which flags, (T,), are True.

    Args:
        flags: one per frame.
        join: segments with no more False frames than these between them become one.
    """
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(np.int8)))
    segments: list[Segment] = []
    for first, end in zip(edges[::2], edges[1::2], strict=True):
        if len(segments) > 0 and first - segments[-1].last <= join + 1:
            segments[-1] = Segment(segments[-1].first, int(end) - 1)
        else:
            segments.append(Segment(int(first), int(end) - 1))
    return segments


def mark_segments(frame_count: int, segments: Iterable[tuple[int, int]]) -> BoolArray:
    """Return which frames are in one of the segments, (frame_count,): `find_segments` undone."""
    flags = np.zeros(frame_count, dtype=bool)
    for first, last in segments:
        flags[first : last + 1] = True
    return flags


def cut_into_segments(frame_count: int, length: int, shift: int = 0) -> list[Segment]:
    """Return segments of a fixed length that cover all frames; the first is shorter by `shift`.

    A last one of less than half the length is joined to the one before it.
    """
    cuts = [0, *range(length - shift, frame_count - length // 2, length), frame_count]
    return [Segment(first, end - 1) for first, end in pairwise(cuts)]


def choose_even_frames(frame_count: int, at_most: int) -> IntArray:
    """Return the numbers of frames spread evenly, first and last included, (n,); all if few."""
    spread = np.linspace(0, max(frame_count - 1, 0), min(frame_count, at_most))
    return np.unique(spread.astype(np.int64))


def check_up_axis(up_axis: str) -> str:
    """Return the name of an axis in lower case; raise `UsageError` if it is none."""
    if str(up_axis).lower() not in ("x", "y", "z"):
        raise UsageError(f"up_axis is {up_axis!r}; it must be 'x', 'y' or 'z'")
    return str(up_axis).lower()


def cyclic_axes(up: str, to: str) -> str:
    """Return the axes, as for `axes_matrix`, that bring an up axis to another: "ZXY" for y to z."""
    return ("XYZ", "ZXY", "YZX")[("xyz".index(to) - "xyz".index(up)) % 3]


def turn_to_up(thing: _MotionOrMarkers, up: str) -> _MotionOrMarkers:
    """Return a motion or markers with another axis up.

    Where nothing is known of it, it is taken to be so already.
    """
    if thing.up_axis is None or thing.up_axis == up:
        return replace(thing, up_axis=up)
    return thing.turned(cyclic_axes(thing.up_axis, up))


def turn_skeleton(skeleton: Skeleton, axes: str) -> Skeleton:
    """Return the same skeleton in permuted axes of the world, see `axes_matrix`.

    Every bone at rest is where it was, seen from the new axes. Coordinates and limits stay: what is
    turned is the constant part of the root bones (offset and `pre`), which works for any joint.
    """
    matrix = axes_matrix(axes)
    bones = [_turn_root(bone, matrix) if bone.parent is None else bone for bone in skeleton.bones]
    return skeleton.with_bones(bones)


def _turn_root(root: Bone, matrix: Array) -> Bone:
    pre = matrix if root.pre is None else matrix @ np.array(root.pre)
    offset = matrix @ np.array(root.offset)
    return replace(root, offset=offset, pre=pre)


def heading_axes(up: str | None) -> list[str]:
    """Return the four quarter turns about the axis that is up, as for `axes_matrix`.

    If no axis is known to be up, only the axes as they are.
    """
    if up is None:
        return ["XYZ"]
    u = "xyz".index(up)
    a, b = (u + 1) % 3, (u + 2) % 3
    turns = []
    for new_a, new_b in ((a, b), (b, ~a), (~a, ~b), (~b, a)):  # ~ is for a minus sign
        row = [""] * 3
        row[u] = "XYZ"[u]
        for place, axis in ((a, new_a), (b, new_b)):
            row[place] = "XYZ"[axis] if axis >= 0 else f"-{'XYZ'[~axis]}"
        turns.append("".join(row))
    return turns


def permute_axis(up: str | None, matrix: Array) -> str | None:
    """Return the up axis in axes permuted by a matrix; None where an axis then points down."""
    if up is None:
        return None
    column = matrix[:, "xyz".index(up)]
    return "xyz"[int(np.argmax(column))] if column.max() > 0.0 else None


def axes_matrix(axes: str) -> Array:
    """Return the matrix, (3, 3), that takes the file's axes to the permuted ones.

    Args:
        axes: three of X, Y and Z, minus signs allowed: "YZX" makes the file's y the new x.
    """
    rows, sign = [], 1.0
    for letter in str(axes).upper():
        if letter == "-":
            sign = -1.0
        elif letter in "XYZ":
            rows.append(sign * np.eye(3)["XYZ".index(letter)])
            sign = 1.0
        else:
            rows = []
            break
    matrix = np.array(rows, dtype=np.float64)
    if matrix.shape != (3, 3) or abs(np.linalg.det(matrix) - 1.0) > 1e-9:
        raise UsageError(
            f"axes is {axes!r}; expected three of X, Y and Z, each once, minus signs allowed, that "
            "keep the axes right-handed, such as 'YZX' or 'X-ZY'"
        )
    return matrix
