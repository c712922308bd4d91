"""What a joint is: its kind, its axes, its limits, and nothing about where it sits.

| kind        | motion                                        | q          | dofs (tangent)      |
|-------------|-----------------------------------------------|------------|---------------------|
| fixed       | none                                          | 0          | 0                   |
| revolute    | Rot(axis, θ)                                  | θ [rad]    | 1                   |
| prismatic   | shift θ·axis                                  | θ [m]      | 1                   |
| translation | shift (x, y, z)                               | 3 [m]      | 3                   |
| euler       | R_A(α) R_B(β) R_C(γ), or one or two of them   | 1–3 [rad]  | 1–3                 |
| exp_map     | exp[w]                                        | 3 [rad]    | 3                   |
| swing_twist | exp[αŝ + βt̂] · Rot(n̂, τ),  n̂ = ŝ × t̂         | 3 [rad]    | 3                   |
| quaternion  | R(wxyz), updated on the right                 | 4          | 3 (body axes, rad)  |
| free        | translation, then any rotation joint          | 3 + q      | 3 + dofs            |
| screw       | shift pitch·θ/2π along, turn θ about an axis  | θ [rad]    | 1                   |
| custom      | up to three shifts, then up to three turns,   | 0–6        | as q                |
|             | about any axes, each a function of q          | [rad or m] |                     |

Axes and shifts are those of the joint's base frame: the parent's frame turned by the bone's `pre`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from exactik._arrays import as_floats, is_number
from exactik.errors import ModelError, NonFiniteError, ShapeError
from exactik.kernels.tree.packed import NO_ROTATION
from exactik.model.functions import Scaled
from exactik.model.joints._axis import JointAxis, as_joint_axes, check_axis, find_coordinates
from exactik.model.joints._kinds import JOINT_KINDS, UNIT_AXES
from exactik.typing import Array

EULER_ORDERS = tuple("XYX XZX YXY YZY ZXZ ZYZ XYZ XZY YXZ YZX ZXY ZYX".split())
_BALL_KINDS = ("quaternion", "exp_map", "swing_twist")  # that `Joint.free` takes by their names
_NO_LIMIT = (-math.inf, math.inf)

Limits = tuple[tuple[float, float], ...]


def _check_limits(
    value: ArrayLike | None, names: tuple[str, ...], bounded: tuple[bool, ...]
) -> Limits:
    if value is None:
        return (_NO_LIMIT,) * len(names)
    array = as_floats("limits", value)
    if array.shape == (2,) and len(names) == 1:
        array = array[None]
    if array.shape != (len(names), 2):
        raise ShapeError(
            f"limits have shape {array.shape}; expected ({len(names)}, 2), "
            "one (lower, upper) per dof"
        )
    if np.isnan(array).any():
        raise NonFiniteError("limits hold NaN; use −inf and inf for a dof without limits")
    for name, (low, high), can_be_limited in zip(names, array.tolist(), bounded, strict=True):
        if low > high:
            raise ModelError(f"limits of dof {name!r} are swapped: lower {low:g} > upper {high:g}")
        if low == math.inf or high == -math.inf:
            raise ModelError(f"limits ({low:g}, {high:g}) of dof {name!r} leave no room")
        if not can_be_limited and (low, high) != _NO_LIMIT:
            raise ModelError(
                f"dof {name!r} of a quaternion joint cannot be limited; "
                "use euler, exp_map or swing_twist"
            )
    return tuple((low, high) for low, high in array.tolist())


@dataclass(frozen=True)
class Joint:
    """One joint, made by the constructors below (`Joint.revolute("y", limits=(0, 2.6))`).

    Attributes:
        kind: "fixed", "revolute", "prismatic", "translation", "euler", "exp_map", "swing_twist",
            "quaternion", "free", "screw" or "custom".
        axis: unit axis in the base frame (revolute, prismatic, screw).
        order: Euler order, outermost first, such as "ZYX" or "XZ"; for swing_twist the twist axis,
            "X", "Y" or "Z".
        rotation: the rotation joint inside a free joint.
        limits: one (lower, upper) per dof [rad or m], infinite where free.
        pitch: of a screw, the shift along its axis in a whole turn [m].
        turns: of a custom joint, the axes that it turns about, outermost first.
        shifts: of a custom joint, the axes that it shifts along, before it turns.
        coordinates: of a custom joint, the names of its coordinates in their order.
    """

    kind: str
    axis: tuple[float, float, float] | None = None
    order: str = ""
    rotation: Joint | None = None
    limits: Limits = ()
    pitch: float = 0.0
    turns: tuple[JointAxis, ...] = ()
    shifts: tuple[JointAxis, ...] = ()
    coordinates: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse what no constructor makes."""
        if self.kind not in JOINT_KINDS:
            raise ModelError(f"joint kind {self.kind!r} is not one of {', '.join(JOINT_KINDS)}")
        if JOINT_KINDS[self.kind].has_axis != (self.axis is not None):
            raise ModelError(f"a {self.kind} joint is made by Joint.{self.kind}(…)")

    @staticmethod
    def fixed() -> Joint:
        """Return a rigid connection."""
        return Joint("fixed")

    @staticmethod
    def revolute(axis: str | ArrayLike = "z", limits: ArrayLike | None = None) -> Joint:
        """Return a hinge about `axis`: "x", "y", "z" or a unit 3-vector."""
        return _with_limits(Joint("revolute", axis=check_axis(axis)), limits)

    @staticmethod
    def prismatic(axis: str | ArrayLike = "z", limits: ArrayLike | None = None) -> Joint:
        """Return a slider along `axis`: "x", "y", "z" or a unit 3-vector."""
        return _with_limits(Joint("prismatic", axis=check_axis(axis)), limits)

    @staticmethod
    def translation(limits: ArrayLike | None = None) -> Joint:
        """Return a free shift along the three base axes."""
        return _with_limits(Joint("translation"), limits)

    @staticmethod
    def euler(order: str = "ZYX", limits: ArrayLike | None = None) -> Joint:
        """Return turns about one to three coordinate axes, outermost first ("ZYX", "XZ", "Y")."""
        letters = str(order).upper()
        repeats = any(a == b for a, b in pairwise(letters))
        if not 1 <= len(letters) <= 3 or set(letters) - set("XYZ") or repeats:
            raise ModelError(
                f"Euler order {order!r} is not one of {' '.join(EULER_ORDERS)} "
                "or one or two different axes"
            )
        return _with_limits(Joint("euler", order=letters), limits)

    @staticmethod
    def exp_map(limits: ArrayLike | None = None) -> Joint:
        """Return a ball joint whose coordinates are a rotation vector in the base frame."""
        return _with_limits(Joint("exp_map"), limits)

    @staticmethod
    def swing_twist(twist: str = "x", limits: ArrayLike | None = None) -> Joint:
        """Return a ball joint as a swing about the two other axes after a twist about `twist`.

        The coordinates are (swing, swing, twist); the swing axes follow the twist axis cyclically
        (x: y, z). Choose the twist axis along the limb: the map is singular only where the limb
        points backwards.
        """
        if str(twist).lower() not in UNIT_AXES:
            raise ModelError(f"twist axis {twist!r} is not 'x', 'y' or 'z'")
        return _with_limits(Joint("swing_twist", order=twist.upper()), limits)

    @staticmethod
    def quaternion() -> Joint:
        """Return a ball joint whose coordinates are a unit quaternion wxyz; it has no limits."""
        return _with_limits(Joint("quaternion"), None)

    @staticmethod
    def free(rotation: str | Joint = "quaternion", limits: ArrayLike | None = None) -> Joint:
        """Return a moving root: translation, then `rotation`.

        Args:
            rotation: "quaternion", "exp_map", "swing_twist", an Euler order such as "ZYX", or a
                rotation Joint.
            limits: (n, 2) over the three translations and the dofs of the rotation; a rotation
                given as a Joint brings its own and `limits` may then be (3, 2), the translations
                alone.
        """
        if isinstance(rotation, Joint):
            joint = rotation
        elif rotation in _BALL_KINDS:
            joint = getattr(Joint, rotation)()
        else:
            joint = Joint.euler(rotation)
        if joint.translates or not joint.rotates:
            raise ModelError(f"a free joint needs a rotation joint inside, not {joint.kind!r}")
        if limits is None:
            limits = [_NO_LIMIT] * 3
        array = as_floats("limits", limits)
        if array.shape == (3, 2):
            array = np.concatenate([array, np.asarray(joint.limits).reshape(-1, 2)])
        return _with_limits(Joint("free", rotation=joint), array)

    @staticmethod
    def screw(
        axis: str | ArrayLike = "z", pitch: float = 0.0, limits: ArrayLike | None = None
    ) -> Joint:
        """Return a hinge about `axis` that shifts along it by `pitch` [m] in a whole turn."""
        if not is_number(pitch) or not math.isfinite(pitch):
            raise ModelError(f"pitch of a screw is {pitch!r}; expected metres in a whole turn")
        return _with_limits(Joint("screw", axis=check_axis(axis), pitch=float(pitch)), limits)

    @staticmethod
    def custom(
        turns: Sequence[JointAxis | Sequence] = (),
        shifts: Sequence[JointAxis | Sequence] = (),
        *,
        coordinates: Sequence[str] | None = None,
        limits: ArrayLike | None = None,
    ) -> Joint:
        """Return a joint whose coordinates drive turns and shifts through functions.

        In the order of OpenSim's CustomJoint: with shifts d_i along the axes b_i of the base frame
        and turns θ_i about the axes a_i, each turned by those before it, the motion is

            shift Σ d_i b_i ,   rotation Rot(a_1, θ_1) Rot(a_2, θ_2) Rot(a_3, θ_3)

        A knee that bends by one coordinate, which also moves its centre:

            Joint.custom(
                turns=[("z", None, "flexion")],
                shifts=[("x", functions.CubicSpline(angles, forward), "flexion")],
                limits=(-2.1, 0.2),
            )

        Args:
            turns: up to three `JointAxis`, or their arguments (axis, function, coordinates).
            shifts: up to three, likewise.
            coordinates: their names in the order that q has them; None for the order in which the
                axes use them, turns first.
            limits: one (lower, upper) per coordinate.
        """
        turns, shifts = as_joint_axes("turns", turns), as_joint_axes("shifts", shifts)
        names = find_coordinates((*turns, *shifts), coordinates)
        joint = Joint("custom", turns=turns, shifts=shifts, coordinates=names)
        return _with_limits(joint, limits)

    @property
    def nv(self) -> int:
        """Number of degrees of freedom."""
        return len(self.dof_names)

    @property
    def nq(self) -> int:
        """Number of coordinates; differs from `nv` only for quaternions."""
        return self.nv + JOINT_KINDS[self.rotation_part.kind].extra_coordinates

    @property
    def rotation_part(self) -> Joint:
        """The joint that turns: the one after shifts, as in a free joint, else the joint itself."""
        return self.rotation if self.rotation is not None else self

    @property
    def dof_names(self) -> tuple[str, ...]:
        """Names without the bone: "rz", "tx", "ex" (exponential map), "wx" (quaternion)."""
        return JOINT_KINDS[self.kind].dof_names(self)

    @property
    def shift_axes(self) -> tuple[tuple[float, float, float], ...]:
        """Axes of the dofs that shift, in the base frame; these dofs come first."""
        return JOINT_KINDS[self.kind].shift_axes(self)

    @property
    def turning_dofs(self) -> tuple[int, ...]:
        """Numbers of the dofs that are angles [rad]; the others are shifts [m]."""
        return JOINT_KINDS[self.kind].turning_dofs(self)

    @property
    def driven_axes(self) -> tuple[tuple[JointAxis, ...], tuple[JointAxis, ...]]:
        """Turns and shifts of a joint whose coordinates drive axes: a screw or a custom joint."""
        return JOINT_KINDS[self.kind].driven_axes(self)

    @property
    def periodic_dofs(self) -> tuple[int, ...]:
        """Numbers of the dofs that a whole turn brings to the same pose."""
        return JOINT_KINDS[self.kind].periodic_dofs(self)

    @property
    def translates(self) -> bool:
        """Whether it moves the origin of its bone."""
        return JOINT_KINDS[self.kind].translates(self)

    @property
    def rotates(self) -> bool:
        """Whether it turns its bone."""
        return JOINT_KINDS[self.rotation_part.kind].rotation_code != NO_ROTATION

    @property
    def moves_freely(self) -> bool:
        """Whether it can take its bone anywhere, as a free joint can."""
        return JOINT_KINDS[self.kind].moves_freely(self)

    @property
    def axis_letter(self) -> str:
        """The axis as "x", "y" or "z"; empty if it is none of these or there is no axis."""
        return next((letter for letter, axis in UNIT_AXES.items() if axis == self.axis), "")

    def with_scaled_shifts(self, factor: float) -> Joint:
        """Return a custom joint that shifts `factor` times as far; others as they are."""
        shifts = (
            JointAxis(axis.axis, Scaled(axis.function, factor), axis.coordinates)
            for axis in self.shifts
        )
        return replace(self, shifts=tuple(shifts)) if factor != 1.0 else self

    def inverse(self) -> Joint:
        """Return the joint that moves the parent as this one moves the bone, seen from the bone.

        Raises:
            ModelError: there is none among the kinds of joints; the message says why.
        """
        return JOINT_KINDS[self.kind].inverse(self)

    def inverse_coordinates(self, q: Array) -> Array:
        """Return the coordinates, (…, nq), at which `inverse()` undoes this joint at q, (…, nq)."""
        return JOINT_KINDS[self.kind].inverse_coordinates(self, q)

    def coordinates_for(self, shift: Array, rotation: Array) -> Array:
        """Return the coordinates at which the joint moves as given.

        A joint that cannot do what is asked takes the part of it that it can do.

        Args:
            shift: of the bone's origin, in the base frame [m], (…, 3).
            rotation: from the base frame, (…, 3, 3).

        Returns:
            Coordinates, (…, nq); angles within a turn, of two solutions the one within the limits.
        """
        return JOINT_KINDS[self.kind].coordinates_for(self, shift, rotation)

    def __str__(self) -> str:
        """Return a short description such as "euler ZYX" or "revolute (0, 1, 0)"."""
        if self.kind == "custom":
            return f"custom {' '.join(self.coordinates)}".strip()
        if self.axis is not None:
            return f"{self.kind} {self.axis_letter or tuple(round(a, 4) for a in self.axis)}"
        inner = self.order if self.rotation is None else str(self.rotation)
        return f"{self.kind} {inner}".strip()


def _with_limits(joint: Joint, limits: ArrayLike | None) -> Joint:
    turning = joint.rotation_part
    unbounded = 0 if JOINT_KINDS[turning.kind].can_be_limited else turning.nv
    bounded = (True,) * (joint.nv - unbounded) + (False,) * unbounded
    return replace(joint, limits=_check_limits(limits, joint.dof_names, bounded))
