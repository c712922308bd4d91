"""TSV of Qualisys Track Manager: keys and values in the first lines, then tab-separated rows."""

from __future__ import annotations

import numpy as np

from exactik.io._files import read_text
from exactik.io._notes import Notes
from exactik.io._units import metres_per
from exactik.io.tables._cells import (
    blank_missing,
    compare_count,
    estimate_rate,
    make_marker_names,
    parse_cell,
    parse_row,
)
from exactik.model.motion import Markers


def read_tsv(
    path: str,
    notes: Notes,
    length_unit: str | float | None = None,
    rate: float | None = None,
    zeros_are_missing: bool = True,
) -> Markers:
    """Return the markers of a QTM export; QTM writes millimetres and zeros for what is missing."""
    lines = read_text(path).split("\n")
    values: dict[str, list[str]] = {}
    heading = 0
    while (
        heading < len(lines)
        and lines[heading][:1].isalpha()
        and not lines[heading].startswith("Frame\t")
    ):
        key, *rest = lines[heading].split("\t")
        values[key.strip()] = [cell.strip() for cell in rest]
        heading += 1
    if "NO_OF_MARKERS" not in values and "MARKER_NAMES" not in values:
        raise notes.error("no MARKER_NAMES in the first lines; expected a table of Qualisys")
    has_heading = heading < len(lines) and lines[heading].startswith("Frame\t")
    # Frame and time come first only where the columns have a heading.
    leading_columns = 2 if has_heading else 0
    first_row = heading + has_heading
    names = [name for name in values.get("MARKER_NAMES", []) if name != ""]
    rows = []
    for index in range(first_row, len(lines)):
        if lines[index].strip() == "":
            continue
        cells = lines[index].rstrip("\t").split("\t")
        rows.append(parse_row(cells, notes, index + 1))
    width = leading_columns + 3 * len(names)
    short = [k for k, row in enumerate(rows) if len(row) < width]
    if short == [len(rows) - 1] and len(rows) > 1:
        notes.flag_damage("the last row is cut off and was dropped", f"line {len(lines)}")
        rows.pop()
    elif len(short) > 0:
        raise notes.error(
            f"expected {width} numbers for {len(names)} markers, found {len(rows[short[0]])}",
            f"line {first_row + short[0] + 1}",
        )
    table = np.array([row[:width] for row in rows]).reshape(len(rows), width)
    positions = table[:, leading_columns:].reshape(len(rows), len(names), 3).copy()
    blank_missing(positions, zeros_are_missing)
    for key, count in (("NO_OF_FRAMES", len(rows)), ("NO_OF_MARKERS", len(names))):
        compare_count((values.get(key) or [""])[0], count, f"for {key}", notes)
    stated_rate = parse_cell((values.get("FREQUENCY") or [""])[0])
    times = table[:, 1] if has_heading else np.empty(0)
    first_frame = table[0, 0] if has_heading and len(rows) > 0 else 1.0
    unit = "mm" if length_unit is None or length_unit == "auto" else length_unit
    return Markers(
        positions=positions * metres_per(unit),
        names=make_marker_names(names, notes),
        rate=rate if rate is not None else estimate_rate(times, stated_rate, notes),
        first_frame=int(first_frame) if np.isfinite(first_frame) else 1,
        units_in_file=str(unit),
        source=path,
        metadata={"format": "Qualisys TSV", **{k: "\t".join(v) for k, v in values.items()}},
        notes=notes.all,
    )
