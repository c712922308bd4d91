"""The decorators of every compiled function.

    jit                 compiled at its first call, or taken from the cache
    jit_nogil           the same for long calls: other Python threads run meanwhile
    jit_forceinline     small functions in inner loops: LLVM inlines them into their callers

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

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba.core import config

from exactik.compile._link_only import LinkOnlyCompiler

Function = TypeVar("Function", bound=Callable)


PACKAGES = ("compile", "spatial", "kernels")  # whose files decide what machine code is


def _stamp() -> tuple[float, int]:
    """Return the latest change and the total size of all files with compiled functions."""
    package = Path(__file__).parent.parent
    files = [f.stat() for name in PACKAGES for f in (package / name).rglob("*.py")]
    return max(f.st_mtime for f in files), sum(f.st_size for f in files)


_STAMP = _stamp()
_OPTIONS = {
    "_nrt": False,
    "no_cfunc_wrapper": True,
    "cache": True,
    "error_model": "numpy",
    "fastmath": {"contract", "nsz", "arcp"},
}


class Kernel:
    """A function with machine code of its own for Python, and code to link for its callers.

    Numba would optimise every function by itself and again in each of its callers. Other kernels
    see `linked`, so that code is optimised once, in the function that Python calls: compiling takes
    half the time.
    """

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]):
        """Take options of `numba.njit`."""
        self.compiled = numba.njit(**options)(function)
        self._options = options
        functools.update_wrapper(self, function)

    @functools.cached_property
    def linked(self) -> Any:
        """What compiled callers link; made when the first of them is compiled."""
        options = {**self._options, "cache": False, "no_cpython_wrapper": True}
        return numba.njit(**options, pipeline_class=LinkOnlyCompiler)(self.compiled.py_func)

    @property
    def _numba_type_(self) -> Any:
        """What Numba asks of the global names that a function uses."""
        return self.linked._numba_type_

    def __call__(self, *arguments: Any) -> Any:
        """Call the machine code."""
        return self.compiled(*arguments)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.compiled, name)


def jit(function: Function, **more: Any) -> Function:
    """Compile a function at its first call, or take it from the cache."""
    if getattr(config, "DISABLE_JIT", False):
        return function
    options: dict[str, Any] = {**_OPTIONS, **more}
    try:
        kernel = Kernel(function, options)
    except RuntimeError:  # nowhere to keep a cache: a read-only installation without a home
        options["cache"] = False
        kernel = Kernel(function, options)
    index = _find_cache_index(kernel.compiled)
    if index is not None:
        index._source_stamp = (index._source_stamp, _STAMP)
        index._load_index = _ignore_unreadable(index._load_index)
    return cast(Function, kernel)


def has_machine_code(compiled: Any) -> bool:
    """Whether the function was compiled or loaded in this process."""
    return len(compiled.overloads) > 0


def is_cached(compiled: Any) -> bool | None:
    """Whether machine code for this processor is on disk; None: there is no cache."""
    index = _find_cache_index(compiled)
    if index is None:
        return None
    processor = compiled.targetctx.codegen().magic_tuple()
    return any(processor in key for key in index._load_index())


def _find_cache_index(compiled: Any) -> Any:
    """Return what Numba keeps of a function's cache, None where there is none.

    It is private to Numba; without it the cache is merely less careful.
    """
    index = getattr(getattr(compiled, "_cache", None), "_cache_file", None)
    complete = hasattr(index, "_source_stamp") and hasattr(index, "_load_index")
    return index if complete else None


def _ignore_unreadable(load: Callable[[], dict]) -> Callable[[], dict]:
    """Take an index that cannot be unpickled for empty: another version had other classes."""

    def load_or_empty() -> dict:
        try:
            return load()
        except (AttributeError, ImportError):
            return {}

    return load_or_empty


def jit_nogil(function: Function) -> Function:
    """As `jit`, and release the interpreter lock during the call."""
    return jit(function, nogil=True)


def jit_forceinline(function: Function) -> Function:
    """As `jit`, and inline the function into its callers: a call costs some fifty operations."""
    return jit(function, forceinline=True)
