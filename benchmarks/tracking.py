"""Section tracking: whole recordings, and the same frames by others.

On a synthetic performance whose skin slides by 12 mm, so that residuals are systematic as in real
recordings; and on takes of HDM05 where they are found (EXACTIK_HDM05, or beside the checkout).
Times are of the processor, on one thread: other programs on the same machine are not in them. Set
OPENBLAS_NUM_THREADS=1, or the rivals that use it are charged for threads that wait.

"Warm pass" is the compiled loop alone, each frame from the one before. The race with
Levenberg–Marquardt (LM) is over the same frames from the same pose with the same relative gradient
to stop at. Ours has one first damping for all recordings, chosen for warm starts; LM may choose the
fastest of several for each. Both costs are given, since the two may follow different minima; and
the iterations, since a few frames where LM never comes to rest can make up most of its time.

"near" and "far" are the frames within 1 % and more than 25 % above the least cost that any row, or
the search for branches, has found for them; "× best" is the sum against the sum of these, which
jumps from solution to solution and is no motion.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

import exactik as ik
from benchmarks.support.hdm05 import LOCK, TAKES, Take, find_hdm05_folder, load_take
from benchmarks.support.report import Metric, Report
from benchmarks.support.tracking_peers import Mink, Rival, Scipy
from exactik.kernels.descent.results import RESULT_ITERATIONS, RESULT_PROJECTED_GRADIENT
from exactik.lab.synthetic import simulate_performance, simulate_recording
from exactik.recordings.tracking import (
    DEFAULT_OPTIONS,
    FrameSolutions,
    TrackingProblem,
    find_jumps,
    follow_frames,
    make_tracking_problem,
    solve_cold_start,
)
from exactik.solvers import CompiledMethod
from exactik.typing import Array

WARM_START, COLD_START = DEFAULT_OPTIONS.warm_start, DEFAULT_OPTIONS.cold_start
T = TypeVar("T")
SECONDS, TISSUE, NOISE = 30.0, 0.012, 0.001  # [s], [m], [m] of the synthetic performance
PASSES, TRACK_PASSES = 3, 2  # repetitions of which the fastest counts; of all of `track`
TOLERANCE = 1e-4  # relative gradient at which the race ends; `track` goes on to 1e-7
RIVAL_FRAMES = 40  # frames for the rivals
COLD_FRAMES = 1500  # frames from nothing: with 200 the share moves by a percent
SOLVED_COST = 1e-6  # [m²] 1e-2 cm², where the exact-Hessian paper stops
LM_DAMPINGS = (1.0, 1e-2, 1e-3, 1e-4)  # first ones of Levenberg–Marquardt; 1 is its default
PAPER_METHOD = replace(WARM_START, tolerance=1e-12, small_cost=SOLVED_COST, max_iterations=100)
MIN_LM_TIME_RATIO = 2.0  # times as fast as Levenberg–Marquardt
MAX_TRACK_MS = 0.55  # [ms] a frame: an hour at 120 Hz in two minutes on two cores


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
    def problem(self) -> TrackingProblem:
        return make_tracking_problem(self.skeleton, self.markers, **self.options)


def make_synthetic_case(seconds: float) -> Case:
    motion = simulate_performance(seconds, 120.0, seed=0)
    faults = {"noise": NOISE, "tissue": TISSUE, "gaps": 0.0, "swap": False}
    rec = simulate_recording(motion, **faults)
    return Case(
        name="performance",
        skeleton=motion.skeleton,
        markers=rec.markers,
        start=np.array(motion.q[0]),
        options={},
    )


def make_hdm05_case(take: Take) -> Case:
    return Case(
        name=f"HDM05 {take.name}",
        skeleton=take.skeleton,
        markers=take.markers,
        start=take.q[0],
        options={"limits": "off", "lock": LOCK},
        take=take,
    )


def make_limited_case(take: Take) -> Case:
    return Case(
        name=f"HDM05 {take.name}, limits",
        skeleton=take.limited,
        markers=take.markers,
        start=take.q[0],
        options={"lock": LOCK},
        take=take,
    )


def time_fastest(work: Callable[[], T], passes: int = 1) -> tuple[T, float]:
    """Return the answer and the least time of the processor [s]."""
    best, answer = np.inf, None
    for _ in range(passes):
        begin = time.process_time()
        answer = work()
        best = min(best, time.process_time() - begin)
    assert answer is not None
    return answer, best


HEADERS = [
    "",
    "frames/s",
    "ms",
    "cost",
    "mm",
    "at rest %",
    "iterations",
    "jumps",
    "near %",
    "far %",
    "× best",
]


class Line(NamedTuple):
    """What was found in a whole recording; `problem` as its own losses weigh it."""

    name: str
    problem: TrackingProblem
    q: Array
    seconds: float
    projected_gradient: Array
    iterations: Array | NDArray[np.int64]
    least: Array | None = None  # cost of the best solution that was found for each frame

    @property
    def cost(self) -> Array:
        return 0.5 * np.nansum(self.problem.residuals(self.q) ** 2, axis=(1, 2))

    def row(self, best: Array) -> list[str]:
        """Cells of the table; the iterations are the median and the mean of the last solves.

        Against the best cost known of each frame, (T,): frames within 1 %, frames more than 25 %
        above, and the ratio of the sums.
        """
        residual = np.linalg.norm(self.problem.residuals(self.q), axis=2)
        count, share = len(self.q), self.cost / best
        return [
            self.name,
            f"{count / self.seconds:.0f}",
            f"{1e3 * self.seconds / count:.3f}",
            f"{0.5 * np.nansum(residual**2):.4f}",
            f"{1e3 * np.nanmean(residual):.2f}",
            f"{100 * np.mean(self.projected_gradient <= TOLERANCE):.1f}",
            f"{np.median(self.iterations):.0f} / {np.mean(self.iterations):.1f}",
            str(len(find_jumps(self.problem, self.q))),
            f"{100 * np.mean(share <= 1.01):.1f}",
            f"{100 * np.mean(share > 1.25):.1f}",
            f"{self.cost.sum() / best.sum():.4f}",
        ]


class Race(NamedTuple):
    """The warm pass: ours, and the fastest of Levenberg–Marquardt's."""

    lines: list[Line]
    ours: FrameSolutions
    seconds: float
    theirs: FrameSolutions
    longer: float


