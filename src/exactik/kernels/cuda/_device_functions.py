"""Kernels as device functions: the source of the CPU, compiled by numba-cuda.

A kernel finds the kernels that it calls in the globals of its module. Its device function is the
same code with other globals, where these are device functions, too. What is made for the CPU is
replaced by twins, and functions that a problem never calls by empty ones: machine code for all
joints, goals and rules at once would take minutes to compile. What a descent does once, not in
every pass, and what joints defined by functions need, stays out of line: the code of a pass is
shorter then, and compiled in less time.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from typing import Any

from exactik.kernels.cuda._cuda import keep_out_of_line

OUT_OF_LINE = frozenset(
    [
        "are_goals_reached",
        "begin_problem",
        "compute_cost",
        "end_attempt",
        "end_problem",
        "escape_saddle",
        "move_custom_joint",
        "reduce_to_clouds",
        "subtract_custom_curvature",
        "sweep_driven_tree",
    ]
)


def to_device_function(
    function: Callable[..., Any],
    replacements: Mapping[str, Callable[..., Any]],
    compile_function: Callable[..., Any],
    known: dict[Any, Any],
) -> Callable[..., Any]:
    """Return a plain function of the same code, whose globals hold device functions for kernels.

    Args:
        function: a kernel, or a plain function that calls kernels.
        replacements: name of a function → one of the same arguments to take instead.
        compile_function: makes a device function of a plain one; `forceinline=True` for those that
            are always inlined.
        known: device functions made so far, by kernel; added to.
    """
    plain = _plain_function(function)
    namespace = dict(plain.__globals__)
    for name in plain.__code__.co_names:
        called: Any = namespace.get(name)
        is_kernel = hasattr(called, "linked")
        if not is_kernel and name not in replacements:
            continue
        if called not in known:
            if name in replacements:
                code, forceinline = replacements[name], True
            else:
                code = to_device_function(called, replacements, compile_function, known)
                forceinline = bool(called.compiled.targetoptions.get("forceinline"))
                if name in OUT_OF_LINE:
                    code = _call_out_of_line(compile_function(code, forceinline=True), code)
                    forceinline = False
            known[called] = compile_function(code, forceinline=forceinline)
        namespace[name] = known[called]
    return types.FunctionType(
        plain.__code__, namespace, plain.__name__, plain.__defaults__, plain.__closure__
    )


def _call_out_of_line(function: Callable[..., Any], like: Any) -> Callable[..., Any]:
    """Return a plain function of the arguments of `like` that calls another, and is not inlined."""
    arguments = ", ".join(like.__code__.co_varnames[: like.__code__.co_argcount])
    name = like.__name__
    namespace = {"called": function, "keep_out_of_line": keep_out_of_line}
    # Numba passes *arguments as one tuple of tuples, which takes it long to compile.
    body = f"    keep_out_of_line()\n    return called({arguments})\n"
    exec(f"def {name}({arguments}):\n{body}", namespace)
    return namespace[name]


def _plain_function(function: Any) -> types.FunctionType:
    return getattr(function, "py_func", function)
