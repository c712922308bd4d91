"""Table 4: whole takes, each frame started from the solution of the one before."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from exactik.solvers import Method, solve
from exactik.typing import Array
from exactik_papers.descents import AUTO, EXACT, LM, METHODS, QUASI, SOLVED, SOLVED_COST_CM2
from exactik_papers.draw_curves import COLOURS, add_legend_below
from exactik_papers.experiment import (
    Experiment,
    Findings,
    Picture,
    Progress,
    ResultTable,
    make_claims_table,
)
from exactik_papers.recording import Recording, Take

__all__ = ["EXPERIMENT", "FollowedTake", "follow_take"]

COMPARABLE = "dg_03-05_02"  # the published take that is to be had
AIM = 0.5  # [cm] of the exact Hessian there
PUBLISHED = {  # seconds and centimetres a frame: BFGS 10, BFGS 100, exact 10
    COMPARABLE: ((0.38, 23.78), (2.63, 1.61), (1.01, 0.5)),
    "dg_03-02_03": ((0.31, 15.25), (4.25, 1.65), (0.69, 0.13)),
    "bk_05-03_03": ((0.33, 308.06), (2.19, 5.96), (0.91, 0.10)),
    "mm_03-05_02": ((0.32, 43.3), (2.29, 2.80), (0.77, 0.09)),
}
COLUMNS = ((QUASI, 10), (QUASI, 100), (EXACT, 10), (SOLVED, 10), (LM, 10), (AUTO, 10))
STARTS = ("data pose", "θ = 0")
FLIP = 90.0  # [degrees] that no bone turns by in a hundredth of a second
SLOW = 100  # iterations in Python, which one start must do for


class FollowedTake(NamedTuple):
    """A take as a solver followed it.

    Attributes:
        q: poses [rad or cm], (T, nq).
        error: summed distance of the markers [cm], (T,).
        ms: processor time, (T,).
        iterations: (T,).
    """

    q: Array
    error: Array
    ms: Array
    iterations: Array


def follow_take(
    take: Take, method: Method, start: str, frames: int, tell=lambda done: None
) -> FollowedTake:
    """Solve frame after frame, each from the solution of the one before."""
    q = take.q[0].copy() if start == STARTS[0] else take.zero(0)
    poses, error, ms, iterations = [], [], [], []
    for frame in range(frames):
        problem = take.problem(frame)
        begin = time.thread_time()
        result = solve(problem, q0=q, solver=method)
        ms.append(1e3 * (time.thread_time() - begin))
        q = result.q
        poses.append(q)
        error.append(float(take.marker_errors(q, frame).sum()))
        iterations.append(result.iterations)
        if frame % 50 == 0:
            tell(frame)
    return FollowedTake(*(np.array(values) for values in (poses, error, ms, iterations)))


def run(recording: Recording, out: Path, progress: Progress) -> Findings:
    """Follow every take with every column."""
    followed: dict[tuple[str, str, int, str], FollowedTake] = {}
    jobs = [
        (take, name, count, start)
        for k, take in enumerate(recording.takes.values())
        for start in (STARTS if k == 0 else STARTS[1:])  # one take from both is enough
        for name, count in COLUMNS
        if start == STARTS[1] or count < SLOW
    ]
    total, before = sum(len(job[0]) for job in jobs), 0
    for take, name, count, start in jobs:
        method = replace(METHODS[name], max_iterations=count, small_cost=SOLVED_COST_CM2)

        def tell(frame: int, before: int = before) -> None:
            progress(before + frame, total)

        followed[take.name, name, count, start] = follow_take(take, method, start, len(take), tell)
        before += len(take)
    progress(total, total)
    rows = []
    for (take, name, count, start), result in followed.items():
        theirs = None
        if start == STARTS[1] and take in PUBLISHED and (name, count) in COLUMNS[:3]:
            theirs = PUBLISHED[take][COLUMNS.index((name, count))]
        rows.append(
            (
                take,
                name,
                count,
                start,
                *(theirs if theirs is not None else (None, None)),
                float(result.ms.mean()),
                float(result.error.mean()),
                float(np.median(result.error)),
                float(result.error.max()),
                float(result.iterations.mean()),
                None if theirs is None else 1e3 * theirs[0] / float(result.ms.mean()),
            )
        )
    columns = (
        "take",
        "method",
        "k_max",
        "first frame from",
        "published s",
        "published error [cm]",
        "ours, ms",
        "ours, mean error [cm]",
        "median error [cm]",
        "worst frame [cm]",
        "iterations, mean",
        "published time / ours",
    )
    table = ResultTable(
        "table4", "Time and summed error of the 41 markers per frame", columns, rows
    )
    others = ResultTable(
        "table4-published",
        "All of the published table",
        ("take", "method", "k_max", "s", "error [cm]"),
        [
            (take, name, count, *pair)
            for take, pairs in PUBLISHED.items()
            for (name, count), pair in zip(COLUMNS, pairs, strict=False)
        ],
    )
    first = next(iter(recording.takes))

    def error(name: str, count: int, start: str = STARTS[1]) -> float:
        return float(followed[first, name, count, start].error.mean())

    def ms(name: str, count: int) -> float:
        return float(followed[first, name, count, STARTS[1]].ms.mean())

    best = {name: min(error(name, 10, start) for start in STARTS) for name in (EXACT, SOLVED)}

    def both(name: str) -> str:
        return (
            f"{error(name, 10):.3f} cm on {first} from θ = 0, "
            f"{error(name, 10, STARTS[0]):.3f} cm from the data pose"
        )

    verdicts = make_claims_table(
        "table4",
        [
            (
                f"exact Hessian, k_max = 10: {AIM:g} cm or less; as published, by conjugate "
                "gradients",
                f"{AIM:g} cm on {COMPARABLE}",
                both(EXACT),
                best[EXACT] <= AIM,
            ),
            (
                "the same with the trust-region problem solved exactly (newton)",
                "not done",
                both(SOLVED),
                best[SOLVED] <= AIM,
            ),
            (
                "quasi-Newton with k_max = 10 does very poorly",
                "23.78 cm",
                f"{error(QUASI, 10):.2f} cm from θ = 0, {error(QUASI, 10, STARTS[0]):.2f} cm from "
                "the data pose",
                error(QUASI, 10) > 10.0 * error(SOLVED, 10),
            ),
            (
                "quasi-Newton with k_max = 100 does not get to the error of the exact Hessian",
                "1.61 against 0.5 cm",
                f"{error(QUASI, 100):.3f} against {error(EXACT, 10):.3f} cm (PCG), "
                f"{error(SOLVED, 10):.3f} cm (newton)",
                error(QUASI, 100) > max(error(EXACT, 10), error(SOLVED, 10)),
            ),
            (
                "although its time is comparable",
                "2.63 against 1.01 s",
                f"{ms(QUASI, 100):.2f} against {ms(EXACT, 10):.2f} ms; auto {ms(AUTO, 10):.2f} ms",
                None,
            ),
            (
                "the exact method takes fewer than 4 iterations to f < 1e-2",
                "typically",
                f"{float(followed[first, EXACT, 10, STARTS[1]].iterations.mean()):.2f} on average",
                float(followed[first, EXACT, 10, STARTS[1]].iterations.mean()) < 4.0,
            ),
        ],
    )
    data = [
        (take, name, count, start, frame, float(result.error[frame]), int(result.iterations[frame]))
        for (take, name, count, start), result in followed.items()
        for frame in range(len(result.error))
    ]
    every = ResultTable(
        "table4-frames",
        "every frame",
        ("take", "method", "k_max", "first frame from", "frame", "error [cm]", "iterations"),
        data,
        shown=False,
    )
    flips = [row for take in recording.takes.values() for row in _find_flips(take)]
    turned = ResultTable(
        "table4-flips",
        f"Where a bone of the file turns by more than {FLIP:g}° from one frame to the next",
        ("take", "frame", "bone that turns most", "degrees"),
        flips,
        shown=len(flips) > 0,
    )
    caption = "Summed error of the markers over the take; dashed: the published means."
    return Findings(
        [table, verdicts, turned, others, every],
        [Picture("table4", caption, _draw_picture(recording, followed))],
        [
            "The text starts the first frame from θ = 0, the published script from the pose of the "
            "file; both are here. The published script leaves out an argument, so that it runs "
            "neither the exact Hessian nor the tolerance it says, and cannot have made the table.",
            "Markers are put on the bones anew at every frame from the pose of the file, as in the "
            "published scripts. Errors are therefore a matter of when a solver stops, not of how "
            "well the figure fits; experiment protocol has the real one.",
            "Where a bone of the file flips, the places that markers are given on it flip too, "
            "although the recorded markers move on: no warm start is near the new pose. A solver "
            "that ends in another minimum there stays in it until the next flip, and its mean says "
            "little; see the medians.",
            "The ratio of times compares a machine and language of 2018 with ours, not methods.",
        ],
    )


def _find_flips(take: Take) -> list[tuple]:
    """Return where poses of the file are far from those before: take, frame, bone, degrees."""
    turns = take.skeleton.forward(take.q).rotations
    # |A − B|² = 8 sin²(θ/2) for rotations by θ from each other.
    apart = np.sqrt(((turns[1:] - turns[:-1]) ** 2).sum(axis=(2, 3)) / 8.0)
    degrees = np.degrees(2.0 * np.arcsin(np.minimum(apart, 1.0)))
    frames = np.flatnonzero(degrees.max(axis=1) > FLIP)
    most = degrees[frames].argmax(axis=1)
    names = take.skeleton.bone_names
    return [
        (take.name, int(t) + 1, names[k], float(degrees[t, k]))
        for t, k in zip(frames, most, strict=True)
    ]


def _draw_picture(recording: Recording, followed: dict) -> object:
    from matplotlib.figure import Figure

    takes = list(recording.takes.values())
    picture = Figure(figsize=(11.5, 3.6 * len(takes)), layout="constrained")
    places = picture.subplots(len(takes), 1, squeeze=False)[:, 0]
    for take, axes in zip(takes, places, strict=True):
        for k, (name, count) in enumerate(COLUMNS):
            errors = followed[take.name, name, count, STARTS[1]].error
            width = max(1, len(errors) // 400)
            bins = errors[: len(errors) // width * width].reshape(-1, width).mean(axis=1)
            times = (np.arange(len(bins)) + 0.5) * width / take.rate
            style = ":" if (name, count) == (QUASI, 10) else "-"
            label = f"{name}, k_max {count}"
            axes.plot(times, bins, style, color=COLOURS[name], lw=1.1, label=label)
            if take.name in PUBLISHED and k < 3:
                theirs = PUBLISHED[take.name][k][1]
                axes.axhline(theirs, color=COLOURS[name], lw=0.9, ls="--")
        axes.set_yscale("log")
        axes.set_xlim(0, len(take) / take.rate)
        axes.set_ylabel("error [cm]")
        axes.set_title(f"{take.name}, first frame from θ = 0", fontsize=11)
        axes.grid(alpha=0.25)
    places[-1].set_xlabel("time in the take [s]")
    add_legend_below(picture, places[-1], 3)
    return picture


EXPERIMENT = Experiment(
    "table4",
    "Table 4: whole takes",
    "hessian",
    "Average time and error (summed over the markers, cm) per frame over whole takes, each frame "
    "started from the solution of the one before, stopped at f < 1e-2 or after k_max iterations.",
    run,
)
