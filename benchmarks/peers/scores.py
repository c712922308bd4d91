"""Scores of the answers, by the judge."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

import exactik as ik
from benchmarks.peers.environments import Answers
from benchmarks.peers.judge import Judge
from benchmarks.peers.protocol import Arm, Figure
from benchmarks.peers.tasks import find_free_dofs
from benchmarks.support.hdm05 import LOCK, find_take_folder, load_take
from exactik.typing import Array

SEARCH_STARTS = 48  # starts for each frame, for the best objective known
NEAR_EXCESS, NEARER_EXCESS, FAR_EXCESS = 1e-2, 1e-3, 0.25  # shares above the best objective


class ArmScore(NamedTuple):
    """Shares of the poses in percent, milliseconds of the processor."""

    title: str
    version: str
    attempts: int
    asked: int
    success: float
    success_without_limits: float
    median: float
    p99: float


class FigureScore(NamedTuple):
    """Centimetres of a marker on average, shares of the frames in percent, milliseconds."""

    title: str
    version: str
    asked: int
    error: float
    nearer: float
    near: float
    far: float
    median: float


def make_row_title(answers: Answers) -> str:
    label = f", {answers.label}" if answers.label else ""
    return f"{answers.tool.title}{label}"


def score_arm(task: Arm, answers: Answers) -> ArmScore:
    judge, q, ms = Judge(task.urdf), answers.values["q"], answers.values["ms"]
    pairs = zip(q, task.targets[: len(q)], strict=True)
    reached = np.array([judge.is_reached(x, task.tool, T) for x, T in pairs])
    inside = np.array([judge.is_inside(x) for x in q])
    # Of each time the best pass, for everybody: the machine can only add to it.
    median, p99 = np.percentile(ms, [50, 99], axis=1).min(axis=1).tolist()
    return ArmScore(
        title=make_row_title(answers),
        version=answers.version,
        attempts=answers.attempts,
        asked=len(q),
        success=100 * float(np.mean(reached & inside)),
        success_without_limits=100 * float(np.mean(reached)),
        median=median,
        p99=p99,
    )


def compute_distances(judge: Judge, task: Figure, q: Array, places: Array) -> Array:
    """Return the distances of the markers from their places [m], (frames, markers)."""
    positions = np.array([judge.forward(x, task.markers)[:, :3, 3] for x in q])
    return np.linalg.norm(positions - places[: len(q)], axis=2)


def search_best(task: Figure) -> tuple[Array, Array]:
    """Return the coordinates of a search from many starts, for the tracked and the cold frames."""
    folder = find_take_folder(task.take)
    assert folder is not None
    take = load_take(folder, task.take)
    free = find_free_dofs(take.skeleton)

    def best(frame: int) -> Array:
        markers = take.between(frame, frame + 1).markers
        options = {"limits": "off", "lock": LOCK, "starts": SEARCH_STARTS}
        return np.array(ik.track(take.skeleton, markers, **options).motion.q)[0, free]

    tracked, cold = (np.array([best(int(t)) for t in w]) for w in (task.frames, task.cold))
    return tracked, cold


def score_figures(
    task: Figure, everybody: Sequence[Answers], search: tuple[Array, Array]
) -> tuple[list[FigureScore], list[FigureScore]]:
    """Return scores of tracked and cold frames, against the best objective that anybody found."""
    judge = Judge(task.urdf)
    halves: list[list[FigureScore]] = []
    for key, places, known in zip(
        ("", "cold_"), (task.places, task.cold_places), search, strict=True
    ):
        all_errors = [
            compute_distances(judge, task, answers.values[f"{key}q"], places)
            for answers in everybody
        ]
        best = 0.5 * (compute_distances(judge, task, known, places) ** 2).sum(axis=1)
        for errors in all_errors:
            cost = 0.5 * (errors**2).sum(axis=1)
            best[: len(errors)] = np.minimum(best[: len(errors)], cost)
        scores = []
        for answers, errors in zip(everybody, all_errors, strict=True):
            excess = 0.5 * (errors**2).sum(axis=1) / best[: len(errors)] - 1.0
            nearer, near, far = (
                100 * float(np.mean(x))
                for x in (excess <= NEARER_EXCESS, excess <= NEAR_EXCESS, excess > FAR_EXCESS)
            )
            ms = float(np.median(answers.values[f"{key}ms"], axis=1).min())
            score = FigureScore(
                title=make_row_title(answers),
                version=answers.version,
                asked=len(errors),
                error=100 * float(errors.mean()),
                nearer=nearer,
                near=near,
                far=far,
                median=ms,
            )
            scores.append(score)
        halves.append(scores)
    return halves[0], halves[1]