def run_race(case: Case) -> Race:
    """Run both over the recording."""
    problem, lines, runs = case.problem, [], []
    methods: dict[str, CompiledMethod] = {"warm, auto": replace(WARM_START, tolerance=TOLERANCE)}
    for damping in LM_DAMPINGS:
        method = ik.LevenbergMarquardt(tolerance=TOLERANCE, initial_damping=damping)
        methods[f"warm, LM {damping:g}"] = method
    for name, method in methods.items():
        options = method.options(problem.frame_problem)
        path, seconds = time_fastest(
            lambda o=options: follow_frames(problem, o, np.arange(len(case)), case.start), PASSES
        )
        runs.append((path, seconds))
        line = Line(
            name=name,
            problem=problem,
            q=path.q,
            seconds=seconds,
            projected_gradient=path.outcomes[:, RESULT_PROJECTED_GRADIENT],
            iterations=path.outcomes[:, RESULT_ITERATIONS],
        )
        lines.append(line)
    (ours, seconds), (theirs, longer) = runs[0], min(runs[1:], key=lambda run: run[1])
    return Race(lines=lines, ours=ours, seconds=seconds, theirs=theirs, longer=longer)


TRACK_ARGUMENTS: dict[str, dict[str, Any]] = {
    "no branches": {"branches": False},
    "track": {},
    "huber": {"robust": "huber"},
    "tukey": {"robust": "tukey"},
    "smooth 8 Hz": {"smooth": 8.0},
}


