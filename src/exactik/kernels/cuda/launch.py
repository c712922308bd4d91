"""Problems of a batch: from arrays on the host to arrays on the host, in chunks.

While one chunk is solved the next one is copied, from memory that is pinned for the time. A chunk
takes a share of the memory that is free; where that is too much, half of it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from exactik.kernels.calculus.workspace import Goals, new_workspace
from exactik.kernels.cuda._cuda import cuda
from exactik.kernels.cuda._replacements import find_replacements
from exactik.kernels.cuda._scratch import OwnGoals, ThreadArrays, choose_capacity
from exactik.kernels.cuda._solve_pool import solve_pool
from exactik.kernels.cuda._variants import compile_kernel
from exactik.kernels.cuda.transfer import (
    allocate_or_halve,
    choose_grid,
    count_rows_that_fit,
    flatten,
    map_arrays,
    quiet_and_pinned,
    to_device,
)
from exactik.kernels.descent.starts import StartTable, place_starts
from exactik.kernels.descent.state import Box, new_descent_state
from exactik.kernels.goals.targets import Targets
from exactik.kernels.goals.terms import LOG
from exactik.kernels.tree.packed import Tree
from exactik.typing import Array

CHUNK_PROBLEMS = 131_072  # at most: four for each thread that fits on a large GPU


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
    with quiet_and_pinned([*targets, q, results, term_errors]):
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
        blocks, threads = choose_grid(count)
        kernel[blocks, threads, self._stream](*shared, *device, thread_arrays, self._queue)
        for target, source in (
            (host.q, device.q),
            (host.results, device.results),
            (host.term_errors, device.term_errors),
        ):
            source.copy_to_host(target, stream=self._stream)


def make_slots(batch: Batch) -> list[Slot]:
    """Return two slots for chunks, as large as the free memory allows; one if that holds all."""
    count = len(batch.q)
    row_bytes = sum(a.nbytes for a in flatten(batch)) / count
    size = count_rows_that_fit(row_bytes, min(CHUNK_PROBLEMS, count))
    slots, _ = allocate_or_halve(
        lambda fitting: [Slot(batch, fitting) for _ in range(2 if fitting < count else 1)], size
    )
    return slots
