"""TRC, the markers of Motion Analysis and OpenSim: five lines of header, then tab-separated rows.

    PathFileType  4  (X/Y/Z)  path
    DataRate  CameraRate  NumFrames  NumMarkers  Units  OrigDataRate  OrigDataStartFrame  …
    60.00     60.00       150        41          mm     60.00         1
    Frame#  Time  R.ASIS      L.ASIS      …          a name over three columns
                  X1  Y1  Z1  X2  Y2  Z2  …
    1       0.000 …

Real files leave out or add blank lines and trailing tabs, count wrong, shift the names, and say
"missing" by empty cells, NaN in any case, or zeros. Names and columns are matched by the row of
X1 Y1 Z1 where there is one.
"""

from __future__ import annotations

import os
from typing import NamedTuple

import numpy as np

from exactik.errors import UnknownNameError
from exactik.io._files import read_text, writing
from exactik.io._notes import Notes
from exactik.io._text import make_unique
from exactik.io._units import metres_per, named_unit
from exactik.io.tables._cells import estimate_rate, number, numbers_of, unique_names
from exactik.motion import Markers, Series

__all__ = ["read_trc", "write_trc"]

AXES = ("X", "Y", "Z")
_SPARSE = 4  # cells of the table for each character of the file; more are no recording
_BLANKS = str.maketrans("\t\n\r", "   ")


class Header(NamedTuple):
    """What the first lines say."""

    values: dict[str, str]
    names: list[str]
    columns: int  #  of coordinates
    first: int  #    line of the first row, from 0


def read_trc(
    path: str,
    notes: Notes,
    length_unit: str | float | None = None,
    rate: float | None = None,
    zeros_are_missing: bool = True,
) -> Markers:
    """Return the markers of a TRC file."""
    lines = read_text(path).split("\n")
    header = _header(lines, notes)
    unit = _unit(header, length_unit, notes)
    numbers, times, coordinates = _rows(lines, header, notes)
    count = coordinates.shape[1] // 3
    names = unique_names([*header.names, *[""] * max(0, count - len(header.names))][:count], notes)
    positions = coordinates.reshape(len(coordinates), count, 3)
    # Points without a name are ghosts, kept apart; unless no marker has one.
    named = header.columns // 3 if header.columns > 0 else count
    others = {
        name: Series("other", positions[:, k].copy(), str(unit))
        for k, name in enumerate(names[named:], start=named)
    }
    positions, names = positions[:, :named], names[:named]
    if zeros_are_missing:
        positions[(positions == 0.0).all(axis=2)] = np.nan
    positions[np.isnan(positions).any(axis=2)] = np.nan
    _compare(header, len(names), len(positions), notes)
    stated = number(header.values.get("DataRate", ""))
    frames_a_second = rate if rate is not None else estimate_rate(times, stated, notes)
    start = numbers[0] if len(numbers) > 0 and np.isfinite(numbers[0]) else 1.0
    return Markers(
        positions=positions * metres_per(unit),
        names=names,
        rate=frames_a_second,
        first_frame=int(start),
        units_in_file=str(unit),
        source=path,
        others=others,
        metadata={"format": "TRC", **header.values},
        notes=notes.all,
    )


def _header(lines: list[str], notes: Notes) -> Header:
    at = next((i for i, line in enumerate(lines) if line.strip().startswith("DataRate")), None)
    if at is None or at + 2 >= len(lines):
        raise notes.error("no line that starts with DataRate; expected the header of a TRC file")
    if "\t" not in lines[at]:
        return _header_of_blanks(lines, at, notes)
    keys, cells = lines[at].split("\t"), lines[at + 1].split("\t")
    values = {k.strip(): v.strip() for k, v in zip(keys, cells, strict=False) if k.strip() != ""}
    names_at = at + 2
    if not lines[names_at].lstrip().lower().startswith("frame"):
        raise notes.error("expected the line with Frame#, Time and the markers", f"line {at + 3}")
    cells = [cell.strip() for cell in lines[names_at].rstrip("\t\n ").split("\t")]
    names = [cell for cell in cells[2:] if cell != ""]
    axes = (
        [cell.strip() for cell in lines[names_at + 1].split("\t")]
        if names_at + 1 < len(lines)
        else []
    )
    labelled = [cell for cell in axes if cell[:1].upper() in AXES and cell[1:].isdigit()]
    first = names_at + (2 if len(labelled) > 0 or number(axes[0] if axes else "") is None else 1)
    while first < len(lines) and lines[first].strip() == "":
        first += 1
    columns = len(labelled) if len(labelled) > 0 else 3 * len(names)
    return Header(values, names, columns - columns % 3, first)


