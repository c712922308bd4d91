"""What comes of a retargeting: the motion, what corresponds, and how well feet and hands do."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from exactik._arguments import require_html_path
from exactik._registry import find
from exactik._text import count_noun, join_names
from exactik.anatomy import LIMBS, SIDES
from exactik.model import Pose
from exactik.model.motion import Motion, choose_even_frames
from exactik.retargeting._apart import Crossings, find_pairs, measure_crossings
from exactik.retargeting._contacts import Contact
from exactik.retargeting._correspondence import Correspondence
from exactik.retargeting._jumps import find_jump_frames, measure_limb_steps, measure_trunk_steps
from exactik.retargeting._reach import find_hand_reach, measure_hand_places
from exactik.retargeting.body import BodyFigure, HingeSpeed, SourceBody, measure_hinges
from exactik.typing import Array, IntArray

MAX_SLIDE = 1e-3  # [m] of a standing foot that counts as standing; a millimetre is not seen
MAX_HAND_ERROR = 0.02  # of the arm's length that a wrist may be off; 1 cm of an adult's
MAX_CROSSING = 1e-3  # [m] of a robot's shapes that counts as touching
SHOWN_TIMES = 3  # moments in a sentence
MAX_REACH_FRAMES = 50  # in which a wrist is off, evenly chosen, that are asked why


class TurnSteps(NamedTuple):
    """Largest turn of a part of a limb from each frame to the next."""

    source: Array  # [rad], (T − 1,)
    target: Array  # [rad], (T − 1,)


@dataclass(frozen=True, eq=False)
class Retargeting:
    """A motion taken over by another figure.

    Attributes:
        motion: of the target.
        source: what was taken over.
        correspondence: which bone took over which.
        contacts: when ankles (heels) and balls of the feet stand, by the source.
        scale: of the path: legs of the target over legs of the source.
        seconds: that it took.
        source_body: the body that moved, z up.
        target_figure: the body that took over, z up.
        root_was_freed: whether the target's root was fixed and got a free joint.
        hands_placed: whether wrists were put to their places.
        held_off: by how much self-collision keeps a wrist off its place [m]: side → (T,); empty if
            it was not looked at.
        remarks: on the source, a sentence each.
    """

    motion: Motion
    source: Motion
    correspondence: Correspondence
    contacts: tuple[Contact, ...]
    scale: float
    seconds: float
    source_body: SourceBody
    target_figure: BodyFigure
    root_was_freed: bool
    hands_placed: bool
    held_off: Mapping[str, Array]
    remarks: tuple[str, ...] = ()

    @cached_property
    def _pose(self) -> Pose:
        """Poses of the target, z up."""
        return self.target_figure.skeleton.forward(self.motion.q)

    @cached_property
    def contact_slides(self) -> tuple[Array, ...]:
        """How far a point is from where it stood first, in each frame of each contact [m]."""
        slides, figure = [], self.target_figure
        for contact in self.contacts:
            point = figure.toe_points[contact.side] if contact.point == "ball" else np.zeros(3)
            places = self._pose.point(figure.bone_of(f"{contact.side}_foot"), point)
            stance = places[contact.frames.first : contact.frames.last + 1]
            slides.append(np.linalg.norm(stance - stance[0], axis=1))
        return tuple(slides)

    @property
    def foot_slides(self) -> Array:
        """How far the foot slides in each contact, at most [m], (n,)."""
        return np.array([float(slide.max()) for slide in self.contact_slides])

    @cached_property
    def hand_errors(self) -> Mapping[str, Array]:
        """Distance of a wrist from its scaled place, in lengths of the arm: side → (T,)."""
        places = measure_hand_places(self.source_body, self.target_figure, self._pose)
        return {
            side: np.linalg.norm(places[side].reached - places[side].scaled, axis=1)
            / self.target_figure.arm_lengths[side]
            for side in SIDES
        }

    @cached_property
    def hand_misses(self) -> Mapping[str, Array]:
        """The same beyond what the robot's own body is in the way: side → (T,)."""
        arms = self.target_figure.arm_lengths
        return {
            side: np.maximum(errors - self.held_off.get(side, 0.0) / arms[side], 0.0)
            for side, errors in self.hand_errors.items()
        }

    @cached_property
    def crossings(self) -> Crossings:
        """How near shapes of a robot come to each other in each frame."""
        skeleton = self.motion.skeleton
        return measure_crossings(skeleton, self.motion.q, find_pairs(skeleton))

    @cached_property
    def turn_steps(self) -> Mapping[str, TurnSteps]:
        """How fast limbs and trunk turn: "left_arm", …, "trunk" → steps of source and target."""
        bodies = (self.source_body, self.target_figure, self._pose)
        steps = {limb: TurnSteps(*measure_limb_steps(*bodies, limb)) for limb in LIMBS}
        trunk = measure_trunk_steps(*bodies)
        return steps if trunk is None else {**steps, "trunk": TurnSteps(*trunk)}

    @cached_property
    def jumps(self) -> Mapping[str, tuple[int, ...]]:
        """Frames after which a limb or the trunk turns as the source's does not: limb → frames."""
        rate = self.motion.rate
        return {
            limb: tuple(find_jump_frames(steps.target, steps.source, rate).tolist())
            for limb, steps in self.turn_steps.items()
        }

    @property
    def limit_excess(self) -> float:
        """By how much the farthest coordinate is beyond its limit [rad or m]; 0 for none."""
        skeleton = self.motion.skeleton
        limited = skeleton.plain_q >= 0
        q = self.motion.q[:, skeleton.plain_q[limited]]
        below, above = skeleton.lower[limited] - q, q - skeleton.upper[limited]
        return float(max(below.max(initial=0.0), above.max(initial=0.0)))

    @cached_property
    def hinge_speeds(self) -> tuple[HingeSpeed, ...]:
        """How fast each joint with one dof turns at most from a frame to the next."""
        return measure_hinges(self.motion.skeleton, self.motion.q, self.motion.rate)

    @property
    def fastest_hinge(self) -> HingeSpeed:
        """The joint with one dof that turns fastest from a frame to the next."""
        nothing = HingeSpeed(name="", speed=0.0, frame=0)
        return max(self.hinge_speeds, key=lambda hinge: hinge.speed, default=nothing)

    @property
    def needs_look(self) -> bool:
        """Whether anything is in `problems`."""
        return len(self.problems) > 0

    @cached_property
    def problems(self) -> tuple[str, ...]:
        """What is not as it should be, a sentence each."""
        found = []
        slide = float(self.foot_slides.max(initial=0.0))
        if slide > MAX_SLIDE:
            count = count_noun(int((self.foot_slides > MAX_SLIDE).sum()), "contact")
            found.append(f"feet slide by up to {1e3 * slide:.1f} mm in {count}")
        for side, errors in self.hand_misses.items():
            off = np.flatnonzero(errors > MAX_HAND_ERROR)
            if len(off) > 0:
                worst = int(np.argmax(errors))
                often = f"beyond {100.0 * MAX_HAND_ERROR:g} % in {count_noun(len(off), 'frame')}"
                found.append(
                    f"the {side} wrist is up to {100.0 * errors[worst]:.1f} % of the arm from its "
                    f"place, at {worst / self.motion.rate:.2f} s, and {often}"
                    f"{self._explain_misses(side, off)}"
                )
        deepest = int(np.argmin(self.crossings.gaps))
        if (gap := self.crossings.gaps[deepest]) < -MAX_CROSSING:
            first, second = self.crossings.pairs[deepest]
            found.append(
                f"{first} and {second} cross by {-1e3 * gap:.1f} mm, at "
                f"{deepest / self.motion.rate:.2f} s"
            )
        if self.limit_excess > 0.0:
            found.append(f"limits are left by {self.limit_excess:.2g} rad or m")
        for limb, frames in self.jumps.items():
            if len(frames) > 0:
                times = [f"{frame / self.motion.rate:.2f} s" for frame in frames]
                found.append(
                    f"the {limb.replace('_', ' ')} jumps at {join_names(times, SHOWN_TIMES)}"
                )
        return (*found, *self._list_fast_hinges())

    def _list_fast_hinges(self) -> list[str]:
        """Return a sentence on hinges that turn faster than the robot's do, if any does."""
        fast = [hinge for hinge in self.hinge_speeds if hinge.share > 1.0]
        if len(fast) == 0:
            return []
        worst = max(fast, key=lambda hinge: hinge.share)
        others = "" if len(fast) == 1 else f", {len(fast) - 1} more beyond theirs"
        return [
            f"the hinge {worst.name} turns at {worst.speed:.0f} rad/s at "
            f"{worst.frame / self.motion.rate:.2f} s, beyond {worst.limit:.3g}{others}"
        ]

    def _explain_misses(self, side: str, frames: IntArray) -> str:
        """Return why a wrist is off in frames, (n,): the end of a sentence; "" if not placed."""
        if not self.hands_placed:
            return ", for wrists were not placed"
        looked = frames[choose_even_frames(len(frames), MAX_REACH_FRAMES)]
        figure = self.target_figure
        reach = find_hand_reach(self.source_body, figure, self.motion.q, side, looked)
        beyond = looked[reach.distances > MAX_HAND_ERROR]
        if len(beyond) == 0:
            return (
                ": the arm can reach these places one by one, but no way from one to the next "
                "without a jump was found inside its limits"
            )
        degrees = [f"{name} at {np.degrees(limit):.0f}°" for name, limit in reach.limits]
        held = f" ({join_names(degrees)})" if len(degrees) > 0 else ""
        share = "" if len(beyond) == len(looked) else f" in {len(beyond)} of {len(looked)} of them"
        times = [f"{frame / self.motion.rate:.2f} s" for frame in (beyond[0], beyond[-1])]
        return (
            f": out of reach{share}, from {times[0]} to {times[1]}, inside the limits of the arm"
            f"{held}"
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """What was done beside copying, a sentence each."""
        found, arms = list(self.remarks), self.target_figure.arm_lengths
        if self.root_was_freed:
            name = self.motion.skeleton.bones[0].name
            found.append(f"the root {name!r}, fixed in its file, moves freely")
        if len(self.contacts) == 0:
            found.append("no foot of the source stands anywhere")
        for side, held in self.held_off.items():
            if len(frames := np.flatnonzero(held > MAX_HAND_ERROR * arms[side])) > 0:
                found.append(
                    f"the body keeps the {side} wrist off its place in "
                    f"{count_noun(len(frames), 'frame')}, by {100.0 * held.max():.1f} cm at most"
                )
        return tuple(found)

    def __str__(self) -> str:
        """Return how it went, in a few sentences."""
        frames, fast = len(self.motion), len(self.motion) / max(self.seconds, 1e-9)
        feet = f"feet stand {count_noun(len(self.contacts), 'time')}"
        if len(self.contacts) > 0:
            feet += f" and slide by {1e3 * float(self.foot_slides.max()):.3f} mm at most"
        hands = 100.0 * max(float(errors.max()) for errors in self.hand_misses.values())
        turns = [np.degrees(step.target.max(initial=0.0)) for step in self.turn_steps.values()]
        own = [np.degrees(step.source.max(initial=0.0)) for step in self.turn_steps.values()]
        text = (
            f"{count_noun(frames, 'frame')} taken over at {fast:,.0f} frames/s, "
            f"path × {self.scale:.3f}; {feet}; "
            f"wrists within {hands:.2f} % of the arm; limbs turn by {max(turns):.1f}° a frame at "
            f"most, the source's by {max(own):.1f}°; "
        )
        return (
            text + ("; ".join(self.problems) if self.needs_look else "no limit left, no jump") + "."
        )

    def report(self, path: str | os.PathLike[str], *, command: str = "") -> None:
        """Write a report: one HTML file that needs nothing else, with both figures side by side.

        Args:
            path: of the file.
            command: that repeats it, to be printed in it.
        """
        find("write_retargeting_report")(self, require_html_path("report", path), command)

    def to_dict(self) -> dict[str, Any]:
        """Return numbers and words for JSON."""
        errors = self.hand_misses
        return {
            "frames": len(self.motion),
            "frames_per_second": len(self.motion) / max(self.seconds, 1e-9),
            "scale": self.scale,
            "mapping": {
                pair.part: [pair.source, pair.target] for pair in self.correspondence.pairs
            },
            "source_only": list(self.correspondence.source_only),
            "target_only": list(self.correspondence.target_only),
            "contacts": [
                {
                    "side": contact.side,
                    "point": contact.point,
                    "first": contact.frames.first,
                    "last": contact.frames.last,
                    "slide_mm": 1e3 * slide,
                }
                for contact, slide in zip(self.contacts, self.foot_slides.tolist(), strict=True)
            ],
            "hand_error_percent": {side: 100.0 * float(errors[side].max()) for side in SIDES},
            "limit_excess": self.limit_excess,
            "hinge_speeds": {hinge.name: hinge.speed for hinge in self.hinge_speeds},
            "jumps": {limb: list(frames) for limb, frames in self.jumps.items()},
            "problems": list(self.problems),
            "notes": list(self.notes),
        }
