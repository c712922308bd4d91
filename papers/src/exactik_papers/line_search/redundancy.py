"""Figure 2 of the projected line-search paper: all goals are met, and the pose is another one."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from exactik.goals import PostureGoal
from exactik.problem import Problem
from exactik.solvers import solve
from exactik.typing import Array
from exactik_papers.experiment import (
    Experiment,
    Findings,
    Picture,
    Progress,
    ResultTable,
    make_claims_table,
)
from exactik_papers.line_search.jitter import distances_from_take
from exactik_papers.recording import Recording
from exactik_papers.sampled import (
    FOLLOWERS,
    LINE_SEARCH,
    TOLERANCE,
    UNIT,
    Sampled,
    follow_samples,
    sample_take,
)
from exactik_papers.stick import draw_dots, draw_stick, hide_axes

__all__ = ["EXPERIMENT", "find_nearest_pose", "run"]


INTERVAL = 0.175  # [s]
BUDGET = 10000  # gradients, so that goals are met
PULL = 1e-6  # weight of the last pose beside a goal's 1: the goals come first


def find_nearest_pose(data: Sampled, n: int, last: Array, start: Array) -> Array:
    """Return the pose nearest to the last one among those that meet the goals of a sample, (nq,).

    By a goal of small weight that the pose be the last one; the lower of two descents counts.
    """
    problem, names = data.at(n), data.skeleton.dof_names
    lock = [names[i] for i in np.flatnonzero(problem.locked)]
    goals = [*problem.goals, PostureGoal(last, weight=PULL)]
    asked = Problem(data.skeleton, goals, limits="hard", lock=lock)
    results = [solve(asked, q0=q) for q in (start, last)]
    return min(results, key=lambda result: result.cost).q


def run(recording: Recording, out: Path, progress: Progress, *, budget: int = BUDGET) -> Findings:
    """Follow the motion by the line search; compare what no goal asks for."""
    data = sample_take(recording, INTERVAL)
    q = follow_samples(data, FOLLOWERS[LINE_SEARCH], budget).q
    progress(1, 2)
    off = np.linalg.norm(distances_from_take(data, q), axis=-1)
    ends = [data.skeleton.bone_index(goal) for goal in data.problem.rows]
    met = np.flatnonzero(off[:, ends].max(axis=1) < UNIT * TOLERANCE)
    met = met[met > 0]
    worst = int(met[np.argmax(off[met].max(axis=1))])
    rank = int(np.linalg.matrix_rank(data.at(worst).jacobian(q[worst])))
    moving = int(np.count_nonzero(~data.problem.locked))
    names = [bone.name for bone in data.skeleton.bones]
    rows = [
        (name, float(off[worst, k]), float(off[met, k].mean()), float(off[met, k].max()))
        for k, name in enumerate(names)
    ]
    rows = sorted(rows, key=lambda row: -row[1])
    moved, least = [], []
    for n in met:
        closest = find_nearest_pose(data, int(n), q[n - 1], q[n])
        moved.append(_between(data, q[n], q[n - 1]))
        least.append(_between(data, closest, q[n - 1]))
    progress(2, 2)
    ratio = float(np.median(np.array(moved) / np.array(least)))
    other = float(off[worst].max())
    verdicts = make_claims_table(
        "pls-fig2",
        [
            (
                "a correct solution may deviate from the reference, by redundancy",
                "seen in one picture",
                f"all six goals within {off[worst, ends].max():.2f} cm, {rows[0][0]} off by "
                f"{other:.1f} cm; {moving - rank} of {moving} dofs are open (rank {rank})",
                other > 5.0 and moving > rank,
            ),
            (
                "the solution closest to the previous one is chosen",
                "said, also of this method",
                f"median over {len(met)} samples: the step is {ratio:.2f} times as long as one to "
                "the nearest pose that meets the goals",
                ratio < 1.1,
            ),
        ],
    )
    table = ResultTable(
        "pls-fig2",
        f"How far bones are from the take's, where all goals are met within a centimetre "
        f"({len(met)} of {len(q) - 1} samples)",
        ("bone", "in the picture [cm]", "mean [cm]", "most [cm]"),
        rows,
    )
    return Findings(
        [table, verdicts],
        [
            Picture(
                "pls-fig2",
                "Grey: the take. Green: the projected line search, which meets all goals (dots).",
                _draw_poses(data, worst, q[worst]),
            )
        ],
        [
            "The paper does not say which frame it shows; ours is the one with the largest "
            "deviation among those that meet all goals.",
            "The nearest pose that meets the goals is found with a posture goal of weight "
            f"{PULL:g} and auto; distances are norms over all dofs, radians and units.",
        ],
    )


def _between(data: Sampled, a: Array, b: Array) -> float:
    return float(np.linalg.norm(data.skeleton.difference(a, b)))


def _draw_poses(data: Sampled, n: int, q: Array) -> object:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.6, 4.8), layout="constrained")
    for axes, azimuth in zip(figure.subplots(1, 2), (50.0, -40.0), strict=True):
        draw_stick(axes, data.skeleton, data.q[n], data.up, "silver", width=4.0, azimuth=azimuth)
        draw_stick(axes, data.skeleton, q, data.up, "tab:green", width=2.5, azimuth=azimuth)
        draw_dots(axes, data.targets[n], data.up, size=6.0, azimuth=azimuth)
        hide_axes(axes)
    return figure


EXPERIMENT = Experiment(
    "pls-fig2",
    "Figure 2: a correct solution that deviates by redundancy",
    "projected",
    "'An example of a mathematically correct solution which deviates from the reference due to "
    "redundancy': the line search's solution as a ghost over the motion.",
    run,
)
