"""The report on a solved recording: one HTML file that needs nothing else.

It says what `summary_of` knows. Words, tables and plots are there without scripts; a script adds a
cursor, zoom and a choice of joints. Nothing is fetched, and the file forbids it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from html import escape
from importlib import resources
from typing import TYPE_CHECKING, Any

import numpy as np

from exactik.io import writing
from exactik.motion import find_segments
from exactik.report._angles import (
    JointChart,
    choose_initial_charts,
    draw_joint_charts,
    encode_joint_charts,
    make_joint_charts,
)
from exactik.report._data import (
    AngleCurves,
    HeatMap,
    encode_bytes,
    encode_series,
    make_angle_curves,
    make_heat_map,
    round_axis_end,
)
from exactik.report._plots import Lane, area_row, axis_row, heat_row, lanes_row
from exactik.report._summary import compute_frame_errors, find_missing, headline_of, summary_of
from exactik.report._tables import (
    KIND_LABELS,
    render_attention,
    render_facts,
    render_marker_bars,
    render_suspects,
    render_tiles,
)
from exactik.report._words import format_count, format_millimetres, format_share

if TYPE_CHECKING:
    from exactik.tracking import Track

__all__ = ["render_report", "write_report"]

Facts = Mapping[str, Any]

MAX_LANES = 24  # markers or dofs that get a lane of their own
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
)


def write_report(
    track: Track, path: str, command: str = "", *, summary: Facts | None = None
) -> None:
    """Write the report on a track to an .html file, whole or not at all.

    Args:
        track: the solved recording.
        path: of the file.
        command: that repeats the solve.
        summary: of the track, with the command, where it is known already, see `summary_of`.
    """
    text = render_report(track, command, summary)
    with writing(path) as file:
        file.write(text)


def render_report(track: Track, command: str = "", summary: Facts | None = None) -> str:
    """Return the report as text, see `write_report`."""
    summary = summary_of(track, command) if summary is None else summary
    angles, joints, heat = make_angle_curves(track), make_joint_charts(track), make_heat_map(track)
    chosen = choose_initial_charts(joints, angles)
    data = {
        "frames": len(track),
        "rate": summary["rate_hz"],
        "offset": summary["first_frame_in_file"],
        "markers": list(track.names),
        "series": encode_series(track),
        "heat": {
            **{"bins": len(heat.bins), "most": heat.most, "palette": encode_bytes(heat.palette)},
            "data": encode_bytes(heat.level),
        },
        "angles": {**encode_joint_charts(joints, angles), "chosen": chosen},
    }
    sections = [
        _render_header(summary),
        _render_section("attention", "Needs attention", render_attention(summary["attention"])),
        _render_section("suspects", "Suspected swaps and ghosts", render_suspects(summary)),
        _render_section("time", "Over time", _render_timeline(track, summary, heat)),
        _render_section(
            *("markers", "Error of each marker", render_marker_bars(summary["error_per_marker"])),
            "Mean (bar), 95 % (pale bar) and largest distance from its place on the figure, mm.",
        ),
        _render_section(
            *("angles", "Joint angles", _render_angles(joints, angles, chosen, track.markers.rate)),
            "Bands hold 90 % (± 1.645 standard deviations, from the noise of the markers).",
        ),
        _render_section("repeat", "How it was made", _render_settings(track, summary)),
    ]
    return _render_page(f"{summary['skeleton']}: exactik report", "".join(sections), data)


def _render_page(title: str, body: str, data: Facts) -> str:
    # In a script element nothing is escaped but the end of it.
    plain = json.dumps(data, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(CONTENT_SECURITY_POLICY)}">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{escape(title)}</title><style>\n{_read_resource('_report.css')}</style></head>"
        f'<body><main>{body}</main><div id="readout" hidden></div>'
        f'<script type="application/json" id="data">{plain}</script>'
        f"<script>\n{_read_resource('_report.js')}</script></body></html>\n"
    )


def _read_resource(name: str) -> str:
    return resources.files("exactik.report").joinpath(name).read_text(encoding="utf-8")


def _render_section(name: str, title: str, inside: str, note: str = "") -> str:
    about = f'<p class="note">{escape(note)}</p>' if note else ""
    return f'<section id="{name}"><h2>{escape(title)}</h2>{about}{inside}</section>'


def _render_header(summary: Facts) -> str:
    source = os.path.basename(summary["source"].replace("\\", "/"))
    about = [source] if source else []
    about += [f"{summary['dofs']} dofs", format_count(len(summary["markers"]["used"]), "marker")]
    about += [f"{summary['duration_s']:.4g} s at {summary['rate_hz']:g} Hz"]
    return (
        f'<header><p class="kicker">exactik report</p><h1>{escape(summary["skeleton"])}</h1>'
        f'<p class="about">{escape(" · ".join(about))}</p>'
        f'<p class="headline">{escape(headline_of(summary))}</p>'
        f'<div class="tiles">{render_tiles(summary)}</div></header>'
    )


def _render_timeline(track: Track, summary: Facts, heat: HeatMap) -> str:
    """Return all plots that share the axis of time."""
    count = len(track)
    mean, most = (1e3 * values for values in compute_frame_errors(track))
    missing = find_missing(track)
    parts = [
        '<div class="tools" hidden><button data-zoom="in">zoom in</button><button data-zoom="out">'
        'zoom out</button><button data-zoom="all">whole recording</button><span>drag to zoom, '
        "double-click for the whole</span></div>",
        '<div class="plots">',
        axis_row(count, track.markers.rate),
    ]
    lanes = _make_attention_lanes(summary)
    if len(lanes) > 0:
        parts += [
            _render_title("What needs a look"),
            lanes_row(lanes, count, "stretches to look at"),
        ]
    series = [("most", most, "line"), ("mean", mean, "area")]
    key = '<i class="k mean">mean of the markers</i><i class="k most">worst marker</i>'
    top = _choose_error_axis(mean, most)
    if (np.nan_to_num(most) > top).any():
        key += (
            f"cut off at {top:g} mm, the worst is {format_millimetres(summary['error']['max_mm'])}"
        )
    parts += [
        _render_title("Error per frame", key),
        area_row(series, top, "mm", "error of each frame"),
    ]
    parts += [_render_title("Error per marker and frame"), heat_row(heat, track.names)]
    parts += _render_gaps(summary, missing)
    parts += _render_limits(track, summary)
    top = round_axis_end(float(track.iterations.max(initial=1)))
    stats = summary["iterations"]
    about = f"median {stats['median']:g}, 95 % up to {stats['p95']:g}, at most {stats['max']:g}"
    parts += [_render_title("Iterations of the last solve of each frame", escape(about))]
    values = track.iterations.astype(float)
    parts += [area_row([("iterations", values, "area")], top, "", "iterations of each frame", 70)]
    parts += [axis_row(count, track.markers.rate), "</div>"]
    first = summary["first_frame_in_file"]
    note = f"Frames are counted from 0; frame 0 is number {first} of the recording."
    return "".join(parts) + f'<p class="note">{note}</p>'


def _choose_error_axis(mean: np.ndarray, most: np.ndarray) -> float:
    """Return the end of an axis of errors [mm] that shows all means and most of the worst."""
    if not np.isfinite(mean).any():
        return 1.0
    high = max(1.2 * float(np.nanmax(mean)), 1.8 * float(np.nanpercentile(most, 90.0)))
    return round_axis_end(min(high, float(np.nanmax(most))))


def _render_title(text: str, key: str = "") -> str:
    return f'<h3>{escape(text)}<span class="keys">{key}</span></h3>'


def _make_attention_lanes(summary: Facts) -> list[Lane]:
    lanes = []
    for kind, label in KIND_LABELS.items():
        runs = sorted((a["first"], a["last"]) for a in summary["attention"] if a["kind"] == kind)
        if len(runs) > 0:
            lanes.append(Lane(label, f"{len(runs)} ×", runs, kind))
    swaps = [s for s in summary["swaps"] if s["verdict"] in ("likely", "repaired")]
    if len(swaps) > 0:
        runs = [(s["first"], s["last"]) for s in swaps]
        lanes.append(Lane("swapped", f"{len(runs)} ×", runs, "swap"))
    return lanes


def _render_gaps(summary: Facts, missing: np.ndarray) -> list[str]:
    gaps, names = summary["gaps"], summary["markers"]["used"]
    if len(gaps) == 0:
        return [_render_title("Gaps"), "<p>No marker is ever missing.</p>"]
    lanes = []
    for gap in gaps[:MAX_LANES]:
        hint = (
            f"{gap['name']}: {format_count(gap['gaps'], 'gap')}, longest {gap['longest_s']:.2f} s"
        )
        runs = find_segments(missing[:, names.index(gap["name"])])
        value = format_share(gap["frames"] / max(len(missing), 1))
        lanes.append(Lane(gap["name"], value, runs, "gap", hint))
    most, number = max(gap["longest_s"] for gap in gaps), sum(gap["gaps"] for gap in gaps)
    about = f"{format_count(number, 'gap')} of {format_count(len(gaps), 'marker')}"
    about += f", longest {most:.2f} s"
    if len(gaps) > MAX_LANES:
        about += f"; the {MAX_LANES} markers missing most"
    height = round_axis_end(float(missing.sum(axis=1).max()))
    curve = [("missing", missing.sum(axis=1).astype(float), "area")]
    return [
        _render_title("Gaps", escape(about)),
        area_row(curve, height, "", "markers missing in each frame", 60),
        lanes_row(lanes, len(missing), "gaps of each marker", 14),
    ]


def _render_limits(track: Track, summary: Facts) -> list[str]:
    if summary["settings"]["limits"] != "hard":
        text = f"<p>Limits were {summary['settings']['limits']}.</p>"
        return [_render_title("Limits touched"), text]
    if len(summary["limits"]) == 0:
        return [_render_title("Limits touched"), "<p>No dof touches a limit.</p>"]
    lanes, names = [], track.skeleton.dof_names
    for limit in summary["limits"][:MAX_LANES]:
        ends = [
            _format_limit(limit[key], limit["unit"])
            for key in ("lower", "upper")
            if limit[f"share_{key}"] > 0.0
        ]
        runs = find_segments(track.at_limits[:, names.index(limit["dof"])])
        hint = f"{limit['dof']}: at {' and '.join(ends)}"
        lanes.append(Lane(limit["dof"], format_share(limit["share"]), runs, "limit", hint))
    about = f"{format_count(len(summary['limits']), 'dof')}; share of the frames to the right"
    if len(summary["limits"]) > MAX_LANES:
        about += f"; the {MAX_LANES} that do most"
    return [
        _render_title("Limits touched", escape(about)),
        lanes_row(lanes, len(track), "limits", 15),
    ]


def _format_limit(value: float, unit: str) -> str:
    return f"{np.degrees(value):.0f}°" if unit == "rad" else f"{value:.3f} m"


def _render_angles(
    joints: list[JointChart], angles: AngleCurves, chosen: list[int], rate: float
) -> str:
    chips = "".join(
        f'<button data-joint="{n}" aria-pressed="{"true" if n in chosen else "false"}">'
        f"{escape(joint.name)}</button>"
        for n, joint in enumerate(joints)
    )
    shown = draw_joint_charts(joints, angles, chosen, rate)
    return f'<div class="chips" hidden>{chips}</div><div id="charts" class="plots">{shown}</div>'


def _render_settings(track: Track, summary: Facts) -> str:
    error, names, settings = summary["error"], summary["markers"], summary["settings"]
    facts: dict[str, Any] = {
        "recording": summary["source"],
        "solver": summary["solver"],
        **{name.replace("_", " "): value for name, value in settings.items()},
        "noise of the markers (each axis)": format_millimetres(summary["sigma_mm"]),
        "median and largest error": f"{format_millimetres(error['median_mm'])}, "
        f"{format_millimetres(error['max_mm'])}",
        "frames filled, bridged, not at rest": f"{summary['filled_frames']}, "
        f"{summary['bridged_frames']}, {summary['not_converged_frames']}",
        "seconds": summary["seconds"],
        "markers not used": names["ignored"],
        "markers not recorded": names["not_in_recording"],
        "markers never seen": names["never_seen"],
        "notes on the file": "; ".join(summary["notes"]),
        **summary["versions"],
    }
    command = summary["command"]
    code = (
        f"<pre><code>{escape(command)}</code></pre>"
        if command
        else ("<p>It was made from Python, and no command was given.</p>")
    )
    return f"<h3>To repeat it</h3>{code}<h3>Settings and versions</h3>{render_facts(facts)}"
