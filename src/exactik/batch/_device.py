"""Which processor solves a batch."""

from __future__ import annotations

import warnings

from exactik.errors import UsageError
from exactik.gpu import find_gpu, require_gpu
from exactik.kernels.descent.options import DAMPED, FLETCHER, LINE_SEARCH, RULE
from exactik.problem import Problem
from exactik.solvers import CompiledMethod, Method, can_solve_compiled

__all__ = ["choose_gpu"]

DEVICES = ("cpu", "cuda", "auto")
GPU_RULES = (DAMPED, FLETCHER, LINE_SEARCH)
MIN_GPU_PROBLEMS = 4096  # a thread takes a problem: with fewer a GPU is no faster than some cores


def choose_gpu(device: str, problem: Problem, method: Method, count: int) -> str | None:
    """Return the name of the GPU that is to solve a batch of so many problems; None for the CPU."""
    if device not in DEVICES:
        known = ", ".join(repr(name) for name in DEVICES)
        raise UsageError(f"device is {device!r}; it must be one of {known}")
    if device == "cpu" or (device == "auto" and count < MIN_GPU_PROBLEMS):
        return None
    gpu = require_gpu() if device == "cuda" else find_gpu()
    obstacle = None if gpu is None else find_obstacle(problem, method)
    if obstacle is not None:
        if device == "cuda":
            warnings.warn(f"solved on the CPU, since {obstacle}", stacklevel=3)
        return None
    return gpu


def find_obstacle(problem: Problem, method: Method) -> str | None:
    """Return why a GPU cannot solve these problems, as half a sentence; None if it can."""
    if not isinstance(method, CompiledMethod) or method.settings()[RULE] not in GPU_RULES:
        return f"the method {method.name!r} does not run on a GPU"
    if not can_solve_compiled(problem, method):
        return "a goal, a coupled weight or a time limit needs Python between the steps"
    from exactik.gpu.launch import fits_on_gpu

    if not fits_on_gpu(problem.skeleton.tree, problem.packed.arrays):
        return f"a figure with {problem.skeleton.nv} dofs is too large for a thread of a GPU"
    return None
