"""What solvers make of the goals of a session: a verdict in words, and all of them compared."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from exactik.model import Skeleton
from exactik.problem import Problem
from exactik.solvers import METHODS, Auto, Result, resolve_method, solve
from exactik.typing import Array
from exactik.viewer.posing._goals import make_handle_goals, make_comfort_goal
from exactik.viewer.posing._handles import Handle
from exactik.viewer.posing._state import PosingState

__all__ = ["compared", "judged", "stated"]


def stated(
    skeleton: Skeleton,
    state: PosingState,
    handles: Sequence[Handle],
    dragged: Iterable[str],
    rest: Array,
) -> Problem:
    """Return what is asked, at the true targets and without damping in time."""
    goals = [*make_handle_goals(skeleton, handles, dragged), make_comfort_goal(skeleton, rest)]
    return Problem(
        skeleton,
        goals,
        limits="hard" if state.limits else "off",
        lock=state.locked,
        strength=state.strength,
    )


def judged(problem: Problem, q: Array) -> Result:
    """Return the result of following the goals to the end from the pose q, (nq,), where it rests.

    No other pose is looked for: the verdict is about the one that is seen.
    """
    return solve(problem, q0=q, solver=Auto(detour=False, escape=False))


def compared(
    problem: Problem, q: Array, names: Iterable[str] | None = None, seconds: float = 1.0
) -> dict[str, Result]:
    """Return the result of each solver from the same start q, (nq,), with its history.

    Args:
        problem: what is asked.
        q: the start.
        names: of solvers; all if None.
        seconds: longest time of each.
    """
    found = {}
    for name in METHODS if names is None else names:
        method = replace(resolve_method(name), max_seconds=seconds)
        found[name] = solve(problem, q0=q, solver=method, history=True)
    return found
