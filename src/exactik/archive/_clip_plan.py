"""What `archive retarget` asks: clips, the figure that takes over, and which clips are kept."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from exactik._text import join_names
from exactik.archive._ledger import Ledger
from exactik.archive._plan import ENTERED_AT_ONCE, enter_take, keep_figure
from exactik.archive._rows import LedgerRow
from exactik.archive._sources import ListedTake
from exactik.archive.tasks import (
    ClipOptions,
    ClipTask,
    Figure,
    Storage,
    Task,
    TaskResult,
    hash_facts,
    solver_version,
)
from exactik.errors import UsageError
from exactik.io import open_atomic
from exactik.recordings.pipeline import read_skeleton

OPERATORS: Mapping[str, Callable[[float, float], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
}


@dataclass(kw_only=True)
class ClipPlan:
    """What one command asks."""

    ledger: Ledger  # of the archive
    storage: Storage  # where outputs go
    options: ClipOptions  # of all clips
    figure: Figure  # that takes them over
    check: bool = False  # whether clips that are done are compared with their files again

    @classmethod
    def of(cls, to: str, *, ledger: Ledger, storage: Storage, **asked: Any) -> ClipPlan:
        """Return a plan for a figure, which is kept where workers find it."""
        figure = keep_figure(storage, read_skeleton(to))
        return cls(figure=figure, ledger=ledger, storage=storage, **asked)

    def enter(self, takes: Iterable[ListedTake]) -> None:
        """Enter clips as they come."""
        iterator = iter(takes)
        while len(some := list(islice(iterator, ENTERED_AT_ONCE))) > 0:
            with self.ledger.batch():
                for clip in some:
                    self._enter_clip(clip)

    def _enter_clip(self, clip: ListedTake) -> None:
        fault, options = "", self.options
        try:
            options = self.options.changed(clip.options)
        except UsageError as error:  # of this clip's row; the others are none the worse
            fault = str(error)
        work = {"options": dict(clip.options), "figure": asdict(self.figure)}
        asked = {"work": work, "options": options.to_dict(), "solver": solver_version()}
        enter_take(
            self.ledger,
            clip,
            subject=None,
            request=hash_facts(asked),
            work=work,
            check=self.check,
            fault=fault,
        )

    def make_task(self, row: LedgerRow) -> Task:
        """Return what a worker needs for a row of the ledger."""
        return ClipTask(
            name=row.name,
            address=row.address,
            fingerprint=row.fingerprint,
            figure=Figure(**row.work["figure"]),
            options=self.options.changed(row.work["options"]),
            outputs=self.storage.address,
        )

    def handle(self, row: LedgerRow, result: TaskResult) -> None:
        """Nothing follows from a clip."""


class _Quantity(NamedTuple):
    """A measure of a clip, and in which units a condition may have it."""

    fact: str  # its name among the facts of a clip
    units: Mapping[str, float]  # unit → what one of it is in that of the fact; "" for none


QUANTITIES: Mapping[str, _Quantity] = {
    "slide": _Quantity("slide_mm", {"mm": 1.0, "cm": 10.0, "m": 1000.0}),
    "wrist": _Quantity("wrist_percent", {"%": 1.0}),
    "limits": _Quantity("limit_percent", {"%": 1.0}),
    "speed": _Quantity("speed_percent", {"%": 1.0}),
    "crossing": _Quantity("cross_mm", {"mm": 1.0, "cm": 10.0, "m": 1000.0}),
    "jumps": _Quantity("jumps", {"": 1.0}),
    "seconds": _Quantity("seconds", {"s": 1.0, "": 1.0}),
}
CONDITION = re.compile(r"\s*([a-z]+)\s*(<=|>=|<|>)\s*([0-9]*\.?[0-9]+)\s*([a-z%]*)\s*")


class Condition(NamedTuple):
    """One condition on a clip."""

    text: str  # as it was given
    fact: str  # name among the facts of a clip
    holds: Callable[[float, float], bool]  # of a value and the bound
    bound: float  # in the unit of the fact


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
