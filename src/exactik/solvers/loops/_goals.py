"""The goals that pull a loop shut."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from exactik.goals import DistanceGoal, Goal, LineGoal, PlaneGoal, PositionGoal
from exactik.kernels.calculus.workspace import Goals
from exactik.model import Loop, name_loops
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
        length, points = _shift_length(loop, shift), (own[0], other[0])
        return [DistanceGoal(loop.a, loop.b, distance=length, points=points, **common)]
    if loop.kind in ("plane", "line"):
        axis = np.asarray(loop.axis)
        place = other[0] + _shift_points(loop, shift)[0]
        make = PlaneGoal if loop.kind == "plane" else LineGoal
        return [make(loop.a, place, axis, own[0], relative_to=loop.b, **common)]
    return [
        PositionGoal(loop.a, place, point, relative_to=loop.b, **common)
        for place, point in zip(other + _shift_points(loop, shift), own, strict=True)
    ]


class PulledProblem:
    """A problem of the open tree with goals that pull the loops shut, see `make_loop_goals`.

    Packed once for each weight, for problems with other targets too; then only targets change.
    """

    def __init__(self, problem: Problem):
        self._problem, self._loops = problem, name_loops(problem.skeleton.loops)
        # The length of a distance is no target.
        self._packs = all(loop.kind != "distance" for loop in self._loops.values())
        self._own = {} if problem.new_targets is None else problem.new_targets.values
        self._packed: dict[float, Problem] = {}

    def make(
        self, weight: float, shifts: Mapping[str, Array], goals: Goals | None = None
    ) -> Problem:
        """Return the problem; arguments as for `make_loop_goals`, shifts by name of the loop.

        Lengths are written to `goals` where a solve has them packed by itself.
        """
        if not self._packs and goals is None:
            return self._open(weight, shifts)
        if weight not in self._packed:
            at_rest = {name: np.zeros(loop.size) for name, loop in self._loops.items()}
            pulled = self._problem.remember(("loops", weight), lambda: self._open(weight, at_rest))
            self._packed[weight] = _with_targets(pulled, self._own)
        pulled, first = self._packed[weight], len(self._problem.rows)
        first -= self._problem.limits == "soft"  # a goal that comes last
        names, targets = iter(list(pulled.rows)[first:]), dict[str, Array]()
        for label, loop in self._loops.items():
            places = loop.list_points()[1] + _shift_points(loop, shifts[label])
            own = [next(names) for _ in places]
            if loop.kind != "distance":
                targets |= dict(zip(own, places, strict=True))
            elif goals is not None:
                term = pulled.template.terms[own[0]].start
                goals.terms.axis[term, 0] = _shift_length(loop, shifts[label])
        return _with_targets(pulled, targets)

    def _open(self, weight: float, shifts: Mapping[str, Array]) -> Problem:
        goals = [
            goal
            for name, loop in self._loops.items()
            for goal in make_loop_goals(loop, f"loop {name}", weight, shifts[name])
        ]
        return _with_targets(self._problem.opened_with(goals), self._own)


def _with_targets(problem: Problem, targets: Mapping[str, Array]) -> Problem:
    return problem.with_targets(targets) if len(targets) > 0 else problem


def _shift_points(loop: Loop, shift: Array) -> Array:
    """Return how far the points of the second bone are moved by the shift of a loop, (n, 3)."""
    if loop.kind == "distance":
        return np.zeros((1, 3))
    return shift * np.asarray(loop.axis)[None] if loop.kind == "plane" else shift.reshape(-1, 3)


def _shift_length(loop: Loop, shift: Array) -> float:
    """Return the length that a distance of this shift is to have [m]."""
    assert loop.distance is not None
    return max(loop.distance - float(shift[0]), 0.0)


def find_heaviest_weight(problem: Problem) -> float:
    """Return the largest weight of a goal; 1 if none has any."""
    heaviest = max(float(np.abs(weight).max(initial=0.0)) for weight in problem.packed.weights)
    return heaviest if heaviest > 0.0 else 1.0
