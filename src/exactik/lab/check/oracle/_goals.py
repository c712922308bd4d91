"""Residuals of the built-in goals, written once more on jets, and their weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from exactik.errors import GoalError, ShapeError
from exactik.goals import (
    AimGoal,
    CenterOfMassGoal,
    Collisions,
    DirectionGoal,
    DistanceGoal,
    FrameGoal,
    Goal,
    LineGoal,
    MarkerGoal,
    OrientationGoal,
    PlaneGoal,
    PoseGoal,
    PositionGoal,
    PostureGoal,
    SoftLimitGoal,
)
from exactik.lab.check.oracle._collisions import compute_collision_rows
from exactik.lab.check.oracle.jet import Jet, concatenate, constant, dot, sqrt, transform
from exactik.lab.check.oracle.kinematics import (
    JetFrame,
    exp,
    find_slices,
    free_dofs,
    log,
    place_point,
    quaternion_matrix,
)
from exactik.typing import Array

if TYPE_CHECKING:
    from exactik.model import Skeleton


def residual(
    goal: Goal, skeleton: Skeleton, frames: dict[str, JetFrame], q: ArrayLike, step: Jet
) -> Jet:
    """Return the rows of a goal.

    Args:
        goal: a built-in goal, or one of a user's own that watches a frame.
        skeleton: the model.
        frames: the frames of its bones at q moved by `step`.
        q: coordinates, (nq,).
        step: the increment v, (nv,), whose value is zero.
    """
    if isinstance(goal, CenterOfMassGoal):
        return _compute_balance_rows(goal, skeleton, frames)
    if isinstance(goal, Collisions):
        return compute_collision_rows(goal, frames)
    if isinstance(goal, DistanceGoal):
        return _compute_distance_rows(goal, frames)
    if getattr(goal, "relative_to", None) is not None or isinstance(goal, PlaneGoal | LineGoal):
        return _compute_relative_rows(goal, frames)
    if isinstance(goal, PositionGoal):
        return np.asarray(goal.target, dtype=float) - place_point(frames, goal.bone, goal.point)
    if isinstance(goal, MarkerGoal):
        bone, point = skeleton.markers[goal.marker]
        return np.asarray(goal.target, dtype=float) - place_point(frames, bone, point)
    if isinstance(goal, DirectionGoal):
        return _normalise(goal.target) - frames[goal.bone].R_world_bone @ _normalise(goal.axis)
    if isinstance(goal, AimGoal):
        sight = np.asarray(goal.target, dtype=float) - place_point(frames, goal.bone, goal.point)
        return sight / sqrt(dot(sight, sight)) - frames[goal.bone].R_world_bone @ _normalise(
            goal.axis
        )
    if isinstance(goal, OrientationGoal):
        rotation = frames[goal.bone].R_world_bone
        R_target = quaternion_matrix(goal.wxyz) if goal.wxyz is not None else np.array(goal.target)
        if goal.kind == "log":
            return log(R_target @ rotation.T)
        return concatenate([R_target[:, a] - rotation.T[a] for a in range(3)])
    if isinstance(goal, PoseGoal):
        target = np.array(goal.target, dtype=float)
        rotation = frames[goal.bone].R_world_bone
        return concatenate(
            [
                target[:3, 3] - place_point(frames, goal.bone, goal.point),
                log(target[:3, :3] @ rotation.T),
            ]
        )
    if isinstance(goal, PostureGoal):
        return _compute_posture_rows(goal, skeleton, q, step)
    if isinstance(goal, SoftLimitGoal):
        return _compute_limit_rows(skeleton, q, step)
    if isinstance(goal, FrameGoal):
        return expand_frame_goal(goal, frames[goal.bone])
    raise GoalError(f"the oracle knows no goal of type {type(goal).__name__}")


def _compute_relative_rows(goal: Goal, frames: dict[str, JetFrame]) -> Jet:
    """Return the rows of a goal whose target is in another bone: all as that bone sees it."""
    own = frames[goal.bone]  # pyright: ignore[reportAttributeAccessIssue]
    rotation, origin = own.R_world_bone, np.zeros(3)
    if goal.relative_to is not None:  # pyright: ignore[reportAttributeAccessIssue]
        other = frames[goal.relative_to]  # pyright: ignore[reportAttributeAccessIssue]
        rotation, origin = other.R_world_bone.T @ rotation, other.p_world_bone
        turn = other.R_world_bone.T
    else:
        turn = constant(np.eye(3), rotation.n)
    if isinstance(goal, DirectionGoal):
        return _normalise(goal.target) - rotation @ _normalise(goal.axis)
    if isinstance(goal, OrientationGoal):
        wanted = quaternion_matrix(goal.wxyz) if goal.wxyz is not None else np.array(goal.target)
        if goal.kind == "log":
            return log(wanted @ rotation.T)
        return concatenate([wanted[:, a] - rotation.T[a] for a in range(3)])
    place = turn @ (place_point(frames, goal.bone, goal.point) - origin)  # pyright: ignore
    if isinstance(goal, PoseGoal):
        target = np.array(goal.target, dtype=float)
        return concatenate([target[:3, 3] - place, log(target[:3, :3] @ rotation.T)])
    arm = np.asarray(goal.target, dtype=float) - place  # pyright: ignore
    if isinstance(goal, AimGoal):
        return arm / sqrt(dot(arm, arm)) - rotation @ _normalise(goal.axis)
    if isinstance(goal, PlaneGoal | LineGoal):
        axes = np.asarray(goal.terms(None)[0].rotation)  # pyright: ignore[reportArgumentType]
        return transform(axes.T, arm)
    return arm


def _compute_balance_rows(
    goal: CenterOfMassGoal, skeleton: Skeleton, frames: dict[str, JetFrame]
) -> Jet:
    """Return the rows of a goal on the centre of mass."""
    names = [n for n in skeleton.masses if goal.bones is None or n in goal.bones]
    mass = np.array([skeleton.masses[name].mass for name in names])
    places = [place_point(frames, name, skeleton.masses[name].center) for name in names]
    centre = places[0] * 0.0
    for place, share in zip(places, mass / mass.sum(), strict=True):
        centre = centre + place * float(share)
    if goal.target is not None:
        return np.asarray(goal.target, dtype=float) - centre
    if goal.over is not None:
        middle = centre * 0.0
        for name in goal.over:
            middle = middle + place_point(frames, name, np.zeros(3)) * (1.0 / len(goal.over))
        return middle - centre
    rows = []
    for term in goal.terms(skeleton):
        band = float(np.linalg.norm(term.axis))
        normal = np.asarray(term.axis) / band
        x = transform(normal[None], centre - np.asarray(term.target))[0]
        if x.value <= 0.0:
            rows.append(centre * 0.0)
        elif x.value < band:
            rows.append(sqrt(x * x * x / (3.0 * band)) * -normal)
        else:
            rows.append(sqrt(x * x - band * x + band * band / 3.0) * -normal)
    return concatenate(rows)


def _compute_distance_rows(goal: DistanceGoal, frames: dict[str, JetFrame]) -> Jet:
    """Return the rows of each bound: the length √(2φ) along the line between the points."""
    first, second = np.asarray(goal.points, dtype=float)
    here = place_point(frames, goal.a, first)
    if goal.b is None:
        arm = second - here
    else:
        arm = frames[goal.b].R_world_bone.T @ (place_point(frames, goal.b, second) - here)
    length = sqrt(dot(arm, arm))
    direction, eps, rows = arm / length, goal.band, []
    if goal.distance is not None:
        rows.append(arm - goal.distance * direction)
    for bound, sign in ((goal.at_least, -1.0), (goal.at_most, 1.0)):
        if bound is None:
            continue
        x = sign * (length - bound)
        if x.value <= 0.0:
            rows.append(arm * 0.0)
        elif x.value < eps:
            rows.append(sqrt(x * x * x / (3.0 * eps)) * sign * direction)
        else:
            rows.append(sqrt(x * x - eps * x + eps * eps / 3.0) * sign * direction)
    return concatenate(rows)


def _normalise(vector: ArrayLike) -> Array:
    return np.asarray(vector, dtype=float) / np.linalg.norm(vector)


def _compute_posture_rows(goal: PostureGoal, skeleton: Skeleton, q: ArrayLike, step: Jet) -> Jet:
    now, rest = np.asarray(q, dtype=float), np.asarray(goal.q_rest, dtype=float)
    rows = []
    for bone in skeleton.bones:
        part = find_slices(skeleton)[bone.name]
        count = part.v.stop - part.v.start
        plain = count - (3 if bone.joint.rotation_part.kind == "quaternion" else 0)
        d, a, b = step[part.v], now[part.q], rest[part.q]
        rows.append(b[:plain] - a[:plain] - d[:plain])
        if plain < count:
            rotation = quaternion_matrix(a[plain:]) @ exp(d[plain:])
            rows.append(log(rotation.T @ quaternion_matrix(b[plain:])))
    return concatenate(rows)


def _compute_limit_rows(skeleton: Skeleton, q: ArrayLike, step: Jet) -> Jet:
    now, gap, outside = np.asarray(q, dtype=float), np.zeros(step.shape), np.zeros(step.shape)
    for bone in skeleton.bones:
        part = find_slices(skeleton)[bone.name]
        limits = [bone.joint.limits[a] for a in free_dofs(skeleton, bone)]
        for a, (low, high) in enumerate(limits):
            # Dofs of a quaternion have no limits; those before them have the index of their q.
            if np.isfinite(low) or np.isfinite(high):
                x, row = now[part.q][a], part.v.start + a
                gap[row] = min(max(x, low), high) - x
                outside[row] = float(x < low or x > high)
    return (gap - step) * outside


def _exp_rotation(w: Array) -> Array:
    """Return exp[w] in plain numbers: a black box is evaluated hundreds of times."""
    angle = float(np.sqrt(w @ w))
    if angle == 0.0:
        return np.eye(3)
    x, y, z = w * (np.sin(angle) / angle)
    skew = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    bend = 2.0 * (np.sin(0.5 * angle) / angle) ** 2
    return np.cos(angle) * np.eye(3) + skew + bend * np.outer(w, w)


def expand_frame_goal(goal: FrameGoal, frame: JetFrame) -> Jet:
    """Return r of a black box: its local Taylor polynomial at the frame, then the chain rule."""
    R, p = frame.R_world_bone.value, frame.p_world_bone.value
    if frame.R_world_bone.n == 0:
        return constant(goal.residual(R, p), 0)

    def residual_near(x: Array) -> Array:
        return goal.residual(_exp_rotation(x[:3]) @ R, p + x[3:])

    value, first, second = differentiate(residual_near, 6)
    x = concatenate([log(frame.R_world_bone @ R.T), frame.p_world_bone - p])
    # The local coordinates vanish here, so rounding in their value must not leak into the rows.
    x = Jet(np.zeros(6), x.gradient, x.hessian)
    curved = np.einsum("mab,ay,bz->myz", second, x.gradient, x.gradient, optimize=True)
    linear = transform(first, x)
    return Jet(value, linear.gradient, linear.hessian + curved)


def weight(goal: Goal, rows: int) -> Array:
    """Return the weight of a goal as a matrix over its rows."""
    goal_weight = np.asarray(goal.weight, dtype=float)
    if goal_weight.shape == (rows, rows) and goal_weight.ndim == 2:
        return goal_weight
    short = isinstance(goal, PoseGoal) and goal_weight.shape == (2,)
    short |= isinstance(goal, OrientationGoal) and rows == 9 and goal_weight.shape == (3,)
    if short:
        goal_weight = np.repeat(goal_weight, 3)
    if isinstance(goal, CenterOfMassGoal) and goal.over is not None:
        return np.diag([1.0, 1.0, 0.0]) * goal_weight
    if isinstance(goal, PlaneGoal | LineGoal):
        return np.diag([0.0, 0.0, 1.0] if isinstance(goal, PlaneGoal) else [1.0, 1.0, 0.0]) * (
            goal_weight
        )
    if goal_weight.shape not in ((), (rows,)):
        raise ShapeError(
            f"weight of goal {goal.label!r} has shape {goal_weight.shape} for {rows} rows"
        )
    return np.eye(rows) * goal_weight


# --- derivatives of a residual that is only a black box: high-order central differences
#
# Along a line, values at ±h … ±7h determine the second derivative up to an error of order h¹⁴. For
# a smooth function a step of a tenth is then both long enough to lose few digits in the subtraction
# and short enough for the formula; since the scale of the function is unknown, a ladder of steps is
# tried and the one kept whose neighbour agrees best.


_REACH = 7  # points on either side
_STEPS = 0.16 * 0.5 ** np.arange(5)  # the ladder


def _compute_weights() -> tuple[Array, Array]:
    """Return the weights of odd and even differences that annihilate all other powers."""
    k = np.arange(1, _REACH + 1, dtype=float)
    power = np.arange(_REACH)
    first = np.linalg.solve((k / _REACH) ** (2 * power[:, None] + 1), np.eye(_REACH)[0] / 2)
    second = np.linalg.solve((k / _REACH) ** (2 * power[:, None] + 2), np.eye(_REACH)[0])
    return first / _REACH, second / _REACH**2


_FIRST, _SECOND = _compute_weights()


def _differentiate_line(line: Callable[[float], Array], value: Array) -> tuple[Array, Array]:
    """Return first and second derivative of `line` at 0, one pair per step of the ladder."""
    first, second = [], []
    for h in _STEPS:
        plus = np.array([line(k * h) for k in range(1, _REACH + 1)])
        minus = np.array([line(-k * h) for k in range(1, _REACH + 1)])
        first.append(_FIRST @ (plus - minus) / h)
        second.append(_SECOND @ ((plus - value) + (minus - value)) / h**2)
    return np.array(first), np.array(second)


def _choose_step(ladder: Array) -> Array:
    """Return the derivatives of the step that differ least from those of the next one."""
    differences = np.abs(np.diff(ladder, axis=0)).reshape(len(ladder) - 1, -1)
    return ladder[int(np.argmin(differences.max(axis=1, initial=0.0)))]


def differentiate(residual: Callable[[Array], Array], dimension: int) -> tuple[Array, Array, Array]:
    """Return the residual, (m,), and its derivatives at x = 0, (m, d) and (m, d, d).

    Args:
        residual: function of x, shape (d,), smooth over a few tenths around 0.
        dimension: d.
    """
    d = dimension
    value = np.asarray(residual(np.zeros(d)), dtype=float)
    e = np.eye(d)

    def differentiate_along(direction: Array) -> tuple[Array, Array]:
        return _differentiate_line(
            lambda t: np.asarray(residual(t * direction), dtype=float), value
        )

    shape = (len(_STEPS), len(value), d)
    first, second = np.empty(shape), np.empty((*shape, d))
    for i in range(d):
        first[..., i], second[..., i, i] = differentiate_along(e[i])
    for i in range(d):
        for j in range(i):
            # Along e_i + e_j the second derivative is f_ii + 2 f_ij + f_jj.
            _, mixed = differentiate_along(e[i] + e[j])
            second[..., i, j] = 0.5 * (mixed - second[..., i, i] - second[..., j, j])
            second[..., j, i] = second[..., i, j]
    return value, _choose_step(first), _choose_step(second)
