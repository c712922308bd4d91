"""The report on a retargeted motion: verdict, findings, curves, which bone took over which."""

from __future__ import annotations

import os
from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from exactik._text import count_noun, file_name, join_names
from exactik.model import Pose
from exactik.model.motion import Motion, find_segments
from exactik.studio.player.data import encode_scene
from exactik.studio.player.scene import Ghost, PlayerScene, compose_scene
from exactik.studio.plots.axes import round_axis_end
from exactik.studio.plots.drawing import (
    Lane,
    draw_area_row,
    draw_axis_row,
    draw_lanes_row,
    render_title,
    render_zoom_tools,
)
from exactik.studio.report._findings import format_times, render_stretch_link, render_table
from exactik.studio.report._header import assemble_header, assemble_verdict, capitalise
from exactik.studio.report._headline import format_share
from exactik.studio.report._page import render_making, render_page, render_section, write_page
from exactik.studio.report._series import encode_16_bit
from exactik.studio.report._summary import collect_versions
from exactik.studio.report._timeline import draw_touches
from exactik.studio.report.retargeting._measures import (
    FAST,
    JUMP,
    MAX_SLIDE_MM,
    MAX_WRIST_PERCENT,
    SLIDE,
    WRIST,
    FaultyStretch,
    Measures,
    measure_retargeting,
)
from exactik.typing import Array

if TYPE_CHECKING:
    from exactik.retargeting import Retargeting


MAX_LANES = 20  # dofs at limits that get a lane
MAX_NAMED = 30  # bones without a counterpart that are named
STYLES = {SLIDE: "poor-fit", WRIST: "gap", JUMP: "jump", FAST: "jump"}  # colours of the style sheet
SIDE_COLOURS = {"right": "c0", "left": "c1"}  # as all charts have them
BESIDE = "blue: the source, shifted to stay beside"
POINTS = {"ankle": "heel", "ball": "ball"}


def write_retargeting_report(
    result: Retargeting, path: str | os.PathLike[str], command: str = ""
) -> None:
    """Write the report on a retargeted motion to an .html file, whole or not at all.

    Args:
        result: what `retarget` returned.
        path: of the file.
        command: that repeats it.
    """
    write_page(path, render_retargeting_report(result, command))


def render_retargeting_report(result: Retargeting, command: str = "") -> str:
    """Return the report as text, see `write_retargeting_report`."""
    measures = measure_retargeting(result)
    findings, rate = measures.findings, result.motion.rate
    first = findings[0].frame if len(findings) > 0 else _find_widest_step(result)
    scene = compose_pair(result, [finding.frame for finding in findings], first)
    player = encode_scene(scene)
    sections = [
        render_section("attention", "Needs attention", _render_findings(findings, rate)),
        render_section("time", "Over time", _render_timeline(result, measures)),
        render_section(
            "bones", "Which bone took over which", _render_correspondence(result), _describe(result)
        ),
        render_section("repeat", "How it was made", _render_making(result, command)),
    ]
    data = {
        "frames": len(result.motion),
        "rate": rate,
        "series": {name: encode_16_bit(values) for name, values in _list_series(measures).items()},
        "readout": [
            {"series": "slide", "name": "feet slide", "unit": "mm", "digits": 3},
            {"series": "left", "name": "left wrist off", "unit": "%", "digits": 1},
            {"series": "right", "name": "right wrist off", "unit": "%", "digits": 1},
            {"series": "turn", "name": "limbs turn", "unit": "°", "digits": 1},
        ],
        "angles": {"bins": 1, "within": 0.0, "joints": [], "chosen": []},
        "player": {**player, "notes": [BESIDE, *player["notes"]], "ghosts_name": "source"},
    }
    header = _render_header(result, measures)
    return render_page(f"{_name_source(result)}: exactik report", header, scene, sections, data)


def _find_widest_step(result: Retargeting) -> int:
    """Return the frame in which the feet are farthest apart: a picture of a stride."""
    apart = np.linalg.norm(
        result.source_body.ankle("left") - result.source_body.ankle("right"), axis=1
    )
    return int(np.argmax(apart))


def _name_source(result: Retargeting) -> str:
    return file_name(result.source.source) or result.source.skeleton.name


def _list_series(measures: Measures) -> dict[str, Any]:
    series = {"slide": measures.slides, **measures.wrists}
    return {**series, "turn": measures.turns, "source_turn": measures.source_turns}


