"""Compiled functions run as plain Python, so that a first pose need not wait for the compiler.

The compiler takes most of a minute for what solves a pose; the interpreter solves one in some
hundredths of a second, by the same code. Results differ by rounding: machine code fuses multiplies
and adds.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from time import perf_counter_ns
from types import FunctionType, ModuleType, SimpleNamespace
from typing import Any

import numpy as np


def _to_integer(x: float) -> int:
    """Round towards zero; what is no number becomes what processors make of it."""
    return int(x) if math.isfinite(x) else -(2**63)


# In place of what raises where machine code goes on with NaN, and of what has no Python of its own.
# NumPy's numbers divide by zero.
_MATH = SimpleNamespace(**vars(math))
vars(_MATH).update(sqrt=np.sqrt, sin=np.sin, cos=np.cos, asin=np.arcsin)
_TWINS: dict[str, Any] = {
    "math": _MATH,
    "int": _to_integer,
    "read_cycle_counter": perf_counter_ns,
}
_modules: dict[str, ModuleType] = {}  # copies, by name


def interpret(compiled: Any) -> Callable[..., Any]:
    """Return a function that does what the compiled one does, in the interpreter throughout."""
    function = _copy_for_interpreter(compiled.py_func)

    def run(*arguments: Any) -> Any:
        with np.errstate(all="ignore"):
            return function(*arguments)

    return run


def _copy_for_interpreter(function: Any) -> FunctionType:
    """Return the function with the global names of its module bound to interpreted functions."""
    copy = FunctionType(
        function.__code__,
        _copy_module(sys.modules[function.__module__]).__dict__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    copy.__kwdefaults__ = function.__kwdefaults__
    return copy


def _copy_module(module: ModuleType) -> ModuleType:
    name = module.__name__
    if name not in _modules:
        copy = _modules[name] = ModuleType(name)  # kept before others refer to it
        copy.__dict__.update({**vars(module), **_TWINS})
        for key, value in vars(module).items():
            if hasattr(value, "py_func"):
                setattr(copy, key, _copy_for_interpreter(value.py_func))
            elif isinstance(value, ModuleType) and value.__name__.startswith("exactik."):
                setattr(copy, key, _copy_module(value))
    return _modules[name]
