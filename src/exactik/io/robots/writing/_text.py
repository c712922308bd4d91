"""What texts of robots share: names that can be written, numbers to the last digit, inertia."""

from __future__ import annotations

import math
from collections.abc import Iterable

from exactik.errors import FileError

WATER_DENSITY = 1000.0  # [kg/m³] that of bodies and, within a factor of three, of most robots


def require_plain_names(path: str, names: Iterable[str]) -> None:
    """Raise if a name has what readers drop."""
    for name in names:
        if name != name.strip() or not name.isprintable():
            fault = f"the name {name!r} has blanks around it or letters that cannot be printed"
            raise FileError(path, f"cannot be written: {fault}")


def compute_moment(mass: float) -> float:
    """Return the moment of inertia of a ball of water [kg m²]: a skeleton has none."""
    # 2/5 m r² of the radius at which 4/3 π r³ weighs m.
    return 0.4 * mass * (0.75 * mass / (math.pi * WATER_DENSITY)) ** (2.0 / 3.0)


def format_numbers(values: Iterable[float]) -> str:
    """Return numbers that are read back to the last bit."""
    return " ".join(repr(float(x) + 0.0) for x in values)  # + 0.0: no minus before a zero
