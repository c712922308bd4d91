"""What each kind of joint is: one class a kind, and `JOINT_KINDS`, the table of all of them.

A joint is, in this order, shifts along axes of its base frame and then one rotation; the kernels
know no more of it than the axes, the rotation's code and its letters (`kernels.tree.packed`), and
of a joint whose coordinates drive axes these and their functions. All
that the model needs to know about a kind is here: the names of its dofs, how it is packed, which
joint undoes it, and its coordinates for a given motion. What is not here is the forward motion
itself, which the kernels compute and the oracle computes a second time.

`inverse` is the joint read from its other side: with Q the rotation and d the shift of a joint that
does not do both, its inverse has Qᵀ and −d.

    revolute, prismatic    negated coordinate; likewise translation, exp_map
    Euler ABC (α, β, γ)    Euler CBA (−γ, −β, −α)
    quaternion             conjugate
    swing-twist (s, τ)     (−Z s, −τ) with Z = Rot(n, −τ), as Z exp[−s] = exp[−Z s] Z
    screw                  negated coordinate: it shifts along the axis of its turn
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from exactik.errors import ModelError
from exactik.kernels.tree import packed
from exactik.model.functions import Linear
from exactik.model.joints._axis import UNIT_VECTORS, JointAxis
from exactik.model.joints._custom_fit import fit_coordinates
from exactik.spatial import (
    euler_angles,
    log_rotation,
    matrix_from_wxyz,
    other_euler_angles,
    rotation_taking_z_to,
    wxyz_from_matrix,
)
from exactik.typing import Array

if TYPE_CHECKING:
    from exactik.model.joints._joint import Joint


Axis = tuple[float, float, float]

UNIT_AXES: Mapping[str, Axis] = MappingProxyType(UNIT_VECTORS)

MIN_SINE = 1e-3
"""Of the angle between axes that do not do the same: nearer ones need turns of a thousand."""


class JointKind:
    """A kind of joint: the answers here are those of a rigid connection."""

    name: ClassVar[str]
    rotation_code: ClassVar[int] = packed.NO_ROTATION  # of `kernels.tree.packed`
    has_axis: ClassVar[bool] = False  # whether it is made with an axis
    extra_coordinates: ClassVar[int] = 0  # nq − nv
    can_be_limited: ClassVar[bool] = True

    def dof_names(self, joint: Joint) -> tuple[str, ...]:
        """Return the names of the dofs, without the bone's."""
        return ()

    def shift_axes(self, joint: Joint) -> tuple[Axis, ...]:
        """Return the axes of the dofs that shift, in the base frame; these dofs come first."""
        return ()

    def translates(self, joint: Joint) -> bool:
        """Whether it moves the origin of its bone."""
        return len(self.shift_axes(joint)) > 0

    def moves_freely(self, joint: Joint) -> bool:
        """Whether it can take its bone anywhere."""
        return False

    def coordinate_axes(self, joint: Joint) -> tuple[Array, str]:
        """Return A and letters: the rotation is A · (rotation about coordinate axes) · Aᵀ."""
        return np.eye(3), ""

    def turning_dofs(self, joint: Joint) -> tuple[int, ...]:
        """Return the dofs that are angles, by their number; the others are shifts."""
        return tuple(range(len(self.shift_axes(joint)), joint.nv))

    def driven_axes(self, joint: Joint) -> tuple[tuple[JointAxis, ...], tuple[JointAxis, ...]]:
        """Return turns and shifts where functions of the coordinates drive them; else none."""
        return (), ()

    def periodic_dofs(self, joint: Joint) -> tuple[int, ...]:
        """Return the dofs that a whole turn brings to the same pose, by their number."""
        return ()

    def inverse(self, joint: Joint) -> Joint:
        """Return the joint read from its other side; `ModelError` says why there is none."""
        return replace(joint, limits=tuple((0.0 - high, 0.0 - low) for low, high in joint.limits))

    def inverse_coordinates(self, joint: Joint, q: Array) -> Array:
        """Return the coordinates, (…, nq), at which the inverse undoes the joint at q, (…, nq)."""
        return -q

    def coordinates_for(self, joint: Joint, shift: Array, rotation: Array) -> Array:
        """Return the coordinates, (…, nq), of a shift (…, 3) [m] and a rotation (…, 3, 3).

        A joint that cannot do what is asked takes the part of it that it can do.
        """
        return np.empty((*rotation.shape[:-2], 0))


