"""Section posing: one update of a figure that is being dragged, and what a drag feels like."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from benchmarks.support import posing_socket
from benchmarks.support.report import Metric, Report
from exactik.model import Skeleton, hand, human, octopus, quadruped
from exactik.studio.player.proportions import compute_reach
from exactik.studio.viewer import PosingSession
from exactik.typing import Array

UPDATE_COUNT = 2000
# Figure, the handle that is dragged, and whether all handles are goals or only those pinned.
CASES: tuple[tuple[str, Callable[[], Skeleton], str, bool], ...] = (
    ("human, 6 goals", human, "r_hand", True),
    ("human, on its feet", human, "r_hand", False),
    ("quadruped, 5 goals", quadruped, "head", False),
    ("hand, 2 goals", hand, "index_3", False),
    ("octopus, 9 goals", octopus, "mantle", False),
)


def drag_to_and_fro(session: PosingSession, handle: str, size: float) -> tuple[Array, Array, Array]:
    """Drag a handle to and fro; return the seconds of solves, whole updates, and their CPU time."""
    start, solves, whole, busy = session.handles[handle].position, [], [], []
    for k in range(UPDATE_COUNT):
        way = np.array([np.sin(k / 15), np.cos(k / 11) - 1.0, np.sin(k / 20)])
        session.drag(handle, start + size * way)
        begin, spent = time.perf_counter(), time.thread_time()
        update = session.advance()
        whole.append(time.perf_counter() - begin)
        busy.append(time.thread_time() - spent)  # what others do on this machine does not count
        solves.append(update.seconds)
    return np.array(solves[50:]), np.array(whole[50:]), np.array(busy[50:])


def run(report: Report) -> None:
    """Measure and print the section."""
    report.title("posing: one update at 60 Hz, ms")
    rows, metrics = [], []
    for name, make, handle, everything in CASES:
        session = PosingSession(make())
        for other in session.handles if everything else ():
            session.pin(other)
        solves, whole, busy = drag_to_and_fro(
            session, handle, 0.08 * compute_reach(session.skeleton)
        )
        figures = [np.median(solves), np.percentile(solves, 99), np.median(whole)]
        figures += [np.percentile(whole, 99), np.percentile(busy, 99)]
        rows.append([name, str(session.skeleton.nv), *(f"{1e3 * x:.3f}" for x in figures)])
        bar = 0.2 if everything else None
        metrics.append(Metric(f"{name}: solve, median", 1e3 * float(figures[0]), "ms", bar))
    headers = ["figure", "dofs", "solve", "p99", "whole update", "p99", "p99 of CPU time"]
    report.table(headers, rows)
    report.add(*metrics)
    posing_socket.run(report)
