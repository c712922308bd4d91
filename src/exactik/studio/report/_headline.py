"""The summary of a solved recording in words: one paragraph, and its sentences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from exactik._text import Reason, count_noun, format_millimetres, format_share, join_names
from exactik.recordings.diagnosis import describe_swap

Facts = Mapping[str, Any]

MAX_NAMED = 3  # stretches that are named in the paragraph


def headline_of(summary: Facts) -> str:
    """Return a summary in words: plain text, one paragraph.

    The verdict, how good the fit is, what was not measured, what needs a look, which markers are
    suspected, what touched its limits.
    """
    error = summary["error"]
    parts = [
        summary["verdict_text"],
        f"The markers fit the figure to {describe_error(summary)}; 95 % within "
        f"{format_millimetres(error['p95_mm'])}."
        if error["mean_mm"] is not None
        else f"{describe_error(summary)}.",
        *summary["asides"],
        _describe_size(summary),
        _describe_attention(summary),
        *_describe_suspects(summary),
    ]
    return " ".join([*parts, *describe_limits(summary)])


def describe_error(summary: Facts) -> str:
    """Return how well the markers fit, without a full stop."""
    error = summary["error"]
    if error["mean_mm"] is None:
        return "No marker was seen in any frame, so nothing is known of the motion"
    frame = error["worst_frame"] + summary["first_frame_in_file"]
    most = f"{format_millimetres(error['max_mm'])} at most"
    mean = format_millimetres(error["mean_mm"])
    return f"{mean} on average, {most} ({error['worst_marker']}, frame {frame})"


def describe_first_look(summary: Facts) -> str:
    """Return what to look at first, and how much more there is."""
    segments = summary["attention"]
    if len(segments) == 0:
        return "nothing in particular"
    text = segments[0]["text"]
    cause = text.cause if isinstance(text, Reason) else text
    more = f"; {len(segments) - 1} more" if len(segments) > 1 else ""
    return f"{format_frames(segments[0]).partition(' (')[0]}: {cause}{more}"


def format_frames(stretch: Facts) -> str:
    """Return "frame 7 (0.06 s)" or "frames 7–12 (0.06–0.10 s)"."""
    first, last = stretch["first_in_file"], stretch["last_in_file"]
    if first == last:
        return f"frame {first} ({stretch['start_s']:.2f} s)"
    return f"frames {first}–{last} ({stretch['start_s']:.2f}–{stretch['end_s']:.2f} s)"


def _describe_size(summary: Facts) -> str:
    frames, used = (
        count_noun(summary["frames"], "frame"),
        count_noun(_count_used(summary), "marker"),
    )
    text = f"{frames} ({summary['duration_s']:.4g} s at {summary['rate_hz']:g} Hz) of {used}"
    missing, never = summary["missing_share"], summary["markers"]["never_seen"]
    text += f", {format_share(missing)} missing." if missing else ", none ever missing."
    if 0 < len(never) < _count_used(summary):
        text += f" {join_names(never, 4)} {'was' if len(never) == 1 else 'were'} never seen."
    return text


def _count_used(summary: Facts) -> int:
    return len(summary["markers"]["used"])


def _describe_attention(summary: Facts) -> str:
    count = len(summary["attention"])
    if count == 0:
        is_good = summary["verdict"] == "good"
        return "Nothing needs a look." if is_good else "No stretch is worse than the others."
    needs = "1 stretch needs" if count == 1 else f"{count} stretches need"
    outside = f"{format_share(summary['unremarkable_share'])} of the frames are outside of"
    return f"{needs} a look ({outside} {'it' if count == 1 else 'them'})."


def _describe_suspects(summary: Facts) -> list[str]:
    texts = []
    likely = [swap for swap in summary["swaps"] if swap["verdict"] in ("likely", "repaired")]
    for swap in likely[:MAX_NAMED]:
        who = f"{swap['names'][0]} and {swap['names'][1]} seem to have exchanged their names in "
        texts.append(f"{who}{format_frames(swap)}: {describe_swap(swap)}.")
    if len(likely) > MAX_NAMED:
        texts.append(f"So do {count_noun(len(likely) - MAX_NAMED, 'other pair')}.")
    if summary["spikes"] > 0:
        spikes = count_noun(summary["spikes"], "sample stood", "samples stood")
        texts.append(f"{spikes} out as spikes and had no say.")
    return texts


def describe_limits(summary: Facts) -> list[str]:
    """Return a sentence if joints touch the end of their range."""
    touched = summary["limits"]
    if len(touched) == 0:
        return []
    most = touched[0]
    where = f"{most['words']} in {format_share(most['share'])} of the frames"
    if len(touched) == 1:
        return [f"One joint reaches the end of its range, {where}."]
    return [f"{len(touched)} joint angles reach the end of their range, most of all {where}."]
