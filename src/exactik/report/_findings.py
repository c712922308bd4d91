"""What needs a look, and which markers are suspected: tables whose rows lead to their frames."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import Any

from exactik.report._headline import describe_swap, format_millimetres
from exactik.report._playback import FrameFinder
from exactik.report._timeline import KIND_LABELS

__all__ = [
    "format_times",
    "render_attention",
    "render_frame_link",
    "render_stretch_link",
    "render_suspects",
    "render_table",
]

Facts = Mapping[str, Any]

UNFOLDED_ROWS = 12  # of a table; the others fold out
MAX_ROWS = 1000  # of a table, with those that fold out


def render_attention(segments: Sequence[Facts], find_frame: FrameFinder) -> str:
    """Return the stretches that need a look, worst first."""
    if len(segments) == 0:
        return "<p>Nothing: no gaps to fill, no bad fits, every frame solved to rest.</p>"
    rows = []
    for segment in segments:
        kind = segment["kind"]
        badge = f'<span class="badge {escape(kind)}">{KIND_LABELS.get(kind, "")}</span>'
        cells = (
            render_stretch_link(segment, find_frame),
            format_times(segment),
            badge,
            escape(segment["text"]),
        )
        rows.append("".join(f"<td>{cell}</td>" for cell in cells))
    return render_table(("Frames", "Time", "What", "Why"), rows, "stretches")


def render_suspects(summary: Facts, find_frame: FrameFinder) -> str:
    """Return suspected swaps, markers far off and frozen ones."""
    rows = []
    for swap in summary["swaps"]:
        names = " ↔ ".join(map(escape, swap["names"]))
        rows.append((names, swap, f"swap, {swap['verdict']}", describe_swap(swap)))
    for ghost in summary["ghosts"]:
        off, most, usual = (
            format_millimetres(ghost[key]) for key in ("off_mm", "max_mm", "usual_mm")
        )
        text = f"{off} off, up to {most}; usually {usual}"
        text += "; it was left out" if ghost["left_out"] else ""
        rows.append((escape(ghost["name"]), ghost, "far off", text))
    for frozen in summary["frozen"]:
        text = "stays at the same place to the last digit while others move"
        rows.append((escape(frozen["name"]), frozen, "frozen", text))
    cells = []
    for names, stretch, what, text in rows:
        word = what.rpartition(" ")[2]
        badge = f'<span class="badge {word}">{what}</span>'
        row = (
            f"<b>{names}</b>",
            render_stretch_link(stretch, find_frame),
            format_times(stretch),
            badge,
            escape(text),
        )
        cells.append("".join(f"<td>{cell}</td>" for cell in row))
    spikes = summary["spikes"]
    note = f"<p>{spikes} samples stood out as spikes and had no say.</p>" if spikes > 0 else ""
    if len(cells) == 0:
        return note or "<p>No two markers seem exchanged, and none is far off for long.</p>"
    return render_table(("Marker", "Frames", "Time", "What", "Why"), cells, "stretches") + note


def render_table(heads: Sequence[str], rows: Sequence[str], kind: str = "") -> str:
    """Return a table; rows beyond the first `UNFOLDED_ROWS` fold out."""
    head = "".join(f"<th>{name}</th>" for name in heads)

    def table(part: Sequence[str]) -> str:
        body = "".join(f"<tr>{row}</tr>" for row in part)
        return f'<table class="{kind}"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'

    if len(rows) <= UNFOLDED_ROWS + 3:
        return table(rows)
    rest = rows[UNFOLDED_ROWS:MAX_ROWS]
    more = f"<p>… and {len(rows) - MAX_ROWS} more.</p>" if len(rows) > MAX_ROWS else ""
    fold = (
        f"<details><summary>{len(rows) - UNFOLDED_ROWS} more</summary>{table(rest)}{more}</details>"
    )
    return table(rows[:UNFOLDED_ROWS]) + fold


def render_stretch_link(stretch: Facts, find_frame: Callable[[int, int], int]) -> str:
    """Return a link to a stretch, with its "first" and "last" frame, that shows one of them."""
    first, last = stretch["first"], stretch["last"]
    text = f"{first}" if first == last else f"{first}–{last}"
    return render_frame_link(text, first, last, find_frame(first, last))


def render_frame_link(text: str, first: int, last: int, frame: int) -> str:
    """Return a link that shows a frame in the playback and a stretch in the curves."""
    return (
        f'<a href="#time" data-first="{first}" data-last="{last}" data-frame="{frame}">'
        f"{escape(text)}</a>"
    )


def format_times(stretch: Facts) -> str:
    """Return when a stretch begins and ends, "start_s" and "end_s"."""
    if stretch["first"] == stretch["last"]:
        return f"{stretch['start_s']:.2f} s"
    return f"{stretch['start_s']:.2f}–{stretch['end_s']:.2f} s"
