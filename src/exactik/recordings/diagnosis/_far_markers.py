"""Markers that are far from their places, or suddenly elsewhere, though they mostly are not.

Means hide them: a twentieth of the frames may be wrong by ten times the usual error and change the
mean of a recording by half. They are looked for twice. The verdict counts the error that a marker
keeps up for a tenth of a second: what it is off by for a moment is noise, and filled as gaps are.
Readers of a report are shown every stretch in which a marker alone is far off, and no exchange of
names explains it: reflections, lost or wrongly named ones.

A marker that is suddenly elsewhere and stays there for longer than a moment is another point that
was taken for it, or has another one's name. Where joints give way the figure follows, and the
marker fits as well as ever; but no body moves like that. A step from frame to frame counts by what
it is longer than the marker's own steps before and after it would suggest, so that fast motions,
which take several frames, have next to nothing of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from exactik.model.motion import find_segments
from exactik.recordings.diagnosis._finding import Finding, measure
from exactik.typing import Array, BoolArray, IntArray

if TYPE_CHECKING:
    from exactik.recordings.tracking import Track

MOMENT_SECONDS = 0.1
"""[s] that an error must last: gaps up to it are filled without remark, feet land in less."""
MIN_MOMENT_FRAMES = 3  # at low rates: a spike of one sample shows in two frames that are smoothed
MIN_RATIO = 3.0
"""Of a stretch to the median error of the marker: less is how it usually sits on its skin."""

MIN_JUMP = 0.005  # [m] below which nobody cares, so that few steps are looked at
MAX_RETURN_SHARE = 0.5  # of a jump, that is left of it after another back

# Markers far off: by so much [m], so many times their usual error, and so many times what 95 % of
# all markers keep within.
FAR_ERROR_M = 0.02
FAR_ERROR_RATIO = 5.0
FAR_BEYOND_P95_RATIO = 1.5
MIN_FAR_FRAMES = 3
JOIN_FAR_FRAMES = 4  # between two parts of one
MAX_FAR_SHARE = 0.25  # of the markers: where more are far off it is the pose that is wrong
MAX_SWAP_PULL = 1.5  # times the error of a swap, up to which it explains that others are off


def count_moment_frames(rate: float) -> int:
    """Return how many frames a moment has, at a number of frames per second."""
    return max(round(MOMENT_SECONDS * rate), MIN_MOMENT_FRAMES)


def find_far_stretches(
    errors: Array, names: Sequence[str], rate: float, stature: float, first_frame: int = 0
) -> list[Finding]:
    """Return the worst stretch of each marker that has one, the worst first.

    Args:
        errors: of every marker [m], (T, M), not a number where it is missing.
        rate: frames per second.
        stature: of the figure [m].
        first_frame: number of the first of these frames.
    """
    count, stretches = count_moment_frames(rate), []
    if len(errors) < count:
        return []
    for m, name in enumerate(names):
        seen = np.isfinite(errors[:, m])
        if not seen.any():
            continue
        usual = float(np.median(errors[seen, m]))
        error = np.where(seen, errors[:, m], 0.0)
        kept_up = sliding_window_view(error, count).min(axis=1)
        begin = int(kept_up.argmax())
        worst = float(kept_up[begin])
        if not worst > MIN_RATIO * usual:
            continue
        near = np.flatnonzero(error < 0.5 * worst)  # where the stretch is over
        first = int(near[near < begin].max(initial=-1)) + 1
        last = int(near[near >= begin + count].min(initial=len(error))) - 1
        frames = (first + first_frame, last + first_frame)
        largest = float(error[first : last + 1].max())
        stretches.append(
            measure("marker-stretch", worst / stature, (name,), frames, largest=largest)
        )
    return sorted(stretches, key=lambda stretch: -stretch.value)


def find_marker_jumps(
    positions: Array,
    ignored: BoolArray,
    names: Sequence[str],
    rate: float,
    neighbour_ratio: float,
    stature: float,
    first_frame: int = 0,
) -> list[Finding]:
    """Return the worst jump of each marker that has one, the worst first.

    Args:
        positions: of the markers [m], (T, M, 3), not a number where one is missing.
        ignored: samples that do not count, (T, M).
        rate: frames per second.
        neighbour_ratio: times the steps before and after, that is no jump.
        stature: of the figure [m].
        first_frame: number of the first of these frames.
    """
    jumps, moment = [], count_moment_frames(rate)
    if len(positions) < 4:
        return []
    for m, name in enumerate(names):
        # Marker by marker: hours of positions are not copied.
        steps = np.diff(np.where(ignored[:, m, None], np.nan, positions[:, m]), axis=0)
        length = np.linalg.norm(steps, axis=1)
        beside = np.maximum(length[:-2], length[2:])
        distance = length[1:-1] - neighbour_ratio * beside
        found = np.flatnonzero(distance > MIN_JUMP)
        found = _leave_out_returns(found, steps[1:-1], moment)
        if len(found) > 0:
            worst = int(found[distance[found].argmax()])
            frame, length = worst + 2 + first_frame, float(distance[worst])
            jumps.append(
                measure("marker-jump", length / stature, (name,), (frame, frame), distance=length)
            )
    return sorted(jumps, key=lambda jump: -jump.value)


def _leave_out_returns(found: IntArray, steps: Array, moment: int) -> IntArray:
    """Return the steps, of those found, that no other takes back within a moment."""
    is_brief = np.zeros(len(found), dtype=bool)
    for n in range(len(found) - 1):
        away, back = steps[found[n]], steps[found[n + 1]]
        is_near = found[n + 1] - found[n] < moment
        if is_near and np.linalg.norm(away + back) < MAX_RETURN_SHARE * np.linalg.norm(away):
            is_brief[n : n + 2] = True
    return found[~is_brief]


def find_far_markers(track: Track, swaps: Sequence[Finding] = ()) -> list[Finding]:
    """Return markers that are far off for some frames, the worst first.

    Args:
        swaps: what likely ones among them explain is left out.
    """
    errors = track.marker_errors
    seen = np.isfinite(errors)
    usual = np.array(
        [np.median(e[s]) if s.any() else 0.0 for e, s in zip(errors.T, seen.T, strict=True)]
    )
    most = FAR_BEYOND_P95_RATIO * float(np.percentile(errors[seen], 95.0)) if seen.any() else 0.0
    limits = np.maximum(max(FAR_ERROR_M, most), FAR_ERROR_RATIO * usual)
    far = np.nan_to_num(errors) > limits
    far[far.sum(axis=1) > np.maximum(MAX_FAR_SHARE * seen.sum(axis=1), 2)] = False
    likely = [swap for swap in swaps if swap.details["verdict"] == "likely"]
    weights, ignored_weight = track.marker_weights, track.options.assessment.ignored_weight
    found: list[Finding] = []
    for m, name in enumerate(track.names):
        for first, last in find_segments(far[:, m], join=JOIN_FAR_FRAMES):
            frames = np.arange(first, last + 1)[far[first : last + 1, m]]
            off = float(np.median(errors[frames, m]))
            if len(frames) < MIN_FAR_FRAMES or _is_explained(first, last, off, likely):
                continue
            left_out = weights is not None and bool(
                (weights[frames, m] < ignored_weight).mean() > 0.5
            )
            found.append(
                Finding(
                    kind="far-marker",
                    severity="look",
                    value=off,
                    unit="m",
                    threshold=float(limits[m]),
                    frames=(first, last),
                    names=(name,),
                    details={
                        "off_mm": round(1e3 * off, 3),
                        "max_mm": round(1e3 * float(errors[frames, m].max()), 3),
                        "usual_mm": round(1e3 * float(usual[m]), 3),
                        "left_out": left_out,
                        "variant": "left out" if left_out else "",
                    },
                )
            )
    return sorted(found, key=lambda far: -far.value * (far.last - far.first + 1))


def _is_explained(first: int, last: int, off: float, swaps: Sequence[Finding]) -> bool:
    """Return whether a swap covers most of a stretch: it pulls on the markers around, too."""
    for swap in swaps:
        common = min(last, swap.last) - max(first, swap.first) + 1
        error_mm = swap.details["error_mm"] or swap.details["distance_mm"]
        if common > 0.5 * (last - first + 1) and off <= MAX_SWAP_PULL * 1e-3 * error_mm:
            return True
    return False
