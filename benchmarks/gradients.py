"""Section gradients: solve a batch and differentiate a loss of its poses, beside unrolled steps.

The rival is a batched Levenberg–Marquardt in JAX whose steps are differentiated one by one, on a
GPU if JAX has one. Both get the same markers and starts. A gradient is judged by solving again:
the derivative of the loss along one random direction of all targets, by central differences.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

import exactik as ik
from benchmarks.gpu import make_human_batch
from benchmarks.support.report import Metric, Report
from exactik.solvers.batch import BatchResult
from exactik.typing import Array

ARMS, HUMANS = 10_000, 1_000
STEPS = 25  # of the rival, all that its slowest problems need to come to rest
DIFFERENCE = 1e-5  # [m]
POSTURE_WEIGHT = 1e-3  # of the human: its markers leave dofs of fingers and toes open
SETTLED = 1e-4  # [rad or m] answers of both that are as near as this are the same minimum


class Case(NamedTuple):
    """A problem and its markers by name, (B, 3) each."""

    name: str
    problem: ik.Problem
    targets: dict[str, Array]
    posture_weight: float = 0.0


def make_arm_batch(count: int) -> tuple[ik.Problem, dict[str, Array]]:
    """Return an arm of seven hinges like a Panda's, with markers on three links, noise 3 mm."""
    axes = ((0, 0, 1), (0, 1, 0), (0, 0, 1), (0, -1, 0), (0, 0, 1), (0, -1, 0), (0, 0, -1))
    offsets = ((0, 0, 0.33), (0, 0, 0), (0, 0, 0.32), (0.08, 0, 0), (-0.08, 0, 0.38), (0, 0, 0))
    bones = [
        ik.Bone(
            f"link{k}",
            parent=f"link{k - 1}" if k > 0 else None,
            offset=(*offsets, (0.09, 0, -0.1))[k],
            joint=ik.Joint.revolute(axis, limits=(-2.5, 2.5)),
        )
        for k, axis in enumerate(axes)
    ]
    corners = {"A": (0.1, 0, 0), "B": (0, 0.1, 0), "C": (0, 0, 0.1)}
    markers = {f"{m}{k}": (f"link{k}", x) for k in (2, 4, 6) for m, x in corners.items()}
    arm, rng = ik.Skeleton.build("arm", bones, markers), np.random.default_rng(2)
    places = arm.forward(rng.uniform(-0.9, 0.9, (count, arm.nq))).markers
    places = places + rng.normal(scale=3e-3, size=places.shape)
    goals = [ik.MarkerGoal(m, x) for m, x in zip(arm.markers, places[0], strict=True)]
    targets = {m: np.ascontiguousarray(places[:, k]) for k, m in enumerate(arm.markers)}
    return ik.Problem(arm, goals), targets


def run(report: Report) -> None:
    """Measure both cases."""
    report.title("gradients: a batch solved, and a loss of it differentiated")
    measure(report, Case(f"{ARMS} arms", *make_arm_batch(ARMS)))
    human, targets = make_human_batch(HUMANS, 0.1, 0.003)
    posture = ik.PostureGoal(np.zeros(human.skeleton.nq), weight=POSTURE_WEIGHT)
    problem = ik.Problem(human.skeleton, [*human.goals, posture])
    measure(report, Case(f"{HUMANS} humans", problem, targets, POSTURE_WEIGHT))


def time_best(call: Callable[[], Any]) -> tuple[Any, float]:
    """Return the answer and the least time of three calls [s], after one that compiles."""
    call()
    times, answers = [], []
    for _ in range(3):
        begin = time.perf_counter()
        answers = [call()]
        times.append(time.perf_counter() - begin)
    return answers[0], min(times)


def measure(report: Report, case: Case) -> None:
    """Time both, and judge their gradients."""
    problem, targets = case.problem, case.targets
    rng, count = np.random.default_rng(3), len(next(iter(targets.values())))
    skeleton = problem.skeleton
    weights = rng.normal(size=(count, skeleton.nq))
    start = skeleton.neutral()

    def solve() -> tuple[BatchResult, dict[str, Array]]:
        batch = ik.solve_batch(problem, targets, q0=start)
        return batch, batch.backpropagate(weights, on_failure="nan")

    (batch, gradients), ours = time_best(solve)
    change = {name: rng.normal(size=values.shape) for name, values in targets.items()}

    def poses(sign: float) -> Array:
        moved = {n: values + sign * DIFFERENCE * change[n] for n, values in targets.items()}
        return ik.solve_batch(problem, moved, q0=batch.q).q

    seen = np.sum(weights * (poses(1.0) - poses(-1.0)), axis=1) / (2.0 * DIFFERENCE)
    told = np.sum([np.sum(change[n] * g, axis=1) for n, g in gradients.items()], axis=0)
    report.add(
        Metric(f"{case.name}, solve and gradient", 1e6 * ours / count, "µs a problem"),
        Metric("  gradient beside differences, median", _median_error(told, seen)),
        Metric("  problems without a gradient", int(np.isnan(told).sum())),
    )
    if find_spec("jax") is None:
        report.console.print("  JAX is not installed: no rival")
        return
    from benchmarks.support.jax_peer import make_unrolled_gradient

    places = np.stack([targets[name] for name in skeleton.markers], axis=1)
    differentiate = make_unrolled_gradient(skeleton, STEPS, case.posture_weight)
    starts = np.tile(start, (count, 1))
    (q, gradient), theirs = time_best(lambda: differentiate(places, starts, weights))
    same = np.abs(q - batch.q).max(axis=1) < SETTLED
    theirs_told = np.einsum("bmi,mbi->b", gradient, np.stack([change[n] for n in skeleton.markers]))
    report.add(
        Metric("  JAX, unrolled", 1e6 * theirs / count, "µs a problem"),
        Metric("  JAX / ours", theirs / ours, "×"),
        Metric("  same minima", 100.0 * same.mean(), "%"),
        Metric("  JAX's gradient beside differences", _median_error(theirs_told, seen, same)),
    )


def _median_error(told: Array, seen: Array, chosen: Array | None = None) -> float:
    """Return the median of |told − seen| / |seen|."""
    use = np.isfinite(told) if chosen is None else chosen & np.isfinite(told)
    return float(np.median(np.abs(told - seen)[use] / np.maximum(np.abs(seen)[use], 1e-9)))
