"""What the threads of a warp agree upon; in the simulator a thread goes its own way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from exactik.gpu._cuda import IS_SIMULATED, cuda

__all__ = ["count_lanes", "inline"]

ALL_LANES = 0xFFFFFFFF


def _count_voters(condition):
    return cuda.popc(cuda.ballot_sync(ALL_LANES, condition))


def _count_itself(condition):
    return 1 if condition else 0


count_lanes: Any = (
    _count_itself if IS_SIMULATED else cuda.jit(device=True, forceinline=True)(_count_voters)
)
"""Return in how many threads of the warp a condition holds; all of them must ask."""


def inline(function: Callable[..., Any]) -> Any:
    """Make a device function that becomes part of its callers: it may return views of arrays."""
    return function if IS_SIMULATED else cuda.jit(device=True, inline="always")(function)
