"""`exactik inspect`; the facts of many files as a table, one line each."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
from rich.cells import cell_len, set_cell_size
from rich.text import Text

from exactik.cli._app import LOOK, AsJson, command, complain, err, out, print_json, progress_bar
from exactik.cli._options import argument, value_option
from exactik.cli.inspect._screen import describe_contents, format_facts, format_seconds
from exactik.errors import ExactikError, FileError
from exactik.io import READABLE, Facts, inspect_file
from exactik.recordings.pipeline import RecordingOptions

HUMAN = "human"  # in place of a file: what the built-in figure accepts
MAX_FEW_FILES = 5  # files
PIPE_COLUMNS = 80  # columns of text that goes to no terminal
# fmt: off
HEADINGS = (
    "file", "format", "kind", "maker", "frames", "rate", "duration", "contents", "unit", "missing",
    "odd",
)
# fmt: on
RIGHT_ALIGNED = {"frames", "rate", "duration", "missing", "odd"}
MIN_COLUMNS = {
    "maker": 10,
    "file": 20,
}  # columns that give way on a narrow terminal, and their least
DROPPED_FIRST = ("unit", "maker", "duration", "format")  # that go where this is not enough
ABSENT = "–"


@command(LOOK)
def inspect(
    files: Annotated[
        list[str], argument("FILE...", "Files, folders for all files below them, or human.")
    ],
    *,
    table: Annotated[bool, typer.Option("--table", help="Print one line per file.")] = False,
    everything: Annotated[bool, typer.Option("--all", help="Show all gaps, bones, names.")] = False,
    skeleton: Annotated[
        str | None, value_option("FIGURE", "Skeleton of a motion that has none, such as an .asf.")
    ] = None,
    reading: Annotated[RecordingOptions, ("length_unit",)],
    as_json: AsJson = False,
) -> None:
    """Say what is in a file and what is odd about it: motions, markers, skeletons.

    Examples:
        exactik inspect walk.c3d
        exactik inspect takes/ --table
        exactik inspect human --all
    """
    if files == [HUMAN] and not os.path.exists(HUMAN):
        _print_human(everything, as_json)
        return
    names, skipped = _find_files(files)
    rows = []
    few = len(names) <= MAX_FEW_FILES
    with nullcontext() if few else progress_bar() as bar:
        task = None if bar is None else bar.add_task("looking at files", total=len(names))
        for path, name in names:
            try:
                facts = inspect_file(path, skeleton=skeleton, length_unit=reading.length_unit)
                rows.append(Row(name, facts))
            except ExactikError as error:
                rows.append(Row(name, None, _describe_error(error)))
            if bar is not None and task is not None:
                bar.update(task, advance=1)
    if as_json:
        print_json([_to_plain(row, path) for row, (path, _) in zip(rows, names, strict=True)])
    elif table:
        width = out.width if out.is_terminal else None
        for line in format_table(rows, width):
            out.print(Text(line), soft_wrap=True)
    else:
        _print_facts(rows, everything)
    if len(skipped) > 0 and not as_json:
        kinds = ", ".join(f"{n} {kind}" for kind, n in sorted(skipped.items()))
        err.print(f"Not looked at, for want of a reader: {kinds}.", style="dim", highlight=False)
    raise typer.Exit(2 if any(row.facts is None for row in rows) else 0)


def _print_human(everything: bool, as_json: bool) -> None:
    """Print what the built-in figure accepts."""
    from exactik.io.inspection import describe_human, list_human

    if as_json:
        print_json(list_human())
        return
    for line in describe_human(everything):
        out.print(Text(line), soft_wrap=True)


def _find_files(given: list[str]) -> tuple[list[tuple[str, str]], Counter[str]]:
    """Return path and shown name of each file, and how many files of which kind are left out."""
    found: list[tuple[str, str]] = []
    skipped: Counter[str] = Counter()
    for path in given:
        if not os.path.isdir(path):
            found.append((path, path))
            continue
        below = sorted(file for file in Path(path).rglob("*") if file.is_file())
        kept = [file for file in below if file.suffix.lower() in READABLE]
        skipped.update(
            file.suffix.lower() or "without suffix" for file in below if file not in kept
        )
        found += [(str(file), file.relative_to(path).as_posix()) for file in kept]
    if len(found) == 0:
        raise FileError(given[0], f"no file to read in this folder; expected {' '.join(READABLE)}")
    return found, skipped


def _describe_error(error: ExactikError) -> str:
    """Return what is wrong without the name of the file, on one line."""
    parts = (error.place, error.message) if isinstance(error, FileError) else (str(error),)
    return " ".join(": ".join(part for part in parts if part != "").split())


def _to_plain(row: Row, path: str) -> dict[str, Any]:
    if row.facts is None:
        return {"path": path, "error": row.error}
    plain = asdict(row.facts)
    plain["swaps"] = [swap._asdict() for swap in row.facts.swaps]
    plain["frozen"] = [marker._asdict() for marker in row.facts.frozen]
    return plain


def _print_facts(rows: list[Row], everything: bool) -> None:
    width = out.width if out.is_terminal else PIPE_COLUMNS
    for n, row in enumerate(rows):
        if row.facts is None:
            complain(f"exactik: {row.name}: {row.error}")
            continue
        if n > 0:
            out.print(Text("─" * min(width, PIPE_COLUMNS), "dim"))
        out.print(format_facts(row.facts, min(width, 100), everything), soft_wrap=True)


class Row(NamedTuple):
    """A file's line: its name and either its facts or why it has none."""

    name: str
    facts: Facts | None
    error: str = ""


