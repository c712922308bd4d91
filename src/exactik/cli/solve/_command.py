"""`exactik solve`."""

from __future__ import annotations

import shlex
import sys
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from exactik._text import join_names
from exactik.cli._app import AsJson, app, err, frames_bar, print_json, say
from exactik.cli._kernels import compile_kernels
from exactik.cli._options import (
    AxesOption,
    ComputedOption,
    EndOption,
    LengthUnitOption,
    LimitsOption,
    LockOption,
    MappingOption,
    RecordingOptions,
    SkeletonUnitOption,
    SkeletonUpOption,
    StartOption,
    TakeOption,
    UpOption,
    parse_length_unit,
)
from exactik.errors import ExactikError, FileError, UsageError

if TYPE_CHECKING:
    from exactik.cli._inputs import LoadedRecording, LoadedSkeleton
    from exactik.cli._outputs import OutputPlan
    from exactik.model import Skeleton
    from exactik.pipeline import PreparedSkeleton, SolvedRecording

__all__ = ["solve"]


@dataclass(frozen=True)
class TrackOptions:
    """Options of `exactik.track`, see there; `sigma` in metres."""

    robust: str | None
    smooth: float | str | None
    limits: str
    lock: tuple[str, ...]
    sigma: float | None
    branches: bool
    threads: int | None


@dataclass(frozen=True)
class SolveOptions:
    """What the user asked for, the same for all recordings.

    Attributes:
        recording: how to read each of them.
        tracking: how to solve each of them.
        weights: of markers, as given.
        mapping: what recorded markers are, as given.
        take: file of a motion of the first recording, to put markers on the skeleton.
        computed: whether to use computed points, such as joint centres.
        fit: whether to fit the size of the skeleton.
        subject: of recordings of several: a name, "all", or None for the first.
        command: the whole command line.
        as_json: print the summaries and nothing else.
        list_all: list all frames that need attention.
        angles: columns of MOT and CSV: "clinical", "joints" or "both"; None for the usual.
        rotations: columns of CSV: "coordinates", "wxyz" or "swing-twist"; None for the usual.
    """

    recording: RecordingOptions
    tracking: TrackOptions
    weights: str | None
    mapping: str | None
    take: str | None
    computed: bool
    fit: bool
    subject: str | None
    command: str
    as_json: bool
    list_all: bool
    angles: str | None = None
    rotations: str | None = None


