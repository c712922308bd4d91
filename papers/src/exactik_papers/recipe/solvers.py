"""Figure 8 of the Recipe: five ways to solve J θ̇ = ṗ; robustness, speed and flops."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from exactik.model import Bone, Joint, Skeleton
from exactik.solvers.methods import solve_damped
from exactik.typing import Array
from exactik_papers.experiment import (
    Experiment,
    Findings,
    Picture,
    Progress,
    ResultTable,
    make_claims_table,
)
from exactik_papers.recipe.jacobian_steps import (
    JT,
    LAMBDA,
    PINV,
    QR,
    SR,
    STEPS,
    SVD,
    Walk,
    linearised,
    walk,
)
from exactik_papers.recording import Recording
from exactik_papers.sampled import TOLERANCE, sample_take

__all__ = ["EXPERIMENT", "bent_elbow", "flops", "run"]


INTERVAL = 0.7  # [s]
SAMPLES = 40
COUNT = 50  # steps
FAR = 1.4  # ends that are out of reach: so many times as far from the pelvis
LAST = 10  # steps that show whether a method is at rest
RESTLESS = 0.05  # norm of a step, radians and units, that one would see
REPEATS = 200
MORE = (1.0, 25.0)  # λ of SR besides [unit²]; 25 unit² are 1 m²
BENDS = 10.0 ** np.arange(0.0, -6.5, -0.5)  # of an elbow [rad]
COLORS = {SR: "tab:green", SVD: "tab:blue", QR: "tab:orange", JT: "tab:red", PINV: "tab:purple"}
PUBLISHED: dict[str, tuple[str, Callable[[int, int], float]]] = {
    SR: ("2n²", lambda m, n: 2 * n**2),
    SVD: ("2mn² + 2n³", lambda m, n: 2 * m * n**2 + 2 * n**3),
    QR: ("2n³ + 3n²", lambda m, n: 2 * n**3 + 3 * n**2),
    JT: ("n²", lambda m, n: n**2),
    PINV: ("16mn² + 12n³", lambda m, n: 16 * m * n**2 + 12 * n**3),
}
"""Flops as printed, of m rows and n columns."""
OURS: dict[str, tuple[str, Callable[[int, int], float]]] = {
    SR: ("m²n + m³/3 + 2mn", lambda m, n: m**2 * n + m**3 / 3 + 2 * m * n),
    SVD: ("6m²n + 20m³", lambda m, n: 6 * m**2 * n + 20 * m**3),
    QR: ("2m²(n − m/3) + 4mn", lambda m, n: 2 * m**2 * (n - m / 3) + 4 * m * n),
    JT: ("4mn", lambda m, n: 4 * m * n),
    PINV: ("8m²n + 20m³", lambda m, n: 8 * m**2 * n + 20 * m**3),
}
"""Leading terms for a wide J, of textbooks; JT with the product that its length takes."""


def flops(name: str, m: int, n: int) -> tuple[float, float]:
    """Return the flops of a step as printed, and for a wide J."""
    return PUBLISHED[name][1](m, n), OURS[name][1](m, n)


def bent_elbow(angle: float) -> tuple[Array, Array]:
    """Return J (2, 3) of a straight arm of three links, its elbow bent [rad]; and e, a pull."""
    bones, parent = [], None
    for k in range(3):
        offset = (0.0, 0.0, 0.0) if k == 0 else (1.0, 0.0, 0.0)
        bones.append(Bone(f"b{k}", parent=parent, offset=offset, joint=Joint.revolute("z")))
        parent = f"b{k}"
    arm = Skeleton.build("arm", bones)
    J = arm.jacobian(np.array([0.0, angle, 0.0]), "b2", (1.0, 0.0, 0.0))[:2]
    return J, np.array([0.1, 0.0])


def damped(squared: float, J: Array, e: Array) -> Array:
    """Return SR's step with another λ [unit²]."""
    return solve_damped(J, e, float(np.sqrt(squared)))


