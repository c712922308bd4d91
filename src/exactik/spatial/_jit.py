"""The decorators of every compiled function: `jit`, and `inlined` for small ones in inner loops.

Floating point: `contract` lets the compiler fuse a multiply and an add; `nsz` and `arcp` drop
signed zeros and divide by a common divisor once. Nothing that reorders sums: reassociation breaks
the range reduction in `sincos` and the compensated parts of the exponential map, silently.

Memory: `_nrt=False` leaves out Numba's runtime for reference-counted memory. A kernel that
allocates then fails to compile, which keeps the rule that none does; and no array has its reference
count raised and lowered around every call and view, which made the kernels two to three times
slower.

Cache: Numba keeps machine code on disk beside the source file, and throws it away when that file
changes, but not when a function that it calls does. All compiled files therefore share one stamp,
so that an edit to any of them counts.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba

__all__ = ["inlined", "jit", "pasted", "unlocked"]

Function = TypeVar("Function", bound=Callable)


def _stamp() -> tuple[float, int]:
    package = Path(__file__).parent.parent
    files = [f.stat() for name in ("spatial", "kernels") for f in (package / name).glob("*.py")]
    return max(f.st_mtime for f in files), sum(f.st_size for f in files)


_STAMP = _stamp()
_OPTIONS = {
    "_nrt": False,
    "no_cfunc_wrapper": True,
    "cache": True,
    "error_model": "numpy",
    "fastmath": {"contract", "nsz", "arcp"},
}


def jit(function: Function, **more: Any) -> Function:
    """Compile a function at its first call, or take it from the cache."""
    options: dict[str, Any] = {**_OPTIONS, **more}
    try:
        compiled = numba.njit(**options)(function)
    except RuntimeError:  # nowhere to keep a cache: a read-only installation without a home
        options["cache"] = False
        compiled = numba.njit(**options)(function)
    index = getattr(getattr(compiled, "_cache", None), "_cache_file", None)
    # Both are private to Numba; without them the cache is merely less careful.
    if index is not None and hasattr(index, "_source_stamp") and hasattr(index, "_load_index"):
        index._source_stamp = (index._source_stamp, _STAMP)
        index._load_index = _forgiving(index._load_index)
    return cast(Function, compiled)


def _forgiving(load: Callable[[], dict]) -> Callable[[], dict]:
    """Take an index of another version, which names classes long gone, for an empty one."""

    def load_or_start_anew() -> dict:
        try:
            return load()
        except (AttributeError, ImportError):
            return {}

    return load_or_start_anew


def unlocked(function: Function) -> Function:
    """As `jit`, and let other Python threads run meanwhile: for long calls."""
    return jit(function, nogil=True)


def pasted(function: Function) -> Function:
    """As `inlined`, but pasted before types are known: never compiled by itself, so for one caller.

    Every level of calls is optimised again in each caller's module; this saves a level.
    """
    options: dict[str, Any] = {**_OPTIONS, "cache": False, "inline": "always"}
    return cast(Function, numba.njit(**options)(function))


def inlined(function: Function) -> Function:
    """As `jit`, and paste the function into its callers: a call costs some fifty operations."""
    return jit(function, forceinline=True)
