"""What all recordings share: frames at an even rate."""

from __future__ import annotations

import numpy as np

from exactik._arrays import is_number
from exactik.errors import UsageError
from exactik.typing import Array

__all__ = ["check_rate", "compute_resampled_positions", "slice_frames"]


def check_rate(rate: float) -> float:
    """Return a rate [Hz]; raise `UsageError` unless it is a positive number."""
    if not is_number(rate) or not 0.0 < rate < np.inf:
        raise UsageError(f"rate is {rate!r}; it must be a positive number of frames a second")
    return float(rate)


def slice_frames(count: int, rate: float, start: float | None, end: float | None) -> slice:
    """Return the frames from `start` to `end`, both included [s from the first frame]."""
    first = 0 if start is None else int(np.ceil(start * rate - 1e-6))
    last = count if end is None else int(np.floor(end * rate + 1e-6)) + 1
    return slice(max(first, 0), max(min(last, count), 0))


def compute_resampled_positions(count: int, rate: float, new: float) -> Array:
    """Return where frames of another rate lie, in frames of the old one, (n,)."""
    if count == 0:
        return np.empty(0)
    step = rate / check_rate(new)
    return step * np.arange(int(np.floor((count - 1) / step + 1e-9)) + 1, dtype=np.float64)
