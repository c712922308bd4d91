"""What comes out of a take: the names of its files, motions in all formats, facts for the index."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from exactik.archive.tasks._storage import make_name
from exactik.model.motion import Motion
from exactik.recordings.pipeline import write_motion
from exactik.typing import Array

CURVE_BINS = 60  # points of the thumbnail of a take's errors, one for two pixels of it
GRAVITY = ("good", "care", "reject")


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
) -> list[Path]:
    """Write a motion in all formats that were asked for; return the files.

    Args:
        motion: what to write.
        stem: of the files.
        formats: suffixes.
        angles: columns of tables, see `write_motion`.
        rotations: likewise.
    """
    staged: list[Path] = []
    for suffix in formats:
        path = stem.with_name(f"{stem.name}{suffix}")
        written = write_motion(motion, path, angles, rotations)
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
