"""Solve whole recordings, stage by stage."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exactik._arguments import require_instance
from exactik._options import accepts_options
from exactik._threads import run_in_threads
from exactik.errors import UsageError
from exactik.kernels.descent.options import NEGLIGIBLE_COST
from exactik.kernels.descent.results import (
    RESULT_ITERATIONS,
    RESULT_PROJECTED_GRADIENT,
    RESULT_STATUS,
)
from exactik.model import Skeleton
from exactik.model.motion import Markers, Motion, Segment, find_segments
from exactik.recordings.tracking._branches import improve_poor_segments, search_branches
from exactik.recordings.tracking._continuity import take_better_segments
from exactik.recordings.tracking._error_bars import estimate_noise
from exactik.recordings.tracking._first_pass import first_pass, join_segments, solve_segments
from exactik.recordings.tracking._frame_solver import FrameSolutions, TrackingRun, unwrap_path
from exactik.recordings.tracking._gaps import (
    FramePostures,
    compute_marker_information,
    make_postures,
    solve_gap_frames,
)
from exactik.recordings.tracking._job import (
    Progress,
    TrackingJob,
    TrackManyOptions,
    TrackOptions,
    begin_tracking,
)
from exactik.recordings.tracking._problem import TrackingProblem, join_problems, split_into_chunks
from exactik.recordings.tracking._result import Track
from exactik.recordings.tracking.preparation import repair_outliers
from exactik.recordings.tracking.smoothing import smooth_path
from exactik.solvers import ENDED_WORDS, count_iterations, count_threads
from exactik.solvers.batch import settle_path
from exactik.solvers.control import Speeds, limit_speeds
from exactik.typing import Array, BoolArray


@accepts_options(TrackOptions)
def track(skeleton: Skeleton, markers: Markers, options: TrackOptions) -> Track:
    """Find the motion that a recording of markers shows.

    Every frame is solved from the one before it; the first from several poses that are brought to
    its markers. Markers that are missing do not count in their frame. Limits are never left.

    Args:
        skeleton: whose markers they are, see `attach_markers` and `calibrate`.
        markers: the recording; markers are matched by name, others left out.
        options: fields of `TrackOptions`, as keywords.

    Returns:
        The motion with its errors, doubts and error bars.
    """
    job = begin_tracking(
        skeleton, markers, options, count_threads(options.threads), options.progress
    )
    job = job.on_device(options.device, len(job.segments))
    path = first_pass(job.run, job.settings.starts, job.meter.make_reporter("first pass"))
    return finish_tracking(job, path)


@accepts_options(TrackManyOptions)
def track_many(
    skeleton: Skeleton | Sequence[Skeleton],
    recordings: Sequence[Markers],
    options: TrackManyOptions,
) -> list[Track]:
    """Find the motions of many recordings, each as `track` finds it.

    The first passes through recordings of the same markers on the same skeleton run side by side,
    which is what fills a GPU; the other stages go through one recording after the other. A result
    does not depend on what else is tracked, nor on the threads.

    Args:
        skeleton: of all recordings, or of each.
        recordings: markers are matched by name, see `track`.
        options: those of `track`, for all recordings, as keywords.
    """
    if isinstance(recordings, Markers | str):
        raise UsageError("recordings is one alone; expected a list of Markers")
    recordings = [require_instance("recordings", each, Markers) for each in recordings]
    skeletons = [skeleton] * len(recordings) if isinstance(skeleton, Skeleton) else list(skeleton)
    if len(skeletons) != len(recordings):
        raise UsageError(f"{len(skeletons)} skeletons for {len(recordings)} recordings")
    count = count_threads(options.threads)
    reporters = _share_progress(options.progress, [len(markers) for markers in recordings])
    jobs: list[TrackingJob | None] = [None] * len(recordings)
    tracks: list[Track | None] = [None] * len(recordings)

    def track_whole(n: int) -> None:
        job = begin_tracking(skeletons[n], recordings[n], options, 1, reporters[n])
        path = first_pass(job.run, job.settings.starts, job.meter.make_reporter("first pass"))
        tracks[n] = finish_tracking(job, path)

    def begin(n: int) -> None:
        jobs[n] = begin_tracking(skeletons[n], recordings[n], options, 1, reporters[n])

    def finish(n: int) -> None:
        job = jobs[n]
        assert job is not None
        path = paths[n]
        if path is None:
            path = first_pass(job.run, job.settings.starts, job.meter.make_reporter("first pass"))
        else:
            join_segments(job.run, path, job.segments)
        tracks[n] = finish_tracking(job, path)
        jobs[n] = paths[n] = None  # hours of poses

    if options.device == "cpu":  # one after the other: prepared recordings take memory
        run_in_threads(count, track_whole, range(len(recordings)))
        return [track for track in tracks if track is not None]
    run_in_threads(count, begin, range(len(recordings)))
    begun = [job for job in jobs if job is not None]
    courses = sum(len(job.segments) for job in begun)
    jobs[:] = [job.on_device(options.device, courses) for job in begun]
    paths = _solve_segments_together([job for job in jobs if job is not None])
    run_in_threads(count, finish, range(len(recordings)))
    return [track for track in tracks if track is not None]


def _share_progress(progress: Progress | None, lengths: Sequence[int]) -> list[Progress | None]:
    """Return what each of several recordings calls with the frames of its own that are done."""
    done, lock = [0] * len(lengths), threading.Lock()

    def make_reporter(n: int) -> Progress:
        def report(frames: int, _: int) -> None:
            with lock:
                done[n] = frames
                if progress is not None:
                    progress(sum(done), sum(lengths))

        return report

    return [None if progress is None else make_reporter(n) for n in range(len(lengths))]


def _solve_segments_together(jobs: Sequence[TrackingJob]) -> list[FrameSolutions | None]:
    """Return solutions of the segments of each recording that a GPU takes; None for the others."""
    paths: list[FrameSolutions | None] = [None] * len(jobs)
    groups: list[list[int]] = []
    for n, job in enumerate(jobs):
        problem = job.run.problem
        joined = next((g for g in groups if jobs[g[0]].run.problem.can_join(problem)), None)
        if joined is not None:
            joined.append(n)
        elif job.run.on_gpu:
            groups.append([n])
    for members in groups:
        group = [jobs[n] for n in members]
        joint = replace(group[0].run, problem=join_problems([job.run.problem for job in group]))
        ends = np.cumsum([0, *(len(job.run.problem) for job in group)])
        segments = [
            Segment(first + int(shift), last + int(shift))
            for job, shift in zip(group, ends, strict=False)
            for first, last in job.segments
        ]
        solutions = solve_segments(joint, segments, group[0].settings.starts, lambda frames: None)
        for n, first, last in zip(members, ends[:-1], ends[1:], strict=True):
            paths[n] = solutions.take(slice(int(first), int(last))).copy()
            jobs[n].meter.make_reporter("first pass")(int(last - first))
    return paths


def finish_tracking(job: TrackingJob, path: FrameSolutions) -> Track:
    """Go through the stages after the first pass, whose path is changed in place."""
    job, path = _repair_outliers(job, path)
    run, prepared, markers, meter = job.run, job.prepared, job.markers, job.meter
    problem, settings = run.problem, job.settings
    branches, smooth, sigma = settings.branches, settings.smooth, settings.sigma
    options = run.options
    least_cost = np.full(len(problem), np.inf)
    improve_poor_segments(run, path, least_cost)
    branched, changed = path, np.zeros(len(problem), dtype=bool)
    if branches:
        branched = path.copy()
        search_branches(run, branched, least_cost, meter.make_reporter("branches"))
        changed = np.asarray((branched.q != path.q).any(axis=1))
    unwrap_path(problem, path.q)
    information = compute_marker_information(problem, path.q)
    postures = _fill_gaps(run, path, information)
    if changed.any():
        unwrap_path(problem, branched.q)
        _fill_gaps(run, branched, information)
        changed = _join_gaps(changed, postures)
        take_better_segments(run, prepared.recorded, path, branched, changed)
        unwrap_path(problem, path.q)
    del branched  # an hour of poses
    problem.update_robust_weights(path.q)
    excess_cost = np.zeros(len(problem))
    if branches:
        excess_cost = _compute_excess_cost(run, path, postures, least_cost)
    errors, cost = _measure_errors(prepared.recorded, path.q)
    smoothing, frame_q = None, None
    if smooth is not None:
        frame_q, report_frames = path.q, meter.make_reporter("smoothing")
        path, smoothing = smooth_path(run, path, smooth, sigma, information, report_frames)
    if sigma is None:
        # By what frames leave by themselves: smoothed, they have fewer dofs, nobody knows how many.
        fitted = (information.sum(axis=0) > 0.0) & ~problem.frame_problem.locked
        errors_that_count = errors[:, problem.counts]
        sigma = estimate_noise(errors_that_count, int(fitted.sum()))
    outcomes = path.outcomes
    motion, changed_at_end = _make_motion(job, path.q)
    del path  # an hour of poses, of which the motion has a copy
    if smoothing is not None or changed_at_end:
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
        excess_cost=excess_cost,
        marker_weights=problem.targets.robust_weight if problem.robust is not None else None,
        swaps=prepared.outliers.swaps,
        spikes=prepared.outliers.spikes,
        sigma=float(sigma),
        seconds=time.perf_counter() - job.begin,
        solver=job.method.name,
        markers=markers,
        settings={
            "smooth": smooth,
            "branches": branches,
            "starts": settings.starts,
            "posture": settings.posture,
            "robust": settings.robust,
            "max_speed": _to_plain(settings.max_speed),
        },
        options=options,
        problem=prepared.recorded,
        threads=run.threads,
        device=job.device,
        smoothing=smoothing,
        frame_q=frame_q,
    )


def _make_motion(job: TrackingJob, q: Array) -> tuple[Motion, bool]:
    """Return the motion of a path that keeps loops, distances and speeds; whether that changed it.

    Each pose goes to the nearest one that keeps loops and distances.
    """
    skeleton, markers, settings = job.skeleton, job.markers, job.settings
    is_settled, is_bounded = settings.settles(skeleton), settings.max_speed is not None
    if is_settled:
        problem = job.run.problem
        weights = dict(zip(problem.names, problem.targets.weight.tolist(), strict=True))
        q = settle_path(
            skeleton,
            q,
            {name: weights[name] for name in np.array(problem.names)[problem.counts].tolist()},
            goals=() if settings.collisions is None else (settings.collisions,),
            threads=job.run.threads,
            report_frames=job.meter.make_reporter("settling"),
            limits=settings.limits,
            lock=settings.lock,
            strength=settings.strength,
        )
        unwrap_path(problem, q)
    motion = Motion(
        skeleton,
        q,
        markers.rate,
        first_frame=markers.first_frame,
        up_axis=markers.up_axis,
        start_time=markers.start_time,
    )
    if settings.max_speed is not None:
        motion = keep_speeds(motion, settings.max_speed)
    return motion, is_settled or is_bounded


def _to_plain(speeds: Speeds | None) -> Any:
    """Return speeds as JSON can hold them."""
    if isinstance(speeds, Mapping):
        return dict(speeds)
    return speeds if speeds is None or isinstance(speeds, str) else np.asarray(speeds).tolist()


def _repair_outliers(job: TrackingJob, path: FrameSolutions) -> tuple[TrackingJob, FrameSolutions]:
    """Return the job without gross outliers, and its path, if the loss is "auto"."""
    if job.settings.robust != "auto":
        return job, path
    repaired = repair_outliers(job.run, job.prepared, path.q, job.settings.starts)
    if repaired is None:
        return job, path
    prepared, path = repaired
    return replace(job, run=replace(job.run, problem=prepared.problem), prepared=prepared), path


def keep_speeds(motion: Motion, max_speed: Speeds) -> Motion:
    """Return the motion nearest to one whose dofs keep their speeds; see `SpeedOptions`."""
    return replace(motion, q=limit_speeds(motion.skeleton, motion.q, motion.rate, max_speed)[0])


def _fill_gaps(run: TrackingRun, path: FrameSolutions, information: Array) -> FramePostures:
    """Solve the frames of a path that have lost markers again; return what they were pulled to."""
    postures = make_postures(run.problem, path.q, information, run.options)
    solve_gap_frames(run, path, postures)
    return postures


def _join_gaps(changed: BoolArray, postures: FramePostures) -> BoolArray:
    """Return the frames that changed, (T,), with the gaps beside them: courses go by both ends."""
    joined, count = changed.copy(), len(changed)
    for first, last in find_segments(np.asarray(postures.undetermined.any(axis=1))):
        around = slice(max(first - 1, 0), min(last + 2, count))
        joined[first : last + 1] |= changed[around].any()
    return joined


def _compute_excess_cost(
    run: TrackingRun, path: FrameSolutions, postures: FramePostures, least_cost: Array
) -> Array:
    """Return the share by which frames cost more than the best solution found for each, (T,)."""
    least_cost = np.maximum(least_cost, float(run.warm_start[NEGLIGIBLE_COST]))
    excess_cost = np.maximum(path.cost / least_cost - 1.0, 0.0)
    excess_cost[postures.frames] = 0.0  # their cost has a pull to their course in it
    return excess_cost


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
