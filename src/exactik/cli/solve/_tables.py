"""Small tables on the command line: weights of markers, what a recorded marker is.

Either in place ("LFHD=2,RFIN=0.5") or in a file: JSON, an object; or CSV, two columns.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from exactik.errors import FileError, ModelError, UnknownNameError
from exactik.io import read_text

__all__ = ["mapping_of", "weights_of"]

ByHand = dict[str, "str | tuple[str, tuple[float, float, float]] | None"]


def weights_of(text: str, names: Sequence[str], recorded: Mapping[str, str]) -> dict[str, float]:
    """Return the weights of markers, by the skeleton's names.

    Args:
        text: what the user gave.
        names: of the skeleton's markers.
        recorded: recorded name → the skeleton's.
    """
    short = {name.rpartition(":")[2]: own for name, own in recorded.items()}
    found: dict[str, float] = {}
    for name, value in _pairs("--weights", text).items():
        weight = _weight(name, value)
        own = recorded.get(name, short.get(name, name))
        fits = [other for other in names if fnmatchcase(other, own)]
        if len(fits) == 0:
            raise UnknownNameError("marker", name, names)
        found.update(dict.fromkeys(fits, weight))
    return found


def mapping_of(text: str) -> ByHand:
    """Return what recorded markers are: marker or bone, bone and place, or None: not used."""
    found: ByHand = {}
    for name, value in _pairs("--mapping", text).items():
        if value is None or value == "":
            found[name] = None
        elif isinstance(value, str):
            found[name] = value
        else:
            found[name] = _place(name, value)
    return found


def _weight(name: str, value: Any) -> float:
    try:
        weight = float(value)
    except (TypeError, ValueError):
        weight = -1.0
    if not 0.0 <= weight < float("inf"):
        raise ModelError(f"--weights: {name} is {value!r}; expected a number ≥ 0")
    return weight


def _place(name: str, value: Any) -> tuple[str, tuple[float, float, float]]:
    try:
        bone, (x, y, z) = value
        return str(bone), (float(x), float(y), float(z))
    except (TypeError, ValueError):
        fault = f"--mapping: {name} is {value!r:.60}"
        raise ModelError(
            f'{fault}; expected "marker", "bone", ["bone", [x, y, z]] or null'
        ) from None


def _pairs(option: str, text: str) -> dict[str, Any]:
    """Return names and values; texts, but for JSON."""
    suffix = Path(text).suffix.lower()
    if suffix == ".json":
        return _json_pairs(text)
    if suffix in (".csv", ".txt"):
        return _csv_pairs(text)
    found: dict[str, Any] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, equals, value = part.partition("=")
        if equals == "" or name.strip() == "":
            raise ModelError(
                f"{option} is {text!r}; expected NAME=VALUE, separated by commas, or a .json or "
                ".csv file"
            )
        found[name.strip()] = value.strip()
    return found


def _json_pairs(path: str) -> dict[str, Any]:
    try:
        found = json.loads(read_text(path))
    except (json.JSONDecodeError, RecursionError) as error:
        line = f"line {error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        raise FileError(path, "not JSON; expected an object of names and values", line) from None
    if not isinstance(found, dict):
        raise FileError(path, 'expected an object of names and values, as {"LFHD": 2}')
    return found


def _csv_pairs(path: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for n, row in enumerate(csv.reader(read_text(path).splitlines()), start=1):
        cells = [cell.strip() for cell in row]
        if not any(cells) or cells[0].startswith("#"):
            continue
        if len(cells) != 2 or cells[0] == "":
            raise FileError(path, f"{len(cells)} columns; expected a name and a value", f"line {n}")
        found[cells[0]] = cells[1]
    return found
