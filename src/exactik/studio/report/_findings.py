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

UNFOLDED_ROWS = 5  # of a table; the others fold out
MAX_ROWS = 1000  # of a table, with those that fold out


def render_attention(track: Track, find_frame: FrameFinder) -> str:
    """Return the stretches that need a look, worst first, and how many spikes there were."""
    spikes = count_spikes(track)
    note = (
        f'<p class="note">{spikes} samples stood out as spikes and had no say.</p>'
        if spikes > 0
        else ""
    )
    if len(track.attention) == 0:
        text = "Nothing needs a look: no long gaps, no marker far off for long, no jumps."
        return note or f"<p>{text}</p>"
    rows = [_render_row(track, found, find_frame) for found in track.attention]
    return render_table(("Frames", "Time", "What", "Why"), rows, "stretches") + note


def _render_row(track: Track, found: Finding, find_frame: FrameFinder) -> str:
    """Return cells: frames, times, a badge and the reason."""
    facts = segment_facts(track, found)
    cells = (
        render_stretch_link(facts, find_frame),
        format_times(facts),
        f'<span class="badge {escape(found.kind)}">{escape(STRETCHES[found.kind].label)}</span>',
        f"{escape(found.text)}.{_render_raw_names(found)}",
    )
    return "".join(f"<td>{cell}</td>" for cell in cells)


def _render_raw_names(found: Finding) -> str:
    """Return what the figure calls the joints that a finding names otherwise, in grey."""
    words = found.details.get("words")
    return "" if words is None else f' <small class="raw">{escape(", ".join(found.names))}</small>'


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
    """Return a link to a stretch, with its "first" and "last" frame, that shows one of them.

    It is called as the file counts, where "first_in_file" and "last_in_file" say so.
    """
    first, last = stretch["first"], stretch["last"]
    named = (stretch.get("first_in_file", first), stretch.get("last_in_file", last))
    text = f"{named[0]}" if first == last else f"{named[0]}–{named[1]}"
    return render_frame_link(text, first, last, find_frame(first, last))


def render_frame_link(text: str, first: int, last: int, frame: int) -> str:
    """Return a link that shows a frame in the playback and a stretch in the curves."""
    return (
        f'<a href="#player" data-first="{first}" data-last="{last}" data-frame="{frame}">'
        f"{escape(text)}</a>"
    )


def format_times(stretch: Facts) -> str:
    """Return when a stretch begins and ends, "start_s" and "end_s"."""
    if stretch["first"] == stretch["last"]:
        return f"{stretch['start_s']:.2f} s"
    return f"{stretch['start_s']:.2f}–{stretch['end_s']:.2f} s"
