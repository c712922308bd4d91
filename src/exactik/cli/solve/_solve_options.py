"""What the user asked of `exactik solve`: records of the options, and how their words are read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from exactik._text import join_names
from exactik.errors import UsageError

if TYPE_CHECKING:
    from exactik.pipeline import RecordingOptions, TrackOptions

__all__ = ["SolveOptions", "check_word", "parse_loss", "parse_smooth"]


@dataclass(frozen=True)
class SolveOptions:
    """What the user asked for, the same for all recordings.

    Attributes:
        recording: how to read each of them.
        tracking: how to solve each of them.
        weights: of markers, as given.
        mapping: what recorded markers are, as given.
        take: file of a motion of the first recording, to put markers on the skeleton.
        computed: whether to use computed points, such as joint centres.
        fit: whether to fit the size of the skeleton.
        subject: of recordings of several: a name, "all", or None for the first.
        command: the whole command line.
        as_json: print the summaries and nothing else.
        list_all: list all frames that need attention.
        angles: columns of MOT and CSV: "clinical", "joints" or "both"; None for the usual.
        rotations: columns of CSV: "coordinates", "wxyz" or "swing-twist"; None for the usual.
    """

    recording: RecordingOptions
    tracking: TrackOptions
    weights: str | None
    mapping: str | None
    take: str | None
    computed: bool
    fit: bool
    subject: str | None
    command: str
    as_json: bool
    list_all: bool
    angles: str | None = None
    rotations: str | None = None


def check_word(option: str, word: str | None, known: tuple[str, ...]) -> str | None:
    """Return the word of an option; raise if it is none that is known."""
    if word is not None and word not in known:
        raise UsageError(f"{option} is {word!r}; expected {join_names(known, last=' or ')}")
    return word


def parse_smooth(text: str) -> float | str | None:
    """Return what `track` takes for --smooth."""
    if text == "auto":
        return text
    if text == "none":
        return None
    try:
        return float(text)
    except ValueError:
        raise UsageError(
            f"--smooth is {text!r}; it must be auto, none or a frequency in Hz"
        ) from None


def parse_loss(word: str) -> str | None:
    """Return what `track` takes for --robust."""
    if word not in ("none", "huber", "tukey"):
        raise UsageError(f"--robust is {word!r}; expected none, huber or tukey")
    return None if word == "none" else word
