"""Length units of files."""

from __future__ import annotations

import math

from exactik.errors import UnknownNameError

__all__ = ["LENGTH_UNITS", "metres_per"]

# Metres in one unit.
LENGTH_UNITS = {"m": 1.0, "dm": 0.1, "cm": 0.01, "mm": 0.001, "in": 0.0254, "ft": 0.3048}


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
