"""TSV of Qualisys Track Manager: keys and values in the first lines, then tab-separated rows."""

from __future__ import annotations

import numpy as np

from exactik.io._files import read_text
from exactik.io._notes import Notes
from exactik.io._units import metres_per
from exactik.io.tables._cells import estimate_rate, number, numbers_of, unique_names
from exactik.motion import Markers

__all__ = ["read_tsv"]


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
    at = 0
    while at < len(lines) and lines[at][:1].isalpha() and not lines[at].startswith("Frame\t"):
        key, *rest = lines[at].split("\t")
        values[key.strip()] = [cell.strip() for cell in rest]
        at += 1
    if "NO_OF_MARKERS" not in values and "MARKER_NAMES" not in values:
        raise notes.error("no MARKER_NAMES in the first lines; expected a table of Qualisys")
    headed = at < len(lines) and lines[at].startswith("Frame\t")
    lead = 2 if headed else 0  # frame and time come first only where the columns have a heading
    names = [name for name in values.get("MARKER_NAMES", []) if name != ""]
    rows = []
    for line in range(at + headed, len(lines)):
        if lines[line].strip() == "":
            continue
        cells = lines[line].rstrip("\t").split("\t")
        rows.append(numbers_of(cells, notes, line + 1))
    wide = lead + 3 * len(names)
    short = [k for k, row in enumerate(rows) if len(row) < wide]
    if short == [len(rows) - 1] and len(rows) > 1:
        notes.damaged("the last row is cut off and was dropped", f"line {len(lines)}")
        rows.pop()
    elif len(short) > 0:
        place = f"line {at + headed + short[0] + 1}"
        found = len(rows[short[0]])
        raise notes.error(f"expected {wide} numbers for {len(names)} markers, found {found}", place)
    table = np.array([row[:wide] for row in rows]).reshape(len(rows), wide)
    positions = table[:, lead:].reshape(len(rows), len(names), 3).copy()
    if zeros_are_missing:
        positions[(positions == 0.0).all(axis=2)] = np.nan
    positions[np.isnan(positions).any(axis=2)] = np.nan
    for key, found in (("NO_OF_FRAMES", len(rows)), ("NO_OF_MARKERS", len(names))):
        stated = number((values.get(key) or [""])[0])
        if stated is not None and stated == stated and int(stated) != found:
            notes.damaged(f"the header states {int(stated)} for {key}, the file has {found}")
    stated = number((values.get("FREQUENCY") or [""])[0])
    times = table[:, 1] if lead == 2 else np.empty(0)
    start = table[0, 0] if lead == 2 and len(rows) > 0 else 1.0
    unit = "mm" if length_unit is None or length_unit == "auto" else length_unit
    return Markers(
        positions=positions * metres_per(unit),
        names=unique_names(names, notes),
        rate=rate if rate is not None else estimate_rate(times, stated, notes),
        first_frame=int(start) if np.isfinite(start) else 1,
        units_in_file=str(unit),
        source=path,
        metadata={"format": "Qualisys TSV", **{k: "\t".join(v) for k, v in values.items()}},
        notes=notes.all,
    )
