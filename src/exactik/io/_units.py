"""Length units of files: their names, and guesses where a file names none."""

from __future__ import annotations

import math

from exactik.errors import Advice, FileError, UnknownNameError
from exactik.io._notes import Notes

__all__ = ["LENGTH_UNITS", "announced_unit", "guessed_unit", "metres_per", "named_unit"]

# Metres in one unit.
LENGTH_UNITS = {"m": 1.0, "dm": 0.1, "cm": 0.01, "mm": 0.001, "in": 0.0254, "ft": 0.3048}

# Units that figures are really drawn in [m], and how tall one may be to be taken for a human.
_UNITS = {"m": 1.0, "dm": 0.1, "1/0.45 in": 0.0254 / 0.45, "in": 0.0254, "cm": 0.01, "mm": 0.001}
_TALL = (1.2, 1.7, 2.2)


def metres_per(unit: str | float) -> float:
    """Return the metres in one `unit`: a name such as "cm", or the number itself."""
    if isinstance(unit, str):
        if unit not in LENGTH_UNITS:
            raise UnknownNameError("length unit", unit, LENGTH_UNITS)
        return LENGTH_UNITS[unit]
    factor = float(unit)
    if not (math.isfinite(factor) and factor > 0.0):
        raise UnknownNameError("length unit", unit, (*LENGTH_UNITS, "a positive number of metres"))
    return factor


def named_unit(path: str, unit: str | float) -> tuple[str, float]:
    """Return the name of a unit, for a file that has to state it, and the metres in it."""
    metres = metres_per(unit)
    for name, size in LENGTH_UNITS.items():
        if size == metres:
            return name, metres
    raise FileError(path, f"length unit is {unit!r}; expected one of {' '.join(LENGTH_UNITS)}")


def announced_unit(tall: float, notes: Notes) -> float:
    """Return the metres in one unit by the height of the figure, and say so."""
    guess = guessed_unit(tall)
    if guess is None:
        units = f"a human in none of {', '.join(_UNITS)}"
        raise notes.error(
            f"the figure measures {tall:.4g} units, {units}",
            code="unit-unknown",
            advice=Advice("; give ", "length_unit"),
        )
    name, metres = guess
    notes.assume(
        f"length unit {name} assumed: the figure then measures {tall * metres:.2f} m",
        code="unit-guessed",
        value=name,
    )
    return metres


def guessed_unit(tall: float) -> tuple[str, float] | None:
    """Return name and metres of the unit in which `tall` is a human's height; None if in none."""
    low, usual, high = _TALL
    fits = {name: unit for name, unit in _UNITS.items() if low <= tall * unit <= high}
    if len(fits) == 0:
        return None
    return min(fits.items(), key=lambda item: abs(math.log(tall * item[1] / usual)))
