"""Random problems against the oracle: the run behind `exactik check`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from exactik.lab.check._random_goals import LONG_LOG, RandomProblem, random_problem
from exactik.lab.check.oracle import evaluate, forward, point_jacobian, point_jacobian_dot
from exactik.problem import Problem
from exactik.typing import Array

FRAMES: tuple[Literal["world", "body", "spatial"], ...] = ("world", "body", "spatial")
ROWS: tuple[Literal["linear", "angular", "both"], ...] = ("linear", "angular", "both")
ROUTES: tuple[Literal["cross", "poe", "adjusted"], ...] = ("cross", "poe", "adjusted")

MAX_ERROR = 1e-11  # largest relative error against the oracle
MAX_PAIR_GRADIENT_ERROR = 1e-12  # of gradients with goals between two bodies
MAX_ERROR_LONG_LOG = 1e-9  # the same where a rotation goal is further than LONG_LOG from its target
MAX_DENSE_DIFFERENCE = 1e-12  # largest relative difference of subtree sums from the dense matrix

GROUPS = ("", ", two bodies", f", log beyond {LONG_LOG} rad")
"""What is reported apart: goals between two bodies, and rotation goals near half a turn away."""

# A quantity may vanish in truth (the rate of a Jacobian of sliders); errors are then taken relative
# to this, in figures whose lengths, angles and weights are of order one.
_SCALE_FLOOR = 1e-3


@dataclass(frozen=True)
class CampaignRow:
    """One quantity over all trees."""

    quantity: str  # what was compared
    worst: float  # largest relative error, max |a − b| / max |b|
    bar: float  # what counts as right
    count: int  # number of comparisons
    seed: int  # with `tree`, where the worst error is: `random_problem(seed, tree)` makes it again
    tree: int  # number of that tree

    @property
    def ok(self) -> bool:
        """Whether the worst error is within the bar; not a number counts as wrong."""
        return self.worst <= self.bar


@dataclass(frozen=True)
class CampaignReport:
    """The answer of `run_campaign`; print it for a table."""

    rows: tuple[CampaignRow, ...]  # one line per quantity
    trees: int  # number of random trees
    seed: int  # their seed
    seconds: float  # time taken

    @property
    def ok(self) -> bool:
        """Whether every quantity is within its bar."""
        return all(row.ok for row in self.rows)

    def __str__(self) -> str:
        """Return one line per quantity, and a closing line."""
        width = max([len(row.quantity) for row in self.rows] + [8])
        lines = [f"{'quantity':{width}}  {'worst':>8}  {'bar':>8}         compared  worst tree"]
        lines += [
            f"{row.quantity:{width}}  {row.worst:8.1e}  {row.bar:8.1e}  "
            f"{'ok' if row.ok else 'WRONG':5}  {row.count:9d}  {row.seed}/{row.tree}"
            for row in self.rows
        ]
        verdict = "all within their bars" if self.ok else "NOT all within their bars"
        lines.append(f"{self.trees} trees, seed {self.seed}, {self.seconds:.1f} s: {verdict}")
        return "\n".join(lines)


def compute_relative_error(ours: ArrayLike, truth: ArrayLike, floor: float = _SCALE_FLOOR) -> float:
    """Return max |ours − truth| / max |truth|, infinite if the shapes differ or a value is NaN."""
    a, b = np.asarray(ours, dtype=float), np.asarray(truth, dtype=float)
    if a.shape != b.shape or not np.isfinite(a).all():
        return np.inf
    scale = max(float(np.abs(b).max(initial=0.0)), floor)
    return float(np.abs(a - b).max(initial=0.0)) / scale


def _compare_kinematics(
    case: RandomProblem, rng: np.random.Generator
) -> Iterator[tuple[str, float]]:
    """Yield the errors of forward kinematics and of all Jacobians of one point."""
    skeleton, q = case.skeleton, case.q
    positions, rotations = forward(skeleton, q)
    pose = skeleton.forward(q)
    yield "forward", compute_relative_error(pose.positions, positions)
    yield "forward", compute_relative_error(pose.rotations, rotations)
    bone = skeleton.bone_names[rng.integers(len(skeleton.bones))]
    point, v = rng.normal(scale=0.3, size=3), rng.normal(size=skeleton.nv)
    for frame in FRAMES:
        parts = point_jacobian(skeleton, q, bone, point, frame)
        rates = point_jacobian_dot(skeleton, q, v, bone, point, frame)
        for rows in ROWS:
            truth, rate = _select_rows(rows, parts), _select_rows(rows, rates)
            for route in ROUTES:
                ours = skeleton.jacobian(q, bone, point, frame=frame, rows=rows, route=route)
                yield f"bone Jacobian, {route}", compute_relative_error(ours, truth)
            ours = skeleton.jacobian_dot(q, v, bone, point, frame=frame, rows=rows)
            # The rate may vanish where the Jacobian does not, as in the axes of a ball joint.
            yield (
                "bone Jacobian rate",
                compute_relative_error(ours, rate, np.abs(truth).max(initial=_SCALE_FLOOR)),
            )


def _select_rows(rows: str, parts: tuple[Array, Array]) -> Array:
    linear, angular = parts
    return {"linear": linear, "angular": angular, "both": np.concatenate(parts)}[rows]


def _compare_goals(case: RandomProblem, rng: np.random.Generator) -> Iterator[tuple[str, float]]:
    """Yield the errors of everything that a problem computes."""
    problem, q = case.problem, case.q
    truth = evaluate(
        case.skeleton,
        case.goals,
        q,
        limits=case.limits,
        lock=case.lock,
        weight_matrix=case.weight_matrix,
    )
    x = rng.normal(size=case.skeleton.nv)
    yield "cost", compute_relative_error(problem.cost(q), truth.cost)
    yield "residual", compute_relative_error(problem.residual(q), truth.residual)
    yield "gradient", compute_relative_error(problem.gradient(q), truth.gradient)
    yield "Jacobian", compute_relative_error(problem.jacobian(q), truth.jacobian)
    yield "Gauss–Newton", compute_relative_error(problem.gauss_newton(q), truth.gauss_newton)
    yield "exact Hessian", compute_relative_error(problem.hessian(q), truth.hessian)
    yield (
        "Hessian product",
        compute_relative_error(problem.hessian_product(q, x), truth.hessian @ x),
    )


def _compare_dense(case: RandomProblem, rng: np.random.Generator) -> Iterator[tuple[str, float]]:
    """Yield the differences between subtree sums and the dense path of the same problem."""
    problem, q = case.problem, case.q
    if problem.packed.coupled:  # these are dense already
        return
    dense = Problem(
        case.skeleton,
        case.goals,
        limits=case.limits,
        lock=case.lock_names,
        weight_matrix=problem.packed.weight,
    )
    x = rng.normal(size=case.skeleton.nv)
    for sums, matrix in (
        (problem.hessian(q), dense.hessian(q)),
        (problem.hessian_product(q, x), dense.hessian_product(q, x)),
    ):
        yield "sums against dense Hessian", compute_relative_error(sums, matrix)


def run_campaign(
    trees: int = 200,
    seed: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> CampaignReport:
    """Compare random problems with the oracle.

    Args:
        trees: number of random skeletons, each with goals of its own.
        seed: the same seed gives the same trees.
        progress: called with the number of trees done and their total.
    """
    started = time.perf_counter()
    worst: dict[tuple[int, str], CampaignRow] = {}
    for tree in range(trees):
        case, pairs = random_problem(seed, tree), random_problem(seed, tree, pairs=True)
        rng = np.random.default_rng([seed, tree, 1])
        long_log = case.largest_log > LONG_LOG
        bar_of_goals, apart = MAX_ERROR, 0
        if long_log:
            bar_of_goals, apart = MAX_ERROR_LONG_LOG, 2
        for compare, made, bar, group in (
            (_compare_kinematics, case, MAX_ERROR, 0),
            (_compare_goals, case, bar_of_goals, apart),
            (_compare_dense, case, MAX_DENSE_DIFFERENCE, 0),
            (_compare_goals, pairs, bar_of_goals, max(apart, 1)),
            (_compare_dense, pairs, MAX_DENSE_DIFFERENCE, 1),
        ):
            for quantity, error in compare(made, rng):
                name = quantity + GROUPS[group]
                is_pair_gradient = (group, quantity) == (1, "gradient")
                allowed = MAX_PAIR_GRADIENT_ERROR if is_pair_gradient else bar
                key = (group, name)
                empty = CampaignRow(
                    quantity=name, worst=-1.0, bar=allowed, count=0, seed=seed, tree=tree
                )
                old = worst.get(key, empty)
                worst[key] = replace(
                    old,
                    worst=max(error, old.worst),
                    bar=allowed,
                    count=old.count + 1,
                    tree=tree if error > old.worst else old.tree,
                )
        if progress is not None:
            progress(tree + 1, trees)
    rows = [worst[key] for key in sorted(worst, key=lambda key: key[0])]  # long logs last
    return CampaignReport(
        rows=tuple(rows), trees=trees, seed=seed, seconds=time.perf_counter() - started
    )