def _render_header(result: Retargeting, measures: Measures) -> str:
    frames, rate = len(result.motion), result.motion.rate
    figure = result.motion.skeleton
    about = [
        f"retargeted to {figure.name}, {figure.nv} dofs",
        f"{frames / rate:.4g} s at {rate:g} Hz",
        f"path × {result.scale:.3f}",
    ]
    wrist = max(float(errors.max(initial=0.0)) for errors in measures.wrists.values())
    jumps = sum(finding.kind == JUMP for finding in measures.findings)
    slide = f"{1e3 * float(result.foot_slides.max()):.3f} mm" if len(result.contacts) > 0 else "–"
    numbers = [
        (slide, "feet slide at most"),
        (f"{wrist:.2f} %", "of the arm: wrists off at most"),
        (str(jumps), "jump of a limb" if jumps == 1 else "jumps of limbs"),
        (
            f"{measures.turns.max():.1f}°",
            f"a frame: limbs turn; source {measures.source_turns.max():.1f}°",
        ),
        (
            f"{result.limit_excess:.2g}" if result.limit_excess > 0.0 else "0",
            "rad or m beyond limits",
        ),
        _tell_speed(result),
    ]
    return assemble_header(_name_source(result), about, _render_verdict(result), numbers)


def _tell_speed(result: Retargeting) -> tuple[str, str]:
    """Return the speed of the joint nearest to its limit, or of the fastest without limits."""
    nearest = max(result.hinge_speeds, key=lambda h: h.share, default=result.fastest_hinge)
    if nearest.share > 0.0:
        return f"{100.0 * nearest.share:.0f} %", f"of its top speed at most: {nearest.name}"
    fastest = result.fastest_hinge
    return f"{fastest.speed:.1f} rad/s", f"at most: {fastest.name or 'no hinge'}"


def _render_verdict(result: Retargeting) -> str:
    grade, words = ("care", "Needs a look") if result.needs_look else ("good", "In order")
    stand = f"Heels and balls stand {count_noun(len(result.contacts), 'time')}"
    sentence = (
        f"{stand}; feet, wrists and limits are where they should be, and no limb jumps."
        if not result.needs_look
        else f"{stand}. What is not as it should be:"
    )
    rows = [f'<li class="care">{escape(capitalise(text))}.</li>' for text in result.problems]
    rows += [f'<li class="aside">{escape(capitalise(text))}.</li>' for text in result.notes]
    return assemble_verdict(grade, words, escape(sentence), rows)


def _render_findings(findings: tuple[FaultyStretch, ...], rate: float) -> str:
    if len(findings) == 0:
        return (
            "<p>Nothing: feet stand, wrists are in their places, nothing jumps or is too fast.</p>"
        )
    rows = []
    for finding in findings:
        stretch = {
            **finding._asdict(),
            "start_s": finding.first / rate,
            "end_s": finding.last / rate,
        }
        badge = f'<span class="badge {STYLES[finding.kind]}">{escape(finding.kind)}</span>'
        link = render_stretch_link(stretch, lambda *_, frame=finding.frame: frame)
        cells = (link, format_times(stretch), badge, escape(finding.text))
        rows.append("".join(f"<td>{cell}</td>" for cell in cells))
    return render_table(("Frames", "Time", "What", "Why"), rows, "stretches")


def _render_timeline(result: Retargeting, measures: Measures) -> str:
    count, rate = len(result.motion), result.motion.rate
    parts = [render_zoom_tools(), '<div class="plots">', draw_axis_row(count, rate)]
    kinds = [kind for kind in STYLES if any(f.kind == kind for f in measures.findings)]
    if len(kinds) > 0:
        runs = {k: [(f.first, f.last) for f in measures.findings if f.kind == k] for k in kinds}
        lanes = [
            Lane(kind, count_noun(len(runs[kind]), "time"), runs[kind], STYLES[kind])
            for kind in kinds
        ]
        parts += [
            render_title("What needs a look"),
            draw_lanes_row(lanes, count, "stretches to look at"),
        ]
    parts += _render_feet(result, measures)
    largest = max(float(errors.max(initial=0.0)) for errors in measures.wrists.values())
    key = '<i class="k left">left</i><i class="k right">right</i>'
    key += f"in lengths of the arm; beyond {MAX_WRIST_PERCENT:g} % is off"
    sides = [
        (side, errors, f"line {SIDE_COLOURS[side]}") for side, errors in measures.wrists.items()
    ]
    top = round_axis_end(max(largest, MAX_WRIST_PERCENT))
    parts += [
        render_title("Wrists off their places", key),
        draw_area_row(sides, top, "%", "wrists"),
    ]
    key = '<i class="k mean">figure</i><i class="k most">source</i>since the frame before'
    turns = [
        ("turn", measures.turns, "area mean"),
        ("source_turn", measures.source_turns, "line most"),
    ]
    top = round_axis_end(max(float(np.max([t.max() for _, t, _ in turns])), 1.0))
    parts += [render_title("Largest turn of a limb", key), draw_area_row(turns, top, "°", "turns")]
    parts += _render_touches(measures, count)
    return "".join(parts) + f"{draw_axis_row(count, rate)}</div>"


