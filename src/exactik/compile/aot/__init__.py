"""Make a library of compiled kernels: `python -m exactik.compile.aot`.

Numba types kernels and generates their code, LLVM optimises it and makes an object, and the C
compiler of the machine links a shared library that needs the mathematical functions of C and
nothing of Python, NumPy or Numba.
"""
