"""From arrays on the host to arrays on the host: problems go to the GPU in chunks.

While one chunk is solved the next one is copied, from memory that is pinned for the time. A chunk
takes a share of the memory that is free; where that is too much, half of it.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numba.core.errors import NumbaPerformanceWarning

from exactik.gpu._cuda import IS_SIMULATED, cuda
from exactik.gpu._replacements import find_replacements
from exactik.gpu._scratch import OwnGoals, ThreadArrays, choose_capacity
from exactik.gpu._solve_pool import solve_pool
from exactik.gpu._variants import compile_kernel
from exactik.kernels.calculus.workspace import Goals, new_workspace
from exactik.kernels.descent.starts import StartTable, place_starts
from exactik.kernels.descent.state import Box, new_descent_state
from exactik.kernels.goals.targets import Targets
from exactik.kernels.goals.terms import LOG
from exactik.kernels.tree.packed import Tree
from exactik.typing import Array

__all__ = ["fits_on_gpu", "solve_problems_on_gpu"]

WARP_SIZE = 32  # threads; also of a block, so that a warp that ends makes room at once
BLOCKS_PER_PROCESSOR = 16  # more than fit: some 230 registers a thread leave room for 8 warps
CHUNK_PROBLEMS = 131_072  # at most: four for each thread that fits on a large GPU
MEMORY_SHARE = 0.25  # of the free memory, for one of the two chunks
OUT_OF_MEMORY = 2  # CUDA_ERROR_OUT_OF_MEMORY


class Batch(NamedTuple):
    """Arrays with a row per problem; arrays that are only read may have one row for all."""

    targets: Targets
    q: Array
    results: Array
    term_errors: Array
    costs: Array  # (B, starts) room to rank the starts in; stays on the GPU


def solve_problems_on_gpu(
    tree: Tree,
    goals: Goals,
    box: Box,
    options: Array,
    tolerance: Array,
    table: StartTable,
    targets: Targets,
    q: Array,
    results: Array,
    term_errors: Array,
) -> None:
    """Solve a batch, as `kernels.descent.starts.solve_problems`, which has the arguments."""
    if len(q) == 0:
        return
    place_starts(tree, goals, table, new_workspace(tree))
    like = make_thread_arrays(tree, goals)
    kernel = compile_kernel(solve_pool, like, find_replacements(tree, goals, options))
    rotation = targets.rotation if (goals.terms.kind == LOG).any() else targets.rotation[:1]
    targets = Targets(*(np.ascontiguousarray(a) for a in targets._replace(rotation=rotation)))
    costs = np.empty((len(q), len(table.cost)))
    batch = Batch(targets=targets, q=q, results=results, term_errors=term_errors, costs=costs)
    shared = to_device((tree, goals, box, options, tolerance, table))
    thread_arrays = to_device(like)
    slots = make_slots(batch)
    with pin_memory([*targets, q, results, term_errors]), warnings.catch_warnings():
        # A small batch leaves most of the GPU idle, which is no news to who made it.
        warnings.simplefilter("ignore", NumbaPerformanceWarning)
        for n, first in enumerate(range(0, len(q), slots[0].size)):
            chunk = slice(first, min(first + slots[0].size, len(q)))
            slots[n % len(slots)].solve(kernel, shared, thread_arrays, batch, chunk)
        cuda.synchronize()


def fits_on_gpu(tree: Tree, goals: Goals) -> bool:
    """Whether there is room for the arrays of a thread."""
    return choose_capacity(make_thread_arrays(tree, goals)) is not None


def make_thread_arrays(tree: Tree, goals: Goals) -> ThreadArrays:
    """Return arrays of the lengths that a thread needs."""
    work = new_workspace(tree)
    descent = new_descent_state(tree, work.H.shape[1])
    own = OwnGoals(
        origin=goals.origin,
        rows=goals.clouds.rows,
        rows_used=goals.clouds.rows_used,
        floor=goals.clouds.floor,
        place=descent.trial,
    )
    return ThreadArrays(work=work, descent=descent, own=own)


class Slot:
    """Room for a chunk on the GPU, and a stream: what is asked of it is done in that order."""

    def __init__(self, batch: Batch, size: int):
        """Allocate room for `size` problems."""
        self.size = size
        self._stream = cuda.stream()
        self._queue = cuda.device_array(1, np.int64)
        self._arrays = map_arrays(
            lambda a: cuda.device_array((min(len(a), size), *a.shape[1:]), a.dtype), batch
        )

    def solve(
        self, kernel: Any, shared: Any, thread_arrays: Any, batch: Batch, chunk: slice
    ) -> None:
        """Copy a chunk to the GPU, solve it and copy it back; return before that is done."""
        count = chunk.stop - chunk.start
        host = map_arrays(lambda a: a[chunk] if len(a) == len(batch.q) else a, batch)
        device = map_arrays(lambda a: a[: min(count, len(a))], self._arrays)
        for target, source in zip(
            flatten((device.targets, device.q)), flatten((host.targets, host.q)), strict=True
        ):
            target.copy_to_device(source, stream=self._stream)
        self._queue.copy_to_device(np.zeros(1, np.int64), stream=self._stream)
        blocks = min(-(-count // WARP_SIZE), BLOCKS_PER_PROCESSOR * count_processors())
        kernel[blocks, WARP_SIZE, self._stream](*shared, *device, thread_arrays, self._queue)
        for target, source in (
            (host.q, device.q),
            (host.results, device.results),
            (host.term_errors, device.term_errors),
        ):
            source.copy_to_host(target, stream=self._stream)


def make_slots(batch: Batch) -> list[Slot]:
    """Return two slots for chunks, as large as the free memory allows; one if that holds all."""
    count = len(batch.q)
    size = max(1, min(CHUNK_PROBLEMS, count))
    row = sum(a.nbytes for a in flatten(batch)) / max(count, 1)
    if not IS_SIMULATED:
        free, _ = cuda.current_context().get_memory_info()
        size = max(WARP_SIZE, min(size, int(MEMORY_SHARE * free / row)))
    while True:
        try:
            return [Slot(batch, size) for _ in range(2 if size < count else 1)]
        except cuda.cudadrv.driver.CudaAPIError as error:
            if error.code != OUT_OF_MEMORY or size <= WARP_SIZE:
                raise
            size //= 2


@contextlib.contextmanager
def pin_memory(arrays: list[Array]) -> Iterator[None]:
    """Keep arrays in place, so that copies run beside kernels and ten times faster."""
    if IS_SIMULATED:
        yield
        return
    with contextlib.ExitStack() as stack:
        for array in arrays:
            if array.nbytes > 0:
                stack.enter_context(cuda.pinned(array))
        yield


def count_processors() -> int:
    """Return the number of multiprocessors of the GPU."""
    return 1 if IS_SIMULATED else cuda.get_current_device().MULTIPROCESSOR_COUNT


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