class _Fixed(JointKind):
    name = "fixed"


class _Revolute(JointKind):
    name = "revolute"
    rotation_code = packed.AXES
    has_axis = True

    def dof_names(self, joint: Joint) -> tuple[str, ...]:
        return ("r" + joint.axis_letter,)

    def coordinate_axes(self, joint: Joint) -> tuple[Array, str]:
        assert joint.axis is not None
        for letter, component in zip("XYZ", joint.axis, strict=True):
            if component == 1.0:
                return np.eye(3), letter
        return rotation_taking_z_to(joint.axis), "Z"

    def periodic_dofs(self, joint: Joint) -> tuple[int, ...]:
        return (0,)

    def coordinates_for(self, joint: Joint, shift: Array, rotation: Array) -> Array:
        return _angle_about(np.array(joint.axis), rotation)


class _Prismatic(JointKind):
    name = "prismatic"
    has_axis = True

    def dof_names(self, joint: Joint) -> tuple[str, ...]:
        return ("t" + joint.axis_letter,)

    def shift_axes(self, joint: Joint) -> tuple[Axis, ...]:
        assert joint.axis is not None
        return (joint.axis,)

    def coordinates_for(self, joint: Joint, shift: Array, rotation: Array) -> Array:
        return shift @ np.array(joint.axis)[:, None]


class _Translation(JointKind):
    name = "translation"

    def dof_names(self, joint: Joint) -> tuple[str, ...]:
        return ("tx", "ty", "tz")

    def shift_axes(self, joint: Joint) -> tuple[Axis, ...]:
        return tuple(UNIT_AXES.values())

    def coordinates_for(self, joint: Joint, shift: Array, rotation: Array) -> Array:
        return shift


class _Euler(JointKind):
    name = "euler"
    rotation_code = packed.AXES

    def dof_names(self, joint: Joint) -> tuple[str, ...]:
        names = ["r" + letter for letter in joint.order.lower()]
        if len(names) == 3 and names[2] == names[0]:
            names[2] += "2"
        return tuple(names)

    def coordinate_axes(self, joint: Joint) -> tuple[Array, str]:
        return np.eye(3), joint.order

    def periodic_dofs(self, joint: Joint) -> tuple[int, ...]:
        return tuple(range(len(joint.order)))

    def inverse(self, joint: Joint) -> Joint:
        negated = super().inverse(joint)
        return replace(negated, order=joint.order[::-1], limits=negated.limits[::-1])

    def inverse_coordinates(self, joint: Joint, q: Array) -> Array:
        return -q[..., ::-1]

    def coordinates_for(self, joint: Joint, shift: Array, rotation: Array) -> Array:
        axes = ["XYZ".index(letter) for letter in joint.order]
        if len(axes) == 1:
            return _angle_about(np.eye(3)[axes[0]], rotation)
        if len(axes) == 2:
            # R_A(α) takes e_B to the B-th column of R, R_B(−β) takes e_A to its A-th row.
            a, b = axes
            c, sign = 3 - a - b, 1.0 if (b - a) % 3 == 1 else -1.0
            alpha = np.arctan2(sign * rotation[..., c, b], rotation[..., b, b])
            beta = np.arctan2(sign * rotation[..., a, c], rotation[..., a, a])
            return np.stack([alpha, beta], axis=-1)
        # Of the two solutions, the one within the limits.
        first = euler_angles(joint.order, rotation)
        second = other_euler_angles(joint.order, first)
        low, high = np.array(joint.limits).T
        excess = [np.abs(np.clip(x, low, high) - x).sum(axis=-1) for x in (first, second)]
        return np.where((excess[1] + 1e-9 < excess[0])[..., None], second, first)


