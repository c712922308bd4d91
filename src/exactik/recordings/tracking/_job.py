"""A recording that is to be tracked: its arguments checked, its markers prepared."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from exactik._arguments import require_instance
from exactik._arrays import is_number
from exactik.errors import ModelError, UsageError
from exactik.model import Skeleton
from exactik.model.motion import Markers, Segment, cut_into_segments
from exactik.recordings.tracking._courses import choose_tracking_gpu
from exactik.recordings.tracking._frame_solver import TrackingRun
from exactik.recordings.tracking._options import DEFAULT_OPTIONS, TrackingOptions
from exactik.recordings.tracking._problem import make_tracking_problem
from exactik.recordings.tracking._track_options import Progress, TrackOptions
from exactik.recordings.tracking.preparation import PreparedMarkers, prepare_markers
from exactik.recordings.tracking.smoothing import require_smooth
from exactik.solvers import Auto, CompiledMethod, Method, require_count, resolve_method

PROGRESS_SHARES = {"first pass": 0.15, "branches": 0.7, "smoothing": 0.15}
"""Of the time, roughly; only for the progress that is shown."""
LOOP_SHARE = 0.8  # likewise, of a figure with closed loops


class ProgressMeter:
    """Adds up what the stages report, from any thread, to a number of frames done."""

    def __init__(self, total: int, progress: Progress | None, has_loops: bool):
        self.total, self.progress, self.done = total, progress, 0.0
        others = 1.0 - LOOP_SHARE if has_loops else 1.0
        self.shares = {stage: others * share for stage, share in PROGRESS_SHARES.items()}
        self.shares["loops"] = 1.0 - others
        self.lock = threading.Lock()

    def make_reporter(self, stage: str) -> Callable[[float], None]:
        """Return what a stage calls with the number of frames it has gone through, or shares."""

        def report_frames(frames: float) -> None:
            if self.progress is not None:
                with self.lock:
                    self.done += self.shares[stage] * frames
                    self.progress(min(int(self.done), self.total), self.total)

        return report_frames

    def finish(self) -> None:
        """Report that all is done."""
        if self.progress is not None:
            self.progress(self.total, self.total)


@dataclass(frozen=True, eq=False)
class TrackingJob:
    """A recording that is being tracked, up to its first pass.

    Attributes:
        skeleton: whose markers they are.
        markers: as they were given.
        prepared: problem, swaps and spikes.
        run: what the stages share.
        method: of warm starts.
        settings: arguments, all of them.
        meter: of the progress.
        begin: when it began [s], of `time.perf_counter`.
        device: what the first pass runs on: "cpu", or "cuda" and the name of the GPU.
    """

    skeleton: Skeleton
    markers: Markers
    prepared: PreparedMarkers
    run: TrackingRun
    method: CompiledMethod
    settings: TrackOptions
    meter: ProgressMeter
    begin: float
    device: str = "cpu"

    @property
    def segments(self) -> list[Segment]:
        """Segments of the first pass."""
        return cut_into_segments(len(self.run.problem), self.run.options.segment_frames)

    def on_device(self, device: str, courses: int) -> TrackingJob:
        """Return the same with the processor that a number of courses is to be followed on."""
        run = self.run
        gpu = choose_tracking_gpu(device, run.problem, (run.warm_start, run.cold_start), courses)
        if gpu is None:
            return self
        return replace(self, run=replace(run, on_gpu=True), device=f"cuda: {gpu}")


def begin_tracking(
    skeleton: Skeleton,
    markers: Markers,
    settings: TrackOptions,
    threads: int,
    progress: Progress | None,
) -> TrackingJob:
    """Check the arguments and prepare the markers."""
    begin = time.perf_counter()
    require_instance("skeleton", skeleton, Skeleton)
    require_instance("markers", markers, Markers)
    options = settings.options or DEFAULT_OPTIONS
    require_instance("options", options, TrackingOptions)
    smooth, sigma = settings.smooth, settings.sigma
    require_smooth(smooth, markers.rate)
    if sigma is not None and not (is_number(sigma) and 0.0 < sigma < np.inf):
        raise UsageError(f"sigma is {sigma!r}; it must be a length > 0 [m]")
    if settings.references is not None and smooth is not None:
        raise UsageError("references hold frame by frame; they need smooth=None")
    loss = None if settings.robust == "auto" else settings.robust
    problem = make_tracking_problem(
        skeleton,
        markers,
        limits=settings.limits,
        lock=settings.lock,
        strength=settings.strength,
        weights=settings.weights,
        robust=loss,
        offsets=settings.offsets,
        posture=settings.posture,
        references=settings.references,
    )
    if len(problem) == 0:
        raise ModelError("the recording has no frames")
    settings = replace(settings, starts=require_count("starts", settings.starts))
    method, cold_method = choose_methods(settings.solver, options)
    cold_start = cold_method.options(problem.frame_problem)

    prepared = prepare_markers(problem, cold_start, loss, sigma, options)
    problem = prepared.problem
    run = TrackingRun(
        problem=problem,
        warm_start=method.options(problem.frame_problem),
        cold_start=cold_start,
        options=options,
        threads=threads,
    )
    return TrackingJob(
        skeleton=skeleton,
        markers=markers,
        prepared=prepared,
        run=run,
        method=method,
        settings=settings,
        meter=ProgressMeter(len(problem), progress, len(skeleton.loops) > 0),
        begin=begin,
    )


def choose_methods(
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
