"""Is there a GPU, and if not, why not; and which processor solves many problems."""

from __future__ import annotations

import warnings
from collections.abc import Callable

from exactik.errors import UsageError
from exactik.kernels.descent.options import DAMPED, FLETCHER, LINE_SEARCH

DEVICES = ("cpu", "cuda", "auto")
GPU_RULES = (DAMPED, FLETCHER, LINE_SEARCH)


def require_gpu() -> str:
    """Return the name of the GPU; where there is none, raise with one sentence that says why."""
    try:
        from numba import config, cuda
    except ImportError as error:
        raise UsageError(
            f"device='cuda' needs numba-cuda ({error}); in a clone of exactik: pip install '.[gpu]'"
        ) from None
    if getattr(config, "ENABLE_CUDASIM", False):
        return "simulator"
    if not cuda.is_available():
        reason = cuda.cuda_error() if hasattr(cuda, "cuda_error") else None
        detail = f" ({' '.join(str(reason).split())})" if reason else ""
        raise UsageError(f"device='cuda' needs a GPU of NVIDIA's and its driver{detail}")
    name = cuda.get_current_device().name
    return name.decode() if isinstance(name, bytes) else str(name)


def find_gpu() -> str | None:
    """Return the name of the GPU, or None where there is none that can be used."""
    try:
        return require_gpu()
    except UsageError:
        return None


def choose_gpu(
    device: str, is_worth_it: bool, find_obstacle: Callable[[], str | None], stacklevel: int
) -> str | None:
    """Return the name of the GPU to take; None for the CPU.

    Args:
        device: "cpu"; "cuda", on which a warning tells why it cannot be taken; "auto".
        is_worth_it: whether there is enough to do that "auto" takes it.
        find_obstacle: returns why a GPU cannot solve these problems, as half a sentence.
        stacklevel: of the warning, as for `warnings.warn`.
    """
    if device not in DEVICES:
        known = ", ".join(repr(name) for name in DEVICES)
        raise UsageError(f"device is {device!r}; it must be one of {known}")
    if device == "cpu" or (device == "auto" and not is_worth_it):
        return None
    gpu = require_gpu() if device == "cuda" else find_gpu()
    obstacle = None if gpu is None else find_obstacle()
    if obstacle is not None:
        if device == "cuda":
            warnings.warn(f"solved on the CPU, since {obstacle}", stacklevel=stacklevel + 1)
        return None
    return gpu
