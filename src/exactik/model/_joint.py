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

Axes and shifts are those of the joint's base frame: the parent's frame turned by the bone's `pre`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from exactik._arrays import as_floats, require_shape
from exactik.errors import ModelError, NonFiniteError, ShapeError

__all__ = ["EULER_ORDERS", "Joint"]

EULER_ORDERS = (
    *("XYX", "XZX", "YXY", "YZY", "ZXZ", "ZYZ"),
    *("XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX"),
)
_UNIT = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}
_KINDS = (
    *("fixed", "revolute", "prismatic", "translation", "euler"),
    *("exp_map", "swing_twist", "quaternion", "free"),
)
_ROTATIONS = ("revolute", "euler", "exp_map", "swing_twist", "quaternion")
_FREE = (-math.inf, math.inf)

Limits = tuple[tuple[float, float], ...]


def _axis(value: str | ArrayLike) -> tuple[float, float, float]:
    if isinstance(value, str):
        if value.lower() not in _UNIT:
            raise ModelError(f"axis {value!r} is not one of 'x', 'y', 'z' or a unit 3-vector")
        return _UNIT[value.lower()]
    vector = require_shape("axis", value, 3)
    length = float(np.linalg.norm(vector))
    if abs(length - 1.0) > 1e-6:
        raise ModelError(
            f"axis {tuple(vector.tolist())} has length {length:.6g}; it must be a unit vector"
        )
    x, y, z = (vector / length).tolist()
    return (x, y, z)


def _limits(value: ArrayLike | None, names: tuple[str, ...], bounded: tuple[bool, ...]) -> Limits:
    if value is None:
        return (_FREE,) * len(names)
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
    for name, (low, high), may in zip(names, array.tolist(), bounded, strict=True):
        if low > high:
            raise ModelError(f"limits of dof {name!r} are swapped: lower {low:g} > upper {high:g}")
        if low == math.inf or high == -math.inf:
            raise ModelError(f"limits ({low:g}, {high:g}) of dof {name!r} leave no room")
        if not may and (low, high) != _FREE:
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
            "quaternion" or "free".
        axis: unit axis in the base frame (revolute, prismatic).
        order: Euler order, outermost first, such as "ZYX" or "XZ"; for swing_twist the twist axis,
            "X", "Y" or "Z".
        rotation: the rotation joint inside a free joint.
        limits: one (lower, upper) per dof [rad or m], infinite where free.
    """

    kind: str
    axis: tuple[float, float, float] | None = None
    order: str = ""
    rotation: Joint | None = None
    limits: Limits = ()

    def __post_init__(self) -> None:
        """Refuse what no constructor makes."""
        if self.kind not in _KINDS:
            raise ModelError(f"joint kind {self.kind!r} is not one of {', '.join(_KINDS)}")
        if (self.kind in ("revolute", "prismatic")) != (self.axis is not None):
            raise ModelError(f"a {self.kind} joint is made by Joint.{self.kind}(…)")

    @staticmethod
    def fixed() -> Joint:
        """Return a rigid connection."""
        return Joint("fixed")

    @staticmethod
    def revolute(axis: str | ArrayLike = "z", limits: ArrayLike | None = None) -> Joint:
        """Return a hinge about `axis`: "x", "y", "z" or a unit 3-vector."""
        return _with_limits(Joint("revolute", axis=_axis(axis)), limits)

    @staticmethod
    def prismatic(axis: str | ArrayLike = "z", limits: ArrayLike | None = None) -> Joint:
        """Return a slider along `axis`: "x", "y", "z" or a unit 3-vector."""
        return _with_limits(Joint("prismatic", axis=_axis(axis)), limits)

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
        if str(twist).lower() not in _UNIT:
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
        elif rotation in ("quaternion", "exp_map", "swing_twist"):
            joint = getattr(Joint, rotation)()
        else:
            joint = Joint.euler(rotation)
        if joint.kind not in _ROTATIONS:
            raise ModelError(f"a free joint needs a rotation joint inside, not {joint.kind!r}")
        if limits is None:
            limits = [_FREE] * 3
        array = np.asarray(limits, dtype=float)
        if array.shape == (3, 2):
            array = np.concatenate([array, np.asarray(joint.limits).reshape(-1, 2)])
        return _with_limits(Joint("free", rotation=joint), array)

    @property
    def nv(self) -> int:
        """Number of degrees of freedom."""
        return len(self.dof_names)

    @property
    def nq(self) -> int:
        """Number of coordinates; differs from `nv` only for quaternions."""
        return self.nv + (self.rotation_part.kind == "quaternion")

    @property
    def rotation_part(self) -> Joint:
        """The joint that turns: the one inside a free joint, else the joint itself."""
        return self.rotation if self.rotation is not None else self

    @property
    def dof_names(self) -> tuple[str, ...]:
        """Names without the bone: "rz", "tx", "ex" (exponential map), "wx" (quaternion)."""
        if self.kind in ("revolute", "prismatic"):
            letter = next((k for k, unit in _UNIT.items() if unit == self.axis), "")
            return (("r" if self.kind == "revolute" else "t") + letter,)
        if self.kind == "euler":
            names = ["r" + c for c in self.order.lower()]
            if len(names) == 3 and names[2] == names[0]:
                names[2] += "2"
            return tuple(names)
        if self.kind == "swing_twist":
            s, t, n = swing_twist_axes(self.order)
            return (f"swing_{s}", f"swing_{t}", f"twist_{n}")
        if self.rotation is not None:
            return ("tx", "ty", "tz", *self.rotation.dof_names)
        table: dict[str, tuple[str, ...]] = {
            "fixed": (),
            "translation": ("tx", "ty", "tz"),
            "exp_map": ("ex", "ey", "ez"),
            "quaternion": ("wx", "wy", "wz"),
        }
        return table[self.kind]

    def __str__(self) -> str:
        """Return a short description such as "euler ZYX" or "revolute (0, 1, 0)"."""
        if self.axis is not None:
            letter = next((k for k, unit in _UNIT.items() if unit == self.axis), None)
            return f"{self.kind} {letter or tuple(round(a, 4) for a in self.axis)}"
        inner = self.order if self.rotation is None else str(self.rotation)
        return f"{self.kind} {inner}".strip()


def swing_twist_axes(twist: str) -> tuple[str, str, str]:
    """Return the letters (ŝ, t̂, n̂) with n̂ = ŝ × t̂ the twist axis."""
    n = "xyz".index(twist.lower())
    return "xyz"[(n + 1) % 3], "xyz"[(n + 2) % 3], "xyz"[n]


def _with_limits(joint: Joint, limits: ArrayLike | None) -> Joint:
    names = joint.dof_names
    turning = joint.rotation_part
    unbounded = turning.nv if turning.kind == "quaternion" else 0
    bounded = (True,) * (len(names) - unbounded) + (False,) * unbounded
    fields: dict[str, Any] = {k: getattr(joint, k) for k in ("kind", "axis", "order", "rotation")}
    return Joint(**fields, limits=_limits(limits, names, bounded))
