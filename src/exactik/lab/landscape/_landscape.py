"""The cost over a grid of two dofs, all others kept, and which start leads to which minimum.

With λ₁ ≤ λ₂ the eigenvalues of the exact Hessian of the two dofs, a point is positive definite
where λ₁ > 0, negative definite where λ₂ < 0, and indefinite where they differ in sign; where one of
them vanishes, which on a grid happens by chance only, it is semi-definite.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from exactik._arguments import require_instance
from exactik._arrays import require_shape
from exactik.errors import GoalError, UnknownNameError, UsageError
from exactik.problem import EXACT, Problem
from exactik.solvers import Method
from exactik.solvers.batch import solve_batch
from exactik.typing import Array, BoolArray, IntArray

POSITIVE_DEFINITE, INDEFINITE, NEGATIVE_DEFINITE, SEMI_DEFINITE = range(4)
ZERO_EIGENVALUE = 1e-9  # of the largest on the map; rounding leaves about 1e-12 of it
SAME_MINIMUM = 1e-2  # [rad or m] ends nearer than this are one: flat minima end where they may
MAX_BASINS = 9  # with a label each, as many as there are colours; further ones share one


@dataclass(frozen=True, eq=False, repr=False)
class Landscape:
    """What a problem looks like from two of its dofs."""

    problem: Problem  # with all other dofs locked
    dofs: tuple[str, str]  # names of the two
    q: Array  # what the other dofs are, (nq,)
    first: Array  # values of the first dof [rad or m], (n,)
    second: Array  # of the second, (m,)
    cost: Array  # ½ rᵀWr, (n, m)
    eigenvalues: Array  # of the Hessian of the two dofs, rising, (n, m, 2)

    @property
    def kind(self) -> IntArray:
        """0 positive definite, 1 indefinite, 2 negative definite, 3 semi-definite, (n, m)."""
        low, high = np.moveaxis(self.eigenvalues, -1, 0)
        zero = ZERO_EIGENVALUE * float(np.abs(self.eigenvalues).max(initial=0.0))
        kind = np.full(low.shape, INDEFINITE, dtype=np.int64)
        kind[low > zero] = POSITIVE_DEFINITE
        kind[high < -zero] = NEGATIVE_DEFINITE
        kind[(np.abs(low) <= zero) | (np.abs(high) <= zero)] = SEMI_DEFINITE
        return kind

    @property
    def shares(self) -> Array:
        """Share of the grid of each kind, (4,)."""
        return np.bincount(self.kind.ravel(), minlength=4) / self.cost.size

    def poses(self) -> Array:
        """Return the coordinates of all grid points, (n m, nq)."""
        skeleton = self.problem.skeleton
        coordinates = [skeleton.plain_q[skeleton.dof_names.index(dof)] for dof in self.dofs]
        q = np.tile(self.q, (self.cost.size, 1))
        grid = np.meshgrid(self.first, self.second, indexing="ij")
        for coordinate, values in zip(coordinates, grid, strict=True):
            q[:, coordinate] = values.ravel()
        return q

    def __repr__(self) -> str:
        pd, indefinite, nd, _ = 100.0 * self.shares
        shares = f"{pd:.1f} % positive definite, {indefinite:.1f} % indefinite, {nd:.1f} % negative"
        return f"<Landscape of {' and '.join(self.dofs)}: {shares}>"


def compute_landscape(
    problem: Problem,
    dofs: Sequence[str],
    *,
    q: ArrayLike | None = None,
    ranges: Sequence[tuple[float, float]] | None = None,
    size: int = 181,
) -> Landscape:
    """Return cost and definiteness of a problem over two of its dofs.

    Args:
        dofs: names of two dofs that are coordinates by themselves (no part of a quaternion).
        q: where the others are, (nq,); the neutral pose if None.
        ranges: from and to for each [rad or m], ends included; by default its limits, or a whole
            turn, or 1 m about q.
        size: values of each dof.
    """
    skeleton = require_instance("problem", problem, Problem).skeleton
    if len(dofs) != 2 or dofs[0] == dofs[1]:
        raise UsageError(f"a map needs two different dofs, not {', '.join(map(repr, dofs))}")
    for dof in dofs:
        if dof not in skeleton.dof_names:
            raise UnknownNameError("dof", dof, skeleton.dof_names)
    if size < 2:
        raise UsageError(f"size is {size!r}; a map needs at least two values of each dof")
    index = [skeleton.dof_names.index(dof) for dof in dofs]
    coordinates = [int(skeleton.plain_q[i]) for i in index]
    if min(coordinates) < 0:
        raise UsageError(f"{' and '.join(dofs)}: a part of a quaternion cannot be varied by itself")
    q_fixed = (
        skeleton.neutral() if q is None else skeleton.normalised(require_shape("q", q, skeleton.nq))
    )
    if ranges is None:
        ranges = [
            _choose_range(problem, i, float(q_fixed[k]))
            for i, k in zip(index, coordinates, strict=True)
        ]
    ends = require_shape("ranges", ranges, 2, 2).tolist()
    first, second = (np.linspace(low, high, size) for low, high in ends)
    locked = np.ones(skeleton.nv, dtype=bool)
    locked[index] = False
    planar = Problem(  # soft limits are among the goals already
        skeleton,
        problem.goals,
        limits="off" if problem.limits == "off" else "hard",
        lock=[name for k, name in enumerate(skeleton.dof_names) if locked[k]],
        strength=dict(zip(skeleton.dof_names, problem.strength, strict=True)),
        weight_matrix=problem.weight_matrix,
    )
    cost, H, pose = np.empty((size, size)), np.zeros((size, size, 2, 2)), q_fixed.copy()
    entries = _find_entries(planar, index)
    for i, x in enumerate(first):
        for j, y in enumerate(second):
            pose[coordinates] = x, y
            cost[i, j], _, rows = planar.fill(pose, EXACT)
            for a, b, row, column in entries:
                H[i, j, a, b] = H[i, j, b, a] = rows[row, column]
    return Landscape(
        problem=planar,
        dofs=(dofs[0], dofs[1]),
        q=q_fixed,
        first=first,
        second=second,
        cost=cost,
        eigenvalues=np.asarray(np.linalg.eigvalsh(H), dtype=np.float64),
    )


def _find_entries(problem: Problem, index: list[int]) -> list[tuple[int, int, int, int]]:
    """Return where the 2×2 block of two dofs is in the rows that `fill` gives: a, b, row, column.

    Dofs of which neither is above the other have no entry: unless goals are coupled, it is zero.
    """
    # Rows are those of one chain of all dofs, as where weights couple goals.
    if np.array_equal(problem.pattern.dof_level, np.arange(problem.skeleton.nv)):
        low, high = sorted(range(2), key=lambda k: index[k])
        corners = [(0, 0), (1, 1), (high, low)]
        return [(a, b, index[a], index[b]) for a, b in corners]
    return [
        (index.index(int(dof)), index.index(int(above)), int(dof), int(level))
        for dof, level, above in zip(*problem.skeleton.ancestor_pairs, strict=True)
        if dof in index and above in index
    ]


def _choose_range(problem: Problem, dof: int, value: float) -> tuple[float, float]:
    """Return the limits of a dof if it has them, else a whole turn, or a metre about its value."""
    low, high = float(problem.skeleton.lower[dof]), float(problem.skeleton.upper[dof])
    if np.isfinite(low) and np.isfinite(high):
        return low, high
    return (-np.pi, np.pi) if problem.skeleton.turns[dof] else (value - 1.0, value + 1.0)


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