class _ExpMap(JointKind):
    name = "exp_map"
    rotation_code = packed.EXP_MAP

    def dof_names(self, joint: Joint) -> tuple[str, ...]:
        return ("ex", "ey", "ez")

    def coordinates_for(self, joint: Joint, shift: Array, rotation: Array) -> Array:
        return log_rotation(rotation)


class _SwingTwist(JointKind):
    name = "swing_twist"
    rotation_code = packed.SWING_TWIST

    def _axes(self, joint: Joint) -> tuple[int, int, int]:
        """Return the numbers of the axes (ŝ, t̂, n̂), n̂ = ŝ × t̂ the twist axis."""
        n = "XYZ".index(joint.order)
        return (n + 1) % 3, (n + 2) % 3, n

    def dof_names(self, joint: Joint) -> tuple[str, ...]:
        s, t, n = ("xyz"[axis] for axis in self._axes(joint))
        return (f"swing_{s}", f"swing_{t}", f"twist_{n}")

    def coordinate_axes(self, joint: Joint) -> tuple[Array, str]:
        return np.eye(3)[:, self._axes(joint)], ""  # (x, y, z) of the kernel are (ŝ, t̂, n̂)

    def periodic_dofs(self, joint: Joint) -> tuple[int, ...]:
        return (2,)

    def inverse(self, joint: Joint) -> Joint:
        if np.isfinite(joint.limits[:2]).any():
            raise ModelError("limits of a swing are no limits of its inverse")
        return super().inverse(joint)

    def inverse_coordinates(self, joint: Joint, q: Array) -> Array:
        s, t, twist = q[..., 0], q[..., 1], q[..., 2]
        c, d = np.cos(twist), np.sin(twist)
        return -np.stack([c * s + d * t, c * t - d * s, twist], axis=-1)

    def coordinates_for(self, joint: Joint, shift: Array, rotation: Array) -> Array:
        s, t, n = self._axes(joint)
        twist = _angle_about(np.eye(3)[n], rotation)
        untwist_wxyz = np.zeros((*twist.shape[:-1], 4))
        untwist_wxyz[..., :1] = np.cos(0.5 * twist)
        untwist_wxyz[..., n + 1 : n + 2] = -np.sin(0.5 * twist)
        swing = log_rotation(rotation @ matrix_from_wxyz(untwist_wxyz))
        return np.concatenate([swing[..., [s, t]], twist], axis=-1)


class _Quaternion(JointKind):
    name = "quaternion"
    rotation_code = packed.QUATERNION
    extra_coordinates = 1
    can_be_limited = False

    def dof_names(self, joint: Joint) -> tuple[str, ...]:
        return ("wx", "wy", "wz")

    def inverse_coordinates(self, joint: Joint, q: Array) -> Array:
        return q * (1.0, -1.0, -1.0, -1.0)

    def coordinates_for(self, joint: Joint, shift: Array, rotation: Array) -> Array:
        return wxyz_from_matrix(rotation)


class _ShiftAndTurn(JointKind):
    """Shifts, then the joint `joint.rotation`, whose rotation code is packed."""

    def dof_names(self, joint: Joint) -> tuple[str, ...]:
        assert joint.rotation is not None
        letters = {axis: letter for letter, axis in UNIT_AXES.items()}
        shifts = ("t" + letters[axis] for axis in self.shift_axes(joint))
        return (*shifts, *joint.rotation.dof_names)

    def periodic_dofs(self, joint: Joint) -> tuple[int, ...]:
        assert joint.rotation is not None
        count = len(self.shift_axes(joint))
        return tuple(count + dof for dof in joint.rotation.periodic_dofs)

    def inverse(self, joint: Joint) -> Joint:
        raise ModelError(
            f"the inverse of its {self.name} joint turns before it shifts, and no joint does that"
        )

    def coordinates_for(self, joint: Joint, shift: Array, rotation: Array) -> Array:
        assert joint.rotation is not None
        axes = np.array(self.shift_axes(joint))
        turning = replace(joint.rotation, limits=joint.limits[len(axes) :])
        return np.concatenate([shift @ axes.T, turning.coordinates_for(shift, rotation)], axis=-1)


class _Free(_ShiftAndTurn):
    name = "free"

    def shift_axes(self, joint: Joint) -> tuple[Axis, ...]:
        return tuple(UNIT_AXES.values())

    def moves_freely(self, joint: Joint) -> bool:
        return True