def run_tracks(case: Case) -> list[Line]:
    """Run `track` with several options."""
    lines = []
    for name, options in TRACK_ARGUMENTS.items():
        both = {**case.options, **options}
        tracked, seconds = time_fastest(
            lambda o=both: ik.track(case.skeleton, case.markers, **o), TRACK_PASSES
        )
        line = Line(
            name=name,
            problem=tracked.problem,
            q=np.array(tracked.motion.q),
            seconds=seconds,
            projected_gradient=tracked.projected_gradient,
            iterations=tracked.iterations,
            least=None if options else tracked.cost / (1.0 + tracked.excess_cost),
        )
        lines.append(line)
    return lines


def run_rivals(report: Report, case: Case, start: FrameSolutions) -> dict[str, float]:
    """Measure other tools on a few frames; return how many times our time each took, by name."""
    problem = case.problem
    first = len(case) // 4
    which, begin = np.arange(first, first + RIVAL_FRAMES), start.q[first - 1]
    options = WARM_START.options(problem.frame_problem)
    ours, seconds = time_fastest(lambda: follow_frames(problem, options, which, begin), PASSES)
    rows = [_rival_row(f"exactik {version('exactik')}", problem, which, ours.q, seconds, 1.0)]
    ratios: dict[str, float] = {}
    peers: dict[str, Callable[[TrackingProblem], Rival]] = {"scipy": Scipy, "mink": Mink}
    for name, make in peers.items():
        try:
            peer = make(problem)
        except (ImportError, PackageNotFoundError):
            report.console.print(f"{name} is not installed; its row is missing")
            continue
        runs = [peer.follow(which, begin) for _ in range(PASSES)]
        fastest = min(runs, key=lambda run: run.seconds.sum())
        total = float(fastest.seconds.sum())
        ratios[name] = total / seconds
        rows.append(_rival_row(peer.name, problem, which, fastest.q, total, ratios[name]))
    report.title(f"tracking: {case.name}, frames {which[0]} to {which[-1]} by others, warm starts")
    report.table(["", "ms a frame", "times ours", "cost", "mm"], rows)
    return ratios


def _rival_row(
    name: str,
    problem: TrackingProblem,
    which: NDArray[np.int64],
    q: Array,
    seconds: float,
    times: float,
) -> list[str]:
    residual = np.linalg.norm(problem.residuals(q, which), axis=2)
    cost, error = 0.5 * float((residual**2).sum()), 1e3 * float(residual.mean())
    return [name, f"{1e3 * seconds / len(q):.3f}", f"{times:.1f}", f"{cost:.5f}", f"{error:.2f}"]


