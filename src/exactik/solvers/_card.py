"""What a notebook shows of a result."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from exactik._text import join_names
from exactik.kernels.goals.terms import POSITION
from exactik.player import PlayerScene, render_card, render_still

if TYPE_CHECKING:
    from exactik.solvers._result import Result

__all__ = ["render_result_card"]

STILL_SIZE = 320, 300  # [px] of the picture
MAX_LISTED = 12  # goal errors; more are counted
MAX_LIMITS = 4  # dofs at limits that are named


def render_result_card(result: Result) -> str:
    """Return the pose with the places that its goals ask for, and how far they are missed."""
    errors = list(result.errors_in_words.items())
    facts = errors[:MAX_LISTED]
    if len(errors) > MAX_LISTED:
        facts.append(("", f"and {len(errors) - MAX_LISTED} more goals"))
    limits = list(result.active_limits)
    steps, milliseconds = result.iterations, 1e3 * result.seconds
    facts += [
        ("at limits", join_names(limits, MAX_LIMITS) if len(limits) > 0 else ""),
        ("solver", f"{result.solver}, {steps} iterations, {milliseconds:.3g} ms"),
    ]
    width, height = STILL_SIZE
    picture = render_still(_compose_pose(result), width=width, height=height, with_skin=True)
    return render_card(f"Result: {result.status}", facts, picture, result.why)


def _compose_pose(result: Result) -> PlayerScene:
    """Return the pose; places that goals of position ask for are its markers."""
    skeleton = result.problem.skeleton
    asked = [
        (goal.label, term)
        for goal in result.problem.goals
        if goal.watched_point(skeleton) is not None
        for term in goal.terms(skeleton)
        if term.kind == POSITION
    ]
    return PlayerScene(
        name=skeleton.name,
        rate=1.0,
        length=1,
        frames=np.zeros(1, dtype=np.int64),
        pose=skeleton.forward(result.q[None]),
        measured=np.array([term.target for _, term in asked], dtype=float).reshape(1, -1, 3),
        marker_names=tuple(label for label, _ in asked),
        marker_bones=np.array(
            [skeleton.bone_index(term.bone) for _, term in asked], dtype=np.int64
        ),
        marker_points=np.array([term.point for _, term in asked], dtype=float).reshape(-1, 3),
    )
