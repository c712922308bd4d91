"""The report on a solved recording: one HTML file that needs nothing else.

It says what `summary_of` knows. Words, tables, plots and a picture are there without scripts; a
script adds the playback, a cursor, zoom and a choice of joints. Nothing is fetched, and the file
forbids it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from html import escape
from importlib import resources
from typing import TYPE_CHECKING, Any

from exactik._text import count_noun, drop_folders, file_name, make_writable
from exactik.io import open_atomic
from exactik.recordings.angles import NormalGait
from exactik.studio.player.data import encode_scene
from exactik.studio.player.page import (
    CONTENT_SECURITY_POLICY,
    dump_json,
    read_player_script,
    read_player_style,
)
from exactik.studio.player.scene import PlayerScene
from exactik.studio.player.still import render_still
from exactik.studio.report._charts import (
    CLINICAL,
    COORDINATES,
    choose_initial_charts,
    encode_charts,
    make_charts,
    render_charts,
)
from exactik.studio.report._curves import make_angle_curves
from exactik.studio.report._findings import render_attention
from exactik.studio.report._gait import render_gait, render_other_panels
from exactik.studio.report._header import list_numbers, render_header, render_tiles
from exactik.studio.report._headline import format_millimetres, format_share
from exactik.studio.report._playback import FrameFinder, compose_track_scene
from exactik.studio.report._range import is_of_upper_body, render_ranges
from exactik.studio.report._reading import render_reading
from exactik.studio.report._series import (
    HeatMap,
    encode_bytes,
    encode_series,
    make_heat_map,
)
from exactik.studio.report._summary import summary_of
from exactik.studio.report._timeline import (
    render_errors,
    render_iterations,
    render_quality,
    render_quality_map,
)

if TYPE_CHECKING:
    from exactik.recordings.tracking import Track
    from exactik.studio.report._charts import AngleChart
    from exactik.studio.report._curves import AngleCurves


Facts = Mapping[str, Any]


def write_report(
    track: Track,
    path: str,
    command: str = "",
    *,
    summary: Facts | None = None,
    normal: NormalGait | None = None,
) -> None:
    """Write the report on a track to an .html file, whole or not at all.

    Args:
        command: that repeats the solve.
        summary: of the track, with the command, where it is known already, see `summary_of`.
        normal: the laboratory's normal range of walking, see `read_normal_gait`.
    """
    write_page(path, render_report(track, command, summary, normal))


def write_page(path: str | os.PathLike[str], text: str) -> None:
    """Write a page to a file, whole or not at all."""
    with open_atomic(os.fspath(path)) as file:
        file.write(text)


def render_report(
    track: Track,
    command: str = "",
    summary: Facts | None = None,
    normal: NormalGait | None = None,
) -> str:
    """Return the report as text, see `write_report`."""
    summary = summary_of(track, command) if summary is None else summary
    curves, heat = make_angle_curves(track), make_heat_map(track)
    charts = make_charts(track, curves)
    chosen = choose_initial_charts(charts, curves)
    find_frame = FrameFinder(track)
    scene = compose_track_scene(track, find_frame, summary)
    data = {
        "frames": len(track),
        "rate": summary["rate_hz"],
        "offset": summary["first_frame_in_file"],
        "markers": list(track.names),
        "series": encode_series(track),
        "heat": {
            "bins": len(heat.bins),
            "most": heat.most,
            "palette": encode_bytes(heat.palette),
            "data": encode_bytes(heat.level),
        },
        "angles": {**encode_charts(charts, curves), "chosen": chosen},
        "player": encode_scene(scene),
    }
    sections = [
        render_section("angles", "Angles", *_render_angles(track, curves, charts, chosen)),
        render_section("quality", "Quality", render_quality(track, summary), FRAMES_NOTE),
        render_section("markers", "Markers", _render_markers(track, summary, heat)),
        render_section("solved", "How it was solved", _render_solving(track, summary)),
    ]
    header = _render_first_screen(track, summary, curves, charts, find_frame, normal)
    return render_page(f"{summary['skeleton']}: exactik report", header, scene, sections, data)


def _render_first_screen(
    track: Track,
    summary: Facts,
    curves: AngleCurves,
    charts: list[AngleChart],
    find_frame: FrameFinder,
    normal: NormalGait | None,
) -> str:
    """Return the verdict, what was recorded as its readers look at it, and one list of findings.

    Walking and running have the angles of the stride, arms alone how far each joint moves, all
    else an overview of what moved most.
    """
    cycles = track.gait()
    if curves.angles is not None and len(cycles) > 0:
        way = "running" if cycles.is_running else "walking"
        about = f"{way}, {count_noun(len(cycles), 'stride')}"
        name, title = "gait", way.capitalize()
        inside = render_gait(cycles, curves, charts, normal)
    elif is_of_upper_body(charts):
        about, name, title = "arms and trunk", "range", "Range of motion"
        inside = render_ranges(track, curves, charts)
    else:
        about, name, title = "a movement", "range", "What moved most"
        inside = render_ranges(track, curves, charts)
    links = "".join(f'<a href="#{key}">{words}</a>' for key, words in SECTIONS.items())
    return (
        f'{render_header(summary, about)}<nav class="sections">{links}</nav>'
        f"{render_section(name, title, inside + render_quality_map(track))}"
        f"{render_section('attention', 'Findings', render_attention(track, find_frame))}"
    )


SECTIONS = {
    "angles": "Angles",
    "quality": "Quality",
    "markers": "Markers",
    "solved": "How it was solved",
}
FRAMES_NOTE = "Frames are counted as the recording counts them."


def _render_angles(
    track: Track, curves: AngleCurves, charts: list[AngleChart], chosen: list[int]
) -> tuple[str, str]:
    """Return joint angles over time, coordinates of joints, folded; and a note."""
    rate, cycles = track.markers.rate, track.gait()
    is_folded = curves.angles is not None  # then a script draws them, to keep the file small
    coordinates = render_charts(
        charts, curves, chosen, rate, COORDINATES, with_drawings=not is_folded
    )
    note = "Bands hold 90 % (± 1.645 standard deviations); curves are pale where nothing is known."
    if not is_folded:
        return coordinates, note
    inside = render_charts(charts, curves, chosen, rate, CLINICAL)
    unknown = [chart.name for chart in charts if chart.is_open]
    if len(unknown) > 0:
        names = escape(", ".join(unknown).lower())
        inside += f'<p class="note">The markers do not determine: {names}.</p>'
    if len(cycles) == 0:
        inside += f'<p class="note">No gait: {escape(cycles.text)}</p>'
    else:
        others = render_other_panels(cycles, curves, charts)
        inside += f"<details><summary>Other angles over the stride</summary>{others}</details>"
    inside += (
        f"<details><summary>Coordinates of the joints (rx, ry, rz)</summary>{coordinates}</details>"
    )
    return inside, note


def _render_markers(track: Track, summary: Facts, heat: HeatMap) -> str:
    """Return how far markers are off, over time and each; and what each was taken for."""
    about = "Mean (bar), 95 % (pale bar) and largest distance from its place on the figure, mm."
    reading = ""
    if summary["reading"] is not None:
        rate = f"{summary['rate_hz']:g} Hz, {summary['frames']} frames, "
        rate += f"{summary['duration_s']:.4g} s"
        reading = f'<div id="reading">{render_reading(summary["reading"], rate)}</div>'
    return (
        f"{render_errors(track, summary, heat)}<h3>Error of each marker</h3>"
        f'<p class="note">{escape(about)}</p>{_render_marker_bars(summary["error_per_marker"])}'
        f"{reading}"
    )


def _render_solving(track: Track, summary: Facts) -> str:
    """Return figures of the solve, what repeats it, and all settings."""
    return (
        f"{render_tiles(list_numbers(summary))}{render_iterations(track, summary)}"
        f"{_render_settings(track, summary)}"
    )


def render_page(
    title: str, header: str, scene: PlayerScene | None, sections: Sequence[str], data: Facts
) -> str:
    """Return a report as one file: its words, and with a scene the player and its script."""
    aside, script = "", ""
    if scene is not None:
        aside = (
            '<aside class="playback"><div class="player" id="player">'
            f"{render_still(scene)}</div></aside>"
        )
        script = (
            f'<script type="application/json" id="data">{dump_json(data)}</script>'
            f"<script>\n{read_player_script()}{_read_resource('_report.js')}</script>"
        )
    content = f'<div class="content">{"".join(sections)}</div>'
    body = f"<header>{header}</header>{aside}{content}"
    kind = "" if scene is not None else ' class="alone"'
    return make_writable(
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(CONTENT_SECURITY_POLICY)}">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{escape(title)}</title><style>\n{read_player_style()}{_read_resource('_report.css')}"
        "</style></head>"
        f'<body><main{kind}>{body}</main><div id="readout" hidden></div>{script}</body></html>\n'
    )


def _read_resource(name: str) -> str:
    return resources.files("exactik.studio.report").joinpath(name).read_text(encoding="utf-8")


def render_section(name: str, title: str, inside: str, note: str = "") -> str:
    """Return a section of a page, with a note below its title."""
    about = f'<p class="note">{escape(note)}</p>' if note else ""
    return f'<section id="{name}"><h2>{escape(title)}</h2>{about}{inside}</section>'


def _render_marker_bars(markers: Sequence[Facts]) -> str:
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
    for m in (marker for marker in markers if marker["mean_mm"] is None):
        name = escape(m["name"])
        bars.append(f'<div class="bar"><span class="name">{name}</span><em>never seen</em></div>')
    head = '<div class="bar head"><span>marker</span><span></span><span>mean</span>'
    return f'<div class="bars">{head}<span>95 %</span><span>max</span></div>{"".join(bars)}</div>'


def _format_bare_millimetres(value: float) -> str:
    return format_millimetres(value).removesuffix(" mm")


def _render_settings(track: Track, summary: Facts) -> str:
    error, names, settings = summary["error"], summary["markers"], summary["settings"]
    named_settings = {name.replace("_", " "): value for name, value in settings.items()}
    facts: dict[str, Any] = {
        "recording": file_name(summary["source"]),
        "solver": summary["solver"],
        **named_settings,
        "noise of the markers (each axis)": format_millimetres(summary["sigma_mm"]),
        "median and largest error": f"{format_millimetres(error['median_mm'])}, "
        f"{format_millimetres(error['max_mm'])}",
        "frames filled, jumps, frames not at rest": f"{summary['filled_frames']}, "
        f"{summary['jumps']}, {summary['not_converged_frames']}",
        "seconds": summary["seconds"],
        "markers not used": names["ignored"],
        "markers not recorded": names["not_in_recording"],
        "markers never seen": names["never_seen"],
        "notes on the file": "; ".join(summary["notes"]),
        **summary["versions"],
    }
    return render_making(summary["command"], "Settings and versions", facts)


def render_making(command: str, title: str, facts: Facts) -> str:
    """Return how a report is made again: its command, if it had one, and facts with a title."""
    code = "<p>It was made from Python, and no command was given.</p>"
    if command:
        code = f"<pre><code>{escape(drop_folders(command))}</code></pre>"
    return f"<h3>To repeat it</h3>{code}<h3>{title}</h3>{render_facts(facts)}"


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
