"""Poses between poses: the shortest way in q, and a smooth one through many.

Between two keys a figure moves along v, the difference that leads from the one to the other:

    quaternions, and free ball joints in other coordinates     rotation vector of the shortest arc
    angles without limits                                      the shorter way round
    all others                                                 the difference of the coordinates

Limited joints keep to their coordinates: limits are a box there, and what lies between two poses
inside a box is inside. The cubic curve is Hermite's with the slopes of Fritsch and Carlson (1980),
which never overshoots, so that it stays inside as well.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from exactik.model import Skeleton
from exactik.spatial import axis_rotation, euler_angles, exp_rotation, log_rotation
from exactik.typing import Array, IntArray

__all__ = ["PoseInterpolator", "interpolate_poses", "way_of"]


class Ball(NamedTuple):
    """A joint without limits that turns about all axes; its first dof and coordinate, its order."""

    dof: int
    at: int
    order: str  # of Euler angles; empty for an exponential map


class PoseInterpolator(NamedTuple):
    """How a skeleton goes from pose to pose."""

    skeleton: Skeleton
    balls: tuple[Ball, ...]
    turning: IntArray  # dofs that are angles without limits

    def apart(self, q1: Array, q0: Array) -> Array:
        """Return the v that leads from q0 to q1, both (nq,); (nv,)."""
        v = self.skeleton.difference(q1, q0)
        turn = 2.0 * np.pi
        v[self.turning] -= turn * np.round(v[self.turning] / turn)
        for ball in self.balls:
            v[ball.dof : ball.dof + 3] = log_rotation(_matrix(ball, q0).T @ _matrix(ball, q1))
        return v

    def moved(self, q0: Array, v: Array) -> Array:
        """Return the pose at v from q0, (nq,); apart(moved(q0, v), q0) is v."""
        q = self.skeleton.integrate(q0, v)
        for ball in self.balls:
            own = slice(ball.at, ball.at + 3)
            R = _matrix(ball, q0) @ exp_rotation(v[ball.dof : ball.dof + 3])
            q[own] = log_rotation(R) if ball.order == "" else euler_angles(ball.order, R)
        return q


def _matrix(ball: Ball, q: Array) -> Array:
    own = q[ball.at : ball.at + 3]
    if ball.order == "":
        return exp_rotation(own)
    first, second, third = (axis_rotation(a, x) for a, x in zip(ball.order, own, strict=True))
    return first @ second @ third


def way_of(skeleton: Skeleton) -> PoseInterpolator:
    """Return how a skeleton goes from pose to pose."""
    balls: list[Ball] = []
    turning: list[int] = []
    dof = at = 0
    for bone in skeleton.bones:
        joint, part = bone.joint, bone.joint.rotation_part
        first = joint.nv - part.nv  # dofs of the shift
        free = not np.isfinite(np.asarray(joint.limits[first:], dtype=float)).any()
        if part.kind == "exp_map" and free:
            balls.append(Ball(dof + first, at + first, ""))
        elif part.kind == "euler" and part.nv == 3 and free:
            balls.append(Ball(dof + first, at + first, part.order))
        elif part.kind in ("euler", "revolute"):
            for k in range(first, joint.nv):
                if not np.isfinite(joint.limits[k]).any():
                    turning.append(dof + k)
        dof, at = dof + joint.nv, at + joint.nq
    return PoseInterpolator(skeleton, tuple(balls), np.array(turning, dtype=np.int64))


def interpolate_poses(way: PoseInterpolator, times: Array, poses: Array, at: Array, smooth: bool = True) -> Array:
    """Return poses at the times `at` [s], (m, nq); those before the first and after the last stay.

    Args:
        way: see `way_of`.
        times: of the keys [s], (n,), rising.
        poses: of the keys, (n, nq).
        at: when [s], (m,).
        smooth: along cubic curves; else with constant speed from key to key.
    """
    if len(times) == 1:
        return np.repeat(poses[:1], len(at), axis=0)
    steps = np.array([way.apart(b, a) for a, b in pairwise(poses)])
    spans = np.diff(times)
    slopes = _slopes(steps, spans) if smooth else None
    found = np.empty((len(at), poses.shape[1]))
    for n, time in enumerate(np.clip(at, times[0], times[-1])):
        k = min(int(np.searchsorted(times, time, side="right")) - 1, len(spans) - 1)
        s, h = float((time - times[k]) / spans[k]), spans[k]
        if s <= 0.0 or s >= 1.0:
            found[n] = poses[k] if s <= 0.0 else poses[k + 1]  # keys themselves, to the last bit
            continue
        v = s * steps[k]
        if slopes is not None:
            rise = s * s * (3.0 - 2.0 * s)
            out, into = s * (1.0 - s) ** 2 * h, s * s * (s - 1.0) * h
            v = rise * steps[k] + out * slopes[k] + into * slopes[k + 1]
        found[n] = way.moved(poses[k], v)
    return found


def _slopes(steps: Array, spans: Array) -> Array:
    """Return the speed of every dof at each key [1/s], (n, nv): none where the motion turns."""
    speed = steps / spans[:, None]
    slopes = np.zeros((len(spans) + 1, steps.shape[1]))
    before, after = speed[:-1], speed[1:]
    same = before * after > 0.0
    w1 = (2.0 * spans[1:] + spans[:-1])[:, None]
    w2 = (spans[1:] + 2.0 * spans[:-1])[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        harmonic = (w1 + w2) / (w1 / before + w2 / after)
    slopes[1:-1] = np.where(same, harmonic, 0.0)
    return slopes  # and at rest in the first and the last key
