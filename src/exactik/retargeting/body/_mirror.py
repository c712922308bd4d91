"""Limits of one side of a robot that are not those of the other, as a mirror shows them.

With M the reflection at the plane between the sides, a hinge about a becomes one about −M a with
the same angle. So where the partner turns about −M a it has the same limits, and where it turns
about M a it has them negated and exchanged. A file that copied one side to the other, signs and
all, gives an arm that cannot hang.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from exactik.anatomy import find_symmetry, read_bone_name
from exactik.errors import UsageError
from exactik.model import Skeleton
from exactik.typing import Array

SAME_AXIS = 0.999  # cosine of a hinge's axis and its partner's reflected one: within 2.6°
SAME_PLACE = 0.02  # [m] between a joint and its partner's reflected place; files round to 1e-3
SAME_LIMIT = np.radians(1.0)  # [rad] files round limits of degrees


class UnmirroredLimit(NamedTuple):
    """Two hinges that are each other's mirror images, but for their limits."""

    left: str  # name of its dof
    right: str
    sign: float  # of the right one's angle in a pose that mirrors the left one's
    left_limits: tuple[float, float]  # [rad]
    right_limits: tuple[float, float]  # [rad]

    @property
    def words(self) -> str:
        """Both limits in degrees."""
        own, other = (
            f"{name} {np.degrees(low):.0f}° to {np.degrees(high):.0f}°"
            for name, (low, high) in (
                (self.left, self.left_limits),
                (self.right, self.right_limits),
            )
        )
        return f"{own}, {other}"


def find_unmirrored_limits(skeleton: Skeleton) -> list[UnmirroredLimit]:
    """Return hinges of a figure whose limits are not those of their partners, reflected."""
    symmetry = find_symmetry(skeleton)
    if symmetry is None:
        return []
    q, normal = skeleton.neutral(), symmetry.normal
    places = skeleton.forward(q).positions - symmetry.middle
    mirror = np.eye(3) - 2.0 * np.outer(normal, normal)
    found = []
    for k, partner in enumerate(symmetry.partners.tolist()):
        names = skeleton.bone_names[k], skeleton.bone_names[partner]
        if not symmetry.named[k] or read_bone_name(names[0]).side != "left":
            continue
        dofs = [np.flatnonzero(skeleton.dof_bones == bone) for bone in (k, partner)]
        if any(len(own) != 1 or not skeleton.turns[own[0]] for own in dofs):
            continue
        left, right = (int(own[0]) for own in dofs)
        if np.linalg.norm(places[k] @ mirror - places[partner]) > SAME_PLACE:
            continue
        axes = [
            _find_axis(skeleton, q, n, dof) for n, dof in zip(names, (left, right), strict=True)
        ]
        cosine = float(axes[1] @ mirror @ axes[0])
        if abs(cosine) < SAME_AXIS:
            continue
        limits = [(float(skeleton.lower[dof]), float(skeleton.upper[dof])) for dof in (left, right)]
        pair = skeleton.dof_names[left], skeleton.dof_names[right]
        both = UnmirroredLimit(*pair, -float(np.sign(cosine)), *limits)
        if np.abs(np.subtract(_reflect(limits[0], both.sign), limits[1])).max() > SAME_LIMIT:
            found.append(both)
    return found


def mirror_limits(skeleton: Skeleton, side: str) -> Skeleton:
    """Return the same figure, with the limits of one side for both.

    Args:
        skeleton: the figure.
        side: "left" or "right", whose limits hold.
    """
    if side not in ("left", "right"):
        raise UsageError(f"mirror_limits is {side!r}; expected 'left' or 'right'")
    changed = {}
    for pair in find_unmirrored_limits(skeleton):
        if side == "left":
            changed[pair.right] = _reflect(pair.left_limits, pair.sign)
        else:
            changed[pair.left] = _reflect(pair.right_limits, pair.sign)
    bones = []
    for bone in skeleton.bones:
        names = [f"{bone.name}.{dof}" for dof in bone.joint.dof_names]
        if any(name in changed for name in names):
            limits = tuple(changed[name] for name in names)
            bone = replace(bone, joint=replace(bone.joint, limits=limits))
        bones.append(bone)
    return skeleton.with_bones(bones)


def _find_axis(skeleton: Skeleton, q: Array, bone: str, dof: int) -> Array:
    """Return about which a dof turns its bone, world, unit length, (3,)."""
    axis = skeleton.jacobian(q, bone, rows="angular")[:, dof]
    return axis / np.linalg.norm(axis)


def _reflect(limits: tuple[float, float], sign: float) -> tuple[float, float]:
    return limits if sign > 0.0 else (-limits[1], -limits[0])
