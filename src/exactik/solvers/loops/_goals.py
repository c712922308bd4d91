"""The goals that pull a loop shut."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from exactik.goals import DistanceGoal, Goal, LineGoal, PlaneGoal, PositionGoal
from exactik.model import Loop
from exactik.problem import Problem
from exactik.typing import Array

LOOSE = 1.0  # [m] tolerance of the goals: they do not decide whether a pose is reached


def make_loop_goals(loop: Loop, name: str, weight: float, shift: Array) -> list[Goal]:
    """Return goals whose cost is ½ weight |gap + shift|².

    Args:
        loop: what is to be closed.
        name: of the goals.
        weight: [cost per m²].
        shift: of the targets, (size,) [m], as `Loop.find_gap` counts.
    """
    own, other = loop.list_points()
    common = {"weight": weight, "tolerance": LOOSE, "name": name}
    if loop.kind == "distance":
        assert loop.distance is not None
        length, points = max(loop.distance - float(shift[0]), 0.0), (own[0], other[0])
        return [DistanceGoal(loop.a, loop.b, distance=length, points=points, **common)]
    if loop.kind in ("plane", "line"):
        axis = np.asarray(loop.axis)
        place = other[0] + (shift[0] * axis if loop.kind == "plane" else shift)
        make = PlaneGoal if loop.kind == "plane" else LineGoal
        return [make(loop.a, place, axis, own[0], relative_to=loop.b, **common)]
    return [
        PositionGoal(loop.a, place, point, relative_to=loop.b, **common)
        for place, point in zip(other + shift.reshape(-1, 3), own, strict=True)
    ]


def make_all_loop_goals(
    loops: Mapping[str, Loop], weight: float, shifts: Mapping[str, Array]
) -> list[Goal]:
    """Return the goals of all loops, by name."""
    return [
        goal
        for name, loop in loops.items()
        for goal in make_loop_goals(loop, f"loop {name}", weight, shifts[name])
    ]


def find_heaviest_weight(problem: Problem) -> float:
    """Return the largest weight of a goal; 1 if none has any."""
    heaviest = max(float(np.abs(weight).max(initial=0.0)) for weight in problem.packed.weights)
    return heaviest if heaviest > 0.0 else 1.0
