"""Angles of the joints over time, with error bands, of some joints and of any that are chosen."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from exactik.report._series import Bins, encode_bytes, round_axis_end
from exactik.report._timeline import axis_row, curve_path, plot_row
from exactik.tracking import compute_standard_deviations
from exactik.typing import Array

if TYPE_CHECKING:
    from exactik.tracking import Track

__all__ = [
    "AngleCurves",
    "JointChart",
    "choose_initial_charts",
    "encode_joint_charts",
    "make_angle_curves",
    "make_joint_charts",
    "render_joint_charts",
]

MIN_MAX_ANGLE_BYTES = 900_000, 5_000_000  # for short and for long recordings, as text
ANGLE_BYTES_PER_FRAME = 120  # bytes of angles that a frame adds, between these two
BAND_SD = 1.645  # standard deviations on both sides hold 90 % of a normal distribution
INITIAL_CHARTS = 6  # that are shown before the reader chooses
MIN_RANGE_SD = 4.0  # standard deviations of its range that a joint is known worse by
MAX_RANGE_DEG = 270.0  # [°] more is not movement but a change to other angles of the same pose
CHART_POINTS = 500  # of a curve, without scripts


class AngleCurves(NamedTuple):
    """Coordinates of all dofs with their error bars, in degrees or metres.

    Attributes:
        bins: of the frames.
        low: least of each bin, (n, nv).
        high: most of each bin.
        sd: standard deviation, (n, nv).
    """

    bins: Bins
    low: Array
    high: Array
    sd: Array

    def encode(self, k: int) -> dict[str, Any]:
        """Return a dof as text."""
        low, high = float(self.low[:, k].min()), float(self.high[:, k].max())
        step = max(high - low, 1e-9) / 65535.0
        wide = float(self.sd[:, k].max())
        root = np.round(255.0 * np.sqrt(self.sd[:, k] / max(wide, 1e-12)))
        data = {"low": low, "step": step, "wide": wide, "sd": encode_bytes(root.astype(np.uint8))}
        data["a"] = encode_bytes(np.round((self.low[:, k] - low) / step).astype("<u2"))
        if len(self.bins) < self.bins.frames:
            data["b"] = encode_bytes(np.round((self.high[:, k] - low) / step).astype("<u2"))
        return data


def make_angle_curves(track: Track) -> AngleCurves:
    """Return all dofs over time, in so many bins that the file stays small."""
    count, nv = len(track), max(track.skeleton.nv, 1)
    budget = int(np.clip(ANGLE_BYTES_PER_FRAME * count, *MIN_MAX_ANGLE_BYTES))
    whole = count * nv * 4 <= budget  # three bytes are four letters
    bins = Bins.of(count, count if whole else max(200, (3 * budget) // (4 * 5 * nv)))
    unit = np.where(track.skeleton.turns, 180.0 / np.pi, 1.0)
    low, high = np.empty((2, len(bins), nv))
    values = _dof_values(track, unit)
    for k in range(track.skeleton.nv):
        column = values(k)
        low[:, k], high[:, k] = bins.least(column), bins.most(column)
    return AngleCurves(bins, low, high, unit * _bin_deviations(track, bins))


def _dof_values(track: Track, unit: Array) -> Callable[[int], Array]:
    """Return a function from a dof to its values; of quaternions turns from the rest pose."""
    skeleton, q = track.skeleton, track.motion.q
    plain = skeleton.plain_q
    turned = np.empty((0, 0))
    if (plain < 0).any():
        turned = skeleton.difference(q, np.broadcast_to(skeleton.neutral(), q.shape))
    return lambda k: unit[k] * (q[:, plain[k]] if plain[k] >= 0 else turned[:, k])


def _bin_deviations(track: Track, bins: Bins) -> Array:
    """Return the error bars [rad or m], (n, nv): of each bin's frame with the fewest markers."""
    if len(bins) == bins.frames:
        return track.sd
    if "sd" in vars(track):
        return bins.most(track.sd)
    seen = np.isfinite(track.marker_errors).sum(axis=1)
    ends = np.append(bins.edges[1:], bins.frames)
    pairs = zip(bins.edges, ends, strict=True)
    which = np.array([a + int(np.argmin(seen[a:b])) for a, b in pairs], dtype=np.int64)
    some, q = track.problem.select(which), np.ascontiguousarray(track.motion.q[which])
    return compute_standard_deviations(some, q, track.sigma, track.threads, track.smoothing)


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
        bone_dofs = range(int(first[k + 1]), int(first[k + 2]))
        turning = [v for v in bone_dofs if skeleton.turns[v]]
        shifting = [v for v in bone_dofs if not skeleton.turns[v]]
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
                "name": joint.name,
                "unit": joint.unit,
                "range": _axis_range(joint, angles),
                "dofs": [
                    {"name": short, **angles.encode(k)}
                    for short, k in zip(joint.short, joint.dofs, strict=True)
                ],
            }
            for joint in joints
        ],
    }


def render_joint_charts(
    joints: list[JointChart], angles: AngleCurves, chosen: list[int], rate: float
) -> str:
    chips = "".join(
        f'<button data-joint="{n}" aria-pressed="{"true" if n in chosen else "false"}">'
        f"{escape(joint.name)}</button>"
        for n, joint in enumerate(joints)
    )
    shown = _draw_joint_charts(joints, angles, chosen, rate)
    return f'<div class="chips" hidden>{chips}</div><div id="charts" class="plots">{shown}</div>'


def _draw_joint_charts(
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
    values = [(percent, bottom + (top - bottom) * (1 - percent / 100)) for percent in (0, 50, 100)]
    ticks = "".join(
        f'<span class="tick" style="top:{percent}%">{value:.{digits}f}</span>'
        for percent, value in values
    )
    key = "".join(f'<i class="c{n % 6}">{escape(name)}</i>' for n, name in enumerate(joint.short))
    title = f"<h4>{escape(joint.name)} <small>{joint.unit}</small><span>{key}</span></h4>"
    return f'<figure class="joint">{title}{plot_row(ticks, svg, "", 120, "curve")}{axis}</figure>'
