"""The two decorators of every compiled function: `jit`, and `inlined` for the small ones in inner loops.

Floating point: `contract` lets the compiler fuse a multiply and an add; `nsz` and `arcp` drop signed zeros and divide
by a common divisor once. Nothing that reorders sums: reassociation breaks the range reduction in `sincos` and the
compensated parts of the exponential map, silently.

Cache: Numba keeps machine code on disk beside the source file, and throws it away when that file changes, but not when
a function that it calls does. All compiled files therefore share one stamp, so that an edit to any of them counts.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numba

__all__ = ["inlined", "jit"]

Function = TypeVar("Function", bound=Callable)


def _stamp() -> tuple[float, int]:
    package = Path(__file__).parent.parent
    files = [f.stat() for name in ("spatial", "kernels") for f in (package / name).glob("*.py")]
    return max(f.st_mtime for f in files), sum(f.st_size for f in files)


_STAMP = _stamp()
_OPTIONS = {
    "_nrt": False,
    "cache": True,
    "error_model": "numpy",
    "fastmath": {"contract", "nsz", "arcp"},
}


def jit(function: Function, *, forceinline: bool = False) -> Function:
    """Compile a function at its first call, or take it from the cache."""
    compiled = numba.njit(**_OPTIONS, forceinline=forceinline)(function)
    index = getattr(getattr(compiled, "_cache", None), "_cache_file", None)
    if hasattr(
        index, "_source_stamp"
    ):  # private to Numba; without it only the coarser stamp is lost
        index._source_stamp = _STAMP
    return compiled


def inlined(function: Function) -> Function:
    """As `jit`, and paste the function into its callers: a call costs as much as fifty operations."""
    return jit(function, forceinline=True)
