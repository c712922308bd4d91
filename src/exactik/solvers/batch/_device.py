"""Which processor solves a batch."""

from __future__ import annotations

from exactik.kernels.cuda import GPU_RULES, choose_gpu
from exactik.kernels.descent.options import RULE
from exactik.problem import Problem
from exactik.solvers import CompiledMethod, Method, can_solve_compiled

MIN_GPU_PROBLEMS = 4096  # a thread takes a problem: with fewer a GPU is no faster than some cores


def choose_batch_gpu(device: str, problem: Problem, method: Method, count: int) -> str | None:
    """Return the name of the GPU that is to solve a batch of so many problems; None for the CPU."""

    def find_obstacle() -> str | None:
        if not isinstance(method, CompiledMethod) or method.settings()[RULE] not in GPU_RULES:
            return f"the method {method.name!r} does not run on a GPU"
        if problem.packed.has_pairs:
            return "goals between two bodies do not run on a GPU"
        if not can_solve_compiled(problem, method):
            return "a goal, a coupled weight, a loop or a time limit needs Python between the steps"
        from exactik.kernels.cuda.launch import fits_on_gpu

        if not fits_on_gpu(problem.skeleton.tree, problem.packed.arrays):
            return f"a figure with {problem.skeleton.nv} dofs is too large for a thread of a GPU"
        return None

    return choose_gpu(device, count >= MIN_GPU_PROBLEMS, find_obstacle, stacklevel=3)
