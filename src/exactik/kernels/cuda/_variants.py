"""Machine code of kernels for the GPU, compiled for what a problem needs and kept on disk."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from exactik.kernels.cuda._cuda import IS_SIMULATED, cuda
from exactik.kernels.cuda._device_functions import to_device_function
from exactik.kernels.cuda._scratch import (
    Capacity,
    ThreadArrays,
    choose_capacity,
    lay_out,
    make_allocator,
)

MAX_REGISTERS = 168  # a thread: of 65,536 for 12 warps; with 255 there are 8, with 128 spills


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
