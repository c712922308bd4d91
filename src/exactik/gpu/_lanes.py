"""What the threads of a warp agree upon."""

from __future__ import annotations

from typing import Any

import numba.cuda  # noqa: TID253 (this package is imported when a GPU is asked for)
from numba import config

__all__ = ["count_lanes", "inline"]

cuda: Any = numba.cuda
ALL_LANES = 0xFFFFFFFF

if config.ENABLE_CUDASIM:

    def count_lanes(condition):
        """Return 1 or 0: in the simulator a thread goes its own way."""
        return 1 if condition else 0

    def inline(function):
        """Return the function: the simulator runs it as it is."""
        return function

else:

    @cuda.jit(device=True, forceinline=True)
    def count_lanes(condition):
        """Return in how many threads of the warp the condition holds; all of them must ask."""
        return cuda.popc(cuda.ballot_sync(ALL_LANES, condition))

    def inline(function):
        """Return a device function that is part of its callers: it may return views of arrays."""
        return cuda.jit(function, device=True, inline="always")
