"""What became of a solve, in one word and in one plain sentence.

The first of these that is true:

    reached          every goal is within its tolerance
    time-limit, iteration-limit              it was not converged when it stopped
    stalled          likewise, unless a goal is out of reach, which needs no convergence
    saddle           the exact Hessian falls along a direction that the limits leave open
    out-of-reach     no pose of the chain can bring a goal within its tolerance (`_reachability`)
    stationary       at rest, but whether it is a minimum is not proven (`Certificate.decided`)
    at-limits        a minimum, and dofs are pushed against their limits
    local-minimum    none of these; another start may do better

Of a figure with closed loops (`loops`) a pose that misses one is neither: it is loop-open.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from exactik.goals import GoalPart
from exactik.solvers._certificate import compute_flat_curvature, find_active_dofs
from exactik.solvers._goal_errors import find_weighted_projector
from exactik.solvers._reachability import bone_moves, bound_reach
from exactik.solvers._view import View

if TYPE_CHECKING:
    from exactik.solvers._result import Result


STATUSES = (
    "reached",
    "at-limits",
    "out-of-reach",
    "local-minimum",
    "saddle",
    "stationary",
    "stalled",
    "iteration-limit",
    "time-limit",
    "loop-open",
)

MIN_NAMED_PUSH = 1e-3  # relative gradient above which a limit is worth naming
MIN_NAMED_DEPTH = 0.1  # of the deepest contact: the same of contacts
MAX_NAMED_LIMITS = 2  # and contacts
MIN_SEARCH = 3  # descents that are worth mentioning: one start and a detour are no search

SUSPECT_REACHES = 30.0
"""Reaches beyond which a target is hardly meant in metres: one of centimetres within reach is up to
100 of them away, a target for somebody who walks there up to some 10."""


class Verdict(NamedTuple):
    """What became of a solve: one word of `STATUSES`, and a plain sentence."""

    status: str
    why: str


def make_verdict(result: Result) -> Verdict:
    """Return the first verdict that is true."""
    worst, miss = _describe_worst_goal(result)
    if result.reached:
        return Verdict("reached", f"reached: every goal is within its tolerance{worst}")
    short = f"{worst} {miss}"
    if not result.converged:
        return _judge_unfinished(result, short)
    uncertain = _may_be_saddle(result)
    if uncertain and result.certificate.saddle:
        curvature = f"smallest eigenvalue {result.certificate.min_eigenvalue:.3g}"
        leave = "along certificate.descent" if result.solver == "auto" else "with solver='auto'"
        return Verdict(
            "saddle",
            f"stopped at a saddle ({curvature}), {short}: "
            f"the cost falls from here, go on {leave} or start elsewhere",
        )
    beyond = _describe_out_of_reach(result)
    if beyond is not None:
        return Verdict("out-of-reach", beyond)
    searched = _describe_search(result)
    if uncertain and not result.certificate.decided:
        return Verdict(
            "stationary",
            f"converged, {short}, but whether to a minimum or a saddle is not certain{searched}",
        )
    limits, held = describe_limits(result), _describe_contacts(result)
    if limits != "":
        stop = f"{limits}, and it is {held}, which" if held != "" else f"{limits}, which"
        return Verdict("at-limits", f"converged, but {short}: {stop} stops it here{searched}")
    if result.certificate.size == 0:
        searched = ", because no dof is free to move"
    held = f": {held}" if held != "" else ""
    return Verdict("local-minimum", f"converged to a local minimum, {short}{held}{searched}")


def _describe_search(result: Result) -> str:
    """Return what is known of poses elsewhere: where nobody looked, and where somebody did."""
    if result.attempts < MIN_SEARCH:
        return "; a better pose elsewhere is not excluded, try starts="
    return f"; nothing better was found in {result.attempts} descents"


def _may_be_saddle(result: Result) -> bool:
    """Whether eigenvalues must be looked at: a factorisation costs a tenth of them."""
    problem = result.solved_problem
    place = View(problem).at(result.q)
    free = ~find_active_dofs(problem, place)
    H = problem.hessian(result.q)[np.ix_(free, free)]
    slack = compute_flat_curvature(problem, place)
    try:
        np.linalg.cholesky(H + slack * np.eye(len(H)))
    except np.linalg.LinAlgError:
        return True
    return False


def _describe_worst_goal(result: Result) -> tuple[str, str]:
    """Return the goal that is missed by most of its tolerance, and by how much, in words."""
    parts = result.problem.packed.error_parts
    if len(parts) == 0:
        return "", ""
    errors = result.goal_errors
    part = _find_worst_part(result)
    error = errors[part.name]
    if result.reached:
        allowed = part.describe(part.tolerance)
        return f"; worst {part.name}, {part.describe(error)} of {allowed}", ""
    if len(part.contacts) > 0:
        a, b = next(pair for pair in result.contacts if pair in part.contacts)
        return a, f"is {part.describe(error)} nearer to {b} than it may be"
    return part.name, f"is {part.describe(error)} {'short' if part.unit == 'm' else 'off'}"


def _find_worst_part(result: Result) -> GoalPart:
    errors = result.goal_errors
    parts = result.problem.packed.error_parts
    return parts[int(np.argmax([errors[part.name] / part.tolerance for part in parts]))]


def _judge_unfinished(result: Result, short: str) -> Verdict:
    status = "stalled"
    why = f"stalled: no step of {result.solver!r} lowers the cost"
    if result.ended == "time-limit":
        status, why = "time-limit", f"out of time after {result.seconds:.3g} s"
    elif result.ended == "iteration-limit":
        status, why = "iteration-limit", f"out of iterations after {result.iterations}"
    gradient = f"relative projected gradient {result.projected_gradient:.1e}"
    beyond = _describe_out_of_reach(result) if status == "stalled" else None
    if beyond is not None:
        return Verdict("out-of-reach", f"{beyond}; stalled before the nearest pose, {gradient}")
    return Verdict(status, f"{why}, {short}; {gradient}")


def _describe_out_of_reach(result: Result) -> str | None:
    """Return the sentence on the goal that is farthest out of reach, if that is proven."""
    problem = result.problem
    weight, projector = problem.packed.row_weights, find_weighted_projector(problem)
    farthest, radius, worst, moves = 0.0, 0.0, "", True
    for (name, rows), goal in zip(problem.rows.items(), problem.goals, strict=True):
        watched = goal.watched_point(problem.skeleton)
        if watched is None:
            continue
        part = goal.error_parts(problem.skeleton, name, rows, problem.packed.terms[name])[0]
        rows_of_part = np.arange(part.rows.start, part.rows.stop)
        whole = projector is None or np.allclose(
            projector[np.ix_(rows_of_part, rows_of_part)], np.eye(len(rows_of_part)), atol=1e-9
        )
        if not whole or not (weight[part.rows] > 0.0).all():
            continue  # it need not get there in every direction
        reach = bound_reach(problem, *watched, result.q)
        shortfall = goal.shortfall(reach.centre, reach.radius)
        if shortfall > max(farthest, part.tolerance):
            farthest, radius, worst, moves = shortfall, reach.radius, name, reach.moves
    if worst == "":
        return _describe_immovable(result)
    distance = f"{farthest:.3g} m" if farthest < 1e3 else f"{farthest:.0f} m"
    if not moves:
        return f"out of reach: {worst} is {distance} away, and no free dof moves it"
    unit = (
        ", many times its reach: targets are in metres"
        if farthest > SUSPECT_REACHES * radius
        else ""
    )
    return f"out of reach: {worst} is {distance} beyond full stretch{unit}"


def _describe_immovable(result: Result) -> str | None:
    """Return the sentence on a goal that is missed on bones that nothing can move, if there is one.

    Directions have no distance to be proven out of reach by.
    """
    problem = result.problem
    bodies = {
        name: {pair for term in goal.terms(problem.skeleton) for pair in term.bodies}
        for name, goal in zip(problem.rows, problem.goals, strict=True)
    }
    for part in problem.packed.error_parts:
        error = result.goal_errors[part.name]
        watched = next(bodies[name] for name, rows in problem.rows.items() if _holds(rows, part))
        stuck = len(watched) > 0 and not any(bone_moves(problem, *pair) for pair in watched)
        if stuck and error > part.tolerance:
            off = part.describe(error)
            return f"out of reach: {part.name} is {off} off, and no free dof moves it"
    return None


def _holds(rows: slice, part: GoalPart) -> bool:
    """Return whether a part is of the goal with these rows of the residual."""
    return rows.start <= part.rows.start and part.rows.stop <= rows.stop


def _describe_contacts(result: Result) -> str:
    """Return what bodies push against that hold back other goals, worst first, or nothing."""
    if len(_find_worst_part(result).contacts) > 0:
        return ""  # that is what is missed
    worst = max(result.contacts.values(), default=0.0)
    pairs = [pair for pair, depth in result.contacts.items() if depth > MIN_NAMED_DEPTH * worst]
    if len(pairs) == 0:
        return ""
    text = "held by " + ", ".join(f"{a} against {b}" for a, b in pairs[:MAX_NAMED_LIMITS])
    more = len(pairs) - MAX_NAMED_LIMITS
    return text + (f" and {more} more" if more > 0 else "")


def find_pushed_limits(result: Result) -> tuple[str, ...]:
    """Return the dofs that are pushed against their limits, hardest first."""
    problem = result.solved_problem
    place = View(problem).at(result.q)
    relative = np.abs(place.gradient) / np.maximum(place.scale, 1e-150)
    push = np.where(place.active & ~problem.locked, relative, 0.0)
    order = [i for i in np.argsort(-push) if push[i] > MIN_NAMED_PUSH]
    return tuple(problem.skeleton.dof_names[i] for i in order)


def describe_limits(result: Result) -> str:
    """Return which limits are pushed against, hardest first, or nothing."""
    named, sides = find_pushed_limits(result), result.active_limits
    if len(named) == 0:
        return ""
    text = ", ".join(f"{name} is at its {sides[name]} limit" for name in named[:MAX_NAMED_LIMITS])
    more = len(named) - MAX_NAMED_LIMITS
    return text + (f" and so are {more} more dofs at theirs" if more > 0 else "")
