"""What comes of a retargeting: the motion, what corresponds, and how well feet and hands do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from exactik.model import Pose
from exactik.motion import Motion
from exactik.retargeting._anatomy import SIDES
from exactik.retargeting._bends import limit_extension
from exactik.retargeting._contacts import Contact
from exactik.retargeting._correspondence import Correspondence
from exactik.retargeting._figure import BodyFigure
from exactik.typing import Array

__all__ = ["HandPlaces", "Retargeting", "SourceBody", "measure_hand_places"]


@dataclass(frozen=True, eq=False)
class SourceBody:
    """The body that moves, z up, with its poses.

    Attributes:
        figure: its parts and lengths.
        positions: of its bones [m], (T, n_bones, 3).
        rotations: R_world_bone, (T, n_bones, 3, 3).
        rate: frames a second [Hz].
        ground: height of its ankles when it stands [m].
    """

    figure: BodyFigure
    positions: Array
    rotations: Array
    rate: float
    ground: float

    def ankle(self, side: str) -> Array:
        """Return places of an ankle [m], (T, 3)."""
        return self.positions[:, self.figure.index_of(f"{side}_foot")]

    def ball(self, side: str) -> Array:
        """Return places of the ball of a foot [m], (T, 3)."""
        foot = self.figure.index_of(f"{side}_foot")
        return self.positions[:, foot] + self.rotations[:, foot] @ self.figure.toe_points[side]

    def hip_centres(self) -> Array:
        """Return places of the middle of the hips [m], (T, 3)."""
        thighs = [self.figure.start_of(f"{side}_thigh") for side in SIDES]
        return self.positions[:, thighs].mean(axis=1)


class HandPlaces(NamedTuple):
    """Where a wrist is, and where it should be.

    Attributes:
        scaled: the source's place, seen from the chest, scaled by the arms [m, world], (T, 3).
        target: the same, but for arms that would be straight: these stay bent a little.
        reached: the target's [m, world], (T, 3).
    """

    scaled: Array
    target: Array
    reached: Array


def measure_hand_places(
    source: SourceBody, target: BodyFigure, pose: Pose
) -> Mapping[str, HandPlaces]:
    """Return the places of both wrists in poses of the target: side → places.

    The scaled place lies from the target's shoulder as the source's wrist from its shoulder, in the
    axes of the chest, times the ratio of the lengths of the arms: it can always be reached, unless
    a limit forbids it.
    """
    chest = source.rotations[:, source.figure.index_of(source.figure.chest)]
    R_source = chest @ source.figure.part_frames[source.figure.chest]
    own = pose.rotations[:, target.index_of(target.chest)]
    R_target = own @ target.part_frames[target.chest]
    places = {}
    for side in SIDES:
        shoulder, wrist = (
            source.positions[:, source.figure.start_of(f"{side}_{part}")]
            for part in ("upper_arm", "hand")
        )
        own_shoulder, own_wrist = (
            pose.positions[:, target.start_of(f"{side}_{part}")] for part in ("upper_arm", "hand")
        )
        scale = target.arm_lengths[side] / source.figure.arm_lengths[side]
        seen = np.einsum("tji,tj->ti", R_source, wrist - shoulder)
        away = scale * np.einsum("tij,tj->ti", R_target, seen)
        places[side] = HandPlaces(
            scaled=own_shoulder + away,
            target=own_shoulder + limit_extension(away, target.arm_lengths[side]),
            reached=own_wrist,
        )
    return places


@dataclass(frozen=True, eq=False)
class Retargeting:
    """A motion taken over by another figure.

    Attributes:
        motion: of the target.
        source: what was taken over.
        correspondence: which bone took over which.
        contacts: when heels (ankles) and balls of the feet stand, by the source.
        scale: of the path: legs of the target over legs of the source.
        seconds: that it took.
        source_body: the body that moved, z up.
        target_figure: the body that took over, z up.
        root_was_freed: whether the target's root was fixed and got a free joint.
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

    @cached_property
    def _pose(self) -> Pose:
        """Poses of the target, z up."""
        return self.target_figure.skeleton.forward(self.motion.q)
