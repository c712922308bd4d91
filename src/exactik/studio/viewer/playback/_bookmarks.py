"""Bookmarks: frames of a recording to look at, the worst first, each with its reason in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from exactik.model.motion import find_segments
from exactik.recordings.diagnosis import STRETCHES
from exactik.studio.viewer.recording import RecordingOverview
from exactik.typing import Array, BoolArray

if TYPE_CHECKING:
    from exactik.recordings.tracking import Track


PEAK_DISTANCE_S = 0.25  # between two peaks
SUSPICION_TITLES = {"swap": "swapped?", "frozen": "frozen?", "spike": "spike?"}


class Bookmark(NamedTuple):
    """A frame to look at.

    Attributes:
        frame: its index, from 0.
        title: why, in two or three words.
        text: why, in a sentence.
    """

    frame: int
    title: str
    text: str


def find_attention_bookmarks(track: Track, largest: Array) -> list[Bookmark]:
    """Return one bookmark for each segment of `Track.attention`: where it is worst.

    Args:
        largest: largest marker error of each frame [m], (T,).
    """
    bookmarks = []
    for found in track.attention:
        errors = largest[found.first : found.last + 1]
        worst = int(np.nanargmax(errors)) if np.isfinite(errors).any() else 0
        text = f"Frames {found.first} to {found.last}: {found.text}."
        bookmarks.append(Bookmark(found.first + worst, STRETCHES[found.kind].title, text))
    return bookmarks


def find_error_peaks(
    errors: Array, names: Sequence[str], rate: float, count: int = 12
) -> list[Bookmark]:
    """Return the frames with the largest marker errors, a quarter of a second apart.

    Args:
        errors: of each marker [m], (T, M), NaN where missing.
        rate: frames a second [Hz].
    """
    if errors.shape[1] == 0:
        return []
    remaining = np.nan_to_num(errors, nan=-1.0).max(axis=1)
    distance, bookmarks = max(int(PEAK_DISTANCE_S * rate), 1), []
    while len(bookmarks) < count and remaining.max(initial=-1.0) > 0.0:
        t = int(np.argmax(remaining))
        name = names[int(np.nanargmax(errors[t]))]
        error_mm = 1e3 * float(remaining[t])
        text = f"Frame {t}: marker {name} is {error_mm:.1f} mm from its place on the figure."
        bookmarks.append(Bookmark(t, f"{name} {error_mm:.0f} mm off", text))
        remaining[max(t - distance, 0) : t + distance + 1] = -1.0
    return bookmarks


def find_suspicion_bookmarks(overview: RecordingOverview) -> list[Bookmark]:
    """Return one bookmark for each suspicion about recorded markers: where it begins."""
    bookmarks = []
    for one in overview.suspicions:
        names = " and ".join(overview.labels[k] for k in one.markers)
        title = f"{names} {SUSPICION_TITLES[one.kind]}"
        bookmarks.append(Bookmark(one.segment.first, title, f"{one.text}."))
    return bookmarks


def merge_bookmarks(bookmarks: Sequence[Bookmark]) -> list[Bookmark]:
    """Return one bookmark a frame, with all reasons, where the first of the frame was."""
    at: dict[int, list[Bookmark]] = {}
    for bookmark in bookmarks:
        at.setdefault(bookmark.frame, []).append(bookmark)
    return [
        Bookmark(frame, ", ".join(b.title for b in own), " ".join(b.text for b in own))
        for frame, own in at.items()
    ]


def find_missing_poses(present: BoolArray) -> list[Bookmark]:
    """Return the first frame of every segment without a pose, the longest first."""
    segments = sorted(find_segments(~present), key=lambda segment: segment[0] - segment[1])
    return [
        Bookmark(first, "no pose", f"Frames {first} to {last} have no pose.")
        for first, last in segments
    ]
