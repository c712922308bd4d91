"""Small tables on the command line: weights of markers, what a recorded marker is.

Either in place ("LFHD=2,RFIN=0.5") or in a file: JSON, an object; or CSV, two columns.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

from exactik.errors import FileError, UsageError
from exactik.io import read_text

Place = tuple[str, tuple[float, float, float]]  # a bone and a point in its frame [m]


def parse_weights(text: str) -> dict[str, float]:
    """Return the weights of markers, by names or patterns as given."""
    return {
        name: _parse_weight(name, value) for name, value in _parse_pairs("--weights", text).items()
    }


def parse_mapping(text: str) -> dict[str, str | Place | None]:
    """Return what recorded markers are: marker or bone, bone and place, or None: not used."""
    mapping: dict[str, str | Place | None] = {}
    for name, value in _parse_pairs("--mapping", text).items():
        if value is None or value == "":
            mapping[name] = None
        elif isinstance(value, str):
            mapping[name] = _parse_place_text(value) or value
        else:
            mapping[name] = _parse_place(name, value)
    return mapping


def _parse_weight(name: str, value: Any) -> float:
    try:
        weight = float(value)
    except (TypeError, ValueError):
        weight = -1.0
    if not 0.0 <= weight < float("inf"):
        raise UsageError(f"--weights: {name} is {value!r}; expected a number ≥ 0")
    return weight


def _parse_place(name: str, value: Any) -> Place:
    try:
        bone, (x, y, z) = value
        return str(bone), (float(x), float(y), float(z))
    except (TypeError, ValueError):
        fault = f"--mapping: {name} is {value!r:.60}"
        raise UsageError(
            f'{fault}; expected "marker", "bone", ["bone", [x, y, z]] or null'
        ) from None


def _parse_place_text(text: str) -> Place | None:
    """Return a bone and a place in its frame [m] from "l_shin 0.03 0.04 -0.2", or None."""
    try:
        bone, x, y, z = text.rsplit(maxsplit=3)
        return bone, (float(x), float(y), float(z))
    except ValueError:
        return None


def _parse_pairs(option: str, text: str) -> dict[str, Any]:
    """Return names and values; texts, but for JSON."""
    suffix = Path(text).suffix.lower()
    if suffix == ".json":
        return _read_json_pairs(text)
    if suffix in (".csv", ".txt"):
        return _read_csv_pairs(text)
    pairs: dict[str, Any] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, equals, value = part.partition("=")
        if equals == "" or name.strip() == "":
            raise UsageError(
                f"{option} is {text!r}; expected NAME=VALUE, separated by commas, or a .json or "
                ".csv file"
            )
        pairs[name.strip()] = value.strip()
    return pairs


def _read_json_pairs(path: str) -> dict[str, Any]:
    try:
        pairs = json.loads(read_text(path))
    except (json.JSONDecodeError, RecursionError) as error:
        line = f"line {error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        raise FileError(path, "not JSON; expected an object of names and values", line) from None
    if not isinstance(pairs, dict):
        raise FileError(path, 'expected an object of names and values, as {"LFHD": 2}')
    return pairs


def _read_csv_pairs(path: str) -> dict[str, Any]:
    pairs: dict[str, Any] = {}
    for n, row in enumerate(csv.reader(read_text(path).splitlines()), start=1):
        cells = [cell.strip() for cell in row]
        if not any(cells) or cells[0].startswith("#"):
            continue
        if len(cells) > 2 and cells[2].startswith("#"):  # a remark, as `exactik match` writes
            cells = cells[:2]
        if len(cells) != 2 or cells[0] == "":
            raise FileError(path, f"{len(cells)} columns; expected a name and a value", f"line {n}")
        pairs[cells[0]] = cells[1]
    return pairs
