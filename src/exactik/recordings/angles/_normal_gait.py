"""How healthy people walk, as a laboratory has it: angles over the gait cycle, from its own file.

Published ranges have other zeros and other models than the laboratory's; so its own file is drawn,
or nothing. A table of comma-separated values with a line for each angle and per cent:

    angle,percent,mean,sd
    knee_flexion,0,5.6,5.3
    knee_flexion,2,8.1,5.4

Angles have their names without a side (docs/angles.md), mean and standard deviation are degrees.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from exactik.errors import FileError
from exactik.io import read_text
from exactik.recordings.angles._definitions import ANGLE_NAMES
from exactik.recordings.angles._gait_cycles import CYCLE_POINTS
from exactik.typing import Array

COLUMNS = ("angle", "percent", "mean", "sd")


class NormalBand(NamedTuple):
    """An angle over the gait cycle between healthy people [rad], (101,) each."""

    mean: Array
    sd: Array


@dataclass(frozen=True, eq=False)
class NormalGait:
    """The angles of healthy people over the gait cycle.

    Attributes:
        source: name of the file.
        bands: name of the angle without side → band.
    """

    source: str
    bands: Mapping[str, NormalBand]


def read_normal_gait(path: str | os.PathLike[str]) -> NormalGait:
    """Read the normal range of a laboratory from its .csv file, see the module."""
    rows = [row for row in csv.reader(read_text(os.fspath(path)).splitlines()) if len(row) > 0]
    if len(rows) == 0 or tuple(cell.strip().lower() for cell in rows[0]) != COLUMNS:
        raise FileError(path, f"expected a first line {','.join(COLUMNS)}", "line 1")
    points: dict[str, list[tuple[float, float, float]]] = {}
    for number, row in enumerate(rows[1:], start=2):
        name, point = _read_row(path, row, f"line {number}")
        points.setdefault(name, []).append(point)
    if len(points) == 0:
        raise FileError(path, "no angle in it; expected a line for each angle and per cent")
    return NormalGait(Path(path).name, {name: _make_band(all_) for name, all_ in points.items()})


def _read_row(
    path: str | os.PathLike[str], row: list[str], place: str
) -> tuple[str, tuple[float, float, float]]:
    name, *cells = (cell.strip() for cell in row)
    known = {angle.removesuffix("_r").removesuffix("_l") for angle in ANGLE_NAMES}
    if name not in known:
        raise FileError(
            path, f"no angle is called {name!r}; expected one such as hip_flexion", place
        )
    try:
        percent, mean, sd = map(float, cells)
    except ValueError as error:
        expected = f"three numbers ({', '.join(COLUMNS[1:])}) after {name}"
        raise FileError(path, f"expected {expected}, found {','.join(cells)!r}", place) from error
    if not (0.0 <= percent <= 100.0 and abs(mean) <= 360.0 and 0.0 <= sd <= 180.0):
        expected = "0 to 100 per cent, a mean within 360° and a standard deviation of 0 to 180°"
        raise FileError(path, f"expected {expected}, found {','.join(cells)!r}", place)
    return name, (percent, mean, sd)


def _make_band(points: list[tuple[float, float, float]]) -> NormalBand:
    """Return the band through some points, straight between them."""
    percent, mean, sd = np.array(sorted(points)).T
    whole = np.linspace(0.0, 100.0, CYCLE_POINTS)
    return NormalBand(*(np.radians(np.interp(whole, percent, values)) for values in (mean, sd)))
