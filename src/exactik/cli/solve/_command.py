"""`exactik solve`."""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from exactik.cli._app import AsJson, app, err, frames_bar, print_json, say
from exactik.cli._kernels import compile_kernels
from exactik.cli._options import (
    AxesOption,
    EndOption,
    LengthUnitOption,
    LimitsOption,
    LockOption,
    MappingOption,
    SkeletonUnitOption,
    SkeletonUpOption,
    StartOption,
    TakeOption,
    UpOption,
)
from exactik.errors import ExactikError, ModelError

if TYPE_CHECKING:
    from exactik.cli.solve._figure import PreparedSkeleton
    from exactik.cli.solve._inputs import LoadedRecording, LoadedSkeleton
    from exactik.cli.solve._outputs import OutputPlan

__all__ = ["parse_length_unit", "solve"]


@dataclass(frozen=True)
class SolveOptions:
    """What the user asked for, the same for all recordings."""

    reading: dict[str, Any]
    tracking: dict[str, Any]
    weights: str | None
    mapping: str | None
    take: str | None
    fit: bool
    command: str
    as_json: bool
    everything: bool


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
    take: TakeOption = None,
    mapping: MappingOption = None,
    start: StartOption = None,
    end: EndOption = None,
    robust: Annotated[
        str, typer.Option(help="What markers far off do: none (pull), huber (less), tukey (not).")
    ] = "none",
    smooth: Annotated[
        float | None, typer.Option(help="Solve all frames together; cut-off frequency in Hz.")
    ] = None,
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

    Ends with 0 if all is well, 1 if frames need attention, 2 if something could not be read.
    """
    from exactik.cli.solve._inputs import find_recordings as recordings_of
    from exactik.cli.solve._inputs import read_skeleton
    from exactik.cli.solve._outputs import plan_outputs

    sources = recordings_of(recordings)
    outputs = output or []
    if len(outputs) == 0 and report is None and not as_json:
        raise ModelError("nothing to write; expected -o with a file or folder, --report or --json")
    plans = plan_outputs(sources, outputs, formats, report, [n for n in (skeleton, take) if n])
    figure = read_skeleton(skeleton, parse_length_unit(skeleton_unit), skeleton_up)
    options = SolveOptions(
        reading={
            **{"up": up, "axes": axes, "unit": parse_length_unit(length_unit)},
            **{"start": start, "end": end},
        },
        tracking={
            **{
                "robust": _parse_loss(robust),
                "smooth": smooth,
                "limits": limits,
                "lock": lock or (),
            },
            **{"sigma": None if sigma is None else 1e-3 * sigma, "branches": branches},
            "threads": threads,
        },
        weights=weights,
        mapping=mapping,
        take=take,
        fit=figure.built_in if calibrate is None else calibrate,
        command=f"exactik {shlex.join(sys.argv[1:])}",
        as_json=as_json,
        everything=everything,
    )
    try:
        raise typer.Exit(_solve_all(plans, figure, options))
    except KeyboardInterrupt:
        err.print("Stopped. Files that were written are complete; there are no others.")
        raise typer.Exit(130) from None


def parse_length_unit(text: str | None) -> str | float | None:
    """Return a length unit: metres in it, or its name."""
    try:
        return None if text is None else float(text)
    except ValueError:
        return text


def _parse_loss(word: str) -> str | None:
    if word not in ("none", "huber", "tukey"):
        raise ModelError(f"--robust is {word!r}; expected none, huber or tukey")
    return None if word == "none" else word


def _solve_all(plans: list[OutputPlan], figure: LoadedSkeleton, options: SolveOptions) -> int:
    """Solve all recordings; return the exit code."""
    from exactik.cli.solve._inputs import read_recording

    solved: list[dict[str, Any]] = []
    failed: list[dict[str, str]] = []
    ready: PreparedSkeleton | None = None
    own = Path(options.take).stem if options.take is not None else ""
    plans.sort(key=lambda plan: plan.source.stem != own)  # a take puts markers on its own recording
    for n, plan in enumerate(plans):
        try:
            reading = read_recording(plan.source, figure.up, **options.reading)
            if not options.as_json:
                _print_inputs(plan, reading, figure, first=n == 0)
            if ready is None:
                compile_kernels(options.tracking["robust"], options.tracking["smooth"])
                ready = _prepare_skeleton(plan.source, figure, reading, options)
            solved.append(_solve_one(plan, reading, figure, ready, options))
        except ExactikError as error:
            if len(plans) == 1:
                raise
            failed.append({"source": str(plan.source), "error": str(error)})
            err.print(f"exactik: {error}", style="red", markup=False, soft_wrap=True)
    attention = any(len(one["attention"]) > 0 for one in solved)
    if options.as_json:
        print_json({"solved": solved, "failed": failed})
    elif len(plans) > 1:
        bad = f", {len(failed)} could not be" if len(failed) > 0 else ""
        say(f"\n{len(solved)} of {len(plans)} recordings solved{bad}.")
    return 2 if len(failed) > 0 else 1 if attention else 0


def _print_inputs(
    plan: OutputPlan, reading: LoadedRecording, figure: LoadedSkeleton, first: bool
) -> None:
    from exactik.cli.solve._words import format_entry

    if not first:
        say()
    say(format_entry("read", f"{plan.source}: {reading.words}"))
    if first:
        s = figure.skeleton
        sizes = f"{len(s.bones)} bones, {s.nv} dofs, {len(s.markers)} markers"
        say(format_entry("figure", f"{figure.name}: {sizes}"))
    for note in (*(figure.notes if first else ()), *reading.notes):
        say(format_entry("note", note))


def _prepare_skeleton(
    source: Path, figure: LoadedSkeleton, reading: LoadedRecording, options: SolveOptions
) -> PreparedSkeleton:
    """Return the figure made ready on the first recording, all of it."""
    from exactik.cli.solve._figure import prepare_skeleton
    from exactik.cli.solve._inputs import read_recording
    from exactik.cli.solve._tables import parse_mapping
    from exactik.cli.solve._words import format_entry

    asked, markers = options.reading, reading.markers
    if options.take is not None and (asked["start"], asked["end"]) != (None, None):
        whole = {**asked, "start": None, "end": None}
        markers = read_recording(source, figure.up, **whole).markers
    with frames_bar() as bar:
        task = bar.add_task("fitting the figure", total=100, visible=options.fit)
        ready = prepare_skeleton(
            *(figure, markers, source),
            by_hand=None if options.mapping is None else parse_mapping(options.mapping),
            take=options.take,
            fitted=options.fit,
            progress=lambda done, total: bar.update(task, completed=done, total=total),
            limits=options.tracking["limits"],
            lock=options.tracking["lock"],
        )
    if not options.as_json:
        for note in ready.notes:
            say(format_entry("note", note))
    return ready


def _solve_one(
    plan: OutputPlan,
    reading: LoadedRecording,
    figure: LoadedSkeleton,
    ready: PreparedSkeleton,
    options: SolveOptions,
) -> dict[str, Any]:
    """Solve a recording, write its files, say so; return its summary."""
    from exactik.cli.solve._figure import rename_markers
    from exactik.cli.solve._outputs import write_motion
    from exactik.cli.solve._tables import parse_weights
    from exactik.cli.solve._words import print_solved
    from exactik.report import headline_of, summary_of
    from exactik.tracking import match_markers, track

    markers = rename_markers(reading.markers, ready.names)
    weights = None
    if options.weights is not None:
        matched = match_markers(ready.skeleton, markers)
        weights = parse_weights(options.weights, tuple(matched.values()), matched)
    with frames_bar() as bar:
        task = bar.add_task(plan.source.name, total=len(markers))
        done = track(
            *(ready.skeleton, markers),
            **options.tracking,
            weights=weights,
            progress=lambda now, total: bar.update(task, completed=now, total=total),
        )
    motion = replace(done.motion, up_axis=figure.up or markers.up_axis)
    written: list[tuple[Path, str]] = []
    for path in plan.targets:
        written += write_motion(motion, path)
    if plan.report is not None:
        done.report(plan.report, command=options.command)
        written.append((plan.report, "the report"))
    summary = summary_of(done, options.command)
    summary["written"] = [str(path) for path, _ in written]
    summary["notes"] = [*figure.notes, *reading.notes, *ready.notes]
    if not options.as_json:
        print_solved(summary, headline_of(summary), written, options.everything)
    return summary
