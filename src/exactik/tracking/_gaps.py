"""Frames in which some joints have lost their markers.

Each marker determines the dofs above it. Where a dof has lost much of what determines it, its own
course from before to after the gap stands in: the frame is solved again with a pull towards it,
stronger the more is lost. What still can be seen pulls as ever.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from exactik.model import Skeleton
from exactik.tracking._passes import FrameSolutions, run_in_threads, solve_frames
from exactik.tracking._recording import TrackingProblem
from exactik.typing import Array, BoolArray, IntArray

__all__ = ["Postures", "information", "make_postures", "pulled", "solve_gap_frames"]


SOLID = 0.6  # share that a dof may lose and still go by its markers alone
PULL = 0.3  # of the curvature that was lost
SAMPLES = 24  # poses over which information is averaged
AT_ONCE = 2048


def information(recording: TrackingProblem, q: Array) -> Array:
    """Return what every marker says about every dof, w |∂x/∂v|² on average over poses, (M, nv)."""
    count = len(recording.names)
    total = np.zeros((count, recording.skeleton.nv))
    chosen = np.unique(np.linspace(0, len(q) - 1, min(SAMPLES, len(q))).astype(int))
    for pose in q[chosen]:
        J = recording.frame_problem.jacobian(pose)[: 3 * count]
        total += (J**2).reshape(count, 3, -1).sum(axis=1)
    return recording.targets.weight[:, None] * total / max(len(chosen), 1)


def lost_share(seen: BoolArray, info: Array) -> Array:
    """Return how much of what determines each dof is missing, 0 to 1, (n, nv), by markers seen."""
    lost = (~seen).astype(float) @ info
    whole = info.sum(axis=0)
    return np.divide(lost, whole, out=np.zeros_like(lost), where=whole > 0.0)


class Postures(NamedTuple):
    """What frames are pulled to besides their markers: all to neutral, some to their course.

    Attributes:
        skeleton: whose they are.
        neutral: (nq,).
        tie: how firmly to neutral, (nv,).
        frames: that have a course of their own, (k,), in order.
        course: of these, (k, nq).
        pull: how firmly to it, (k, nv).
        loose: dofs that go by their course, (T, nv).
    """

    skeleton: Skeleton
    neutral: Array
    tie: Array
    frames: IntArray
    course: Array
    pull: Array
    loose: BoolArray

    def of(self, which: IntArray) -> tuple[Array, Array]:
        """Return the postures of frames, (n, nq), and how firmly they hold, (n, nv)."""
        rest = np.repeat(self.neutral[None], len(which), axis=0)
        firm = np.repeat(self.tie[None], len(which), axis=0)
        at = np.searchsorted(self.frames, which)
        own = at < len(self.frames)
        own[own] = self.frames[at[own]] == which[own]
        k = at[own]
        rest[own], firm[own] = pulled(
            self.skeleton, rest[own], firm[own], self.course[k], self.pull[k]
        )
        return rest, firm

    def between(self, first: int, end: int) -> Postures:
        """Return those of the frames from `first` on, `end` excluded, as a recording of its own."""
        own = (self.frames >= first) & (self.frames < end)
        few = {"course": self.course[own], "pull": self.pull[own], "loose": self.loose[first:end]}
        return self._replace(frames=self.frames[own] - first, **few)


def pulled(
    skeleton: Skeleton, rest: Array, firm: Array, other: Array, more: Array
) -> tuple[Array, Array]:
    """Return the one posture that pulls as two do together, (n, nq), and how firmly, (n, nv)."""
    total = firm + more
    share = np.divide(more, total, out=np.zeros_like(total), where=total > 0.0)
    return skeleton.integrate(rest, share * skeleton.difference(other, rest)), total


def make_postures(recording: TrackingProblem, q: Array, info: Array) -> Postures:
    """Return what frames are to be pulled to, given a path q, (T, nq), through all of them."""
    loose, asked = np.zeros((len(q), recording.skeleton.nv), dtype=bool), recording.targets
    frames = np.flatnonzero(~recording.seen.all(axis=1))
    share = lost_share(recording.seen[frames], info)
    loose[frames] = share > SOLID
    share = share[loose[frames].any(axis=1)]
    frames = np.flatnonzero(loose.any(axis=1))
    course = _course(recording, q, loose)[frames] if len(frames) > 0 else q[:0]
    pull = PULL * info.sum(axis=0) * share**2 * loose[frames]
    return Postures(
        *(recording.skeleton, asked.rest[0], asked.rest_weight[0], frames, course, pull, loose)
    )


def solve_gap_frames(
    recording: TrackingProblem,
    options: Array,
    path: FrameSolutions,
    postures: Postures,
    threads: int,
) -> None:
    """Solve the frames that have a course of their own again, from there."""
    skeleton, which = recording.skeleton, postures.frames

    def solve(k: int) -> None:
        part, course = which[k : k + AT_ONCE], postures.course[k : k + AT_ONCE]
        rest, firm = postures.of(part)
        own = postures.loose[part] * skeleton.difference(course, path.q[part])
        asked = recording.with_targets(rest=rest, rest_weight=firm).select(part)
        start = skeleton.integrate(path.q[part], own)
        path.q[part], path.outcomes[part] = solve_frames(
            asked, options, np.arange(len(part)), start
        )
        recording.copy_robust_weights(part, asked)

    run_in_threads(threads, solve, range(0, len(which), AT_ONCE))


def _course(recording: TrackingProblem, q: Array, loose: BoolArray) -> Array:
    """Return q, (T, nq), with every loose stretch of a dof drawn straight from side to side."""
    out, times = q.copy(), np.arange(len(q))
    skeleton = recording.skeleton
    for i, j in enumerate(skeleton.plain_q):
        if j >= 0 and loose[:, i].any() and not loose[:, i].all():
            own = ~loose[:, i]
            out[:, j] = np.interp(times, times[own], q[own, j])
    for bone, j in skeleton.quaternions:
        end = int(skeleton.tree.first_v[skeleton.bone_index(bone) + 2])
        gone = loose[:, end - 3 : end].any(axis=1)
        if gone.any() and not gone.all():
            for a in range(j, j + 4):
                out[:, a] = np.interp(times, times[~gone], q[~gone, a])
            size = np.linalg.norm(out[:, j : j + 4], axis=1, keepdims=True)
            out[:, j : j + 4] /= np.maximum(size, 1e-9)
    return out
