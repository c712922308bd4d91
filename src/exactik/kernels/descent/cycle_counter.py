"""The processor's cycle counter: a clock that compiled code can read without a system call.

Its unit is not known beforehand; callers that need seconds compare with a clock of Python's over
the same span (`solve_batch` divides the time of a chunk among its problems).
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter_ns
from typing import Any, cast

from numba.core import config, types
from numba.extending import intrinsic

__all__ = ["read_cycle_counter"]


def _counter(context: Any) -> Any:
    """Return signature and code of `llvm.readcyclecounter`."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        from llvmlite import ir

        word = ir.IntType(64)
        function = ir.FunctionType(word, [])
        counter = builder.module.declare_intrinsic("llvm.readcyclecounter", (), function)
        return builder.call(counter, [])

    return types.int64(), generate


_JIT_DISABLED = bool(getattr(config, "DISABLE_JIT", False))
read_cycle_counter = cast(
    Callable[[], int], perf_counter_ns if _JIT_DISABLED else intrinsic(_counter)
)
"""Return the counter; differences between two readings in one thread are durations."""
