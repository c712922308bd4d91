"""Numbers of a report, made small: bins for long recordings, bytes in place of decimals."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactik.report._png import colours
from exactik.report._summary import frame_errors, missing_in
from exactik.tracking import compute_standard_deviations
from exactik.typing import Array, IntArray

if TYPE_CHECKING:
    from exactik.tracking import Track

__all__ = ["Angles", "Bins", "Heat", "angles_of", "encoded", "heat_of", "rounded_up", "series_of"]

Bytes = NDArray[np.uint8]

HEAT_CELLS = 1_500_000  # bytes of the heat map at most
ANGLE_BYTES = 900_000, 5_000_000  # for short and for long recordings, as text
PER_FRAME = 120  # bytes of angles that a frame adds, between these two
GONE = 65535  # stands for no number


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


def encoded(array: NDArray[Any]) -> str:
    """Return the bytes of an array as text."""
    return base64.b64encode(np.ascontiguousarray(array).tobytes()).decode("ascii")


def rounded_up(value: float) -> float:
    """Return the next of 1, 1.5, 2, 3, 4, 5, 6, 8, 10 times a power of ten."""
    if not value > 0.0:
        return 1.0
    power = 10.0 ** np.floor(np.log10(value))
    steps = (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)
    return float(power * next(s for s in steps if s * power >= 0.999999 * value))


class Heat(NamedTuple):
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
        return colours(errors / self.top)


def heat_of(track: Track) -> Heat:
    """Return the errors of all markers, binned by the largest."""
    errors = 1e3 * track.marker_errors
    seen = errors[np.isfinite(errors)]
    most = float(seen.max()) if len(seen) > 0 else 1.0
    top = float(np.percentile(seen, 99.0)) if len(seen) > 0 else 1.0
    bins = Bins.of(len(track), HEAT_CELLS // max(len(track.names), 1))
    binned = bins.most(errors)
    level = 1.0 + np.round(254.0 * np.sqrt(np.nan_to_num(binned) / max(most, 1e-9)))
    level = np.where(np.isfinite(binned), level, 0.0).astype(np.uint8)
    return Heat(bins, level, max(most, 1e-9), rounded_up(top))


def series_of(track: Track) -> dict[str, Any]:
    """Return what every frame has one of, at full rate."""
    mean, most = frame_errors(track)
    words = sorted(set(track.status.tolist()))
    return {
        "mean": _sixteen(1e3 * mean),
        "most": _sixteen(1e3 * most),
        "missing": _eight(missing_in(track).sum(axis=1)),
        "iterations": _eight(track.iterations),
        "status": {**_eight(np.searchsorted(words, track.status)), "words": words},
    }


def _eight(values: NDArray[Any]) -> dict[str, Any]:
    return {"scale": 1.0, "bits": 8, "data": encoded(np.minimum(values, 255).astype(np.uint8))}


def _sixteen(values: Array) -> dict[str, Any]:
    top = float(np.nanmax(values)) if np.isfinite(values).any() else 0.0
    scale = max(top, 1e-9) / (GONE - 1)
    whole = np.where(np.isfinite(values), np.round(np.nan_to_num(values) / scale), GONE)
    return {"scale": scale, "bits": 16, "data": encoded(whole.astype("<u2"))}


class Angles(NamedTuple):
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

    def packed(self, k: int) -> dict[str, Any]:
        """Return a dof as text."""
        low, high = float(self.low[:, k].min()), float(self.high[:, k].max())
        step = max(high - low, 1e-9) / 65535.0
        wide = float(self.sd[:, k].max())
        root = np.round(255.0 * np.sqrt(self.sd[:, k] / max(wide, 1e-12)))
        data = {"low": low, "step": step, "wide": wide, "sd": encoded(root.astype(np.uint8))}
        data["a"] = encoded(np.round((self.low[:, k] - low) / step).astype("<u2"))
        if len(self.bins) < self.bins.frames:
            data["b"] = encoded(np.round((self.high[:, k] - low) / step).astype("<u2"))
        return data


def angles_of(track: Track) -> Angles:
    """Return all dofs over time, in so many bins that the file stays small."""
    count, nv = len(track), max(track.skeleton.nv, 1)
    budget = int(np.clip(PER_FRAME * count, *ANGLE_BYTES))
    whole = count * nv * 4 <= budget  # three bytes are four letters
    bins = Bins.of(count, count if whole else max(200, (3 * budget) // (4 * 5 * nv)))
    unit = np.where(track.skeleton.turns, 180.0 / np.pi, 1.0)
    low, high = np.empty((2, len(bins), nv))
    values = _in_parts(track, unit)
    for k in range(track.skeleton.nv):
        column = values(k)
        low[:, k], high[:, k] = bins.least(column), bins.most(column)
    return Angles(bins, low, high, unit * _deviations(track, bins))


def _in_parts(track: Track, unit: Array) -> Callable[[int], Array]:
    """Return a function from a dof to its values; of quaternions turns from the rest pose."""
    skeleton, q = track.skeleton, track.motion.q
    plain = skeleton.plain_q
    turned = np.empty((0, 0))
    if (plain < 0).any():
        turned = skeleton.difference(q, np.broadcast_to(skeleton.neutral(), q.shape))
    return lambda k: unit[k] * (q[:, plain[k]] if plain[k] >= 0 else turned[:, k])


def _deviations(track: Track, bins: Bins) -> Array:
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
