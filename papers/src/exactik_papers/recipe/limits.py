"""Section 3.3 of the Recipe: limits inside the solver, or clamped outside of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from exactik.solvers import DampedLeastSquares, solve
from exactik.typing import Array
from exactik_papers.experiment import (
    Experiment,
    Findings,
    Picture,
    Progress,
    ResultTable,
    make_claims_table,
)
from exactik_papers.recipe.jacobian_steps import LAMBDA, SR, STEPS, Walk, walk
from exactik_papers.recording import Recording
from exactik_papers.sampled import Sampled, sample_take

__all__ = ["EXPERIMENT", "FINALLY", "KEPT", "OUTSIDE", "ROWS", "run"]


INTERVAL = 0.7  # [s]
SAMPLES = 40
STEPS_TAKEN = 60
GAIN = 3.0  # of a limit's row beside a goal's [unit/rad]
KEPT, ROWS = "held in the solver, others solved again", "limits as rows of the system"
OUTSIDE, FINALLY = "every step clamped outside", "clamped once, at the end"
COLORS = {KEPT: "tab:green", ROWS: "tab:olive", OUTSIDE: "tab:red", FINALLY: "tab:blue"}


def walk_in_limits(data: Sampled, n: int, q: Array, count: int) -> Walk:
    """Put dofs that leave the limits on them and solve for the others again, in every step."""
    method = DampedLeastSquares(
        damping=float(np.sqrt(LAMBDA)),
        safeguard=False,
        max_step=None,
        max_iterations=count,
        tolerance=0.0,
    )
    result = solve(data.at(n), q0=q, solver=method, history=True)
    assert result.history is not None
    steps = result.history.step[1:]
    return Walk(result.q, 2.0 * result.history.cost, steps, 0.0)


def as_rows(data: Sampled, n: int, q: Array, count: int) -> Walk:
    """Add a row for every dof beyond a limit, which asks it back to the limit; clamp at the end."""
    skeleton = data.skeleton
    lower, upper = skeleton.lower, skeleton.upper

    def extra(q: Array) -> tuple[Array, Array]:
        back = np.clip(q, lower, upper) - q
        out = np.flatnonzero(back)
        return GAIN * np.eye(skeleton.nv)[out], GAIN * back[out]

    return _clamp_at_end(data, n, walk(data, n, q, STEPS[SR], count, extra=extra))


def _clamp_at_end(data: Sampled, n: int, walked: Walk) -> Walk:
    q = data.skeleton.clip(walked.q)
    last = 2.0 * data.at(n).cost(q)
    return Walk(q, np.append(walked.objective, last), walked.lengths, walked.beyond)


def run(
    recording: Recording,
    out: Path,
    progress: Progress,
    *,
    samples: int = SAMPLES,
    count: int = STEPS_TAKEN,
) -> Findings:
    """Solve the same problems in four ways."""
    data = sample_take(recording, INTERVAL)
    pairs = [sample_take(recording, INTERVAL, start=0.1 * k) for k in range(1, 7)]
    tasks = [(task_data, n) for task_data in (data, *pairs) for n in range(1, len(task_data.q))][
        :samples
    ]
    ways = {
        KEPT: walk_in_limits,
        ROWS: as_rows,
        OUTSIDE: lambda task_data, n, q, k: walk(task_data, n, q, STEPS[SR], k, clamp=True),
        FINALLY: lambda task_data, n, q, k: _clamp_at_end(
            task_data, n, walk(task_data, n, q, STEPS[SR], k)
        ),
    }
    rows, ends, uphill, curves = [], {}, {}, {}
    for k, (name, way) in enumerate(ways.items()):
        walks = [way(task_data, n, task_data.q[n - 1], count) for task_data, n in tasks]
        ends[name] = np.array([walked.objective[-1] for walked in walks])
        rises = [float((np.diff(walked.objective) > 0.0).mean()) for walked in walks]
        uphill[name] = 100.0 * float(np.mean(rises))
        beyond = max(walked.beyond for walked in walks)
        quarters = np.percentile(ends[name], [25, 50, 75, 100]).tolist()
        rows.append((name, *quarters, uphill[name], float(np.degrees(max(0.0, beyond)))))
        curves[name] = np.median(
            [
                np.resize(walked.objective, count + 1)
                if len(walked.objective) > count
                else np.pad(walked.objective, (0, count + 1 - len(walked.objective)), "edge")
                for walked in walks
            ],
            axis=0,
        )
        progress(k + 1, len(ways))
    middle = {name: float(np.median(values)) for name, values in ends.items()}
    verdicts = make_claims_table(
        "recipe-limits",
        [
            (
                "limits are best kept within the solver",
                "said, not measured",
                f"median objective left: {KEPT} {middle[KEPT]:.2g}, {OUTSIDE} "
                f"{middle[OUTSIDE]:.2g}, {FINALLY} {middle[FINALLY]:.2g}",
                middle[KEPT] < min(middle[OUTSIDE], middle[FINALLY]),
            ),
            (
                "and rows for limits that are left do it",
                "the way that is recommended",
                f"median {middle[ROWS]:.2g} once what is still beyond a limit is clamped",
                middle[ROWS] < min(middle[OUTSIDE], middle[FINALLY]),
            ),
            (
                "clamping each step outside 'might lead to unstable behaviours'",
                "said",
                f"steps that raise the objective: {uphill[OUTSIDE]:.0f} % clamped outside, "
                f"{uphill[KEPT]:.0f} % in the solver",
                uphill[OUTSIDE] > uphill[KEPT],
            ),
        ],
    )
    return Findings(
        [
            ResultTable(
                "recipe-limits",
                f"{len(tasks)} problems, {count} steps of SR each [unit²; 1 unit = 0.2 m]",
                (
                    "limits",
                    "lower quartile",
                    "median",
                    "upper quartile",
                    "most",
                    "steps uphill %",
                    "most beyond a limit on the way [°]",
                ),
                rows,
            ),
            verdicts,
        ],
        [
            Picture(
                "recipe-limits",
                "Left: median objective on the way. Right: what is left at the end, clamped.",
                _draw_boxes(curves, ends),
            )
        ],
        [
            "The Recipe gives advice and no numbers. Problems are ours: hands, feet, pelvis and "
            f"head of the workout, the pose {INTERVAL:g} s before as start, limits as wide as the "
            "take's own range.",
            f"λ = {LAMBDA} (the Recipe: below 1); rows of limits count {GAIN:g} units per radian.",
            "Objectives on the way of the two that leave the limits are those of impossible poses.",
        ],
    )


def _draw_boxes(curves: dict[str, Array], ends: dict[str, Array]) -> object:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11.5, 4.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    lowest = 1e-8
    for name, curve in curves.items():
        left.semilogy(np.maximum(curve, lowest), color=COLORS[name], label=name)
    left.set_xlabel("step")
    left.set_ylabel("objective, median [unit²]")
    left.legend(fontsize=8)
    left.grid(alpha=0.3)
    boxes = right.boxplot(
        [np.maximum(values, lowest) for values in ends.values()],
        patch_artist=True,
        widths=0.6,
        medianprops={"color": "black"},
    )
    for box, name in zip(boxes["boxes"], ends, strict=True):
        box.set_facecolor(COLORS[name])
    right.set_yscale("log")
    right.set_xticks(
        range(1, len(ends) + 1), ["in the\nsolver", "as rows", "outside", "at the\nend"]
    )
    right.set_ylabel("objective left [unit²]")
    right.grid(axis="y", alpha=0.3)
    return figure


EXPERIMENT = Experiment(
    "recipe-limits",
    "Section 3.3: clamping against limits",
    "recipe",
    "Limits should be rotational constraints inside the solver, with no error inside their range. "
    "Clamping the solution outside 'might lead to unstable behaviours'; 'the best place for the "
    "constraints to fight is within the solver'.",
    run,
)
