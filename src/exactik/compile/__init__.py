"""How functions become machine code: decorators, the library, and Numba where it has nothing."""

from exactik.compile._jit import Kernel, jit, jit_forceinline, jit_nogil
from exactik.compile._library import load_library

__all__ = [
    "Kernel",
    "jit",
    "jit_forceinline",
    "jit_nogil",
    "load_library",
]
