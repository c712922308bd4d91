"""Findings written down: CSV, PNG, and one page that shows the cells of these files.

A cell is turned into text once; file and page have the same text, so that every number of the page
is in the file that stands below its table.
"""

from __future__ import annotations

import csv
import io
import math
from dataclasses import dataclass
from pathlib import Path

from exactik.io import open_atomic
from exactik_papers.experiment import Cell, Experiment, Findings, Picture, ResultTable

__all__ = ["Section", "WrittenTable", "format_cell", "write_findings", "write_table"]

DIGITS = 4
DPI = 110


@dataclass(frozen=True)
class WrittenTable:
    """A table that was written.

    Attributes:
        table: what it was made of.
        path: the CSV.
        cells: its rows as text, as in the CSV.
    """

    table: ResultTable
    path: Path
    cells: list[list[str]]


@dataclass(frozen=True)
class Section:
    """An experiment on the page."""

    experiment: Experiment
    findings: Findings
    tables: list[WrittenTable]
    pictures: list[tuple[Picture, Path]]
    seconds: float

    @property
    def paths(self) -> list[Path]:
        """All files of the experiment."""
        made = [path for path, _ in self.findings.files]
        return [*(table.path for table in self.tables), *(path for _, path in self.pictures), *made]


def format_cell(cell: Cell) -> str:
    """Return a cell as text: whole numbers as they are, others with four digits."""
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, int | str):
        return str(cell)
    value = float(cell)
    if not math.isfinite(value):
        return "" if math.isnan(value) else "never"  # a count that was not reached
    return f"{value:.{DIGITS}g}"


def write_findings(
    experiment: Experiment, findings: Findings, folder: Path, seconds: float
) -> Section:
    """Write tables and pictures to a folder."""
    tables = [write_table(table, folder) for table in findings.tables]
    pictures = []
    for picture in findings.pictures:
        path = folder / f"{picture.name}.png"
        with open_atomic(path, "wb") as file:
            picture.figure.savefig(file, format="png", dpi=DPI)
        pictures.append((picture, path))
    return Section(experiment, findings, tables, pictures, seconds)


def write_table(table: ResultTable, folder: Path) -> WrittenTable:
    """Write a table as CSV."""
    cells = [[format_cell(cell) for cell in row] for row in table.rows]
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([list(table.columns), *cells])
    path = folder / f"{table.name}.csv"
    with open_atomic(path) as file:
        file.write(text.getvalue())
    return WrittenTable(table, path, cells)
