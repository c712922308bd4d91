"""What is known of a recording beside its track: what became of each marker, axes, sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class MarkerUse:
    """What became of a recorded marker.

    Attributes:
        name: in the file.
        marker: the skeleton's name for it; None if it is not used.
        bone: that it is on; None if it is not used.
        code: why, for programs, see `Match.code`.
        confidence: of the match, from 0 to 1.
        seen_share: of the frames in which it is there.
        landmark: place on the body that its name means, see `Match.landmark`; "" if none.
    """

    name: str
    marker: str | None
    bone: str | None
    code: str
    confidence: float
    seen_share: float = 1.0
    landmark: str = ""


@dataclass(frozen=True, kw_only=True)
class UpAxis:
    """Which axis of the file is up.

    Attributes:
        axis: "x", "y" or "z"; None if nobody knows.
        origin: who says so: "user", "file", "figure" (along which it stands), "spread" (of the
            markers), "custom" (of the format), "axes" (turned by hand) or "unknown".
        custom: the axis that is up by the custom of the file's format, None without one.
        cosine: of the mean direction from feet to head with that axis; None if it cannot be seen.
    """

    axis: str | None
    origin: str
    custom: str | None
    cosine: float | None


@dataclass(frozen=True, kw_only=True)
class RecordingContext:
    """How a recording became a track; plain data.

    Attributes:
        uses: what became of each recorded marker, in the order of the file, computed points and
            rigid objects with it.
        subject: whose markers these are, "" if the file has one subject.
        subjects: all in the file.
        up: which axis is up, and who says so.
        size: of the recorded figure in sizes of the skeleton as it was given, None if unknown.
        handedness: how far markers have that of the figure, from −1 (a mirror image) to 1; None if
            it cannot be seen, see `exactik.recordings.pipeline.measure_handedness`.
        label_doubt: share of the samples whose label is doubtful, if markers without names were
            labelled by shape; None if they have names.
        unit_factor: by which the file's lengths were multiplied because its unit cannot be right.
        is_fitted: whether the skeleton was fitted to this or another recording of the subject.
        scales: of the bones, name → factor; empty if none were fitted.
        scale_sds: standard deviations of these, as shares.
        settled: whether the calibration came to rest; None if there was none.
        parameters: number of scales and marker coordinates that were fitted to this recording.
        marker_set: name of the marker set that was recognised, None if none was.
        set_size: number of markers that such a set has on the parts of the body that are there.
        set_missing: those of them that the recording lacks.
    """

    uses: tuple[MarkerUse, ...]
    subject: str = ""
    subjects: tuple[str, ...] = ("",)
    up: UpAxis
    size: float | None = None
    handedness: float | None = None
    label_doubt: float | None = None
    unit_factor: float = 1.0
    is_fitted: bool = False
    scales: Mapping[str, float] = field(default_factory=dict)
    scale_sds: Mapping[str, float] = field(default_factory=dict)
    settled: bool | None = None
    parameters: int = 0
    marker_set: str | None = None
    set_size: int = 0
    set_missing: tuple[str, ...] = ()
