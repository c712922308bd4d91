"""Section core: what one evaluation costs.

Each time is also shown as a ratio to numpy and to forward kinematics with the gradient.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from benchmarks.support.models import bushy_tree, serial_chain
from benchmarks.support.numpy_rival import NumpyRival
from benchmarks.support.report import Metric, Report
from exactik import MarkerGoal, Problem, Skeleton, human
from exactik.compile import jit
from exactik.kernels.calculus.evaluate import evaluate, evaluate_in_layout
from exactik.kernels.calculus.workspace import new_workspace
from exactik.kernels.descent.state import new_descent_state
from exactik.kernels.goals.sums import EXACT, GAUSS_NEWTON, GRADIENT
from exactik.kernels.linear.active_set import box_step
from exactik.kernels.linear.articulated import (
    JOINT_BLOCKS,
    MIN_ARTICULATED_DOFS,
    WHOLE_ROWS,
)
from exactik.kernels.linear.loops import make_joint_pattern
from exactik.kernels.linear.ltdl import AncestorPattern, factor, solve
from exactik.kernels.tree.fk import forward_kinematics
from exactik.typing import Array

SHIFT = 1.0  # added to the diagonal: makes the factored matrix positive definite whatever the pose
SIZES = (10, 20, 50, 100, 200, 500, 1000)


@jit
def restore_system(matrix, g, step, work):
    for i in range(matrix.shape[0]):
        step[i] = g[i]
        for j in range(matrix.shape[1]):
            work.H[i, j] = matrix[i, j]


@jit
def repeat_forward(tree, goals, q, work, count):
    for _ in range(count):
        q[0] += 1e-12  # a pose that changes, so that nothing is computed once for all
        forward_kinematics(tree, q, goals.origin, work.sine, work.cosine, work.R, work.p, work.S)


@jit
def repeat_evaluate(tree, goals, q, order, work, count):
    for _ in range(count):
        q[0] += 1e-12
        evaluate(tree, goals, q, order, work)


@jit
def repeat_solve(tree, matrix, g, step, work, count):
    for _ in range(count):
        restore_system(matrix, g, step, work)
        factor(tree, work.H)
        solve(tree, work.H, step, work.path[0])


@jit
def repeat_copy(matrix, g, step, work, count):
    for _ in range(count):
        restore_system(matrix, g, step, work)


@jit
def repeat_newton(tree, goals, pattern, coordinate, layout, q, damping, descent, work, count):
    joints = make_joint_pattern(tree, work)
    for _ in range(count):
        q[0] += 1e-12
        evaluate_in_layout(tree, goals, q, EXACT, layout, work)
        box_step(
            joints, pattern, coordinate, layout, q, work.g, work.H, work.S, work.P, damping, descent
        )


def measure_microseconds(
    run: Callable[[int], None], budget: float = 0.25, rounds: int = 7
) -> float:
    """Return the time of one repetition [µs]: the fastest of some long rounds."""
    run(1)
    start = time.perf_counter()
    run(10)
    count = max(10, int(budget / rounds / max((time.perf_counter() - start) / 10, 1e-9)))
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        run(count)
        times.append((time.perf_counter() - start) / count)
    return 1e6 * min(times)


def measure_exactik(skeleton: Skeleton, targets: Array, seed: int = 0) -> dict[str, float]:
    """Return the time of each quantity [µs] for position goals on all markers of a skeleton."""
    problem = Problem(
        skeleton, [MarkerGoal(m, t) for m, t in zip(skeleton.markers, targets, strict=True)]
    )
    tree, goals, work = skeleton.tree, problem.packed.arrays, new_workspace(skeleton.tree)
    q = np.random.default_rng(seed).normal(size=skeleton.nq, scale=0.3)
    step = np.zeros(skeleton.nv)
    evaluate(tree, goals, q, EXACT, work)
    matrix, g = work.H.copy(), work.g.copy()
    shift = SHIFT + np.abs(matrix).sum(axis=1).max()
    matrix[np.arange(skeleton.nv), tree.dof_level] += shift
    pattern, descent = (
        AncestorPattern(tree.dof_order, tree.dof_parent, tree.dof_level),
        new_descent_state(tree, matrix.shape[1]),
    )
    descent.lower[:], descent.upper[:], descent.scale[:] = -np.inf, np.inf, 1.0  # no limits, D = 1
    copying = measure_microseconds(lambda n: repeat_copy(matrix, g, step, work, n))
    measured = {
        "FK": measure_microseconds(lambda n: repeat_forward(tree, goals, q, work, n)),
        "FK + gradient": measure_microseconds(
            lambda n: repeat_evaluate(tree, goals, q, GRADIENT, work, n)
        ),
        "… + Gauss–Newton": measure_microseconds(
            lambda n: repeat_evaluate(tree, goals, q, GAUSS_NEWTON, work, n)
        ),
        "… + exact Hessian": measure_microseconds(
            lambda n: repeat_evaluate(tree, goals, q, EXACT, work, n)
        ),
        "factor + solve": measure_microseconds(
            lambda n: repeat_solve(tree, matrix, g, step, work, n)
        )
        - copying,
    }
    for name, layout in (("iteration, LᵀDL", WHOLE_ROWS), ("iteration, articulated", JOINT_BLOCKS)):
        measured[name] = measure_microseconds(
            lambda n, layout=layout: repeat_newton(
                *(tree, goals, pattern, skeleton.plain_q, layout, q, shift, descent, work, n)
            )
        )
        np.testing.assert_allclose(descent.step, -step, atol=1e-3 * np.abs(step).max())
    articulated = skeleton.nv >= MIN_ARTICULATED_DOFS
    measured["Newton iteration"] = measured[
        f"iteration, {'articulated' if articulated else 'LᵀDL'}"
    ]
    return measured


def measure_numpy(skeleton: Skeleton, targets: Array, seed: int = 0) -> dict[str, float]:
    """Return the same of numpy [µs], after checking that it computes the same numbers."""
    rival = NumpyRival(skeleton, targets)
    problem = Problem(
        skeleton, [MarkerGoal(m, t) for m, t in zip(skeleton.markers, targets, strict=True)]
    )
    q = np.random.default_rng(seed).normal(size=skeleton.nq, scale=0.3)
    g, H = rival.hessian(q)
    np.testing.assert_allclose(g, problem.gradient(q), atol=1e-11)
    np.testing.assert_allclose(H, problem.hessian(q), atol=1e-11)
    np.testing.assert_allclose(rival.gauss_newton(q)[1], problem.gauss_newton(q), atol=1e-11)
    matrix = H + (SHIFT + np.abs(H).sum(axis=1).max()) * np.eye(len(q))
    shift = float(matrix[0, 0])

    def time_call(function: Callable[[], object]) -> float:
        def repeat(count: int) -> None:
            for _ in range(count):
                function()

        return measure_microseconds(repeat)

    return {
        "FK": time_call(lambda: rival.forward(q)),
        "FK + gradient": time_call(lambda: rival.gradient(q)),
        "… + Gauss–Newton": time_call(lambda: rival.gauss_newton(q)),
        "… + exact Hessian": time_call(lambda: rival.hessian(q)),
        "factor + solve": time_call(lambda: np.linalg.solve(matrix, g)),
        "Newton iteration": time_call(lambda: rival.newton_step(q, shift)),
    }


def make_noisy_targets(skeleton: Skeleton, seed: int = 1) -> Array:
    """Return the markers of a random pose, with 10 mm of noise."""
    rng = np.random.default_rng(seed)
    pose = skeleton.forward(rng.normal(size=skeleton.nq, scale=0.3))
    return pose.markers + rng.normal(size=(len(skeleton.markers), 3), scale=0.01)


def multiply_markers(skeleton: Skeleton) -> Skeleton:
    """Return the same bones with ten markers where there was one."""
    rng = np.random.default_rng(2)
    return skeleton.with_markers(
        {
            f"{name}_{i}": (bone, np.array(point) + rng.normal(size=3, scale=0.02))
            for name, (bone, point) in skeleton.markers.items()
            for i in range(10)
        }
    )


def run(report: Report) -> None:
    """Measure and print the section."""
    figure = human()
    targets = make_noisy_targets(figure)
    report.title(f"core: {figure.nv} dofs, {len(figure.markers)} markers, one thread, µs")
    ours, numpy = measure_exactik(figure, targets), measure_numpy(figure, targets)
    report.table(
        ["quantity", "exactik", "numpy", "ratio"],
        [
            [name, f"{ours[name]:.2f}", f"{numpy[name]:.0f}", f"{numpy[name] / ours[name]:.0f} ×"]
            for name in numpy
        ],
    )
    base, exact = ours["FK + gradient"], ours["… + exact Hessian"]
    many = multiply_markers(figure)
    crowd = measure_exactik(many, make_noisy_targets(many))
    report.add(
        Metric("exact Hessian / Gauss–Newton", exact / ours["… + Gauss–Newton"], "×", 1.15),
        Metric("exact Hessian / (FK + gradient)", exact / base, "×", 2.5),
        Metric("Newton iteration / (FK + gradient)", ours["Newton iteration"] / base, "×", 4.0),
        Metric(
            "iteration by LᵀDL / articulated",
            ours["iteration, LᵀDL"] / ours["iteration, articulated"],
            "×",
            1.0,
            at_least=True,
        ),
        Metric(
            "numpy / exactik, exact Hessian",
            numpy["… + exact Hessian"] / exact,
            "×",
            100.0,
            at_least=True,
        ),
        Metric(
            f"iteration with {len(many.markers)} markers / with {len(figure.markers)}",
            crowd["Newton iteration"] / ours["Newton iteration"],
            "×",
            1.1,
        ),
    )
    report.metrics += [Metric(name, value, "µs") for name, value in ours.items()]
    measure_growth(report)


def measure_growth(report: Report) -> None:
    """Measure time against the number of joints, for a chain (deep) and a bush (shallow)."""
    report.title("core: growth with the number of hinges n, µs")
    columns = ("… + exact Hessian", "iteration, LᵀDL", "iteration, articulated")
    measured: dict[tuple[str, str], list[float]] = {}
    rows = []
    for n in SIZES:
        row = [str(n)]
        for shape, build in (("chain", serial_chain), ("bush", bushy_tree)):
            tree = build(n)
            times = measure_exactik(tree, make_noisy_targets(tree))
            for column in columns:
                measured.setdefault((shape, column), []).append(times[column])
                row.append(f"{times[column]:.2f}")
        rows.append(row)
    exponents = [
        np.polyfit(np.log(SIZES[-4:]), np.log(measured[shape, column][-4:]), 1)[0]
        for shape in ("chain", "bush")
        for column in columns
    ]
    rows.append(["exponent", *(f"{e:.2f}" for e in exponents)])
    short = ("exact H", "LᵀDL", "O(n)")
    report.table(["n", *(f"{shape}: {s}" for shape in ("chain", "bush") for s in short)], rows)
    report.console.print(
        f"exponent: slope of log time against log n over n = {SIZES[-4]} … {SIZES[-1]}"
    )
