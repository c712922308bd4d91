"""Frames in which some joints have lost their markers.

Each marker determines the dofs above it. Where a dof has lost much of what determines it, its own
course from before to after the gap stands in: the frame is solved again with a pull towards it,
stronger the more is lost. What still can be seen pulls as ever.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from exactik.mocap._passes import Path, in_threads, try_starts
from exactik.mocap._recording import Recording

__all__ = ["fill_gaps", "information", "lost_share"]

Array = NDArray[np.float64]

SOLID = 0.3  # share that a dof may lose and still go by its markers alone
PULL = 0.3  # of the curvature that was lost
SAMPLES = 24  # poses over which information is averaged
AT_ONCE = 2048


def information(recording: Recording, q: Array) -> Array:
    """Return what every marker says about every dof, w |∂x/∂v|² on average over poses, (M, nv)."""
    count = len(recording.names)
    total = np.zeros((count, recording.skeleton.nv))
    chosen = np.unique(np.linspace(0, len(q) - 1, min(SAMPLES, len(q))).astype(int))
    for pose in q[chosen]:
        J = recording.problem.jacobian(pose)[: 3 * count]
        total += (J**2).reshape(count, 3, -1).sum(axis=1)
    return recording.frames.weight[:, None] * total / max(len(chosen), 1)


def lost_share(recording: Recording, info: Array) -> Array:
    """Return how much of what determines each dof is missing in each frame, 0 to 1, (T, nv)."""
    lost = (~recording.seen).astype(float) @ info
    whole = info.sum(axis=0)
    return np.divide(lost, whole, out=np.zeros_like(lost), where=whole > 0.0)


def fill_gaps(
    recording: Recording,
    options: Array,
    path: Path,
    info: Array,
    threads: int,
) -> NDArray[np.bool_]:
    """Solve frames with gaps again; return which dofs went by their course, (T, nv)."""
    share = lost_share(recording, info)
    loose = share > SOLID
    which = np.flatnonzero(loose.any(axis=1))
    if len(which) == 0:
        return loose
    course = _course(recording, path.q, loose)
    frames, firm = recording.frames, recording.tie * float(recording.frames.weight.mean())
    whole = info.sum(axis=0)

    def solve(part: NDArray[np.int64]) -> None:
        pull = PULL * whole * share[part] ** 2 * loose[part]
        total = pull + firm
        ratio = np.divide(pull, total, out=np.zeros_like(pull), where=total > 0.0)
        skeleton, neutral = recording.skeleton, frames.rest[:1]
        rest = skeleton.integrate(
            np.repeat(neutral, len(part), 0), ratio * skeleton.difference(course[part], neutral)
        )
        start = skeleton.integrate(
            path.q[part], loose[part] * skeleton.difference(course[part], path.q[part])
        )
        asked = recording.asking(rest=rest, rest_weight=total).at(part)
        found = try_starts(asked, options, np.arange(len(part)), start)
        path.q[part] = found.q
        path.found[part] = found.found
        recording.keep_weights(part, asked)

    in_threads(threads, solve, [which[k : k + AT_ONCE] for k in range(0, len(which), AT_ONCE)])
    return loose


def _course(recording: Recording, q: Array, loose: NDArray[np.bool_]) -> Array:
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
