"""Machine code of kernels for the GPU, compiled for what a problem needs and kept on disk.

A kernel finds the kernels that it calls in the globals of its module. Its device function is the
same code with other globals, where these are device functions, too. What is made for the CPU is
replaced by twins, and functions that a problem never calls by empty ones: machine code for all
joints, goals and rules at once would take minutes to compile. What a descent does once, not in
every pass, and what joints defined by functions need, stays out of line: the code of a pass is
shorter then, and compiled in less time.
"""

from __future__ import annotations

import functools
import hashlib
import types
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from exactik.kernels.cuda._cuda import IS_SIMULATED, cuda, keep_out_of_line
from exactik.kernels.cuda._scratch import (
    Capacity,
    ThreadArrays,
    choose_capacity,
    lay_out,
    make_allocator,
)

MAX_REGISTERS = 168  # a thread: of 65,536 for 12 warps; with 255 there are 8, with 128 spills
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


def compile_kernel(
    kernel: Callable[..., Any],
    like: ThreadArrays,
    replacements: Mapping[str, Callable[..., Any]],
) -> Any:
    """Return a kernel to launch for threads that need arrays `like` these."""
    capacity = choose_capacity(like)
    assert capacity is not None, "callers ask `fits_on_gpu` first"
    key = (kernel, capacity, tuple(sorted(replacements)))
    if key not in _variants:
        _variants[key] = _make_variant(kernel, like, capacity, replacements)
    return _variants[key]


_variants: dict[Any, Any] = {}


def _make_variant(
    kernel: Callable[..., Any],
    like: ThreadArrays,
    capacity: Capacity,
    replacements: Mapping[str, Callable[..., Any]],
) -> Any:
    rooms, _ = lay_out(like, capacity)
    compile_function = _leave_plain if IS_SIMULATED else functools.partial(cuda.jit, device=True)
    variant = to_device_function(kernel, replacements, compile_function, {})
    variant.__globals__["allocate"] = make_allocator(rooms)
    if IS_SIMULATED:
        return cuda.jit(variant)
    # Numba names the files of its cache after the function, and looks at its own code only.
    parts = (*capacity, *sorted(replacements), _hash_sources())
    key = hashlib.sha256(" ".join(map(str, parts)).encode()).hexdigest()[:16]
    variant.__qualname__ = f"{kernel.__name__}_{key}"
    from exactik.kernels.cuda.compilation import speed_up_compiling  # not with the simulator

    return speed_up_compiling(cuda.jit(variant, cache=True, max_registers=MAX_REGISTERS))


def _leave_plain(function: Callable[..., Any], forceinline: bool) -> Callable[..., Any]:
    """Return a function as it is: the simulator runs Python."""
    return function


@functools.cache
def _hash_sources() -> str:
    """Return a digest of all files with functions that kernels are made of."""
    package = Path(__file__).parents[2]
    digest = hashlib.sha256()
    for folder in ("compile", "kernels", "spatial"):
        for path in sorted((package / folder).rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()


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
