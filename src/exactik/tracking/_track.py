"""Solve a whole recording, stage by stage."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from exactik._arrays import is_number
from exactik.errors import ModelError, UsageError
from exactik.kernels.descent.options import NEGLIGIBLE_COST
from exactik.kernels.descent.results import (
    RESULT_ITERATIONS,
    RESULT_PROJECTED_GRADIENT,
    RESULT_STATUS,
)
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
from exactik.tracking._assessment import estimate_noise
from exactik.tracking._branches import improve_poor_segments, search_branches
from exactik.tracking._continuity import take_better_segments
from exactik.tracking._first_pass import first_pass
from exactik.tracking._frame_solver import FrameSolutions, TrackingRun, unwrap_path
from exactik.tracking._gaps import (
    FramePostures,
    compute_marker_information,
    make_postures,
    solve_gap_frames,
)
from exactik.tracking._options import DEFAULT_OPTIONS, TrackingOptions
from exactik.tracking._prepare import prepare_markers
from exactik.tracking._problem import (
    POSTURE_WEIGHT,
    CoordinateReference,
    TrackingProblem,
    make_tracking_problem,
    split_into_chunks,
)
from exactik.tracking._result import Track
from exactik.tracking.smoothing import require_smooth, smooth_path
from exactik.typing import Array, BoolArray

__all__ = ["track"]

Progress = Callable[[int, int], object]

STARTS = 24
"""Default number of cold starts: with it 99 % of the frames of two takes are found from nothing
(`test_frames_from_nothing` in tests/tracking/test_track_hdm05.py)."""
PROGRESS_SHARES = {"first pass": 0.15, "branches": 0.7, "smoothing": 0.15}
"""Of the time, roughly; only for the progress that is shown."""


def track(
    skeleton: Skeleton,
    markers: Markers,
    *,
    solver: str | Method = "auto",
    limits: str = "hard",
    weights: Mapping[str, float] | ArrayLike | None = None,
    robust: str | None = None,
    smooth: float | str | None = "auto",
    sigma: float | None = None,
    branches: bool = True,
    threads: int | None = 1,
    progress: Progress | None = None,
    lock: str | Sequence[str] = (),
    strength: Mapping[str, float] | None = None,
    starts: int = STARTS,
    posture: float = POSTURE_WEIGHT,
    offsets: ArrayLike | None = None,
    references: Mapping[str, CoordinateReference] | None = None,
    options: TrackingOptions | None = None,
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
        smooth: "auto" solves all frames together with a prior on the accelerations of the bones,
            whose strength is estimated from the recording: the most probable motion. A number is a
            cut-off frequency [Hz] above which motion is suppressed; None leaves each frame by
            itself.
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
        references: dof → what it should be, one more goal beside the markers; not with `smooth`.
        options: thresholds of the stages; seldom worth a change.

    Returns:
        The motion with its errors, doubts and error bars.
    """
    begin = time.perf_counter()
    options = DEFAULT_OPTIONS if options is None else options
    require_smooth(smooth, markers.rate)
    if sigma is not None and not (is_number(sigma) and 0.0 < sigma < np.inf):
        raise UsageError(f"sigma is {sigma!r}; it must be a length > 0 [m]")
    if references is not None and smooth is not None:
        raise UsageError("references hold frame by frame; they need smooth=None")
    problem = make_tracking_problem(
        skeleton,
        markers,
        limits=limits,
        lock=lock,
        strength=strength,
        weights=weights,
        robust=robust,
        offsets=offsets,
        posture=posture,
        references=references,
    )
    if len(problem) == 0:
        raise ModelError("the recording has no frames")
    starts = require_count("starts", starts)
    method, cold_method = _choose_methods(solver, options)
    cold_start = cold_method.options(problem.frame_problem)

    prepared = prepare_markers(problem, cold_start, robust, sigma, options)
    problem = prepared.problem
    run = TrackingRun(
        problem=problem,
        warm_start=method.options(problem.frame_problem),
        cold_start=cold_start,
        options=options,
        threads=_count_threads(threads),
    )
    meter = ProgressMeter(len(problem), progress)
    path = first_pass(run, starts, meter.make_reporter("first pass"))
    least_cost = np.full(len(problem), np.inf)
    improve_poor_segments(run, path, least_cost)
    branched, changed = path, np.zeros(len(problem), dtype=bool)
    if branches:
        branched = path.copy()
        search_branches(run, branched, least_cost, meter.make_reporter("branches"))
        changed = np.asarray((branched.q != path.q).any(axis=1))
    unwrap_path(problem, path.q)
    information = compute_marker_information(problem, path.q, options.gaps)
    postures = _fill_gaps(run, path, information)
    if changed.any():
        unwrap_path(problem, branched.q)
        _fill_gaps(run, branched, information)
        changed = _join_gaps(changed, postures)
        take_better_segments(run, prepared.recorded, path, branched, changed)
        unwrap_path(problem, path.q)
    del branched  # an hour of poses
    problem.update_robust_weights(path.q)
    excess = np.zeros(len(problem))
    if branches:
        excess = _compute_excess(run, path, postures, least_cost)
    errors, cost = _measure_errors(prepared.recorded, path.q)
    smoothing, frame_q = None, None
    if smooth is not None:
        frame_q, report_frames = path.q, meter.make_reporter("smoothing")
        path, smoothing = smooth_path(run, path, smooth, sigma, information, report_frames)
    if sigma is None:
        # By what frames leave by themselves: smoothed, they have fewer dofs, nobody knows how many.
        fitted = (information.sum(axis=0) > 0.0) & ~problem.frame_problem.locked
        sigma = estimate_noise(errors, int(fitted.sum()), options.preparation.assumed_noise)
    outcomes = path.outcomes
    motion = Motion(skeleton, path.q, markers.rate, markers.first_frame, markers.up_axis)
    del path  # an hour of poses, of which the motion has a copy
    if smoothing is not None:
        del errors, cost
        errors, cost = _measure_errors(prepared.recorded, motion.q)
    meter.finish()
    codes = outcomes[:, RESULT_STATUS]
    return Track(
        motion=motion,
        names=problem.names,
        marker_errors=errors,
        cost=cost,
        projected_gradient=outcomes[:, RESULT_PROJECTED_GRADIENT],
        ended=_name_endings(codes),
        iterations=count_iterations(outcomes[:, RESULT_ITERATIONS]),
        undetermined=postures.undetermined,
        excess=excess,
        marker_weights=problem.targets.robust_weight if robust is not None else None,
        swaps=prepared.outliers.swaps,
        spikes=prepared.outliers.spikes,
        sigma=float(sigma),
        seconds=time.perf_counter() - begin,
        solver=method.name,
        markers=markers,
        settings={"smooth": smooth, "branches": branches, "starts": starts, "posture": posture},
        options=options,
        problem=prepared.recorded,
        threads=run.threads,
        smoothing=smoothing,
        frame_q=frame_q,
    )


