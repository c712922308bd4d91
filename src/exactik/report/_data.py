"""Numbers of a report, made small: bins for long recordings, bytes in place of decimals."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactik.report._png import error_colours
from exactik.report._summary import compute_frame_errors, find_missing
from exactik.tracking import compute_standard_deviations
from exactik.typing import Array, IntArray

if TYPE_CHECKING:
    from exactik.tracking import Track

__all__ = [
    "AngleCurves",
    "Bins",
    "HeatMap",
    "encode_bytes",
    "encode_series",
    "make_angle_curves",
    "make_heat_map",
    "round_axis_end",
]

Bytes = NDArray[np.uint8]

MAX_HEAT_BYTES = 1_500_000  # bytes of the heat map at most
MIN_MAX_ANGLE_BYTES = 900_000, 5_000_000  # for short and for long recordings, as text
ANGLE_BYTES_PER_FRAME = 120  # bytes of angles that a frame adds, between these two
NO_NUMBER = 65535  # stands for no number


class Bins(NamedTuple):
    """Frames, some together.

    Attributes:
        frames: their number.
        edges: first frame of every bin, (n,).
    """

    frames: int
    edges: IntArray

    @classmethod
    def of(cls, count: int, most: int) -> Bins:
        """Return at most so many bins of about the same number of frames."""
        n = max(1, min(count, most))
        return cls(count, (np.arange(n) * count) // n)

    def __len__(self) -> int:
        return len(self.edges)

    @property
    def middles(self) -> Array:
        """Where each bin is on an axis on which frame t takes t to t + 1, (n,)."""
        return np.asarray(0.5 * (self.edges + np.append(self.edges[1:], self.frames)), dtype=float)

    def most(self, values: Array) -> Array:
        """Return the largest value of each bin, (n, …); NaN only where all are."""
        return np.fmax.reduceat(values, self.edges, axis=0)

    def least(self, values: Array) -> Array:
        """Return the smallest value of each bin."""
        return np.fmin.reduceat(values, self.edges, axis=0)


def encode_bytes(array: NDArray[Any]) -> str:
    """Return the bytes of an array as text."""
    return base64.b64encode(np.ascontiguousarray(array).tobytes()).decode("ascii")


def round_axis_end(value: float) -> float:
    """Return the next of 1, 1.5, 2, 3, 4, 5, 6, 8, 10 times a power of ten."""
    if not value > 0.0:
        return 1.0
    power = 10.0 ** np.floor(np.log10(value))
    steps = (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)
    return float(power * next(s for s in steps if s * power >= 0.999999 * value))


class HeatMap(NamedTuple):
    """Errors of markers over time.

    Attributes:
        bins: the columns.
        level: 0 where missing, else 1 to 255 with the root of the error, (n, M).
        most: error of level 255 [mm].
        top: error of the brightest colour [mm].
    """

    bins: Bins
    level: Bytes
    most: float
    top: float

    @property
    def palette(self) -> Bytes:
        """The colour of each level, (256, 3)."""
        errors = self.most * (np.maximum(np.arange(256.0) - 1.0, 0.0) / 254.0) ** 2
        return error_colours(errors / self.top)


def make_heat_map(track: Track) -> HeatMap:
    """Return the errors of all markers, binned by the largest."""
    errors = 1e3 * track.marker_errors
    seen = errors[np.isfinite(errors)]
    most = float(seen.max()) if len(seen) > 0 else 1.0
    top = float(np.percentile(seen, 99.0)) if len(seen) > 0 else 1.0
    bins = Bins.of(len(track), MAX_HEAT_BYTES // max(len(track.names), 1))
    binned = bins.most(errors)
    level = 1.0 + np.round(254.0 * np.sqrt(np.nan_to_num(binned) / max(most, 1e-9)))
    level = np.where(np.isfinite(binned), level, 0.0).astype(np.uint8)
    return HeatMap(bins, level, max(most, 1e-9), round_axis_end(top))


def encode_series(track: Track) -> dict[str, Any]:
    """Return what every frame has one of, at full rate."""
    mean, most = compute_frame_errors(track)
    words = sorted(set(track.status.tolist()))
    return {
        "mean": _encode_16_bit(1e3 * mean),
        "most": _encode_16_bit(1e3 * most),
        "missing": _encode_8_bit(find_missing(track).sum(axis=1)),
        "iterations": _encode_8_bit(track.iterations),
        "status": {**_encode_8_bit(np.searchsorted(words, track.status)), "words": words},
    }


def _encode_8_bit(values: NDArray[Any]) -> dict[str, Any]:
    return {"scale": 1.0, "bits": 8, "data": encode_bytes(np.minimum(values, 255).astype(np.uint8))}


def _encode_16_bit(values: Array) -> dict[str, Any]:
    top = float(np.nanmax(values)) if np.isfinite(values).any() else 0.0
    scale = max(top, 1e-9) / (NO_NUMBER - 1)
    whole = np.where(np.isfinite(values), np.round(np.nan_to_num(values) / scale), NO_NUMBER)
    return {"scale": scale, "bits": 16, "data": encode_bytes(whole.astype("<u2"))}


class AngleCurves(NamedTuple):
    """Coordinates of all dofs with their error bars, in degrees or metres.

    Attributes:
        bins: of the frames.
        low: least of each bin, (n, nv).
        high: most of each bin.
        sd: standard deviation, (n, nv).
    """

    bins: Bins
    low: Array
    high: Array
    sd: Array

    def encode(self, k: int) -> dict[str, Any]:
        """Return a dof as text."""
        low, high = float(self.low[:, k].min()), float(self.high[:, k].max())
        step = max(high - low, 1e-9) / 65535.0
        wide = float(self.sd[:, k].max())
        root = np.round(255.0 * np.sqrt(self.sd[:, k] / max(wide, 1e-12)))
        data = {"low": low, "step": step, "wide": wide, "sd": encode_bytes(root.astype(np.uint8))}
        data["a"] = encode_bytes(np.round((self.low[:, k] - low) / step).astype("<u2"))
        if len(self.bins) < self.bins.frames:
            data["b"] = encode_bytes(np.round((self.high[:, k] - low) / step).astype("<u2"))
        return data


def make_angle_curves(track: Track) -> AngleCurves:
    """Return all dofs over time, in so many bins that the file stays small."""
    count, nv = len(track), max(track.skeleton.nv, 1)
    budget = int(np.clip(ANGLE_BYTES_PER_FRAME * count, *MIN_MAX_ANGLE_BYTES))
    whole = count * nv * 4 <= budget  # three bytes are four letters
    bins = Bins.of(count, count if whole else max(200, (3 * budget) // (4 * 5 * nv)))
    unit = np.where(track.skeleton.turns, 180.0 / np.pi, 1.0)
    low, high = np.empty((2, len(bins), nv))
    values = _dof_values(track, unit)
    for k in range(track.skeleton.nv):
        column = values(k)
        low[:, k], high[:, k] = bins.least(column), bins.most(column)
    return AngleCurves(bins, low, high, unit * _bin_deviations(track, bins))


def _dof_values(track: Track, unit: Array) -> Callable[[int], Array]:
    """Return a function from a dof to its values; of quaternions turns from the rest pose."""
    skeleton, q = track.skeleton, track.motion.q
    plain = skeleton.plain_q
    turned = np.empty((0, 0))
    if (plain < 0).any():
        turned = skeleton.difference(q, np.broadcast_to(skeleton.neutral(), q.shape))
    return lambda k: unit[k] * (q[:, plain[k]] if plain[k] >= 0 else turned[:, k])


def _bin_deviations(track: Track, bins: Bins) -> Array:
    """Return the error bars [rad or m], (n, nv): of each bin's frame with the fewest markers."""
    if len(bins) == bins.frames:
        return track.sd
    if "sd" in vars(track):
        return bins.most(track.sd)
    seen = np.isfinite(track.marker_errors).sum(axis=1)
    ends = np.append(bins.edges[1:], bins.frames)
    pairs = zip(bins.edges, ends, strict=True)
    which = np.array([a + int(np.argmin(seen[a:b])) for a, b in pairs], dtype=np.int64)
    some, q = track.problem.select(which), np.ascontiguousarray(track.motion.q[which])
    return compute_standard_deviations(some, q, track.sigma, track.threads)
