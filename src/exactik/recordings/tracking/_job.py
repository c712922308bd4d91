"""A recording that is to be tracked: options, arguments checked, markers prepared."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from exactik._arguments import require_instance
from exactik._arrays import is_number
from exactik._options import option
from exactik.errors import ModelError, UsageError
from exactik.goals import Collisions
from exactik.model import Skeleton
from exactik.model.motion import Markers, Segment, cut_into_segments
from exactik.problem import DofOptions, SpeedOptions
from exactik.recordings.tracking._frame_solver import TrackingRun, choose_tracking_gpu
from exactik.recordings.tracking._options import DEFAULT_OPTIONS, TrackingOptions
from exactik.recordings.tracking._problem import (
    POSTURE_WEIGHT,
    CoordinateReference,
    make_tracking_problem,
)
from exactik.recordings.tracking.preparation import PreparedMarkers, prepare_markers
from exactik.recordings.tracking.smoothing import require_smooth
from exactik.solvers import Auto, CompiledMethod, Method, require_count, resolve_method
from exactik.solvers.control import find_speeds

Progress = Callable[[int, int], object]
PROGRESS_SHARES = {"first pass": 0.15, "branches": 0.7, "smoothing": 0.15}
"""Of the time, roughly; only for the progress that is shown."""
SETTLING_SHARE = 0.8  # likewise, where closed loops or collisions are kept


@dataclass(frozen=True, kw_only=True)
class PlainTrackOptions(SpeedOptions, DofOptions):
    """What can be asked of any recording, in words and numbers: `TrackOptions` has the rest."""

    robust: str | None = option(
        "auto",
        "How markers far from the figure count: auto (gross outliers are left out, swaps exchanged "
        "back), none (fully), huber (less) or tukey (not at all).",
        more='"auto" leaves a recording without any as None does, to the last bit.',
        why="Least squares is right for noise, and not for what is thrown far away "
        "(tests/recordings/tracking/test_track_bad_data.py).",
        metavar="WORD",
        words={"auto": "auto", "none": None, "huber": "huber", "tukey": "tukey"},
    )
    smooth: float | str | None = option(
        "auto",
        "Smooth the motion: auto (strength found from the recording), none, or a cut-off in Hz.",
        more='"auto" has a prior on the accelerations of the bones, whose strength is estimated '
        "from the recording: the most probable motion. A number is the frequency above which "
        "motion is suppressed; None leaves each frame by itself.",
        why="It needs to know nothing of the recording (tests/recordings/tracking/"
        "test_track_smooth.py).",
        unit="Hz",
        metavar="WORD",
        words={"auto": "auto", "none": None},
        number="a frequency in Hz",
    )
    sigma: float | None = option(
        None,
        "Noise of the markers; estimated if not given.",
        more="Their standard deviation along each axis, for error bars and robust losses.",
        why="The residuals tell it.",
        unit="m",
        metavar="MM",
    )
    branches: bool = option(
        True,
        "Look for other solutions too, and take the best continuous path through them.",
        why="A path that begins in the wrong pose stays in it (tests/recordings/tracking/"
        "test_branches.py).",
        flags="--branches/--no-branches",
    )
    strength: Mapping[str, float] | None = option(
        None, "Name or pattern → how readily dofs move, 1 for the others."
    )
    starts: int = option(
        24,
        "How many poses to try where no frame comes before.",
        why="With it 99 % of the frames of two takes are found from nothing "
        "(test_frames_from_nothing in tests/recordings/tracking/test_track_hdm05.py).",
    )
    posture: float = option(
        POSTURE_WEIGHT,
        "Weight of the neutral pose, in shares of a marker's at arm's length; 0 for none.",
        more="It settles what the markers leave open.",
        why="Small enough to do only that (docs/maths.md §15); error bars hold with it "
        "(tests/recordings/tracking/test_track_sd.py).",
    )
    threads: int | None = option(
        1,
        "Number of threads; one per processor if None.",
        more="The result does not depend on it.",
        why="The caller knows what else runs.",
    )


@dataclass(frozen=True, kw_only=True)
class TrackOptions(PlainTrackOptions):
    """How the motion of a recording is found."""

    solver: str | Method = option(
        "auto",
        "A compiled method; its tolerance is 1e-7 if only its name is given.",
        why="Its answer does not depend on rounding (`TrackingOptions.warm_start`), in the least "
        "time.",
    )
    weights: Mapping[str, float] | ArrayLike | None = option(
        None,
        "Name of a marker → its weight, 1 for the others; or all of them, (M,).",
        more="Only ratios count; a marker of weight 0 is measured, and nothing goes by it.",
        why="Nothing is known of the markers but their names.",
    )
    offsets: ArrayLike | None = option(
        None,
        "Places of the markers in their bones in each frame, (T, M, 3).",
        more="In place of the skeleton's.",
        unit="m",
    )
    references: Mapping[str, CoordinateReference] | None = option(
        None,
        "Dof → what it should be, one more goal beside the markers; not with `smooth`.",
    )
    collisions: Collisions | None = option(
        None,
        "Bodies and obstacles that are kept apart: `ik.Collisions(skeleton, …)`.",
        more="The last stage moves each pose to the nearest one that keeps the distance.",
        why="It takes longer than all other stages.",
    )
    device: str = option(
        "cpu",
        '"cpu"; "cuda" for a GPU of NVIDIA\'s, where the first pass through all frames runs.',
        more='"auto" takes the GPU if there is one and the recording is very long. See '
        "`track_many`.",
        why="The other stages run on the CPU, so that few recordings gain by a GPU (docs/gpu.md).",
    )
    options: TrackingOptions | None = option(
        None, "Thresholds of the stages; seldom worth a change."
    )
    progress: Progress | None = option(None, "Is called with the number of frames done and to do.")

    def settles(self, skeleton: Skeleton) -> bool:
        """Whether each pose is moved at the end to keep closed loops or distances of bodies."""
        return len(skeleton.loops) > 0 or self.collisions is not None


@dataclass(frozen=True, kw_only=True)
class TrackManyOptions(TrackOptions):
    """How the motions of many recordings are found."""

    threads: int | None = option(
        None,
        "Number of threads, each with recordings of its own; one per processor if None.",
        why="There are enough recordings for all.",
    )


class ProgressMeter:
    """Adds up what the stages report, from any thread, to a number of frames done."""

    def __init__(self, total: int, progress: Progress | None, settles: bool):
        self.total, self.progress, self.done = total, progress, 0.0
        others = 1.0 - SETTLING_SHARE if settles else 1.0
        self.shares = {stage: others * share for stage, share in PROGRESS_SHARES.items()}
        self.shares["settling"] = 1.0 - others
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
    """A recording that is being tracked, up to its first pass."""

    skeleton: Skeleton  # whose markers they are
    markers: Markers  # as they were given
    prepared: PreparedMarkers  # problem, swaps and spikes
    run: TrackingRun  # what the stages share
    method: CompiledMethod  # of warm starts
    settings: TrackOptions  # arguments, all of them
    meter: ProgressMeter  # of the progress
    begin: float  # when it began [s], of `time.perf_counter`
    device: str = "cpu"  # what the first pass runs on: "cpu", or "cuda" and the name of the GPU

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
    if settings.collisions is not None:
        require_instance("collisions", settings.collisions, Collisions)
    smooth, sigma = settings.smooth, settings.sigma
    require_smooth(smooth, markers.rate)
    if sigma is not None and not (is_number(sigma) and 0.0 < sigma < np.inf):
        raise UsageError(f"sigma is {sigma!r}; it must be a length > 0 [m]")
    if settings.references is not None and smooth is not None:
        raise UsageError("references hold frame by frame; they need smooth=None")
    if settings.max_speed is not None:
        find_speeds(skeleton, settings.max_speed)
        if settings.settles(skeleton):
            kept = "closed loops" if len(skeleton.loops) > 0 else "collisions"
            raise UsageError(f"max_speed cannot be kept beside {kept} yet; leave out one")
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
        meter=ProgressMeter(len(problem), progress, settings.settles(skeleton)),
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
