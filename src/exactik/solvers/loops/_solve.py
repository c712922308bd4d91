"""Poses that meet goals as well as closed loops allow, by the augmented Lagrangian.

For loops c(q) = 0 [m] beside a cost f(q), with multipliers λ = ρ μ,

    f + λ·c + ½ ρ |c|²  =  f + ½ ρ |c + μ|² + constant

is the cost of ordinary goals between two bodies whose targets are moved by μ: nothing is new to
differentiate, and the curvature of the loops counts. After each solve μ ← μ + c; where that closes
them too slowly, ρ grows (Hestenes 1969, Powell 1969). At the end λ are the forces in the loops.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from exactik._arrays import freeze
from exactik.errors import UsageError
from exactik.goals import DEFAULT_POSITION_TOLERANCE, Goal, as_goals
from exactik.model import Skeleton
from exactik.problem import Problem
from exactik.solvers._method import Method
from exactik.solvers._registry import resolve_method
from exactik.solvers._result import Result
from exactik.solvers._solve import solve
from exactik.solvers._verdict import describe_limits
from exactik.solvers.loops._loop import LOOSE, Loop
from exactik.solvers.methods import Auto
from exactik.typing import Array

FIRST_STIFFNESS = 100.0  # ρ over the largest weight of a goal
MAX_STIFFNESS = 1e7  # likewise; beyond it digits are lost
STIFFENING = 10.0
SLOW = 0.25  # a round that leaves more of the gap is slow
STUCK = 0.99  # rounds at the largest ρ that leave more of it do not close the loop
MAX_ROUNDS = 60
MAX_STUCK_ROUNDS = 4


@dataclass(frozen=True, eq=False)
class ClosedResult:
    """The answer of a solve with loops.

    Attributes:
        q: the pose, (nq,), inside the limits.
        cost: of the goals alone, ½ rᵀWr.
        gaps: name of each loop → by how much it is open [m].
        forces: name of each loop → λ of its equations, the force of the goals [cost per m] that it
            takes up, in the axes of its second bone.
        inner: the last solve, of the goals and of loops whose targets are moved by λ/ρ: its
            certificate and limits are those of the whole.
        rounds: number of solves.
        seconds: time spent.
        loops: as given.
    """

    q: Array
    cost: float
    gaps: dict[str, float]
    forces: dict[str, Array]
    inner: Result
    rounds: int
    seconds: float
    loops: tuple[Loop, ...]

    @property
    def closed(self) -> bool:
        """Whether every loop is within its tolerance."""
        return all(self.gaps[name] <= loop.tolerance for name, loop in _name_loops(self.loops))

    @property
    def reached(self) -> bool:
        """Whether every loop is closed and every goal within its tolerance."""
        parts, errors = self.inner.problem.packed.error_parts, self.goal_errors
        return self.closed and all(
            errors[part.name] <= part.tolerance for part in parts if part.name in errors
        )

    @property
    def goal_errors(self) -> dict[str, float]:
        """By how much each goal is missed [m or rad], see `Result.goal_errors`."""
        own = {f"loop {loop.label}" for loop in self.loops}
        errors = self.inner.goal_errors
        return {name: e for name, e in errors.items() if name.partition("#")[0] not in own}

    @property
    def status(self) -> str:
        """One word of `STATUSES`, or loop-open."""
        if self.reached:
            return "reached"
        return self.inner.status if self.closed else "loop-open"

    @property
    def why(self) -> str:
        """One sentence."""
        if self.reached:
            return "reached: loops are closed and every goal is within its tolerance"
        if self.closed:
            return self.inner.why
        ratios = {name: self.gaps[name] / loop.tolerance for name, loop in _name_loops(self.loops)}
        worst = max(ratios, key=lambda name: ratios[name])
        gap = self.gaps[worst]
        size = f"{gap:.3g} m" if gap >= 0.1 else f"{1e3 * gap:.3g} mm"
        limits = describe_limits(self.inner)
        return f"the loop {worst} is open by {size}" + (f": {limits}" if limits != "" else "")

    def __repr__(self) -> str:
        return f"<ClosedResult: {self.why}>"


def solve_with_loops(
    skeleton: Skeleton, goals: Sequence[Goal] | Goal, loops: Sequence[Loop] | Loop, **options: Any
) -> ClosedResult:
    """Find the pose that meets the goals best among those in which all loops are closed.

    Args:
        skeleton: the figure.
        goals: as for `solve`.
        loops: what must stay together, at least one.
        options: those of `solve`, without `weight_matrix`, `history` and `solutions`.
    """
    begin = time.perf_counter()
    goals, loops = as_goals(goals), (loops,) if isinstance(loops, Loop) else tuple(loops)
    if len(loops) == 0 or not all(isinstance(loop, Loop) for loop in loops):
        raise UsageError("solve_with_loops needs at least one Loop")
    for name in ("weight_matrix", "history", "solutions"):
        if name in options:
            raise UsageError(f"solve_with_loops has no {name}=")
    of_problem = {n: options.pop(n) for n in ("limits", "lock", "strength") if n in options}
    plain = Problem(skeleton, goals, **of_problem)
    heaviest = max(float(np.abs(weight).max(initial=0.0)) for weight in plain.packed.weights)
    stiffness = FIRST_STIFFNESS * (heaviest if heaviest > 0.0 else 1.0)
    most = MAX_STIFFNESS / FIRST_STIFFNESS * stiffness
    shifts = [np.zeros(loop.size) for loop in loops]
    options["solver"] = _resolve_exact(options.get("solver", "auto"))
    before, stuck, rounds = np.inf, 0, 0
    while True:
        rounds += 1
        pulls = [
            goal
            for loop, shift in zip(loops, shifts, strict=True)
            for goal in loop.make_goals(stiffness, shift)
        ]
        inner = solve(Problem(skeleton, [*goals, *pulls], **of_problem), **options)
        options |= {"q0": inner.q, "starts": 1, "solver": _go_on(options["solver"])}
        pose = skeleton.forward(inner.q)
        gaps = [loop.find_gap(pose) for loop in loops]
        sizes = [float(np.linalg.norm(gap)) for gap in gaps]
        shifts = [shift + gap for shift, gap in zip(shifts, gaps, strict=True)]
        left = max(size / loop.tolerance for size, loop in zip(sizes, loops, strict=True))
        if left <= 1.0 or rounds == MAX_ROUNDS:
            break
        stuck = stuck + 1 if stiffness >= most and left > STUCK * before else 0
        if stuck >= MAX_STUCK_ROUNDS:
            break
        if left > SLOW * before and stiffness < most:
            stiffness *= STIFFENING
            shifts = [shift / STIFFENING for shift in shifts]
        before = left
    names = [name for name, _ in _name_loops(loops)]
    return ClosedResult(
        q=freeze(inner.q.copy()),
        cost=plain.cost(inner.q),
        gaps=dict(zip(names, sizes, strict=True)),
        forces={n: stiffness * shift for n, shift in zip(names, shifts, strict=True)},
        inner=inner,
        rounds=rounds,
        seconds=time.perf_counter() - begin,
        loops=loops,
    )


def _resolve_exact(solver: str | Method) -> Method:
    """Return a method that does not stop where only a loop of loose tolerance costs something."""
    method = resolve_method(solver)
    share = (DEFAULT_POSITION_TOLERANCE / LOOSE) ** 2
    return replace(method, small_cost=share * method.small_cost)


def _go_on(method: Method) -> Method:
    """Return the method for the next round, which begins where the last one ended."""
    return replace(method, detour=False) if isinstance(method, Auto) else method


def _name_loops(loops: Sequence[Loop]) -> list[tuple[str, Loop]]:
    """Return the loops with their names, numbered from the second of a name on."""
    named: dict[str, Loop] = {}
    for loop in loops:
        name, count = loop.label, 1
        while name in named:
            count += 1
            name = f"{loop.label}#{count}"
        named[name] = loop
    return list(named.items())
