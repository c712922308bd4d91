"""Arrays between host and GPU, and where kernels run."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import numpy as np

from exactik.errors import UsageError
from exactik.kernels.cuda._cuda import IS_SIMULATED, cuda
from exactik.typing import Array

T = TypeVar("T")

WARP_SIZE = 32  # threads
BLOCK_THREADS = 384  # 12 warps: what fits on a multiprocessor with the registers of `variants`
MEMORY_SHARE = 0.25  # of the free memory, for one of two chunks
OUT_OF_MEMORY = 2  # CUDA_ERROR_OUT_OF_MEMORY


def choose_grid(count: int) -> tuple[int, int]:
    """Return how many blocks of how many threads take `count` problems from a queue.

    One block for each multiprocessor: its warps share what is kept of the code.
    """
    processors = 1 if IS_SIMULATED else cuda.get_current_device().MULTIPROCESSOR_COUNT
    warps = -(-count // (processors * WARP_SIZE))
    threads = min(WARP_SIZE * warps, BLOCK_THREADS)
    return min(-(-count // threads), processors), threads


def count_rows_that_fit(row_bytes: float, most: int) -> int:
    """Return how many rows of a batch a chunk can have, with two chunks on the GPU."""
    if IS_SIMULATED:
        return max(most, 1)
    free, _ = cuda.current_context().get_memory_info()
    return max(WARP_SIZE, min(most, int(MEMORY_SHARE * free / max(row_bytes, 1.0))))


def allocate_or_halve(allocate: Callable[[int], T], size: int) -> tuple[T, int]:
    """Allocate for `size` rows on the GPU, or for half as many, as often as it takes.

    Returns: what `allocate` returned, and for how many rows.

    Raises:
        UsageError: if not even a warp's fit.
    """
    while True:
        try:
            return allocate(size), size
        except cuda.cudadrv.driver.CudaAPIError as error:
            if error.code != OUT_OF_MEMORY:
                raise
            if size <= WARP_SIZE:
                raise UsageError(
                    "the GPU has too little free memory for this figure: free some, or solve with "
                    "device='cpu'"
                ) from error
        cuda.synchronize()  # what was asked before is done, and its memory free
        size = max(size // 2, WARP_SIZE)


@contextlib.contextmanager
def quiet_and_pinned(arrays: list[Array]) -> Iterator[None]:
    """Keep arrays in place, so that copies run beside kernels, and say nothing of small batches."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(warnings.catch_warnings())
        # A small batch leaves most of the GPU idle, which is no news to who made it.
        warnings.filterwarnings("ignore", ".*under-utilization due to low occupancy")
        for array in arrays:
            if array.nbytes > 0 and not IS_SIMULATED and not _is_pinned(array):
                stack.enter_context(cuda.pinned(array))
        yield


def _is_pinned(array: Array) -> bool:
    """Whether an array lies in memory that was allocated by `cuda.pinned_array`."""
    base: Any = array
    while isinstance(base, np.ndarray) and base.base is not None:
        base = base.base
    return not isinstance(base, np.ndarray) and "cuda" in type(base).__module__


def to_device(value: Any) -> Any:
    """Copy every array of a tuple of tuples to the GPU."""
    return map_arrays(lambda a: cuda.to_device(np.array(a)), value)


def map_arrays(function: Any, value: Any) -> Any:
    """Apply a function to every array of a tuple of tuples."""
    if isinstance(value, tuple):
        parts = [map_arrays(function, part) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return function(value)


def flatten(value: Any) -> list[Any]:
    """Return the arrays of a tuple of tuples in their order."""
    if isinstance(value, tuple):
        return [array for part in value for array in flatten(part)]
    return [value]
