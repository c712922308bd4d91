"""Closed loops: two bodies that must stay together, whatever the goals ask."""

from exactik.solvers.loops._loop import LOOP_KINDS, Loop
from exactik.solvers.loops._solve import ClosedResult, solve_with_loops

__all__ = ["LOOP_KINDS", "ClosedResult", "Loop", "solve_with_loops"]
