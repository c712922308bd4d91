"""Numbers and names as text formats write them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

__all__ = ["make_unique", "parse_number"]

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.I)


def parse_number(word: str) -> float:
    """Return a decimal number as every format here writes it; NaN for anything else."""
    return float(word) if _NUMBER.fullmatch(word) is not None else math.nan


def make_unique(labels: Iterable[str]) -> list[str]:
    """Return each label once: the second "RTHI" becomes "RTHI#2", an empty one "*0" or so."""
    labels = list(labels)
    taken = set(labels) | {""}
    names: list[str] = []
    seen: set[str] = set()
    number: dict[str, int] = {}
    for label in labels:
        name = label
        while name in seen or (name != label and name in taken) or name == "":
            number[label] = number.get(label, -1 if label == "" else 1) + 1
            name = f"{label or '*'}{'' if label == '' else '#'}{number[label]}"
        seen.add(name)
        names.append(name)
    return names
