"""TRC, the markers of Motion Analysis and OpenSim: five lines of header, then tab-separated rows.

    PathFileType  4  (X/Y/Z)  path
    DataRate  CameraRate  NumFrames  NumMarkers  Units  OrigDataRate  OrigDataStartFrame  …
    60.00     60.00       150        41          mm     60.00         1
    Frame#  Time  R.ASIS      L.ASIS      …          a name over three columns
                  X1  Y1  Z1  X2  Y2  Z2  …
    1       0.000 …

Real files leave out or add blank lines and trailing tabs, state wrong counts, shift the names, and
mark a missing marker by empty cells, by NaN in upper or lower case, or by zeros. Names and columns
are matched by the row of X1 Y1 Z1 where there is one.
"""

from __future__ import annotations

import math
import os
from typing import NamedTuple

import numpy as np

from exactik.errors import UnknownNameError
from exactik.io._files import make_unique, open_atomic, read_text
from exactik.io._notes import Notes
from exactik.io._units import metres_per, require_named_unit
from exactik.io.tables._columns import (
    blank_missing,
    compare_count,
    estimate_rate,
    make_marker_names,
    parse_cell,
    parse_row,
)
from exactik.model.motion import Markers, Series
from exactik.typing import Array

AXES = ("X", "Y", "Z")
# Cells of the table for each character of the file. One long row among many short ones would make
# a table far larger than the file.
MAX_CELLS_PER_CHARACTER = 4
_SEPARATORS_TO_BLANKS = str.maketrans("\t\n\r", "   ")


class TrcHeader(NamedTuple):
    """What the first lines say."""

    values: dict[str, str]  # key → text, such as "Units" → "mm"
    names: list[str]  # of the markers
    columns: int  # number of columns of coordinates
    first_row: int  # index of the line with the first row
    has_tabs: bool  # whether tabs separate the cells; else blanks do


def read_trc(
    path: str,
    notes: Notes,
    length_unit: str | float | None = None,
    rate: float | None = None,
    zeros_are_missing: bool = True,
) -> Markers:
    """Return the markers of a TRC file."""
    return load_timed_markers(path, notes, length_unit, rate, zeros_are_missing)[0]


def load_timed_markers(
    path: str | os.PathLike[str],
    notes: Notes | None = None,
    length_unit: str | float | None = None,
    rate: float | None = None,
    zeros_are_missing: bool = True,
) -> tuple[Markers, Array]:
    """Return the markers of a .trc file [m], and the times of its frames as it has them [s], (T,).

    A rate alone does not tell where a recording begins that was cut from a longer one.
    """
    path = os.fspath(path)
    notes = notes or Notes(path)
    lines = read_text(path).split("\n")
    header = _read_header(lines, notes)
    unit = _choose_unit(header, length_unit, notes)
    frame_numbers, times, coordinates = _read_rows(lines, header, notes)
    count = coordinates.shape[1] // 3
    unnamed = [""] * max(0, count - len(header.names))
    names = make_marker_names([*header.names, *unnamed][:count], notes)
    positions = coordinates.reshape(len(coordinates), count, 3)
    # Points without a name are reconstruction ghosts, kept apart; unless no marker has a name.
    named = header.columns // 3 if header.columns > 0 else count
    others = {
        name: Series("other", positions[:, k].copy(), str(unit))
        for k, name in enumerate(names[named:], start=named)
    }
    positions, names = positions[:, :named], names[:named]
    blank_missing(positions, zeros_are_missing)
    compare_count(header.values.get("NumMarkers", ""), len(names), "markers", notes)
    compare_count(header.values.get("NumFrames", ""), len(positions), "frames", notes)
    stated_rate = parse_cell(header.values.get("DataRate", ""))
    has_number = len(frame_numbers) > 0 and np.isfinite(frame_numbers[0])
    markers = Markers(
        positions=positions * metres_per(unit),
        names=names,
        rate=rate if rate is not None else estimate_rate(times, stated_rate, notes),
        first_frame=int(frame_numbers[0]) if has_number else 1,
        start_time=float(times[0]) if len(times) > 0 and np.isfinite(times[0]) else 0.0,
        units_in_file=str(unit),
        source=path,
        others=others,
        metadata={"format": "TRC", **header.values},
        notes=notes.all,
    )
    return markers, times


def _read_header(lines: list[str], notes: Notes) -> TrcHeader:
    key_line = next(
        (i for i, line in enumerate(lines) if line.strip().startswith("DataRate")), None
    )
    if key_line is None or key_line + 2 >= len(lines):
        raise notes.error("no line that starts with DataRate; expected the header of a TRC file")
    if "\t" not in lines[key_line]:
        return _read_header_with_blanks(lines, key_line, notes)
    values = _pair_keys(lines[key_line].split("\t"), lines[key_line + 1].split("\t"))
    name_line, axis_line = key_line + 2, key_line + 3
    if not lines[name_line].lstrip().lower().startswith("frame"):
        place = f"line {name_line + 1}"
        raise notes.error("expected the line with Frame#, Time and the markers", place)
    cells = [cell.strip() for cell in lines[name_line].rstrip("\t\n ").split("\t")]
    names = [cell for cell in cells[2:] if cell != ""]
    cells = [c.strip() for c in lines[axis_line].split("\t")] if axis_line < len(lines) else []
    axis_labels = [cell for cell in cells if cell[:1].upper() in AXES and cell[1:].isdigit()]
    has_axis_line = len(axis_labels) > 0 or parse_cell(cells[0] if cells else "") is None
    columns = len(axis_labels) if len(axis_labels) > 0 else 3 * len(names)
    return TrcHeader(
        values=values,
        names=names,
        columns=columns - columns % 3,
        first_row=_skip_empty_lines(lines, axis_line + 1 if has_axis_line else axis_line),
        has_tabs=True,
    )


