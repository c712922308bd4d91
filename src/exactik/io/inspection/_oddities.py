"""What is odd about a recording, in sentences: what the reader noted and what the data shows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import numpy as np

from exactik.motion import FrozenMarker, Markers, Motion, Swap

__all__ = [
    "axis_sentences",
    "frozen_sentences",
    "limit_sentences",
    "listed",
    "marker_sentences",
    "parted",
    "sentence",
    "start_sentences",
    "swap_sentences",
]

# A reader's note may begin with a place in the file; in a sentence it comes last.
_PLACE = re.compile(r"((?:byte|line) \d+[^:]*|\w+\[\d+\][\w.\[\]]*): (.*)", re.S)
# What files of a format never say, or what was left out by choice, is no oddity of one file.
_USUAL = re.compile(r"length unit .* assumed|AMC states no rate|.*other animations are not read")
_MANY = 5  # of the same kind are told in one sentence


def sentence(text: str) -> str:
    """Return a note as a sentence: capital letter, full stop, place at the end."""
    match = _PLACE.fullmatch(text)
    if match is not None:
        text = f"{match[2]} ({match[1]})"
    first = text.split(" ", 1)[0]
    if first.isalpha() and first.islower():  # a keyword or a name stays as it is
        text = text[0].upper() + text[1:]
    return text if text.endswith((".", "?", "…")) else f"{text}."


def parted(notes: Iterable[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return what is assumed as for every such file, and what is odd; each once, as sentences."""
    once = dict.fromkeys(notes)
    usual = [text for text in once if _USUAL.match(text) is not None]
    return tuple(map(sentence, usual)), tuple(sentence(t) for t in once if t not in usual)


def listed(names: Sequence[str], most: int = 4) -> str:
    """Return "a, b and c", or the first few "and 3 more"."""
    if len(names) > most + 1:
        return f"{', '.join(names[:most])} and {len(names) - most} more"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def swap_sentences(swaps: Sequence[Swap], last: int) -> list[str]:
    """Return suspected swaps as sentences; frames are numbered as in the file, `last` the last."""
    if len(swaps) > _MANY:
        (a, b), frame = swaps[0].names, swaps[0].first
        names = {name for swap in swaps for name in swap.names}
        return [
            f"{len(swaps)} times two of {len(names)} markers seem to exchange places, first {a} "
            f"and {b} at frame {frame}."
        ]
    found = []
    for (a, b), first, end, apart in swaps:
        when = f"from frame {first} on" if end >= last else f"in frames {first} to {end}"
        when = f"in frame {first} alone" if first == end < last else when
        found.append(f"{a} and {b}, {_length(apart)} apart, seem to be swapped {when}.")
    return found


def frozen_sentences(frozen: Sequence[FrozenMarker], frames: int) -> list[str]:
    """Return frozen markers as sentences; frames are numbered as in the file."""
    if len(frozen) > _MANY:
        names = list(dict.fromkeys(marker.name for marker in frozen))
        return [
            f"{len(frozen)} times a marker stands still to the last digit while others move: "
            f"{listed(names)}."
        ]
    found = []
    for name, first, last in frozen:
        when = f"in frames {first} to {last}" if last - first + 1 < frames else "all the time"
        found.append(f"{name} is frozen {when}: the same to the last digit while others move.")
    return found


def marker_sentences(markers: Markers) -> list[str]:
    """Return what is odd about markers that are never seen or have no name."""
    found = []
    never = [
        name for name, gone in zip(markers.names, markers.missing.T, strict=True) if gone.all()
    ]
    if len(markers) > 0 and len(never) == len(markers.names) > 0:
        found.append("No marker is ever seen.")
    elif len(markers) > 0 and len(never) > 0:
        found.append(
            f"{_count(len(never), 'marker is', 'markers are')} never seen: {listed(never)}."
        )
    if len(markers.names) == 0:
        found.append("It holds no markers.")
    if len(markers) == 0:
        found.append("It holds no frames.")
    unnamed = [name for name in markers.names if re.fullmatch(r"\*\d+", name) is not None]
    if 0 < len(unnamed) < len(markers.names):
        found.append(
            f"{_count(len(unnamed), 'point has', 'points have')} no name: {listed(unnamed)}."
        )
    return found


def axis_sentences(stated: str | None, tallest: str | None) -> list[str]:
    """Return a sentence where markers spread most along another axis than the one said to be up."""
    if stated is None or tallest is None or stated == tallest:
        return []
    return [
        f"The header has {stated} up, but the markers spread most along {tallest}: somebody lies "
        f"down, or {tallest} is up."
    ]


def limit_sentences(motion: Motion) -> list[str]:
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
    found = []
    outside = over > np.where(turns, np.radians(0.5), 5e-4)  # less is rounding of the limits
    if outside.any():
        worst = int(np.argmax(np.where(outside, over / np.where(turns, 1.0, 0.2), 0.0)))
        by = f"{np.degrees(over[worst]):.0f}°" if turns[worst] else _length(float(over[worst]))
        count = _count(int(outside.sum()), "dof leaves its", "dofs leave their")
        found.append(f"{count} limits at times, most of all {names[worst]} by {by}.")
    round_and_round = np.abs(whole).max(axis=0) > 0
    if round_and_round.any():
        far = int(np.argmax(np.abs(whole).max(axis=0)))
        angle = np.degrees(np.abs(q[:, far]).max())
        count = _count(int(round_and_round.sum()), "dof counts", "dofs count")
        found.append(f"{count} whole turns: {names[far]} gets to {angle:.0f}°.")
    return found


def start_sentences(motion: Motion) -> list[str]:
    """Return a sentence where the first frame is a pose of its own, such as a T-pose in front."""
    turns = motion.skeleton.turns
    if len(motion) < 12 or np.isnan(motion.q[:60]).any() or not turns.any():
        return []
    q = motion.q[:60]
    steps = np.abs(motion.skeleton.difference(q[1:], q[:-1])[:, turns])
    steps = np.minimum(steps % (2.0 * np.pi), -steps % (2.0 * np.pi)).max(axis=1)
    if steps[0] > np.radians(20.0) and steps[0] > 5.0 * steps[1:].max():
        return [
            f"The first frame is a pose of its own, {np.degrees(steps[0]):.0f}° from the second: "
            "perhaps a rest pose put in front."
        ]
    return []


def _length(metres: float) -> str:
    return f"{1e3 * metres:.0f} mm" if metres < 0.995 else f"{metres:.1f} m"


def _count(number: int, one: str, several: str) -> str:
    return f"{number} {one if number == 1 else several}"
