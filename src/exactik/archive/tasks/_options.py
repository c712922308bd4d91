"""How the takes of an archive are solved and written: plain data, part of their key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from exactik._options import option
from exactik._text import join_names
from exactik.errors import UsageError
from exactik.io import writable_suffixes
from exactik.io.formats import BVH
from exactik.recordings.pipeline import RecordingOptions
from exactik.recordings.tracking import PlainTrackOptions

SEGMENT_FRAMES = 36_000
"""Frames from which on a take is cut: five minutes at 120 Hz, which a worker tracks in 2 GB."""
READING = ("up", "axes", "length_unit", "start", "end")  # options that say how files are read


@dataclass(frozen=True, kw_only=True)
class TakeOptions(RecordingOptions):
    """What is asked of a take."""

    formats: tuple[str, ...] = option(
        (BVH.suffix,),
        "Formats to write, such as bvh,glb: some of bvh, amc, glb, npz, mot, csv.",
        metavar="FORMATS",
        flags="--format",
    )
    report: bool = option(True, "Write a report of each take.", flags="--reports/--no-reports")
    segment: int = option(
        SEGMENT_FRAMES,
        "Length from which on a take is solved in parts.",
        why="Five minutes at 120 Hz, which a worker tracks in 2 GB.",
        unit="frames",
        metavar="FRAMES",
        least=2,
    )

    def __post_init__(self) -> None:
        """Check what can be checked before anything is read."""
        object.__setattr__(self, "formats", check_formats(self.formats))
        if self.segment < 2:
            raise UsageError(f"segment is {self.segment} frames; expected 2 or more")

    def to_dict(self) -> dict[str, Any]:
        """Return all that the result depends on, as JSON can hold it: two groups and the rest."""
        facts = asdict(self)
        del facts["threads"]  # changes no bit of the result
        tracking = [f.name for f in fields(PlainTrackOptions) if f.name in facts]
        groups = {"recording": READING, "tracking": tracking}
        grouped = {group: {n: facts.pop(n) for n in names} for group, names in groups.items()}
        return {**grouped, **facts}

    def changed(self, changes: Mapping[str, Any]) -> TakeOptions:
        """Return the options with some values replaced, by their names: those of a manifest's row.

        Args:
            changes: attributes of this class.
        """
        known = [f.name for f in fields(TakeOptions)]
        for name in changes:
            if name not in known:
                raise UsageError(f"no option {name!r}; expected {join_names(sorted(known))}")
        # A table has lists where a record has tuples.
        lists = {name: tuple(value) for name, value in changes.items() if isinstance(value, list)}
        return replace(self, **(dict(changes) | lists))


def check_formats(names: Sequence[str]) -> tuple[str, ...]:
    """Return the suffixes of formats of motions; raise `UsageError` for what is none."""
    return tuple(map(_check_format, names))


def _check_format(name: str) -> str:
    suffix = f".{name.strip().lstrip('.').lower()}"
    if suffix not in writable_suffixes("motion"):
        known = join_names([s.removeprefix(".") for s in writable_suffixes("motion")])
        raise UsageError(f"no motion can be written as {name!r}; expected some of {known}")
    return suffix
