"""Markers that are suddenly elsewhere, and stay there for longer than a moment.

Another point was taken for the marker, or names were exchanged. Where joints give way the figure
follows, and the marker fits as well as ever; but no body moves like that. A step from frame to
frame counts by what it is longer than the marker's own steps before and after it would suggest, so
that fast motions, which take several frames, have next to nothing of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from exactik.typing import Array, BoolArray, IntArray
from exactik.verdict._stretches import count_moment_frames

__all__ = ["MarkerJump", "find_marker_jumps"]

MIN_JUMP = 0.005  # [m] below which nobody cares, so that few steps are looked at
MAX_RETURN_SHARE = 0.5  # of a jump, that is left of it after another back


class MarkerJump(NamedTuple):
    """The longest step of a marker that its motion does not explain.

    Attributes:
        marker: its name.
        frame: in which it is elsewhere first.
        distance: by which the step is longer than those beside it suggest [m].
    """

    marker: str
    frame: int
    distance: float


def find_marker_jumps(
    positions: Array,
    ignored: BoolArray,
    names: Sequence[str],
    rate: float,
    neighbour_ratio: float,
    first_frame: int = 0,
) -> tuple[MarkerJump, ...]:
    """Return the worst jump of each marker that has one, the worst first.

    Args:
        positions: of the markers [m], (T, M, 3), not a number where one is missing.
        ignored: samples that do not count, (T, M).
        names: of the markers, (M,).
        rate: frames per second.
        neighbour_ratio: times the steps before and after, that is no jump.
        first_frame: number of the first of these frames.
    """
    jumps, moment = [], count_moment_frames(rate)
    if len(positions) < 4:
        return ()
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
            jumps.append(MarkerJump(name, worst + 2 + first_frame, float(distance[worst])))
    return tuple(sorted(jumps, key=lambda jump: -jump.distance))


def _leave_out_returns(found: IntArray, steps: Array, moment: int) -> IntArray:
    """Return the steps, of those found, that no other takes back within a moment."""
    is_brief = np.zeros(len(found), dtype=bool)
    for n in range(len(found) - 1):
        away, back = steps[found[n]], steps[found[n + 1]]
        is_near = found[n + 1] - found[n] < moment
        if is_near and np.linalg.norm(away + back) < MAX_RETURN_SHARE * np.linalg.norm(away):
            is_brief[n : n + 2] = True
    return found[~is_brief]
