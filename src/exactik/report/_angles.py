"""Angles of the joints over time, with error bands, of some joints and of any that are chosen."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from exactik.report._data import AngleCurves, Bins, round_axis_end
from exactik.report._plots import axis_row, curve_path, plot_row

if TYPE_CHECKING:
    from exactik.tracking import Track

__all__ = [
    "JointChart",
    "choose_initial_charts",
    "draw_joint_charts",
    "encode_joint_charts",
    "make_joint_charts",
]

BAND_SD = 1.645  # standard deviations on both sides hold 90 % of a normal distribution
INITIAL_CHARTS = 6  # joints that are shown at first
MIN_RANGE_SD = 4.0  # standard deviations of its range that a joint is known worse by
MAX_RANGE_DEG = 270.0  # [°] more is not movement but a change to other angles of the same pose
CHART_POINTS = 500


class JointChart(NamedTuple):
    """Dofs of a bone that have the same unit: one chart.

    Attributes:
        name: of the bone, "(shift)" behind it where it also turns.
        unit: "°" or "m".
        dofs: their indices.
        short: their names without the bone.
        root: whether it places the whole figure.
    """

    name: str
    unit: str
    dofs: tuple[int, ...]
    short: tuple[str, ...]
    root: bool


def make_joint_charts(track: Track) -> list[JointChart]:
    """Return all joints, those that move both ways twice."""
    skeleton, joints = track.skeleton, []
    first = skeleton.tree.first_v
    for k, bone in enumerate(skeleton.bones):
        own = range(int(first[k + 1]), int(first[k + 2]))
        turning = [v for v in own if skeleton.turns[v]]
        shifting = [v for v in own if not skeleton.turns[v]]
        for dofs, unit in ((shifting, "m"), (turning, "°")):
            if len(dofs) == 0:
                continue
            both = len(shifting) > 0 and len(turning) > 0
            name = f"{bone.name} (shift)" if both and unit == "m" else bone.name
            short = tuple(skeleton.dof_names[v][len(bone.name) + 1 :] for v in dofs)
            joints.append(JointChart(name, unit, tuple(dofs), short, bone.parent is None))
    return joints


def choose_initial_charts(joints: list[JointChart], angles: AngleCurves) -> list[int]:
    """Return which joints to show at first: those that turn most and are known well, in order."""

    def reach(joint: JointChart) -> float:
        if joint.root or joint.unit != "°":
            return -1.0
        dofs = list(joint.dofs)
        span = angles.high[:, dofs].max(axis=0) - angles.low[:, dofs].min(axis=0)
        if span.max() > MAX_RANGE_DEG:
            return -1.0
        return float((span - MIN_RANGE_SD * np.median(angles.sd[:, dofs], axis=0)).max())

    moving = [n for n in range(len(joints)) if reach(joints[n]) > 0.0]
    return sorted(sorted(moving, key=lambda n: -reach(joints[n]))[:INITIAL_CHARTS])


def encode_joint_charts(joints: list[JointChart], angles: AngleCurves) -> dict[str, Any]:
    """Return all joints for the script that draws those which are chosen."""
    return {
        "bins": len(angles.bins),
        "within": BAND_SD,
        "joints": [
            {
                **{"name": joint.name, "unit": joint.unit, "range": _axis_range(joint, angles)},
                "dofs": [
                    {"name": short, **angles.encode(k)}
                    for short, k in zip(joint.short, joint.dofs, strict=True)
                ],
            }
            for joint in joints
        ],
    }


def draw_joint_charts(
    joints: list[JointChart], angles: AngleCurves, chosen: list[int], rate: float
) -> str:
    """Return charts of the chosen joints; the script draws the same ones again."""
    axis = axis_row(angles.bins.frames, rate, marks=6)
    return "".join(_draw_chart(joints[n], angles, axis) for n in chosen)


def _axis_range(joint: JointChart, angles: AngleCurves) -> tuple[float, float]:
    """Return lower and upper end of the axis: the curves, and bands as far as they are narrow."""
    dofs = list(joint.dofs)
    low, high, wide = angles.low[:, dofs], angles.high[:, dofs], BAND_SD * angles.sd[:, dofs]
    least, most = float(low.min()), float(high.max())
    room = max(most - least, 4.0 if joint.unit == "°" else 0.02)
    # Bands of moments without markers are as wide as all angles; they run out of the chart.
    bottom = max(float(np.percentile(low - wide, 2.0)), least - 0.3 * room)
    top = min(float(np.percentile(high + wide, 98.0)), most + 0.3 * room)
    bottom, top = min(bottom, least) - 0.03 * room, max(top, most) + 0.03 * room
    step = round_axis_end((top - bottom) / 8.0)
    return step * np.floor(bottom / step), step * np.ceil(top / step)


def _draw_chart(joint: JointChart, angles: AngleCurves, axis: str) -> str:
    bottom, top = _axis_range(joint, angles)
    count, bins = angles.bins.frames, Bins.of(len(angles.bins), CHART_POINTS)
    x = angles.bins.middles[bins.edges]

    def height(values: np.ndarray) -> np.ndarray:
        return 100.0 * (top - values) / (top - bottom)

    inside = []
    for n, k in enumerate(joint.dofs):
        low, high = bins.least(angles.low[:, k]), bins.most(angles.high[:, k])
        wide = BAND_SD * bins.most(angles.sd[:, k])
        edge = np.concatenate([height(high + wide), height(low - wide)[::-1]])
        around = curve_path(np.concatenate([x, x[::-1]]), np.clip(edge, -50.0, 150.0))
        inside.append(f'<path class="band c{n % 6}" d="{around}Z"/>')
        inside.append(
            f'<path class="line c{n % 6}" d="{curve_path(x, height((low + high) / 2))}"/>'
        )
    svg = (
        f'<svg class="plot" role="img" aria-label="angles of {escape(joint.name)}" '
        f'viewBox="0 0 {count} 100" preserveAspectRatio="none">{"".join(inside)}</svg>'
    )
    digits = 0 if joint.unit == "°" and top - bottom >= 8.0 else 2
    values = [(at, bottom + (top - bottom) * (1 - at / 100)) for at in (0, 50, 100)]
    ticks = "".join(
        f'<span class="tick" style="top:{at}%">{value:.{digits}f}</span>' for at, value in values
    )
    key = "".join(f'<i class="c{n % 6}">{escape(name)}</i>' for n, name in enumerate(joint.short))
    title = f"<h4>{escape(joint.name)} <small>{joint.unit}</small><span>{key}</span></h4>"
    return f'<figure class="joint">{title}{plot_row(ticks, svg, "", 120, "curve")}{axis}</figure>'