def _header_of_blanks(lines: list[str], at: int, notes: Notes) -> Header:
    """Read a file whose tabs became blanks: sound only if no name and no cell is empty."""
    values = dict(zip(lines[at].split(), lines[at + 1].split(), strict=False))
    names = lines[at + 2].split()[2:]
    notes.damaged("blanks in place of tabs: an empty cell would shift the others", f"line {at + 1}")
    first = at + 3
    while first < len(lines) and number((lines[first].split() or [""])[0]) in (None,):
        first += 1
    while first < len(lines) and lines[first].strip() == "":
        first += 1
    return Header({**values, "_blanks": "yes"}, names, 3 * len(names), first)


def _unit(header: Header, given: str | float | None, notes: Notes) -> str | float:
    if given is not None and given != "auto":
        return given
    stated = header.values.get("Units", "")
    try:
        metres_per(stated)
    except UnknownNameError:
        if stated == "":
            notes.assume("no length unit is stated; mm is assumed")
            return "mm"
        raise notes.error(f"unknown length unit {stated!r}; expected mm, cm, m, …") from None
    return stated


def _rows(
    lines: list[str], header: Header, notes: Notes
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return frame numbers, times and coordinates, (T,), (T,), (T, columns)."""
    blanks = header.values.pop("_blanks", "") != ""
    wide = header.columns + 2
    rows: list[list[float]] = []
    last = max((i for i, line in enumerate(lines) if line.strip() != ""), default=-1)
    for at in range(header.first, last + 1):
        if lines[at].strip() == "":
            continue
        cells = lines[at].split() if blanks else lines[at].split("\t")
        if blanks and len(cells) != wide:
            raise notes.error(f"expected {wide} numbers, found {len(cells)}", f"line {at + 1}")
        if at == last == len(lines) - 1 and len(cells) < wide and len(rows) > 0:
            notes.damaged("the last row is cut off and was dropped", f"line {at + 1}")
            continue
        while len(cells) > wide and cells[-1].strip() == "":
            cells.pop()
        rows.append(numbers_of(cells, notes, at + 1))
    longest = max((len(row) for row in rows), default=0)
    if longest > wide:
        extra = -(-(longest - wide) // 3)
        wide += 3 * extra
        notes.odd(f"{extra} points have no name: numbers follow beyond the last one that has")
    if len(rows) * wide > _SPARSE * sum(map(len, lines)):
        text = f"{len(rows)} rows for {wide} columns have {sum(map(len, rows))} numbers in all"
        raise notes.error(f"{text}; expected rows of one length")
    table = np.full((len(rows), wide), np.nan)
    for k, row in enumerate(rows):
        table[k, : len(row)] = row
    return table[:, 0], table[:, 1], table[:, 2:].copy()


def _compare(header: Header, markers: int, frames: int, notes: Notes) -> None:
    for key, found, what in (("NumMarkers", markers, "markers"), ("NumFrames", frames, "frames")):
        stated = number(header.values.get(key, ""))
        if stated is not None and stated == stated and int(stated) != found:
            notes.damaged(f"the header states {int(stated)} {what}, the file has {found}")


def write_trc(markers: Markers, path: str, length_unit: str | float = "mm") -> None:
    """Write markers as TRC; missing ones are empty cells.

    Tabs and line ends in names become blanks, for they would end a cell; all else stays.
    """
    unit, metres = named_unit(path, length_unit)
    factor = 1.0 / metres
    names = make_unique(name.translate(_BLANKS).strip() for name in markers.names)
    count, rate = len(names), f"{markers.rate:.9g}"
    first = markers.first_frame
    keys = ("DataRate", "CameraRate", "NumFrames", "NumMarkers", "Units", "OrigDataRate")
    values = (rate, rate, str(len(markers)), str(count), unit, rate)
    with writing(path) as file:
        file.write(f"PathFileType\t4\t(X/Y/Z)\t{os.path.basename(path)}\n")
        file.write("\t".join((*keys, "OrigDataStartFrame", "OrigNumFrames")) + "\n")
        file.write("\t".join((*values, str(first), str(len(markers)))) + "\n")
        file.write("Frame#\tTime\t" + "".join(f"{name}\t\t\t" for name in names) + "\n")
        axes = [f"{axis}{k + 1}" for k in range(count) for axis in AXES]
        file.write("\t\t" + "\t".join(axes) + "\n\n")
        for t, row in enumerate(markers.positions.reshape(len(markers), 3 * count) * factor):
            cells = ["" if x != x else f"{x:.9g}" for x in row.tolist()]
            file.write("\t".join((str(first + t), f"{t / markers.rate:.9g}", *cells)) + "\n")
