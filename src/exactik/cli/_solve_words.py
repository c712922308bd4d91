"""What `solve` says: what was read, what came of it, what deserves a look, what was written."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from exactik.cli._app import say
from exactik.io._oddities import listed

if TYPE_CHECKING:
    from exactik.mocap import Track

__all__ = ["WIDTH", "attention_lines", "entry", "left_open", "show_solved"]

WIDTH = 80  # columns
FEW = 6  # stretches that are listed
LOOK, OPEN = 20, 0.5  # frames to look at; standard deviation of what is not determined [rad or m]


def entry(head: str, text: str) -> str:
    """Return a paragraph with a word in front: "read     take.c3d: …"."""
    first, rest = head.ljust(9), " " * 9
    # A path is never broken, however long: it is there to be copied.
    return textwrap.fill(
        text,
        WIDTH,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )


def left_open(track: Track) -> list[str]:
    """Return a sentence if the markers leave joints open in most frames."""
    from exactik.mocap._error_bars import standard_deviations

    few = np.unique(np.linspace(0, len(track) - 1, LOOK).astype(np.int64))
    q, recording = np.array(track.motion.q)[few], track._recording.at(few)
    sd = np.median(standard_deviations(recording, q, track.sigma or 1e-3, 1), axis=0)
    loose = (sd > OPEN) & ~track._recording.problem.locked
    if not loose.any():
        return []
    names = np.array(track.skeleton.dof_names)[loose]
    bones = list(dict.fromkeys(str(name).rpartition(".")[0] for name in names))
    count = f"{int(loose.sum())} of {len(loose)} dofs"
    return [f"The markers leave {count} open, of {listed(bones, 5)}: these stay near rest."]


def attention_lines(stretches: Sequence[dict[str, Any]], everything: bool) -> list[str]:
    """Return stretches of frames with their reason, the worst first, a line or two each."""
    if len(stretches) == 0:
        return []
    shown = stretches if everything else stretches[:FEW]
    frames = [_span(s["first"], s["last"], "d") for s in shown]
    times = [_span(s["start_s"], s["end_s"], ".2f") for s in shown]
    wide = max(map(len, frames)), max(map(len, times))
    lines = ["Frames that need attention, the worst first (counted from 0):"]
    for frame, moment, stretch in zip(frames, times, shown, strict=True):
        head = f"  {frame.rjust(wide[0])}  {moment.rjust(wide[1])} s  "
        lines += textwrap.wrap(
            stretch["text"], WIDTH, initial_indent=head, subsequent_indent=" " * len(head)
        )
    if len(shown) < len(stretches):
        lines.append(f"  and {len(stretches) - len(shown)} more; --all lists them")
    return lines


def _span(first: float, last: float, form: str) -> str:
    return f"{first:{form}}" if first == last else f"{first:{form}}–{last:{form}}"


def show_solved(
    summary: dict[str, Any], headline: str, written: Sequence[tuple[Path, str]], everything: bool
) -> None:
    """Print what came of a recording."""
    say()
    say(textwrap.fill(headline, WIDTH))
    lines = attention_lines(summary["attention"], everything)
    if len(lines) > 0:
        say()
        say("\n".join(lines))
    if len(written) > 0:
        say()
    for path, words in written:
        say(entry("written", f"{path}: {words}"))
