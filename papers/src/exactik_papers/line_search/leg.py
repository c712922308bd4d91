"""Figure 4 of the projected line-search paper: a leg in its extreme positions."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from exactik.goals import PositionGoal
from exactik.model import human
from exactik.problem import Problem
from exactik.solvers import ProjectedGradient, Result, solve
from exactik.typing import Array
from exactik_papers.experiment import (
    Experiment,
    Findings,
    Picture,
    Progress,
    ResultTable,
    make_claims_table,
)
from exactik_papers.recording import CM, Recording
from exactik_papers.stick import draw_dots, draw_stick, hide_axes

__all__ = ["EXPERIMENT", "GOALS", "run", "solved"]


ENDING, HIP = "l_foot", "l_thigh"
GOALS = {
    "1 forward": (0.62, 0.05, -0.42),
    "2 backward": (-0.32, 0.02, -0.74),
    "3 behind, high": (-0.70, 0.0, -0.25),
    "4 to the side": (0.05, 0.80, -0.15),
    "5 across": (0.15, -0.60, -0.50),
}
"""Where the ankle should be, from the hip [m]: forward, left, up."""
NEAR = 0.01  # [m], the paper's tolerance
AT_LIMIT = 1e-6  # [rad]
BENT = 0.3  # knee at the start [rad]; straight it is singular
DRAGS = 30  # steps in which the goal is dragged to its place


def make_problem(goal: Array, limits: str) -> Problem:
    """Return the problem of a leg of the built-in human; all other dofs are locked."""
    figure = human()
    moving = ("l_thigh", "l_shin", "l_foot")
    lock = [name for name in figure.dof_names if name.split(".")[0] not in moving]
    return Problem(figure, [PositionGoal(ENDING, goal, name="ankle")], limits=limits, lock=lock)


def solved(place: tuple[float, float, float], limits: str) -> tuple[Result, Array]:
    """Return where the projected line search ends, and the goal [m], dragged there from the start.

    A goal that jumps may leave the knee at the wrong limit, a local minimum.
    """
    figure = human()
    q = figure.neutral()
    q[figure.dof_names.index("l_shin.ry")] = BENT
    pose = figure.forward(q).positions
    begin, goal = pose[figure.bone_index(ENDING)], pose[figure.bone_index(HIP)] + np.array(place)
    hasty, method = ProjectedGradient(max_iterations=200), ProjectedGradient(max_iterations=3000)
    asked = make_problem(goal, limits)
    for k in range(DRAGS - 1):
        along = begin + (k + 1) / DRAGS * (goal - begin)
        q = solve(asked.with_targets({"ankle": along}), q0=q, solver=hasty).q
    return solve(asked, q0=q, solver=method), goal


def run(recording: Recording, out: Path, progress: Progress) -> Findings:
    """Pose the leg with limits and without."""
    figure = human()
    names = figure.dof_names
    lower, upper = np.array([figure.lower, figure.upper])
    rows, poses, outside = [], [], []
    for k, (name, place) in enumerate(GOALS.items()):
        inside, goal = solved(place, "hard")
        free, _ = solved(place, "off")
        miss = [_goal_error(result.q, goal) for result in (inside, free)]
        held = (inside.q - lower < AT_LIMIT) | (upper - inside.q < AT_LIMIT)
        held &= np.isfinite(lower)
        over = np.degrees(np.maximum(lower - free.q, free.q - upper).clip(min=0.0))
        limits = ", ".join(names[i] for i in np.flatnonzero(held))
        away = float(np.linalg.norm(free.q - inside.q))
        rows.append((name, CM * miss[0], CM * miss[1], limits, float(over.max()), np.degrees(away)))
        beyond = np.maximum(lower - inside.q, inside.q - upper).max()
        outside.append(float(beyond))
        poses.append((name, inside.q, free.q, goal))
        progress(k + 1, len(GOALS))
    third = rows[2]
    verdicts = make_claims_table(
        "pls-fig4",
        [
            (
                "in pose 3 the goal would be reachable without limits",
                "said of the picture",
                f"missed by {third[1]:.1f} cm with limits, by {third[2]:.2f} cm without",
                third[1] > CM * NEAR > third[2],
            ),
            (
                "poses 4 and 5 would be different without limits",
                "said of the picture",
                f"{rows[3][5]:.0f}° and {rows[4][5]:.0f}° apart (norm over the leg's dofs)",
                min(rows[3][5], rows[4][5]) > 1.0,
            ),
            (
                "limits hold at every solution",
                "by the projection (40)",
                f"at most {max(outside):.1e} rad beyond a limit",
                max(outside) <= 0.0,
            ),
        ],
    )
    table = ResultTable(
        "pls-fig4",
        "The projected line search with limits and without",
        (
            "pose",
            "miss [cm]",
            "miss without limits [cm]",
            "on a limit",
            "most beyond a limit without [°]",
            "poses apart [°]",
        ),
        rows,
    )
    return Findings(
        [table, verdicts],
        [
            Picture(
                "pls-fig4",
                "Green: with limits. Red, thin: without. The ankle's goal is the orange ball.",
                _draw_poses(poses),
            )
        ],
        [
            "Leg, limits and goals are ours: ranges of motion of healthy adults on the built-in "
            "human, whose foot has no goal for its turn. The published figures are not to be had.",
        ],
    )


def _goal_error(q: Array, goal: Array) -> float:
    figure = human()
    ankle = figure.forward(q).positions[figure.bone_index(ENDING)]
    return float(np.linalg.norm(ankle - goal))


def _draw_poses(poses: list[tuple[str, Array, Array, Array]]) -> object:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13.0, 3.2), layout="constrained")
    for axes, (name, inside, free, goal) in zip(figure.subplots(1, len(poses)), poses, strict=True):
        azimuth = 20.0 if name[0] in "123" else 75.0
        draw_stick(axes, human(), free, 2, "tab:red", width=1.0, azimuth=azimuth)
        draw_stick(axes, human(), inside, 2, "tab:green", width=2.5, azimuth=azimuth)
        draw_dots(axes, goal, 2, size=9.0, azimuth=azimuth)
        axes.set_title(name, fontsize=11)
        hide_axes(axes)
        axes.set_xlim(-0.85, 0.95)
        axes.set_ylim(-0.15, 1.85)
    return figure


EXPERIMENT = Experiment(
    "pls-fig4",
    "Figure 4: a leg at its limits",
    "projected",
    "'Joint limits shown by posing a leg in its extreme positions.' In pose 3 the goal would be "
    "reachable without limits; poses 4 and 5 would be different.",
    run,
)
