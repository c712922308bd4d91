"""Coordinates of a custom joint for a given motion.

A joint that moves freely along its own axes, and about three that are at right angles, has a
formula. For others none has them, so they are searched for: Gauss–Newton on the shift and the
rotation vector that are left, from coordinates 0, all motions at once. Lengths and angles count
alike, a metre as much as a radian.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from exactik.model.functions import Linear
from exactik.spatial import log_rotation
from exactik.typing import Array

if TYPE_CHECKING:
    from exactik.model.joints._axis import JointAxis
    from exactik.model.joints._joint import Joint


MAX_STEPS = 50  # of Gauss–Newton; quadratic near the end, so that more change nothing
CONVERGED_STEP = 1e-14  # [rad or m], of all coordinates: rounding
MAX_STEP_ENTRY = 1.0  # [rad or m], as far as a linear model of turns is to be trusted
# Up to which axes count as at right angles: rounding. Beyond it the search finds the same.
RIGHT_ANGLE_COSINE = 1e-12
RELATIVE_DAMPING = 1e-12  # of the largest curvature: where coordinates do the same, share it


def fit_coordinates(joint: Joint, shift: Array, rotation: Array) -> Array:
    """Return the coordinates, (…, nq), with which the joint moves most nearly as given.

    Args:
        shift: of the bone's origin, in the base frame [m], (…, 3).
        rotation: from the base frame, (…, 3, 3).
    """
    lead = np.broadcast_shapes(shift.shape[:-1], rotation.shape[:-2])
    if (fit := _solve_free(joint, shift, rotation)) is not None:
        return fit
    n = joint.nq
    low, high = np.array(joint.limits, dtype=float).reshape(-1, 2).T
    q = np.broadcast_to(np.clip(np.zeros(n), low, high), (*lead, n)).copy()
    if n == 0:
        return q
    for _ in range(MAX_STEPS):
        moved, turned, J = _move(joint, q)
        left = log_rotation(rotation @ np.swapaxes(turned, -1, -2))
        r = np.concatenate([shift - moved, left], axis=-1)
        A = np.swapaxes(J, -1, -2) @ J
        scale = np.maximum(np.trace(A, axis1=-2, axis2=-1), 1e-300)
        A = A + (RELATIVE_DAMPING * scale)[..., None, None] * np.eye(n)
        step = np.linalg.solve(A, np.swapaxes(J, -1, -2) @ r[..., None])[..., 0]
        largest = np.abs(step).max(axis=-1, keepdims=True)
        step *= np.minimum(1.0, MAX_STEP_ENTRY / np.maximum(largest, 1e-300))
        q += step
        if np.abs(step).max(initial=0.0) < CONVERGED_STEP:
            break
    return q


def _solve_free(joint: Joint, shift: Array, rotation: Array) -> Array | None:
    """Return the coordinates of a joint that has a formula, (…, 6), with turns up to half a turn.

    In the basis of its axes its rotation is R_x(α) R_y(β) R_z(γ), all angles negative if the axes
    are left-handed.
    """
    turns, shifts = joint.driven_axes
    if not joint.moves_freely:
        return None
    axes = np.array([axis.axis for axis in turns]).T
    if np.abs(axes.T @ axes - np.eye(3)).max() > RIGHT_ANGLE_COSINE:
        return None
    hand = 1.0 if np.linalg.det(axes) > 0.0 else -1.0
    R = axes.T @ rotation @ axes
    angles = (
        hand * np.arctan2(-R[..., 1, 2], R[..., 2, 2]),
        hand * np.arctan2(R[..., 0, 2], np.hypot(R[..., 0, 0], R[..., 0, 1])),
        hand * np.arctan2(-R[..., 0, 1], R[..., 0, 0]),
    )
    lengths = shift @ np.linalg.inv(np.array([axis.axis for axis in shifts]))
    q = np.empty((*np.broadcast_shapes(shift.shape[:-1], rotation.shape[:-2]), 6))
    for axis, value in zip((*turns, *shifts), (*angles, *np.moveaxis(lengths, -1, 0)), strict=True):
        assert isinstance(axis.function, Linear)  # as it moves freely
        k = joint.dof_names.index(axis.coordinates[0])
        q[..., k] = (value - axis.function.intercept) / axis.function.slope
    return q


def _move(joint: Joint, q: Array) -> tuple[Array, Array, Array]:
    """Return shift (…, 3), rotation (…, 3, 3) and their Jacobian (…, 6, nq), in the base frame."""
    lead, names = q.shape[:-1], joint.dof_names
    turns, shifts = joint.driven_axes
    moved, turned = np.zeros((*lead, 3)), np.broadcast_to(np.eye(3), (*lead, 3, 3))
    J = np.zeros((*lead, 6, len(names)))
    for first, axis in (*((0, axis) for axis in shifts), *((3, axis) for axis in turns)):
        value, slopes = _follow(axis, names, q)
        direction = np.array(axis.axis)
        along = turned @ direction if first == 3 else np.broadcast_to(direction, (*lead, 3))
        for i, slope in slopes:
            J[..., first : first + 3, i] += slope[..., None] * along
        if first == 0:
            moved = moved + value[..., None] * along
        else:
            turned = turned @ _rotate(direction, value)
    return moved, turned, J


def _follow(axis: JointAxis, names: tuple[str, ...], q: Array) -> tuple[Array, list]:
    """Return the motion along or about an axis, and (coordinate, slope) for each it follows."""
    where = [names.index(name) for name in axis.coordinates]
    parts = axis.function.factors(*(q[..., i] for i in where))
    value = np.broadcast_to(np.prod([part[..., 0] for part in parts], axis=0), q.shape[:-1])
    slopes = []
    for k, i in enumerate(where):
        others = itertools.chain(parts[:k], parts[k + 1 :])
        slopes.append((i, np.prod([parts[k][..., 1], *(p[..., 0] for p in others)], axis=0)))
    return value, slopes


def _rotate(axis: Array, angle: Array) -> Array:
    """Return rotations about an axis, (…, 3, 3)."""
    x, y, z = axis
    K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    s, c = np.sin(angle)[..., None, None], 2.0 * np.sin(0.5 * angle)[..., None, None] ** 2
    return np.eye(3) + s * K + c * (K @ K)
