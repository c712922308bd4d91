"""What a fault of a marker moves: the change of each dof for a marker that is off.

A marker that is moved by f moves the minimum by (docs/maths.md §15)

    dq = A⁻¹ Jᵀ w f ,    A = Σ w JᵀJ + P ,

and what is left of f at the marker is the error e = (1 − J A⁻¹ Jᵀ w) f. So an error that was found
tells which fault it comes of, but for directions in which the figure follows the marker. In the
frame of its bone this changes little from pose to pose, so that some poses are enough.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from exactik.model.motion import choose_even_frames
from exactik.recordings.tracking import UNKNOWN_SD
from exactik.typing import Array, IntArray

if TYPE_CHECKING:
    from exactik.recordings.tracking import Track

POSES = 16  # over which the influence is averaged
MAX_HIDDEN = 0.9  # share of a fault that the figure may hide: beyond it an error tells nothing


class MarkerInfluence(NamedTuple):
    """What faults of markers move, at some poses; directions are those of the marker's bone."""

    frames: IntArray  # of these poses, (k,)
    shift: Array  # of each dof for a fault along each axis [rad/m or 1], (k, M, nv, 3)
    hidden: Array  # what the figure hides of a fault, (k, M, 3, 3)

    def measure_shift(self, marker: int, fault: Array) -> Array:
        """Return by how much a fault of a marker (3,) [m, bone] moves each dof, (nv,)."""
        return np.abs(self.shift[:, marker] @ fault).mean(axis=0)

    def estimate_fault(self, marker: int, error: Array) -> Array:
        """Return the fault (3,) [m, bone] of which a marker's error (3,) [m, bone] is left."""
        left = np.eye(3) - MAX_HIDDEN * self.hidden[:, marker].mean(axis=0)
        return np.linalg.solve(left, error)


def measure_influence(track: Track, frames: slice) -> MarkerInfluence:
    """Return what faults of the markers of a track move, by poses spread over some of its frames.

    Dofs that a limit or a lock holds do not move.
    """
    problem, count, nv = track.problem, len(track.names), track.skeleton.nv
    chosen = np.arange(len(track))[frames]
    chosen = chosen[choose_even_frames(len(chosen), POSES)]
    weight = np.asarray(problem.targets.weight)
    shift, hidden = np.zeros((len(chosen), count, nv, 3)), np.zeros((len(chosen), count, 3, 3))
    rest_weight = np.asarray(problem.targets.rest_weight).mean(axis=0)
    prior = rest_weight + (max(track.sigma, 1e-6) / UNKNOWN_SD) ** 2
    q, seen, at_limits = np.asarray(track.motion.q), problem.seen, track.at_limits
    R_world_bone = find_marker_rotations(track, chosen)
    for k, t in enumerate(chosen):
        J = problem.frame_problem.jacobian(q[t])[: 3 * count].reshape(count, 3, -1)
        J = np.where(problem.frame_problem.locked | at_limits[t], 0.0, J)
        J = np.swapaxes(R_world_bone[k], 1, 2) @ J
        weighted = (weight * seen[t])[:, None, None] * J
        A = np.tensordot(weighted, J, axes=((0, 1), (0, 1))) + np.diag(prior)
        moved = np.linalg.solve(A, (weight[:, None, None] * J).reshape(3 * count, -1).T)
        moved = np.swapaxes(moved.reshape(nv, count, 3), 0, 1)
        own = J @ moved
        # A marker that is missing here would be one more: (A + w JᵀJ)⁻¹ by Woodbury's identity.
        with_it = np.linalg.inv(np.eye(3) + (~seen[t])[:, None, None] * own)
        shift[k], hidden[k] = moved @ with_it, own @ with_it
    return MarkerInfluence(chosen, shift, hidden)


def find_marker_rotations(track: Track, frames: IntArray) -> Array:
    """Return R_world_bone of the bone of each marker in some frames, (n, M, 3, 3)."""
    skeleton = track.skeleton
    bones = [skeleton.bone_index(skeleton.marker(name)[0]) for name in track.names]
    return skeleton.forward(np.asarray(track.motion.q)[frames]).rotations[:, bones]
