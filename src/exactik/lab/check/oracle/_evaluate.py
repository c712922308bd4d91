"""Cost, gradient and Hessian of a set of goals, as the oracle sees them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from exactik.goals import Goal, SoftLimitGoal
from exactik.lab.check.oracle._goals import residual, weight
from exactik.lab.check.oracle.jet import concatenate, constant, dot, transform, variables
from exactik.lab.check.oracle.kinematics import compute_frames, find_slices, place_point
from exactik.typing import Array

if TYPE_CHECKING:
    from exactik.model import Skeleton


@dataclass(frozen=True, eq=False)
class OracleAnswer:
    """What `Problem` should answer, all of it at v = 0."""

    cost: float  # ½ rᵀ W r
    gradient: Array  # first derivative of the cost, (nv,)
    residual: Array  # r = target − model of all goals, without weights, (m,)
    jacobian: Array  # −∂r/∂v, (m, nv)
    gauss_newton: Array  # Jᵀ W J, (nv, nv)
    hessian: Array  # second derivative of the cost, (nv, nv)


def evaluate(
    skeleton: Skeleton,
    goals: Sequence[Goal],
    q: ArrayLike,
    *,
    limits: str = "hard",
    lock: ArrayLike | None = None,
    weight_matrix: ArrayLike | None = None,
) -> OracleAnswer:
    """Return cost and derivatives by automatic differentiation of the whole chain of operations.

    Args:
        skeleton: the model.
        goals: any of the built-in goals, and goals of a user's own on a frame.
        q: coordinates, (nq,).
        limits: "soft" adds a `SoftLimitGoal` after the others; "hard" and "off" add nothing.
        lock: True for the dofs that do not move, (nv,); None for none.
        weight_matrix: W over all rows in the order of the goals, instead of their own weights.
    """
    goals = [*goals, SoftLimitGoal()] if limits == "soft" else [*goals]
    nv = max(part.v.stop for part in find_slices(skeleton).values())
    free = np.ones(nv, dtype=bool) if lock is None else ~np.asarray(lock, dtype=bool)
    # Only free dofs are variables: a locked one then has derivatives zero by construction.
    moving = variables(np.zeros(int(free.sum())))
    step = transform(np.eye(nv)[:, free], moving)
    frames = compute_frames(skeleton, q, step)
    parts = [residual(goal, skeleton, frames, q, step) for goal in goals]
    rows = concatenate([constant(np.zeros(0), step.n), *parts])
    w = np.zeros((len(rows.value), len(rows.value)))
    if weight_matrix is not None:
        w[:] = weight_matrix
    else:
        start = 0
        for goal, part in zip(goals, parts, strict=True):
            m = len(part.value)
            w[start : start + m, start : start + m] = weight(goal, m)
            start += m
    cost = dot(rows, transform(w, rows)) * 0.5
    jacobian = -rows.gradient
    spread = np.eye(nv)[:, free]
    return OracleAnswer(
        cost=float(cost.value),
        gradient=spread @ cost.gradient,
        residual=rows.value,
        jacobian=jacobian @ spread.T,
        gauss_newton=spread @ (jacobian.T @ w @ jacobian) @ spread.T,
        hessian=spread @ cost.hessian @ spread.T,
    )


# --- geometric Jacobians and their time derivatives from mixed second derivatives of a motion
#
# Along the curve q(t) = integrate(q, t v) the configuration is moved once more by ε in the tangent
# space at q(t). The first derivative with respect to ε at t is the Jacobian there, and the mixed
# derivative with respect to t and ε its rate. A rotation R(t, ε) turns with [ω_i] = ∂_iR Rᵀ.


def _axial(m: Array) -> Array:
    """Return the vectors of the skew parts of (3, 3, …)."""
    return 0.5 * np.stack([m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1]])


class _Rates(NamedTuple):
    """Jacobians in the world, where the point is, and the time derivatives of all of these."""

    linear: Array  #       (3, nv)
    angular: Array  #      (3, nv)
    R_world_bone: Array
    p_world_point: Array
    linear_dot: Array
    angular_dot: Array
    R_dot: Array
    p_dot: Array


def _in_frame(
    frame: str, linear: Array, angular: Array, R_world_bone: Array, p_world_point: Array
) -> tuple[Array, Array]:
    if frame == "world":
        return linear, angular
    if frame == "body":
        return R_world_bone.T @ linear, R_world_bone.T @ angular
    if frame == "spatial":  # the velocity of that point of the body which passes the world's origin
        return linear - np.cross(angular, p_world_point, axisa=0, axisc=0), angular
    raise ValueError(f"frame is {frame!r}; it must be 'world', 'body' or 'spatial'")


def _compute_rates(
    skeleton: Skeleton, q: ArrayLike, v: ArrayLike, bone: str, point: ArrayLike
) -> _Rates:
    v = np.asarray(v, dtype=float)
    nv = len(v)
    everything = variables(np.zeros(nv + 1))  # ε, then t
    epsilon = transform(np.eye(nv, nv + 1), everything)
    flow = transform(np.outer(v, np.eye(nv + 1)[nv]), everything)
    frames = compute_frames(skeleton, q, flow, epsilon)
    p, R = place_point(frames, bone, point), frames[bone].R_world_bone
    first, rate, mixed = R.gradient[..., :nv], R.gradient[..., nv], R.hessian[..., :nv, nv]
    angular = np.einsum("abi,cb->aci", first, R.value)
    angular_dot = np.einsum("abi,cb->aci", mixed, R.value) + np.einsum("abi,cb->aci", first, rate)
    return _Rates(
        linear=p.gradient[:, :nv],
        angular=_axial(angular),
        R_world_bone=R.value,
        p_world_point=p.value,
        linear_dot=p.hessian[:, :nv, nv],
        angular_dot=_axial(angular_dot),
        R_dot=rate,
        p_dot=p.gradient[:, nv],
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
        point: in the bone's frame [m], (3,).
        frame: "world": velocity of the point and angular velocity in world axes; "body": the same
            in the bone's axes; "spatial": the velocity of that point of the bone which passes the
            world's origin.
    """
    nv = max(part.v.stop for part in find_slices(skeleton).values())
    r = _compute_rates(skeleton, q, np.zeros(nv), bone, point)
    return _in_frame(frame, r.linear, r.angular, r.R_world_bone, r.p_world_point)


def point_jacobian_dot(
    skeleton: Skeleton,
    q: ArrayLike,
    v: ArrayLike,
    bone: str,
    point: ArrayLike = (0.0, 0.0, 0.0),
    frame: str = "world",
) -> tuple[Array, Array]:
    """Return the time derivatives of what `point_jacobian` returns, at the velocity v, (nv,)."""
    r = _compute_rates(skeleton, q, v, bone, point)
    linear, angular = _in_frame(frame, r.linear_dot, r.angular_dot, r.R_world_bone, r.p_world_point)
    if frame == "body":
        linear, angular = linear + r.R_dot.T @ r.linear, angular + r.R_dot.T @ r.angular
    elif frame == "spatial":
        linear = linear - np.cross(r.angular, r.p_dot, axisa=0, axisc=0)
    return linear, angular
