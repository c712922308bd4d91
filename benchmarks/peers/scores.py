"""What the judge makes of the answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

import exactik as ik
from benchmarks.peers.environments import Answers
from benchmarks.peers.judge import Judge
from benchmarks.peers.protocol import Arm, Figure
from benchmarks.peers.tasks import free_dofs
from benchmarks.support.hdm05 import LOCK, hdm05_folder, load_take
from exactik.typing import Array

SEARCH = 48  # starts for each frame, for the best objective known
NEAR, NEARER, FAR = 1e-2, 1e-3, 0.25  # shares above the best objective


class ArmScore(NamedTuple):
    """Shares of the poses in percent, milliseconds of the processor."""

    title: str
    version: str
    attempts: int
    asked: int
    success: float
    ignoring: float  # limits
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


def row_title(answers: Answers) -> str:
    label = f", {answers.label}" if answers.label else ""
    return f"{answers.tool.title}{label}"


def arm_score(task: Arm, answers: Answers) -> ArmScore:
    judge, q, ms = Judge(task.urdf), answers.values["q"], answers.values["ms"]
    pairs = zip(q, task.targets[: len(q)], strict=True)
    reached = np.array([judge.reached(x, task.tool, T) for x, T in pairs])
    inside = np.array([judge.inside(x) for x in q])
    shares = (100 * float(np.mean(reached & inside)), 100 * float(np.mean(reached)))
    # Of each time the best pass, for everybody: the machine can only add to it.
    times = np.percentile(ms, [50, 99], axis=1).min(axis=1).tolist()
    return ArmScore(row_title(answers), answers.version, answers.attempts, len(q), *shares, *times)


def distances(judge: Judge, task: Figure, q: Array, places: Array) -> Array:
    """Of the markers from their places [m], (frames, markers)."""
    there = np.array([judge.forward(x, task.markers)[:, :3, 3] for x in q])
    return np.linalg.norm(there - places[: len(q)], axis=2)


def searched(task: Figure) -> tuple[Array, Array]:
    """Coordinates of a search from many starts, for the tracked and for the cold frames."""
    folder = hdm05_folder()
    assert folder is not None
    take = load_take(folder, task.take)
    free = free_dofs(take.skeleton)

    def best(frame: int) -> Array:
        markers = take.between(frame, frame + 1).markers
        options = {"limits": "off", "lock": LOCK, "starts": SEARCH}
        return np.array(ik.track(take.skeleton, markers, **options).motion.q)[0, free]

    tracked, cold = (np.array([best(int(t)) for t in w]) for w in (task.frames, task.cold))
    return tracked, cold


def figure_scores(
    task: Figure, everybody: Sequence[Answers], search: tuple[Array, Array]
) -> tuple[list[FigureScore], list[FigureScore]]:
    """Of tracking and of cold frames: objectives beside the best that anybody or a search found."""
    judge = Judge(task.urdf)
    halves: list[list[FigureScore]] = []
    for key, places, known in zip(
        ("", "cold_"), (task.places, task.cold_places), search, strict=True
    ):
        away = [distances(judge, task, own.values[f"{key}q"], places) for own in everybody]
        best = 0.5 * (distances(judge, task, known, places) ** 2).sum(axis=1)
        for own in away:
            best[: len(own)] = np.minimum(best[: len(own)], 0.5 * (own**2).sum(axis=1))
        scores = []
        for answers, own in zip(everybody, away, strict=True):
            above = 0.5 * (own**2).sum(axis=1) / best[: len(own)] - 1.0
            nearer, near, far = (
                100 * float(np.mean(x)) for x in (above <= NEARER, above <= NEAR, above > FAR)
            )
            ms = float(np.median(answers.values[f"{key}ms"], axis=1).min())
            about = row_title(answers), answers.version, len(own), 100 * float(own.mean())
            scores.append(FigureScore(*about, nearer, near, far, ms))
        halves.append(scores)
    return halves[0], halves[1]
