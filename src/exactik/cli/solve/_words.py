"""What `solve` says: what was read, what came of it, what deserves a look, what was written."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exactik.cli._app import say

if TYPE_CHECKING:
    pass

__all__ = ["LINE_WIDTH", "format_attention", "format_entry", "print_solved"]

LINE_WIDTH = 80  # columns
MAX_LISTED_SEGMENTS = 6  # stretches that are listed


def format_entry(head: str, text: str) -> str:
    """Return a paragraph with a word in front: "read     take.c3d: …"."""
    first, rest = head.ljust(9), " " * 9
    # A path is never broken, however long: it is there to be copied.
    return textwrap.fill(
        text,
        LINE_WIDTH,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )


def format_attention(stretches: Sequence[dict[str, Any]], everything: bool) -> list[str]:
    """Return stretches of frames with their reason, the worst first, a line or two each."""
    if len(stretches) == 0:
        return []
    shown = stretches if everything else stretches[:MAX_LISTED_SEGMENTS]
    frames = [_format_range(s["first"], s["last"], "d") for s in shown]
    times = [_format_range(s["start_s"], s["end_s"], ".2f") for s in shown]
    wide = max(map(len, frames)), max(map(len, times))
    lines = ["Frames that need attention, the worst first (counted from 0):"]
    for frame, moment, stretch in zip(frames, times, shown, strict=True):
        head = f"  {frame.rjust(wide[0])}  {moment.rjust(wide[1])} s  "
        lines += textwrap.wrap(
            stretch["text"], LINE_WIDTH, initial_indent=head, subsequent_indent=" " * len(head)
        )
    if len(shown) < len(stretches):
        lines.append(f"  and {len(stretches) - len(shown)} more; --all lists them")
    return lines


def _format_range(first: float, last: float, form: str) -> str:
    return f"{first:{form}}" if first == last else f"{first:{form}}–{last:{form}}"


def print_solved(
    summary: dict[str, Any], headline: str, written: Sequence[tuple[Path, str]], everything: bool
) -> None:
    """Print what came of a recording."""
    say()
    say(textwrap.fill(headline, LINE_WIDTH))
    lines = format_attention(summary["attention"], everything)
    if len(lines) > 0:
        say()
        say("\n".join(lines))
    if len(written) > 0:
        say()
    for path, words in written:
        say(format_entry("written", f"{path}: {words}"))
