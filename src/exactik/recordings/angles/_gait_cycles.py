"""Strides between gait events: their times and lengths, and curves over the gait cycle."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from exactik.model.motion import Motion
from exactik.recordings.angles._body_segments import SIDES
from exactik.recordings.angles._feet import Walker, follow_feet
from exactik.recordings.angles._gait_events import (
    MIN_MAX_STRIDE_S,
    GaitEvent,
    GaitEvents,
    find_gait_events,
)
from exactik.recordings.angles._joint_angles import JointAngles
from exactik.typing import Array, BoolArray

CYCLE_POINTS = 101  # of a curve over the cycle: 0 %, 1 %, … 100 %
MAX_GUESSED_SHARE = 0.1  # of a stride's frames: as long as a foot takes to swing by, or less
NEAR_S = 0.05  # [s] around an event, of which half must be known: short gaps are filled well
MIN_BELT_SPEED = 0.15  # [m/s] of a standing foot backwards from which there is a treadmill
MIN_STEP_PHASE = 0.2  # of the stride between strikes of both feet; limping has 0.35, walking 0.5
FLAT_FOOT = 0.25, 0.6  # share of the stance in which a foot is flat and shows the belt's speed
HEADINGS = ("pelvis_rotation", "thorax_rotation")  # angles from an axis of the laboratory
PARAMETER_UNITS = {
    "stride_time": "s",
    "stride_length": "m",
    "step_time": "s",
    "step_length": "m",
    "stance_share": "",
}


class GaitCycle(NamedTuple):
    """A stride: from a heel strike to the next of the same foot."""

    side: str  # "r" or "l"
    first: int  # frame of the strike that begins it
    off: int  # frame of the toe-off in it
    last: int  # frame of the strike that ends it
    stride_time: float  # [s]
    stride_length: float  # [m], on a treadmill of the belt's way too
    # From the other foot's strike before to the one that ends it: way of the heel beyond where the
    # other heel struck [m], and time [s]; NaN if that strike is unknown
    step_length: float
    step_time: float
    stance_share: float  # of the stride in which the foot stands, 0 to 1


class GaitParameter(NamedTuple):
    """A number of all strides of a side, or of both."""

    name: str  # such as "stride_time"
    side: str  # "r", "l", or "" for both together
    unit: str  # "s", "m", "m/s", "1/min" or "" for a share
    mean: float  # over the strides
    sd: float  # over the strides; NaN of one stride
    strides: int  # how many


class GaitCurve(NamedTuple):
    """An angle over the gait cycle, 0 to 100 %, of all strides of a side."""

    name: str  # of the angle
    side: str  # whose strides, "r" or "l"
    cycles: Array  # [rad], (n, 101)
    mean: Array  # [rad], (101,)
    sd: Array  # over the strides [rad], (101,); NaN of one stride


@dataclass(frozen=True, eq=False)
class GaitCycles:
    """The strides of a motion."""

    # In the order of time; none if it is no gait, or too short for a stride
    cycles: tuple[GaitCycle, ...]
    events: GaitEvents  # that they are made of
    belt_speed: float  # of a treadmill [m/s]; 0 overground

    def __len__(self) -> int:
        """Number of strides."""
        return len(self.cycles)

    @property
    def text(self) -> str:
        """Why there are no strides, in a sentence; empty if there are."""
        if len(self.cycles) > 0:
            return ""
        return self.events.text or "No stride is whole: steps are seen, but no two of one foot."

    @property
    def is_running(self) -> bool:
        """Whether each foot is in the air for longer than it stands, so that both are at times."""
        return len(self.cycles) > 0 and float(np.mean([c.stance_share for c in self.cycles])) < 0.5

    def of(self, side: str) -> list[GaitCycle]:
        """Return the strides of a side."""
        return [cycle for cycle in self.cycles if cycle.side == side]

    def parameters(self) -> list[GaitParameter]:
        """Return speed and cadence of all strides, then times, lengths and stance of each side."""
        if len(self.cycles) == 0:
            return []
        speeds = [c.stride_length / c.stride_time for c in self.cycles]
        cadences = [120.0 / c.stride_time for c in self.cycles]  # two steps a stride
        found = [
            _summarise("speed", "", "m/s", speeds),
            _summarise("cadence", "", "1/min", cadences),
        ]
        for name, unit in PARAMETER_UNITS.items():
            for side in SIDES:
                values = [getattr(cycle, name) for cycle in self.of(side)]
                if np.isfinite(values).any():
                    found.append(_summarise(name, side, unit, values))
        return found

    def curve(self, angles: JointAngles, name: str, side: str | None = None) -> GaitCurve | None:
        """Return an angle over the gait cycle; None if there is no stride.

        Rotations of pelvis and thorax, which are from the axis of the laboratory, become those from
        the way: the mean rotation of the pelvis over the stride is taken off.

        Args:
            angles: of the same motion.
            name: of the angle.
            side: whose strides; that of the angle if None, the right for angles of the middle.
        """
        side = side or (name[-1] if name.endswith(("_r", "_l")) else "r")
        values = angles.angle(name)
        cycles = self.of(side)
        if len(cycles) == 0:
            return None
        frames, rows = np.arange(len(values)), []
        for cycle in cycles:
            row = np.interp(np.linspace(cycle.first, cycle.last, CYCLE_POINTS), frames, values)
            if name in HEADINGS:
                heading = angles.angle("pelvis_rotation")[cycle.first : cycle.last]
                row = row - np.angle(np.mean(np.exp(1j * heading)))
                row -= 2.0 * np.pi * np.round(np.mean(row) / (2.0 * np.pi))
            rows.append(row)
        table = np.array(rows)
        sd = table.std(axis=0, ddof=1) if len(rows) > 1 else np.full(CYCLE_POINTS, np.nan)
        return GaitCurve(name=name, side=side, cycles=table, mean=table.mean(axis=0), sd=sd)


def _summarise(name: str, side: str, unit: str, values: list[float]) -> GaitParameter:
    known = np.array([value for value in values if np.isfinite(value)])
    sd = float(known.std(ddof=1)) if len(known) > 1 else float("nan")
    return GaitParameter(name, side, unit, float(known.mean()), sd, len(known))


def find_gait_cycles(
    motion: Motion, events: GaitEvents | None = None, *, known: BoolArray | None = None
) -> GaitCycles:
    """Return the strides of a motion, with their times and lengths.

    Args:
        motion: of a person.
        events: of it; found if None. Events of a laboratory, by force plates for instance, can be
            given instead.
        known: frames in which each foot was measured and not guessed, (T, 2), right and left; or
            (T,) for both; all if None. Strides with too many guessed ones are left out, see
            `MAX_GUESSED_SHARE`. Events are looked for between the first and the last one known.
    """
    known = np.ones(len(motion), dtype=bool) if known is None else np.asarray(known)
    known = known if known.ndim == 2 else np.stack([known] * len(SIDES), axis=1)
    if events is None:
        seen = np.flatnonzero(known.any(axis=1))
        first, last = (int(seen[0]), int(seen[-1]) + 1) if len(seen) > 0 else (0, 0)
        events = find_gait_events(replace(motion, q=motion.q[first:last])).shift(first)
        near = round(NEAR_S * motion.rate)
        told = [
            event
            for event in events.events
            if known[max(event.frame - near, 0) :, SIDES.index(event.side)][: 2 * near + 1].mean()
            > 0.5
        ]
        events = replace(events, events=tuple(told))
    if len(events.events) == 0:
        return GaitCycles(cycles=(), events=events, belt_speed=0.0)
    walker = follow_feet(motion)
    bounds = [
        stride
        for side, is_known in zip(SIDES, known.T, strict=True)
        for stride in _find_strides(events, side)
        if is_known[stride[0].frame : stride[2].frame + 1].mean() >= 1.0 - MAX_GUESSED_SHARE
    ]
    belt_speed = _measure_belt(walker, bounds, motion.rate)
    cycles = [
        _measure_stride(walker, events, first, off, last, belt_speed) for first, off, last in bounds
    ]
    return GaitCycles(
        cycles=tuple(sorted(cycles, key=lambda cycle: cycle.first)),
        events=events,
        belt_speed=belt_speed,
    )


def _find_strides(events: GaitEvents, side: str) -> list[tuple[GaitEvent, GaitEvent, GaitEvent]]:
    """Return strike, toe-off and next strike of each whole stride of a side."""
    mine = [event for event in events.events if event.side == side]
    others = [e for e in events.events if e.side != side and e.kind == "strike"]
    strides = []
    for first, off, last in zip(mine[:-2], mine[1:-1], mine[2:], strict=True):
        kinds = (first.kind, off.kind, last.kind)
        shortest, longest = MIN_MAX_STRIDE_S
        if kinds != ("strike", "off", "strike") or not shortest < last.time - first.time < longest:
            continue
        steps = [e for e in others if first.frame - 1 <= e.frame <= last.frame + 1]
        phases = [(e.time - first.time) / (last.time - first.time) for e in steps]
        # Feet that land together do not walk; a step that was not seen does not matter.
        if len(phases) <= 1 and all(MIN_STEP_PHASE < p < 1.0 - MIN_STEP_PHASE for p in phases):
            strides.append((first, off, last))
    return strides


def _measure_belt(
    walker: Walker, strides: list[tuple[GaitEvent, GaitEvent, GaitEvent]], rate: float
) -> float:
    """Return how fast feet that stand move backwards [m/s]; 0 if they stay where they are."""
    speeds = []
    for first, off, _ in strides:
        a, b = (first.frame + round(share * (off.frame - first.frame)) for share in FLAT_FOOT)
        if b > a:
            toe = walker.feet[first.side].toe
            ahead = walker.ahead[(a + b) // 2]
            speeds.append(-float((toe[b] - toe[a]) @ ahead) * rate / (b - a))
    speed = float(np.median(speeds)) if len(speeds) > 0 else 0.0
    return speed if speed > MIN_BELT_SPEED else 0.0


def _measure_stride(
    walker: Walker,
    events: GaitEvents,
    first: GaitEvent,
    off: GaitEvent,
    last: GaitEvent,
    belt_speed: float,
) -> GaitCycle:
    """Return times and lengths of the stride between two strikes of a foot."""
    heel = walker.feet[first.side].heel
    other = walker.feet["l" if first.side == "r" else "r"].heel
    ahead = walker.ahead[last.frame]
    way = float(np.linalg.norm(_level(heel[last.frame] - heel[first.frame], walker.up)))
    if belt_speed > 0.0:
        way = float((heel[last.frame] - heel[first.frame]) @ ahead)
    time = last.time - first.time
    before = [
        event
        for event in events.events
        if event.side != first.side
        and event.kind == "strike"
        and first.time < event.time < last.time
    ]
    step_time = step_length = float("nan")
    if len(before) > 0:
        step_time = last.time - before[-1].time
        step = heel[last.frame] - other[before[-1].frame]
        step_length = float(step @ ahead) + belt_speed * step_time
    return GaitCycle(
        side=first.side,
        first=first.frame,
        off=off.frame,
        last=last.frame,
        stride_time=time,
        stride_length=way + belt_speed * time,
        step_length=step_length,
        step_time=step_time,
        stance_share=(off.time - first.time) / time,
    )


def _level(vector: Array, up: Array) -> Array:
    """Return the horizontal part of a vector."""
    return vector - (vector @ up) * up
