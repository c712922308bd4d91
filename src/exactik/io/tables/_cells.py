"""Tables in text: cells between tabs, numbers or nothing in them, and the names of columns."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from exactik.io._files import make_unique, read_text
from exactik.io._notes import Notes
from exactik.typing import Array

MAX_TIME = 1e12  # [s] beyond which doubles are too coarse to tell a rate
MISSING_CELLS = ("", "nan", "-nan", "null", "none")
DEFAULT_RATE = 100.0  # [Hz] where neither header nor times tell; the most common one


def parse_cell(text: str) -> float | None:
    """Return the number in a cell, NaN if it is empty or says "nan", None if it is no number."""
    text = text.strip()
    if text.lower() in MISSING_CELLS:
        return math.nan
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else math.nan


def parse_row(cells: Sequence[str], notes: Notes, line: int) -> list[float]:
    """Return the numbers in cells; one that holds none is an error that names line and column."""
    try:
        values = list(map(float, cells))  # the fast path: every cell is a plain number
        if math.isfinite(sum(values)):
            return values
    except ValueError:
        pass
    values = []
    for column, cell in enumerate(cells, start=1):
        value = parse_cell(cell)
        if value is None:
            shown = cell.strip()[:40]
            raise notes.error(
                f"expected a number, found {shown!r}", f"line {line}, column {column}"
            )
        values.append(value)
    return values


def split_storage(path: str, notes: Notes, expected: str) -> tuple[list[str], int]:
    """Return the lines of a .mot or .sto file, and the index of the one before the names."""
    lines = read_text(path).split("\n")
    end = next((i for i, line in enumerate(lines) if line.strip().lower() == "endheader"), None)
    if end is None or end + 1 >= len(lines):
        raise notes.error(f"no line endheader; expected {expected}")
    return lines, end


def compare_count(cell: str, count: int, what: str, notes: Notes) -> None:
    """Note that a header states another number of rows or columns than the file has."""
    stated = parse_cell(cell)
    if stated is not None and stated == stated and int(stated) != count:
        notes.flag_damage(f"the header states {int(stated)} {what}, the file has {count}")


def make_marker_names(names: Iterable[str], notes: Notes) -> tuple[str, ...]:
    """Return unique names: empty ones by their column, "*4", repeated ones numbered, "NAME#2"."""
    filled = [name.strip() or f"*{column}" for column, name in enumerate(names)]
    repeated = [name for name, count in Counter(filled).items() if count > 1]
    if len(repeated) > 0:
        shown = ", ".join(repeated[:5])
        notes.remark(f"marker names occur more than once ({shown}); numbered with #2, #3, …")
    return tuple(make_unique(filled))


def blank_missing(positions: Array, zeros_are_missing: bool) -> None:
    """Set all of a marker to NaN where a coordinate is, or where it is at (0, 0, 0), in place."""
    if zeros_are_missing:
        positions[(positions == 0.0).all(axis=2)] = np.nan
    positions[np.isnan(positions).any(axis=2)] = np.nan


def estimate_rate(times: Array, stated: float | None, notes: Notes) -> float:
    """Return the rate [Hz] of frames at these times [s]; what a header states wins if it fits.

    Times are often rounded to a millisecond, so the mean spacing decides; unless a single gap
    spoils it, which the median shows.
    """
    known = times[np.isfinite(times)]
    measured = None
    with np.errstate(over="ignore", invalid="ignore"):  # times may be any double
        span = float(known[-1] - known[0]) if len(known) > 1 else 0.0
        is_too_late = np.abs(known).max(initial=0.0) > MAX_TIME
    if span > 1.0 / MAX_TIME and not is_too_late:
        measured = (len(known) - 1) / span
        median = float(np.median(np.diff(known)))
        # Rounded to a millisecond, 60 Hz are steps of 16 and 17 ms, and the median is neither.
        share_near_median = float(np.mean(np.abs(np.diff(known) - median) < 5e-3 * median))
        if median > 5e-3 and abs(median * measured - 1.0) > 5e-3 and share_near_median > 0.9:
            measured = 1.0 / median
        largest_deviation = np.abs(np.diff(known) * measured - 1.0).max()
        if largest_deviation > 0.5:
            notes.remark("the times of the frames are not even; an even rate is assumed")
    if stated is not None and stated > 0.0 and math.isfinite(stated):
        if measured is not None and abs(measured / stated - 1.0) > 0.02:
            notes.flag_damage(
                f"the header states {stated:g} Hz, the times of the frames give {measured:g} Hz; "
                "the times are trusted"
            )
            return _round_rate(measured)
        return float(stated)
    if measured is None:
        notes.assume(
            f"no rate is stated and the times do not tell; {DEFAULT_RATE:g} Hz is assumed",
            code="rate-assumed",
        )
        return DEFAULT_RATE
    return _round_rate(measured)


def _round_rate(rate: float) -> float:
    """Return a whole rate if this is one but for rounding of times."""
    return float(round(rate)) if abs(rate - round(rate)) < 1e-3 * rate else rate
