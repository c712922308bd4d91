"""Interpolation of poses: the shortest way in q between two, and a smooth curve through many.

Between two keys a figure moves along v, the difference that leads from the one to the other:

    quaternions, and free ball joints in other coordinates     rotation vector of the shortest arc
    angles without limits                                      the shorter way round
    all others                                                 the difference of the coordinates

Limited joints keep to their coordinates: limits are a box there, and what lies between two poses
inside a box is inside. The cubic curve is Hermite's with the slopes of Fritsch and Carlson (1980),
which never overshoots, so that it stays inside as well.

scipy's `PchipInterpolator` has the same slopes at inner keys but other ones at the ends, where ours
are zero (a figure starts and ends at rest), and it needs values in one chart, whereas every span
here has its own: v is the difference from the pose at which the span begins.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from exactik.model import Skeleton
from exactik.spatial import axis_rotation, euler_angles, exp_rotation, log_rotation
from exactik.typing import Array


class FreeRotation(NamedTuple):
    """A joint without limits that turns about all axes, in three coordinates."""

    dof: int  # index of its first dof
    coordinate: int  # index of its first coordinate
    order: str  # of its Euler angles; empty for an exponential map

    def matrix(self, q: Array) -> Array:
        """Return the rotation of the joint in the pose q, (3, 3)."""
        values = q[self.coordinate : self.coordinate + 3]
        if self.order == "":
            return exp_rotation(values)
        axes = zip(self.order, values, strict=True)
        first, second, third = (axis_rotation(axis, angle) for axis, angle in axes)
        return first @ second @ third


class PoseInterpolator:
    """Differences and curves between poses of a skeleton."""

    def __init__(self, skeleton: Skeleton):
        """Find out which joints take the shortest arc, and which angles the shorter way round."""
        self.skeleton = skeleton
        rotations: list[FreeRotation] = []
        unlimited: list[int] = []
        tree = skeleton.tree
        drivers = {coupling.driver for coupling in skeleton.couplings}
        for k, bone in enumerate(skeleton.bones, start=1):
            joint, part = bone.joint, bone.joint.rotation_part
            dof, end, coordinate = (
                int(x) for x in (tree.first_v[k], tree.first_v[k + 1], tree.first_q[k])
            )
            if end - dof < joint.nv or not drivers.isdisjoint(skeleton.dof_names[dof:end]):
                continue  # dofs that follow others: a turn of their drivers is another pose
            first = joint.nv - part.nv  # dofs of the shift
            free = not np.isfinite(np.asarray(joint.limits[first:], dtype=float)).any()
            if part.kind == "exp_map" and free:
                rotations.append(FreeRotation(dof + first, coordinate + first, ""))
            elif part.kind == "euler" and part.nv == 3 and free:
                rotations.append(FreeRotation(dof + first, coordinate + first, part.order))
            elif part.kind in ("euler", "revolute"):
                for i in range(first, joint.nv):
                    if not np.isfinite(joint.limits[i]).any():
                        unlimited.append(dof + i)
        self._free_rotations = tuple(rotations)
        self._unlimited = np.array(unlimited, dtype=np.int64)  # dofs

    def difference(self, q1: Array, q0: Array) -> Array:
        """Return the v that leads from q0 to q1, both (nq,); (nv,)."""
        v = self.skeleton.difference(q1, q0)
        turn = 2.0 * np.pi
        v[self._unlimited] -= turn * np.round(v[self._unlimited] / turn)
        for joint in self._free_rotations:
            v[joint.dof : joint.dof + 3] = log_rotation(joint.matrix(q0).T @ joint.matrix(q1))
        return v

    def integrate(self, q0: Array, v: Array) -> Array:
        """Return the pose at v from q0, (nq,); difference(integrate(q0, v), q0) is v."""
        q = self.skeleton.integrate(q0, v)
        for joint in self._free_rotations:
            R = joint.matrix(q0) @ exp_rotation(v[joint.dof : joint.dof + 3])
            values = log_rotation(R) if joint.order == "" else euler_angles(joint.order, R)
            q[joint.coordinate : joint.coordinate + 3] = values
        return q

    def interpolate(
        self, key_times: Array, key_poses: Array, times: Array, smooth: bool = True
    ) -> Array:
        """Return poses at times [s], (m,) → (m, nq); outside the keys the pose is constant.

        Args:
            key_times: of the keys [s], (n,), rising.
            key_poses: of the keys, (n, nq).
            times: when [s], (m,).
            smooth: along cubic curves; else with constant speed from key to key.
        """
        if len(key_times) == 1:
            return np.repeat(key_poses[:1], len(times), axis=0)
        steps = np.array([self.difference(b, a) for a, b in pairwise(key_poses)])
        spans = np.diff(key_times)
        slopes = _compute_slopes(steps, spans) if smooth else None
        poses = np.empty((len(times), key_poses.shape[1]))
        for n, time in enumerate(np.clip(times, key_times[0], key_times[-1])):
            k = min(int(np.searchsorted(key_times, time, side="right")) - 1, len(spans) - 1)
            s, h = float((time - key_times[k]) / spans[k]), spans[k]
            if s <= 0.0 or s >= 1.0:  # the keys themselves, to the last bit
                poses[n] = key_poses[k] if s <= 0.0 else key_poses[k + 1]
                continue
            v = s * steps[k]
            if slopes is not None:
                rise = s * s * (3.0 - 2.0 * s)
                leaving, arriving = s * (1.0 - s) ** 2 * h, s * s * (s - 1.0) * h
                v = rise * steps[k] + leaving * slopes[k] + arriving * slopes[k + 1]
            poses[n] = self.integrate(key_poses[k], v)
        return poses


def _compute_slopes(steps: Array, spans: Array) -> Array:
    """Return the speed of every dof at each key [1/s], (n, nv): zero at ends and turning points."""
    speed = steps / spans[:, None]
    slopes = np.zeros((len(spans) + 1, steps.shape[1]))
    before, after = speed[:-1], speed[1:]
    same_sign = before * after > 0.0
    w1 = (2.0 * spans[1:] + spans[:-1])[:, None]
    w2 = (spans[1:] + 2.0 * spans[:-1])[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        harmonic_mean = (w1 + w2) / (w1 / before + w2 / after)
    slopes[1:-1] = np.where(same_sign, harmonic_mean, 0.0)
    return slopes


# --- the time of an animation and how it goes on; real time is given from outside


class PlayClock:
    """The current time between the first key and the last.

    Attributes:
        time: [s].
        loop: whether it begins again at its end.
    """

    def __init__(self) -> None:
        """Begin at zero, paused."""
        self.time, self.playing, self.loop = 0.0, False, True

    def play(self, first: float, last: float) -> None:
        """Go on from here; from the first time [s] if it is not before the last [s]."""
        self.playing = last > first
        if not first <= self.time < last:
            self.time = first

    def advance(self, seconds: float, first: float, last: float) -> float:
        """Let real time pass [s] if it is playing; return the time [s], not after the last."""
        if self.playing:
            self.time += seconds
            if self.time > last and self.loop and last > first:
                self.time = first + (self.time - first) % (last - first)
            elif self.time > last:
                self.time, self.playing = last, False
        return self.time
