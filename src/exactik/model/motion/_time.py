"""What all recordings share: frames at an even rate."""

from __future__ import annotations

import numpy as np

from exactik._arrays import is_number
from exactik.errors import UsageError
from exactik.typing import Array


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
