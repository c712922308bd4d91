"""When the feet of a body stand on the ground.

Heel (the ankle) and ball of a foot are looked at apart: a step rolls from one to the other. A point
stands while it is slow and low, with hysteresis: it must be slower and lower to begin than to go
on, so that noise does not break a stance. Speeds and heights are in leg lengths, so that units and
sizes do not matter; what is low is told from where the point is when it is slow.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from exactik.model.motion import Segment, find_segments, mark_segments
from exactik.typing import Array, BoolArray


@dataclass(frozen=True)
class ContactOptions:
    """What counts as standing; lengths in legs of the source."""

    # [legs/s] below which a stance begins: 0.2 m/s for an adult, of which ankles have 0.1 over a
    # flat foot and 3 and more in swing
    begin_speed: float = 0.25
    end_speed: float = 0.45  # [legs/s] above which it ends
    # [legs] above the ground level below which it begins: 4 cm for an adult
    begin_height: float = 0.05
    end_height: float = 0.09  # [legs] above which it ends
    min_duration: float = 0.06  # [s] of a stance; shorter ones are noise of swinging feet
    # [s] over which speeds are averaged: they are differences of recorded places
    smoothing: float = 0.05
    # [rad] that a foot may turn while heel and ball both stand, 9°: beyond that it pivots on the
    # ball, and the heel goes round
    max_pivot: float = 0.15


@dataclass(frozen=True)
class Contact:
    """A point of a foot that stands."""

    side: str  # "left" or "right"
    point: str  # "ankle" or "ball"
    frames: Segment  # from first to last, both included


def find_contacts(places: Array, rate: float, leg: float, options: ContactOptions) -> list[Segment]:
    """Return the frames in which a point stands.

    Args:
        places: of the point [m], z up, (T, 3).
        leg: length of a leg [m].
        options: what counts.
    """
    speed = _compute_speed(places, rate, options.smoothing) / leg
    height = (places[:, 2] - find_ground_level(places, rate, leg, options)) / leg
    begins = (speed < options.begin_speed) & (height < options.begin_height)
    goes_on = (speed < options.end_speed) & (height < options.end_height)
    found = [s for s in find_segments(goes_on) if begins[s.first : s.last + 1].any()]
    return [s for s in found if s.frame_count >= max(options.min_duration * rate, 2.0)]


def trim_pivots(
    ankle_stances: list[Segment], ball_stances: list[Segment], along: Array, max_pivot: float
) -> list[Segment]:
    """Return stances of the ankle, cut where the foot turns on the ball meanwhile.

    Args:
        ankle_stances: of the ankle.
        ball_stances: of the ball of the same foot.
        along: ankle to ball, (T, 3).
        max_pivot: [rad] that the foot may turn while both stand.
    """
    unit = along / np.linalg.norm(along, axis=1, keepdims=True)
    on_ball = mark_segments(len(along), ball_stances)
    trimmed = []
    for first, last in ankle_stances:
        frames = np.arange(first, last + 1)
        both = frames[on_ball[first : last + 1]]
        if len(both) == 0:
            trimmed.append(Segment(first, last))
            continue
        middle = unit[both[len(both) // 2]]
        turned = on_ball[frames] & (unit[frames] @ middle < np.cos(max_pivot))
        at = both[len(both) // 2] - first
        trimmed += [
            Segment(first + s.first, first + s.last)
            for s in find_segments(~turned)
            if s.first <= at <= s.last and s.frame_count >= 2
        ]
    return trimmed


def find_ground_level(places: Array, rate: float, leg: float, options: ContactOptions) -> float:
    """Return the height of a point [m] when it stands on the ground: low among where it is slow."""
    slow: BoolArray = _compute_speed(places, rate, options.smoothing) / leg < options.begin_speed
    heights = places[slow, 2] if slow.sum() >= 3 else places[:, 2]
    low = float(np.percentile(heights, 10.0))
    near = heights[np.abs(heights - low) < options.begin_height * leg]
    # Among few frames none may be near a decile, which lies between two of them.
    return float(np.median(near)) if len(near) > 0 else low


def _compute_speed(places: Array, rate: float, smoothing: float) -> Array:
    """Return the speed of a point [m/s], (T,): its way over a window around each frame."""
    half = max(round(0.5 * smoothing * rate), 1)
    frames = np.arange(len(places))
    first, last = np.maximum(frames - half, 0), np.minimum(frames + half, len(places) - 1)
    way = np.linalg.norm(places[last] - places[first], axis=1)
    return way * rate / np.maximum(last - first, 1)
