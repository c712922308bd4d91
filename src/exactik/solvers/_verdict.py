"""What became of a solve, in one word and in one plain sentence.

The first of these that is true:

    reached          every goal is within its tolerance
    time-limit, iteration-limit, stalled     it was not converged when it stopped
    saddle           the reduced exact Hessian has a negative eigenvalue along an open direction
    out-of-reach     no pose of the chain can bring a goal within its tolerance (`_reachability`)
    at-limits        dofs are pushed against their limits
    local-minimum    none of these; another start may do better
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from exactik.goals import TermGoal
from exactik.solvers._certificate import FLAT_EIGENVALUE, find_held_dofs
from exactik.solvers._goal_errors import DEFAULT_POSITION_TOLERANCE, goals_with_tolerance
from exactik.solvers._reachability import shortfall
from exactik.solvers._view import View

if TYPE_CHECKING:
    from exactik.solvers._result import Result

__all__ = ["STATUSES", "verdict"]

STATUSES = (
    *("reached", "at-limits", "out-of-reach", "local-minimum"),
    *("saddle", "stalled", "iteration-limit", "time-limit"),
)

MIN_NAMED_PUSH = 1e-3  # relative gradient above which a limit is worth naming


def verdict(result: Result) -> tuple[str, str]:
    """Return status and sentence."""
    worst, miss = _describe_worst_goal(result)
    if result.reached:
        return "reached", f"reached: every goal is within its tolerance{worst}"
    short = f"{worst} {miss}"
    if not result.converged:
        return _judge_unfinished(result, short)
    if _may_be_saddle(result) and result.certificate.saddle:
        curvature = f"smallest eigenvalue {result.certificate.min_eigenvalue:.3g}"
        return "saddle", (
            f"stopped at a saddle ({curvature}), {short}: follow the negative curvature, which "
            "solver='auto' does by itself, or start elsewhere"
        )
    beyond = _describe_out_of_reach(result)
    if beyond is not None:
        return "out-of-reach", beyond
    tried = "" if result.attempts < 3 else f"; {result.attempts} starts found nothing better"
    limits = _describe_limits(result)
    if limits != "":
        return "at-limits", f"converged, but {short} because {limits}{tried}"
    hint = tried if tried != "" else "; a better pose is not excluded, try starts="
    if result.certificate.size == 0:
        hint = ", because no dof is free to move"
    return "local-minimum", f"converged to a local minimum, {short}{hint}"


def _may_be_saddle(result: Result) -> bool:
    """Whether eigenvalues must be looked at: a factorisation costs a tenth of them."""
    free = ~find_held_dofs(result.problem, View(result.problem).at(result.q))
    H = result.problem.hessian(result.q)[np.ix_(free, free)]
    slack = 0.1 * FLAT_EIGENVALUE * float(np.abs(np.diag(H)).max(initial=0.0))
    try:
        np.linalg.cholesky(H + slack * np.eye(len(H)))
    except np.linalg.LinAlgError:
        return True
    return False


def _describe_worst_goal(result: Result) -> tuple[str, str]:
    """Return the goal that is missed by most of its tolerance, and by how much, in words."""
    goals = goals_with_tolerance(result.problem)
    if len(goals) == 0:
        return "", ""
    k = int(np.argmax(result.misses / [goal.tolerance for goal in goals]))
    goal, miss = goals[k], float(result.misses[k])
    if result.reached:
        allowed = goal.describe(goal.tolerance)
        return f"; worst {goal.name}, {goal.describe(miss)} of {allowed}", ""
    return goal.name, f"is {goal.describe(miss)} {'short' if goal.unit == 'm' else 'off'}"


def _judge_unfinished(result: Result, short: str) -> tuple[str, str]:
    slope = f"relative projected gradient {result.projected_gradient:.1e}"
    if result.ended == "time-limit":
        return "time-limit", f"out of time after {result.seconds:.3g} s, {short}; {slope}"
    if result.ended == "iteration-limit":
        return "iteration-limit", f"out of iterations after {result.iterations}, {short}; {slope}"
    return "stalled", f"stalled: no step of {result.solver!r} lowers the cost, {short}; {slope}"


def _describe_out_of_reach(result: Result) -> str | None:
    """Return the sentence on the goal that is farthest out of reach, if that is proven."""
    problem, best, named, still = result.problem, 0.0, "", False
    for name, goal in zip(problem.rows, problem.goals, strict=True):
        weight = np.diag(problem.packed.weight)[problem.rows[name]][:3]
        if isinstance(goal, TermGoal) and (weight > 0.0).all():
            lacking, moves = shortfall(problem, goal, result.q)
            if lacking > max(best, goal.tolerance or DEFAULT_POSITION_TOLERANCE):
                best, named, still = lacking, name, not moves
    if named == "":
        return None
    if still:
        return f"out of reach: {named} is {best:.3g} m away, and no free dof moves it"
    return f"out of reach: {named} is {best:.3g} m beyond full stretch"


def _describe_limits(result: Result) -> str:
    """Return which limits are pushed against, hardest first, or nothing."""
    problem, place = result.problem, View(result.problem).at(result.q)
    relative = np.abs(place.gradient) / np.maximum(place.scale, 1e-150)
    push = np.where(place.held & ~problem.locked, relative, 0.0)
    order = [i for i in np.argsort(-push) if push[i] > MIN_NAMED_PUSH]
    if len(order) == 0:
        return ""
    sides = result.active_limits
    named = [problem.skeleton.dof_names[i] for i in order]
    text = ", ".join(f"{name} is at its {sides[name]} limit" for name in named[:2])
    more = len(named) - 2
    return text + (f" and so are {more} more dofs at theirs" if more > 0 else "")
