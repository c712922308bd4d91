"""Section tracking: whole recordings, and the same frames by others.

On a synthetic performance whose skin slides by 12 mm, so that residuals are systematic as in real
recordings; and on takes of HDM05 where they are found (EXACTIK_HDM05, or beside the checkout).
Times are of the processor, on one thread: other programs on the same machine are not in them. Set
OPENBLAS_NUM_THREADS=1, or the rivals that use it are charged for threads that wait.

"Warm pass" is the compiled loop alone, each frame from the one before. The race with
Levenberg–Marquardt is over the same frames from the same pose with the same relative gradient to
stop at; both costs are given, since the two may follow different minima.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

import exactik as ik
from benchmarks.hdm05 import LOCK, TAKES, Take, hdm05_folder, load_take
from benchmarks.report import Metric, Report
from benchmarks.tracking_peers import Mink, Rival, Scipy
from exactik.demo import performance, recorded
from exactik.kernels.frames import SLOPE
from exactik.mocap._cold import cold_poses
from exactik.mocap._jumps import jumps_of
from exactik.mocap._passes import Path, follow
from exactik.mocap._recording import Recording, start_recording
from exactik.mocap._track import COLD, WARM

Array = NDArray[np.float64]
T = TypeVar("T")
SECONDS, TISSUE, NOISE = 30.0, 0.012, 0.001
PASSES = 3
TOLERANCE = 1e-4  # relative gradient
FEW = 40  # frames for the rivals
COLDS = 100  # frames from nothing
SOLVED = 1e-6  # [m²] 1e-2 cm², where the exact-Hessian paper stops
MARQUARDT = ik.LevenbergMarquardt(tolerance=TOLERANCE)
PAPER = replace(WARM, tolerance=1e-12, small_cost=SOLVED, max_iterations=100)
TWICE = 2.0  # times as fast as Levenberg–Marquardt
WHOLE = 0.55  # [ms] a frame: an hour at 120 Hz in two minutes on two cores


@dataclass(frozen=True)
class Case:
    """A recording to be tracked; `take` where it is one of HDM05."""

    name: str
    skeleton: ik.Skeleton
    markers: ik.Markers
    start: Array
    options: dict[str, Any]
    take: Take | None = None

    def __len__(self) -> int:
        return len(self.markers)

    @property
    def recording(self) -> Recording:
        return start_recording(self.skeleton, self.markers, **self.options)


def synthetic(seconds: float) -> Case:
    motion = performance(seconds, 120.0, seed=0)
    faults = {"noise": NOISE, "tissue": TISSUE, "gaps": 0.0, "swap": False}
    rec = recorded(motion, **faults)
    return Case("performance", motion.skeleton, rec.markers, np.array(motion.q[0]), {})


def real(own: Take) -> Case:
    options = {"limits": "off", "lock": LOCK}
    return Case(f"HDM05 {own.name}", own.skeleton, own.markers, own.q[0], options, own)


def limited(own: Take) -> Case:
    name = f"HDM05 {own.name}, limits"
    return Case(name, own.limited, own.markers, own.q[0], {"lock": LOCK}, own)


def timed(work: Callable[[], T], passes: int = 1) -> tuple[T, float]:
    """The answer and the least time of the processor [s]."""
    best, answer = np.inf, None
    for _ in range(passes):
        begin = time.process_time()
        answer = work()
        best = min(best, time.process_time() - begin)
    assert answer is not None
    return answer, best


HEADERS = ["", "frames/s", "ms", "cost", "mm", "at rest %", "jumps"]


def row(name: str, recording: Recording, q: Array, seconds: float, slope: Array) -> list[str]:
    """One line of the table."""
    residual = np.linalg.norm(recording.residuals(q), axis=2)
    return [
        name,
        *(f"{len(q) / seconds:.0f}", f"{1e3 * seconds / len(q):.3f}"),
        *(f"{0.5 * np.nansum(residual**2):.4f}", f"{1e3 * np.nanmean(residual):.2f}"),
        f"{100 * np.mean(slope <= TOLERANCE):.1f}",
        str(len(jumps_of(recording, q))),
    ]


def passes(case: Case) -> tuple[list[list[str]], dict[str, tuple[Path, float]]]:
    """The warm pass, by us and by Levenberg–Marquardt."""
    recording, rows, found = case.recording, [], {}
    which = np.arange(len(case))
    for name, method in (("warm pass, auto", WARM), ("warm pass, Levenberg–Marquardt", MARQUARDT)):
        options = method.options(recording.problem)
        found[name], seconds = timed(lambda o=options: follow(recording, o, which, case.start), PASSES)
        rows.append(row(name, recording, found[name].q, seconds, found[name].found[:, SLOPE]))
        found[name] = found[name], seconds
    return rows, found


TRACKS: dict[str, dict[str, Any]] = {
    "track, no branches": {"branches": False},
    "track": {},
    "track, huber": {"robust": "huber"},
    "track, tukey": {"robust": "tukey"},
    "track, 8 Hz": {"smooth": 8.0},
}


def whole(case: Case) -> tuple[list[list[str]], dict[str, float]]:
    """All that `track` does, in several ways; ms a frame of each."""
    rows, ms, recording = [], {}, case.recording
    for name, options in TRACKS.items():
        both = {**case.options, **options}
        found, seconds = timed(lambda o=both: ik.track(case.skeleton, case.markers, **o))
        q = np.array(found.motion.q)
        rows.append(row(name, recording, q, seconds, found.projected_gradient))
        ms[name] = 1e3 * seconds / len(q)
    return rows, ms


def rivals(report: Report, case: Case, start: Path) -> dict[str, float]:
    """A few frames by others, warm-started; how many times our time they took, by their name."""
    recording = case.recording
    first = len(case) // 4
    which, begin = np.arange(first, first + FEW), start.q[first - 1]
    options = WARM.options(recording.problem)
    ours, seconds = timed(lambda: follow(recording, options, which, begin), 20 * PASSES)
    rows = [_rival_row(f"exactik {version('exactik')}", recording, which, ours.q, seconds, 1.0)]
    ratios: dict[str, float] = {}
    peers: dict[str, Callable[[Recording], Rival]] = {"scipy": Scipy, "mink": Mink}
    for name, make in peers.items():
        try:
            peer = make(recording)
        except (ImportError, PackageNotFoundError):
            report.console.print(f"{name} is not installed; its row is missing")
            continue
        found = peer.follow(which, begin)
        total = float(found.seconds.sum())
        ratios[name] = total / seconds
        rows.append(_rival_row(peer.name, recording, which, found.q, total, ratios[name]))
    report.title(f"tracking: {case.name}, frames {which[0]} to {which[-1]} by others, warm starts")
    report.table(["", "ms a frame", "times ours", "cost", "mm"], rows)
    return ratios


def _rival_row(
    name: str, recording: Recording, which: NDArray[np.int64], q: Array, seconds: float, times: float
) -> list[str]:
    residual = np.linalg.norm(recording.residuals(q, which), axis=2)
    cost, error = 0.5 * float((residual**2).sum()), 1e3 * float(residual.mean())
    return [name, f"{1e3 * seconds / len(q):.3f}", f"{times:.1f}", f"{cost:.5f}", f"{error:.2f}"]


def paper(report: Report, own: Take) -> None:
    """The protocol of the exact-Hessian paper: offsets of every frame, so that nothing is left."""
    asked = {"limits": "off", "lock": LOCK, "offsets": own.offsets, "posture": 0.0}
    recording = start_recording(own.skeleton, own.markers, **asked)
    which, options = np.arange(len(own)), PAPER.options(recording.problem)
    found, seconds = timed(lambda: follow(recording, options, which, own.q[0]), PASSES)
    total = 1e2 * np.linalg.norm(recording.residuals(found.q), axis=2).sum(axis=1)
    some = np.linspace(0, len(own) - 1, COLDS).astype(np.int64)
    cold = replace(COLD, tolerance=1e-12, small_cost=SOLVED).options(recording.problem)
    alone, one = timed(lambda: cold_poses(recording, cold, some, 1, SOLVED))
    many, more = timed(lambda: cold_poses(recording, cold, some, 24, SOLVED))
    name = f"{own.name}, paper protocol"
    below = 100 * float(np.mean(found.cost < SOLVED))
    report.add(
        Metric(f"{name}: ms a frame", 1e3 * seconds / len(own), "ms"),
        Metric(f"{name}: sum of the markers' errors", float(total.mean()), "cm", 0.5),
        Metric(f"{name}: frames below 1e-2 cm²", below, "%", 99.9, at_least=True),
        Metric(f"{own.name}, cold, one start: solved", 100 * np.mean(alone.cost < SOLVED), "%"),
        Metric(f"{own.name}, cold, one start: a frame", 1e3 * one / COLDS, "ms"),
        Metric(
            *(f"{own.name}, cold, 24 starts: solved", 100 * float(np.mean(many.cost < SOLVED))),
            *("%", 99.0, True),
        ),
        Metric(f"{own.name}, cold, 24 starts: a frame", 1e3 * more / COLDS, "ms"),
    )


def measure(report: Report, case: Case, *, everything: bool) -> None:
    """Print all about a recording."""
    ik.track(case.skeleton, case.markers.between(0.0, 0.5), **case.options)  # compile, or load
    rows, found = passes(case)
    tracks: dict[str, float] = {}
    if everything:
        more, tracks = whole(case)
        rows += more
    report.title(f"tracking: {case.name}, {len(case)} frames")
    report.table(HEADERS, rows)
    (ours, seconds), (theirs, longer) = found.values()
    ratios = rivals(report, case, ours) if everything else {}
    report.add(
        Metric(f"{case.name}: warm pass", 1e3 * seconds / len(case), "ms"),
        Metric(f"{case.name}: LM / auto, time", longer / seconds, "×", TWICE, at_least=True),
        Metric(f"{case.name}: LM / auto, cost", float(theirs.cost.sum() / ours.cost.sum()), "×"),
    )
    for name, times in ratios.items():
        report.add(Metric(f"{case.name}: {name} / auto, time", times, "×"))
    for name, ms in tracks.items():
        bar = WHOLE if name == "track" else None
        report.add(Metric(f"{case.name}: {name}", ms, "ms", bar))


def run(report: Report, seconds: float = SECONDS) -> None:
    """Measure and print the section."""
    threads = os.environ.get("OPENBLAS_NUM_THREADS", "not set")
    report.title("tracking: times are of the processor, on one thread, per frame")
    report.console.print(f"OPENBLAS_NUM_THREADS {threads}", highlight=False)
    measure(report, synthetic(seconds), everything=True)
    folder = hdm05_folder()
    if folder is None:
        report.console.print("no takes of HDM05: set EXACTIK_HDM05 to their folder")
        return
    for name in TAKES:
        own = load_take(folder, name)
        measure(report, real(own), everything=True)
        measure(report, limited(own), everything=False)
        paper(report, own)
