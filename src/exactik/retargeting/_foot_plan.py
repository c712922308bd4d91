"""Where a foot of the target should be in every frame, so that it stands still while it stands.

A foot is planned as a rigid body: place of the ankle a(t) and turn R(t), with the ball at
b = a + R v. While the ankle or the ball stands, it is held at one place; while both do, the line
between them is held too. Three things are therefore constant over a stance: the place of the ankle,
that of the ball, and, where both stand, their direction. What this changes fades out smoothly
beside the stance, half in swing, so that nothing jumps at its borders.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from exactik.model.motion import Segment, mark_segments
from exactik.retargeting.body import rotation_between
from exactik.spatial import exp_rotation, log_rotation
from exactik.typing import Array, BoolArray

FADE_SECONDS = 0.2
"""[s] over which a correction fades out beside a stance, or less if the next one is nearer: half of
the swing of a step, so that the foot is where the source's is in the middle of it."""


class FootPlan(NamedTuple):
    """A foot over time."""

    ankle: Array  # places [m, world], (T, 3)
    ball: Array  # places [m, world], (T, 3)


def plan_foot(
    ankle: Array,
    standing: Array,
    rotations: Array,
    ball_point: Array,
    ankle_stances: Sequence[Segment],
    ball_stances: Sequence[Segment],
    rate: float,
) -> FootPlan:
    """Return where ankle and ball go.

    Args:
        ankle: where the ankle would go without stances [m, world], (T, 3).
        standing: where it would be if it stood [m, world], (T, 3): at its height above the ground.
        rotations: how the foot would be turned, R_world_foot, (T, 3, 3).
        ball_point: of the ball in the foot's frame [m], (3,).
        ankle_stances: frames in which the ankle stands.
        ball_stances: frames in which the ball stands.
    """
    along = rotations @ ball_point
    turned = _hold_direction(along, ankle_stances, ball_stances, rate)
    stands_on_ankle = mark_segments(len(ankle), ankle_stances)
    stands_on_ball = mark_segments(len(ankle), ball_stances)
    shift = np.zeros_like(ankle)
    held_ankle, held_ball = np.full_like(ankle, np.nan), np.full_like(ankle, np.nan)
    stances = sorted([(s, True) for s in ankle_stances] + [(s, False) for s in ball_stances])
    for (first, last), on_ankle in stances:
        frames = slice(first, last + 1)
        other = held_ball[first] if on_ankle else held_ankle[first]
        sign = 1.0 if on_ankle else -1.0
        if np.isnan(other[0]):  # nothing stands yet: where it would be on average
            free = standing[frames] if on_ankle else standing[frames] + turned[frames]
            place = free.mean(axis=0)
        else:
            place = other - sign * turned[first]
        (held_ankle if on_ankle else held_ball)[frames] = place
    on_ball = stands_on_ball & ~stands_on_ankle
    shift[stands_on_ankle] = held_ankle[stands_on_ankle] - ankle[stands_on_ankle]
    shift[on_ball] = held_ball[on_ball] - turned[on_ball] - ankle[on_ball]
    placed = ankle + _fade(shift, stands_on_ankle | stands_on_ball, rate)
    return FootPlan(ankle=placed, ball=placed + turned)


def _hold_direction(
    along: Array, ankle_stances: Sequence[Segment], ball_stances: Sequence[Segment], rate: float
) -> Array:
    """Return ankle to ball, (T, 3), constant wherever both stand."""
    both = mark_segments(len(along), ankle_stances) & mark_segments(len(along), ball_stances)
    turn = np.zeros_like(along)
    unit = along / np.linalg.norm(along, axis=1, keepdims=True)
    for first, last in _join_overlaps(ankle_stances, ball_stances):
        held = unit[first : last + 1].mean(axis=0)
        between = rotation_between(unit[first : last + 1], held / np.linalg.norm(held))
        turn[first : last + 1] = log_rotation(between)
    rotation = exp_rotation(_fade(turn, both, rate))
    return np.einsum("tij,tj->ti", rotation, along)


def _join_overlaps(a: Sequence[Segment], b: Sequence[Segment]) -> list[Segment]:
    """Return the frames in which a stance of each kind goes on, one segment a pair."""
    pairs = [Segment(max(s.first, o.first), min(s.last, o.last)) for s in a for o in b]
    return [pair for pair in pairs if pair.first <= pair.last]


def _fade(values: Array, known: BoolArray, rate: float) -> Array:
    """Return values, (T, 3), that are kept where known and fade to zero beside that."""
    faded = np.where(known[:, None], values, 0.0)
    frames, reach = np.flatnonzero(known), max(FADE_SECONDS * rate, 1.0)
    if len(frames) == 0:
        return faded
    unknown = np.flatnonzero(~known)
    after = np.searchsorted(frames, unknown)
    has_before, has_after = after > 0, after < len(frames)
    before_frame = frames[np.maximum(after - 1, 0)]
    after_frame = frames[np.minimum(after, len(frames) - 1)]
    between = has_before & has_after
    width = np.where(between, np.minimum(np.maximum(after_frame - before_frame, 1), reach), reach)
    for neighbour, exists in ((before_frame, has_before), (after_frame, has_after)):
        weight = exists * fade_out(np.abs(unknown - neighbour) / width)
        faded[unknown] += weight[:, None] * values[neighbour]
    return faded


def fade_out(share: Array) -> Array:
    """Return 1 at 0 to 0 at 1, a quintic: no jump of place, speed or acceleration at the ends."""
    share = np.clip(share, 0.0, 1.0)
    return 1.0 - share**3 * (10.0 - 15.0 * share + 6.0 * share**2)
