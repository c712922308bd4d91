"""What there is to see of a retargeted motion over time: feet, wrists, turns, limits, findings."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from exactik.model.motion import find_segments
from exactik.retargeting import LIMIT_TOLERANCE, MAX_HAND_ERROR, MAX_SLIDE
from exactik.typing import Array, BoolArray

if TYPE_CHECKING:
    from exactik.retargeting import Retargeting


MAX_SLIDE_MM, MAX_WRIST_PERCENT = 1e3 * MAX_SLIDE, 100.0 * MAX_HAND_ERROR
SLIDE, WRIST, JUMP, FAST = "slides", "wrist off", "jumps", "too fast"


class FaultyStretch(NamedTuple):
    """A stretch that needs a look."""

    kind: str  # `SLIDE`, `WRIST`, `JUMP` or `FAST`
    first: int  # frame
    last: int  # frame, which belongs to it
    frame: int  # of it that shows it best
    text: str  # what is wrong, in words


class Measures(NamedTuple):
    """What is measured in every frame."""

    # Largest distance of a standing point from where it stood first [mm], (T,); NaN where nothing
    # stands
    slides: Array
    wrists: dict[str, Array]  # "left" and "right" → distance from its place [% of the arm], (T,)
    turns: Array  # largest turn of a part of a limb since the frame before [°], (T,)
    source_turns: Array  # the same of the source
    touches: dict[str, BoolArray]  # dof → where it touches a limit, (T,); those that do
    findings: tuple[FaultyStretch, ...]  # those that need a look, in their order in time


def measure_retargeting(result: Retargeting) -> Measures:
    """Return all of it."""
    slides = _measure_slides(result)
    wrists = {side: 100.0 * errors for side, errors in result.hand_misses.items()}
    turns, source_turns = (
        np.degrees(
            np.max([getattr(steps, who) for steps in result.turn_steps.values()], axis=0, initial=0)
        )
        for who in ("target", "source")
    )
    findings = [*_find_slides(result), *_find_wrists(wrists), *_find_jumps(result)]
    findings += _find_fast_hinges(result)
    count = len(result.motion)
    return Measures(
        slides=slides,
        wrists=wrists,
        turns=np.append(0.0, turns)[:count],
        source_turns=np.append(0.0, source_turns)[:count],
        touches=_find_touches(result),
        findings=tuple(sorted(findings, key=lambda finding: finding.first)),
    )


def _measure_slides(result: Retargeting) -> Array:
    slides = np.full(len(result.motion), np.nan)
    for contact, distances in zip(result.contacts, result.contact_slides, strict=True):
        part = slice(contact.frames.first, contact.frames.last + 1)
        slides[part] = np.fmax(slides[part], 1e3 * distances)
    return slides


def _find_slides(result: Retargeting) -> list[FaultyStretch]:
    found = []
    for contact, distances in zip(result.contacts, result.contact_slides, strict=True):
        farthest = 1e3 * float(distances.max())
        if farthest > MAX_SLIDE_MM:
            first, last = contact.frames.first, contact.frames.last
            point = "ball of the foot" if contact.point == "ball" else "heel"
            text = f"the {contact.side} {point} slides by {farthest:.1f} mm while it stands"
            frame = first + int(np.argmax(distances))
            found.append(FaultyStretch(SLIDE, first, last, frame, text))
    return found


def _find_wrists(wrists: dict[str, Array]) -> list[FaultyStretch]:
    found = []
    for side, errors in wrists.items():
        for first, last in find_segments(errors > MAX_WRIST_PERCENT):
            frame = first + int(np.argmax(errors[first : last + 1]))
            text = f"the {side} wrist is up to {errors[frame]:.0f} % of the arm from its place"
            found.append(FaultyStretch(WRIST, first, last, frame, text))
    return found


def _find_jumps(result: Retargeting) -> list[FaultyStretch]:
    found = []
    for limb, frames in result.jumps.items():
        steps = result.turn_steps[limb]
        for frame in frames:
            own, source = np.degrees([steps.target[frame], steps.source[frame]])
            text = f"the {limb.replace('_', ' ')} turns by {own:.0f}° from one frame to the next"
            text += f", the source's by {source:.0f}°"
            found.append(FaultyStretch(JUMP, frame, frame + 1, frame + 1, text))
    return found


def _find_fast_hinges(result: Retargeting) -> list[FaultyStretch]:
    found = []
    for hinge in result.hinge_speeds:
        if hinge.share > 1.0:
            text = f"the hinge {hinge.name} turns at {hinge.speed:.0f} rad/s, "
            text += f"beyond {hinge.limit:.3g}"
            found.append(FaultyStretch(FAST, hinge.frame, hinge.frame + 1, hinge.frame + 1, text))
    return found


def _find_touches(result: Retargeting) -> dict[str, BoolArray]:
    """Return the dofs that touch a limit, those that do it most first."""
    skeleton = result.motion.skeleton
    touches = {}
    for v in np.flatnonzero(skeleton.plain_q >= 0):
        q = result.motion.q[:, skeleton.plain_q[v]]
        at = (q <= skeleton.lower[v] + LIMIT_TOLERANCE) | (q >= skeleton.upper[v] - LIMIT_TOLERANCE)
        if at.any() and skeleton.upper[v] > skeleton.lower[v]:
            touches[skeleton.dof_names[v]] = np.asarray(at)
    return dict(sorted(touches.items(), key=lambda touch: -int(touch[1].sum())))
