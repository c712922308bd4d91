"""Is there a GPU, and if not, why not."""

from __future__ import annotations

from typing import NamedTuple

from exactik.errors import UsageError

__all__ = ["Gpu", "find_gpu", "require_gpu"]


class Gpu(NamedTuple):
    """The GPU that is used."""

    name: str
    memory: int  # [bytes]


def require_gpu() -> Gpu:
    """Return the GPU; where there is none, raise with one sentence that says why."""
    try:
        from numba import config, cuda
    except ImportError as error:
        raise UsageError(
            f"device='cuda' needs numba-cuda ({error}); install it with: pip install 'exactik[gpu]'"
        ) from None
    if getattr(config, "ENABLE_CUDASIM", False):
        return Gpu(name="simulator", memory=0)
    if not cuda.is_available():
        reason = cuda.cuda_error() if hasattr(cuda, "cuda_error") else None
        detail = f" ({' '.join(str(reason).split())})" if reason else ""
        raise UsageError(f"device='cuda' needs a GPU of NVIDIA's and its driver{detail}")
    device = cuda.get_current_device()
    name = device.name.decode() if isinstance(device.name, bytes) else str(device.name)
    _, memory = cuda.current_context().get_memory_info()
    return Gpu(name=name, memory=int(memory))


def find_gpu() -> Gpu | None:
    """Return the GPU, or None where there is none that can be used."""
    try:
        return require_gpu()
    except UsageError:
        return None
