"""What a fault of a marker moves: the change of each dof for a marker that is off.

A marker that is moved by f moves the minimum by (docs/maths.md §15)

    dq = A⁻¹ Jᵀ w f ,    A = Σ w JᵀJ + P ,

and what is left of f at the marker is (1 − J A⁻¹ Jᵀ w) f. So an error e that was found tells of a
fault of e / (1 − p) with p, the mean of the diagonal of J A⁻¹ Jᵀ w: a marker that is alone on its
bone draws it along and hides most of its fault. Both are means over some poses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from exactik.model.motion import choose_even_frames
from exactik.recordings.tracking import UNKNOWN_SD
from exactik.typing import Array

if TYPE_CHECKING:
    from exactik.recordings.tracking import Track

POSES = 16  # over which the influence is averaged
MAX_HIDDEN = 0.9  # share of a fault that the figure may follow: beyond it an error tells nothing


class MarkerInfluence(NamedTuple):
    """What faults of markers move.

    Attributes:
        shift: of each dof at most, for each marker that is off by a metre [rad/m or 1], (M, nv).
        hidden: share of a fault that the figure follows, so that no error shows it, (M,).
    """

    shift: Array
    hidden: Array

    def estimate_fault(self, marker: int, error: float) -> float:
        """Return by how much a marker is off [m] of which an error is left [m]."""
        return error / (1.0 - min(float(self.hidden[marker]), MAX_HIDDEN))


def measure_influence(track: Track, frames: slice) -> MarkerInfluence:
    """Return what faults of the markers of a track move, by poses spread over some of its frames.

    Dofs that a limit or a lock holds do not move.
    """
    problem, count = track.problem, len(track.names)
    chosen = np.arange(len(track))[frames]
    chosen = chosen[choose_even_frames(len(chosen), POSES)]
    weight = np.asarray(problem.targets.weight)
    shift, hidden = np.zeros((count, track.skeleton.nv)), np.zeros(count)
    rest_weight = np.asarray(problem.targets.rest_weight).mean(axis=0)
    prior = rest_weight + (max(track.sigma, 1e-6) / UNKNOWN_SD) ** 2
    q, seen, at_limits = np.asarray(track.motion.q), problem.seen, track.at_limits
    for t in chosen:
        J = problem.frame_problem.jacobian(q[t])[: 3 * count].reshape(count, 3, -1)
        J = np.where(problem.frame_problem.locked | at_limits[t], 0.0, J)
        weighted = (weight * seen[t])[:, None, None] * J
        A = np.tensordot(weighted, J, axes=((0, 1), (0, 1))) + np.diag(prior)
        moved = np.linalg.solve(A, (weight[:, None, None] * J).reshape(3 * count, -1).T)
        moved = moved.reshape(-1, count, 3)
        shift += np.linalg.norm(moved, axis=2).T
        hidden += np.einsum("mid,dmi->m", J, moved) / 3.0
    return MarkerInfluence(shift / max(len(chosen), 1), hidden / max(len(chosen), 1))
