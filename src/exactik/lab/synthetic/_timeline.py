"""Timeline of a performance: keys of channels that say where each part of the body should be.

Channels, in metres and degrees, relative to a performer who stands at `place` and looks along its
heading (x ahead, y to the left, z up from the floor):

    pelvis.x .y .z .sway .turn .roll .pitch    trunk.bend .lean .twist    head.nod .tilt .turn  gaze
    l_foot.x .y .turn .lift .pitch .heel .free    footprint; pitch > 0 lifts the heel; heel: 0 rolls
                                                  over the toes, 1 over the heel; free: 1 kicks
    l_leg.hip .spread .knee .ankle                angles of a leg that kicks
    l_arm.rz .rx .ry .elbow .twist    l_shoulder.up .forward    l_hand.curl .fist

and the same with r_. "l_arm" alone takes (raised, spread, roll, elbow, twist), see
`compute_arm_angles`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from exactik.lab.synthetic._coordinates import compute_arm_angles
from exactik.lab.synthetic._quintic import interpolate_quintic
from exactik.typing import Array

ChannelValue = float | Sequence[float]
ChannelValues = Mapping[str, ChannelValue]

ARM_HANGING = (4.0, 9.0, 12.0, 14.0, 20.0)  # raised, spread, roll, elbow, twist [°]

# Standing at ease. Knees are never quite straight: there the knee's angle changes without bound.
_MIDLINE_REST = {
    "pelvis.x": 0.0,
    "pelvis.y": 0.0,
    "pelvis.z": 0.919,
    "pelvis.sway": 0.0,
    "pelvis.turn": 0.0,
    "pelvis.roll": 0.0,
    "pelvis.pitch": 2.0,
    "trunk.bend": 1.0,
    "trunk.lean": 0.0,
    "trunk.twist": 0.0,
    "head.nod": 3.0,
    "head.tilt": 0.0,
    "head.turn": 0.0,
    "gaze": 0.0,
}
_SIDE_REST = {
    "foot.x": 0.0,
    "foot.y": 0.10,
    "foot.turn": 8.0,
    "foot.lift": 0.0,
    "foot.pitch": 0.0,
    "foot.heel": 0.0,
    "foot.free": 0.0,
    "leg.hip": 70.0,
    "leg.spread": 2.0,
    "leg.knee": 90.0,
    "leg.ankle": 10.0,
    "arm": ARM_HANGING,
    "shoulder.up": 0.0,
    "shoulder.forward": 0.0,
    "hand.curl": 5.0,
    "hand.fist": 25.0,
}
# Channels whose sign changes with the side, and those of the middle that a mirrored act negates.
_LATERAL_SIDE = ("foot.y", "foot.turn")
_LATERAL_MIDLINE = ("y", "sway", "turn", "roll", "lean", "twist", "tilt", "gaze")


def _mirror_value(value: ChannelValue, lateral: bool) -> ChannelValue:
    return -value if lateral and not isinstance(value, Sequence) else value


_LEFT_REST = {f"l_{part}": value for part, value in _SIDE_REST.items()}
_RIGHT_REST = {
    f"r_{part}": _mirror_value(value, part in _LATERAL_SIDE) for part, value in _SIDE_REST.items()
}
REST_VALUES: dict[str, ChannelValue] = _MIDLINE_REST | _LEFT_REST | _RIGHT_REST


class Timeline:
    """Keys of all channels, added in the order of time.

    Attributes:
        place: x, y [m] and heading [°] of the performer.
        mirrored: whether left and right change places in what is added.
        random: generator of the variations.
    """

    def __init__(self, seed: int):
        """Begin at the origin, heading along x."""
        self.place = np.zeros(3)
        self.mirrored = False
        self.random = np.random.default_rng(seed)
        self._keys: dict[str, dict[float, float]] = {}

    def draw_factor(self, share: float) -> float:
        """Return a factor between 1 − share and 1 + share."""
        return float(self.random.uniform(1.0 - share, 1.0 + share))

    def add_keys(self, time: float, values: ChannelValues) -> None:
        """Add the values of channels at a time [s]."""
        plain: dict[str, float] = {}
        for name, value in values.items():
            if self.mirrored:
                name, value = _mirror_channel(name, value)
            if isinstance(value, Sequence):
                raised, spread, roll, elbow, twist = value
                angles = compute_arm_angles(raised, spread, roll)
                plain |= dict(zip((f"{name}.rz", f"{name}.rx", f"{name}.ry"), angles, strict=True))
                plain |= {f"{name}.elbow": elbow, f"{name}.twist": twist}
            else:
                plain[name] = value
        self._add(time, self._move_to_place(plain))

    def _move_to_place(self, values: dict[str, float]) -> dict[str, float]:
        """Turn values relative to the performer into values in the world."""
        x0, y0, heading = self.place
        c, s = np.cos(np.radians(heading)), np.sin(np.radians(heading))
        for part in ("pelvis", "l_foot", "r_foot"):
            if f"{part}.x" in values:
                x, y = values[f"{part}.x"], values[f"{part}.y"]
                values[f"{part}.x"], values[f"{part}.y"] = x0 + c * x - s * y, y0 + s * x + c * y
            if f"{part}.turn" in values:
                values[f"{part}.turn"] += heading
        if "gaze" in values:
            values["gaze"] += heading
        return values

    def _add(self, time: float, values: dict[str, float]) -> None:
        time = round(time, 6)  # so that keys meant for the same time coincide
        for name, value in values.items():
            self._keys.setdefault(name, {})[time] = value

    def add_rest(self, time: float, *, only: str = "") -> None:
        """Add the resting pose at `place`, of all channels that start with `only`."""
        mirrored, self.mirrored = self.mirrored, False
        self.add_keys(
            time, {name: value for name, value in REST_VALUES.items() if name.startswith(only)}
        )
        self.mirrored = mirrored

    def evaluate(self, times: Array) -> dict[str, Array]:
        """Return all channels at times [s], (T,) each."""
        channels = {}
        for name, values_by_time in self._keys.items():
            keys = np.array(sorted(values_by_time.items()))
            channels[name] = interpolate_quintic(keys[:, 0], keys[:, 1], times)
        return channels


def _mirror_channel(name: str, value: ChannelValue) -> tuple[str, ChannelValue]:
    """Return a channel mirrored: left and right change places, lateral values their sign."""
    sides = {"l_": "r_", "r_": "l_"}
    if name[:2] in sides:
        lateral, name = name[2:] in _LATERAL_SIDE, sides[name[:2]] + name[2:]
    else:
        lateral = name.rpartition(".")[2] in _LATERAL_MIDLINE
    return name, _mirror_value(value, lateral)
