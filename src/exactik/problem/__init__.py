"""A problem: what a figure is asked to do, and what that costs, with derivatives."""

from exactik.problem._dofs import compute_strengths, find_locked_dofs
from exactik.problem._problem import Problem
from exactik.problem._scipy import ScipyProblem

__all__ = ["Problem", "ScipyProblem", "compute_strengths", "find_locked_dofs"]
