"""Do limits and regularisation reduce indefiniteness? The hypotheses of section 6.3 and App. A."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from exactik.goals import PostureGoal
from exactik.problem import Problem
from exactik.solvers import PythonMethod, View, solve
from exactik.typing import Array
from exactik_papers.descents import AUTO, EXACT, METHODS, SOLVED_COST_CM2
from exactik_papers.experiment import (
    Experiment,
    Findings,
    Picture,
    Progress,
    ResultTable,
    make_claims_table,
)
from exactik_papers.recording import Recording, Take

__all__ = ["EXPERIMENT", "Signs", "count_eigenvalue_signs"]


POSES = 20  # random ones at each frame
SPREADS = (0.001, 0.01, 0.1, 1.0)  # [rad] about the pose of the frame
NEAR = 0.1  # the one at which postures are tried
WEIGHTS = (0.0, 1.0, 10.0, 100.0, 1e3, 1e4, 1e5)  # of a posture [cm²/rad²]
DOFS = 58
ANYWHERE, INSIDE = "anywhere within ±180°", "inside the limits"
STEPS = 30  # of a descent that are looked at
NOTHING = 1e-9  # an eigenvalue that counts as none, as a share of the largest


class Signs(NamedTuple):
    """How a Hessian bends.

    Attributes:
        negative: number of negative eigenvalues.
        least: the least eigenvalue, as a share of the largest in size.
    """

    negative: int
    least: float


def count_eigenvalue_signs(problem: Problem, q: Array) -> Signs:
    """Return how the Hessian of the free dofs bends."""
    free = ~problem.locked
    values = np.linalg.eigvalsh(problem.hessian(q)[np.ix_(free, free)])
    size = float(np.abs(values).max())
    return Signs(int((values < -NOTHING * size).sum()), float(values[0]) / size)


def _rank(problem: Problem, q: Array) -> int:
    """Return in how many directions the markers are felt at a pose."""
    values = np.linalg.eigvalsh(problem.gauss_newton(q))
    return int((values > NOTHING * values[-1]).sum())


def run(recording: Recording, out: Path, progress: Progress) -> Findings:
    """Sample poses and descents, with and without limits and posture."""
    frames = [
        (chosen.take, frame)
        for chosen in recording.kinds.values()
        for frame in chosen.frames.tolist()[::4]
    ]
    random, total, done = np.random.default_rng(0), 3 * len(frames), 0
    where: dict[str, list[Signs]] = {name: [] for name in (ANYWHERE, INSIDE)}
    near: dict[float, list[Signs]] = {spread: [] for spread in SPREADS}
    postured: dict[float, list[Signs]] = {weight: [] for weight in WEIGHTS}
    ranks = []
    for take, frame in frames:
        problem, turns = take.problem(frame), take.skeleton.turns & ~take.problem(frame).locked
        low, high = take.skeleton.lower.copy(), take.skeleton.upper.copy()
        low[~np.isfinite(low)], high[~np.isfinite(high)] = -np.pi, np.pi
        regular = {weight: _add_posture(take, frame, weight) for weight in WEIGHTS}
        ranks.append(_rank(problem, take.q[frame]))
        for _ in range(POSES):
            for name, (a, b) in {ANYWHERE: (-np.pi, np.pi), INSIDE: (low, high)}.items():
                q = take.q[frame].copy()
                q[turns] = random.uniform(a, b, len(q))[turns]
                where[name].append(count_eigenvalue_signs(problem, q))
            for spread in SPREADS:
                q = take.q[frame].copy()
                q[turns] += spread * random.standard_normal(len(q))[turns]
                near[spread].append(count_eigenvalue_signs(problem, q))
                if spread == NEAR:
                    for weight, problem_with_posture in regular.items():
                        postured[weight].append(count_eigenvalue_signs(problem_with_posture, q))
        done += 1
        progress(done, total)
    paths: dict[tuple[str, str], list[Signs]] = {}
    for take, frame in frames:
        for start in ("frame before", "θ = 0"):
            for limits in ("off", "hard"):
                problem = take.problem(frame, limits=limits)
                q0 = take.warm(frame) if start == "frame before" else take.zero(frame)
                path_signs = [
                    count_eigenvalue_signs(problem, q) for q in _trace_descent(problem, q0)
                ]
                paths.setdefault((start, limits), []).extend(path_signs)
        done += 1
        progress(done, total)
    price: dict[float, list[tuple[float, bool]]] = {weight: [] for weight in WEIGHTS}
    for take, frame in frames:
        for weight in WEIGHTS:
            problem = _add_posture(take, frame, weight)
            method = replace(METHODS[AUTO], tolerance=1e-9, max_iterations=200)
            result = solve(problem, q0=take.zero(frame), solver=method)
            error = float(take.marker_errors(result.q, frame).mean())
            price[weight].append((error, take.problem(frame).cost(result.q) < SOLVED_COST_CM2))
        done += 1
        progress(done, total)

    def percent(signs_of_poses: list[Signs]) -> float:
        return 100.0 * float(np.mean([one.negative > 0 for one in signs_of_poses]))

    def facts(signs_of_poses: list[Signs]) -> tuple[int, float, float, float]:
        count, least = np.array(signs_of_poses).T
        return (
            len(signs_of_poses),
            percent(signs_of_poses),
            float(count.mean()),
            float(np.median(least)),
        )

    shared = ("poses", "indefinite %", "negative eigenvalues, mean", "least / largest, median")
    tables = [
        ResultTable(
            "indefinite-poses",
            "Random poses",
            ("where", *shared),
            [
                *((name, *facts(signs_of_poses)) for name, signs_of_poses in where.items()),
                *(
                    (f"{spread:g} rad about the pose", *facts(signs_of_poses))
                    for spread, signs_of_poses in near.items()
                ),
            ],
        ),
        ResultTable(
            "indefinite-descents",
            f"The first {STEPS} places of trust-region descents (PCG)",
            ("start", "limits", *shared),
            [(*pair, *facts(signs_of_poses)) for pair, signs_of_poses in paths.items()],
        ),
        ResultTable(
            "indefinite-posture",
            f"A posture goal towards the rest pose, {NEAR:g} rad about the pose, and its price",
            (
                "weight [cm²/rad²]",
                *shared,
                "mean distance of a marker at the end [cm], median",
                f"from θ = 0: f < {SOLVED_COST_CM2:g} %",
            ),
            [
                (
                    weight,
                    *facts(postured[weight]),
                    float(np.median([error for error, _ in price[weight]])),
                    100.0 * float(np.mean([there for _, there in price[weight]])),
                )
                for weight in WEIGHTS
            ],
        ),
        ResultTable(
            "indefinite-rank",
            "Directions that the markers determine at the solution",
            ("frames", "dofs", "rank of JᵀJ, least", "rank of JᵀJ, most"),
            [(len(ranks), DOFS, min(ranks), max(ranks))],
        ),
    ]
    anywhere, inside = (facts(signs_of_poses) for signs_of_poses in where.values())
    warm_off, warm_on, cold_off, cold_on = (
        facts(signs_of_poses) for signs_of_poses in paths.values()
    )
    enough = [weight for weight in WEIGHTS if percent(postured[weight]) < 1.0]
    price_of = {
        weight: float(np.median([e for e, _ in signs_of_poses]))
        for weight, signs_of_poses in price.items()
    }
    words = "no weight tried makes it definite in 99 % of the poses"
    if len(enough) > 0:
        words = (
            f"{NEAR:g} rad about the pose, definite in 99 % of the poses from weight "
            f"{enough[0]:g} on, at which markers end {price_of[enough[0]]:.2f} cm off"
        )

    def beside(off: tuple, on: tuple) -> str:
        return (
            f"indefinite {off[1]:.0f} % without, {on[1]:.0f} % with; negative eigenvalues "
            f"{off[2]:.1f} and {on[2]:.1f} of {DOFS} on average"
        )

    verdicts = make_claims_table(
        "indefinite",
        [
            (
                "limits keep the search out of regions where the Hessian is indefinite: poses",
                "hypothesis",
                beside(anywhere, inside),
                inside[1] < anywhere[1] - 10.0,
            ),
            (
                "the same of descents from the frame before",
                "hypothesis",
                beside(warm_off, warm_on),
                warm_on[1] < warm_off[1] - 10.0,
            ),
            (
                "the same of descents from θ = 0",
                "hypothesis",
                beside(cold_off, cold_on),
                cold_on[1] < cold_off[1] - 10.0,
            ),
            (
                "they reduce the number of directions that bend down: poses",
                "not said",
                f"{anywhere[2]:.1f} → {inside[2]:.1f} of {DOFS}",
                inside[2] < 0.9 * anywhere[2],
            ),
            (
                "the same of descents from θ = 0",
                "not said",
                f"{cold_off[2]:.1f} → {cold_on[2]:.1f} of {DOFS}",
                cold_on[2] < 0.9 * cold_off[2],
            ),
            (
                "regularisation done correctly keeps the Hessian positive definite",
                "said",
                words,
                len(enough) > 0,
            ),
            (
                "without a price",
                "not said",
                "markers end off by "
                + ", ".join(f"{price_of[w]:.2g} cm with {w:g}" for w in WEIGHTS),
                len(enough) > 0 and price_of[enough[0]] < 0.1,
            ),
            (
                "positive definite near the solution",
                "said",
                ", ".join(
                    f"{percent(signs_of_poses):.0f} % indefinite at {spread:g} rad"
                    for spread, signs_of_poses in near.items()
                )
                + f"; rank of JᵀJ {min(ranks)} to {max(ranks)} of {DOFS}",
                percent(near[SPREADS[0]]) < 10.0,
            ),
        ],
    )
    return Findings(
        [*tables, verdicts],
        [
            Picture(
                "indefinite",
                "Left: poses about the solution. Right: a posture goal and its price.",
                _draw_picture(near, postured, price_of),
            )
        ],
        [
            "The paper states this as a hypothesis and as future work; there is nothing published "
            "to compare with.",
            "Markers are the paper's, which the pose of the file fits exactly.",
        ],
    )


def _add_posture(take: Take, frame: int, weight: float) -> Problem:
    """Return the problem of a frame with a posture goal towards rest; the root stays free."""
    problem = take.problem(frame)
    if weight == 0.0:
        return problem
    weights = np.full(take.skeleton.nv, weight)
    weights[: take.skeleton.bones[0].joint.nv] = 0.0
    posture = PostureGoal(take.skeleton.neutral(), weight=weights)
    return Problem(take.skeleton, [*problem.goals, posture], limits="off", lock=take.lock)


def _trace_descent(problem: Problem, q0: Array) -> list[Array]:
    """Return the places of a descent by the paper's method, the start included."""
    method, view = METHODS[EXACT], View(problem)
    assert isinstance(method, PythonMethod)
    stepper, place = method.stepper(view), view.at(view.project(q0))
    poses = [place.q]
    while len(poses) < STEPS and place.cost > SOLVED_COST_CM2:
        following = stepper.step(place)
        if following is None:
            break
        place = following
        poses.append(place.q)
    return poses


