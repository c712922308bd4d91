"""Solve a whole recording."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from exactik.errors import ModelError
from exactik.kernels.descent.options import NEGLIGIBLE_COST
from exactik.kernels.descent.results import (
    RESULT_ITERATIONS,
    RESULT_PROJECTED_GRADIENT,
    RESULT_STATUS,
)
from exactik.kernels.tree.equivalent_coordinates import unwrap_coordinates
from exactik.model import Skeleton
from exactik.motion import Markers, Motion, find_segments
from exactik.solvers import (
    ENDED_WORDS,
    Auto,
    CompiledMethod,
    Method,
    count_iterations,
    require_count,
    resolve_method,
)
from exactik.tracking._branches import improve
from exactik.tracking._clean import Outliers, remove_outliers
from exactik.tracking._cold import solve_cold_start
from exactik.tracking._crossings import bridge_jumps
from exactik.tracking._error_bars import ASSUMED, estimate_noise
from exactik.tracking._fill import fill_gaps
from exactik.tracking._first_pass import STRETCH, first_pass, stretches
from exactik.tracking._gaps import information, make_postures, solve_gap_frames
from exactik.tracking._passes import FrameSolutions, run_in_threads
from exactik.tracking._recording import (
    LOSS_KINDS,
    POSTURE_WEIGHT,
    TrackingProblem,
    make_tracking_problem,
)
from exactik.tracking._smoothing import checked_cutoff, smooth_path
from exactik.tracking._tracked import Track
from exactik.typing import Array

__all__ = ["track"]

Progress = Callable[[int, int], object]

TOLERANCE = 1e-4  # relative gradient
EVERY, ROUNDS = 28, 2  # frames between two looks for better solutions, and how often
STARTS = 24
WRONG, MENDINGS, AROUND = 8.0, 4, 600  # times the usual cost; rounds; frames to both sides
MOST_RUNS = 20  # stretches to mend in a round, the longest first: others are errors of markers
WIDTHS = {"huber": 2.5, "tukey": 7.0}  # c in standard deviations
FIRST_WIDTH, SAMPLES = 0.05, 16  # [m] and frames, for a first idea of the noise
WARM = Auto(tolerance=TOLERANCE, initial_damping=1e-3, detour=False, escape=False)
COLD = Auto(tolerance=1e-3, max_iterations=60, detour=False, escape=False)
SHARES = {"path": 0.15, "branches": 0.7, "finish": 0.15}  # of the time, roughly


def track(
    skeleton: Skeleton,
    markers: Markers,
    *,
    solver: str | Method = "auto",
    limits: str = "hard",
    weights: Mapping[str, float] | ArrayLike | None = None,
    robust: str | None = None,
    smooth: float | None = None,
    sigma: float | None = None,
    branches: bool = True,
    threads: int | None = 1,
    progress: Progress | None = None,
    lock: str | Sequence[str] = (),
    strength: Mapping[str, float] | None = None,
    starts: int = STARTS,
    posture: float = POSTURE_WEIGHT,
    offsets: ArrayLike | None = None,
) -> Track:
    """Find the motion that a recording of markers shows.

    Every frame is solved from the one before it; the first from several poses that are brought to
    its markers. Markers that are missing do not count in their frame. Limits are never left.

    Args:
        skeleton: whose markers they are, see `attach_markers` and `calibrate`.
        markers: the recording; markers are matched by name, others left out.
        solver: a compiled method; its tolerance is 1e-4 if only its name is given.
        limits: "hard", "soft" or "off".
        weights: name of a marker → its weight, 1 for the others; or all of them, (M,).
        robust: None; "huber", where markers far off pull less; "tukey", where they do not at all.
        smooth: cut-off frequency [Hz] for solving all frames together with a penalty on
            accelerations; None for each frame by itself.
        sigma: standard deviation of the markers along each axis [m], for error bars and robust
            losses; estimated from the residuals if None.
        branches: whether to look for better solutions beside the path that the first frame leads
            to, and to take the best continuous way through them.
        threads: number of threads; one per processor if None. The result does not depend on it.
        progress: is called with the number of frames done and to do.
        lock: names or patterns of bones or dofs that stay where they are at rest.
        strength: name or pattern → how readily dofs move.
        starts: how many poses to try where there is no frame before.
        posture: weight of the neutral pose, in shares of a marker's at arm's length; settles what
            the markers leave open. 0 for none.
        offsets: places of the markers in their bones in each frame [m], (T, M, 3), in place of the
            skeleton's.

    Returns:
        The motion with its errors, doubts and error bars.
    """
    begin = time.perf_counter()
    checked_cutoff(smooth, markers.rate)
    if sigma is not None and not 0.0 < sigma < np.inf:
        raise ModelError(f"sigma is {sigma!r}; it must be a length > 0 [m]")
    settings = {"smooth": smooth, "branches": branches, "starts": starts, "posture": posture}
    options = {"limits": limits, "lock": lock, "strength": strength, "weights": weights}
    recording = make_tracking_problem(
        skeleton, markers, **options, robust=robust, offsets=offsets, posture=posture
    )
    if len(recording) == 0:
        raise ModelError("the recording has no frames")
    errors = Outliers((), np.zeros((0, 0), dtype=bool))
    if robust is not None:
        recording, errors = remove_outliers(recording)
    workers = (os.cpu_count() or 1) if threads is None else require_count("threads", threads)
    method, cold = _methods(solver)
    warm, far = method.options(recording.frame_problem), cold.options(recording.frame_problem)
    seen, noise = recording, sigma
    if noise is None and (robust is not None or not recording.seen.all()):
        noise = _first_sigma(recording, far)
    if robust is not None:
        loss = np.array([LOSS_KINDS[robust], WIDTHS[robust] * (noise or 0.0), 1.0])
        seen = recording = recording.with_targets(loss=loss)
    if noise is not None:
        recording = fill_gaps(recording, noise)
    meter = _Meter(len(recording), progress)
    path = first_pass(
        recording, warm, far, require_count("starts", starts), workers, meter.share("path")
    )
    least = np.full(len(recording), np.inf)
    _mend(recording, warm, far, path, least)
    if branches:
        _look_for_better(recording, warm, far, path, least, workers, meter)
    _continuous(recording, path.q)
    recording.update_robust_weights(path.q)
    info = information(recording, path.q)
    postures = make_postures(recording, path.q, info)
    solve_gap_frames(recording, warm, path, postures, workers)
    bridged, excess = np.zeros(len(recording), dtype=bool), np.zeros(len(recording))
    if branches and offsets is None:
        bridged = bridge_jumps(recording, warm, path, postures, info.sum(axis=0), least, workers)
    recording.update_robust_weights(path.q)
    if branches:
        excess = np.maximum(path.cost / np.maximum(least, float(warm[NEGLIGIBLE_COST])) - 1.0, 0.0)
        excess[postures.frames] = 0.0  # where a course of their own counts in the cost
    if smooth is not None:
        path = smooth_path(recording, path, smooth, info, workers, meter.share("finish"))
    meter.finish()
    misses, cost = _errors(seen, path.q)
    estimated = estimate_noise(misses, skeleton.nv - int(recording.frame_problem.locked.sum()))
    motion = Motion(skeleton, path.q, markers.rate, markers.first_frame, markers.up_axis)
    return Track(
        *(motion, recording.names, misses),
        *(cost, path.outcomes[:, RESULT_PROJECTED_GRADIENT]),
        *(
            np.array(
                [ENDED_WORDS[int(code)] for code in path.outcomes[:, RESULT_STATUS]], dtype="U15"
            ),
        ),
        *(count_iterations(path.outcomes[:, RESULT_ITERATIONS]), postures.loose, bridged, excess),
        *(recording.targets.robust_weight if robust is not None else None,),
        *(errors.swaps, errors.spikes),
        *(float(sigma) if sigma is not None else estimated, time.perf_counter() - begin),
        *(method.name, markers, settings, seen, workers),
    )


def _methods(solver: str | Method) -> tuple[CompiledMethod, CompiledMethod]:
    """Return the methods for frames with one before them, and without."""
    method = WARM if solver == "auto" else resolve_method(solver)
    if not isinstance(method, CompiledMethod):
        raise ModelError(
            f"solver {method.name!r} is not compiled and cannot follow a recording; use 'auto', "
            "'newton', 'levenberg-marquardt', 'gauss-newton', 'projected-gradient' or 'ccd'"
        )
    if isinstance(solver, str) and solver != "auto":
        method = replace(method, tolerance=TOLERANCE)
    if isinstance(method, Auto):
        method = replace(method, detour=False)
    return method, COLD if solver == "auto" or isinstance(method, Auto) else method


def _first_sigma(recording: TrackingProblem, options: Array) -> float:
    """Return a first idea of the noise [m]: from some frames by themselves, errors and all."""
    which = np.unique(np.linspace(0, len(recording) - 1, SAMPLES).astype(np.int64))
    wide = recording.select(which).with_targets(
        loss=np.array([LOSS_KINDS["huber"], FIRST_WIDTH, 1.0]),
        robust_weight=np.ones((len(which), len(recording.names))),
    )
    found = solve_cold_start(wide, options, np.arange(len(which)), 6)
    errors = np.linalg.norm(wide.residuals(found.q), axis=2)
    if not np.isfinite(errors).any():
        return ASSUMED
    # Of a normal distribution in space the median distance is 1.54 standard deviations.
    return max(float(np.nanmedian(errors)) / 1.538, 1e-6)


def _mend(
    recording: TrackingProblem, warm: Array, far: Array, path: FrameSolutions, least: Array
) -> None:
    """Look for better solutions where a path has gone wrong: frames that cost far more than others.

    At some frames of each such stretch, its ends among them, from ever other poses.
    """
    end, before = len(recording) - 1, len(recording)
    for n in range(MENDINGS):
        wrong = path.cost > WRONG * np.median(path.cost) + float(warm[NEGLIGIBLE_COST])
        runs = find_segments(wrong, join=2)
        if len(runs) == 0 or wrong.sum() > 0.9 * before:
            break  # nothing to mend, or nothing that could be
        before = int(wrong.sum())
        runs = sorted(runs, key=lambda run: run[0] - run[1])[:MOST_RUNS]
        for first, last in runs:
            step = max(1, min(EVERY, (last - first) // 4))
            which = np.unique(np.append(np.arange(first, last + 1, step), last))
            around = max(first - AROUND, 0), min(last + AROUND, end)
            improve(recording, warm, far, path, *around, which, n, least)


def _look_for_better(
    recording: TrackingProblem,
    warm: Array,
    far: Array,
    path: FrameSolutions,
    least: Array,
    threads: int,
    meter: _Meter,
) -> None:
    told = meter.share("branches")
    for n in range(ROUNDS):
        # Ends of stretches stay as they are, so every second round has others.
        parts = stretches(len(recording), shift=STRETCH // 2 * (n % 2))

        def look(part: tuple[int, int], n: int = n) -> None:
            first, last = part
            which = np.arange(first + (n * EVERY) // ROUNDS, last + 1, EVERY)
            improve(recording, warm, far, path, first, last, which, n, least)
            told((part[1] + 1 - part[0]) // ROUNDS)

        run_in_threads(threads, look, parts)


def _continuous(recording: TrackingProblem, q: Array) -> None:
    box = recording.frame_problem.box
    unwrap_coordinates(recording.skeleton.tree, box.lower, box.upper, q)


def _errors(recording: TrackingProblem, q: Array) -> tuple[Array, Array]:
    """Return the distance of every marker from its place [m], (T, M), and the cost, (T,)."""
    errors, cost = np.empty((len(q), len(recording.names))), np.empty(len(q))
    for at in range(0, len(q), 4096):  # an hour at once would not fit
        own = np.arange(at, min(at + 4096, len(q)))
        errors[own] = np.linalg.norm(recording.residuals(q[own], own), axis=2)
        cost[own] = 0.5 * np.nansum(recording.targets.weight * errors[own] ** 2, axis=1)
    return errors, cost


class _Meter:
    """Turns what the parts of the work tell into frames done; from any thread."""

    def __init__(self, total: int, progress: Progress | None):
        self.total, self.progress, self.done = total, progress, 0.0
        self.lock = threading.Lock()

    def share(self, name: str) -> Callable[[int], None]:
        """Return what a part of the work is to call with the frames it has gone through."""

        def tell(frames: int) -> None:
            if self.progress is not None:
                with self.lock:
                    self.done += SHARES[name] * frames
                    self.progress(min(int(self.done), self.total), self.total)

        return tell

    def finish(self) -> None:
        """Tell that all is done."""
        if self.progress is not None:
            self.progress(self.total, self.total)
