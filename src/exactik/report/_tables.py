"""Tables of a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from exactik.report._words import millimetres, share, swap_in_words

__all__ = [
    "KINDS",
    "attention_table",
    "facts_table",
    "marker_bars",
    "suspects_table",
    "tiles",
]

Facts = Mapping[str, Any]

KINDS = {
    "no-markers": "no markers",
    "not-converged": "not at rest",
    "poor-fit": "fits badly",
    "gap": "gap filled",
    "ignored-marker": "left out",
    "bridged": "bridged",
    "dearer": "costs more",
}
SHOWN, MOST = 12, 1000  # rows at once, and with those that fold out


def tiles(summary: Facts) -> str:
    """Return the most important numbers, large."""
    error, found = summary["error"], len(summary["attention"])
    speed = summary["frames_per_second"]
    numbers = [
        (millimetres(error["mean_mm"]), "mean marker error"),
        (millimetres(error["p95_mm"]), "95 % are within"),
        (str(found), "stretch needs a look" if found == 1 else "stretches need a look"),
        (share(summary["missing_share"]), "samples missing"),
        _limits(summary),
        ("unknown" if speed is None else f"{speed:.0f}", "frames a second"),
    ]
    return "".join(
        f'<div class="tile"><b>{escape(number)}</b><span>{escape(what)}</span></div>'
        for number, what in numbers
    )


def _limits(summary: Facts) -> tuple[str, str]:
    kind, touched = summary["settings"]["limits"], len(summary["limits"])
    if kind != "hard":
        return kind, "limits"
    return str(touched), "dof touches a limit" if touched == 1 else "dofs touch a limit"


def _link(stretch: Facts) -> str:
    first, last = stretch["first"], stretch["last"]
    text = f"{first}" if first == last else f"{first}–{last}"
    return f'<a href="#time" data-first="{first}" data-last="{last}">{text}</a>'


def _times(stretch: Facts) -> str:
    if stretch["first"] == stretch["last"]:
        return f"{stretch['start_s']:.2f} s"
    return f"{stretch['start_s']:.2f}–{stretch['end_s']:.2f} s"


def _table(heads: Sequence[str], rows: Sequence[str], kind: str = "") -> str:
    """Return a table; what is more than a screen folds out."""
    head = "".join(f"<th>{name}</th>" for name in heads)

    def table(part: Sequence[str]) -> str:
        body = "".join(f"<tr>{each}</tr>" for each in part)
        return f'<table class="{kind}"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'

    if len(rows) <= SHOWN + 3:
        return table(rows)
    rest = rows[SHOWN:MOST]
    more = f"<p>… and {len(rows) - MOST} more.</p>" if len(rows) > MOST else ""
    fold = f"<details><summary>{len(rows) - SHOWN} more</summary>{table(rest)}{more}</details>"
    return table(rows[:SHOWN]) + fold


def attention_table(found: Sequence[Facts]) -> str:
    """Return the stretches that need a look, worst first."""
    if len(found) == 0:
        return "<p>Nothing: no gaps to fill, no bad fits, every frame solved to rest.</p>"
    rows = []
    for each in found:
        badge = f'<span class="badge {escape(each["kind"])}">{KINDS.get(each["kind"], "")}</span>'
        cells = (_link(each), _times(each), badge, escape(each["text"]))
        rows.append("".join(f"<td>{cell}</td>" for cell in cells))
    return _table(("Frames", "Time", "What", "Why"), rows, "stretches")


def suspects_table(summary: Facts) -> str:
    """Return suspected swaps, markers far off and frozen ones."""
    rows = []
    for swap in summary["swaps"]:
        names = " ↔ ".join(map(escape, swap["names"]))
        rows.append((names, swap, f"swap, {swap['verdict']}", swap_in_words(swap)))
    for ghost in summary["ghosts"]:
        text = f"{millimetres(ghost['off_mm'])} off, up to {millimetres(ghost['max_mm'])}; "
        text += f"usually {millimetres(ghost['usual_mm'])}"
        text += "; it was left out" if ghost["left_out"] else ""
        rows.append((escape(ghost["name"]), ghost, "far off", text))
    for frozen in summary["frozen"]:
        text = "stays at the same place to the last digit while others move"
        rows.append((escape(frozen["name"]), frozen, "frozen", text))
    cells = []
    for names, stretch, what, text in rows:
        word = what.rpartition(" ")[2]
        badge = f'<span class="badge {word}">{what}</span>'
        row = (f"<b>{names}</b>", _link(stretch), _times(stretch), badge, escape(text))
        cells.append("".join(f"<td>{cell}</td>" for cell in row))
    spikes = summary["spikes"]
    note = f"<p>{spikes} samples stood out as spikes and had no say.</p>" if spikes > 0 else ""
    if len(cells) == 0:
        return note or "<p>No two markers seem exchanged, and none is far off for long.</p>"
    return _table(("Marker", "Frames", "Time", "What", "Why"), cells, "stretches") + note


def marker_bars(markers: Sequence[Facts]) -> str:
    """Return mean and 95 % of every marker as bars, the worst first."""
    known = [m for m in markers if m["mean_mm"] is not None]
    top = max((m["p95_mm"] for m in known), default=1.0) or 1.0
    bars = []
    for m in sorted(known, key=lambda each: -each["mean_mm"]):
        mean, p95 = 100.0 * m["mean_mm"] / top, 100.0 * m["p95_mm"] / top
        hint = f"{m['name']}: median {millimetres(m['median_mm'])}, worst "
        hint += f"{millimetres(m['max_mm'])}, {share(m['missing_share'])} missing"
        if m.get("mean_weight") is not None:
            hint += f", mean weight {m['mean_weight']:.2f}"
        bars.append(
            f'<div class="bar" title="{escape(hint)}"><span class="name">{escape(m["name"])}</span>'
            f'<span class="track"><i class="p95" style="width:{p95:.1f}%"></i>'
            f'<i class="mean" style="width:{mean:.1f}%"></i></span>'
            f"<span>{_plain(m['mean_mm'])}</span><span>{_plain(m['p95_mm'])}</span>"
            f"<span>{_plain(m['max_mm'])}</span></div>"
        )
    for m in (each for each in markers if each["mean_mm"] is None):
        name = escape(m["name"])
        bars.append(f'<div class="bar"><span class="name">{name}</span><em>never seen</em></div>')
    head = '<div class="bar head"><span>marker</span><span></span><span>mean</span>'
    return f'<div class="bars">{head}<span>95 %</span><span>max</span></div>{"".join(bars)}</div>'


def _plain(value: float) -> str:
    return millimetres(value).removesuffix(" mm")


def facts_table(facts: Mapping[str, Any]) -> str:
    """Return names and values, two columns; what is empty is left out."""
    rows = "".join(
        f"<tr><th>{escape(name)}</th><td>{escape(_shown(value))}</td></tr>"
        for name, value in facts.items()
        if value is not None and value not in ("", [], {})
    )
    return f'<table class="facts"><tbody>{rows}</tbody></table>'


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.5g}"
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {number:g}" for name, number in value.items())
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return str(value)
