"""Geometric Jacobians and their time derivatives from mixed second derivatives of a motion.

Along the curve q(t) = integrate(q, t v) the configuration is moved once more by ε in the tangent
space at q(t). The first derivative with respect to ε at t is the Jacobian there, and the mixed
derivative with respect to t and ε its rate. A rotation R(t, ε) turns with [ω_i] = ∂_iR Rᵀ.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from exactik.check.oracle._jet import transform, variables
from exactik.check.oracle._kinematics import frames, place
from exactik.typing import Array

if TYPE_CHECKING:
    from exactik.model import Skeleton

__all__ = ["point_jacobian", "point_jacobian_dot"]


def _axial(m: Array) -> Array:
    """Return the vectors of the skew parts of (3, 3, …)."""
    return 0.5 * np.stack([m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1]])


def _in_frame(frame: str, lin: Array, ang: Array, turn: Array, at: Array) -> tuple[Array, Array]:
    if frame == "world":
        return lin, ang
    if frame == "body":
        return turn.T @ lin, turn.T @ ang
    if frame == "spatial":  # the velocity of that point of the body which passes the world's origin
        return lin - np.cross(ang, at, axisa=0, axisc=0), ang
    raise ValueError(f"frame is {frame!r}; it must be 'world', 'body' or 'spatial'")


def _rates(
    skeleton: Skeleton, q: ArrayLike, v: ArrayLike, bone: str, point: ArrayLike
) -> tuple[Array, ...]:
    """Return linear and angular Jacobian, R and p of the point, and the rates of these four."""
    v = np.asarray(v, dtype=float)
    nv = len(v)
    everything = variables(np.zeros(nv + 1))  # ε, then t
    epsilon = transform(np.eye(nv, nv + 1), everything)
    flow = transform(np.outer(v, np.eye(nv + 1)[nv]), everything)
    where = frames(skeleton, q, flow, epsilon)
    e, r = place(where, bone, point), where[bone].rotation
    first, rate, mixed = r.gradient[..., :nv], r.gradient[..., nv], r.hessian[..., :nv, nv]
    angular = np.einsum("abi,cb->aci", first, r.value)
    angular_dot = np.einsum("abi,cb->aci", mixed, r.value) + np.einsum("abi,cb->aci", first, rate)
    return (
        e.gradient[:, :nv],
        _axial(angular),
        r.value,
        e.value,
        e.hessian[:, :nv, nv],
        _axial(angular_dot),
        rate,
        e.gradient[:, nv],
    )


def point_jacobian(
    skeleton: Skeleton,
    q: ArrayLike,
    bone: str,
    point: ArrayLike = (0.0, 0.0, 0.0),
    frame: str = "world",
) -> tuple[Array, Array]:
    """Return the linear and the angular Jacobian of a point of a bone, both (3, nv).

    Args:
        skeleton: the model.
        q: coordinates, (nq,).
        bone: name of the bone.
        point: in the bone's frame [m], (3,).
        frame: "world": velocity of the point and angular velocity in world axes; "body": the same
            in the bone's axes; "spatial": the velocity of that point of the bone which passes the
            world's origin.
    """
    nv = sum(b.joint.nv for b in skeleton.bones)
    lin, ang, turn, at, *_ = _rates(skeleton, q, np.zeros(nv), bone, point)
    return _in_frame(frame, lin, ang, turn, at)


def point_jacobian_dot(
    skeleton: Skeleton,
    q: ArrayLike,
    v: ArrayLike,
    bone: str,
    point: ArrayLike = (0.0, 0.0, 0.0),
    frame: str = "world",
) -> tuple[Array, Array]:
    """Return the time derivatives of what `point_jacobian` returns, at the velocity v, (nv,)."""
    lin, ang, turn, at, lin_dot, ang_dot, turn_dot, at_dot = _rates(skeleton, q, v, bone, point)
    linear, angular = _in_frame(frame, lin_dot, ang_dot, turn, at)
    if frame == "body":
        linear, angular = linear + turn_dot.T @ lin, angular + turn_dot.T @ ang
    elif frame == "spatial":
        linear = linear - np.cross(ang, at_dot, axisa=0, axisc=0)
    return linear, angular
