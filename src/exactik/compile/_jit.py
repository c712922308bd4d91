"""The decorators of every compiled function.

    jit                 for functions that Python calls, and all that they call
    jit_nogil           the same for long calls: other Python threads run meanwhile
    jit_forceinline     small functions in inner loops: LLVM inlines them into their callers

A call runs the machine code that was compiled ahead of time (`_library`). Where that has none,
Numba compiles the function at its first call, or takes it from its cache.

Floating point: `contract` lets the compiler fuse a multiply and an add; `nsz` and `arcp` drop
signed zeros and divide by a common divisor once. Nothing that reorders sums: reassociation breaks
the range reduction in `sincos` and the compensated parts of the exponential map, silently.

Memory: `_nrt=False` leaves out Numba's runtime for reference-counted memory. A kernel that
allocates then fails to compile, which keeps the rule that none does; and no array has its reference
count raised and lowered around every call and view, which made the kernels two to three times
slower.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any, TypeVar, cast

from exactik.compile._library import REFUSED, find_entries, is_strict, load_library, log
from exactik.errors import KernelError

Function = TypeVar("Function", bound=Callable)

_OPTIONS = {
    "_nrt": False,
    "no_cfunc_wrapper": True,
    "cache": True,
    "error_model": "numpy",
    "forceinline": False,  # unsaid, it is as in the function that happens to be compiled for
    "fastmath": {"contract", "nsz", "arcp"},
}


class Kernel:
    """A function with machine code.

    `compiled` is what Numba makes of it for Python. Numba would optimise every function by itself
    and again in each of its callers. Other kernels see `linked`, so that code is optimised once, in
    the function that Python calls: compiling takes half the time.
    """

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]):
        """Take options of `numba.njit`."""
        functools.update_wrapper(self, function)
        self.py_func = function
        self.options = options

    @functools.cached_property
    def name(self) -> str:
        """Module and function, with a colon between."""
        return f"{self.py_func.__module__}:{self.py_func.__qualname__}"

    @functools.cached_property
    def compiled(self) -> Any:
        """Numba's dispatcher."""
        from exactik.compile._numba import make_dispatcher

        return make_dispatcher(self.py_func, self.options)

    @functools.cached_property
    def linked(self) -> Any:
        """What compiled callers link; made when the first of them is compiled."""
        from exactik.compile._numba import make_linked_dispatcher

        return make_linked_dispatcher(self.py_func, self.options)

    @property
    def _numba_type_(self) -> Any:
        """What Numba asks of the global names that a function uses."""
        return self.linked._numba_type_

    @functools.cached_property
    def _entries(self) -> list[Callable[[tuple], Any]]:
        """What the library has of the function."""
        return find_entries(self.name)

    def __call__(self, *arguments: Any) -> Any:
        """Call the machine code."""
        for entry in self._entries:
            value = entry(arguments)
            if value is not REFUSED:
                return value
        self._require_compiler()
        return self.compiled(*arguments)

    def _require_compiler(self) -> None:
        """Say why Numba compiles, or that nothing can."""
        why = "not with these arguments" if self._entries else "not this function"
        if is_strict():
            raise KernelError(f"{self.name} would be compiled: the library has {why}")
        if "compiled" in vars(self):
            return
        if load_library() is None:
            warn_of_compiling()
        log.info("Numba compiles %s: the library has %s", self.name, why)
        try:
            import numba  # noqa: F401
        except ImportError:
            raise KernelError(
                f"{self.name} has no machine code here: install a wheel of exactik for this "
                "platform, or its compiler with `pip install 'exactik[jit]'`"
            ) from None


@functools.cache
def warn_of_compiling() -> None:
    """Say once that there is no library, and what that costs."""
    log.warning(
        "exactik has no compiled kernels for this processor here (see `exactik --version`), so "
        "Numba compiles what is called: a minute or two, once."
    )


def _is_compiling_disabled() -> bool:
    """Whether Numba's own switch says that kernels are to run as plain Python."""
    return os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")


def jit(function: Function, **more: Any) -> Function:
    """Run a function as machine code."""
    if _is_compiling_disabled():
        return function
    return cast(Function, Kernel(function, {**_OPTIONS, **more}))


def jit_nogil(function: Function) -> Function:
    """As `jit`, and release the interpreter lock during the call."""
    return jit(function, nogil=True)


def jit_forceinline(function: Function) -> Function:
    """As `jit`, and inline the function into its callers: a call costs some fifty operations."""
    return jit(function, forceinline=True)
