"""How takes are solved and written, what comes out: files in all formats, facts of the index."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, Self, cast

import numpy as np

from exactik._options import option
from exactik._text import join_names
from exactik.archive.tasks._storage import make_name
from exactik.errors import UsageError
from exactik.io import writable_suffixes
from exactik.io.formats import BVH
from exactik.io.tables import ColumnQuality
from exactik.model.motion import Motion
from exactik.recordings.pipeline import RecordingOptions, write_motion
from exactik.recordings.tracking import PlainTrackOptions
from exactik.typing import Array

SEGMENT_FRAMES = 36_000
"""Frames from which on a take is cut: five minutes at 120 Hz, which a worker tracks in 2 GB."""
READING = ("up", "axes", "length_unit", "start", "end")  # options that say how files are read
CURVE_BINS = 60  # points of the thumbnail of a take's errors, one for two pixels of it
GRAVITY = ("good", "care", "reject")


class ManifestOptions:
    """Options of which the row of a manifest may change some."""

    def changed(self, changes: Mapping[str, Any]) -> Self:
        """Return the options with some values replaced, by their names."""
        known = [f.name for f in fields(cast(Any, self))]
        for name in changes:
            if name not in known:
                raise UsageError(f"no option {name!r}; expected {join_names(sorted(known))}")
        # A table has lists where a record has tuples.
        lists = {name: tuple(value) for name, value in changes.items() if isinstance(value, list)}
        return replace(cast(Any, self), **(dict(changes) | lists))


@dataclass(frozen=True, kw_only=True)
class TakeOptions(RecordingOptions, ManifestOptions):
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


def check_formats(names: Sequence[str]) -> tuple[str, ...]:
    """Return the suffixes of formats of motions; raise `UsageError` for what is none."""
    return tuple(map(_check_format, names))


def _check_format(name: str) -> str:
    suffix = f".{name.strip().lstrip('.').lower()}"
    if suffix not in writable_suffixes("motion"):
        known = join_names([s.removeprefix(".") for s in writable_suffixes("motion")])
        raise UsageError(f"no motion can be written as {name!r}; expected some of {known}")
    return suffix


def name_outputs(stem: str, subjects: Sequence[str]) -> list[str]:
    """Return the names of the outputs of each subject of a take, without suffix."""
    if len(subjects) == 1:
        return [stem]
    return [f"{stem}-{make_name(subject)}" for subject in subjects]


def find_gravest(grades: Iterable[str]) -> str:
    """Return the gravest of some verdicts."""
    return max(grades, key=GRAVITY.index)


def write_formats(
    motion: Motion,
    stem: Path,
    formats: Sequence[str],
    angles: str | None = None,
    rotations: str | None = None,
    quality: ColumnQuality | None = None,
) -> list[Path]:
    """Write a motion in all formats that were asked for; return the files.

    Args:
        motion: what to write.
        stem: of the files.
        formats: suffixes.
        angles: columns of tables, see `write_motion`.
        rotations: likewise.
        quality: what values are worth, likewise.
    """
    staged: list[Path] = []
    for suffix in formats:
        path = stem.with_name(f"{stem.name}{suffix}")
        written = write_motion(motion, path, angles, rotations, quality)
        staged += [file for file, _ in written if file not in staged]
    return staged


def describe_solution(
    errors: Sequence[Array],
    *,
    rate: float,
    subjects: Sequence[str],
    markers: int,
    reasons: Sequence[str],
    files: Sequence[Path],
) -> dict[str, Any]:
    """Return what index and summary tell of a take, its errors in mm over all of its subjects.

    Args:
        errors: of the markers of each subject [m], (T, M).
        rate: of the recording [Hz].
        subjects: their names.
        markers: how many were used of the first.
        reasons: of the verdicts, their codes.
        files: that were written.
    """
    flat = np.concatenate([one.ravel() for one in errors])
    flat = 1e3 * flat[np.isfinite(flat)]
    mean, p95, most = None, None, None
    if len(flat) > 0:
        mean, p95, most = (
            round(float(v), 4) for v in (flat.mean(), np.percentile(flat, 95.0), flat.max())
        )
    return {
        "rate_hz": float(rate),
        "subjects": list(subjects),
        "markers": markers,
        "mean_mm": mean,
        "p95_mm": p95,
        "max_mm": most,
        "reasons": list(reasons),
        "files": [path.name for path in files],
        "curve": draw_curve(errors[0]),
    }


def draw_curve(errors: Array) -> list[float | None]:
    """Return the mean error of the frames [mm], in at most `CURVE_BINS` equal parts.

    Args:
        errors: of the markers [m], (T, M).
    """
    seen = np.isfinite(errors)
    bins = np.array_split(np.arange(len(errors)), min(CURVE_BINS, max(len(errors), 1)))
    sums = np.where(seen, errors, 0.0).sum(axis=1)
    counts = seen.sum(axis=1)
    return [
        round(1e3 * float(sums[b].sum() / counts[b].sum()), 2) if counts[b].sum() > 0 else None
        for b in bins
    ]