def _render_feet(result: Retargeting, measures: Measures) -> list[str]:
    title = "Feet"
    if len(result.contacts) == 0:
        return [render_title(title), "<p>No foot of the source stands anywhere.</p>"]
    lanes = []
    for side in ("left", "right"):
        for point, word in POINTS.items():
            stands = [c.frames for c in result.contacts if (c.side, c.point) == (side, point)]
            runs = [(frames.first, frames.last) for frames in stands]
            lanes.append(Lane(f"{side} {word}", count_noun(len(runs), "time"), runs, "gap"))
    largest = float(np.nanmax(measures.slides))
    key = escape(
        f"when they stand, and how far they slide then; beyond {MAX_SLIDE_MM:g} mm is seen"
    )
    top = round_axis_end(max(largest, MAX_SLIDE_MM))
    return [
        render_title(title, key),
        draw_lanes_row(lanes, len(measures.slides), "when feet stand", 17),
        draw_area_row(
            [("slide", measures.slides, "area mean")], top, "mm", "how far feet slide", 70
        ),
    ]


def _render_touches(measures: Measures, count: int) -> list[str]:
    if len(measures.touches) == 0:
        return [render_title("Limits touched"), "<p>No dof touches a limit.</p>"]
    lanes = [
        Lane(name, format_share(float(at.mean())), find_segments(at), "limit")
        for name, at in list(measures.touches.items())[:MAX_LANES]
    ]
    return draw_touches(lanes, len(measures.touches), count)


def _render_correspondence(result: Retargeting) -> str:
    rows = [
        "".join(
            f"<td>{escape(cell)}</td>"
            for cell in (pair.part.replace("_", " "), pair.source, pair.target)
        )
        for pair in result.correspondence.pairs
    ]
    return render_table(("Part", "Bone of the source", "Bone of the figure"), rows, "pairs")


def _describe(result: Retargeting) -> str:
    """Return which bones have no counterpart."""
    matched, sentences = result.correspondence, []
    for names, whose in ((matched.source_only, "the source"), (matched.target_only, "the figure")):
        if len(names) > 0:
            sentences.append(f"Only {whose} has {join_names(names, MAX_NAMED)}.")
    return " ".join(sentences)


def _render_making(result: Retargeting, command: str) -> str:
    facts = {
        "source": file_name(result.source.source),
        "bones of source and figure": f"{len(result.source.skeleton.bones)}, "
        f"{len(result.motion.skeleton.bones)}",
        "legs of the figure over those of the source": f"{result.scale:.4f}",
        "seconds": result.seconds,
        **collect_versions(),
    }
    return render_making(command, "Versions", facts)


# --- the figure and its source side by side, as a scene for the player


GAP_SHARE = 0.8  # of the height of the taller one, between hips: arms held out hardly touch


def compose_pair(result: Retargeting, wanted: list[int], first: int) -> PlayerScene:
    """Return both: the source, pale, keeps to the left of the figure, hip beside hip.

    Whatever the ratio of their legs, they so stay together; heights are those of each.

    Args:
        result: of the retargeting.
        wanted: frames that are shown in any case.
    """
    motion, skeleton = result.motion, result.target_figure.skeleton
    scene = compose_scene(
        Motion(skeleton, motion.q, motion.rate, up_axis="z"), wanted=wanted, first=first
    )
    source, frames = result.source_body, scene.frames
    assert scene.pose is not None
    hips = _find_hips(result, scene.pose)
    places = source.positions[frames]
    shift = hips - source.hip_centres()[frames] + _find_aside(result, scene.pose, hips)
    shift[:, 2] = 0.0
    pose = Pose(source.figure.skeleton, places + shift[:, None], source.rotations[frames])
    ghost = Ghost(pose, np.ones(len(frames), dtype=bool))
    return replace(scene, ghosts=(ghost,))


def _find_hips(result: Retargeting, pose: Pose) -> Array:
    """Return the middle of the figure's hips [m, world], (K, 3)."""
    thighs = [result.target_figure.start_of(f"{side}_thigh") for side in ("left", "right")]
    return pose.positions[:, thighs].mean(axis=1)


def _find_aside(result: Retargeting, pose: Pose, hips: Array) -> Array:
    """Return from the figure to its source [m, world], (3,): left of where it goes or faces."""
    left, right = (result.target_figure.start_of(f"{s}_thigh") for s in ("left", "right"))
    across = (pose.positions[:, left] - pose.positions[:, right]).mean(axis=0)
    way = hips[-1] - hips[0]
    heights = [
        np.ptp(part[..., 2], axis=1).max()
        for part in (pose.positions, result.source_body.positions)
    ]
    if np.hypot(way[0], way[1]) > max(heights):  # it goes somewhere
        across = np.array([-way[1], way[0], 0.0])
    across[2] = 0.0
    length = float(np.linalg.norm(across))
    unit = across / length if length > 1e-9 else np.array([0.0, 1.0, 0.0])
    return GAP_SHARE * float(max(heights)) * unit
