"""Length units of files: their names, and guesses where a file names none."""

from __future__ import annotations

import math

from exactik.errors import Advice, FileError, UnknownNameError
from exactik.io._notes import Notes

# Metres in one unit.
LENGTH_UNITS = {"m": 1.0, "dm": 0.1, "cm": 0.01, "mm": 0.001, "in": 0.0254, "ft": 0.3048}

# Units that figures are really drawn in [m].
FIGURE_UNITS = {
    "m": 1.0,
    "dm": 0.1,
    "1/0.45 in": 0.0254 / 0.45,
    "in": 0.0254,
    "cm": 0.01,
    "mm": 0.001,
}
HUMAN_HEIGHT = (1.2, 1.7, 2.2)  # [m] least, usual and most, to take a figure for a human


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


def require_named_unit(path: str, unit: str | float) -> tuple[str, float]:
    """Return the name of a unit, for a file that has to state it, and the metres in it."""
    metres = metres_per(unit)
    for name, size in LENGTH_UNITS.items():
        if size == metres:
            return name, metres
    raise FileError(path, f"length unit is {unit!r}; expected one of {' '.join(LENGTH_UNITS)}")


def assume_unit(height: float, notes: Notes) -> float:
    """Return the metres in one unit by the height of the figure in it, and note that."""
    guess = guess_unit(height)
    if guess is None:
        units = f"a human in none of {', '.join(FIGURE_UNITS)}"
        raise notes.error(
            f"the figure measures {height:.4g} units, {units}",
            code="unit-unknown",
            advice=Advice("; give ", "length_unit"),
        )
    name, metres = guess
    words = name if name in LENGTH_UNITS else f"a unit of {1e3 * metres:.4g} mm"
    notes.assume(
        f"no length unit is stated; {words} is taken, in which the figure is "
        f"{height * metres:.2f} m tall",
        code="unit-guessed",
        value=name,
        advice=Advice("; if that is wrong, give ", "length_unit"),
    )
    return metres


def guess_unit(height: float) -> tuple[str, float] | None:
    """Return name and metres of the unit in which a height is a human's; None if in none."""
    low, usual, high = HUMAN_HEIGHT
    fits = {name: unit for name, unit in FIGURE_UNITS.items() if low <= height * unit <= high}
    if len(fits) == 0:
        return None
    return min(fits.items(), key=lambda item: abs(math.log(height * item[1] / usual)))
