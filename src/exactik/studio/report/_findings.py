"""What needs a look, and which markers are suspected: tables whose rows lead to their frames."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from exactik.recordings.diagnosis import STRETCHES, Finding
from exactik.studio.report._playback import FrameFinder
from exactik.studio.report._summary import count_spikes, segment_facts

if TYPE_CHECKING:
    from exactik.recordings.tracking import Track


Facts = Mapping[str, Any]

SUSPECTS = {"swap": "swap, {verdict}", "far-marker": "far off", "frozen-marker": "frozen"}
"""What stands in a badge, by the kind of finding."""
UNFOLDED_ROWS = 12  # of a table; the others fold out
MAX_ROWS = 1000  # of a table, with those that fold out


def render_attention(track: Track, find_frame: FrameFinder) -> str:
    """Return the stretches that need a look, worst first."""
    if len(track.attention) == 0:
        return "<p>Nothing: no gaps to fill, no bad fits, every frame solved to rest.</p>"
    rows = [
        _render_row(track, found, find_frame, STRETCHES[found.kind].label, found.kind)
        for found in track.attention
    ]
    return render_table(("Frames", "Time", "What", "Why"), rows, "stretches")


def render_suspects(track: Track, find_frame: FrameFinder) -> str:
    """Return suspected swaps, markers far off and frozen ones, and how many spikes there were."""
    rows = []
    for found in track.findings:
        if found.kind in SUSPECTS:
            what = SUSPECTS[found.kind].format(**found.details)
            style = what.rpartition(" ")[2]
            names = f"<td><b>{' ↔ '.join(map(escape, found.names))}</b></td>"
            rows.append(names + _render_row(track, found, find_frame, what, style))
    spikes = count_spikes(track)
    note = f"<p>{spikes} samples stood out as spikes and had no say.</p>" if spikes > 0 else ""
    if len(rows) == 0:
        return note or "<p>No two markers seem exchanged, and none is far off for long.</p>"
    return render_table(("Marker", "Frames", "Time", "What", "Why"), rows, "stretches") + note


def _render_row(
    track: Track, found: Finding, find_frame: FrameFinder, what: str, style: str
) -> str:
    """Return cells: frames, times, a badge and the reason."""
    facts = segment_facts(track, found)
    cells = (
        render_stretch_link(facts, find_frame, track.markers.first_frame),
        format_times(facts),
        f'<span class="badge {escape(style)}">{what}</span>',
        escape(found.text),
    )
    return "".join(f"<td>{cell}</td>" for cell in cells)


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


def render_stretch_link(
    stretch: Facts, find_frame: Callable[[int, int], int], first_frame: int
) -> str:
    """Return a link to a stretch, with its "first" and "last" frame, that shows one of them.

    They are counted from 0; what is read are their numbers in the file, from `first_frame` on.
    """
    first, last = stretch["first"], stretch["last"]
    number = first_frame + first
    text = f"{number}" if first == last else f"{number}–{first_frame + last}"
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
