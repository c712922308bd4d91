"""Tables of a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from exactik.report._words import describe_swap, format_millimetres, format_share

__all__ = [
    "KIND_LABELS",
    "render_attention",
    "render_facts",
    "render_marker_bars",
    "render_suspects",
    "render_tiles",
]

Facts = Mapping[str, Any]

KIND_LABELS = {
    "no-markers": "no markers",
    "not-converged": "not at rest",
    "poor-fit": "fits badly",
    "gap": "gap filled",
    "ignored-marker": "left out",
    "bridged": "bridged",
    "dearer": "costs more",
}
UNFOLDED_ROWS, MAX_ROWS = 12, 1000  # rows at once, and with those that fold out


def render_tiles(summary: Facts) -> str:
    """Return the most important numbers, large."""
    error, found = summary["error"], len(summary["attention"])
    speed = summary["frames_per_second"]
    numbers = [
        (format_millimetres(error["mean_mm"]), "mean marker error"),
        (format_millimetres(error["p95_mm"]), "95 % are within"),
        (str(found), "stretch needs a look" if found == 1 else "stretches need a look"),
        (format_share(summary["missing_share"]), "samples missing"),
        _limits_tile(summary),
        ("unknown" if speed is None else f"{speed:.0f}", "frames a second"),
    ]
    return "".join(
        f'<div class="tile"><b>{escape(number)}</b><span>{escape(what)}</span></div>'
        for number, what in numbers
    )


def _limits_tile(summary: Facts) -> tuple[str, str]:
    kind, touched = summary["settings"]["limits"], len(summary["limits"])
    if kind != "hard":
        return kind, "limits"
    return str(touched), "dof touches a limit" if touched == 1 else "dofs touch a limit"


def _render_link(stretch: Facts) -> str:
    first, last = stretch["first"], stretch["last"]
    text = f"{first}" if first == last else f"{first}–{last}"
    return f'<a href="#time" data-first="{first}" data-last="{last}">{text}</a>'


def _format_times(stretch: Facts) -> str:
    if stretch["first"] == stretch["last"]:
        return f"{stretch['start_s']:.2f} s"
    return f"{stretch['start_s']:.2f}–{stretch['end_s']:.2f} s"


def _render_table(heads: Sequence[str], rows: Sequence[str], kind: str = "") -> str:
    """Return a table; what is more than a screen folds out."""
    head = "".join(f"<th>{name}</th>" for name in heads)

    def table(part: Sequence[str]) -> str:
        body = "".join(f"<tr>{each}</tr>" for each in part)
        return f'<table class="{kind}"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'

    if len(rows) <= UNFOLDED_ROWS + 3:
        return table(rows)
    rest = rows[UNFOLDED_ROWS:MAX_ROWS]
    more = f"<p>… and {len(rows) - MAX_ROWS} more.</p>" if len(rows) > MAX_ROWS else ""
    fold = (
        f"<details><summary>{len(rows) - UNFOLDED_ROWS} more</summary>{table(rest)}{more}</details>"
    )
    return table(rows[:UNFOLDED_ROWS]) + fold


def render_attention(found: Sequence[Facts]) -> str:
    """Return the stretches that need a look, worst first."""
    if len(found) == 0:
        return "<p>Nothing: no gaps to fill, no bad fits, every frame solved to rest.</p>"
    rows = []
    for each in found:
        badge = (
            f'<span class="badge {escape(each["kind"])}">{KIND_LABELS.get(each["kind"], "")}</span>'
        )
        cells = (_render_link(each), _format_times(each), badge, escape(each["text"]))
        rows.append("".join(f"<td>{cell}</td>" for cell in cells))
    return _render_table(("Frames", "Time", "What", "Why"), rows, "stretches")


def render_suspects(summary: Facts) -> str:
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
            _render_link(stretch),
            _format_times(stretch),
            badge,
            escape(text),
        )
        cells.append("".join(f"<td>{cell}</td>" for cell in row))
    spikes = summary["spikes"]
    note = f"<p>{spikes} samples stood out as spikes and had no say.</p>" if spikes > 0 else ""
    if len(cells) == 0:
        return note or "<p>No two markers seem exchanged, and none is far off for long.</p>"
    return _render_table(("Marker", "Frames", "Time", "What", "Why"), cells, "stretches") + note


def render_marker_bars(markers: Sequence[Facts]) -> str:
    """Return mean and 95 % of every marker as bars, the worst first."""
    known = [m for m in markers if m["mean_mm"] is not None]
    top = max((m["p95_mm"] for m in known), default=1.0) or 1.0
    bars = []
    for m in sorted(known, key=lambda each: -each["mean_mm"]):
        mean, p95 = 100.0 * m["mean_mm"] / top, 100.0 * m["p95_mm"] / top
        hint = f"{m['name']}: median {format_millimetres(m['median_mm'])}, worst "
        hint += f"{format_millimetres(m['max_mm'])}, {format_share(m['missing_share'])} missing"
        if m.get("mean_weight") is not None:
            hint += f", mean weight {m['mean_weight']:.2f}"
        bars.append(
            f'<div class="bar" title="{escape(hint)}"><span class="name">{escape(m["name"])}</span>'
            f'<span class="track"><i class="p95" style="width:{p95:.1f}%"></i>'
            f'<i class="mean" style="width:{mean:.1f}%"></i></span>'
            f"<span>{_format_bare_millimetres(m['mean_mm'])}</span><span>{_format_bare_millimetres(m['p95_mm'])}</span>"
            f"<span>{_format_bare_millimetres(m['max_mm'])}</span></div>"
        )
    for m in (each for each in markers if each["mean_mm"] is None):
        name = escape(m["name"])
        bars.append(f'<div class="bar"><span class="name">{name}</span><em>never seen</em></div>')
    head = '<div class="bar head"><span>marker</span><span></span><span>mean</span>'
    return f'<div class="bars">{head}<span>95 %</span><span>max</span></div>{"".join(bars)}</div>'


def _format_bare_millimetres(value: float) -> str:
    return format_millimetres(value).removesuffix(" mm")


def render_facts(facts: Mapping[str, Any]) -> str:
    """Return names and values, two columns; what is empty is left out."""
    rows = "".join(
        f"<tr><th>{escape(name)}</th><td>{escape(_format_value(value))}</td></tr>"
        for name, value in facts.items()
        if value is not None and value not in ("", [], {})
    )
    return f'<table class="facts"><tbody>{rows}</tbody></table>'


def _format_value(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.5g}"
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {number:g}" for name, number in value.items())
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return str(value)
