"""Is there a GPU, and if not, why not."""

from __future__ import annotations

from exactik.errors import UsageError

__all__ = ["find_gpu", "require_gpu"]


def require_gpu() -> str:
    """Return the name of the GPU; where there is none, raise with one sentence that says why."""
    try:
        from numba import config, cuda
    except ImportError as error:
        raise UsageError(
            f"device='cuda' needs numba-cuda ({error}); install it with: pip install 'exactik[gpu]'"
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