@app.command()
def solve(
    recordings: Annotated[
        list[str], typer.Argument(metavar="MARKERS…", help="Recordings: files, patterns, folders.")
    ],
    skeleton: Annotated[
        str,
        typer.Option(help="The figure: a file (.asf .bvh .npz .glb .urdf .xml), or human, ours."),
    ],
    output: Annotated[
        list[str] | None,
        typer.Option("--output", "-o", help="File to write, or folder; may be given repeatedly."),
    ] = None,
    report: Annotated[
        str | None, typer.Option(help="HTML report to write; a folder for many recordings.")
    ] = None,
    formats: Annotated[
        str | None, typer.Option("--format", help="Some of bvh, amc, glb, npz, mot, csv: bvh,glb.")
    ] = None,
    calibrate: Annotated[
        bool | None,
        typer.Option(
            "--calibrate/--no-calibrate",
            help="Fit size and markers of the figure to the subject first; human always is.",
            show_default=False,
        ),
    ] = None,
    angles: Annotated[
        str | None,
        typer.Option(help="Columns of .csv and .mot: clinical (hip_flexion_r), joints (rx), both."),
    ] = None,
    rotations: Annotated[
        str | None, typer.Option(help="Joints in .csv: coordinates, wxyz or swing-twist.")
    ] = None,
    take: TakeOption = None,
    mapping: MappingOption = None,
    computed: ComputedOption = False,
    subject: Annotated[
        str | None, typer.Option(help="Whom to solve, if several were recorded; all for each.")
    ] = None,
    start: StartOption = None,
    end: EndOption = None,
    robust: Annotated[
        str, typer.Option(help="What markers far off do: none (pull), huber (less), tukey (not).")
    ] = "none",
    smooth: Annotated[
        str,
        typer.Option(
            help="All frames together: auto (as the recording tells), none, or a cut-off in Hz."
        ),
    ] = "auto",
    weights: Annotated[
        str | None, typer.Option(help="Of markers: LFHD=2,R*=0.5, or a .json or .csv file.")
    ] = None,
    limits: LimitsOption = "hard",
    lock: LockOption = None,
    sigma: Annotated[
        float | None, typer.Option(help="Noise of the markers in mm; estimated without it.")
    ] = None,
    branches: Annotated[
        bool, typer.Option("--branches/--no-branches", help="Look for better ways through.")
    ] = True,
    threads: Annotated[
        int | None, typer.Option(help="Number of threads; one per processor without it.", min=1)
    ] = None,
    up: UpOption = None,
    skeleton_up: SkeletonUpOption = None,
    axes: AxesOption = None,
    length_unit: LengthUnitOption = None,
    skeleton_unit: SkeletonUnitOption = None,
    everything: Annotated[
        bool, typer.Option("--all", help="List all frames that need attention.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Find the motion that recorded markers show, and say how far to trust it.

    Ends with 0 if it is good, 1 if it is usable with care, 3 if it should not be used, and 2 if
    something could not be read; of several recordings with the gravest: 2, 3, 1, 0.
    """
    from exactik.cli._inputs import find_recordings, read_skeleton
    from exactik.cli._outputs import plan_outputs

    sources = find_recordings(recordings)
    outputs = output or []
    if len(outputs) == 0 and report is None and not as_json:
        raise UsageError("nothing to write; expected -o with a file or folder, --report or --json")
    plans = plan_outputs(sources, outputs, formats, report, [n for n in (skeleton, take) if n])
    loaded = read_skeleton(skeleton, parse_length_unit(skeleton_unit), skeleton_up)
    options = SolveOptions(
        recording=RecordingOptions(
            up=up, axes=axes, length_unit=parse_length_unit(length_unit), start=start, end=end
        ),
        tracking=TrackOptions(
            robust=_parse_loss(robust),
            smooth=_parse_smooth(smooth),
            limits=limits,
            lock=tuple(lock or ()),
            sigma=None if sigma is None else 1e-3 * sigma,
            branches=branches,
            threads=threads,
        ),
        weights=weights,
        mapping=mapping,
        take=take,
        computed=computed,
        fit=loaded.built_in if calibrate is None else calibrate,
        subject=subject,
        command=f"exactik {shlex.join(sys.argv[1:])}",
        as_json=as_json,
        list_all=everything,
        angles=_check_word("--angles", angles, ("clinical", "joints", "both")),
        rotations=_check_word("--rotations", rotations, ("coordinates", "wxyz", "swing-twist")),
    )
    try:
        raise typer.Exit(_solve_all(plans, loaded, options))
    except KeyboardInterrupt:
        err.print("Stopped. Files that were written are complete; there are no others.")
        raise typer.Exit(130) from None


def _check_word(option: str, word: str | None, known: tuple[str, ...]) -> str | None:
    if word is not None and word not in known:
        raise UsageError(f"{option} is {word!r}; expected {join_names(known, last=' or ')}")
    return word


def _parse_smooth(text: str) -> float | str | None:
    """Return what `track` takes for --smooth."""
    if text == "auto":
        return text
    if text == "none":
        return None
    try:
        return float(text)
    except ValueError:
        raise UsageError(
            f"--smooth is {text!r}; it must be auto, none or a frequency in Hz"
        ) from None


def _parse_loss(word: str) -> str | None:
    if word not in ("none", "huber", "tukey"):
        raise UsageError(f"--robust is {word!r}; expected none, huber or tukey")
    return None if word == "none" else word


def _solve_all(plans: list[OutputPlan], skeleton: LoadedSkeleton, options: SolveOptions) -> int:
    """Solve all recordings; return the exit code, that of the gravest verdict."""
    from exactik.cli._inputs import read_recording
    from exactik.verdict import EXIT_CODES

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


def _option(argument: str) -> str:
    return f"--{argument.replace('_', '-')}"


def _print_inputs(
    plan: OutputPlan, recording: LoadedRecording, skeleton: LoadedSkeleton, first: bool
) -> None:
    from exactik.cli._outputs import format_entry

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
    from exactik.cli._inputs import read_recording
    from exactik.cli._outputs import format_entry
    from exactik.cli.solve._marker_tables import parse_mapping
    from exactik.io import load_motion
    from exactik.pipeline import attach_from_take

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
    from exactik.cli.solve._marker_tables import parse_mapping, parse_weights
    from exactik.pipeline import solve_recording

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
    from exactik.cli._outputs import format_entry, print_solved, write_motion
    from exactik.report import headline_of, summary_of, write_report

    notes = [*solved.notes]
    if skeleton.record is not None and not options.fit:
        error = solved.track.mean_error
        misfit = skeleton.record.describe_misfit(error, str(plan.source), skeleton.name)
        notes += [] if misfit is None else [misfit]
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
