"""`exactik archive run` and `exactik archive status`."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from exactik._text import count_noun
from exactik.archive import SEGMENT_FRAMES, TIME_LIMIT, archive, read_counts
from exactik.cli._app import SOLVE, AsJson, app, err, print_json, say
from exactik.cli._help import Command, CommandGroup
from exactik.cli._kernels import COMPILING_RECORDINGS
from exactik.cli._options import (
    AnglesOption,
    AxesOption,
    BranchesOption,
    ComputedOption,
    EndOption,
    LengthUnitOption,
    LimitsOption,
    LockOption,
    MappingOption,
    RobustOption,
    RotationsOption,
    SigmaOption,
    SkeletonUnitOption,
    SkeletonUpOption,
    SmoothOption,
    StartOption,
    SubjectOption,
    UpOption,
    WeightsOption,
    parse_length_unit,
)
from exactik.cli.solve._marker_tables import parse_mapping, parse_weights
from exactik.cli.solve._solve_options import check_word, parse_loss, parse_smooth
from exactik.errors import UsageError
from exactik.precompile import list_missing

__all__ = ["archives"]

archives = typer.Typer(
    cls=CommandGroup,
    help="Thousands of takes on a Dask cluster, resumable at any point.",
    epilog="Examples:\n\nexactik archive run takes/ -o solved --skeleton human\n\n"
    "exactik archive status solved",
)
app.add_typer(archives, name="archive", rich_help_panel=SOLVE)


@archives.command(cls=Command)
def run(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="SOURCE...",
            help="Folders, patterns, files or manifests (.csv, .jsonl); paths or s3://bucket/….",
        ),
    ],
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            metavar="FOLDER",
            help="Folder of the archive: ledger, index, summary.",
        ),
    ],
    skeleton: Annotated[
        str,
        typer.Option(
            metavar="FIGURE", help="The figure: a file (.npz .osim .bvh …), or human, ours."
        ),
    ],
    motions: Annotated[
        str | None,
        typer.Option(
            metavar="FOLDER",
            help="Where motions and reports go, if not there: a folder or s3://bucket/….",
        ),
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Address of a running Dask scheduler: tcp://host:8786."),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Processes on this machine; one per processor without it.", min=1
        ),
    ] = None,
    formats: Annotated[
        str,
        typer.Option(
            "--format", metavar="FORMATS", help="Some of bvh, amc, glb, npz, mot, csv: bvh,glb."
        ),
    ] = "bvh",
    reports: Annotated[
        bool, typer.Option("--reports/--no-reports", help="Whether each take gets a report.")
    ] = True,
    subject_folders: Annotated[
        bool,
        typer.Option(
            "--subject-folders", help="The folder of a take is its subject, calibrated once."
        ),
    ] = False,
    calibrate: Annotated[
        bool | None,
        typer.Option(
            "--calibrate/--no-calibrate",
            help="Fit the figure to each take that has no subject; human always is.",
            show_default=False,
        ),
    ] = None,
    calibrate_on: Annotated[
        str | None,
        typer.Option(
            metavar="PATTERN",
            help="Takes on which subjects are calibrated: '*static*'. First without it.",
        ),
    ] = None,
    retry: Annotated[
        list[str] | None,
        typer.Option(metavar="STATE", help="Try again: failed, aside; may be given repeatedly."),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN=VALUE",
            help="Only takes with: verdict=care, state=failed, subject=…, name=….",
        ),
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Compare all inputs with the ledger, by their bytes.")
    ] = False,
    time_limit: Annotated[
        float,
        typer.Option(
            metavar="SECONDS", help="For a take, after which its worker is ended.", min=1.0
        ),
    ] = TIME_LIMIT,
    segment: Annotated[
        int,
        typer.Option(
            metavar="FRAMES", help="Length from which on a take is solved in parts.", min=2
        ),
    ] = SEGMENT_FRAMES,
    angles: AnglesOption = None,
    rotations: RotationsOption = None,
    mapping: MappingOption = None,
    computed: ComputedOption = False,
    subject: SubjectOption = None,
    start: StartOption = None,
    end: EndOption = None,
    robust: RobustOption = "none",
    smooth: SmoothOption = "auto",
    weights: WeightsOption = None,
    limits: LimitsOption = "hard",
    lock: LockOption = None,
    sigma: SigmaOption = None,
    branches: BranchesOption = True,
    up: UpOption = None,
    skeleton_up: SkeletonUpOption = None,
    axes: AxesOption = None,
    length_unit: LengthUnitOption = None,
    skeleton_unit: SkeletonUnitOption = None,
    as_json: AsJson = False,
) -> None:
    """Solve all takes; again, what is missing. Outputs are the same to the bit in any order.

    Ends with 0 if all takes are done, 1 if some failed or were set aside (the ledger tells why),
    and 2 if it could not go on; the same command then goes on where it was.

    Examples:
        exactik archive run takes/ -o solved --skeleton human
        exactik archive run takes/ -o solved --skeleton human --format glb --retry failed
        exactik archive run s3://lab/takes -o solved --skeleton subject.npz --scheduler tcp://head:8786
    """
    if any(Path(source).resolve() == output.resolve() for source in sources):
        raise UsageError(f"-o is {str(output)!r}, where the takes are; expected another folder")
    options: dict[str, Any] = {
        "formats": tuple(formats.split(",")),
        "report": reports,
        "segment": segment,
        "angles": check_word("--angles", angles, ("clinical", "joints", "both")),
        "rotations": check_word("--rotations", rotations, ("coordinates", "wxyz", "swing-twist")),
        "mapping": None if mapping is None else parse_mapping(mapping),
        "weights": None if weights is None else parse_weights(weights),
        "computed": computed,
        "person": subject,
        "start": start,
        "end": end,
        "up": up,
        "axes": axes,
        "length_unit": parse_length_unit(length_unit),
        "robust": parse_loss(robust),
        "smooth": parse_smooth(smooth),
        "limits": limits,
        "lock": tuple(lock or ()),
        "sigma": None if sigma is None else 1e-3 * sigma,
        "branches": branches,
    }
    if scheduler is None and len(list_missing()) > 0:
        how_long = f"{COMPILING_RECORDINGS}; kept for the next time"
        err.print(f"[dim]Workers compile kernels before the first take, {how_long}.[/dim]")
    with _bar() as bar:
        task = bar.add_task("listing", total=None, speed="", failures="")
        try:
            result = archive(
                sources,
                output,
                skeleton=skeleton,
                skeleton_up=skeleton_up,
                skeleton_unit=parse_length_unit(skeleton_unit),
                outputs=motions,
                scheduler=scheduler,
                workers=workers,
                subjects=subject_folders,
                calibrate=calibrate,
                calibrate_on=calibrate_on,
                retry=retry or (),
                only=_parse_filters(only or []),
                check=check,
                time_limit=time_limit,
                progress=lambda state: bar.update(
                    task,
                    description="takes" if state.threads > 0 else "no worker yet",
                    completed=state.done,
                    total=state.total,
                    speed=f"{state.rate:,.0f} frames/s",
                    failures=f"{state.failed} failed" if state.failed > 0 else "",
                ),
                **options,
            )
        except KeyboardInterrupt:
            err.print("Stopped. What is done is complete; the same command goes on from here.")
            raise typer.Exit(130) from None
    facts = _describe(output)
    facts["run"] = {
        "solved": result.solved,
        "found": result.found,
        "frames": result.frames,
        "seconds": round(result.seconds, 3),
    }
    if as_json:
        print_json(facts)
    else:
        _print_status(facts)
        speed = result.frames / result.seconds if result.seconds > 0.0 else 0.0
        say(
            f"This run: {result.solved} solved, {result.found} done before, {result.frames:,} "
            f"frames in {result.seconds:.1f} s ({speed:,.0f} frames/s)."
        )
        say(f"{result.index} shows all takes; {result.summary.name} is the table.")
    raise typer.Exit(0 if set(result.states) <= {"done"} else 1)


@archives.command(cls=Command)
def status(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder of the archive.")],
    as_json: AsJson = False,
) -> None:
    """Tell how far an archive is, also while it is being solved elsewhere.

    Examples:
        exactik archive status solved
    """
    facts = _describe(folder)
    if as_json:
        print_json(facts)
    else:
        _print_status(facts)


def _bar() -> Progress:
    """Return a bar on stderr: takes, frames a second, time left, failures."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=None),
        MofNCompleteColumn(),
        TextColumn("[dim]{task.fields[speed]}"),
        TimeRemainingColumn(),
        TextColumn("[red]{task.fields[failures]}"),
    )
    return Progress(*columns, console=err, transient=True, disable=not err.is_terminal)


