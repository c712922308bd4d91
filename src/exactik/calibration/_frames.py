"""Which frames of a recording to calibrate on, and which of them look alike."""

from __future__ import annotations

import numpy as np

from exactik.errors import UsageError
from exactik.motion import Markers
from exactik.spatial import fit_rigid_transforms
from exactik.typing import Array, IntArray

__all__ = [
    "align_shapes",
    "choose_diverse_frames",
    "find_similar_frames",
]


MAX_CANDIDATES = 2400  # frames among which to choose: every pair of shapes is compared
MIN_SEEN_SHARE = 0.7  # of the most markers that any frame has, which a frame must have


def align_shapes(positions: Array) -> Array:
    """Return the markers of each frame, aligned rigidly with one of the frames.

    Args:
        positions: [m], (F, M, 3), not a number where missing.

    Returns:
        The same [m], (F, M, 3), with the mean of the other frames where a marker is missing.
    """
    seen = ~np.isnan(positions[:, :, 0])
    filled = np.where(seen[..., None], positions, 0.0)
    first = int(np.argmax(seen.sum(axis=1)))
    reference, weight, shapes = filled[first], seen & seen[first], filled
    for _ in range(2):  # to that frame, then to the mean shape
        target = np.broadcast_to(reference, filled.shape)
        rigid = fit_rigid_transforms(filled, target, weight.astype(float))
        centred = filled - rigid.source_center[:, None]
        shapes = np.einsum("fij,fmj->fmi", rigid.rotation, centred) + rigid.target_center[:, None]
        counts = np.maximum(seen.sum(axis=0), 1)[:, None]
        reference, weight = np.where(seen[..., None], shapes, 0.0).sum(axis=0) / counts, seen
    return np.where(seen[..., None], shapes, reference)


def choose_diverse_frames(markers: Markers, count: int) -> IntArray:
    """Return the numbers of frames whose poses differ most, (n,) in the order of time.

    From the frame with the most ordinary shape on, the one farthest from all that are chosen is
    added, so that rare poses come in and the many that are alike do not.
    """
    seen = (~markers.missing).sum(axis=1)
    enough = np.flatnonzero(seen >= max(MIN_SEEN_SHARE * seen.max(initial=0), 3))
    if len(enough) == 0:
        raise UsageError(
            f"no frame has three of the markers that are known, {len(markers.names)} in all; "
            "calibration needs them"
        )
    stride = -(-len(enough) // MAX_CANDIDATES)
    candidates = enough[::stride]
    if len(candidates) <= count:
        return candidates
    shapes = align_shapes(markers.positions[candidates]).reshape(len(candidates), -1)
    median_shape = np.median(shapes, axis=0)
    chosen = [int(np.argmin(((shapes - median_shape) ** 2).sum(axis=1)))]
    distances = np.full(len(candidates), np.inf)
    while len(chosen) < count:
        distances = np.minimum(distances, _mean_distance(shapes, shapes[chosen[-1]]))
        chosen.append(int(np.argmax(distances)))
    return candidates[np.sort(chosen)]


def _mean_distance(shapes: Array, reference: Array) -> Array:
    """Return the mean distance of the markers of shapes, (F, 3 M), from a reference [m], (F,)."""
    difference = (shapes - reference).reshape(len(shapes), -1, 3)
    return np.sqrt((difference**2).sum(axis=2)).mean(axis=1)


def find_similar_frames(shapes: Array, count: int) -> IntArray:
    """Return the frames whose shapes, (F, M, 3), are nearest to each, (F, count)."""
    flat = shapes.reshape(len(shapes), -1)
    distances = np.array([_mean_distance(flat, shape) for shape in flat])
    np.fill_diagonal(distances, np.inf)
    return np.argsort(distances, axis=1, kind="stable")[:, : min(count, len(shapes) - 1)]
