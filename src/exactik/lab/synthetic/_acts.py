"""Acts of a performance, each a table of key poses.

A row is a time from the start of the act [s] and values of channels, see `_timeline`. An act starts
and ends at ease, so that any act may follow any other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from exactik.lab.synthetic._gait import add_step, add_walk
from exactik.lab.synthetic._timeline import ARM_HANGING, ChannelValues, Timeline

KeyRow = tuple[float, ChannelValues]


@dataclass(frozen=True)
class Act:
    """One act of a performance."""

    seconds: float  # how long it takes [s]
    # Adds it to a timeline from a start [s], given how often it was done before
    add_to: Callable[[Timeline, float, int], None]


def _add_rows(timeline: Timeline, start: float, rows: tuple[KeyRow, ...]) -> None:
    """Add the rows of a table with small random variations, as people differ."""
    variations: dict[str, float] = {}  # of each channel, the same in all rows
    for time, values in rows:
        varied: dict[str, float | tuple[float, ...]] = {}
        for name, value in values.items():
            if isinstance(value, int | float):
                varies = name.startswith(("trunk", "head", "pelvis.pitch", "pelvis.turn"))
                factor = variations.setdefault(name, timeline.draw_factor(0.08)) if varies else 1.0
                varied[name] = factor * value
            else:
                shift = variations.setdefault(name, timeline.random.uniform(-3.0, 3.0))
                varied[name] = (value[0] + shift, *value[1:])
        timeline.add_keys(start + time, varied)


# --- punches: a jab of the leading left, a cross of the right, and both again

_LEFT_ARM_GUARDING = (48.0, 14.0, 22.0, 120.0, 20.0)
_RIGHT_ARM_GUARDING = (41.0, 14.0, 20.0, 131.0, 20.0)
_ARM_STRIKING = (97.0, 36.0, 25.0, 9.0, 70.0)  # ahead, although the chest is turned
_TRUNK_FORWARD = {"trunk.bend": 6.0, "pelvis.pitch": 4.0, "head.nod": 5.0}
_FISTS = {"l_hand.fist": 84.0, "r_hand.fist": 84.0, "l_hand.curl": 2.0, "r_hand.curl": 2.0}
_ON_GUARD: ChannelValues = {
    "l_arm": _LEFT_ARM_GUARDING,
    "r_arm": _RIGHT_ARM_GUARDING,
    "trunk.twist": -8.0,
    "pelvis.turn": -16.0,
    "l_shoulder.forward": 0.0,
    "r_shoulder.forward": 0.0,
}
_JAB: ChannelValues = {
    "l_arm": _ARM_STRIKING,
    "r_arm": _RIGHT_ARM_GUARDING,
    "trunk.twist": -24.0,
    "pelvis.turn": -24.0,
    "l_shoulder.forward": 14.0,
    "r_shoulder.forward": 0.0,
}
_CROSS: ChannelValues = {
    "l_arm": _LEFT_ARM_GUARDING,
    "r_arm": _ARM_STRIKING,
    "trunk.twist": 26.0,
    "pelvis.turn": 14.0,
    "l_shoulder.forward": 0.0,
    "r_shoulder.forward": 14.0,
}
# Footprints of the right foot: x, y [m] and turn [°].
_RIGHT_FOOT_BACK = (-0.24, -0.16, -34.0)
_RIGHT_FOOT_APART = (0.0, -0.22, -18.0)
_RIGHT_FOOT_REST = (0.0, -0.10, -8.0)


def _add_punches(timeline: Timeline, start: float, _: int) -> None:
    low, high = {"pelvis.z": 0.872}, {"pelvis.z": 0.880}
    stance = {**_FISTS, **_TRUNK_FORWARD, **high, "pelvis.x": -0.11, "pelvis.y": -0.02}
    rows: tuple[KeyRow, ...] = (
        (0.60, {**_ON_GUARD, **stance}),
        (0.90, _ON_GUARD),
        (1.10, {**_JAB, **low}),
        (1.36, {**_ON_GUARD, **high}),
        (1.48, _ON_GUARD),
        (1.72, {**_CROSS, **low}),
        (2.00, {**_ON_GUARD, **high}),
        (2.08, _ON_GUARD),
        (2.27, _JAB),
        (2.46, {**_CROSS, **low}),
        (2.74, {**_ON_GUARD, **high}),
        (2.84, {**_ON_GUARD, **stance}),
    )
    _add_rows(timeline, start, rows)
    add_step(
        timeline, "r_foot", start + 0.22, _RIGHT_FOOT_BACK, origin=_RIGHT_FOOT_REST, swing=0.34
    )
    for hit in (1.72, 2.46):  # the heel behind follows the cross
        for time, pitch in ((hit - 0.26, 0.0), (hit, 26.0), (hit + 0.26, 0.0)):
            timeline.add_keys(start + time, {"r_foot.pitch": pitch, "r_foot.heel": 0.0})
    add_step(
        timeline, "r_foot", start + 2.90, _RIGHT_FOOT_REST, origin=_RIGHT_FOOT_BACK, swing=0.30
    )


# --- front kicks: weight over one foot, knee up, snap, knee back, down; right, then left

_KICK_ROWS: tuple[KeyRow, ...] = (
    (0.42, {"pelvis.sway": 0.085, "pelvis.roll": -2.0, "l_arm": (38.0, 20.0, 15.0, 95.0, 20.0)}),
    (0.42, {"r_arm": (25.0, 20.0, 15.0, 85.0, 20.0), "pelvis.z": 0.905, **_FISTS}),
    (0.72, {"pelvis.pitch": -7.0, "trunk.bend": 10.0, "pelvis.turn": 4.0, "trunk.twist": 4.0}),
    (0.77, {"r_leg.hip": 88.0, "r_leg.knee": 112.0, "r_leg.ankle": 12.0, "r_leg.spread": 2.0}),
    (0.98, {"pelvis.pitch": -14.0, "trunk.bend": 12.0, "pelvis.turn": 14.0, "trunk.twist": -6.0}),
    (0.98, {"r_leg.hip": 88.0, "r_leg.knee": 12.0, "r_leg.ankle": 30.0, "pelvis.sway": 0.085}),
    (0.98, {"l_arm": (45.0, 18.0, 18.0, 105.0, 20.0), "r_arm": (-12.0, 26.0, 5.0, 45.0, 20.0)}),
    (0.98, {"pelvis.x": 0.02, "pelvis.y": 0.0, "pelvis.z": 0.905}),
    (1.22, {"r_leg.hip": 76.0, "r_leg.knee": 100.0, "r_leg.ankle": 10.0, "pelvis.pitch": -6.0}),
    (1.40, {"l_arm": (30.0, 18.0, 15.0, 80.0, 20.0), "r_arm": (22.0, 18.0, 15.0, 75.0, 20.0)}),
    (1.40, {"pelvis.sway": 0.080, "pelvis.turn": 2.0, "trunk.twist": 0.0, "pelvis.z": 0.905}),
)
_FOOT_RAISED = {"pitch": 38.0, "lift": 0.16, "heel": 0.0}


def _add_one_kick(timeline: Timeline, start: float) -> None:
    for time, values in (
        (0.30, {"pitch": 0.0, "lift": 0.0, "heel": 0.0, "free": 0.0}),
        (0.40, {"lift": 0.0, "free": 0.0}),
        (0.56, {"free": 0.04}),
        (0.62, _FOOT_RAISED),
        (0.74, {"free": 1.0}),
        (1.22, {"free": 1.0}),
        (1.36, _FOOT_RAISED),
        (1.46, {"free": 0.0}),
        (1.66, {"pitch": 4.0, "lift": 0.0, "heel": 0.0}),
        (1.76, {"pitch": 0.0, "lift": 0.0}),
    ):
        timeline.add_keys(start + time, {f"r_foot.{part}": value for part, value in values.items()})
    _add_rows(timeline, start, _KICK_ROWS)


def _add_kicks(timeline: Timeline, start: float, _: int) -> None:
    _add_one_kick(timeline, start)
    timeline.add_rest(start + 2.0)
    timeline.mirrored = not timeline.mirrored
    _add_one_kick(timeline, start + 2.0)
    timeline.mirrored = not timeline.mirrored


# --- squats: feet apart, twice down with the arms held out, feet together

_SQUAT_UP: ChannelValues = {
    "pelvis.x": -0.01,
    "pelvis.y": -0.06,
    "pelvis.z": 0.905,
    "pelvis.pitch": 3.0,
    "trunk.bend": 2.0,
    "l_arm": (30.0, 12.0, 10.0, 25.0, 30.0),
    "head.nod": 3.0,
    "r_arm": (30.0, 12.0, 10.0, 25.0, 30.0),
}
_SQUAT_DOWN: ChannelValues = {
    "pelvis.x": -0.25,
    "pelvis.y": -0.06,
    "pelvis.z": 0.54,
    "pelvis.pitch": 26.0,
    "trunk.bend": 16.0,
    "l_arm": (126.0, 4.0, 10.0, 10.0, 45.0),
    "head.nod": 8.0,
    "r_arm": (126.0, 4.0, 10.0, 10.0, 45.0),
}


def _add_squats(timeline: Timeline, start: float, _: int) -> None:
    depth = timeline.random.uniform(-0.02, 0.03)
    down = {**_SQUAT_DOWN, "pelvis.z": 0.54 + depth}
    rows = (
        (0.62, _SQUAT_UP),
        (1.50, down),
        (1.62, down),
        (2.34, _SQUAT_UP),
        (3.14, down),
        (3.24, down),
    )
    for time in (1.04, 2.00, 2.72, 3.60):  # hips go back before they go down: ankles bend little
        timeline.add_keys(start + time, {"pelvis.x": -0.205, "pelvis.y": -0.06})
    add_step(
        timeline, "r_foot", start + 0.22, _RIGHT_FOOT_APART, origin=_RIGHT_FOOT_REST, swing=0.34
    )
    _add_rows(timeline, start, (*rows, (3.92, _SQUAT_UP)))
    add_step(
        timeline, "r_foot", start + 3.94, _RIGHT_FOOT_REST, origin=_RIGHT_FOOT_APART, swing=0.32
    )


# --- jumping jacks: hop apart with the arms up, hop together with the arms down; three times

_ARM_OVERHEAD = (0.0, 158.0, 0.0, 18.0, 30.0)


def _add_jumping_jacks(timeline: Timeline, start: float, _: int) -> None:
    beat = 0.44
    timeline.add_rest(start + 0.36, only="l_arm")
    timeline.add_rest(start + 0.36, only="r_arm")
    for n in range(6):
        jump = start + 0.52 + n * beat
        landed, wide = jump + 0.24, n % 2 == 0
        for foot, side in (("l_foot", 1.0), ("r_foot", -1.0)):
            places = ((0.10, 8.0), (0.27, 14.0))
            (y0, t0), (y1, t1) = places if wide else places[::-1]
            ground = {f"{foot}.lift": 0.0, f"{foot}.heel": 0.0, f"{foot}.x": 0.0}
            timeline.add_keys(
                jump - 0.12 if n == 0 else jump - 0.09, {f"{foot}.pitch": 0.0 if n == 0 else 6.0}
            )
            timeline.add_keys(jump, {**ground, f"{foot}.y": side * y0, f"{foot}.turn": side * t0})
            timeline.add_keys(0.5 * (jump + landed), {f"{foot}.lift": 0.055, f"{foot}.pitch": 34.0})
            timeline.add_keys(landed, {**ground, f"{foot}.y": side * y1, f"{foot}.turn": side * t1})
            if n == 5:
                timeline.add_keys(landed + 0.14, {f"{foot}.pitch": 0.0})
        timeline.add_keys(jump - 0.10, {"pelvis.z": 0.865 if wide else 0.850})
        timeline.add_keys(0.5 * (jump + landed), {"pelvis.z": 0.985})
        pose = _ARM_OVERHEAD if wide else (2.0, 14.0, 8.0, 12.0, 20.0)
        _add_rows(timeline, 0.0, ((landed + 0.04, {"l_arm": pose, "r_arm": pose}),))
        lifted = 12.0 if wide else 0.0
        timeline.add_keys(landed + 0.04, {"l_shoulder.up": lifted, "r_shoulder.up": lifted})
        if n == 5:
            timeline.add_keys(landed + 0.10, {"pelvis.z": 0.865})


def _add_walk(timeline: Timeline, start: float, times: int) -> None:
    # Straight on, then round half a circle: the performer stays within a few metres.
    add_walk(timeline, start, turn=180.0 if times % 2 == 1 else 0.0)


def _add_wave(timeline: Timeline, start: float, _: int) -> None:
    out, back = (10.0, 76.0, -76.0, 80.0, -10.0), (10.0, 76.0, -76.0, 122.0, -10.0)
    beats = ((0.70, out), (0.98, back), (1.26, out), (1.54, back), (1.82, out))
    rows = tuple((time, {"r_arm": pose}) for time, pose in beats)
    look = {"trunk.lean": 3.0, "head.tilt": 4.0, "r_hand.fist": 8.0, "r_shoulder.up": 6.0}
    _add_rows(timeline, start, (*rows, (0.70, look), (1.82, look), (1.82, {"l_arm": ARM_HANGING})))


ACTS = {
    "walk": Act(4.6, _add_walk),
    "punch": Act(3.6, _add_punches),
    "kick": Act(4.0, _add_kicks),
    "squat": Act(4.6, _add_squats),
    "jack": Act(3.2, _add_jumping_jacks),
    "wave": Act(2.6, _add_wave),
}
