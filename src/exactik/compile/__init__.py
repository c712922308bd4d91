"""How functions become machine code: decorators, caches, and the interpreter until it is there."""

from exactik.compile._interpreter import interpret
from exactik.compile._jit import (
    Kernel,
    has_machine_code,
    is_cached,
    jit,
    jit_forceinline,
    jit_nogil,
)

__all__ = [
    "Kernel",
    "has_machine_code",
    "interpret",
    "is_cached",
    "jit",
    "jit_forceinline",
    "jit_nogil",
]
