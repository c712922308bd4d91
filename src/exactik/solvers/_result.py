"""The answer of a solve."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from exactik._arrays import freeze
from exactik._registry import find
from exactik._renamed import warn_renamed
from exactik.problem import Problem
from exactik.solvers._certificate import CONVERGED_GRADIENT, Certificate, make_certificate
from exactik.solvers._descend import History
from exactik.solvers._goal_errors import compute_goal_errors, find_contacts
from exactik.solvers._uncertainty import Covariance, compute_covariance, compute_sensitivity
from exactik.solvers._verdict import Verdict, find_pushed_limits, make_verdict
from exactik.typing import Array


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """What a solver found; everything that is not stored is worked out when asked for.

    Attributes:
        problem: what was asked.
        solver: name of the method.
        q: the pose, (nq,), never outside the limits; read-only.
        cost: ½ rᵀWr there.
        projected_gradient: as the method measured it last, relative as in `Certificate`.
        tolerance: relative projected gradient that the method aimed at.
        ended: why the method stopped: "converged", "stalled", "iteration-limit" or "time-limit".
        iterations: accepted steps, over all starts.
        evaluations: of the cost, with or without derivatives, over all starts.
        attempts: descents from different starts or by another way.
        seconds: time spent.
        history: of the descent that led to q, if asked for.
        other_solutions: further minima, cheapest first, if asked for.
    """

    problem: Problem
    solver: str
    q: Array
    cost: float
    projected_gradient: float
    tolerance: float
    ended: str
    iterations: int
    evaluations: int
    attempts: int
    seconds: float
    history: History | None = None
    _term_errors: Array | None = None
    other_solutions: tuple[Result, ...] = ()

    def __post_init__(self) -> None:
        """Keep the pose as it was found: all else is worked out from it."""
        freeze(self.q)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__post_init__()  # pickles forget that arrays are read-only

    @cached_property
    def goal_errors(self) -> dict[str, float]:
        """By how much each goal is missed [m or rad].

        A pose goal has two entries, "name" [m] and "name.rotation" [rad]. Directions, aims and axes
        are missed by an angle. Postures and soft limits are listed only if they have a tolerance.
        """
        errors = compute_goal_errors(self.problem, self.q.copy(), self._term_errors)
        names = (part.name for part in self.problem.packed.error_parts)
        return dict(zip(names, errors.tolist(), strict=True))

    @property
    def misses(self) -> Array:
        """Old name of `goal_errors`, as an array."""
        warn_renamed("Result.misses", ".goal_errors")
        return np.array(list(self.goal_errors.values()))

    @cached_property
    def contacts(self) -> dict[tuple[str, str], float]:
        """Bodies that `Collisions` would have farther apart, and by how much [m], worst first."""
        return find_contacts(self.problem, self.q.copy())

    @property
    def errors_in_words(self) -> dict[str, str]:
        """The same in units to read: "0.63 mm", "1.2°"."""
        errors = self.goal_errors
        return {p.name: p.describe(errors[p.name]) for p in self.problem.packed.error_parts}

    @cached_property
    def reached(self) -> bool:
        """Whether every goal is within its tolerance."""
        errors = self.goal_errors
        return all(errors[p.name] <= p.tolerance for p in self.problem.packed.error_parts)

    @cached_property
    def solved_problem(self) -> Problem:
        """The problem that q is to be a minimum of: with closed loops, if the figure has any."""
        return self.problem

    @property
    def solutions(self) -> tuple[Result, ...]:
        """This one and the `other_solutions`: distinct minima, cheapest first."""
        return (self, *self.other_solutions)

    @property
    def converged(self) -> bool:
        """Whether q is a stationary point within the limits."""
        aim = max(self.tolerance, CONVERGED_GRADIENT)
        return self.ended == "converged" or self.projected_gradient <= aim

    @property
    def active_limits(self) -> Mapping[str, str]:
        """Dofs that sit on a limit → "lower" or "upper"."""
        problem = self.problem
        values = np.where(problem.box.coordinate >= 0, self.q[problem.box.coordinate], 0.0)
        names = problem.skeleton.dof_names
        below, above = values <= problem.lower, values >= problem.upper
        return {
            name: "lower" if low else "upper"
            for name, low, high in zip(names, below, above, strict=True)
            if low or high
        }

    @property
    def pushed_limits(self) -> tuple[str, ...]:
        """Dofs that are pushed against their limits, hardest first."""
        return find_pushed_limits(self)

    @cached_property
    def _verdict(self) -> Verdict:
        return make_verdict(self)

    @property
    def status(self) -> str:
        """One word, see `STATUSES`."""
        return self._verdict.status

    @property
    def why(self) -> str:
        """One sentence."""
        return self._verdict.why

    @cached_property
    def certificate(self) -> Certificate:
        """Proof of what kind of place q is."""
        return make_certificate(self.solved_problem, self.q)

    def covariance(self, sigma: float) -> Covariance:
        """Return how far noise in the target positions moves the dofs.

        Args:
            sigma: standard deviation of each coordinate of the targets of position, marker and pose
                goals [m].
        """
        return compute_covariance(self, sigma)

    def sensitivity(self) -> dict[str, Array]:
        """Return dq*/dtarget by name of the goal, (nv, 3), or (nv, 6) for a pose.

        How the answer follows a small shift [m] of the target, or turn of it [rad, a rotation
        vector in world axes]; directions follow a change of the vector given. Dofs held by limits
        stay.
        """
        return compute_sensitivity(self)

    def __repr__(self) -> str:
        return f"<Result: {self.why}>"

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the pose with its goals, why it ended so, and errors."""
        return find("render_card")(self)


def make_result(**attributes: Any) -> Result:
    """Return a result with these attributes; its arrays must be read-only already.

    A frozen dataclass sets its attributes one by one, 4 µs of a call that may take 20.
    """
    result = object.__new__(Result)
    result.__dict__.update(attributes)
    return result