def _count_threads(threads: int | None) -> int:
    return (os.cpu_count() or 1) if threads is None else require_count("threads", threads)


def _choose_methods(
    solver: str | Method, options: TrackingOptions
) -> tuple[CompiledMethod, CompiledMethod]:
    """Return the methods of warm and of cold starts."""
    method = options.warm_start if solver == "auto" else resolve_method(solver)
    if not isinstance(method, CompiledMethod):
        raise UsageError(
            f"solver {method.name!r} is not compiled and cannot follow a recording; use 'auto', "
            "'newton', 'levenberg-marquardt', 'gauss-newton', 'projected-gradient' or 'ccd'"
        )
    if isinstance(solver, str) and solver != "auto":
        method = replace(method, tolerance=options.warm_start.tolerance)
    if isinstance(method, Auto):
        method = replace(method, detour=False)
    is_auto = solver == "auto" or isinstance(method, Auto)
    return method, options.cold_start if is_auto else method


def _fill_gaps(run: TrackingRun, path: FrameSolutions, information: Array) -> FramePostures:
    """Solve the frames of a path that have lost markers again; return what they were pulled to."""
    postures = make_postures(run.problem, path.q, information, run.options.gaps)
    solve_gap_frames(run, path, postures)
    return postures


def _join_gaps(changed: BoolArray, postures: FramePostures) -> BoolArray:
    """Return the frames that changed, (T,), with the gaps beside them: courses go by both ends."""
    joined, count = changed.copy(), len(changed)
    for first, last in find_segments(np.asarray(postures.undetermined.any(axis=1))):
        around = slice(max(first - 1, 0), min(last + 2, count))
        joined[first : last + 1] |= changed[around].any()
    return joined


def _compute_excess(
    run: TrackingRun, path: FrameSolutions, postures: FramePostures, least_cost: Array
) -> Array:
    """Return the share by which frames cost more than the best solution found for each, (T,)."""
    least_cost = np.maximum(least_cost, float(run.warm_start[NEGLIGIBLE_COST]))
    excess = np.maximum(path.cost / least_cost - 1.0, 0.0)
    excess[postures.frames] = 0.0  # their cost has a pull to their course in it
    return excess


def _name_endings(codes: Array) -> NDArray[np.str_]:
    """Return the words for statuses of descents, (T,)."""
    words = np.empty(len(codes), dtype="U15")
    for code in np.unique(codes):
        words[codes == code] = ENDED_WORDS[int(code)]
    return words


def _measure_errors(problem: TrackingProblem, q: Array) -> tuple[Array, Array]:
    """Return the distance of every marker from its place [m], (T, M), and the cost, (T,)."""
    errors, cost = np.empty((len(q), len(problem.names))), np.empty(len(q))
    for frames in split_into_chunks(len(q)):
        residual = problem.residuals(q[frames], frames)
        errors[frames] = np.sqrt(np.einsum("tmi,tmi->tm", residual, residual))
        cost[frames] = 0.5 * np.nansum(problem.targets.weight * errors[frames] ** 2, axis=1)
    return errors, cost


class ProgressMeter:
    """Adds up what the stages report, from any thread, to a number of frames done."""

    def __init__(self, total: int, progress: Progress | None):
        self.total, self.progress, self.done = total, progress, 0.0
        self.lock = threading.Lock()

    def make_reporter(self, stage: str) -> Callable[[int], None]:
        """Return what a stage calls with the number of frames it has gone through."""

        def report_frames(frames: int) -> None:
            if self.progress is not None:
                with self.lock:
                    self.done += PROGRESS_SHARES[stage] * frames
                    self.progress(min(int(self.done), self.total), self.total)

        return report_frames

    def finish(self) -> None:
        """Report that all is done."""
        if self.progress is not None:
            self.progress(self.total, self.total)
