"""How a recording is read and how it is tracked, as records that can be kept and sent."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["RecordingOptions", "TrackOptions"]


@dataclass(frozen=True)
class RecordingOptions:
    """How to read a recording.

    Attributes:
        up: which axis is up in the file, in place of what it says.
        axes: turns the axes so and no other way, see `Markers.turned`.
        length_unit: of the file, in place of what it says.
        start: where to begin [s from the first frame].
        end: where to end, included [s from the first frame].
    """

    up: str | None = None
    axes: str | None = None
    length_unit: str | float | None = None
    start: float | None = None
    end: float | None = None


@dataclass(frozen=True)
class TrackOptions:
    """Options of `exactik.track`, see there; `sigma` in metres."""

    robust: str | None = None
    smooth: float | str | None = "auto"
    limits: str = "hard"
    lock: tuple[str, ...] = ()
    sigma: float | None = None
    branches: bool = True
    threads: int | None = None
