"""`exactik archive run`, `exactik archive retarget` and `exactik archive status`."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from exactik._options import to_arguments
from exactik._text import count_noun
from exactik.archive import (
    ArchiveOptions,
    ArchiveResult,
    Progress,
    RetargetArchiveOptions,
    RunOptions,
    read_counts,
    retarget_archive,
    solve_archive,
)
from exactik.cli._app import SOLVE, AsJson, app, command, complain, print_json, say, show_frames
from exactik.cli._help import CommandGroup
from exactik.cli._options import argument, output_option
from exactik.errors import UsageError

archives = typer.Typer(
    cls=CommandGroup,
    help="Thousands of takes on a Dask cluster, resumable at any point.",
    epilog="Examples:\n\nexactik archive run takes/ -o solved --skeleton human\n\n"
    "exactik archive status solved",
)
ArchiveFolder = Annotated[
    Path, output_option("FOLDER", "Folder of the archive: ledger, index, summary.")
]
app.add_typer(archives, name="archive", rich_help_panel=SOLVE)


@command(SOLVE, under=archives)
def run(
    sources: Annotated[
        list[str],
        argument(
            "SOURCE...",
            "Folders, patterns, files or manifests (.csv, .jsonl); paths or s3://bucket/….",
        ),
    ],
    output: ArchiveFolder,
    options: ArchiveOptions,
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
    _do(solve_archive, sources, output, options, as_json)


@command(SOLVE, under=archives)
def retarget(
    sources: Annotated[
        list[str],
        argument(
            "SOURCE...",
            "Folders, patterns, files or manifests (.csv, .jsonl) of motions; paths or s3://….",
        ),
    ],
    output: ArchiveFolder,
    options: RetargetArchiveOptions,
    as_json: AsJson = False,
) -> None:
    """Let another figure or robot take over all clips; again, what is missing.

    Ends as `run` does. The page has the worst clips on top; kept.txt lists the files of those that
    fulfil the conditions of --keep, which retarget nothing again when they change.

    Examples:
        exactik archive retarget motions/ --to unitree_g1 -o out --format npz,mjlab.npz
        exactik archive retarget motions/ --to unitree_g1 -o out --keep "slide<1mm,speed<100%"
    """
    _do(retarget_archive, sources, output, options, as_json)


def _do(
    function: Callable[..., ArchiveResult],
    sources: list[str],
    output: Path,
    options: RunOptions,
    as_json: bool,
) -> None:
    """Run an archive with progress, say how it stands, and end the command."""
    if any(Path(source).resolve() == output.resolve() for source in sources):
        raise UsageError(f"-o is {str(output)!r}, where the takes are; expected another folder")
    with show_frames("listing") as report:

        def show(state: Progress) -> None:
            what = "takes" if state.threads > 0 else "no worker yet"
            failed = f" [red]{state.failed} failed[/red]" if state.failed > 0 else ""
            report(state.done, state.total, description=f"{what}{failed}", speed=state.rate)

        try:
            result = function(sources, output, **to_arguments(replace(options, progress=show)))
        except KeyboardInterrupt:
            complain("Stopped. What is done is complete; the same command goes on from here.", "")
            raise typer.Exit(130) from None
    _print_result(result, as_json)
    raise typer.Exit(0 if set(result.states) <= {"done"} else 1)


def _print_result(result: ArchiveResult, as_json: bool) -> None:
    facts = _describe(result.folder)
    facts["run"] = {
        "solved": result.solved,
        "found": result.found,
        "frames": result.frames,
        "seconds": round(result.seconds, 3),
    }
    if as_json:
        print_json(facts)
        return
    _print_status(facts)
    speed = result.frames / result.seconds if result.seconds > 0.0 else 0.0
    say(
        f"This run: {result.solved} solved, {result.found} done before, {result.frames:,} "
        f"frames in {result.seconds:.1f} s ({speed:,.0f} frames/s)."
    )
    if result.kept is not None:
        say(f"{result.kept} of them are kept, in {result.folder / 'kept.txt'}.")
    say(f"{result.index} shows all takes; {result.summary.name} is the table.")


@command(SOLVE, under=archives)
def status(
    folder: Annotated[Path, argument("FOLDER", "Folder of the archive.")],
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