class _Screw(JointKind):
    name = "screw"
    rotation_code = packed.CUSTOM
    has_axis = True

    def dof_names(self, joint: Joint) -> tuple[str, ...]:
        return ("screw_" + joint.axis_letter if joint.axis_letter else "screw",)

    def translates(self, joint: Joint) -> bool:
        return joint.pitch != 0.0

    def driven_axes(self, joint: Joint) -> tuple[tuple[JointAxis, ...], tuple[JointAxis, ...]]:
        assert joint.axis is not None
        lead = Linear(joint.pitch / (2.0 * math.pi))
        (name,) = joint.dof_names
        return (JointAxis(joint.axis, Linear(), name),), (JointAxis(joint.axis, lead, name),)

    def coordinates_for(self, joint: Joint, shift: Array, rotation: Array) -> Array:
        # The turn is known within whole turns; the shift says which.
        turn = _angle_about(np.array(joint.axis), rotation)
        if joint.pitch == 0.0:
            return turn
        along = shift @ np.array(joint.axis)[:, None] / joint.pitch
        return turn + 2.0 * math.pi * np.round(along - turn / (2.0 * math.pi))


class _Custom(JointKind):
    name = "custom"
    rotation_code = packed.CUSTOM

    def dof_names(self, joint: Joint) -> tuple[str, ...]:
        return joint.coordinates

    def translates(self, joint: Joint) -> bool:
        return len(joint.shifts) > 0

    def turning_dofs(self, joint: Joint) -> tuple[int, ...]:
        turning = {name for axis in joint.turns for name in axis.coordinates}
        return tuple(i for i, name in enumerate(joint.coordinates) if name in turning)

    def driven_axes(self, joint: Joint) -> tuple[tuple[JointAxis, ...], tuple[JointAxis, ...]]:
        return joint.turns, joint.shifts

    def periodic_dofs(self, joint: Joint) -> tuple[int, ...]:
        shifting = {name for axis in joint.shifts for name in axis.coordinates}
        once = [
            axis.coordinates[0]
            for axis in joint.turns
            if isinstance(axis.function, Linear) and abs(axis.function.slope) == 1.0
        ]
        others = {
            name for axis in joint.turns for name in axis.coordinates if name not in once
        } | shifting
        return tuple(
            i for i, name in enumerate(joint.coordinates) if name in once and name not in others
        )

    def moves_freely(self, joint: Joint) -> bool:
        axes = (*joint.turns, *joint.shifts)
        linear = [isinstance(axis.function, Linear) and axis.function.slope != 0.0 for axis in axes]
        turns, shifts = (np.array([a.axis for a in part]) for part in (joint.turns, joint.shifts))
        if len(joint.coordinates) != 6 or not all(linear) or len(axes) != 6:
            return False
        # The middle axis of a turn must not be in line with one beside it.
        sines = [float(np.linalg.norm(np.cross(turns[1], turns[k]))) for k in (0, 2)]
        return min(sines) > MIN_SINE and abs(float(np.linalg.det(shifts))) > MIN_SINE

    def inverse(self, joint: Joint) -> Joint:
        raise ModelError("the inverse of its custom joint turns before it shifts")

    def coordinates_for(self, joint: Joint, shift: Array, rotation: Array) -> Array:
        return fit_coordinates(joint, shift, rotation)


def _angle_about(axis: Array, rotation: Array) -> Array:
    """Return the angle about an axis [rad], (…, 1), of rotations that may also swing."""
    wxyz = wxyz_from_matrix(rotation)
    return 2.0 * np.arctan2(wxyz[..., 1:] @ axis, wxyz[..., 0])[..., None]


JOINT_KINDS: Mapping[str, JointKind] = MappingProxyType(
    {
        kind.name: kind
        for kind in (
            _Fixed(),
            _Revolute(),
            _Prismatic(),
            _Translation(),
            _Euler(),
            _ExpMap(),
            _SwingTwist(),
            _Quaternion(),
            _Free(),
            _Screw(),
            _Custom(),
        )
    }
)
