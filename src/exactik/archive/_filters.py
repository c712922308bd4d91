"""Which clips are kept: conditions on their measures, such as "slide<1mm"."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from exactik._text import join_names
from exactik.archive._ledger import Ledger
from exactik.archive._rows import LedgerRow
from exactik.errors import UsageError
from exactik.io import open_atomic

OPERATORS: Mapping[str, Callable[[float, float], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
}


class Quantity(NamedTuple):
    """A measure of a clip, and in which units a condition may have it.

    Attributes:
        fact: its name among the facts of a clip.
        units: unit → what one of it is in that of the fact; "" for none.
    """

    fact: str
    units: Mapping[str, float]


QUANTITIES: Mapping[str, Quantity] = {
    "slide": Quantity("slide_mm", {"mm": 1.0, "cm": 10.0, "m": 1000.0}),
    "wrist": Quantity("wrist_percent", {"%": 1.0}),
    "limits": Quantity("limit_percent", {"%": 1.0}),
    "speed": Quantity("speed_percent", {"%": 1.0}),
    "jumps": Quantity("jumps", {"": 1.0}),
    "seconds": Quantity("seconds", {"s": 1.0, "": 1.0}),
}
CONDITION = re.compile(r"\s*([a-z]+)\s*(<=|>=|<|>)\s*([0-9]*\.?[0-9]+)\s*([a-z%]*)\s*")


class Condition(NamedTuple):
    """One condition on a clip.

    Attributes:
        text: as it was given.
        fact: name among the facts of a clip.
        holds: of a value and the bound.
        bound: in the unit of the fact.
    """

    text: str
    fact: str
    holds: Callable[[float, float], bool]
    bound: float


def parse_conditions(texts: Sequence[str]) -> tuple[Condition, ...]:
    """Return conditions; raise `UsageError` for what is none."""
    return tuple(_parse(part) for text in texts for part in text.split(","))


def _parse(text: str) -> Condition:
    match = CONDITION.fullmatch(text)
    if match is None:
        raise UsageError(f"{text!r} is no condition; expected one such as 'slide<1mm'")
    name, sign, number, unit = match.groups()
    if name not in QUANTITIES:
        raise UsageError(
            f"no measure {name!r} in {text!r}; expected {join_names(list(QUANTITIES))}"
        )
    fact, units = QUANTITIES[name]
    if unit not in units:
        known = join_names([repr(unit) for unit in units])
        raise UsageError(f"no unit {unit!r} in {text!r}; {name} has {known}")
    return Condition(text, fact, OPERATORS[sign], float(number) * units[unit])


def is_kept(facts: Mapping[str, Any], conditions: Sequence[Condition]) -> bool:
    """Return whether a clip with these facts fulfils all conditions."""
    values = [(facts.get(c.fact), c) for c in conditions]
    return all(value is not None and c.holds(float(value), c.bound) for value, c in values)


def _facts_of(row: LedgerRow) -> Mapping[str, Any]:
    return {**row.facts, "seconds": (row.frames or 0) / row.facts["rate_hz"]}


def write_kept(ledger: Ledger, folder: Path, conditions: Sequence[Condition]) -> int:
    """Write the files of the clips that fulfil all conditions, a line each; return their number."""
    count = 0
    with open_atomic(folder / "kept.txt") as file:
        for row in ledger.rows():
            if row.state == "done" and is_kept(_facts_of(row), conditions):
                count += 1
                above = row.name.rpartition("/")[0]
                parts = ("takes", above) if above != "" else ("takes",)
                file.writelines(f"{'/'.join((*parts, name))}\n" for name in row.facts["files"])
    return count
