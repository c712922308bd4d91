"""Kernels as device functions: the source of the CPU, compiled by numba-cuda.

A kernel finds the kernels that it calls in the globals of its module. Its device function is the
same code with other globals, where these are device functions, too. Functions that a problem never
calls can be replaced by empty ones: machine code for all joints, goals and rules at once would take
minutes to compile.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["to_device_function"]


def to_device_function(
    function: Callable[..., Any],
    replacements: Mapping[str, Callable[..., Any]],
    compile_function: Callable[..., Any],
    known: dict[Any, Any],
) -> Callable[..., Any]:
    """Return a plain function of the same code, whose globals hold device functions for kernels.

    Args:
        function: a kernel, or a plain function that calls kernels.
        replacements: name of a kernel → a function of the same arguments to take instead.
        compile_function: makes a device function of a plain one; `forceinline=True` for those that
            are always inlined.
        known: device functions made so far, by kernel; added to.
    """
    plain = _plain_function(function)
    namespace = dict(plain.__globals__)
    for name in plain.__code__.co_names:
        kernel: Any = namespace.get(name)
        if not hasattr(kernel, "linked"):
            continue
        if kernel not in known:
            if kernel.__name__ in replacements:
                code = replacements[kernel.__name__]
            else:
                code = to_device_function(kernel, replacements, compile_function, known)
            forceinline = bool(kernel.compiled.targetoptions.get("forceinline"))
            known[kernel] = compile_function(code, forceinline=forceinline)
        namespace[name] = known[kernel]
    return types.FunctionType(
        plain.__code__, namespace, plain.__name__, plain.__defaults__, plain.__closure__
    )


def _plain_function(function: Any) -> types.FunctionType:
    return getattr(function, "py_func", function)
