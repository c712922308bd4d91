"""How the takes of an archive are solved and written: plain data, part of their key."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

from exactik._text import join_names
from exactik.calibration import HandMapping
from exactik.errors import UsageError
from exactik.io import writable_suffixes
from exactik.io.formats import BVH
from exactik.pipeline import RecordingOptions, TrackOptions

__all__ = ["SEGMENT_FRAMES", "TakeOptions"]

SEGMENT_FRAMES = 36_000
"""Frames from which on a take is cut: five minutes at 120 Hz, which a worker tracks in 2 GB."""


@dataclass(frozen=True, kw_only=True)
class TakeOptions:
    """What is asked of a take.

    Attributes:
        recording: how to read it.
        tracking: how to solve it. `threads` changes no bit of the result and is no part of the key.
        weights: of markers, see `solve_recording`.
        mapping: what recorded markers are, by hand.
        computed: whether to use computed points, such as joint centres.
        fit: whether to fit the figure to each take by itself.
        person: whom to solve of several in a recording, "all" for each; the first if None.
        formats: of the motions, suffixes.
        report: whether to write a report of each.
        angles: columns of MOT and CSV, see `write_motion`.
        rotations: columns of CSV, likewise.
        segment: frames of a part; longer takes are cut into parts of this many.
    """

    recording: RecordingOptions = field(default_factory=RecordingOptions)
    tracking: TrackOptions = field(default_factory=TrackOptions)
    weights: Mapping[str, float] | None = None
    mapping: HandMapping | None = None
    computed: bool = False
    fit: bool = False
    person: str | None = None
    formats: tuple[str, ...] = (BVH.suffix,)
    report: bool = True
    angles: str | None = None
    rotations: str | None = None
    segment: int = SEGMENT_FRAMES

    def __post_init__(self) -> None:
        """Check what can be checked before anything is read."""
        object.__setattr__(self, "formats", tuple(_check_format(f) for f in self.formats))
        if self.segment < 2:
            raise UsageError(f"segment is {self.segment} frames; expected 2 or more")

    def to_dict(self) -> dict[str, Any]:
        """Return all that the result depends on, as JSON can hold it."""
        facts = asdict(self)
        del facts["tracking"]["threads"]
        return facts

    def changed(self, changes: Mapping[str, Any]) -> TakeOptions:
        """Return the options with some values replaced, by their names: those of a manifest's row.

        Args:
            changes: attributes of this class, of `RecordingOptions` or of `TrackOptions`.
        """
        groups: dict[str, dict[str, Any]] = {"": {}, "recording": {}, "tracking": {}}
        known = {f.name: "" for f in fields(self) if f.name not in groups}
        known |= {f.name: "recording" for f in fields(RecordingOptions)}
        known |= {f.name: "tracking" for f in fields(TrackOptions)}
        for name, value in changes.items():
            if name not in known:
                raise UsageError(f"no option {name!r}; expected {join_names(sorted(known))}")
            groups[known[name]][name] = tuple(value) if isinstance(value, list) else value
        return replace(
            self,
            recording=replace(self.recording, **groups["recording"]),
            tracking=replace(self.tracking, **groups["tracking"]),
            **groups[""],
        )


def _check_format(name: str) -> str:
    suffix = f".{name.strip().lstrip('.').lower()}"
    if suffix not in writable_suffixes("motion"):
        known = join_names([s.removeprefix(".") for s in writable_suffixes("motion")])
        raise UsageError(f"no motion can be written as {name!r}; expected some of {known}")
    return suffix
