"""Numbers and names in text formats."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

__all__ = ["NUMBER_FORMAT", "make_unique", "parse_number"]

NUMBER_FORMAT = "%.12g"  # a micrometre at a thousand kilometres, a nanoradian after ten turns

# float() also takes 1_000 and "nan", which other readers of these files do not.
NUMBER_PATTERN = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.I)


def parse_number(word: str) -> float:
    """Return a decimal number, NaN for anything else."""
    return float(word) if NUMBER_PATTERN.fullmatch(word) is not None else math.nan


def make_unique(labels: Iterable[str]) -> list[str]:
    """Return unique names: the second "RTHI" is "RTHI#2", empty labels are "*0", "*1", …."""
    labels = list(labels)
    reserved = set(labels) | {""}
    names: dict[str, None] = {}
    last_number: dict[str, int] = {}
    for label in labels:
        name = label
        while name in names or (name != label and name in reserved) or name == "":
            last_number[label] = last_number.get(label, -1 if label == "" else 1) + 1
            name = f"{label or '*'}{'' if label == '' else '#'}{last_number[label]}"
        names[name] = None
    return list(names)
