"""The facts of many files as a table, one line each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rich.cells import cell_len, set_cell_size

from exactik.cli.inspect._note import contents, seconds
from exactik.io import Facts

__all__ = ["HEADINGS", "Row", "table_lines"]

HEADINGS = (
    *("file", "format", "kind", "maker", "frames", "rate", "duration", "contents", "unit"),
    *("missing", "odd"),
)
RIGHT = {"frames", "rate", "duration", "missing", "odd"}
SHRINK = {"maker": 10, "file": 20}  # columns that give way on a narrow terminal, and their least
DROP = ("unit", "maker", "duration", "format")  # that go where this is not enough
NONE = "–"


class Row(NamedTuple):
    """A file's line: its name and either its facts or why it has none."""

    name: str
    facts: Facts | None
    error: str = ""


def table_lines(rows: Sequence[Row], width: int | None) -> list[str]:
    """Return the heading and a line for each file.

    Args:
        rows: the files.
        width: columns of a terminal, None for a pipe, where nothing is cut.
    """
    cells = [HEADINGS, *(_cells(row.name, row.facts) for row in rows if row.facts is not None)]
    wide = {head: max(cell_len(line[k]) for line in cells) for k, head in enumerate(HEADINGS)}
    wide["file"] = max(wide["file"], *(cell_len(row.name) for row in rows))
    if width is not None:
        over = sum(wide.values()) + 2 * (len(HEADINGS) - 1) - width
        for head, least in SHRINK.items():
            cut = max(min(over, wide[head] - least), 0)
            wide[head], over = wide[head] - cut, over - cut
        for head in DROP:
            if over > 0:
                over -= wide.pop(head) + 2
    lines = [_line(HEADINGS, wide)]
    for row in rows:
        if row.facts is not None:
            lines.append(_line(_cells(row.name, row.facts), wide))
        else:
            lines.append(f"{_fitted(row.name, wide['file'])}  cannot be read: {row.error}")
    return lines


def _cells(name: str, facts: Facts) -> tuple[str, ...]:
    recorded = facts.frames is not None
    return (
        *(name, facts.format, facts.kind, facts.maker or NONE),
        str(facts.frames) if recorded else NONE,
        f"{facts.rate:.5g} Hz" if facts.rate is not None else NONE,
        seconds(facts.duration) if facts.duration is not None else NONE,
        *(contents(facts), facts.length_unit or NONE),
        f"{100.0 * facts.missing:.1f} %" if recorded else NONE,
        str(len(facts.oddities)),
    )


def _line(cells: Sequence[str], wide: dict[str, int]) -> str:
    parts = []
    for head, cell in zip(HEADINGS, cells, strict=True):
        if head not in wide:
            continue
        fitted = _fitted(cell, wide[head])
        parts.append(fitted.strip().rjust(wide[head]) if head in RIGHT else fitted)
    return "  ".join(parts).rstrip()


def _fitted(text: str, width: int) -> str:
    """Return a text in so many columns; of a long one the end is kept, which tells files apart."""
    if cell_len(text) > width:
        while cell_len(text) > width - 1:
            text = text[1:]
        text = f"…{text}"
    return set_cell_size(text, width)
