"""Which start leads to which minimum: a solver run from every place of a landscape."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from exactik.batch import solve_batch
from exactik.errors import GoalError
from exactik.goals import (
    AimGoal,
    DirectionGoal,
    MarkerGoal,
    OrientationGoal,
    PoseGoal,
    PositionGoal,
)
from exactik.landscape._landscape import Landscape
from exactik.solvers import Method
from exactik.typing import Array, IntArray

__all__ = ["Basins", "find_basins"]


SAME = 1e-2  # ends that differ by less are one [rad or m]: flat minima end where they may
MOST = 9  # basins told apart; further ones count as one


@dataclass(frozen=True, eq=False)
class Basins:
    """Where the starts of a landscape lead.

    Attributes:
        landscape: whose places are the starts.
        solver: name of the method.
        label: which of `ends`, (n, m); `MOST` for a further one, −1 where it did not converge.
        ends: values of the two dofs at each end, lowest cost first, (k, 2).
        costs: there, (k,).
        iterations: taken from each start, (n, m).
    """

    landscape: Landscape
    solver: str
    label: IntArray
    ends: Array
    costs: Array
    iterations: IntArray

    @property
    def shares(self) -> Array:
        """Share of the starts that lead to each end, (k,)."""
        return np.array([float(np.mean(self.label == k)) for k in range(len(self.ends))])


def find_basins(land: Landscape, solver: str | Method = "auto") -> Basins:
    """Run a solver from every place of a landscape, its other dofs locked."""
    problem, skeleton = land.problem, land.problem.skeleton
    targeted = AimGoal, DirectionGoal, MarkerGoal, OrientationGoal, PoseGoal, PositionGoal
    goals = [
        (name, np.asarray(goal.target, dtype=np.float64))
        for name, goal in zip(problem.rows, problem.goals, strict=True)
        if isinstance(goal, targeted) and goal.target is not None
    ]
    if len(goals) == 0:
        raise GoalError("basins need a goal with a target: a position, an orientation, a pose, …")
    name, target = goals[0]
    starts = land.poses()
    same = np.broadcast_to(target, (len(starts), *target.shape))
    batch = solve_batch(problem, {name: same}, q0=starts, solver=solver)
    index = [skeleton.dof_names.index(dof) for dof in land.dofs]
    ends = batch.q[:, skeleton.plain_q[index]]
    for column, i in enumerate(index):
        if skeleton.turns[i]:
            ends[:, column] = (ends[:, column] + np.pi) % (2.0 * np.pi) - np.pi
    label = np.full(len(starts), -1, dtype=np.int64)
    left, found, costs = batch.converged.copy(), [], []
    while left.any() and len(found) < MOST:
        best = int(np.argmin(np.where(left, batch.cost, np.inf)))
        apart = ends - ends[best]
        for column, i in enumerate(index):
            if skeleton.turns[i]:
                apart[:, column] = (apart[:, column] + np.pi) % (2.0 * np.pi) - np.pi
        own = left & (np.abs(apart).max(axis=1) < SAME)
        label[own] = len(found)
        found.append(ends[best])
        costs.append(float(batch.cost[best]))
        left &= ~own
    label[left] = MOST
    shape = land.cost.shape
    return Basins(
        *(land, batch.solver, label.reshape(shape), np.array(found).reshape(-1, 2)),
        *(np.array(costs), batch.iterations.reshape(shape)),
    )
