"""The angles of the stride in two recordings, or on the two sides of one, and what changed."""

from __future__ import annotations

import csv
import io
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from exactik._text import file_name
from exactik.errors import UsageError
from exactik.io import open_atomic
from exactik.recordings.angles import (
    CurveDifference,
    CurvePair,
    GaitCurve,
    GaitCycles,
    JointAngles,
    compare_curves,
    is_body,
    name_angle_for_people,
)
from exactik.recordings.tracking import Quality
from exactik.studio.report._gait import GAIT_ANGLES, OWN_SIDE, find_stride_curve

if TYPE_CHECKING:
    from exactik.recordings.tracking import Track

SIDES = {"r": "right", "l": "left"}
MIN_MEASURED = 0.5  # share of the frames in which an angle is known, for it to be compared


@dataclass(frozen=True, eq=False)
class GaitComparison:
    """What differs between two sets of strides.

    Attributes:
        names: what the two are called.
        cycles: the strides of both; of two sides they are the same.
        differences: of each angle and side, or of each angle between the sides.
        is_same_figure: whether what is wrong with the figure is wrong in both, and cancels.
        is_of_sides: whether right and left of one recording are compared.
    """

    names: tuple[str, str]
    cycles: tuple[GaitCycles, GaitCycles]
    differences: tuple[CurveDifference, ...]
    is_same_figure: bool
    is_of_sides: bool

    @property
    def changes(self) -> list[CurveDifference]:
        """Those that are more than chance, the largest first."""
        changed = [one for one in self.differences if one.changed.any()]
        return sorted(changed, key=lambda one: -float(np.abs(one.difference[one.changed]).max()))


def compare_tracks(before: Track, after: Track, *, same_figure: bool) -> GaitComparison:
    """Return what differs between the strides of two recordings of one person.

    Args:
        before: the first.
        after: the second.
        same_figure: whether both were solved with one figure and the same markers on the skin, so
            that what is wrong with them is wrong in both.
    """
    parts = [_read_track(track) for track in (before, after)]
    pairs = []
    for name in GAIT_ANGLES:
        for side in SIDES:
            found = [_find_curve(*part, name, side) for part in parts]
            if any(curve is None for curve, _ in found):
                continue
            (first, sd), (second, other_sd) = found
            assert first is not None and second is not None
            lasting = 0.0 if same_figure else float(np.hypot(sd, other_sd))
            pairs.append(CurvePair(f"{name}_{side}", first, second, lasting))
    names = [file_name(track.markers.source) or track.skeleton.name for track in (before, after)]
    return GaitComparison(
        names=(names[0], names[1] if names[1] != names[0] else f"{names[1]} (second)"),
        cycles=(parts[0][1], parts[1][1]),
        differences=tuple(compare_curves(pairs)),
        is_same_figure=same_figure,
        is_of_sides=False,
    )


def compare_sides(track: Track) -> GaitComparison:
    """Return what differs between the strides of the right and the left side of a recording."""
    part, pairs = _read_track(track), []
    for name in GAIT_ANGLES:
        (right, sd), (left, other_sd) = (_find_curve(*part, name, side) for side in SIDES)
        if right is None or left is None:
            continue
        lasting = float(np.hypot(sd, other_sd))
        if right.name == left.name:  # of the middle: one error in both, or in both directions
            lasting = 2.0 * sd if name in OWN_SIDE else 0.0
        pairs.append(CurvePair(name, right, left, lasting))
    return GaitComparison(
        names=("right", "left"),
        cycles=(part[1], part[1]),
        differences=tuple(compare_curves(pairs)),
        is_same_figure=False,
        is_of_sides=True,
    )


def describe_change(change: CurveDifference, comparison: GaitComparison) -> str:
    """Return a change in words: "left knee flexion: up to 6° less, at 12–40 % of the stride"."""
    pair, parts = change.pair, []
    angle = name_angle_for_people(pair.name)
    for first, last, largest in change.stretches:
        bar = np.degrees(change.bar[first : last + 1].mean())
        size = abs(np.degrees(largest))
        word = "more" if largest > 0.0 else "less"
        parts.append(f"up to {size:.0f}° {word} (± {bar:.0f}°) at {first}–{last} %")
    who = "on the left" if comparison.is_of_sides else "in the second"
    return f"{angle} {who}: {', '.join(parts)} of the stride"


def write_cycles(comparison: GaitComparison, path: str | os.PathLike[str]) -> None:
    """Write all strides to .csv: 0 to 100 %, a column for each stride, then mean and sd [°]."""
    columns: dict[str, np.ndarray] = {"percent": np.arange(101.0)}
    for one in comparison.differences:
        pair = one.pair
        for name, curve in zip(comparison.names, (pair.before, pair.after), strict=True):
            head = f"{name} {pair.name}"
            for n, cycle in enumerate(curve.cycles, start=1):
                columns[f"{head} {n} [deg]"] = np.degrees(cycle)
            columns[f"{head} mean [deg]"] = np.degrees(curve.mean)
            columns[f"{head} sd [deg]"] = np.degrees(curve.sd)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    for row in zip(*columns.values(), strict=True):
        writer.writerow([f"{value:.6g}" if np.isfinite(value) else "" for value in row])
    with open_atomic(os.fspath(path)) as file:
        file.write(text.getvalue())


def _read_track(track: Track) -> tuple[Track, GaitCycles, JointAngles]:
    """Return a track, its strides and its angles; it must be of a body that walks."""
    name = file_name(track.markers.source) or "the recording"
    if not is_body(track.skeleton):
        raise UsageError(f"{name}: {track.skeleton.name!r} is no body; its strides are unknown")
    cycles = track.gait()
    if len(cycles) == 0:
        raise UsageError(f"{name}: no strides to compare. {cycles.text}")
    return track, cycles, track.angles()


def _find_curve(
    track: Track, cycles: GaitCycles, angles: JointAngles, name: str, side: str
) -> tuple[GaitCurve | None, float]:
    """Return an angle over the strides of a side and the deviation of what lasts [rad].

    None where there is no stride, or the markers mostly leave the angle open.
    """
    whole = name if name in angles.names else f"{name}_{side}"
    if whole not in angles.names or len(cycles.of(side)) == 0:
        return None, 0.0
    column = angles.names.index(whole)
    if (track.angle_quality[:, column] != Quality.OPEN).mean() < MIN_MEASURED:
        return None, 0.0
    lasting = 0.0
    if angles.sd is not None and angles.noise_sd is not None:
        variance = angles.sd[:, column] ** 2 - angles.noise_sd[:, column] ** 2
        lasting = float(np.sqrt(np.median(np.maximum(variance, 0.0))))
    return find_stride_curve(cycles, angles, whole, side), lasting
