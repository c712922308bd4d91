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

Between two keys the curve is the polynomial of degree five with given value, slope and bend at both
ends, so slopes and bends (accelerations) agree where pieces meet. They are chosen from the keys:

    a key beside a hold, or the first or last   slope 0, bend 0: people start and stop like this
                                                (minimum jerk, Flash and Hogan 1985)
    a key that is passed upwards or downwards   slope: harmonic mean of those before and after,
                                                bend 0
    a key that is a turning point               slope 0, bend that of a cosine: keys up, down, up
                                                make a swing, not a row of stops

A piece is monotone, since its slopes are at most twice the mean one and its bends at most those of
a cosine. Keys within the limits of a joint therefore make a curve within them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from exactik.lab.synthetic._coordinates import compute_arm_angles
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
_COSINE_END_CURVATURE = 0.5 * np.pi**2  # bend at the end of half a cosine of height 1 and length 1


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


def interpolate_quintic(times: Array, values: Array, query_times: Array) -> Array:
    """Return the curve through keys at some times, (T,); constant before and after the keys.

    Args:
        times: of the keys [s], (K,), increasing.
        values: of the keys, (K,), any unit.
        query_times: where to evaluate [s], (T,).
    """
    if len(times) == 1:
        return np.full(len(query_times), values[0])
    length, rise = np.diff(times), np.diff(values)
    slope, bend = np.zeros(len(times)), np.zeros(len(times))
    mean = rise / length
    before, after = mean[:-1], mean[1:]
    passed = before * after > 0.0
    total = np.where(passed, before + after, 1.0)
    slope[1:-1] = np.where(passed, 2.0 * before * after / total, 0.0)
    turning = before * after < 0.0
    bends = _COSINE_END_CURVATURE * rise / length**2
    smaller = np.minimum(np.abs(bends[:-1]), np.abs(bends[1:]))
    bend[1:-1] = np.where(turning, np.sign(after) * smaller, 0.0)

    i = np.clip(np.searchsorted(times, query_times, side="right") - 1, 0, len(length) - 1)
    h = length[i]
    s = np.clip((query_times - times[i]) / h, 0.0, 1.0)
    # Hermite basis of degree five, in the form that starts from the left key.
    v0, v1 = h * slope[i], h * slope[i + 1]
    a0, a1 = h * h * bend[i], h * h * bend[i + 1]
    remainder = rise[i] - v0 - 0.5 * a0
    c3 = 10.0 * remainder - 4.0 * (v1 - v0 - a0) + 0.5 * (a1 - a0)
    c4 = -15.0 * remainder + 7.0 * (v1 - v0 - a0) - (a1 - a0)
    c5 = 6.0 * remainder - 3.0 * (v1 - v0 - a0) + 0.5 * (a1 - a0)
    return values[i] + s * (v0 + s * (0.5 * a0 + s * (c3 + s * (c4 + s * c5))))
