"""Which start leads to which minimum: a solver run from every point of a landscape."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from exactik.errors import GoalError
from exactik.lab.landscape._landscape import Landscape
from exactik.solvers import Method
from exactik.solvers.batch import solve_batch
from exactik.typing import Array, BoolArray, IntArray

SAME_MINIMUM = 1e-2  # [rad or m] ends nearer than this are one: flat minima end where they may
MAX_BASINS = 9  # with a label each, as many as there are colours; further ones share one


@dataclass(frozen=True, eq=False)
class Basins:
    """Where the starts of a landscape lead."""

    landscape: Landscape  # whose grid points are the starts
    solver: str  # name of the method
    # Which of `ends`, (n, m); `MAX_BASINS` for a further one, −1 without convergence
    label: IntArray
    ends: Array  # values of the two dofs at each end, lowest cost first, (k, 2)
    costs: Array  # there, (k,)
    iterations: IntArray  # taken from each start, (n, m)

    @property
    def shares(self) -> Array:
        """Share of the starts that lead to each end, (k,)."""
        return np.array([float(np.mean(self.label == k)) for k in range(len(self.ends))])


def find_basins(land: Landscape, solver: str | Method = "auto") -> Basins:
    """Run a solver from every point of a landscape, its other dofs locked."""
    problem, skeleton = land.problem, land.problem.skeleton
    targets = {
        name: np.asarray(target, dtype=np.float64)
        for name, goal in zip(problem.rows, problem.goals, strict=True)
        if goal.target_shape is not None
        and (target := getattr(goal, "target", None)) is not None  # None where it is a quaternion
    }
    if len(targets) == 0:
        raise GoalError("basins need a goal with a target: a position, an orientation, a pose, …")
    name, target = next(iter(targets.items()))
    starts = land.poses()
    same_target = np.broadcast_to(target, (len(starts), *target.shape))
    batch = solve_batch(problem, {name: same_target}, q0=starts, solver=solver)
    index = [skeleton.dof_names.index(dof) for dof in land.dofs]
    is_angle = skeleton.turns[index]
    ends = _wrap_columns(batch.q[:, skeleton.plain_q[index]], is_angle)
    label = np.full(len(starts), -1, dtype=np.int64)
    unlabelled, minima, costs = batch.converged.copy(), [], []
    while unlabelled.any() and len(minima) < MAX_BASINS:
        best = int(np.argmin(np.where(unlabelled, batch.cost, np.inf)))
        distance = np.abs(_wrap_columns(ends - ends[best], is_angle)).max(axis=1)
        members = unlabelled & (distance < SAME_MINIMUM)
        label[members] = len(minima)
        minima.append(ends[best])
        costs.append(float(batch.cost[best]))
        unlabelled &= ~members
    label[unlabelled] = MAX_BASINS
    shape = land.cost.shape
    return Basins(
        landscape=land,
        solver=batch.solver,
        label=label.reshape(shape),
        ends=np.array(minima).reshape(-1, 2),
        costs=np.array(costs),
        iterations=batch.iterations.reshape(shape),
    )


def _wrap_columns(values: Array, is_angle: BoolArray) -> Array:
    """Return values, (n, 2), with angles within half a turn."""
    return np.where(is_angle, (values + np.pi) % (2.0 * np.pi) - np.pi, values)
