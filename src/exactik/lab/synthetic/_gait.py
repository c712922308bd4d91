"""Steps: one foot leaves the floor, rolls over its toes, swings, lands, and rolls flat."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from exactik.lab.synthetic._timeline import Timeline


def add_step(
    timeline: Timeline,
    foot: str,
    start: float,
    target: tuple[float, float, float],
    *,
    origin: tuple[float, float, float],
    swing: float = 0.40,
    lift: float = 0.05,
    peel: float = 20.0,
    strike: float = 0.0,
) -> None:
    """Add a step.

    Args:
        timeline: where the keys are added.
        foot: "l_foot" or "r_foot".
        start: when the toes leave the floor [s].
        target: x, y [m] and turn [°] of the new footprint.
        origin: the same of the old one.
        swing: time in the air [s].
        lift: of the ball [m], halfway.
        peel: pitch of the foot soon after the toes have left [°]; before, the heel has come up.
        strike: pitch at the end [°]; below zero the heel lands first.
    """
    end = start + swing
    for time, place in ((start, origin), (end, target)):
        goals = dict(zip(("x", "y", "turn"), place, strict=True))
        timeline.add_keys(time, {f"{foot}.{part}": value for part, value in goals.items()})
    for time, pitch, heel in (
        (start - 0.0095 * peel, 0.0, 0.0),
        (start + 0.15 * swing, peel, 0.0),
        (end - 0.03, strike, 1.0),
        (end + 0.09, 0.0, 1.0),
        (end + 0.19, 0.0, 0.0),  # lying flat, it may change what it rolls over unseen
    ):
        timeline.add_keys(time, {f"{foot}.pitch": pitch, f"{foot}.heel": heel})
    for time, height in ((start, 0.0), (start + 0.42 * swing, lift), (end, 0.0)):
        timeline.add_keys(time, {f"{foot}.lift": height})


# Path of each step over its full length; the last one closes up.
_STRIDE_FRACTIONS = (0.58, 1.0, 1.0, 1.0, 1.0, 0.7, 0.0)
_STEP_PERIOD_S, _SWING_S, _FIRST_STEP_S = 0.53, 0.41, 0.50


class _WalkPath(NamedTuple):
    """An arc on the floor, from the origin ahead; bend [rad/m] to the left."""

    bend: float

    def follow(self, s: float) -> tuple[float, float, float]:
        """Return x, y [m] and heading [°] after a length s of the path."""
        half = 0.5 * self.bend * s
        chord = s * np.sinc(half / np.pi)
        return chord * np.cos(half), chord * np.sin(half), float(np.degrees(self.bend * s))

    def footprint(self, s: float, left: bool, base: float) -> tuple[float, float, float]:
        """Return x, y [m] and heading [°] of a foot, `base` [m] beside the path."""
        x, y, heading = self.follow(s)
        side, out = (base, 7.0) if left else (-base, -7.0)
        h = np.radians(heading)
        return x - side * np.sin(h), y + side * np.cos(h), heading + out


def add_walk(timeline: Timeline, start: float, length: float = 0.60, turn: float = 0.0) -> None:
    """Add seven steps ahead, 4.6 s, and move the place of the performer to where they end.

    Args:
        timeline: where the keys are added.
        start: when to begin [s].
        length: of a full step [m].
        turn: by how much the path turns to the left in all [°].
    """
    length *= timeline.draw_factor(0.03) * (1.0 if turn == 0.0 else 0.86)  # shorter round a bend
    max_arm_swing, twist = 18.0 * timeline.draw_factor(0.15), 6.0 * timeline.draw_factor(0.2)
    spare = 0.60 - length  # legs that step less far hold the pelvis higher
    marks = length * np.cumsum(_STRIDE_FRACTIONS)
    path = _WalkPath(bend=np.radians(turn) / marks[-1])
    # The first foot to go is the right one; in a mirrored act, the left.
    standing = {True: (0.0, 0.10, 8.0), False: (0.0, -0.10, -8.0)}
    timeline.add_keys(
        start + 0.15, {"pelvis.x": 0.0, "pelvis.y": 0.0, "pelvis.turn": 0.0, "gaze": 0.0}
    )
    timeline.add_keys(start + 0.15, {"pelvis.sway": 0.0, "pelvis.roll": 0.0, "trunk.twist": 0.0})
    before = 0.0
    for k, mark in enumerate(marks):
        left, last = k % 2 == 1, k == len(marks) - 1
        foot, sign = ("l_foot", 1.0) if left else ("r_foot", -1.0)
        lifted = start + _FIRST_STEP_S + k * _STEP_PERIOD_S
        middle, landed = (
            lifted + 0.5 * _SWING_S,
            lifted + _SWING_S + 0.5 * (_STEP_PERIOD_S - _SWING_S),
        )
        size = min(1.0, (mark - before) / length)
        wide = mark - (marks[k - 2] if k > 1 else 0.0) > 1.2 * length
        target = path.footprint(mark, left, 0.10 if last or k == len(marks) - 2 else 0.07)
        add_step(
            timeline,
            foot,
            lifted,
            target,
            origin=standing[left],
            swing=_SWING_S,
            lift=0.055,
            peel=46.0 if wide else 40.0,
            strike=-18.0 * size,
        )
        standing[left] = target
        # Over the standing foot the pelvis is high, and sways to it; its other side hangs a little.
        timeline.add_keys(middle, {"pelvis.z": 0.892 + 0.15 * spare, "pelvis.sway": -0.028 * sign})
        timeline.add_keys(middle, {"pelvis.roll": 3.0 * sign if k > 0 else 1.5 * sign})
        # Both feet on the floor: low, turned after the leg in front, arms and trunk against it.
        x, y, heading = path.follow(0.5 * (mark + before) + 0.075 * size)
        if not last:
            ahead = path.follow(min(mark + 0.5, marks[-1]))[2]
            timeline.add_keys(landed, {"pelvis.x": x, "pelvis.y": y, "gaze": ahead})
            timeline.add_keys(landed, {"pelvis.turn": heading - 5.0 * sign * size})
            timeline.add_keys(landed, {"pelvis.z": 0.858 + 0.3 * spare + 0.035 * (1.0 - size)})
            timeline.add_keys(
                landed, {"trunk.twist": (twist + 5.0) * sign * size, "pelvis.pitch": 3.0}
            )
            front, back = ("r_arm", "l_arm") if left else ("l_arm", "r_arm")
            arm_swing = max_arm_swing * size
            timeline.add_keys(
                landed + 0.02,
                {front: (4.0 + arm_swing, 8.0, 14.0, 20.0 + 0.8 * arm_swing, 25.0)},
            )
            timeline.add_keys(landed + 0.02, {back: (4.0 - arm_swing, 10.0, 12.0, 14.0, 20.0)})
        before = mark
    x, y, heading = path.follow(marks[-1])
    if timeline.mirrored:
        y, heading = -y, -heading
    c, s = np.cos(np.radians(timeline.place[2])), np.sin(np.radians(timeline.place[2]))
    timeline.place = timeline.place + np.array([c * x - s * y, s * x + c * y, heading])
    timeline.add_rest(start + _FIRST_STEP_S + 6 * _STEP_PERIOD_S + _SWING_S + 0.10, only="pelvis")