def run(
    recording: Recording,
    out: Path,
    progress: Progress,
    *,
    samples: int = SAMPLES,
    count: int = COUNT,
) -> Findings:
    """Solve reachable and unreachable problems; time one step; bend an elbow to singularity."""
    data = sample_take(recording, INTERVAL)
    more = [sample_take(recording, INTERVAL, start=0.1 * k) for k in range(1, 7)]
    tasks = [(task_data, n) for task_data in (data, *more) for n in range(1, len(task_data.q))][
        :samples
    ]
    J, e = linearised(data, 1, data.q[0])
    m, n = J.shape[0], int(np.count_nonzero(np.abs(J).sum(axis=0)))
    J = np.ascontiguousarray(J[:, np.abs(J).sum(axis=0) > 0.0])
    rows, solved, restless, last, ms, curves = [], {}, {}, {}, {}, {}
    ways = {**STEPS, **{f"SR, λ = {damping:g}": partial(damped, damping) for damping in MORE}}
    for k, (name, step) in enumerate(ways.items()):
        near = [walk(task_data, i, task_data.q[i - 1], step, count) for task_data, i in tasks]
        far = [
            walk(task_data, i, task_data.q[i - 1], step, count, target=_far(task_data.targets[i]))
            for task_data, i in tasks
        ]
        solved[name] = 100.0 * float(np.mean([_is_met(walked) for walked in near]))
        restless[name] = 100.0 * float(np.mean([_is_jumping(walked, count) for walked in far]))
        last[name] = float(np.median([_mean_last_step(walked) for walked in far]))
        longest = float(np.median([walked.lengths.max(initial=0.0) for walked in far]))
        kept = solved[name], restless[name], last[name], longest
        cost: tuple[str | float | None, ...] = (None,) * 5
        if name in STEPS:
            ms[name] = _time(step, J, e)
            printed, wide = flops(name, m, n)
            curves[name] = [
                float(np.linalg.norm(step(*bent_elbow(bend)))) for bend in BENDS.tolist()
            ]
            cost = ms[name], PUBLISHED[name][0], printed, OURS[name][0], wide
        rows.append((name, *kept, *cost))
        progress(k + 1, len(ways))
    fastest = min(ms, key=lambda name: ms[name])
    order = sorted(ms, key=lambda name: ms[name])
    bound = 0.5 * 0.1 / np.sqrt(LAMBDA)
    peak = {name: max(curve) for name, curve in curves.items()}
    verdicts = make_claims_table(
        "recipe-fig8",
        [
            (
                "SR is robust",
                "rated high",
                f"out of reach, the last {LAST} steps are {last[SR]:.2g} long, with SVD "
                f"{last[SVD]:.2g}, QR {last[QR]:.2g}, pinv {last[PINV]:.2g} (medians)",
                last[SR] < 0.5 * min(last[SVD], last[QR], last[PINV]),
            ),
            (
                "so robust that it comes to rest, with λ below 1",
                "'typically set to values < 1'",
                f"out of reach, still jumping after {count} steps: "
                + ", ".join(
                    f"{share:.0f} % with λ = {damping:g}"
                    for damping, share in zip(
                        (LAMBDA, *MORE),
                        (restless[SR], *(restless[f"SR, λ = {damping:g}"] for damping in MORE)),
                        strict=True,
                    )
                ),
                min(restless[SR], restless[f"SR, λ = {MORE[0]:g}"]) < 10.0,
            ),
            (
                "SR is also fast: within a quarter of the fastest of SVD, QR and pinv, or faster",
                "rated high",
                f"{ms[SR]:.0f} µs a step; from the fastest: {', '.join(order)}",
                ms[SR] < 1.25 * min(ms[SVD], ms[QR], ms[PINV]),
            ),
            (
                "near singular poses SR stays bounded, inverses do not",
                "said in the text",
                f"an elbow bent by 1e-6 rad or more: steps up to {peak[SR]:.2g} rad with SR (bound "
                f"|e|/2√λ = {bound:.2g}), {peak[SVD]:.1e} with SVD, {peak[QR]:.1e} with QR",
                peak[SR] <= 1.001 * bound < min(peak[SVD], peak[QR]),
            ),
            (
                "the Jacobian transpose is the cheapest",
                "n² flops, the fewest",
                f"{ms[JT]:.0f} µs, the fastest is {fastest}; it meets reachable goals in "
                f"{solved[JT]:.0f} % of the problems after {count} steps, SR in {solved[SR]:.0f} %",
                fastest == JT,
            ),
            (
                "flops as printed",
                "SR 2n², SVD 2mn² + 2n³, QR 2n³ + 3n², pinv 16mn² + 12n³",
                f"for {m} × {n}: "
                + ", ".join(
                    f"{name} {flops(name, m, n)[0] / flops(name, m, n)[1]:.2g} times too many"
                    if flops(name, m, n)[0] > flops(name, m, n)[1]
                    else f"{name} {flops(name, m, n)[1] / flops(name, m, n)[0]:.2g} times too few"
                    for name in STEPS
                ),
                False,
            ),
        ],
    )
    return Findings(
        [
            ResultTable(
                "recipe-fig8",
                f"{len(tasks)} problems, reachable and out of reach; J is {m} × {n}",
                (
                    "method",
                    "met, reachable %",
                    "still jumping, out of reach %",
                    "last steps, out of reach",
                    "longest step, out of reach",
                    "µs a step",
                    "flops as printed",
                    "printed",
                    "flops for a wide J",
                    "wide",
                ),
                rows,
            ),
            verdicts,
            ResultTable(
                "recipe-fig8-singular",
                "length of a step against the bend of an elbow",
                ("bend [rad]", *(f"{name} [rad]" for name in STEPS)),
                [
                    (bend, *(curves[name][k] for name in STEPS))
                    for k, bend in enumerate(BENDS.tolist())
                ],
                shown=False,
            ),
        ],
        [
            Picture(
                "recipe-fig8",
                "Left: how long a step is as an elbow straightens and the arm becomes singular. "
                "Middle: time, and how restless a method is out of reach. Right: flops as printed "
                "and for a wide J.",
                _draw_picture(curves, ms, last, m, n),
            )
        ],
        [
            "The figure rates robustness and speed by bars without numbers; ours are measured, "
            "without limits, line search or clamps.",
            "Problems: hands, feet, pelvis and head of the workout, from the pose "
            f"{INTERVAL:g} s before; out of reach, all ends are {FAR:g} times as far from the "
            f"pelvis. Met: every end within {TOLERANCE} units, a centimetre. Jumping: the last "
            f"{LAST} steps are longer than {RESTLESS} on average, or numbers overflowed.",
            "The printed flops count n × n matrices; J is wide. QR is of Jᵀ, as the printed one "
            "has no solution for a wide J. JT has Buss's length, which the table leaves out.",
            "λ has the unit of length squared, which the Recipe does not name; here a unit is "
            "0.2 m.",
            "Times are of numpy and LAPACK, one call after another; at this size calls cost as "
            "much as flops.",
        ],
    )


