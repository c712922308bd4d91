"""Numbers of a report made small: bins for long recordings, bytes in place of decimals."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactik.studio.plots.axes import Bins, round_axis_end
from exactik.studio.plots.colours import error_colours
from exactik.studio.report._summary import find_missing
from exactik.typing import Array

if TYPE_CHECKING:
    from exactik.recordings.tracking import Track


Bytes = NDArray[np.uint8]

MAX_HEAT_BYTES = 1_500_000  # bytes of the heat map at most
STATUS_WORDS = {
    "converged": "solved",
    "at-limits": "solved, a joint at the end of its range",
    "not-converged": "not settled",
    "no-markers": "hardly any markers",
    "gap": "filled gap",
}
"""Of `Track.status`, as the page says it."""
NO_NUMBER = 65535  # stands for no number


def encode_bytes(array: NDArray[Any]) -> str:
    """Return the bytes of an array as text."""
    return base64.b64encode(np.ascontiguousarray(array).tobytes()).decode("ascii")


class HeatMap(NamedTuple):
    """Errors of markers over time."""

    bins: Bins  # the columns
    level: Bytes  # 0 where missing, else 1 to 255 with the root of the error, (n, M)
    most: float  # error of level 255 [mm]
    top: float  # error of the brightest colour [mm]

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
    mean, most = track.frame_errors
    words = sorted(set(track.status.tolist()))
    return {
        "mean": encode_16_bit(1e3 * mean),
        "most": encode_16_bit(1e3 * most),
        "missing": _encode_8_bit(find_missing(track).sum(axis=1)),
        "iterations": _encode_8_bit(track.iterations),
        "status": {
            **_encode_8_bit(np.searchsorted(words, track.status)),
            "words": [STATUS_WORDS.get(word, word) for word in words],
        },
    }


def _encode_8_bit(values: NDArray[Any]) -> dict[str, Any]:
    return {"scale": 1.0, "bits": 8, "data": encode_bytes(np.minimum(values, 255).astype(np.uint8))}


def encode_16_bit(values: Array) -> dict[str, Any]:
    """Return values of all frames ≥ 0, (T,), for the script; NaN where there is none."""
    top = float(np.nanmax(values)) if np.isfinite(values).any() else 0.0
    scale = max(top, 1e-9) / (NO_NUMBER - 1)
    whole = np.where(np.isfinite(values), np.round(np.nan_to_num(values) / scale), NO_NUMBER)
    return {"scale": scale, "bits": 16, "data": encode_bytes(whole.astype("<u2"))}
