"""A skeleton as a body, z up: its parts, frames at rest, lengths; and how it moves, limbs bent.

Where a limb is straight, which way it bends next is open, and the pose that holds hand or foot
where it should be may flip from one frame to the next. People bend knees backwards and elbows
forwards; targets of limbs are therefore kept bent that way by a few degrees at least. The price is
known: a limb bent by 8° is 0.24 % shorter than a straight one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from exactik.anatomy import SIDES, Anatomy
from exactik.model import Skeleton
from exactik.spatial import skew
from exactik.typing import Array

MIN_BEND = np.radians(8.0)
"""[rad] of elbows and knees: large against the noise of recorded ones (1°), small to the eye."""
MAX_EXTENSION = float(np.cos(0.5 * MIN_BEND))
"""Of a limb, in its length: what a limb of two equal halves has at that bend, 0.9976."""
EXTENSION_ROOM = 0.02
"""Of a limb, in its length: from there to the end its extension is compressed, smoothly."""
HIP_WINDOW_S = 0.1  # [s] to either side over which hips are lowered, so that they do not twitch
MAX_LOWERING = 0.2
"""Of a leg: feet that are farther away than hips can come down for are not waited for."""


@dataclass(frozen=True, eq=False)
class BodyFigure:
    """A skeleton, z up, with its parts and how they are at rest."""

    anatomy: Anatomy  # its parts
    q_rest: Array  # its rest pose, (nq,)
    # R_bone_part of every part and other bone that has a name, (3, 3)
    part_frames: Mapping[str, Array]
    leg_length: float  # hip to knee to ankle, mean of both sides [m]
    arm_lengths: Mapping[str, float]  # side → shoulder to elbow to wrist [m]
    ankle_height: float  # of the ankle above the ground [m] where the figure stands at rest
    # Side → ball of the foot in the frame of the foot's bone [m], (3,)
    toe_points: Mapping[str, Array]
    hip_centre: Array  # middle of the hip joints in the frame of the pelvis [m], (3,)

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
    """The body that moves, z up, with its poses."""

    figure: BodyFigure  # its parts and lengths
    positions: Array  # of its bones [m], (T, n_bones, 3)
    rotations: Array  # R_world_bone, (T, n_bones, 3, 3)
    rate: float  # frames a second [Hz]
    ground: float  # height of its ankles when it stands [m]

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


def bend_at_least(upper: Array, lower: Array, flexion: float) -> Array:
    """Return directions of a lower limb part, bent against the upper one by some degrees.

    Args:
        upper: axes of the upper part in the world, (T, 3, 3): along it, forward when it hangs or is
            held to the side, and the third.
        lower: direction of the lower part, (T, 3), unit vectors.
        flexion: +1 if it bends forward (elbows), −1 if backward (knees).

    Returns:
        Unit vectors, (T, 3); as they were where the limb is clearly bent.
    """
    least = float(np.sin(MIN_BEND))
    along, forward, side = (np.einsum("ti,ti->t", upper[:, :, k], lower) for k in range(3))
    bend = flexion * forward
    needed = np.sqrt(np.maximum(least**2 - side**2, 0.0))
    gap, softness = bend - needed, 0.3 * least
    bent = 0.5 * (bend + needed + np.sqrt(gap**2 + softness**2))
    # Bent the other way by far: that is meant, or twisted otherwise than this one knows.
    amount = np.clip((np.hypot(bend, side) / least - 1.5) / 1.5, 0.0, 1.0)
    share = (1.0 - amount**2 * (3.0 - 2.0 * amount)) * (along > 0.0)
    bend = bend + share * (bent - bend)
    rest = np.sqrt(np.maximum(1.0 - bend**2 - side**2, 0.0))
    parts = np.stack([np.where(along > 0.0, rest, along), flexion * bend, side], axis=1)
    directions = np.einsum("tij,tj->ti", upper, parts)
    return directions / np.linalg.norm(directions, axis=1, keepdims=True)


def limit_extension(vectors: Array, length: float) -> Array:
    """Return vectors from shoulder to wrist [m], (T, 3), none longer than the limb can be bent.

    Args:
        vectors: [m], (T, 3).
        length: of the limb when straight [m].
    """
    share = np.linalg.norm(vectors, axis=1, keepdims=True) / length
    room = EXTENSION_ROOM - (1.0 - MAX_EXTENSION)
    over = np.maximum(share - (1.0 - EXTENSION_ROOM), 0.0)
    # Slope 1 where it begins, and MAX_EXTENSION at no end.
    shorter = 1.0 - EXTENSION_ROOM + room * np.tanh(over / room)
    return vectors * np.where(over > 0.0, shorter / np.maximum(share, 1e-12), 1.0)


def lower_hips(hips: Array, ankles: Array, leg: float, rate: float) -> Array:
    """Return by how much the body comes down [m], (T,), for both feet to be reached by bent legs.

    Args:
        hips: places of the hip joints [m], z up, (T, n, 3).
        ankles: planned places [m], (T, n, 3).
        leg: length of a leg [m].
    """
    reach = MAX_EXTENSION * leg
    away = ankles - hips
    flat = np.minimum((away[..., :2] ** 2).sum(axis=-1), reach**2)
    down = -away[..., 2] - np.sqrt(reach**2 - flat)  # that the ankle is too far down
    too_far = np.linalg.norm(away, axis=-1) > reach
    needed = np.where(too_far, np.clip(down, 0.0, MAX_LOWERING * leg), 0.0).max(axis=1)
    half = max(round(HIP_WINDOW_S * rate), 1)
    padded = np.pad(needed, 2 * half, mode="edge")
    windows = np.lib.stride_tricks.sliding_window_view(padded, 2 * half + 1)
    highest = windows.max(axis=1)
    weights = np.hanning(2 * half + 3)[1:-1]
    return np.convolve(highest, weights / weights.sum(), mode="valid")
