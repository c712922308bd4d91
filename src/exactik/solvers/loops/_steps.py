"""Closed loops in a control loop: the forces in them go on from step to step.

Each step is solved as in `_solve`, but with the multipliers of the step before, which differ by
little, and stiff from the start: two solves close what one opens.
"""

from __future__ import annotations

import numpy as np

from exactik.kernels.calculus.workspace import Goals
from exactik.model import name_loops
from exactik.problem import Problem
from exactik.solvers._compiled_solve import CompiledSolve
from exactik.solvers.loops._goals import PulledProblem, find_heaviest_weight
from exactik.solvers.loops._result import describe_open_loop
from exactik.typing import Array

STIFFNESS = (
    1e5  # ρ over the largest weight of a goal; softer, many speeds at bounds need more solves
)
MAX_ROUNDS = 20  # solves of a step; most need two


class ClosingSteps:
    """Keeps loops closed, step by step; those that a step cannot close are stiff springs in it.

    Attributes:
        problem: of the open tree, with the goals that pull.
        gaps: name of each loop → by how much it is open after the last step [m].
    """

    def __init__(self, problem: Problem):
        """Prepare for a problem with any targets."""
        self._skeleton, self._loops = problem.skeleton, name_loops(problem.skeleton.loops)
        self._stiffness = STIFFNESS * find_heaviest_weight(problem)
        self.forget()
        self.retarget(problem)
        self.problem = self._pulled.make(self._stiffness, self._shifts)

    def retarget(self, problem: Problem) -> None:
        """Go on with the targets of this problem."""
        self._pulled = PulledProblem(problem)

    def forget(self) -> None:
        """Begin without forces."""
        self._shifts = {name: np.zeros(loop.size) for name, loop in self._loops.items()}
        self.gaps: dict[str, float] = {}

    def run(
        self, solve: CompiledSolve, goals: Goals, q: Array, results: Array, term_errors: Array
    ) -> None:
        """As `CompiledSolve.run`, with its `goals`, until the loops are closed."""
        for _ in range(MAX_ROUNDS):
            pulled = self._pulled.make(self._stiffness, self._shifts, goals)
            solve.run(pulled, q, results, term_errors)
            gaps = self.measure(q[0])
            if self.why == "":
                return
            self._shifts = {name: self._shifts[name] + gap for name, gap in gaps.items()}
        left = self.gaps
        self.forget()  # of what cannot be closed forces grow without end
        self.gaps = left

    def measure(self, q: Array) -> dict[str, Array]:
        """Return the gaps at a pose (nq,) as `Loop.find_gap` does; their lengths are kept."""
        pose = self._skeleton.forward(q)
        found = {name: loop.find_gap(pose) for name, loop in self._loops.items()}
        self.gaps = {name: float(np.linalg.norm(gap)) for name, gap in found.items()}
        return found

    @property
    def why(self) -> str:
        """Which loop is open; empty if none is."""
        return describe_open_loop(self._skeleton, self.gaps)
