"""Tables in text: cells between tabs, numbers or nothing in them, and the names of columns."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from exactik.io._notes import Notes
from exactik.io._text import make_unique
from exactik.typing import Array

__all__ = ["estimate_rate", "number", "numbers_of", "unique_names"]


_LATEST = 1e12  # [s] beyond which times tell nothing of a rate
MISSING = ("", "nan", "-nan", "null", "none")


def number(text: str) -> float | None:
    """Return the number in a cell, NaN for an empty one or one that says so; None if it is none."""
    text = text.strip()
    if text.lower() in MISSING:
        return math.nan
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else math.nan


def numbers_of(cells: Sequence[str], notes: Notes, line: int) -> list[float]:
    """Return the numbers in cells; one that holds none is an error that names line and column."""
    try:
        values = [float(cell) for cell in cells]  # the common case, and the quick one
        if all(map(math.isfinite, values)):
            return values
    except ValueError:
        pass
    values = []
    for column, cell in enumerate(cells, start=1):
        value = number(cell)
        if value is None:
            shown = cell.strip()[:40]
            raise notes.error(
                f"expected a number, found {shown!r}", f"line {line}, column {column}"
            )
        values.append(value)
    return values


def unique_names(names: Iterable[str], notes: Notes, what: str = "marker") -> tuple[str, ...]:
    """Return names with empty ones made up by their column and repeated ones numbered: "NAME#2"."""
    given = [name.strip() or f"*{column}" for column, name in enumerate(names)]
    doubles = [name for name, count in Counter(given).items() if count > 1]
    if len(doubles) > 0:
        shown = ", ".join(doubles[:5])
        notes.odd(f"{what} names occur more than once ({shown}); numbered with #2, #3, …")
    return tuple(make_unique(given))


def estimate_rate(times: Array, stated: float | None, notes: Notes) -> float:
    """Return the rate [Hz] of frames at these times [s]; what a header states wins if it fits.

    Times are often rounded to a millisecond, so the mean spacing decides; unless a single gap
    spoils it, which the median shows.
    """
    known = times[np.isfinite(times)]
    measured = None
    with np.errstate(over="ignore", invalid="ignore"):  # times may be as far off as numbers go
        span = float(known[-1] - known[0]) if len(known) > 1 else 0.0
        far = np.abs(known).max(initial=0.0) > _LATEST
    if span > 1.0 / _LATEST and not far:
        measured = (len(known) - 1) / span
        usual = float(np.median(np.diff(known)))
        # Rounded to a millisecond, 60 Hz are steps of 16 and 17 ms, and the median is neither.
        agree = float(np.mean(np.abs(np.diff(known) - usual) < 5e-3 * usual))
        if usual > 5e-3 and abs(usual * measured - 1.0) > 5e-3 and agree > 0.9:
            measured = 1.0 / usual
        uneven = np.abs(np.diff(known) * measured - 1.0).max()
        if uneven > 0.5:
            notes.odd("the times of the frames are not even; an even rate is assumed")
    if stated is not None and stated > 0.0 and math.isfinite(stated):
        if measured is not None and abs(measured / stated - 1.0) > 0.02:
            notes.damaged(
                f"the header states {stated:g} Hz, the times of the frames give {measured:g} Hz; "
                "the times are trusted"
            )
            return _rounded(measured)
        return float(stated)
    if measured is None:
        notes.assume("no rate is stated and the times do not tell; 100 Hz is assumed")
        return 100.0
    return _rounded(measured)


def _rounded(rate: float) -> float:
    """Return a whole rate if this is one but for rounding of times."""
    return float(round(rate)) if abs(rate - round(rate)) < 1e-3 * rate else rate
