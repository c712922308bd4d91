"""numba.cuda, imported in one place, and what kernels say of threads and of their own code.

On a machine without a GPU it may be numba's simulator, where a thread goes its own way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba.cuda  # noqa: TID253 (this module is imported when a GPU is asked for)
import numpy as np
from numba import config

cuda: Any = numba.cuda  # its annotations do not know how kernels are launched
IS_SIMULATED = bool(getattr(config, "ENABLE_CUDASIM", False))


def _count_voters(condition):
    cuda.syncwarp()  # the barrier asks for whole warps
    return cuda.syncthreads_count(np.int32(condition))


def _count_itself(condition):
    return 1 if condition else 0


def _read_block_size():
    return cuda.blockDim.x


def _return_one():
    return 1


count_threads: Any = (
    _count_itself if IS_SIMULATED else cuda.jit(device=True, forceinline=True)(_count_voters)
)
"""Return in how many threads of the block a condition holds; all of them must ask."""

block_size: Any = (
    _return_one if IS_SIMULATED else cuda.jit(device=True, forceinline=True)(_read_block_size)
)
"""Return the number of threads of the block."""


def inline(function: Callable[..., Any]) -> Any:
    """Make a device function that becomes part of its callers: it may return views of arrays."""
    return function if IS_SIMULATED else cuda.jit(device=True, inline="always")(function)


def _make_intrinsic() -> Any:
    from numba.cuda import types as numba_types
    from numba.cuda.extending import intrinsic

    types: Any = numba_types

    @intrinsic
    def keep_out_of_line(_):
        def generate(context, builder, signature, arguments):
            builder.function.attributes.add("noinline")
            return context.get_dummy_value()

        return types.void(), generate

    return keep_out_of_line


keep_out_of_line: Any = (lambda: None) if IS_SIMULATED else _make_intrinsic()
"""Keep the function that calls this from becoming part of its callers."""
