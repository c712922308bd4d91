"""All recordings of `exactik solve`, one after the other: read, solved, written, and said so."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from exactik.cli._app import Entries, Stopwatch, say, show_frames
from exactik.cli._outputs import OutputPlan, print_solved, run_each, write_tracked
from exactik.errors import FileError
from exactik.io import load_motion
from exactik.model import Skeleton
from exactik.recordings.pipeline import (
    LoadedRecording,
    LoadedSkeleton,
    PreparedSkeleton,
    RecordingOptions,
    SolvedRecording,
    attach_from_take,
    check_names,
    read_recording,
    solve_recording,
)


@dataclass(frozen=True)
class SolveRequest:
    """What the user asked for, the same for all recordings."""

    options: RecordingOptions  # of each of them
    take: str | None  # file of a motion of the first recording, to put markers on the skeleton
    as_json: bool  # print the summaries and nothing else
    verbose: bool  # say all that was read, assumed and found
    list_all: bool  # list all frames that need attention
    watch: Stopwatch = field(default_factory=Stopwatch)  # what the stages of all of them take

    @property
    def entries(self) -> Entries:
        """What is said on the way."""
        return Entries(self.as_json or not self.verbose)


def solve_all(plans: list[OutputPlan], skeleton: LoadedSkeleton, request: SolveRequest) -> int:
    """Solve all recordings; return the exit code, that of the gravest verdict."""
    prepared: dict[str, PreparedSkeleton] = {}
    figure: Skeleton | None = None
    # A take puts markers on the skeleton by the recording of its own name, so that one comes first.
    first_stem = Path(request.take).stem if request.take is not None else ""
    plans.sort(key=lambda plan: plan.source.stem != first_stem)

    def solve(n: int, plan: OutputPlan) -> list[dict[str, Any]]:
        nonlocal figure
        options, watch = request.options, request.watch
        with watch.measure("reading"):
            recording = read_recording(plan.source, None, options, align=False)
        if request.verbose and not request.as_json:
            _print_inputs(plan, recording, skeleton, first=n == 0)
        if figure is None:
            # Before seconds go into fitting.
            check_names(recording.markers, skeleton.skeleton, _without_take(request))
            figure = _attach_markers(plan.source, skeleton, request)
        preparing = "fitting" if options.fit else "preparing"
        with watch.measure(preparing):
            subjects = _solve_recording(recording, skeleton, figure, prepared, request)
        solving = sum(one.track.seconds for one in subjects)
        watch.add(preparing, -solving)
        watch.add("solving", solving)
        summaries = []
        for one in subjects:
            prepared.setdefault(one.subject, one.prepared)
            target = plan if len(subjects) == 1 else plan.of_subject(one.subject)
            summaries.append(_write_solved(target, one, recording, skeleton, request))
        return summaries

    failed, code = run_each(
        plans, solve, request.watch, as_json=request.as_json, verbose=request.verbose
    )
    if len(plans) > 1 and not request.as_json:
        bad = f", {failed} could not be" if failed > 0 else ""
        say(f"\n{len(plans) - failed} of {len(plans)} recordings solved{bad}.")
    return code


def _without_take(request: SolveRequest) -> RecordingOptions:
    """Return the options without the mapping, if a take puts the markers on the skeleton by it."""
    return request.options if request.take is None else replace(request.options, mapping=None)


def _print_inputs(
    plan: OutputPlan, recording: LoadedRecording, skeleton: LoadedSkeleton, first: bool
) -> None:
    """Say what was read: the recording and, the first time, the skeleton."""
    entries = Entries(False)
    if not first:
        say()
    entries.add("read", f"{plan.source}: {recording.words}")
    if first:
        s = skeleton.skeleton
        sizes = f"{len(s.bones)} bones, {s.nv} dofs, {len(s.markers)} markers"
        entries.add("figure", f"{skeleton.name}: {sizes}")
    entries.add("note", *(skeleton.notes if first else ()), *recording.notes)


def _attach_markers(source: Path, skeleton: LoadedSkeleton, request: SolveRequest) -> Skeleton:
    """Return the skeleton with markers: its own, or put on it by a take of the first recording."""
    options = request.options
    if request.take is None:
        if len(skeleton.skeleton.markers) == 0 and options.mapping is None:
            raise FileError(
                skeleton.name,
                "has no markers; give --take, a motion of the same recording, or --mapping, the "
                "bone of each marker, or a skeleton that `exactik calibrate` made",
            )
        return skeleton.skeleton
    whole = replace(options, start=None, end=None)
    markers = read_recording(source, skeleton.up, whole).markers
    motion = load_motion(request.take, skeleton.skeleton)
    figure, notes = attach_from_take(motion, markers, skeleton.up, options.mapping, request.take)
    skeleton.notes += notes
    request.entries.add("note", *notes)
    return figure


def _solve_recording(
    recording: LoadedRecording,
    skeleton: LoadedSkeleton,
    figure: Skeleton,
    prepared: dict[str, PreparedSkeleton],
    request: SolveRequest,
) -> list[SolvedRecording]:
    """Solve the subjects of a recording, with a bar for each stage."""
    options = request.options
    if not options.fit:
        options = _without_take(request)
    with show_frames("", len(recording.markers)) as report:
        return solve_recording(
            recording.markers,
            replace(skeleton, skeleton=figure),
            options,
            prepared=prepared,
            progress=lambda what, done, total: report(done, total, description=what),
        )


def _write_solved(
    plan: OutputPlan,
    solved: SolvedRecording,
    recording: LoadedRecording,
    skeleton: LoadedSkeleton,
    request: SolveRequest,
) -> dict[str, Any]:
    """Write the files of a solved recording, say so; return its summary."""
    advice, fit = "", request.options.fit
    if skeleton.record is not None and not fit:
        error = solved.track.mean_error
        advice = skeleton.record.describe_misfit(error, str(plan.source), skeleton.name) or ""
    elif not fit and "error" in {reason.kind for reason in solved.verdict.reasons}:
        advice = (
            "The figure was not fitted to the subject: --calibrate does that here, `exactik "
            f"calibrate {plan.source} --skeleton {skeleton.name}` once for all recordings."
        )
    notes = [*solved.notes, *([advice] if advice else [])]
    request.entries.add("note", *notes)
    summary, written = write_tracked(
        solved.track, plan, request.options, solved.subject, request.watch
    )
    summary["written"] = [str(path) for path, _ in written]
    summary["notes"] = [*skeleton.notes, *recording.notes, *notes]
    if not request.as_json:
        print_solved(
            summary,
            written,
            verbose=request.verbose,
            list_all=request.list_all,
            advice=advice,
        )
    return summary
