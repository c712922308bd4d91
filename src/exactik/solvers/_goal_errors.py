"""By how much each goal is missed, and by how much it may be."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from exactik.goals import FrameGoal, PoseGoal, TermGoal
from exactik.kernels.goals.errors import compute_term_errors
from exactik.kernels.goals.terms import POSITION
from exactik.problem import Problem
from exactik.typing import Array

__all__ = [
    "DEFAULT_POSITION_TOLERANCE",
    "GoalWithTolerance",
    "compute_goal_errors",
    "compute_term_tolerances",
    "goals_with_tolerance",
]


DEFAULT_POSITION_TOLERANCE, DEFAULT_ANGLE_TOLERANCE = 1e-3, 1e-2  # default tolerances [m], [rad]


class GoalWithTolerance(NamedTuple):
    """Something that can be missed: a goal, or the rotation of a pose goal.

    Attributes:
        name: of the goal; "name.rotation" for the rotation of a pose goal.
        unit: "m" or "rad"; "" for a goal of the user's.
        tolerance: largest miss that counts as reached.
        terms: the kernel's terms that it is made of; empty for goals on coordinates or in Python.
        rows: its rows of the residual.
        wish: whether it is a goal on coordinates, whose worst row counts.
    """

    name: str
    unit: str
    tolerance: float
    terms: slice
    rows: slice
    wish: bool = False

    def describe(self, miss: float) -> str:
        """Return "12.3 mm", "0.41 m", "3.1°"."""
        if self.unit == "m":
            return f"{1e3 * miss:.3g} mm" if miss < 0.1 else f"{miss:.3g} m"
        return f"{np.degrees(miss):.3g}°" if self.unit == "rad" else f"{miss:.3g}"


def goals_with_tolerance(problem: Problem) -> tuple[GoalWithTolerance, ...]:
    """Return what decides whether a problem's goals are reached.

    Postures and soft limits are wishes, not judged unless they have a tolerance or are all there
    is.
    """
    return problem.remember("judged", lambda: tuple(_judge(problem)))


def _judge(problem: Problem) -> list[GoalWithTolerance]:
    pairs = list(zip(problem.rows.items(), problem.goals, strict=True))
    wishes_only = not any(isinstance(goal, TermGoal | FrameGoal) for _, goal in pairs)
    found, first = [], 0
    for (name, rows), goal in pairs:
        if isinstance(goal, TermGoal):
            count = (rows.stop - rows.start) // 3
            own = slice(first, first + count)
            first += count
            if isinstance(goal, PoseGoal):
                place, turn = slice(own.start, own.start + 1), slice(own.start + 1, own.stop)
                found.append(
                    GoalWithTolerance(
                        name, "m", goal.tolerance or DEFAULT_POSITION_TOLERANCE, place, rows
                    )
                )
                turned = goal.tolerance or DEFAULT_ANGLE_TOLERANCE
                found.append(GoalWithTolerance(f"{name}.rotation", "rad", turned, turn, rows))
            else:
                metres = problem.packed.arrays.terms.kind[own.start] == POSITION
                unit, default = (
                    ("m", DEFAULT_POSITION_TOLERANCE)
                    if metres
                    else ("rad", DEFAULT_ANGLE_TOLERANCE)
                )
                found.append(GoalWithTolerance(name, unit, goal.tolerance or default, own, rows))
        elif isinstance(goal, FrameGoal) or goal.tolerance is not None or wishes_only:
            # A wish is on angles and shifts alike, unless the figure has only one of them.
            turns = problem.skeleton.turns
            unit = "rad" if turns.all() else ("m" if not turns.any() else "")
            unit = "" if isinstance(goal, FrameGoal) else unit
            default = DEFAULT_ANGLE_TOLERANCE if unit == "rad" else DEFAULT_POSITION_TOLERANCE
            wish = not isinstance(goal, FrameGoal)
            found.append(
                GoalWithTolerance(name, unit, goal.tolerance or default, slice(0, 0), rows, wish)
            )
    return found


def compute_term_tolerances(problem: Problem) -> Array:
    """Return the tolerance of every term of the kernels, (n,) [m or rad]."""

    def gather() -> Array:
        tolerances = np.empty(len(problem.packed.arrays.terms.kind))
        for judged in goals_with_tolerance(problem):
            tolerances[judged.terms] = judged.tolerance
        return tolerances

    return problem.remember("tolerances", gather)


def compute_goal_errors(problem: Problem, q: Array, by_term: Array | None = None) -> Array:
    """Return the miss of each of `judged_goals` at q, (nq,); `by_term` (n,) if known already."""
    judged = goals_with_tolerance(problem)
    if by_term is None:
        by_term = np.empty(len(problem.packed.arrays.terms.kind))
        compute_term_errors(
            problem.skeleton.tree, problem.packed.arrays, q, by_term, problem.workspace
        )
    out, residual = np.empty(len(judged)), None
    for k, goal in enumerate(judged):
        if goal.terms.stop > goal.terms.start:
            out[k] = by_term[goal.terms].max()
        else:
            residual = problem.residual(q) if residual is None else residual
            own = residual[goal.rows]
            out[k] = np.abs(own).max(initial=0.0) if goal.wish else np.linalg.norm(own)
    return out
