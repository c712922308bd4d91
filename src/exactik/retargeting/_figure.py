"""A skeleton as a body: its axes and segments at rest, its lengths, where its ankles are.

Rest poses differ: arms to the side, hanging or bent, feet flat or not, any axes of the bones. What
two skeletons have in common is the anatomical frame of each part,

    R_world_part = R_world_bone · R_bone_part ,   R_bone_part = R_world_boneᵀ(rest) · A_part(rest)

with A_part made of the body's axes (forward, left, up) at rest: for the trunk they are these; a
limb's are those of a limb held straight (arms to the side, legs down) turned the shortest way to
where the limb points at rest, and on from segment to segment. A bent elbow at rest is then told
from a straight one, and arms that hang from arms held out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from exactik.errors import ModelError
from exactik.model import Skeleton
from exactik.retargeting._anatomy import ARM_PARTS, LEG_PARTS, SIDES, Anatomy
from exactik.spatial import skew
from exactik.typing import Array

__all__ = [
    "BodyFigure",
    "SourceBody",
    "find_up_direction",
    "make_body_figure",
    "measure_standing",
    "rotation_between",
]

UPRIGHT_COSINE = 0.8
"""Cosine of the angle, 37°, within which a body's long axis is taken for one of the world's axes:
rest poses that lean are not meant to; people who sit lean less."""
MIN_FOOT_SHARE = 0.08
"""Of the leg: toes nearer to the ankle, seen from above, are no toes but a sole below it. Feet have
0.15 to 0.2 from ankle to ball."""
FOOT_SHARE = 0.16  # of the leg from ankle to ball, seen from above, where a figure has no toes
MAX_ANKLE_SHARE = 0.25
"""Of the leg: ankles higher than this above the ground at rest do not stand on it. People have 0.1,
robots up to 0.15."""


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
        part = self.anatomy.parts.get(name)
        return self.anatomy.others[name] if part is None else part.bone

    def index_of(self, name: str) -> int:
        """Return the index of that bone."""
        return self.skeleton.bone_index(self.bone_of(name))

    def start_of(self, name: str) -> int:
        """Return the index of the bone whose origin is the joint centre of a part."""
        return self.skeleton.bone_index(self.anatomy.parts[name].start)

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


def find_up_direction(anatomy: Anatomy, positions: Array) -> Array:
    """Return the mean direction from the ankles to the chest, (3,), of poses (n, n_bones, 3)."""
    skeleton, parts = anatomy.skeleton, anatomy.parts
    top = skeleton.bone_index(parts.get("head", parts.get("chest", parts["pelvis"])).bone)
    ankles = [skeleton.bone_index(parts[f"{side}_foot"].bone) for side in SIDES]
    along = (positions[:, top] - positions[:, ankles].mean(axis=1)).mean(axis=0)
    return _unit(along, f"{skeleton.name!r} has its head at its feet")


def measure_standing(anatomy: Anatomy, positions: Array) -> Array:
    """Return how much bodies stand, from −1 to 1, (n,), of poses (n, n_bones, 3).

    1 for legs straight opposite to the trunk; below 0 it is no pose of a body that stands or lies.
    """
    skeleton, parts = anatomy.skeleton, anatomy.parts
    top = parts.get("head", parts.get("chest", parts["pelvis"])).bone
    hips = [skeleton.bone_index(parts[f"{side}_thigh"].start) for side in SIDES]
    ankles = [skeleton.bone_index(parts[f"{side}_foot"].bone) for side in SIDES]
    trunk = positions[:, None, skeleton.bone_index(top)] - positions[:, hips]
    legs = positions[:, hips] - positions[:, ankles]
    lengths = np.linalg.norm(trunk, axis=2) * np.linalg.norm(legs, axis=2)
    cosines = np.einsum("nsi,nsi->ns", trunk, legs) / np.maximum(lengths, 1e-12)
    return cosines.min(axis=1)


def make_body_figure(anatomy: Anatomy, q_rest: Array) -> BodyFigure:
    """Return the figure of a skeleton whose up axis is z, from its rest pose, (nq,)."""
    return _RestMeasure(anatomy, q_rest).make_figure()


class _RestMeasure:
    """Measures one skeleton at rest."""

    def __init__(self, anatomy: Anatomy, q_rest: Array):
        self.anatomy, self.q_rest = anatomy, q_rest
        self.skeleton = anatomy.skeleton
        pose = self.skeleton.forward(q_rest)
        self.positions, self.rotations = pose.positions, pose.rotations
        self.body = self._find_body_axes()

    def start(self, name: str) -> Array:
        """Return the joint centre of a part at rest [m], (3,)."""
        return self.positions[self.skeleton.bone_index(self.anatomy.parts[name].start)]

    def _find_body_axes(self) -> Array:
        """Return the axes of the body at rest as columns: forward, left, up, (3, 3)."""
        up = find_up_direction(self.anatomy, self.positions[None])
        axis = int(np.argmax(np.abs(up)))
        if abs(up[axis]) > UPRIGHT_COSINE:
            up = np.eye(3)[axis] * np.sign(up[axis])
        pairs = [("left_thigh", "right_thigh"), ("left_upper_arm", "right_upper_arm")]
        left = np.sum([self.start(a) - self.start(b) for a, b in pairs], axis=0)
        left = _unit(left - (left @ up) * up, f"{self.skeleton.name!r} has left and right at once")
        return np.stack([np.cross(left, up), left, up], axis=1)

    def make_figure(self) -> BodyFigure:
        """Return all that is measured."""
        legs = [self._limb_length(side, LEG_PARTS) for side in SIDES]
        leg = 0.5 * (legs[0] + legs[1])
        toes = {side: self._find_toes(side, leg) for side in SIDES}
        axes = self._find_part_axes(toes)
        frames = {}
        for name, axes_of_part in axes.items():
            bone = self.skeleton.bone_index(self._bone_of(name))
            frames[name] = self.rotations[bone].T @ axes_of_part
        toe_points = {}
        for side in SIDES:
            foot = self.skeleton.bone_index(self.anatomy.parts[f"{side}_foot"].bone)
            toe_points[side] = self.rotations[foot].T @ (toes[side] - self.positions[foot])
        pelvis = self.skeleton.bone_index(self.anatomy.parts["pelvis"].bone)
        middle = 0.5 * (self.start("left_thigh") + self.start("right_thigh"))
        return BodyFigure(
            anatomy=self.anatomy,
            q_rest=self.q_rest,
            part_frames=frames,
            leg_length=leg,
            arm_lengths={side: self._limb_length(side, ARM_PARTS) for side in SIDES},
            ankle_height=self._find_ankle_height(leg),
            toe_points=toe_points,
            hip_centre=self.rotations[pelvis].T @ (middle - self.positions[pelvis]),
        )

    def _bone_of(self, name: str) -> str:
        part = self.anatomy.parts.get(name)
        return self.anatomy.others[name] if part is None else part.bone

    def _limb_length(self, side: str, parts: tuple[str, ...]) -> float:
        a, b, c = (self.start(f"{side}_{part}") for part in parts)
        length = float(np.linalg.norm(b - a) + np.linalg.norm(c - b))
        if length <= 0.0:
            raise ModelError(f"the {side} {parts[0]} of {self.skeleton.name!r} has no length")
        return length

    # --- feet

    def _find_toes(self, side: str, leg: float) -> Array:
        """Return the ball of a foot at rest [m, world], (3,); a usual one if there are no toes."""
        parts, up = self.anatomy.parts, self.body[:, 2]
        foot = self.skeleton.bone_index(parts[f"{side}_foot"].bone)
        candidates = [k for k, parent in enumerate(self.skeleton.parents) if parent == foot]
        if f"{side}_toes" in parts:
            candidates.insert(0, self.skeleton.bone_index(parts[f"{side}_toes"].bone))
        for k in candidates:
            along = self.positions[k] - self.positions[foot]
            if np.linalg.norm(along - (along @ up) * up) > MIN_FOOT_SHARE * leg:
                return self.positions[k]
        ground = self._find_ankle_height(leg)
        return self.positions[foot] + FOOT_SHARE * leg * self.body[:, 0] - ground * up

    def _find_ankle_height(self, leg: float) -> float:
        """Return the height of the ankles above the ground [m].

        The ground is z = 0 where the figure stands on it at rest, else the lowest of its feet.
        """
        up, feet = self.body[:, 2], []
        for side in SIDES:
            foot = self.skeleton.bone_index(self.anatomy.parts[f"{side}_foot"].bone)
            ankle = float(self.positions[foot] @ up)
            below = [k for k in range(foot, len(self.positions)) if self._is_below(k, foot)]
            lowest = min(float(self.positions[k] @ up) for k in below)
            stands = up[2] > UPRIGHT_COSINE and -0.02 * leg < lowest
            stands = stands and 0.0 < ankle < MAX_ANKLE_SHARE * leg
            feet.append(ankle if stands else ankle - lowest)
        return 0.5 * (feet[0] + feet[1])

    def _is_below(self, k: int, foot: int) -> bool:
        while k > foot:
            k = int(self.skeleton.parents[k])
        return k == foot

    # --- axes of the parts at rest, in the world

    def _find_part_axes(self, toes: Mapping[str, Array]) -> dict[str, Array]:
        parts = self.anatomy.parts
        axes = dict.fromkeys(parts, self.body)
        forward, left, up = self.body.T
        for side, sign in zip(SIDES, (1.0, -1.0), strict=True):
            axes |= self._limb_axes(side, ARM_PARTS, sign * left, forward)
            axes |= self._limb_axes(side, LEG_PARTS, -up, forward)
            foot = self.positions[self.skeleton.bone_index(parts[f"{side}_foot"].bone)]
            along = toes[side] - foot
            along = _unit(along - (along @ up) * up, f"the {side} foot points up or down")
            flat = np.stack([along, np.cross(up, along), up], axis=1).astype(float)
            axes[f"{side}_foot"] = flat
            if f"{side}_toes" in parts:
                axes[f"{side}_toes"] = flat
        return axes | self._other_axes(axes)

    def _limb_axes(
        self, side: str, names: tuple[str, ...], straight: Array, across: Array
    ) -> dict[str, Array]:
        """Return the axes of the three parts of a limb: along it, across it, and the third."""
        centres = [self.start(f"{side}_{name}") for name in names]
        ends = [centres[1], centres[2], self._hand_end(side, names[2], centres)]
        axes: Array = np.stack([straight, across, np.cross(straight, across)], axis=1)
        found = {}
        for name, start, end in zip(names, centres, ends, strict=True):
            along = _unit(end - start, f"the {side} {name} has no length")
            axes = rotation_between(axes[:, 0], along) @ axes
            found[f"{side}_{name}"] = axes
        return found

    def _hand_end(self, side: str, name: str, centres: list[Array]) -> Array:
        """Return where a hand points to at rest: the middle of what hangs on it, else straight."""
        bone = self.skeleton.bone_index(self.anatomy.parts[f"{side}_{name}"].bone)
        straight = centres[2] + (centres[2] - centres[1])
        below = [k for k, parent in enumerate(self.skeleton.parents) if parent == bone]
        if name != "hand" or len(below) == 0:
            return straight
        along = self.positions[below].mean(axis=0) - centres[2]
        enough = np.linalg.norm(along) > MIN_FOOT_SHARE * np.linalg.norm(centres[2] - centres[1])
        return centres[2] + along if enough else straight

    def _other_axes(self, axes: Mapping[str, Array]) -> dict[str, Array]:
        """Return for other bones the axes of the part that they hang on."""
        owner = {part.bone: name for name, part in self.anatomy.parts.items()}
        found = {}
        for name, bone in self.anatomy.others.items():
            k = self.skeleton.bone_index(bone)
            while k >= 0 and self.skeleton.bone_names[k] not in owner:
                k = int(self.skeleton.parents[k])
            part = "pelvis" if k < 0 else owner[self.skeleton.bone_names[k]]
            found[name] = axes[part]
        return found


def rotation_between(a: Array, b: Array) -> Array:
    """Return the shortest rotation that takes unit vectors a to b; (…, 3) → (…, 3, 3).

    Between opposite ones there is no shortest; half a turn about some axis across is returned.
    """
    a, b = np.broadcast_arrays(a, b)
    cosine = np.einsum("...i,...i->...", a, b)[..., None, None]
    k = skew(np.cross(a, b))
    opposite = cosine < -1.0 + 1e-9
    regular = np.eye(3) + k + k @ k / np.where(opposite, 1.0, 1.0 + cosine)
    least = np.eye(3)[np.argmin(np.abs(a), axis=-1)]
    axis = np.cross(a, least)
    axis = axis / np.maximum(np.linalg.norm(axis, axis=-1, keepdims=True), 1e-12)
    half = 2.0 * axis[..., :, None] * axis[..., None, :] - np.eye(3)
    return np.where(opposite, half, regular)


def _unit(vector: Array, fault: str) -> Array:
    length = float(np.linalg.norm(vector))
    if not length > 1e-9:
        raise ModelError(fault)
    return vector / length
