"""What is known of a recording beside its track: what became of each marker, axes, sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class MarkerUse:
    """What became of a recorded marker."""

    name: str  # in the file
    marker: str | None  # the skeleton's name for it; None if it is not used
    bone: str | None  # that it is on; None if it is not used
    code: str  # why, for programs, see `Match.code`
    confidence: float  # of the match, from 0 to 1
    seen_share: float = 1.0  # of the frames in which it is there
    landmark: str = ""  # place on the body that its name means, see `Match.landmark`; "" if none


@dataclass(frozen=True, kw_only=True)
class UpAxis:
    """Which axis of the file is up."""

    axis: str | None  # "x", "y" or "z"; None if nobody knows
    # Who says so: "user", "file", "figure" (along which it stands), "spread" (of the markers),
    # "custom" (of the format), "axes" (turned by hand) or "unknown"
    origin: str
    custom: str | None  # the axis that is up by the custom of the file's format, None without one
    # Of the mean direction from feet to head with that axis; None if it cannot be seen
    cosine: float | None


@dataclass(frozen=True, kw_only=True)
class RecordingContext:
    """How a recording became a track; plain data."""

    # What became of each recorded marker, in the order of the file, computed points and rigid
    # objects with it
    uses: tuple[MarkerUse, ...]
    subject: str = ""  # whose markers these are, "" if the file has one subject
    subjects: tuple[str, ...] = ("",)  # all in the file
    up: UpAxis  # which axis is up, and who says so
    # Of the recorded figure in sizes of the skeleton as it was given, None if unknown
    size: float | None = None
    # How far markers have that of the figure, from −1 (a mirror image) to 1; None if it cannot be
    # seen, see `exactik.recordings.pipeline.measure_handedness`
    handedness: float | None = None
    # Share of the samples whose label is doubtful, if markers without names were labelled by shape;
    # None if they have names
    label_doubt: float | None = None
    # By which the file's lengths were multiplied because its unit cannot be right
    unit_factor: float = 1.0
    # Whether the skeleton was fitted to this or another recording of the subject
    is_fitted: bool = False
    # Of the bones, name → factor; empty if none were fitted
    scales: Mapping[str, float] = field(default_factory=dict)
    # Standard deviations of these, as shares
    scale_sds: Mapping[str, float] = field(default_factory=dict)
    settled: bool | None = None  # whether the calibration came to rest; None if there was none
    # Number of scales and marker coordinates that were fitted to this recording
    parameters: int = 0
    marker_set: str | None = None  # name of the marker set that was recognised, None if none was
    # Number of markers that such a set has on the parts of the body that are there
    set_size: int = 0
    set_missing: tuple[str, ...] = ()  # those of them that the recording lacks
