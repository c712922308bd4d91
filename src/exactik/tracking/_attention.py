"""Which frames of a solved recording deserve a look, and why, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from exactik.motion import find_segments
from exactik.typing import Array

if TYPE_CHECKING:
    from exactik.tracking._tracked import Track

__all__ = ["DEARER", "Attention", "explain_frames", "find_attention"]

POOR = 3.0  # times the usual error of a frame
DEARER, MUCH = 0.01, 0.05  # share of its cost that a frame could save, and a stretch at its worst
IGNORED = 0.2  # weight of a robust loss below which a marker was as good as left out


class Attention(NamedTuple):
    """A stretch of frames and what is the matter with it.

    Attributes:
        first: frame, counted from 0.
        last: frame.
        kind: "no-markers", "not-converged", "bridged", "dearer", "gap", "poor-fit" or
            "ignored-marker".
        text: one sentence.
        severity: the larger, the earlier it should be looked at.
    """

    first: int
    last: int
    kind: str
    text: str
    severity: float


def find_attention(track: Track) -> list[Attention]:
    """See `Track.attention`."""
    found = [*_gaps(track), *_poor(track), *_dearer(track), *_ignored(track)]
    words = {
        "no-markers": ("fewer than three markers are seen; the pose is a guess", 4.0),
        "not-converged": ("the solve did not come to rest", 3.0),
        "bridged": ("two solutions fit; the motion passes from one to the other", 1.0),
    }
    for kind, (text, severity) in words.items():
        for first, last in find_segments(np.asarray(track.status == kind), join=2):
            found.append(Attention(first, last, kind, text, severity * (last - first + 1)))
    return sorted(found, key=lambda each: (-each.severity, each.first))


def _gaps(track: Track) -> list[Attention]:
    """One entry for each stretch of frames in which some joints went by their course."""
    names, found = np.array(track.skeleton.dof_names), []
    for first, last in find_segments(np.asarray(track.undetermined.any(axis=1)), join=2):
        loose = track.undetermined[first : last + 1].any(axis=0)
        bones = list(dict.fromkeys(name.rpartition(".")[0] for name in names[loose]))
        text = f"markers are missing that determine {_listed(bones)}; filled from before and after"
        found.append(Attention(first, last, "gap", text, 2.0 * (last - first + 1)))
    return found


def _poor(track: Track) -> list[Attention]:
    errors = track.marker_errors
    frame = np.sqrt(_mean(errors**2, axis=1))
    usual = float(np.median(frame[frame > 0.0])) if (frame > 0.0).any() else 0.0
    found = []
    for first, last in find_segments(frame > max(POOR * usual, 1e-4), join=4):
        mean = _mean(errors[first : last + 1], axis=0)
        worst = [track.names[m] for m in np.argsort(-mean)[:2]]
        most = 1e3 * float(np.nanmax(errors[first : last + 1]))
        text = f"markers fit badly, up to {most:.0f} mm ({_listed(worst)})"
        found.append(Attention(first, last, "poor-fit", text, 3.0 * (last - first + 1)))
    return found


def _dearer(track: Track) -> list[Attention]:
    """One entry for each stretch in which another solution was found to fit better."""
    found = []
    for first, last in find_segments(track.excess > DEARER, join=4):
        most = float(track.excess[first : last + 1].max())
        if most > MUCH:
            text = (
                f"costs up to {100 * most:.0f} % more than the best solution found there; a motion "
                "without jumps that passes to it and back would cost still more"
            )
            found.append(Attention(first, last, "dearer", text, 0.5 * (last - first + 1)))
    return found


def _mean(values: Array, axis: int) -> Array:
    """Return the mean of what is a number; 0 where nothing is."""
    count = np.isfinite(values).sum(axis=axis)
    return np.nansum(values, axis=axis) / np.maximum(count, 1)


def _ignored(track: Track) -> list[Attention]:
    if track.marker_weights is None:
        return []
    seen, found = np.isfinite(track.marker_errors), []
    for m, name in enumerate(track.names):
        out = seen[:, m] & (track.marker_weights[:, m] < IGNORED)
        for first, last in find_segments(out, join=4):
            off = 1e3 * float(np.nanmedian(track.marker_errors[first : last + 1, m]))
            text = f"marker {name} is {off:.0f} mm off and was left out"
            found.append(Attention(first, last, "ignored-marker", text, 0.5 * (last - first + 1)))
    return found


def explain_frames(track: Track) -> list[str]:
    """See `Track.why`."""
    limits, names = track.at_limits, np.array(track.skeleton.dof_names)
    sentences = {
        "converged": "Solved: no pose near this one fits the markers better.",
        "bridged": "Two solutions fit; this frame is on the way from one to the other.",
        "not-converged": "The solve did not come to rest.",
        "no-markers": "Fewer than three markers are seen; the pose is a guess.",
    }
    out = []
    for t, word in enumerate(track.status):
        if word == "at-limits":
            out.append(f"Solved; held at a limit: {_listed(list(names[limits[t]]))}.")
        elif word == "gap":
            loose = list(names[track.undetermined[t]])
            out.append(f"Not determined by the markers seen: {_listed(loose)}.")
        else:
            out.append(sentences[str(word)])
        if track.excess[t] > DEARER and word in ("converged", "at-limits", "bridged"):
            less = 100 * float(1.0 - 1.0 / (1.0 + track.excess[t]))
            out[-1] += f" Another costs {less:.0f} % less, but the motion would jump."
    return out


def _listed(names: list[str], most: int = 4) -> str:
    shown = ", ".join(names[:most])
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")