def _draw_picture(near: dict, postured: dict, price: dict) -> object:
    from matplotlib.figure import Figure

    def counts(signs_by_key: dict, keys: Sequence[float]) -> list[float]:
        return [float(np.mean([one.negative for one in signs_by_key[key]])) for key in keys]

    picture = Figure(figsize=(10.5, 4.2), layout="constrained")
    left, right = picture.subplots(1, 2)
    left.semilogx(SPREADS, counts(near, SPREADS), "o-", color="#0072b2")
    left.set_xlabel("distance of each angle from the solution, standard deviation [rad]")
    left.set_ylabel(f"negative eigenvalues, mean, of {DOFS}")
    left.set_ylim(0, None)
    weights = [weight for weight in WEIGHTS if weight > 0.0]
    right.semilogx(weights, counts(postured, weights), "o-", color="#0072b2")
    right.set_xlabel("weight of the posture [cm²/rad²]")
    right.set_ylabel(f"negative eigenvalues at {NEAR:g} rad, mean", color="#0072b2")
    right.set_ylim(0, None)
    other = right.twinx()
    other.semilogx(weights, [price[weight] for weight in weights], "s--", color="#c8500a")
    other.set_ylabel("markers off at the end [cm]", color="#c8500a")
    other.set_ylim(0, None)
    for axes in (left, right):
        axes.grid(alpha=0.25)
    return picture


EXPERIMENT = Experiment(
    "indefinite",
    "Do limits and regularisation reduce indefiniteness?",
    "hessian",
    "Section 6.3 wonders whether limits help to avoid indefinite Hessians; Appendix A proposes "
    "limits and regularisation against them. Neither is measured.",
    run,
)
