"""Parts of a long take: what is solved of each, what it leaves, and how they become one again.

A part is solved with a second more at both ends, so that smoothing knows what comes next and the
solutions of neighbours overlap. Its motion is kept with these margins, under `parts/`, until all
parts are there; then each gives the frames that are its own. Coordinates go on from part to part
without whole turns. How far the two solutions lie apart where one takes over is a fact of the take.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactik.errors import FileError
from exactik.io import save_motion
from exactik.io.tables import ColumnQuality
from exactik.model.motion import Markers, Motion
from exactik.recordings.pipeline import rate_columns
from exactik.recordings.tracking import Quality, Track, unwrap_motion
from exactik.typing import Array

MARGIN_SECONDS = 1.0
"""[s] solved beyond both ends of a part and not written: the smoother's memory is 0.2 s at 5 Hz."""
# Suffixes of what a part leaves.
MOTION, ERRORS, QUALITY = ".motion.npz", ".errors.npy", ".quality.npz"
LEFT_OUT = (Quality.OPEN,)  # of the values, by tables


class JoinedMotion(NamedTuple):
    """The motion of a take that was solved in parts."""

    motion: Motion  # of all frames
    # Largest distance [m] of a marker's place on the figure between the two solutions of a frame
    # where one part takes over from the other; of a joint, if the figure has no marker
    seam: float


def count_margin(rate: float) -> int:
    """Return how many frames are solved beyond the ends of a part."""
    return round(MARGIN_SECONDS * rate)


def count_before(part: tuple[int, int], rate: float) -> int:
    """Return how many frames are solved before the first of a part."""
    return min(part[0], count_margin(rate))


def find_window(markers: Markers, part: tuple[int, int] | None) -> tuple[float, float] | None:
    """Return from when to when [s] a part is solved, with its margins; None for a whole take."""
    if part is None:
        return None
    first = part[0] - count_before(part, markers.rate)
    last = min(part[1] + count_margin(markers.rate), len(markers)) - 1
    return first / markers.rate, last / markers.rate


def trim_errors(track: Track, part: tuple[int, int] | None) -> Array:
    """Return the errors of the markers [m] in the frames of a part, (T, M)."""
    return track.marker_errors if part is None else _trim(track.marker_errors, track, part)


def _trim(values: NDArray[Any], track: Track, part: tuple[int, int]) -> NDArray[Any]:
    """Return what frames have, (T, …), of those of a part."""
    skip = count_before(part, track.markers.rate)
    return values[skip : skip + part[1] - part[0]]


def write_part(track: Track, stem: Path, part: tuple[int, int]) -> list[Path]:
    """Write what a part leaves for the whole: its motion with margins, the rest without."""
    motion, errors, quality = (
        stem.with_name(f"{stem.name}{suffix}") for suffix in (MOTION, ERRORS, QUALITY)
    )
    save_motion(track.motion, motion)
    np.save(errors, trim_errors(track, part))
    codes = rate_columns(track, LEFT_OUT).codes
    names, table = list(codes), np.array([_trim(code, track, part) for code in codes.values()])
    np.savez(quality, names=np.array(names), codes=table.reshape(len(names), -1))
    return [motion, errors, quality]


def join_quality(parts: Sequence[tuple[Array, Array]]) -> ColumnQuality:
    """Return what the values of a take are worth, of names and codes of its parts."""
    names, codes = parts[0][0].tolist(), np.concatenate([codes for _, codes in parts], axis=1)
    words = tuple(quality.name.lower() for quality in Quality)
    return ColumnQuality(dict(zip(names, codes, strict=True)), words, tuple(map(int, LEFT_OUT)))


def join_motions(
    motions: Sequence[Motion], parts: Sequence[tuple[int, int]], *, hard_limits: bool
) -> JoinedMotion:
    """Return the motion of a take from those of its parts, which overlap.

    Args:
        motions: with margins, see `write_part`.
        parts: first frame of each and the one after its last.
        hard_limits: whether coordinates are to stay within limits when whole turns are removed.
    """
    first = motions[0]
    pieces: list[Array] = []
    seam = 0.0
    for k, (motion, part) in enumerate(zip(motions, parts, strict=True)):
        if motion.skeleton.dof_names != first.skeleton.dof_names or motion.rate != first.rate:
            raise FileError(first.source, "its parts have different figures", code="parts")
        skip = count_before(part, motion.rate)
        pieces.append(motion.q[skip : skip + part[1] - part[0]])
        if k > 0:
            before, start = motions[k - 1], parts[k - 1]
            there = part[0] - start[0] + count_before(start, motion.rate)
            seam = max(seam, _compare_poses(before, there, motion, skip))
    q = np.concatenate(pieces)
    unwrap_motion(first.skeleton, q, hard_limits)
    return JoinedMotion(motion=replace(first, q=q), seam=seam)


def _compare_poses(before: Motion, i: int, after: Motion, j: int) -> float:
    """Return how far apart two poses are [m]: the largest distance of a marker, or of a joint."""
    poses = [m.skeleton.forward(m.q[k : k + 1]) for m, k in ((before, i), (after, j))]
    has_markers = len(before.skeleton.markers) > 0
    places = [pose.markers if has_markers else pose.positions for pose in poses]
    apart = np.linalg.norm(places[0] - places[1], axis=-1)
    return float(np.nanmax(apart)) if np.isfinite(apart).any() else 0.0