def _pair_keys(keys: list[str], cells: list[str]) -> dict[str, str]:
    """Return key → value. Where tabs are doubled in one line alone, what is not empty pairs up."""
    stated, given = ([c.strip() for c in row if c.strip() != ""] for row in (keys, cells))
    if len(stated) == len(given):
        return dict(zip(stated, given, strict=True))
    pairs = ((key.strip(), cell.strip()) for key, cell in zip(keys, cells, strict=False))
    return {key: cell for key, cell in pairs if key != ""}


def _read_header_with_blanks(lines: list[str], key_line: int, notes: Notes) -> TrcHeader:
    """Read a file whose tabs became blanks: sound only if no name and no cell is empty."""
    values = dict(zip(lines[key_line].split(), lines[key_line + 1].split(), strict=False))
    names = lines[key_line + 2].split()[2:]
    place = f"line {key_line + 1}"
    notes.flag_damage("blanks in place of tabs: an empty cell would shift the others", place)
    first = key_line + 3
    while first < len(lines) and parse_cell((lines[first].split() or [""])[0]) is None:
        first += 1
    return TrcHeader(
        values=values,
        names=names,
        columns=3 * len(names),
        first_row=_skip_empty_lines(lines, first),
        has_tabs=False,
    )


def _skip_empty_lines(lines: list[str], index: int) -> int:
    while index < len(lines) and lines[index].strip() == "":
        index += 1
    return index


def _choose_unit(header: TrcHeader, length_unit: str | float | None, notes: Notes) -> str | float:
    if length_unit is not None and length_unit != "auto":
        return length_unit
    stated = header.values.get("Units", "")
    try:
        metres_per(stated)
    except UnknownNameError:
        if stated == "":
            notes.assume("no length unit is stated; mm is assumed", code="unit-assumed")
            return "mm"
        raise notes.error(f"unknown length unit {stated!r}; expected mm, cm, m, …") from None
    return stated


def _read_rows(lines: list[str], header: TrcHeader, notes: Notes) -> tuple[Array, Array, Array]:
    """Return frame numbers, times and coordinates, (T,), (T,), (T, columns)."""
    width = header.columns + 2
    rows: list[list[float]] = []
    last = max((i for i, line in enumerate(lines) if line.strip() != ""), default=-1)
    for index in range(header.first_row, last + 1):
        line, place = lines[index], f"line {index + 1}"
        if line.strip() == "":
            continue
        cells = line.split("\t") if header.has_tabs else line.split()
        if not header.has_tabs and len(cells) != width:
            raise notes.error(f"expected {width} numbers, found {len(cells)}", place)
        if index == last == len(lines) - 1 and len(cells) < width and len(rows) > 0:
            notes.flag_damage("the last row is cut off and was dropped", place)
            continue
        while len(cells) > width and cells[-1].strip() == "":
            cells.pop()
        rows.append(parse_row(cells, notes, index + 1))
    longest = max((len(row) for row in rows), default=0)
    if longest > width:
        extra = -(-(longest - width) // 3)
        width += 3 * extra
        notes.remark(f"{extra} points have no name: numbers follow beyond the last one that has")
    if len(rows) * width > MAX_CELLS_PER_CHARACTER * sum(map(len, lines)):
        text = f"{len(rows)} rows for {width} columns have {sum(map(len, rows))} numbers in all"
        raise notes.error(f"{text}; expected rows of one length")
    for row in rows:
        row.extend([math.nan] * (width - len(row)))
    table = np.array(rows, dtype=float).reshape(len(rows), width)
    return table[:, 0], table[:, 1], table[:, 2:].copy()


def write_trc(markers: Markers, path: str, length_unit: str | float = "mm") -> None:
    """Write markers as TRC; missing ones are empty cells.

    Tabs and line ends in names become blanks, for they would end a cell; all else stays.
    """
    unit, metres = require_named_unit(path, length_unit)
    factor = 1.0 / metres
    names = make_unique(name.translate(_SEPARATORS_TO_BLANKS).strip() for name in markers.names)
    count, rate = len(names), f"{markers.rate:.9g}"
    first = markers.first_frame
    keys = ("DataRate", "CameraRate", "NumFrames", "NumMarkers", "Units", "OrigDataRate")
    values = (rate, rate, str(len(markers)), str(count), unit, rate)
    with open_atomic(path) as file:
        file.write(f"PathFileType\t4\t(X/Y/Z)\t{os.path.basename(path)}\n")
        file.write("\t".join((*keys, "OrigDataStartFrame", "OrigNumFrames")) + "\n")
        file.write("\t".join((*values, str(first), str(len(markers)))) + "\n")
        file.write("Frame#\tTime\t" + "".join(f"{name}\t\t\t" for name in names) + "\n")
        axes = [f"{axis}{k + 1}" for k in range(count) for axis in AXES]
        file.write("\t\t" + "\t".join(axes) + "\n\n")
        rows = markers.positions.reshape(len(markers), 3 * count) * factor
        for t, (time, row) in enumerate(zip(markers.times.tolist(), rows, strict=True)):
            cells = ["" if x != x else f"{x:.9g}" for x in row.tolist()]
            file.write("\t".join((str(first + t), f"{time:.9g}", *cells)) + "\n")
