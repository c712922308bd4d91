"""The compiled solver on a GPU of NVIDIA's: the kernels of the CPU, a thread a problem.

Modules of this package import `numba.cuda`, which `exactik[gpu]` brings; so they are imported only
when a GPU is asked for.
"""

from exactik.kernels.cuda._find import GPU_RULES, choose_gpu, find_gpu, require_gpu
