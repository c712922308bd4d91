"""Markers that are far from their places, or suddenly elsewhere, though they mostly are not.

Means hide them: a twentieth of the frames may be wrong by ten times the usual error and change the
mean of a recording by half.

A marker that is suddenly elsewhere and stays there for longer than a moment is another point that
was taken for it, or has another one's name. Where joints give way the figure follows, and the
marker fits as well as ever; but no body moves like that. A step from frame to frame counts by what
it is longer than the marker's own steps before and after it would suggest, so that fast motions,
which take several frames, have next to nothing of it.

Whether either matters is not decided here: it does if it moves a joint by more than its error bar.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from exactik.model.motion import find_segments
from exactik.recordings.diagnosis._finding import Finding
from exactik.typing import Array, BoolArray, IntArray

MOMENT_SECONDS = 0.1
"""[s] up to which an absence or a return is brief: gaps up to it are filled without remark."""
MIN_MOMENT_FRAMES = 3  # at low rates: a spike of one sample shows in two frames that are smoothed
FAR_RATIO = 3.0
"""Of an error to the median error of the marker: less is how it usually sits on its skin."""
FAR_SIGMAS = 4.0  # of the markers' noise along an axis: lengths in space stay below it in 99.9 %
MIN_JUMP = 0.015
"""[statures] of a jump, 25 mm of an adult; in sound recordings 17 mm at most."""
MAX_RETURN_SHARE = 0.5  # of a jump, that is left of it after another back


def count_moment_frames(rate: float) -> int:
    """Return how many frames a moment has, at a number of frames per second."""
    return max(round(MOMENT_SECONDS * rate), MIN_MOMENT_FRAMES)


def find_far_stretches(
    errors: Array, names: Sequence[str], rate: float, sigma: float, first_frame: int = 0
) -> list[Finding]:
    """Return the stretches in which a marker is far from its place, the worst first.

    Args:
        errors: of every marker [m], (T, M), not a number where it is missing.
        rate: frames per second.
        sigma: noise of the markers along each axis [m].
        first_frame: number of the first of these frames.
    """
    found: list[Finding] = []
    for m, name in enumerate(names):
        seen = np.isfinite(errors[:, m])
        if not seen.any():
            continue
        usual = float(np.median(errors[seen, m]))
        error = np.where(seen, errors[:, m], 0.0)
        limit = max(FAR_RATIO * usual, FAR_SIGMAS * sigma)
        for first, last in find_segments(error > limit, join=count_moment_frames(rate)):
            found.append(
                Finding(
                    kind="far-marker",
                    severity="look",
                    value=float(error[first : last + 1].max()),
                    unit="m",
                    threshold=limit,
                    frames=(first + first_frame, last + first_frame),
                    names=(name,),
                    details={
                        "usual": usual,
                        "worst": first + int(error[first : last + 1].argmax()) + first_frame,
                    },
                )
            )
    return sorted(found, key=lambda far: -far.value)


def find_marker_jumps(
    positions: Array,
    ignored: BoolArray,
    names: Sequence[str],
    rate: float,
    neighbour_ratio: float,
    stature: float,
    first_frame: int = 0,
) -> list[Finding]:
    """Return the stretches in which a marker is elsewhere after a jump, the longest jump first.

    A stretch goes from one jump, long gap or end to the next. Of those before and after a jump it
    is the shorter one: where a marker is most of the time is taken for its place.

    Args:
        positions: of the markers [m], (T, M, 3), not a number where one is missing.
        ignored: samples that do not count, (T, M).
        rate: frames per second.
        neighbour_ratio: times the steps before and after, that is no jump.
        stature: of the figure [m].
        first_frame: number of the first of these frames.
    """
    found: list[Finding] = []
    moment, count = count_moment_frames(rate), len(positions)
    if count < 4:
        return []
    for m, name in enumerate(names):
        # Marker by marker: hours of positions are not copied.
        places = np.where(ignored[:, m, None], np.nan, positions[:, m])
        steps = np.diff(places, axis=0)
        length = np.linalg.norm(steps, axis=1)
        beside = np.maximum(length[:-2], length[2:])
        distance = length[1:-1] - neighbour_ratio * beside
        jumps = np.flatnonzero(distance > MIN_JUMP * stature)
        jumps = _leave_out_returns(jumps, steps[1:-1], moment)
        if len(jumps) == 0:
            continue
        gaps = find_segments(np.isnan(places[:, 0]))
        gaps = [gap for gap in gaps if gap.last - gap.first >= moment]
        ends = np.unique(
            [0, count, *(jumps + 2), *(t for g in gaps for t in (g.first, g.last + 1))]
        )
        longest: dict[tuple[int, int], int] = {}
        for jump in sorted(jumps.tolist(), key=lambda jump: distance[jump]):
            k = int(np.searchsorted(ends, jump + 2))
            before, after = (int(ends[k - 1]), jump + 1), (jump + 2, int(ends[k + 1]) - 1)
            longest[min(before, after, key=lambda stretch: stretch[1] - stretch[0])] = jump
        found += [
            Finding(
                kind="marker-jump",
                severity="look",
                value=float(distance[jump]),
                unit="m",
                threshold=MIN_JUMP * stature,
                frames=(first + first_frame, last + first_frame),
                names=(name,),
                details={"frame": jump + 2 + first_frame, "step": steps[jump + 1]},
            )
            for (first, last), jump in longest.items()
        ]
    return sorted(found, key=lambda jump: -jump.value)


def _leave_out_returns(found: IntArray, steps: Array, moment: int) -> IntArray:
    """Return the steps, of those found, that no other takes back within a moment."""
    is_brief = np.zeros(len(found), dtype=bool)
    for n in range(len(found) - 1):
        away, back = steps[found[n]], steps[found[n + 1]]
        is_near = found[n + 1] - found[n] < moment
        if is_near and np.linalg.norm(away + back) < MAX_RETURN_SHARE * np.linalg.norm(away):
            is_brief[n : n + 2] = True
    return found[~is_brief]
