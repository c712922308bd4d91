"""What a solve with closed loops returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from exactik.model import Skeleton, name_loops
from exactik.problem import Problem
from exactik.solvers._result import Result
from exactik.solvers._verdict import Verdict, describe_limits, make_verdict
from exactik.solvers.loops._goals import PulledProblem, find_heaviest_weight
from exactik.typing import Array

CERTIFIED_STIFFNESS = 1e5
"""Of loops over the largest weight of a goal, where curvature is looked at: what they still give
changes sensitivities by its inverse, and rounding grows with it."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ClosedResult(Result):
    """The answer of `solve` for a figure with closed loops.

    Cost and errors are those of the goals alone; certificate, sensitivity and error bars are of the
    poses in which the loops are closed.

    Attributes:
        gaps: name of each loop → by how much it is open [m].
        forces: name of each loop → the force of the goals [cost per m] that each of its equations
            takes up, in the axes of its second bone.
        inner: the last solve, of the goals and of loops whose targets are moved.
        rounds: number of solves.
    """

    gaps: dict[str, float]
    forces: dict[str, Array]
    inner: Result
    rounds: int

    @cached_property
    def solved_problem(self) -> Problem:
        """The goals, and stiff loops that take up the same forces where they are closed."""
        if not self.closed:
            return self.inner.problem
        stiffness = CERTIFIED_STIFFNESS * find_heaviest_weight(self.problem)
        pose = self.problem.skeleton.forward(self.q)
        loops = name_loops(self.problem.skeleton.loops)
        shifts = {n: self.forces[n] / stiffness - loop.find_gap(pose) for n, loop in loops.items()}
        return PulledProblem(self.problem).make(stiffness, shifts)

    @property
    def closed(self) -> bool:
        """Whether every loop is within its tolerance."""
        return describe_open_loop(self.problem.skeleton, self.gaps) == ""

    @cached_property
    def reached(self) -> bool:
        """Whether every loop is closed and every goal within its tolerance."""
        return self.closed and super().reached

    @property
    def converged(self) -> bool:
        """Whether the loops are closed, and no pose near by in which they are costs less."""
        return self.closed and super().converged

    @cached_property
    def _verdict(self) -> Verdict:
        if self.closed:
            return make_verdict(self)
        why, limits = describe_open_loop(self.problem.skeleton, self.gaps), describe_limits(self)
        return Verdict("loop-open", f"{why}: {limits}" if limits != "" else why)


def describe_open_loop(skeleton: Skeleton, gaps: Mapping[str, float]) -> str:
    """Return which loop is open, by most of its tolerance, and by how much; empty if none is."""
    tolerance = {name: loop.tolerance for name, loop in name_loops(skeleton.loops).items()}
    worst = max(gaps, key=lambda name: gaps[name] / tolerance[name], default="")
    if worst == "" or gaps[worst] <= tolerance[worst]:
        return ""
    size = f"{gaps[worst]:.3g} m" if gaps[worst] >= 0.1 else f"{1e3 * gaps[worst]:.3g} mm"
    return f"the loop {worst} is open by {size}"
