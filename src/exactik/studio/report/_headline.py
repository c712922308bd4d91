"""The summary of a solved recording in words: one paragraph, and its phrases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from exactik._text import Reason, count_noun, format_millimetres, format_share, join_names
from exactik.recordings.diagnosis import STRETCHES, describe_swap

Facts = Mapping[str, Any]

MAX_NAMED = 3  # stretches that are named in the paragraph


def headline_of(summary: Facts) -> str:
    """Return a summary in words: plain text, one paragraph.

    The verdict, how good the fit is, what needs a look, which markers are suspected, what touched
    its limits.
    """
    parts = [
        summary["verdict_text"],
        _describe_fit(summary),
        _describe_size(summary),
        *_describe_attention(summary),
        *_describe_suspects(summary),
    ]
    return " ".join([*parts, *describe_limits(summary), *_describe_speed(summary)])


def format_frames(stretch: Facts) -> str:
    """Return "frame 7 (0.06 s)" or "frames 7–12 (0.06–0.10 s)"."""
    first, last = stretch["first_in_file"], stretch["last_in_file"]
    if first == last:
        return f"frame {first} ({stretch['start_s']:.2f} s)"
    return f"frames {first}–{last} ({stretch['start_s']:.2f}–{stretch['end_s']:.2f} s)"


def _describe_fit(summary: Facts) -> str:
    error = summary["error"]
    if error["mean_mm"] is None:
        return "No marker was seen in any frame, so nothing is known of the motion."
    text = f"The markers fit to {format_millimetres(error['mean_mm'])} on average (95 % within "
    text += f"{format_millimetres(error['p95_mm'])}; worst {format_millimetres(error['max_mm'])}, "
    frame = error["worst_frame"] + summary["first_frame_in_file"]
    return text + f"{error['worst_marker']} in frame {frame})."


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


def _describe_attention(summary: Facts) -> list[str]:
    segments = summary["attention"]
    if len(segments) == 0:
        is_good = summary["verdict"] == "good"
        return ["Nothing needs a look." if is_good else "No stretch is worse than the others."]
    counts = Counter(segment["kind"] for segment in segments)
    kinds = [
        f"{counts[kind]} {(counts[kind] > 1 and words.many) or words.one}"
        for kind, words in STRETCHES.items()
        if counts[kind] > 0
    ]
    good = format_share(summary["unremarkable_share"])
    if len(segments) <= MAX_NAMED:
        single = len(segments) == 1
        needs = "1 stretch needs" if single else f"{len(segments)} stretches need"
        outside = f"{good} of the frames are outside of {'it' if single else 'them'}"
        return [f"{needs} a look ({outside}): {_name_segments(segments)}."]
    return [
        f"{len(segments)} stretches need a look: {join_names(kinds)}; {good} of the frames are "
        f"outside of them. Above all {_name_segments(segments[:MAX_NAMED])}."
    ]


def _name_segments(segments: Sequence[Facts]) -> str:
    """Return stretches with the causes of their reasons; those of one cause together."""
    reasons: dict[str, list[str]] = {}
    for segment in segments:
        text = segment["text"]
        cause = text.cause if isinstance(text, Reason) else text
        reasons.setdefault(cause, []).append(format_frames(segment))
    return "; ".join(f"{join_names(frames)}, {text}" for text, frames in reasons.items())


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
    """Return a sentence if dofs touch their limits."""
    touched = summary["limits"]
    if len(touched) == 0:
        return []
    most = touched[0]
    where = f"{most['dof']} in {format_share(most['share'])} of the frames"
    if len(touched) == 1:
        return [f"One dof touches its limit, {where}."]
    return [f"{len(touched)} dofs touch their limits, most of all {where}."]


def _describe_speed(summary: Facts) -> list[str]:
    speed, seconds = summary["frames_per_second"], summary["seconds"]
    if seconds is None:
        return []
    text = f"Solved in {seconds:.2g} s" if seconds < 10.0 else f"Solved in {seconds:.0f} s"
    return [text + (f" ({speed:.0f} frames a second)." if speed is not None else ".")]