def measure_paper_protocol(report: Report, take: Take) -> None:
    """The protocol of the exact-Hessian paper: offsets of every frame, so that nothing is left."""
    arguments = {"limits": "off", "lock": LOCK, "offsets": take.offsets, "posture": 0.0}
    problem = make_tracking_problem(take.skeleton, take.markers, **arguments)
    which, kernel = np.arange(len(take)), PAPER_METHOD.options(problem.frame_problem)
    followed, seconds = time_fastest(
        lambda: follow_frames(problem, kernel, which, take.q[0]), PASSES
    )
    total = 1e2 * np.linalg.norm(problem.residuals(followed.q), axis=2).sum(axis=1)
    options = {**arguments, "solver": PAPER_METHOD, "branches": False}
    tracked, longer = time_fastest(
        lambda: ik.track(take.skeleton, take.markers, **options), TRACK_PASSES
    )
    summed = 1e2 * tracked.marker_errors.sum(axis=1)
    cold_frames = np.linspace(0, len(take) - 1, COLD_FRAMES).astype(np.int64)
    cold = replace(COLD_START, tolerance=1e-12, small_cost=SOLVED_COST).options(
        problem.frame_problem
    )
    one_start, one_start_s = time_fastest(
        lambda: solve_cold_start(problem, cold, cold_frames, 1, SOLVED_COST)
    )
    many_starts, many_starts_s = time_fastest(
        lambda: solve_cold_start(problem, cold, cold_frames, 24, SOLVED_COST)
    )
    name = f"{take.name}, paper protocol"
    below, all_below = (
        100 * float(np.mean(c < SOLVED_COST)) for c in (followed.cost, tracked.cost)
    )
    report.add(
        Metric(f"{name}, warm pass: a frame", 1e3 * seconds / len(take), "ms"),
        Metric(f"{name}, warm pass: sum of errors", float(total.mean()), "cm"),
        Metric(f"{name}, warm pass: below 1e-2 cm²", below, "%"),
        Metric(f"{name}, track: a frame", 1e3 * longer / len(take), "ms"),
        Metric(f"{name}, track: sum of errors", float(summed.mean()), "cm", 0.5),
        Metric(f"{name}, track: below 1e-2 cm²", all_below, "%", 99.9, at_least=True),
        Metric(
            f"{take.name}, cold, one start: solved",
            100 * float(np.mean(one_start.cost < SOLVED_COST)),
            "%",
        ),
        Metric(f"{take.name}, cold, one start: a frame", 1e3 * one_start_s / COLD_FRAMES, "ms"),
        Metric(
            f"{take.name}, cold, 24 starts: solved",
            100 * float(np.mean(many_starts.cost < SOLVED_COST)),
            "%",
            99.0,
            True,
        ),
        Metric(f"{take.name}, cold, 24 starts: a frame", 1e3 * many_starts_s / COLD_FRAMES, "ms"),
    )


def measure_case(report: Report, case: Case, *, everything: bool) -> None:
    """Print all about a recording."""
    ik.track(case.skeleton, case.markers.between(0.0, 0.5), **case.options)  # compile, or load
    race = run_race(case)
    tracks = run_tracks(case) if everything else []
    report.title(f"tracking: {case.name}, {len(case)} frames")
    lines = [*race.lines, *tracks]
    known = [line.cost for line in lines] + [line.least for line in lines if line.least is not None]
    report.table(HEADERS, [line.row(np.min(known, axis=0)) for line in lines])
    ratios = run_rivals(report, case, race.ours) if everything else {}
    times, cost = race.longer / race.seconds, race.theirs.cost.sum() / race.ours.cost.sum()
    plain = race.lines[1].seconds / race.seconds
    report.add(
        Metric(f"{case.name}: warm pass", 1e3 * race.seconds / len(case), "ms"),
        Metric(
            f"{case.name}: fastest LM / auto, time", times, "×", MIN_LM_TIME_RATIO, at_least=True
        ),
        Metric(f"{case.name}: fastest LM / auto, cost", float(cost), "×"),
        Metric(f"{case.name}: LM as it comes / auto, time", plain, "×"),
    )
    for name, more in ratios.items():
        report.add(Metric(f"{case.name}: {name} / auto, time", more, "×"))
    for line in tracks:
        bar = MAX_TRACK_MS if line.name == "track" else None
        label = line.name if line.name == "track" else f"track, {line.name}"
        report.add(Metric(f"{case.name}: {label}", 1e3 * line.seconds / len(case), "ms", bar))


def run(report: Report, seconds: float = SECONDS) -> None:
    """Measure and print the section."""
    threads = os.environ.get("OPENBLAS_NUM_THREADS", "not set")
    report.title("tracking: times are of the processor, on one thread, per frame")
    report.console.print(f"OPENBLAS_NUM_THREADS {threads}", highlight=False)
    measure_case(report, make_synthetic_case(seconds), everything=True)
    folder = find_hdm05_folder()
    if folder is None:
        report.console.print("no takes of HDM05: set EXACTIK_HDM05 to their folder")
        return
    for name in TAKES:
        take = load_take(folder, name)
        measure_case(report, make_hdm05_case(take), everything=True)
        measure_case(report, make_limited_case(take), everything=False)
        measure_paper_protocol(report, take)