def _far(target: Array) -> Array:
    return target[0] + FAR * (target - target[0])


def _is_met(walked: Walk) -> bool:
    return bool(np.isfinite(walked.objective[-1]) and walked.objective[-1] < TOLERANCE**2)


def _is_jumping(walked: Walk, count: int) -> bool:
    return len(walked.lengths) < count or bool(walked.lengths[-LAST:].mean() > RESTLESS)


def _mean_last_step(walked: Walk) -> float:
    return float(walked.lengths[-LAST:].mean()) if len(walked.lengths) > 0 else np.inf


def _time(step: Callable[[Array, Array], Array], J: Array, e: Array) -> float:
    """Return the processor time of a step [µs], the least of five means."""
    seconds = []
    for _ in range(5):
        began = time.thread_time()
        for _ in range(REPEATS):
            step(J, e)
        seconds.append((time.thread_time() - began) / REPEATS)
    return 1e6 * min(seconds)


def _draw_picture(
    curves: dict[str, list[float]],
    ms: dict[str, float],
    last: dict[str, float],
    m: int,
    n: int,
) -> object:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13.0, 4.2), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    styles = {PINV: "--", QR: ":"}
    for name, curve in curves.items():
        left.loglog(BENDS, curve, styles.get(name, "-"), color=COLORS[name], label=name, lw=2)
    left.set_xlabel("bend of the elbow [rad]")
    left.set_ylabel("norm of the step [rad]")
    left.invert_xaxis()
    left.legend(fontsize=9)
    left.grid(alpha=0.3)
    for name in ms:
        middle.loglog(ms[name], last[name], "o", color=COLORS[name], ms=9)
        aside = (-10, -16) if name == SVD else (8, -3)  # beside pinv there is no room
        middle.annotate(name, (ms[name], last[name]), aside, textcoords="offset points")
    middle.margins(0.15)
    middle.set_xlabel("time of a step [µs]")
    middle.set_ylabel("last steps, out of reach [rad and units]")
    middle.grid(alpha=0.3)
    place = np.arange(len(ms))
    pairs = np.array([flops(name, m, n) for name in ms])
    right.bar(place - 0.2, pairs[:, 0], 0.4, color="silver", label="as printed")
    right.bar(place + 0.2, pairs[:, 1], 0.4, color="tab:green", label="wide J")
    right.set_yscale("log")
    right.set_xticks(place, list(ms))
    right.set_ylabel(f"flops of a step, {m} × {n}")
    right.legend(fontsize=9)
    return figure


EXPERIMENT = Experiment(
    "recipe-fig8",
    "Figure 8: solvers",
    "recipe",
    "A table of five ways to solve for a step, with bars for robustness and speed, and flops: SR "
    "about 2n², SVD and QR about 2n³, the transpose n², MATLAB's pinv about 12n³. SR 'makes a very "
    "suitable candidate solver both in terms of robustness and speed'.",
    run,
)