def format_table(rows: Sequence[Row], width: int | None) -> list[str]:
    """Return the heading and a line for each file.

    Args:
        width: columns of a terminal, None for a pipe, where nothing is cut.
    """
    readable = [(row.name, row.facts) for row in rows if row.facts is not None]
    cells = [HEADINGS, *(_format_cells(name, facts) for name, facts in readable)]
    wide = {head: max(cell_len(line[k]) for line in cells) for k, head in enumerate(HEADINGS)}
    wide["file"] = max(wide["file"], *(cell_len(row.name) for row in rows))
    if width is not None:
        over = sum(wide.values()) + 2 * (len(HEADINGS) - 1) - width
        for head, least in MIN_COLUMNS.items():
            cut = max(min(over, wide[head] - least), 0)
            wide[head], over = wide[head] - cut, over - cut
        for head in DROPPED_FIRST:
            if over > 0:
                over -= wide.pop(head) + 2
    lines = [_format_line(HEADINGS, wide)]
    for row in rows:
        if row.facts is not None:
            lines.append(_format_line(_format_cells(row.name, row.facts), wide))
        else:
            lines.append(f"{_fit(row.name, wide['file'])}  cannot be read: {row.error}")
    return lines


def _format_cells(name: str, facts: Facts) -> tuple[str, ...]:
    recorded = facts.frames is not None
    return (
        name,
        facts.format,
        facts.kind,
        facts.maker or ABSENT,
        str(facts.frames) if recorded else ABSENT,
        f"{facts.rate:.5g} Hz" if facts.rate is not None else ABSENT,
        format_seconds(facts.duration) if facts.duration is not None else ABSENT,
        describe_contents(facts),
        facts.length_unit or ABSENT,
        f"{100.0 * facts.missing:.1f} %" if recorded else ABSENT,
        str(len(facts.oddities)),
    )


def _format_line(cells: Sequence[str], wide: dict[str, int]) -> str:
    parts = []
    for head, cell in zip(HEADINGS, cells, strict=True):
        if head not in wide:
            continue
        fitted = _fit(cell, wide[head])
        parts.append(fitted.strip().rjust(wide[head]) if head in RIGHT_ALIGNED else fitted)
    return "  ".join(parts).rstrip()


def _fit(text: str, width: int) -> str:
    """Return a text in so many columns; of a long one the end is kept, which tells files apart."""
    if cell_len(text) > width:
        while cell_len(text) > width - 1:
            text = text[1:]
        text = f"…{text}"
    return set_cell_size(text, width)
