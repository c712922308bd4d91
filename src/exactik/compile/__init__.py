"""How functions become machine code: decorators, the library, and Numba where it has nothing."""

from exactik.compile._jit import Kernel, jit, jit_forceinline, jit_nogil
from exactik.compile._library import describe_library, list_libraries, load_library

__all__ = [
    "Kernel",
    "describe_library",
    "jit",
    "jit_forceinline",
    "jit_nogil",
    "list_libraries",
    "load_library",
]
