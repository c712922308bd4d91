"""Frames of a recording to look at, the worst first, each with its reason in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from exactik.motion import find_segments
from exactik.typing import Array, BoolArray

if TYPE_CHECKING:
    from exactik.tracking import Track

__all__ = ["Bookmark", "find_attention_bookmarks", "find_missing_poses", "find_error_peaks"]


APART = 0.25  # [s] between two peaks
TITLES = {
    "no-markers": "hardly any markers",
    "not-converged": "not at rest",
    "poor-fit": "poor fit",
    "gap": "filled gap",
    "ignored-marker": "marker left out",
    "bridged": "two solutions",
}


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


def find_attention_bookmarks(track: Track, most: Array) -> list[Bookmark]:
    """Return one stop for each stretch of `Track.attention`: where it is worst.

    Args:
        track: the solved recording.
        most: largest marker error of each frame [m], (T,).
    """
    found = []
    for each in track.attention:
        own = most[each.first : each.last + 1]
        worst = int(np.nanargmax(own)) if np.isfinite(own).any() else 0
        text = f"Frames {each.first} to {each.last}: {each.text}."
        found.append(Bookmark(each.first + worst, TITLES.get(each.kind, each.kind), text))
    return found


def find_error_peaks(errors: Array, names: Sequence[str], rate: float, count: int = 12) -> list[Bookmark]:
    """Return the frames with the largest marker errors, a quarter of a second apart.

    Args:
        errors: of each marker [m], (T, M), not a number where missing.
        names: of the markers, (M,).
        rate: frames a second [Hz].
        count: of stops, at most.
    """
    if errors.shape[1] == 0:
        return []
    left = np.nan_to_num(errors, nan=-1.0).max(axis=1)
    apart, found = max(int(APART * rate), 1), []
    while len(found) < count and left.max(initial=-1.0) > 0.0:
        t = int(np.argmax(left))
        name, off = names[int(np.nanargmax(errors[t]))], 1e3 * float(left[t])
        text = f"Frame {t}: marker {name} is {off:.1f} mm from its place on the figure."
        found.append(Bookmark(t, f"{name} {off:.0f} mm off", text))
        left[max(t - apart, 0) : t + apart + 1] = -1.0
    return found


def find_missing_poses(present: BoolArray) -> list[Bookmark]:
    """Return the begin of every stretch without a pose, the longest first."""
    runs = sorted(find_segments(~present), key=lambda run: run[0] - run[1])
    texts = [f"Frames {first} to {last} have no pose." for first, last in runs]
    return [Bookmark(run[0], "no pose", text) for run, text in zip(runs, texts, strict=True)]