def _parse_filters(texts: list[str]) -> dict[str, str]:
    filters = {}
    for text in texts:
        column, equals, value = text.partition("=")
        if equals == "":
            raise UsageError(f"--only is {text!r}; expected COLUMN=VALUE, as verdict=care")
        filters[column.strip()] = value.strip()
    return filters


def _describe(folder: Path) -> dict[str, Any]:
    facts = read_counts(folder)
    recent, waiting = facts["recent"], facts["states"].get("waiting", 0)
    waiting += facts["states"].get("running", 0)
    facts["left_s"] = recent["s"] * waiting / recent["takes"] if recent["takes"] > 0 else None
    return facts


def _print_status(facts: dict[str, Any]) -> None:
    states = facts["states"]
    total = sum(states.values())
    words = [f"{states[s]} {s}" for s in ("done", "running", "waiting", "failed") if s in states]
    if "aside" in states:
        words.append(f"{states['aside']} set aside")
    say(f"{count_noun(total, 'take')}: {', '.join(words) or 'none'}.")
    verdicts = facts["verdicts"]
    if len(verdicts) > 0:
        words = {"good": "good", "care": "usable with care", "reject": "not to be used"}
        graded = [f"{verdicts[grade]} {text}" for grade, text in words.items() if grade in verdicts]
        say(f"Of those done: {', '.join(graded)}.")
        say(f"{facts['frames']:,} frames, {facts['seconds']:,.0f} s of work.")
    recent = facts["recent"]
    is_working = states.get("running", 0) > 0
    if is_working and recent["takes"] > 0:
        speed = recent["frames"] / recent["s"]
        left = time.strftime("%H:%M:%S", time.gmtime(facts["left_s"]))
        say(f"In the last minute {recent['takes']} takes, {speed:,.0f} frames/s; {left} left.")
    for failure in facts["examples"]:
        say(f"  {failure['name']}: {failure['reason']} ({failure['code']})")
    more = sum(facts["failures"].values()) - len(facts["examples"])
    if more > 0:
        say(f"  and {more} more")
