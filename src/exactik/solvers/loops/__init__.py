"""Closed loops: two bodies that must stay together, whatever the goals ask."""

from exactik.solvers.loops._goals import make_loop_goals
from exactik.solvers.loops._result import ClosedResult
from exactik.solvers.loops._solve import make_exact, solve_closed
from exactik.solvers.loops._steps import ClosingSteps

__all__ = ["ClosedResult", "ClosingSteps", "make_exact", "make_loop_goals", "solve_closed"]
