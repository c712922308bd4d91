"""What a performer can do: tables of key poses, an act each.

A row is a time from the start of the act [s] and goals for it, in the channels of `_script`. An act
starts and ends at ease, so that any may follow any.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from exactik.synthetic._script import HANG, Goals, Script
from exactik.synthetic._steps import step, walk

__all__ = ["ACTS", "Act"]

Row = tuple[float, Goals]


@dataclass(frozen=True)
class Act:
    """Something to perform.

    Attributes:
        seconds: how long it takes [s].
        play: adds it to a script from a start [s]; the number counts how often it was done before.
    """

    seconds: float
    play: Callable[[Script, float, int], None]


def _play(script: Script, start: float, rows: tuple[Row, ...]) -> None:
    """Add the rows of a table, angles a little varied: no two people do the same."""
    size: dict[str, float] = {}
    for time, goals in rows:
        own: dict[str, float | tuple[float, ...]] = {}
        for name, value in goals.items():
            if isinstance(value, int | float):
                loose = name.startswith(("trunk", "head", "pelvis.pitch", "pelvis.turn"))
                factor = size.setdefault(name, script.vary(0.08)) if loose else 1.0
                own[name] = factor * value
            else:
                shift = size.setdefault(name, script.random.uniform(-3.0, 3.0))
                own[name] = (value[0] + shift, *value[1:])
        script.key(start + time, own)


# --- punches: a jab of the leading left, a cross of the right, and both again

_GUARD_L = (48.0, 14.0, 22.0, 120.0, 20.0)
_GUARD_R = (41.0, 14.0, 20.0, 131.0, 20.0)
_STRUCK = (97.0, 36.0, 25.0, 9.0, 70.0)  # ahead, although the chest is turned
_AIMED = {"trunk.bend": 6.0, "pelvis.pitch": 4.0, "head.nod": 5.0}
_FISTS = {"l_hand.fist": 84.0, "r_hand.fist": 84.0, "l_hand.curl": 2.0, "r_hand.curl": 2.0}
_READY: Goals = {
    **{"l_arm": _GUARD_L, "r_arm": _GUARD_R, "trunk.twist": -8.0, "pelvis.turn": -16.0},
    **{"l_shoulder.forward": 0.0, "r_shoulder.forward": 0.0},
}
_JAB: Goals = {
    **{"l_arm": _STRUCK, "r_arm": _GUARD_R, "trunk.twist": -24.0, "pelvis.turn": -24.0},
    **{"l_shoulder.forward": 14.0, "r_shoulder.forward": 0.0},
}
_CROSS: Goals = {
    **{"l_arm": _GUARD_L, "r_arm": _STRUCK, "trunk.twist": 26.0, "pelvis.turn": 14.0},
    **{"l_shoulder.forward": 0.0, "r_shoulder.forward": 14.0},
}
_BEHIND = (-0.24, -0.16, -34.0)  # of the right foot


def _punch(script: Script, start: float, _: int) -> None:
    low, high = {"pelvis.z": 0.872}, {"pelvis.z": 0.880}
    rows: tuple[Row, ...] = (
        (0.60, {**_READY, **_FISTS, **_AIMED, **high, "pelvis.x": -0.11, "pelvis.y": -0.02}),
        *((0.90, _READY), (1.10, {**_JAB, **low}), (1.36, {**_READY, **high})),
        *((1.48, _READY), (1.72, {**_CROSS, **low}), (2.00, {**_READY, **high})),
        *((2.08, _READY), (2.27, _JAB), (2.46, {**_CROSS, **low}), (2.74, {**_READY, **high})),
        (2.84, {**_READY, **_FISTS, **_AIMED, **high, "pelvis.x": -0.11, "pelvis.y": -0.02}),
    )
    _play(script, start, rows)
    step(script, "r_foot", start + 0.22, _BEHIND, origin=(0.0, -0.10, -8.0), swing=0.34)
    for hit in (1.72, 2.46):  # the heel behind follows the cross
        for time, pitch in ((hit - 0.26, 0.0), (hit, 26.0), (hit + 0.26, 0.0)):
            script.key(start + time, {"r_foot.pitch": pitch, "r_foot.heel": 0.0})
    step(script, "r_foot", start + 2.90, (0.0, -0.10, -8.0), origin=_BEHIND, swing=0.30)


# --- front kicks: weight over one foot, knee up, snap, knee back, down; right, then left

_KICK: tuple[Row, ...] = (
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
_LIFTED = {"pitch": 38.0, "lift": 0.16, "heel": 0.0}


def _kick_once(script: Script, start: float) -> None:
    for time, goals in (
        (0.30, {"pitch": 0.0, "lift": 0.0, "heel": 0.0, "free": 0.0}),
        (0.40, {"lift": 0.0, "free": 0.0}),
        (0.56, {"free": 0.04}),
        *((0.62, _LIFTED), (0.74, {"free": 1.0}), (1.22, {"free": 1.0})),
        *((1.36, _LIFTED), (1.46, {"free": 0.0})),
        (1.66, {"pitch": 4.0, "lift": 0.0, "heel": 0.0}),
        (1.76, {"pitch": 0.0, "lift": 0.0}),
    ):
        script.key(start + time, {f"r_foot.{part}": value for part, value in goals.items()})
    _play(script, start, _KICK)


def _kick(script: Script, start: float, _: int) -> None:
    _kick_once(script, start)
    script.stand(start + 2.0)
    script.mirrored = not script.mirrored
    _kick_once(script, start + 2.0)
    script.mirrored = not script.mirrored


# --- squats: feet apart, twice down with the arms held out, feet together

_UP: Goals = {
    **{"pelvis.x": -0.01, "pelvis.y": -0.06, "pelvis.z": 0.905, "pelvis.pitch": 3.0},
    **{"trunk.bend": 2.0, "l_arm": (30.0, 12.0, 10.0, 25.0, 30.0), "head.nod": 3.0},
    "r_arm": (30.0, 12.0, 10.0, 25.0, 30.0),
}
_DOWN: Goals = {
    **{"pelvis.x": -0.25, "pelvis.y": -0.06, "pelvis.z": 0.54, "pelvis.pitch": 26.0},
    **{"trunk.bend": 16.0, "l_arm": (126.0, 4.0, 10.0, 10.0, 45.0), "head.nod": 8.0},
    "r_arm": (126.0, 4.0, 10.0, 10.0, 45.0),
}
_APART = (0.0, -0.22, -18.0)


def _squat(script: Script, start: float, _: int) -> None:
    depth = script.random.uniform(-0.02, 0.03)
    down = {**_DOWN, "pelvis.z": 0.54 + depth}
    rows = ((0.62, _UP), (1.50, down), (1.62, down), (2.34, _UP), (3.14, down), (3.24, down))
    for time in (1.04, 2.00, 2.72, 3.60):  # hips go back before they go down: ankles bend little
        script.key(start + time, {"pelvis.x": -0.205, "pelvis.y": -0.06})
    step(script, "r_foot", start + 0.22, _APART, origin=(0.0, -0.10, -8.0), swing=0.34)
    _play(script, start, (*rows, (3.92, _UP)))
    step(script, "r_foot", start + 3.94, (0.0, -0.10, -8.0), origin=_APART, swing=0.32)


# --- jumping jacks: hop apart with the arms up, hop together with the arms down; three times

_HIGH = (0.0, 158.0, 0.0, 18.0, 30.0)


def _jack(script: Script, start: float, _: int) -> None:
    beat = 0.44
    script.stand(start + 0.36, only="l_arm")
    script.stand(start + 0.36, only="r_arm")
    for n in range(6):
        jump = start + 0.52 + n * beat
        landed, wide = jump + 0.24, n % 2 == 0
        for foot, side in (("l_foot", 1.0), ("r_foot", -1.0)):
            places = ((0.10, 8.0), (0.27, 14.0))
            (y0, t0), (y1, t1) = places if wide else places[::-1]
            ground = {f"{foot}.lift": 0.0, f"{foot}.heel": 0.0, f"{foot}.x": 0.0}
            script.key(
                jump - 0.12 if n == 0 else jump - 0.09, {f"{foot}.pitch": 0.0 if n == 0 else 6.0}
            )
            script.key(jump, {**ground, f"{foot}.y": side * y0, f"{foot}.turn": side * t0})
            script.key(0.5 * (jump + landed), {f"{foot}.lift": 0.055, f"{foot}.pitch": 34.0})
            script.key(landed, {**ground, f"{foot}.y": side * y1, f"{foot}.turn": side * t1})
            if n == 5:
                script.key(landed + 0.14, {f"{foot}.pitch": 0.0})
        script.key(jump - 0.10, {"pelvis.z": 0.865 if wide else 0.850})
        script.key(0.5 * (jump + landed), {"pelvis.z": 0.985})
        pose = _HIGH if wide else (2.0, 14.0, 8.0, 12.0, 20.0)
        _play(script, 0.0, ((landed + 0.04, {"l_arm": pose, "r_arm": pose}),))
        lifted = 12.0 if wide else 0.0
        script.key(landed + 0.04, {"l_shoulder.up": lifted, "r_shoulder.up": lifted})
        if n == 5:
            script.key(landed + 0.10, {"pelvis.z": 0.865})


def _walk(script: Script, start: float, times: int) -> None:
    # Straight on, then round half a circle: the performer stays within a few metres.
    walk(script, start, turn=180.0 if times % 2 == 1 else 0.0)


def _wave(script: Script, start: float, _: int) -> None:
    out, back = (10.0, 76.0, -76.0, 80.0, -10.0), (10.0, 76.0, -76.0, 122.0, -10.0)
    beats = ((0.70, out), (0.98, back), (1.26, out), (1.54, back), (1.82, out))
    rows = tuple((time, {"r_arm": pose}) for time, pose in beats)
    look = {"trunk.lean": 3.0, "head.tilt": 4.0, "r_hand.fist": 8.0, "r_shoulder.up": 6.0}
    _play(script, start, (*rows, (0.70, look), (1.82, look), (1.82, {"l_arm": HANG})))


ACTS = {
    "walk": Act(4.6, _walk),
    "punch": Act(3.6, _punch),
    "kick": Act(4.0, _kick),
    "squat": Act(4.6, _squat),
    "jack": Act(3.2, _jack),
    "wave": Act(2.6, _wave),
}
