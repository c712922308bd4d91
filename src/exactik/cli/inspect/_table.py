"""The facts of many files as a table, one line each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rich.cells import cell_len, set_cell_size

from exactik.cli.inspect._screen import describe_contents, format_seconds
from exactik.io import Facts

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
