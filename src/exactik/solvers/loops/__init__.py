"""Closed loops: two bodies that must stay together, whatever the goals ask."""

from exactik.solvers.loops._goals import make_loop_goals
from exactik.solvers.loops._result import ClosedResult
from exactik.solvers.loops._solve import solve_closed

__all__ = ["ClosedResult", "make_loop_goals", "solve_closed"]
