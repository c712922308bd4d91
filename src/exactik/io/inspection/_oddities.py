"""What is odd about a recording, in sentences: what the reader noted and what the data shows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from exactik._text import count_noun, join_names
from exactik.errors import Note
from exactik.motion import FrozenMarker, Markers, Motion, Swap

__all__ = [
    "describe_axis_conflict",
    "describe_first_frame",
    "describe_frozen_markers",
    "describe_limits",
    "describe_names",
    "describe_swaps",
    "is_unnamed",
    "split_notes",
]

# What files of a format never say, or what was left out by choice, is no oddity of one file.
USUAL_CODES = {"unit-guessed", "rate-not-stated", "animations-not-read"}

MAX_SENTENCES = 5  # of the same kind; more are told in one
MAX_NAMES = 4  # in a sentence; a fifth is shown rather than counted
LIMIT_ROUNDING_RAD, LIMIT_ROUNDING_M = np.radians(0.5), 5e-4  # files round limits by so much
REST_POSE_STEP_RAD = np.radians(20.0)  # first step, if also five times as large as any other
REST_POSE_FRAMES = 60  # that are compared with the first step


def split_notes(notes: Iterable[str]) -> tuple[tuple[Note, ...], tuple[Note, ...]]:
    """Return what is assumed as for every such file, and what is odd; each once, as sentences."""
    sentences = [Note.of(note).as_sentence() for note in dict.fromkeys(notes)]
    return (
        tuple(note for note in sentences if note.code in USUAL_CODES),
        tuple(note for note in sentences if note.code not in USUAL_CODES),
    )


def is_unnamed(marker: str) -> bool:
    """Whether a marker has but the number that programs give to points without a name: "*12"."""
    return marker[:1] == "*" and marker[1:].isdecimal()


def describe_swaps(swaps: Sequence[Swap], last: int) -> list[Note]:
    """Return suspected swaps as sentences; frames are numbered as in the file, `last` the last."""
    if len(swaps) > MAX_SENTENCES:
        (a, b), frame = swaps[0].names, swaps[0].first
        names = {name for swap in swaps for name in swap.names}
        return [
            _remark(
                "swapped-markers",
                f"{len(swaps)} times two of {len(names)} markers seem to exchange places, first "
                f"{a} and {b} at frame {frame}.",
            )
        ]
    notes = []
    for (a, b), first, end, apart in swaps:
        when = f"from frame {first} on" if end >= last else f"in frames {first} to {end}"
        when = f"in frame {first} alone" if first == end < last else when
        text = f"{a} and {b}, {_length(apart)} apart, seem to be swapped {when}."
        notes.append(_remark("swapped-markers", text))
    return notes


def describe_frozen_markers(frozen: Sequence[FrozenMarker], frames: int) -> list[Note]:
    """Return frozen markers as sentences; frames are numbered as in the file."""
    if len(frozen) > MAX_SENTENCES:
        names = list(dict.fromkeys(marker.name for marker in frozen))
        return [
            _remark(
                "frozen-marker",
                f"{len(frozen)} times a marker stands still to the last digit while others move: "
                f"{_join(names)}.",
            )
        ]
    notes = []
    for name, first, last in frozen:
        when = f"in frames {first} to {last}" if last - first + 1 < frames else "all the time"
        text = f"{name} is frozen {when}: the same to the last digit while others move."
        notes.append(_remark("frozen-marker", text))
    return notes


def describe_names(markers: Markers) -> list[Note]:
    """Return what is odd about markers that are never seen or have no name."""
    notes = []
    never = [
        name for name, gone in zip(markers.names, markers.missing.T, strict=True) if gone.all()
    ]
    if len(markers) > 0 and len(never) == len(markers.names) > 0:
        notes.append(_remark("never-seen", "No marker is ever seen."))
    elif len(markers) > 0 and len(never) > 0:
        count = count_noun(len(never), "marker is", "markers are")
        notes.append(_remark("never-seen", f"{count} never seen: {_join(never)}."))
    if len(markers.names) == 0:
        notes.append(_remark("no-markers", "It holds no markers."))
    if len(markers) == 0:
        notes.append(_remark("no-frames", "It holds no frames."))
    unnamed = [name for name in markers.names if is_unnamed(name)]
    if 0 < len(unnamed) < len(markers.names):
        count = count_noun(len(unnamed), "point has", "points have")
        notes.append(_remark("unnamed-points", f"{count} no name: {_join(unnamed)}."))
    return notes


def describe_axis_conflict(stated: str | None, tallest: str | None) -> list[Note]:
    """Return a sentence where markers spread most along another axis than the one said to be up."""
    if stated is None or tallest is None or stated == tallest:
        return []
    text = (
        f"The header has {stated} up, but the markers spread most along {tallest}: somebody lies "
        f"down, or {tallest} is up."
    )
    return [_remark("up-axis-doubtful", text)]


def describe_limits(motion: Motion) -> list[Note]:
    """Return sentences where a motion leaves the limits of its skeleton, or turns round and round.

    Some trackers count whole turns; these are taken off before limits are looked at.
    """
    skeleton, index = motion.skeleton, motion.skeleton.plain_q
    plain = np.flatnonzero((index >= 0) & np.isfinite(skeleton.lower) & np.isfinite(skeleton.upper))
    q = motion.q[~np.isnan(motion.q).any(axis=1)][:, index[plain]]
    if q.size == 0:
        return []
    names = [skeleton.dof_names[k] for k in plain]
    lower, upper, turns = skeleton.lower[plain], skeleton.upper[plain], skeleton.turns[plain]
    whole = np.where(turns, np.round((q - 0.5 * (lower + upper)) / (2.0 * np.pi)), 0.0)
    bare = q - 2.0 * np.pi * whole
    over = np.maximum(bare - upper, lower - bare).max(axis=0)
    notes = []
    outside = over > np.where(turns, LIMIT_ROUNDING_RAD, LIMIT_ROUNDING_M)
    if outside.any():
        worst = int(np.argmax(np.where(outside, over / np.where(turns, 1.0, 0.2), 0.0)))
        by = f"{np.degrees(over[worst]):.0f}°" if turns[worst] else _length(float(over[worst]))
        count = count_noun(int(outside.sum()), "dof leaves its", "dofs leave their")
        text = f"{count} limits at times, most of all {names[worst]} by {by}."
        notes.append(_remark("limits-left", text))
    round_and_round = np.abs(whole).max(axis=0) > 0
    if round_and_round.any():
        far = int(np.argmax(np.abs(whole).max(axis=0)))
        angle = np.degrees(np.abs(q[:, far]).max())
        count = count_noun(int(round_and_round.sum()), "dof counts", "dofs count")
        text = f"{count} whole turns: {names[far]} gets to {angle:.0f}°."
        notes.append(_remark("whole-turns", text))
    return notes


def describe_first_frame(motion: Motion) -> list[Note]:
    """Return a sentence where the first frame is a pose of its own, such as a T-pose in front."""
    turns = motion.skeleton.turns
    q = motion.q[:REST_POSE_FRAMES]
    if len(motion) < 12 or np.isnan(q).any() or not turns.any():
        return []
    steps = np.abs(motion.skeleton.difference(q[1:], q[:-1])[:, turns])
    steps = np.minimum(steps % (2.0 * np.pi), -steps % (2.0 * np.pi)).max(axis=1)
    if steps[0] <= REST_POSE_STEP_RAD or steps[0] <= 5.0 * steps[1:].max():
        return []
    text = (
        f"The first frame is a pose of its own, {np.degrees(steps[0]):.0f}° from the second: "
        "perhaps a rest pose put in front."
    )
    return [_remark("rest-pose-in-front", text)]


def _length(metres: float) -> str:
    return f"{1e3 * metres:.0f} mm" if metres < 0.995 else f"{metres:.1f} m"


def _join(names: Sequence[str]) -> str:
    return join_names(names, MAX_NAMES, spare=1)


def _remark(code: str, text: str) -> Note:
    return Note(code, "remark", "", text)
