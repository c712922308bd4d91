"""`exactik solve`."""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from exactik.cli._app import AsJson, app, err, frames_bar, print_json, say
from exactik.cli._kernels import prepare
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
    from exactik.cli.solve._figure import Dressed
    from exactik.cli.solve._inputs import Figure, Reading
    from exactik.cli.solve._outputs import Plan

__all__ = ["number_or_name", "solve"]


@dataclass(frozen=True)
class _Options:
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
    from exactik.cli.solve._inputs import read_figure
    from exactik.cli.solve._inputs import recordings as recordings_of
    from exactik.cli.solve._outputs import planned

    sources = recordings_of(recordings)
    outputs = output or []
    if len(outputs) == 0 and report is None and not as_json:
        raise ModelError("nothing to write; expected -o with a file or folder, --report or --json")
    plans = planned(sources, outputs, formats, report, [n for n in (skeleton, take) if n])
    figure = read_figure(skeleton, number_or_name(skeleton_unit), skeleton_up)
    options = _Options(
        reading={
            **{"up": up, "axes": axes, "unit": number_or_name(length_unit)},
            **{"start": start, "end": end},
        },
        tracking={
            **{"robust": _loss(robust), "smooth": smooth, "limits": limits, "lock": lock or ()},
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
        raise typer.Exit(_all(plans, figure, options))
    except KeyboardInterrupt:
        err.print("Stopped. Files that were written are complete; there are no others.")
        raise typer.Exit(130) from None


def number_or_name(text: str | None) -> str | float | None:
    """Return a length unit: metres in it, or its name."""
    try:
        return None if text is None else float(text)
    except ValueError:
        return text


def _loss(word: str) -> str | None:
    if word not in ("none", "huber", "tukey"):
        raise ModelError(f"--robust is {word!r}; expected none, huber or tukey")
    return None if word == "none" else word


def _all(plans: list[Plan], figure: Figure, options: _Options) -> int:
    """Solve all recordings; return the exit code."""
    from exactik.cli.solve._inputs import read_recording

    solved: list[dict[str, Any]] = []
    failed: list[dict[str, str]] = []
    ready: Dressed | None = None
    own = Path(options.take).stem if options.take is not None else ""
    plans.sort(key=lambda plan: plan.source.stem != own)  # a take puts markers on its own recording
    for n, plan in enumerate(plans):
        try:
            reading = read_recording(plan.source, figure.up, **options.reading)
            if not options.as_json:
                _show_read(plan, reading, figure, first=n == 0)
            if ready is None:
                prepare(options.tracking["robust"], options.tracking["smooth"])
                ready = _dress(plan.source, figure, reading, options)
            solved.append(_one(plan, reading, figure, ready, options))
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


def _show_read(plan: Plan, reading: Reading, figure: Figure, first: bool) -> None:
    from exactik.cli.solve._words import entry

    if not first:
        say()
    say(entry("read", f"{plan.source}: {reading.words}"))
    if first:
        s = figure.skeleton
        sizes = f"{len(s.bones)} bones, {s.nv} dofs, {len(s.markers)} markers"
        say(entry("figure", f"{figure.name}: {sizes}"))
    for note in (*(figure.notes if first else ()), *reading.notes):
        say(entry("note", note))


def _dress(source: Path, figure: Figure, reading: Reading, options: _Options) -> Dressed:
    """Return the figure made ready on the first recording, all of it."""
    from exactik.cli.solve._figure import dressed
    from exactik.cli.solve._inputs import read_recording
    from exactik.cli.solve._tables import mapping_of
    from exactik.cli.solve._words import entry

    asked, markers = options.reading, reading.markers
    if options.take is not None and (asked["start"], asked["end"]) != (None, None):
        whole = {**asked, "start": None, "end": None}
        markers = read_recording(source, figure.up, **whole).markers
    with frames_bar() as bar:
        task = bar.add_task("fitting the figure", total=100, visible=options.fit)
        ready = dressed(
            *(figure, markers, source),
            by_hand=None if options.mapping is None else mapping_of(options.mapping),
            take=options.take,
            fitted=options.fit,
            progress=lambda done, total: bar.update(task, completed=done, total=total),
            limits=options.tracking["limits"],
            lock=options.tracking["lock"],
        )
    if not options.as_json:
        for note in ready.notes:
            say(entry("note", note))
    return ready


def _one(
    plan: Plan, reading: Reading, figure: Figure, ready: Dressed, options: _Options
) -> dict[str, Any]:
    """Solve a recording, write its files, say so; return its summary."""
    from exactik.cli.solve._figure import renamed
    from exactik.cli.solve._outputs import write_motion
    from exactik.cli.solve._tables import weights_of
    from exactik.cli.solve._words import show_solved
    from exactik.report import headline_of, summary_of
    from exactik.tracking import match_markers, track

    markers = renamed(reading.markers, ready.names)
    weights = None
    if options.weights is not None:
        matched = match_markers(ready.skeleton, markers)
        weights = weights_of(options.weights, tuple(matched.values()), matched)
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
        show_solved(summary, headline_of(summary), written, options.everything)
    return summary
