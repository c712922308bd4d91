"""Slow and obvious: Jacobian and exact Hessian of position goals, marker by marker, pair by pair.

These are the corrected Algorithms 3 and 4 of the exact-Hessian paper, for every joint type. Dofs
are numbered from the root outwards, and inside a joint from the outermost factor inwards. With ω
the world axis of a turning dof, o the centre of its joint and e the marker:

    J_i = ω_i × (e − o_i)            a turn            J_i = v_i      a shift
    K_ij = ω_j × J_i                 j in a joint above that of i (0 where j is a shift)
    K_ij = D_ij × (e − o) + ω_i × J_j   both in one joint, D_ij = ∂ω_i/∂θ_j there
    K_ji = K_ij
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from exactik.lab.check.oracle import forward
from exactik.model import Joint, Skeleton
from exactik.typing import Array

AXIS = {"X": np.array([1.0, 0, 0]), "Y": np.array([0, 1.0, 0]), "Z": np.array([0, 0, 1.0])}


@dataclass(frozen=True, eq=False)
class Dof:
    """One degree of freedom in the world, at one configuration."""

    joint: tuple[int, int]  # bone, and 0 or 1 for the shift and the turn of a free joint
    place: int  # inside its joint, 0 is outermost
    omega: Array  # world axis of a turn, zero for a shift
    slide: Array  # world direction of a shift, zero for a turn
    centre: Array  # centre of the joint in the world
    axis_derivatives: tuple[Array, ...]  # ∂ω/∂θ_b for every dof b of the same joint


class Marker(NamedTuple):
    """A position goal: a point of a bone, its target, and a symmetric weight."""

    bone: str
    point: ArrayLike
    target: ArrayLike
    weight: ArrayLike = 1.0


class Derivatives(NamedTuple):
    cost: float
    gradient: Array
    jacobian: Array
    hessian: Array


def rodrigues(w: Array) -> Array:
    a, b, _ = coefficients(float(w @ w))
    return np.eye(3) + a * skew(w) + b * skew(w) @ skew(w)


def skew(w: Array) -> Array:
    x, y, z = w
    return np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])


def coefficients(s: float) -> tuple[float, float, float]:
    """sinθ/θ, (1 − cosθ)/θ² and (θ − sinθ)/θ³ of s = θ², by their common series."""
    terms = [(-s) ** n for n in range(40)]
    a, b, c = (
        math.fsum(t / math.factorial(2 * n + k) for n, t in enumerate(terms)) for k in (1, 2, 3)
    )
    return a, b, c


def coefficient_derivatives(s: float) -> tuple[float, float]:
    """Derivatives with respect to s of the second and third coefficient."""
    terms = [-(n + 1) * (-s) ** n for n in range(40)]
    b, c = (math.fsum(t / math.factorial(2 * n + k) for n, t in enumerate(terms)) for k in (4, 5))
    return b, c


def exp_axis(w: Array, i: Array) -> Array:
    """The axis about which exp[w] turns when w moves along i."""
    _, b, c = coefficients(float(w @ w))
    return i + b * np.cross(w, i) + c * np.cross(w, np.cross(w, i))


def exp_axis_derivative(w: Array, i: Array, j: Array) -> Array:
    """The derivative of that axis when w moves along j."""
    _, b, c = coefficients(float(w @ w))
    db, dc = coefficient_derivatives(float(w @ w))
    wi = np.cross(w, i)
    return (
        2 * db * (w @ j) * wi
        + b * np.cross(j, i)
        + 2 * dc * (w @ j) * np.cross(w, wi)
        + c * (np.cross(j, wi) + np.cross(w, np.cross(j, i)))
    )


def turning_axes(joint: Joint, q: Array) -> tuple[list[Array], list[list[Array]]]:
    """Axes u_a of a rotation joint in its base frame, and their derivatives ∂u_a/∂θ_b."""
    zero = np.zeros(3)
    if joint.kind == "revolute":
        return [np.array(joint.axis)], [[zero]]
    if joint.kind == "euler":
        axes, outer = [], np.eye(3)
        for letter, angle in zip(joint.order, q, strict=True):
            axes.append(outer @ AXIS[letter])
            outer = outer @ rodrigues(angle * AXIS[letter])
        n = len(axes)
        # An axis is turned by the outer angles only.
        axis_derivatives = [
            [np.cross(axes[b], axes[a]) if b < a else zero for b in range(n)] for a in range(n)
        ]
        return axes, axis_derivatives
    if joint.kind == "exp_map":
        e = np.eye(3)
        axes = [exp_axis(q, e[a]) for a in range(3)]
        return axes, [[exp_axis_derivative(q, e[a], e[b]) for b in range(3)] for a in range(3)]
    if joint.kind == "swing_twist":
        twist = "XYZ".index(joint.order)
        s, t, n = (AXIS["XYZ"[(twist + k) % 3]] for k in (1, 2, 0))
        w = q[0] * s + q[1] * t
        axes = [exp_axis(w, s), exp_axis(w, t), rodrigues(w) @ n]
        return axes, [
            [exp_axis_derivative(w, s, s), exp_axis_derivative(w, s, t), zero],
            [exp_axis_derivative(w, t, s), exp_axis_derivative(w, t, t), zero],
            [np.cross(axes[0], axes[2]), np.cross(axes[1], axes[2]), zero],
        ]
    if joint.kind == "quaternion":
        w, v = q[0] / np.linalg.norm(q), skew(q[1:] / np.linalg.norm(q))
        axes = list((np.eye(3) + 2 * w * v + 2 * v @ v).T)
        return axes, [[0.5 * np.cross(axes[b], axes[a]) for b in range(3)] for a in range(3)]
    raise NotImplementedError(joint.kind)


def dofs(skeleton: Skeleton, q: ArrayLike) -> list[Dof]:
    """All dofs in the world, in the order of v."""
    q = np.asarray(q, dtype=float)
    positions, rotations = forward(skeleton, q)
    all_dofs: list[Dof] = []
    first_q = 0
    zero = np.zeros(3)
    for k, bone in enumerate(skeleton.bones):
        parent = skeleton.bone_names.index(bone.parent) if bone.parent is not None else None
        base = np.eye(3) if parent is None else rotations[parent]
        base = base if bone.pre is None else base @ np.array(bone.pre)
        joint_q = q[first_q : first_q + bone.joint.nq]
        first_q += bone.joint.nq
        centre = positions[k]

        def slide(place: int, axis: Array, k: int = k, base: Array = base, c: Array = centre):
            all_dofs.append(Dof((k, 0), place, zero, base @ axis, c, (zero,) * 3))

        joint = bone.joint
        if joint.kind == "prismatic":
            slide(0, np.array(joint.axis))
        if joint.kind in ("translation", "free"):
            for a in range(3):
                slide(a, np.eye(3)[a])
        if joint.kind == "free":
            joint_q = joint_q[3:]
        if joint.kind not in ("fixed", "prismatic", "translation"):
            axes, axis_derivatives = turning_axes(joint.rotation_part, joint_q)
            for a, axis in enumerate(axes):
                derivatives = tuple(base @ d for d in axis_derivatives[a])
                all_dofs.append(Dof((k, 1), a, base @ axis, zero, centre, derivatives))
    return all_dofs


def column(dof: Dof, e: Array) -> Array:
    """J_i of the point e."""
    return np.cross(dof.omega, e - dof.centre) + dof.slide


def curvature(i: Dof, j: Dof, e: Array) -> Array:
    """K_ij of the point e, where j comes before i on the chain, or is i."""
    if i.joint == j.joint:
        return np.cross(i.axis_derivatives[j.place], e - i.centre) + np.cross(i.omega, column(j, e))
    return np.cross(j.omega, column(i, e))


def chain(skeleton: Skeleton, bone: str) -> set[int]:
    """Indices of the bones between the root and `bone`, both included."""
    k = skeleton.bone_names.index(bone)
    bones = {k}
    while skeleton.parents[k] >= 0:
        k = int(skeleton.parents[k])
        bones.add(k)
    return bones


def position_jacobian(skeleton: Skeleton, q: ArrayLike, bone: str, point: ArrayLike) -> Array:
    """Algorithm 3 for one marker, (3, nv)."""
    positions, rotations = forward(skeleton, q)
    k = skeleton.bone_names.index(bone)
    e = positions[k] + rotations[k] @ np.asarray(point, dtype=float)
    moving = chain(skeleton, bone)
    jacobian = np.zeros((3, skeleton.nv))
    for i, dof in enumerate(dofs(skeleton, q)):
        if dof.joint[0] in moving:
            jacobian[:, i] = column(dof, e)
    return jacobian


def position_derivatives(
    skeleton: Skeleton,
    q: ArrayLike,
    markers: list[Marker],
    pair: Callable[[Dof, Dof, Array], Array] = curvature,
) -> Derivatives:
    """Algorithms 3 and 4; `pair` may be replaced by another rule for K_ij."""
    positions, rotations = forward(skeleton, q)
    all_dofs = dofs(skeleton, q)
    cost, gradient = 0.0, np.zeros(skeleton.nv)
    jacobians, hessian = [], np.zeros((skeleton.nv, skeleton.nv))
    for marker in markers:
        k = skeleton.bone_names.index(marker.bone)
        e = positions[k] + rotations[k] @ np.asarray(marker.point, dtype=float)
        w = np.eye(3) * np.asarray(marker.weight, dtype=float)
        if np.ndim(marker.weight) == 2:
            w = np.asarray(marker.weight, dtype=float)
        r = np.asarray(marker.target, dtype=float) - e
        force = w @ r
        jacobian = position_jacobian(skeleton, q, marker.bone, marker.point)
        cost += 0.5 * float(r @ force)
        gradient -= jacobian.T @ force
        hessian += jacobian.T @ w @ jacobian
        moving = chain(skeleton, marker.bone)
        for i, dof_i in enumerate(all_dofs):
            for j, dof_j in enumerate(all_dofs[: i + 1]):
                if dof_i.joint[0] in moving and dof_j.joint[0] in moving:
                    second_order = pair(dof_i, dof_j, e) @ force
                    hessian[i, j] -= second_order
                    if j < i:
                        hessian[j, i] -= second_order
        jacobians.append(jacobian)
    return Derivatives(cost, gradient, np.concatenate(jacobians), hessian)
