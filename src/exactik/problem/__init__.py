"""A problem: what a figure is asked to do, and what that costs, with derivatives."""

from exactik.kernels.goals.sums import EXACT, GAUSS_NEWTON, GRADIENT, VALUE
from exactik.problem._dofs import (
    DofOptions,
    SpeedOptions,
    compute_dof_bounds,
    compute_strengths,
    find_locked_dofs,
)
from exactik.problem._problem import Problem
from exactik.problem._scipy import ScipyProblem

__all__ = [
    "EXACT",
    "GAUSS_NEWTON",
    "GRADIENT",
    "VALUE",
    "DofOptions",
    "Problem",
    "ScipyProblem",
    "SpeedOptions",
    "compute_dof_bounds",
    "compute_strengths",
    "find_locked_dofs",
]
