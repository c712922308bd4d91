"""All recordings of `exactik solve`, one after the other: read, solved, written, and said so."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from exactik.calibration import check_mapping
from exactik.cli._app import err, frames_bar, print_json, say
from exactik.cli._kernels import compile_kernels
from exactik.cli._outputs import OutputPlan, format_entry, print_solved
from exactik.cli.solve._marker_tables import parse_mapping, parse_weights
from exactik.cli.solve._solve_options import SolveOptions
from exactik.errors import ExactikError, FileError
from exactik.io import load_motion
from exactik.model import Skeleton
from exactik.pipeline import (
    LoadedRecording,
    LoadedSkeleton,
    PreparedSkeleton,
    SolvedRecording,
    attach_from_take,
    read_recording,
    resolve_weights,
    solve_recording,
    write_motion,
)
from exactik.problem import find_locked_dofs
from exactik.report import headline_of, summary_of, write_report
from exactik.verdict import EXIT_CODES

__all__ = ["solve_all"]


def solve_all(plans: list[OutputPlan], skeleton: LoadedSkeleton, options: SolveOptions) -> int:
    """Solve all recordings; return the exit code, that of the gravest verdict."""
    solved: list[dict[str, Any]] = []
    failed: list[dict[str, str]] = []
    prepared: dict[str, PreparedSkeleton] = {}
    figure: Skeleton | None = None
    # A take puts markers on the skeleton by the recording of its own name, so that one comes first.
    first_stem = Path(options.take).stem if options.take is not None else ""
    plans.sort(key=lambda plan: plan.source.stem != first_stem)
    for n, plan in enumerate(plans):
        try:
            recording = read_recording(plan.source, None, options.recording, align=False)
            if not options.as_json:
                _print_inputs(plan, recording, skeleton, first=n == 0)
            if figure is None:
                _check_names(recording, skeleton.skeleton, options)
                compile_kernels(options.tracking.robust, options.tracking.smooth)
                figure = _attach_markers(plan.source, skeleton, options)
            subjects = _solve_recording(recording, skeleton, figure, prepared, options)
            for one in subjects:
                prepared.setdefault(one.subject, one.prepared)
                target = plan if len(subjects) == 1 else plan.of_subject(one.subject)
                solved.append(_write_solved(target, one, recording, skeleton, options))
        except ExactikError as error:
            error = error.renamed(_option) if isinstance(error, FileError) else error
            if len(plans) == 1:
                raise error from None
            failed.append({"source": str(plan.source), "error": str(error)})
            err.print(f"exactik: {error}", style="red", markup=False, soft_wrap=True)
    if options.as_json:
        print_json({"solved": solved, "failed": failed})
    elif len(plans) > 1:
        bad = f", {len(failed)} could not be" if len(failed) > 0 else ""
        say(f"\n{len(plans) - len(failed)} of {len(plans)} recordings solved{bad}.")
    if len(failed) > 0:
        return 2
    return max((EXIT_CODES[summary["verdict"]] for summary in solved), default=0)


def _check_names(recording: LoadedRecording, skeleton: Skeleton, options: SolveOptions) -> None:
    """Refuse misspelt names before minutes go into compiling and fitting."""
    if options.mapping is not None and options.take is None:
        check_mapping(skeleton, recording.markers, parse_mapping(options.mapping))
    if options.weights is not None:
        known = {name: name for name in (*recording.markers.names, *skeleton.markers)}
        resolve_weights(parse_weights(options.weights), tuple(known), known)
    find_locked_dofs(skeleton, options.tracking.lock)


def _option(argument: str) -> str:
    """Return the option that an argument of the library is on the command line."""
    return f"--{argument.replace('_', '-')}"


def _print_inputs(
    plan: OutputPlan, recording: LoadedRecording, skeleton: LoadedSkeleton, first: bool
) -> None:
    """Say what was read: the recording and, the first time, the skeleton."""
    if not first:
        say()
    say(format_entry("read", f"{plan.source}: {recording.words}"))
    if first:
        s = skeleton.skeleton
        sizes = f"{len(s.bones)} bones, {s.nv} dofs, {len(s.markers)} markers"
        say(format_entry("figure", f"{skeleton.name}: {sizes}"))
    for note in (*(skeleton.notes if first else ()), *recording.notes):
        say(format_entry("note", note))


def _attach_markers(source: Path, skeleton: LoadedSkeleton, options: SolveOptions) -> Skeleton:
    """Return the skeleton with markers: its own, or put on it by a take of the first recording."""
    if options.take is None:
        if len(skeleton.skeleton.markers) == 0 and options.mapping is None:
            raise FileError(
                skeleton.name,
                "has no markers; give --take, a motion of the same recording, or --mapping, the "
                "bone of each marker, or a skeleton that `exactik calibrate` made",
            )
        return skeleton.skeleton
    whole = replace(options.recording, start=None, end=None)
    markers = read_recording(source, skeleton.up, whole).markers
    by_hand = None if options.mapping is None else parse_mapping(options.mapping)
    motion = load_motion(options.take, skeleton.skeleton)
    figure, notes = attach_from_take(motion, markers, skeleton.up, by_hand, options.take)
    skeleton.notes += notes
    if not options.as_json:
        for note in notes:
            say(format_entry("note", note))
    return figure


def _solve_recording(
    recording: LoadedRecording,
    skeleton: LoadedSkeleton,
    figure: Skeleton,
    prepared: dict[str, PreparedSkeleton],
    options: SolveOptions,
) -> list[SolvedRecording]:
    """Solve the subjects of a recording, with a bar for each stage."""
    mapping = None
    if options.mapping is not None and (options.take is None or options.fit):
        mapping = parse_mapping(options.mapping)
    origin = "user" if options.recording.up is not None else "file"
    with frames_bar() as bar:
        task = bar.add_task("", total=len(recording.markers))
        return solve_recording(
            recording.markers,
            figure,
            skeleton_up=skeleton.up,
            up_origin="axes" if options.recording.axes is not None else origin,
            fit=options.fit,
            mapping=mapping,
            computed=options.computed,
            prepared=prepared,
            subject=options.subject,
            weights=None if options.weights is None else parse_weights(options.weights),
            progress=lambda what, done, total: bar.update(
                task, description=what, completed=done, total=total
            ),
            **asdict(options.tracking),
        )


def _write_solved(
    plan: OutputPlan,
    solved: SolvedRecording,
    recording: LoadedRecording,
    skeleton: LoadedSkeleton,
    options: SolveOptions,
) -> dict[str, Any]:
    """Write the files of a solved recording, say so; return its summary."""
    notes = [*solved.notes]
    if skeleton.record is not None and not options.fit:
        error = solved.track.mean_error
        misfit = skeleton.record.describe_misfit(error, str(plan.source), skeleton.name)
        notes += [] if misfit is None else [misfit]
    elif not options.fit and "error" in {reason.code for reason in solved.verdict.reasons}:
        notes.append(
            "The figure was not fitted to the subject: --calibrate does that here, `exactik "
            f"calibrate {plan.source} --skeleton {skeleton.name}` once for all recordings."
        )
    if not options.as_json:
        for note in notes:
            say(format_entry("note", note))
    written: list[tuple[Path, str]] = []
    for path in plan.targets:
        written += write_motion(solved.track.motion, path, options.angles, options.rotations)
    summary = summary_of(solved.track, options.command)
    if plan.report is not None:
        write_report(solved.track, str(plan.report), summary=summary)
        written.append((plan.report, "the report"))
    summary["subject"] = solved.subject
    summary["written"] = [str(path) for path, _ in written]
    summary["notes"] = [*skeleton.notes, *recording.notes, *notes]
    if not options.as_json:
        print_solved(summary, headline_of(summary), written, options.list_all)
    return summary
