"""A skeleton measured at rest: axes of its parts, its lengths, where its ankles are.

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

import numpy as np

from exactik.anatomy import (
    ARM_PARTS,
    LEG_PARTS,
    SIDES,
    Anatomy,
    find_left_direction,
    find_up_direction,
    make_unit,
)
from exactik.errors import ModelError
from exactik.retargeting.body._figure import BodyFigure, rotation_between
from exactik.typing import Array

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
        return self.positions[self.anatomy.start_of(name)]

    def _find_body_axes(self) -> Array:
        """Return the axes of the body at rest as columns: forward, left, up, (3, 3)."""
        up = find_up_direction(self.anatomy, self.positions[None])
        axis = int(np.argmax(np.abs(up)))
        if abs(up[axis]) > UPRIGHT_COSINE:
            up = np.eye(3)[axis] * np.sign(up[axis])
        left = find_left_direction(self.anatomy, self.positions)
        left = make_unit(
            left - (left @ up) * up, f"{self.skeleton.name!r} has left and right at once"
        )
        return np.stack([np.cross(left, up), left, up], axis=1)

    def make_figure(self) -> BodyFigure:
        """Return all that is measured."""
        legs = [self._limb_length(side, LEG_PARTS) for side in SIDES]
        leg = 0.5 * (legs[0] + legs[1])
        toes = {side: self._find_toes(side, leg) for side in SIDES}
        axes = self._find_part_axes(toes)
        frames = {}
        for name, axes_of_part in axes.items():
            bone = self.skeleton.bone_index(self.anatomy.bone_of(name))
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

    def _limb_length(self, side: str, parts: tuple[str, ...]) -> float:
        a, b, c = (self.start(f"{side}_{part}") for part in parts)
        length = float(np.linalg.norm(b - a) + np.linalg.norm(c - b))
        if length <= 0.0:
            raise ModelError(
                f"the {side} {parts[0]} of {self.skeleton.name!r} has no length at rest"
            )
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

        The ground is z = 0 where the figure stands on it at rest, or at home if its root is free
        and begins at the origin; else the lowest of its feet.
        """
        up, feet = self.body[:, 2], []
        home = self.skeleton.home if self.skeleton.bones[0].joint.moves_freely else None
        positions = self.positions if home is None else self.skeleton.forward(home).positions
        for side in SIDES:
            foot = self.skeleton.bone_index(self.anatomy.parts[f"{side}_foot"].bone)
            ankle = float(positions[foot] @ up)
            below = [k for k in range(foot, len(positions)) if self._is_below(k, foot)]
            lowest = min(float(positions[k] @ up) for k in below)
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
            along = make_unit(
                along - (along @ up) * up,
                f"the {side} foot of {self.skeleton.name!r} points up or down at rest",
            )
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
            along = make_unit(
                end - start, f"the {side} {name} of {self.skeleton.name!r} has no length at rest"
            )
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
