"""Heel strikes and toe-offs from the movement of the feet, without force plates.

The method is that of Zeni et al. (2008), which holds overground and on a treadmill: seen from the
pelvis, along the heading, a foot is furthest ahead shortly before its heel strikes, and its toe is
furthest behind when it leaves the floor. Toe-off is taken so. The strike comes up to 60 ms after
that maximum, when the heel has come down: where its fall has slowed to
`LANDED_SPEED` (the foot-velocity method of O'Connor et al. 2007 takes the vertical speed alone).
On the recordings of docs/angles.md that hold events this is within 25 ms of them.

Feet that move so need not walk. Steps count only where the body is upright, the foot is lifted
between them and stays level while it stands, strides last as long as people's do, and left and
right alternate; `GaitEvents.code` says what was not so.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from exactik.errors import UsageError
from exactik.model.motion import Motion
from exactik.recordings.angles._body_segments import SIDES
from exactik.recordings.angles._feet import FootPaths, Walker, follow_feet
from exactik.typing import Array

MIN_EXCURSION = 0.2  # leg lengths that a foot swings past the pelvis; slow walking has 0.4
MIN_LIFT = 0.03  # leg lengths that a heel is lifted in swing; shuffling has 0.05, walking 0.2
MAX_STANCE_DRIFT = 0.08  # leg lengths that the toe of a standing foot rises or falls
MIN_UPRIGHT = 0.7  # cosine of the pelvis' tilt from the vertical: 45°
MIN_MAX_STRIDE_S = 0.35, 3.0  # [s] of a stride: sprinting 0.45, very slow walking 2.5
PHASE_SHARE = 0.15  # of the shortest stride that a stance or swing must last
LANDED_SPEED = 0.1  # [m/s] downward speed of a heel that has landed; it falls with 0.2 to 0.5
LANDING_S = 0.15  # [s] after the foot is furthest ahead in which the heel lands
MIN_SWING_SPEED = 0.3  # [m/s] of a heel just before it strikes and a toe just off; slow: 0.8
SWING_S = 0.1  # [s] before a strike and after a toe-off in which the foot swings
MIN_STEP_S = 0.15  # [s] between strikes of both feet; a jump lands on both at once
MIN_FRAMES = 5  # of a motion in which anything can be seen to move
EDGE_FRAMES = 2  # at both ends, in which an extremum may be the recording's own end

TEXTS = {
    "gait": "",
    "no-legs": "The figure has no pelvis with two legs and feet.",
    "no-steps": "No foot swings past the body as in walking.",
    "not-upright": "The body is not upright while the feet swing.",
    "not-lifted": "The feet swing but are not lifted, or do not stand in between.",
    "not-alternating": "Left and right do not alternate as in walking.",
}


class GaitEvent(NamedTuple):
    """A foot meets or leaves the floor."""

    side: str  # "r" or "l"
    kind: str  # "strike" (the heel meets the floor) or "off" (the toe leaves it)
    frame: int  # counted from 0
    time: float  # from the first frame [s]


@dataclass(frozen=True)
class GaitEvents:
    """Events of a motion, in the order of time."""

    events: tuple[GaitEvent, ...]  # none if it is no gait
    # "gait", or why there are no events: "no-legs", "no-steps", "not-upright", "not-lifted" or
    # "not-alternating"
    code: str
    rate: float  # frames a second [Hz]

    @property
    def text(self) -> str:
        """Why there are no events, in a sentence; empty if there are."""
        return TEXTS[self.code]

    def shift(self, frames: int) -> GaitEvents:
        """Return the events of a longer motion, in which these come so many frames later."""
        later = (
            event._replace(frame=event.frame + frames, time=(event.frame + frames) / self.rate)
            for event in self.events
        )
        return replace(self, events=tuple(later))

    def frames(self, side: str, kind: str) -> list[int]:
        """Return the frames of the events of a side ("r", "l") and kind ("strike", "off")."""
        return [event.frame for event in self.events if (event.side, event.kind) == (side, kind)]


def find_gait_events(motion: Motion) -> GaitEvents:
    """Return heel strikes and toe-offs; none if the motion is no gait.

    Args:
        motion: of a person, at 50 Hz or more to be exact; overground or on a treadmill.
    """
    if len(motion) < MIN_FRAMES:
        return GaitEvents(events=(), code="no-steps", rate=motion.rate)
    try:
        walker = follow_feet(motion)
    except UsageError:
        return GaitEvents(events=(), code="no-legs", rate=motion.rate)
    return find_events_of(walker, motion.rate)


def find_events_of(walker: Walker, rate: float) -> GaitEvents:
    """Return the events of feet that were followed already."""
    found: list[GaitEvent] = []
    refusals: set[str] = set()
    for side in SIDES:
        events, code = _find_foot_events(walker, side, rate)
        found += events
        if code != "":
            refusals.add(code)
    sides = {side: [e for e in found if e.side == side] for side in SIDES}
    found.sort(key=lambda event: (event.frame, event.side))
    lacks_a_side = any(len(events) == 0 for events in sides.values())
    if lacks_a_side or not _alternates([event for event in found if event.kind == "strike"]):
        fallback = "no-steps" if lacks_a_side else "not-alternating"
        code = next((code for code in ("not-upright", "not-lifted") if code in refusals), fallback)
        return GaitEvents(events=(), code=code, rate=rate)
    return GaitEvents(events=tuple(found), code="gait", rate=rate)


def _find_foot_events(walker: Walker, side: str, rate: float) -> tuple[list[GaitEvent], str]:
    """Return the events of a foot, and the code of what spoke against others."""
    foot = walker.feet[side]
    least = MIN_EXCURSION * walker.leg_length
    near = max(round(SWING_S * rate), 1)
    heel_speed, toe_speed = (
        rate * np.linalg.norm(np.gradient(path, axis=0), axis=1) for path in (foot.heel, foot.toe)
    )
    # A foot that stands is furthest ahead or behind at some time too, as the body sways.
    strikes = [
        _find_landing(foot, walker.up, peak, rate)
        for peak in _find_peaks(foot.heel_ahead, least)
        if heel_speed[max(peak - near, 0) : peak + 1].max() > MIN_SWING_SPEED
    ]
    offs = [
        peak
        for peak in _find_peaks(-foot.toe_ahead, least)
        if toe_speed[peak : peak + near + 1].max() > MIN_SWING_SPEED
    ]
    events = [GaitEvent(side, "strike", frame, frame / rate) for frame in strikes]
    events += [GaitEvent(side, "off", frame, frame / rate) for frame in offs]
    events.sort(key=lambda event: event.frame)
    good: set[GaitEvent] = set()
    bad: set[GaitEvent] = set()
    code = "" if len(events) > 1 else "no-steps"
    for first, last in pairwise(events):
        reason = _judge_phase(walker, foot, first, last)
        if reason == "":
            good |= {first, last}
        else:
            code = reason
            if reason != "no-steps":  # a step may well end in standing about
                bad |= {first, last}
    return [event for event in events if event in good - bad], code


def _find_peaks(values: Array, least: float) -> list[int]:
    """Return the maxima of values (T,) that fall by `least` on a side before the next higher one.

    Not within `EDGE_FRAMES` of the ends, where they may be those of the recording.
    """
    peaks: list[int] = []
    low, high, rising = 0, 0, None
    for t in range(len(values)):
        if values[t] > values[high]:
            high = t
        if values[t] < values[low]:
            low = t
        if rising is not False and values[high] - values[t] >= least:
            peaks.append(high)
            rising, low = False, t
        elif rising is not True and values[t] - values[low] >= least:
            rising, high = True, t
    if rising is True:
        peaks.append(high)
    return [t for t in peaks if EDGE_FRAMES <= t < len(values) - EDGE_FRAMES]


def _find_landing(foot: FootPaths, up: Array, peak: int, rate: float) -> int:
    """Return the frame in which the heel has come down, at about its furthest ahead."""
    speed = np.gradient(foot.heel @ up)[peak : peak + 1 + round(LANDING_S * rate)] * rate
    fastest = int(np.argmin(speed))
    landed = np.flatnonzero(speed[fastest:] > -LANDED_SPEED)
    return peak + (fastest + int(landed[0]) if len(landed) > 0 else 0)


def _judge_phase(walker: Walker, foot: FootPaths, first: GaitEvent, last: GaitEvent) -> str:
    """Return the code of what speaks against a stance or swing between two events, "" if none."""
    shortest, longest = MIN_MAX_STRIDE_S
    if first.kind == last.kind or not PHASE_SHARE * shortest <= last.time - first.time <= longest:
        return "no-steps"
    span = slice(first.frame, last.frame + 1)
    if np.mean(walker.uprightness[span]) < MIN_UPRIGHT:
        return "not-upright"
    if first.kind == "strike":
        toe = foot.toe[span] @ walker.up
        middle = toe[len(toe) // 3 : 2 * len(toe) // 3 + 1]
        return "not-lifted" if np.ptp(middle) > MAX_STANCE_DRIFT * walker.leg_length else ""
    heel = foot.heel[span] @ walker.up
    lift = float(heel.max() - min(heel[0], heel[-1]))
    return "not-lifted" if lift < MIN_LIFT * walker.leg_length else ""


def _alternates(strikes: list[GaitEvent]) -> bool:
    """Tell whether most strikes are followed by one of the other foot, not at once nor late."""
    good = [
        a.side != b.side and MIN_STEP_S < b.time - a.time < MIN_MAX_STRIDE_S[1]
        for a, b in pairwise(strikes)
    ]
    return sum(good) > 0.5 * len(good)
