"""Random problems against the oracle: the run behind `exactik check`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from exactik.check._random_goals import FAR, RandomProblem, random_problem
from exactik.check.oracle import evaluate, forward, point_jacobian, point_jacobian_dot
from exactik.problem import Problem
from exactik.typing import Array

__all__ = ["CampaignReport", "CampaignRow", "run_campaign"]


FRAMES: tuple[Literal["world", "body", "spatial"], ...] = ("world", "body", "spatial")
ROWS: tuple[Literal["linear", "angular", "both"], ...] = ("linear", "angular", "both")
ROUTES: tuple[Literal["cross", "poe", "adjusted"], ...] = ("cross", "poe", "adjusted")

BAR = 1e-11
"""Largest relative error against the oracle."""
BAR_FAR = 1e-9
"""The same where a rotation goal is further than 2.9 rad from its target."""
BAR_PATHS = 1e-12
"""Largest relative difference between subtree sums and the dense path."""

# A quantity may vanish in truth (the rate of a Jacobian of sliders); errors are then taken relative
# to this, in figures whose lengths, angles and weights are of order one.
_FLOOR = 1e-3


@dataclass(frozen=True)
class CampaignRow:
    """One quantity over all trees.

    Attributes:
        quantity: what was compared.
        worst: largest relative error, max |a − b| / max |b|.
        bar: what counts as right.
        count: number of comparisons.
        seed: with `tree`, where the worst error is: `random_problem(seed, tree)` makes it again.
        tree: number of that tree.
    """

    quantity: str
    worst: float
    bar: float
    count: int
    seed: int
    tree: int

    @property
    def ok(self) -> bool:
        """Whether the worst error is within the bar; not a number counts as wrong."""
        return self.worst <= self.bar


@dataclass(frozen=True)
class CampaignReport:
    """The answer of `run`; print it for a table.

    Attributes:
        rows: one line per quantity.
        trees: number of random trees.
        seed: their seed.
        seconds: time taken.
    """

    rows: tuple[CampaignRow, ...]
    trees: int
    seed: int
    seconds: float

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


def relative_error(ours: ArrayLike, truth: ArrayLike, floor: float = _FLOOR) -> float:
    """Return max |ours − truth| / max |truth|, infinite if the shapes differ or a value is NaN."""
    a, b = np.asarray(ours, dtype=float), np.asarray(truth, dtype=float)
    if a.shape != b.shape or not np.isfinite(a).all():
        return np.inf
    scale = max(float(np.abs(b).max(initial=0.0)), floor)
    return float(np.abs(a - b).max(initial=0.0)) / scale


def _kinematic_errors(case: RandomProblem, rng: np.random.Generator) -> Iterator[tuple[str, float]]:
    """Yield the errors of forward kinematics and of all Jacobians of one point."""
    skeleton, q = case.skeleton, case.q
    positions, rotations = forward(skeleton, q)
    pose = skeleton.forward(q)
    yield "forward", relative_error(pose.positions, positions)
    yield "forward", relative_error(pose.rotations, rotations)
    bone = skeleton.bone_names[rng.integers(len(skeleton.bones))]
    point, v = rng.normal(scale=0.3, size=3), rng.normal(size=skeleton.nv)
    for frame in FRAMES:
        parts = point_jacobian(skeleton, q, bone, point, frame)
        rates = point_jacobian_dot(skeleton, q, v, bone, point, frame)
        for rows in ROWS:
            truth, rate = _chosen(rows, parts), _chosen(rows, rates)
            for route in ROUTES:
                ours = skeleton.jacobian(q, bone, point, frame=frame, rows=rows, route=route)
                yield f"bone Jacobian, {route}", relative_error(ours, truth)
            ours = skeleton.jacobian_dot(q, v, bone, point, frame=frame, rows=rows)
            # The rate may vanish where the Jacobian does not, as in the axes of a ball joint.
            yield (
                "bone Jacobian rate",
                relative_error(ours, rate, np.abs(truth).max(initial=_FLOOR)),
            )


def _chosen(rows: str, parts: tuple[Array, Array]) -> Array:
    linear, angular = parts
    return {"linear": linear, "angular": angular, "both": np.concatenate(parts)}[rows]


def _goal_errors(case: RandomProblem, rng: np.random.Generator) -> Iterator[tuple[str, float]]:
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
    yield "cost", relative_error(problem.cost(q), truth.cost)
    yield "residual", relative_error(problem.residual(q), truth.residual)
    yield "gradient", relative_error(problem.gradient(q), truth.gradient)
    yield "Jacobian", relative_error(problem.jacobian(q), truth.jacobian)
    yield "Gauss–Newton", relative_error(problem.gauss_newton(q), truth.gauss_newton)
    yield "exact Hessian", relative_error(problem.hessian(q), truth.hessian)
    yield "Hessian product", relative_error(problem.hessian_product(q, x), truth.hessian @ x)


def _path_errors(case: RandomProblem, rng: np.random.Generator) -> Iterator[tuple[str, float]]:
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
    for ours, theirs in (
        (problem.hessian(q), dense.hessian(q)),
        (problem.hessian_product(q, x), dense.hessian_product(q, x)),
    ):
        yield "sums against dense Hessian", relative_error(ours, theirs)


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
    worst: dict[str, CampaignRow] = {}
    for tree in range(trees):
        case = random_problem(seed, tree)
        rng = np.random.default_rng([seed, tree, 1])
        far = case.largest_log > FAR
        for source, bar, apart in (
            (_kinematic_errors, BAR, False),
            (_goal_errors, BAR_FAR if far else BAR, far),
            (_path_errors, BAR_PATHS, False),
        ):
            for quantity, error in source(case, rng):
                key = f"{quantity}, log beyond {FAR} rad" if apart else quantity
                old = worst.get(key, CampaignRow(key, -1.0, bar, 0, seed, tree))
                at = tree if error > old.worst else old.tree
                worst[key] = CampaignRow(key, max(error, old.worst), bar, old.count + 1, seed, at)
        if progress is not None:
            progress(tree + 1, trees)
    rows = sorted(worst.values(), key=lambda row: "beyond" in row.quantity)
    return CampaignReport(tuple(rows), trees, seed, time.perf_counter() - started)
