"""A script: which part of the body should be where at which time, as keys of channels.

Channels, in metres and degrees, seen by a performer who stands at `place` and looks along its
heading (x ahead, y to the left, z up from the floor):

    pelvis.x .y .z .sway .turn .roll .pitch    trunk.bend .lean .twist    head.nod .tilt .turn  gaze
    l_foot.x .y .turn .lift .pitch .heel .free    footprint; pitch > 0 lifts the heel; heel: 0 rolls
                                                  over the toes, 1 over the heel; free: 1 kicks
    l_leg.hip .spread .knee .ankle                angles of a leg that kicks
    l_arm.rz .rx .ry .elbow .twist    l_shoulder.up .forward    l_hand.curl .fist

and the same with r_. "l_arm" alone takes (raised, spread, roll, elbow, twist), see `arm_angles`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from exactik.synthetic._body import arm_angles
from exactik.synthetic._curves import curve
from exactik.typing import Array

__all__ = ["HANG", "REST", "Goal", "Goals", "Script"]

Goal = float | Sequence[float]
Goals = Mapping[str, Goal]

HANG = (4.0, 9.0, 12.0, 14.0, 20.0)

# Standing at ease. Knees are never quite straight, where the angle would change without bound.
_MIDDLE = {
    **{"pelvis.x": 0.0, "pelvis.y": 0.0, "pelvis.z": 0.919, "pelvis.sway": 0.0},
    **{"pelvis.turn": 0.0, "pelvis.roll": 0.0, "pelvis.pitch": 2.0},
    **{"trunk.bend": 1.0, "trunk.lean": 0.0, "trunk.twist": 0.0},
    **{"head.nod": 3.0, "head.tilt": 0.0, "head.turn": 0.0, "gaze": 0.0},
}
_SIDE = {
    **{"foot.x": 0.0, "foot.y": 0.10, "foot.turn": 8.0, "foot.lift": 0.0, "foot.pitch": 0.0},
    **{"foot.heel": 0.0, "foot.free": 0.0},
    **{"leg.hip": 70.0, "leg.spread": 2.0, "leg.knee": 90.0, "leg.ankle": 10.0},
    **{
        "arm": HANG,
        "shoulder.up": 0.0,
        "shoulder.forward": 0.0,
        "hand.curl": 5.0,
        "hand.fist": 25.0,
    },
}
# Of the left, what is negated on the right; and so in a mirrored act for the middle.
_LATERAL = ("foot.y", "foot.turn")
_MIRRORED = ("y", "sway", "turn", "roll", "lean", "twist", "tilt", "gaze")

REST: dict[str, Goal] = {
    **_MIDDLE,
    **{"l_" + name: value for name, value in _SIDE.items()},
    **{
        "r_" + name: -value if name in _LATERAL and isinstance(value, float) else value
        for name, value in _SIDE.items()
    },
}


class Script:
    """Keys of all channels, added in the order of time.

    Attributes:
        place: x, y [m] and heading [°] of the performer.
        mirrored: whether left and right change places in what is added.
        random: where an act may draw its variations from.
    """

    def __init__(self, seed: int):
        """Begin at the origin, heading along x."""
        self.place = np.zeros(3)
        self.mirrored = False
        self.random = np.random.default_rng(seed)
        self._keys: dict[str, dict[float, float]] = {}

    def vary(self, share: float) -> float:
        """Return a factor between 1 − share and 1 + share."""
        return float(self.random.uniform(1.0 - share, 1.0 + share))

    def key(self, time: float, goals: Goals) -> None:
        """Add goals for a time [s]."""
        plain: dict[str, float] = {}
        for name, value in goals.items():
            if self.mirrored:
                name, value = _mirror(name, value)
            if isinstance(value, Sequence):
                raised, spread, roll, elbow, twist = value
                angles = arm_angles(raised, spread, roll)
                plain |= dict(zip((f"{name}.rz", f"{name}.rx", f"{name}.ry"), angles, strict=True))
                plain |= {f"{name}.elbow": elbow, f"{name}.twist": twist}
            else:
                plain[name] = value
        self._add(time, self._in_the_world(plain))

    def _in_the_world(self, goals: dict[str, float]) -> dict[str, float]:
        x0, y0, heading = self.place
        c, s = np.cos(np.radians(heading)), np.sin(np.radians(heading))
        for part in ("pelvis", "l_foot", "r_foot"):
            if f"{part}.x" in goals:
                x, y = goals[f"{part}.x"], goals[f"{part}.y"]
                goals[f"{part}.x"], goals[f"{part}.y"] = x0 + c * x - s * y, y0 + s * x + c * y
            if f"{part}.turn" in goals:
                goals[f"{part}.turn"] += heading
        if "gaze" in goals:
            goals["gaze"] += heading
        return goals

    def _add(self, time: float, goals: dict[str, float]) -> None:
        time = round(time, 6)  # keys that are meant to fall together do
        for name, value in goals.items():
            self._keys.setdefault(name, {})[time] = value

    def stand(self, time: float, *, only: str = "") -> None:
        """Add the resting pose at `place`, of all channels that start with `only`."""
        was, self.mirrored = self.mirrored, False
        self.key(time, {name: value for name, value in REST.items() if name.startswith(only)})
        self.mirrored = was

    def hold(self, start: float, end: float, goals: Goals) -> None:
        """Add goals for two times; what is between them stays."""
        self.key(start, goals)
        self.key(end, goals)

    def evaluate(self, times: Array) -> dict[str, Array]:
        """Return all channels at times [s], (T,) each."""
        found = {}
        for name, own in self._keys.items():
            keys = np.array(sorted(own.items()))
            found[name] = curve(keys[:, 0], keys[:, 1], times)
        return found


def _mirror(name: str, value: Goal) -> tuple[str, Goal]:
    """Return the goal as a mirror shows it: sides change places, lateral values their sign."""
    sides = {"l_": "r_", "r_": "l_"}
    if name[:2] in sides:
        lateral, name = name[2:] in _LATERAL, sides[name[:2]] + name[2:]
    else:
        lateral = name.rpartition(".")[2] in _MIRRORED
    return name, -value if lateral and not isinstance(value, Sequence) else value
