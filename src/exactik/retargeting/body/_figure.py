"""A skeleton as a body, z up: its parts, their frames at rest, its lengths; and one that moves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from exactik.anatomy import SIDES, Anatomy
from exactik.model import Skeleton
from exactik.spatial import skew
from exactik.typing import Array


@dataclass(frozen=True, eq=False)
class BodyFigure:
    """A skeleton, z up, with its parts and how they are at rest.

    Attributes:
        anatomy: its parts.
        q_rest: its rest pose, (nq,).
        part_frames: R_bone_part of every part and other bone that has a name, (3, 3).
        leg_length: hip to knee to ankle, mean of both sides [m].
        arm_lengths: side → shoulder to elbow to wrist [m].
        ankle_height: of the ankle above the ground [m] where the figure stands at rest.
        toe_points: side → ball of the foot in the frame of the foot's bone [m], (3,).
        hip_centre: middle of the hip joints in the frame of the pelvis [m], (3,).
    """

    anatomy: Anatomy
    q_rest: Array
    part_frames: Mapping[str, Array]
    leg_length: float
    arm_lengths: Mapping[str, float]
    ankle_height: float
    toe_points: Mapping[str, Array]
    hip_centre: Array

    @property
    def skeleton(self) -> Skeleton:
        """The figure."""
        return self.anatomy.skeleton

    def bone_of(self, name: str) -> str:
        """Return the bone that has the orientation of a part, or of another bone by its name."""
        return self.anatomy.bone_of(name)

    def index_of(self, name: str) -> int:
        """Return the index of that bone."""
        return self.skeleton.bone_index(self.bone_of(name))

    def start_of(self, name: str) -> int:
        """Return the index of the bone whose origin is the joint centre of a part."""
        return self.anatomy.start_of(name)

    @property
    def chest(self) -> str:
        """The part that carries the arms."""
        return "chest" if "chest" in self.anatomy.parts else "pelvis"


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


def rotation_between(a: Array, b: Array) -> Array:
    """Return the shortest rotation that takes unit vectors a to b; (…, 3) → (…, 3, 3).

    Between opposite ones there is no shortest; half a turn about some axis across is returned.
    """
    cosine = np.einsum("...i,...i->...", a, b)[..., None, None]
    k = skew(np.cross(a, b))
    opposite = cosine < -1.0 + 1e-9
    regular = np.eye(3) + k + k @ k / np.where(opposite, 1.0, 1.0 + cosine)
    least = np.eye(3)[np.argmin(np.abs(a), axis=-1)]
    axis = np.cross(a, least)
    axis = axis / np.maximum(np.linalg.norm(axis, axis=-1, keepdims=True), 1e-12)
    half = 2.0 * axis[..., :, None] * axis[..., None, :] - np.eye(3)
    return np.where(opposite, half, regular)
