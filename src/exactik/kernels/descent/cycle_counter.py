"""The processor's cycle counter: a clock that compiled code can read without a system call.

Its unit is not known beforehand; callers that need seconds compare with a clock of Python's over
the same span (`solve_batch` divides the time of a chunk among its problems). The compiler takes
`read_cycle_counter` for one instruction (`kernels.instructions`).
"""

from __future__ import annotations

from time import perf_counter_ns


def read_cycle_counter() -> int:
    """Return the counter; differences between two readings in one thread are durations."""
    return perf_counter_ns()
