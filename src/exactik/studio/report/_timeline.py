"""All plots of a track that share the axis of time."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from exactik._text import count_noun
from exactik.model.motion import find_segments
from exactik.recordings.angles import JointWords
from exactik.recordings.diagnosis import STRETCHES
from exactik.recordings.tracking import GRAVITY
from exactik.studio.plots.axes import Bins, ValueAxis, round_axis_end
from exactik.studio.plots.colours import QUALITY_COLOURS, encode_png, error_colours
from exactik.studio.plots.drawing import (
    Lane,
    draw_area_row,
    draw_axis_row,
    draw_lanes_row,
    draw_row,
    render_title,
    render_zoom_tools,
    wrap_plot,
)
from exactik.studio.report._headline import format_millimetres, format_share
from exactik.studio.report._series import HeatMap
from exactik.studio.report._summary import find_missing
from exactik.typing import Array

if TYPE_CHECKING:
    from exactik.recordings.tracking import Track


Facts = Mapping[str, Any]

MAX_LANES = 24  # markers or dofs that get a lane of their own
HEAT_COLUMNS = 1800  # of pictures over time: more than a page has pixels
HEAT_ROW_PX = 15  # height of a marker in the heat map
MIN_HEAT_PX = 120  # height of the heat map, whose scale needs room, of few markers
MAP_ROW_PX = 11.0  # height of a joint in the map of the first screen
MAIN_JOINTS = ("hip", "knee", "ankle", "shoulder", "elbow", "wrist")  # that have a row in it
MAX_HEAT_PX = 900  # height of the heat map


def render_quality(track: Track, summary: Facts) -> str:
    """Return what needs a look, what every joint is worth, and limits, over time."""
    count = len(track)
    parts = []
    lanes = _make_attention_lanes(summary)
    if len(lanes) > 0:
        parts += [
            render_title("What needs a look"),
            draw_lanes_row(lanes, count, "stretches to look at"),
        ]
    moving = np.unique(track.skeleton.dof_bones)
    rank = np.argsort(GRAVITY)[track.joint_quality[:, moving]]
    names = [track.skeleton.bone_names[k] for k in moving]
    parts += [render_title("Quality of each joint and frame", render_quality_key())]
    parts += [_draw_quality(rank, names), *_render_limits(track, summary)]
    return _frame_plots(parts, track)


def render_quality_map(track: Track) -> str:
    """Return what the joints are worth over time, as a small picture: the large ones with markers.

    Of a body trunk, neck and head are a row each; toes, fingers and collarbones have none.
    """
    skeleton, held = track.skeleton, set(track.verdict.held)
    words, rows = JointWords(skeleton), dict[str, list[int]]()
    is_of_body = any(joint.endswith(MAIN_JOINTS) for joint in words.joints.values())
    for k in np.unique(skeleton.dof_bones):
        name = skeleton.bone_names[k]
        joint, limb = words.joints[name], words.limbs[name]
        row = limb if limb in ("trunk", "head") and joint != "pelvis" else joint
        if name not in held and (row in ("pelvis", limb) or row.endswith(MAIN_JOINTS)):
            rows.setdefault(row, []).append(k)
        elif name not in held and not is_of_body:
            rows.setdefault(joint, []).append(k)
    rank = np.argsort(GRAVITY)[track.joint_quality]
    worst = [rank[:, columns].max(axis=1) for columns in rows.values()]
    if len(worst) == 0:
        return ""
    picture = _draw_quality(np.stack(worst, axis=1), list(rows), line=MAP_ROW_PX)
    title = render_title("What each joint is worth over time", render_quality_key())
    return f'<div class="plots map">{title}{picture}</div>'


def render_errors(track: Track, summary: Facts, heat: HeatMap) -> str:
    """Return how far markers are off and when they are missing, over time."""
    mean, most = (1e3 * values for values in track.frame_errors)
    if np.isfinite(most).any():
        parts = _render_errors(track, summary, heat, mean, most)
    else:
        parts = [render_title("Error per frame"), "<p>No marker is seen in any frame.</p>"]
    return _frame_plots([*parts, *_render_gaps(summary, find_missing(track))], track)


def render_iterations(track: Track, summary: Facts) -> str:
    """Return the iterations of each frame, over time."""
    top = round_axis_end(float(track.iterations.max(initial=1)))
    stats = summary["iterations"]
    about = f"median {stats['median']:g}, 95 % up to {stats['p95']:g}, at most {stats['max']:g}"
    values = track.iterations.astype(float)
    parts = [
        render_title("Iterations of the last solve of each frame", escape(about)),
        draw_area_row([("iterations", values, "area")], top, "", "iterations of each frame", 70),
    ]
    return _frame_plots(parts, track, tools=False)


def _frame_plots(parts: Sequence[str], track: Track, *, tools: bool = True) -> str:
    """Return plots above the axis of time that they share."""
    buttons = render_zoom_tools() if tools else ""
    axis = draw_axis_row(len(track), track.markers.rate)
    return f'{buttons}<div class="plots">{"".join(parts)}{axis}</div>'


def render_quality_key() -> str:
    """Return which colour is which quality."""
    return "".join(
        f'<i class="k" style="--own:rgb{QUALITY_COLOURS[quality]}">{quality.name.lower()}</i>'
        for quality in GRAVITY
    )


def _draw_quality(rank: NDArray[np.int64], names: Sequence[str], line: float | None = None) -> str:
    """Return a picture of ranks in `GRAVITY`, (T, rows): the worst of each column."""
    bins = Bins.of(len(rank), HEAT_COLUMNS)
    level = 1 + np.maximum.reduceat(rank, bins.edges, axis=0).T
    colours = [(0, 0, 0), *(QUALITY_COLOURS[quality] for quality in GRAVITY)]
    picture = np.ascontiguousarray(level.astype(np.uint8))
    about = "what each joint is worth over time"
    return _draw_picture(
        picture, np.array(colours, dtype=np.uint8), names, bins.frames, about, line=line
    )


def _render_errors(
    track: Track, summary: Facts, heat: HeatMap, mean: Array, most: Array
) -> list[str]:
    """Return the errors of the frames and of each marker."""
    series = [("most", most, "line"), ("mean", mean, "area")]
    key = '<i class="k mean">mean of the markers</i><i class="k most">worst marker</i>'
    top = _choose_error_axis(mean, most)
    if (np.nan_to_num(most) > top).any():
        key += (
            f"cut off at {top:g} mm, the worst is {format_millimetres(summary['error']['max_mm'])}"
        )
    return [
        render_title("Error per frame", key),
        draw_area_row(series, top, "mm", "error of each frame"),
        render_title("Error per marker and frame"),
        _heat_row(heat, track.names),
    ]


def _choose_error_axis(mean: np.ndarray, most: np.ndarray) -> float:
    """Return the end of an axis of errors [mm] that shows all means and most of the worst."""
    if not np.isfinite(mean).any():
        return 1.0
    high = max(1.2 * float(np.nanmax(mean)), 1.8 * float(np.nanpercentile(most, 90.0)))
    return round_axis_end(min(high, float(np.nanmax(most))))


def _make_attention_lanes(summary: Facts) -> list[Lane]:
    lanes = []
    for kind, words in STRETCHES.items():
        runs = sorted((a["first"], a["last"]) for a in summary["attention"] if a["kind"] == kind)
        if len(runs) > 0:
            lanes.append(Lane(words.label, count_noun(len(runs), "time"), runs, kind))
    swaps = [s for s in summary["swaps"] if s["verdict"] == "repaired"]
    if len(swaps) > 0:
        runs = [(s["first"], s["last"]) for s in swaps]
        lanes.append(Lane("repaired", count_noun(len(runs), "time"), runs, "swap"))
    return lanes


def _render_gaps(summary: Facts, missing: np.ndarray) -> list[str]:
    gaps, names = summary["gaps"], summary["markers"]["used"]
    if len(gaps) == 0:
        return [render_title("Gaps"), "<p>No marker is ever missing.</p>"]
    lanes = []
    for gap in gaps[:MAX_LANES]:
        hint = f"{gap['name']}: {count_noun(gap['gaps'], 'gap')}, longest {gap['longest_s']:.2f} s"
        runs = find_segments(missing[:, names.index(gap["name"])])
        value = format_share(gap["frames"] / max(len(missing), 1))
        lanes.append(Lane(gap["name"], value, runs, "gap", hint))
    most, number = max(gap["longest_s"] for gap in gaps), sum(gap["gaps"] for gap in gaps)
    about = f"{count_noun(number, 'gap')} of {count_noun(len(gaps), 'marker')}"
    about += f", longest {most:.2f} s"
    if len(gaps) > MAX_LANES:
        about += f"; the {MAX_LANES} markers missing most"
    height = round_axis_end(float(missing.sum(axis=1).max()))
    curve = [("missing", missing.sum(axis=1).astype(float), "area")]
    return [
        render_title("Gaps", escape(about)),
        draw_area_row(curve, height, "", "markers missing in each frame", 60),
        draw_lanes_row(lanes, len(missing), "gaps of each marker", 14),
    ]


def _render_limits(track: Track, summary: Facts) -> list[str]:
    if summary["settings"]["limits"] != "hard":
        text = f"<p>Limits were {summary['settings']['limits']}.</p>"
        return [render_title("Limits touched"), text]
    if len(summary["limits"]) == 0:
        return [render_title("Limits touched"), "<p>No joint reaches the end of its range.</p>"]
    lanes, names = [], track.skeleton.dof_names
    for limit in summary["limits"][:MAX_LANES]:
        ends = [
            _format_limit(limit[key], limit["unit"])
            for key in ("lower", "upper")
            if limit[f"share_{key}"] > 0.0
        ]
        runs = find_segments(track.at_limits[:, names.index(limit["dof"])])
        hint = f"{limit['dof']}: at {' and '.join(ends)}"
        lanes.append(Lane(limit["words"], format_share(limit["share"]), runs, "limit", hint))
    return draw_touches(lanes, len(summary["limits"]), len(track))


def draw_touches(lanes: Sequence[Lane], touched: int, count: int) -> list[str]:
    """Return when dofs touch their limits.

    Args:
        lanes: of those that do it most.
        touched: number of all that do.
        count: number of frames.
    """
    about = f"{count_noun(touched, 'dof')}; share of the frames to the right"
    if touched > len(lanes):
        about += f"; the {len(lanes)} that do most"
    return [
        render_title("Limits touched", escape(about)),
        draw_lanes_row(lanes, count, "limits", 15),
    ]


def _format_limit(value: float, unit: str) -> str:
    return f"{np.degrees(value):.0f}°" if unit == "rad" else f"{value:.3f} m"


def _heat_row(heat: HeatMap, names: Sequence[str]) -> str:
    """Return the errors of the markers as a picture."""
    bins = Bins.of(len(heat.bins), HEAT_COLUMNS)
    level = np.ascontiguousarray(np.maximum.reduceat(heat.level, bins.edges, axis=0).T)
    about, frames = "error of every marker over time", heat.bins.frames
    scale = _heat_scale(heat)
    return _draw_picture(level, heat.palette, names, frames, about, scale, extra='id="heat"')


def _draw_picture(
    level: NDArray[np.uint8],
    palette: NDArray[np.uint8],
    names: Sequence[str],
    frames: int,
    about: str,
    right: str = "",
    extra: str = "",
    line: float | None = None,
) -> str:
    """Return a picture with a row for each name, `line` px high, and columns over the frames."""
    data = base64.b64encode(encode_png(level, palette)).decode("ascii")
    count = max(len(names), 1)
    if line is None:
        line = max(4.0, MIN_HEAT_PX / count, min(float(HEAT_ROW_PX), MAX_HEAT_PX / count))
    label_step = int(np.ceil(11.0 / line))  # names closer than 11 px would overlap
    labels = "".join(
        f'<span class="name small" style="height:{line * label_step:g}px;line-height:'
        f'{min(line * label_step, HEAT_ROW_PX):g}px" title="{escape(name)}">{escape(name)}</span>'
        for name in names[::label_step]
    )
    height = round(line * len(names))
    image = (
        f'<image href="data:image/png;base64,{data}" width="{frames}" '
        f'height="{len(names)}" preserveAspectRatio="none"/>'
    )
    svg = wrap_plot(frames, len(names), image, about, extra=extra)
    return draw_row(labels, svg, right, height, "heat")


def _heat_scale(heat: HeatMap) -> str:
    """Return the legend of the heat map."""
    steps = error_colours(np.linspace(1.0, 0.0, 11))
    stops = ",".join(f"rgb({r},{g},{b})" for r, g, b in steps)
    ticks = ValueAxis(0.0, heat.top).draw_ticks(
        (1.0, 0.75, 0.5, 0.25, 0.0),
        lambda value: f"≥ {value:.3g} mm" if value == heat.top else f"{value:.3g}",
    )
    return (
        f'<div class="scale"><div class="ramp" style="background:linear-gradient({stops})"></div>'
        f'<div class="ticks">{ticks}</div></div><div class="key"><i class="hatch"></i>missing</div>'
    )
