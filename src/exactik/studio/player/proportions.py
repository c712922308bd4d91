"""Sizes of a figure that drawing and dragging measure by: its reach, its heads, its bones' tips."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from exactik.model import Skeleton
from exactik.typing import Array

Point = tuple[float, float, float]

TIP_MARKER_SHARE = 0.8  # of the farthest marker's distance: markers beyond make the tip together
MIN_HEAD_MARKERS = 3  # around a bone without children: it is a head
HEAD_RADIUS_SHARE = 0.9  # radius of a head over the mean distance of its markers from their middle


def compute_reach(skeleton: Skeleton) -> float:
    """Return the length of the longest chain [m], from its root; what "far" means for a figure."""
    longest = 0.0
    lengths = np.linalg.norm(skeleton.rest_offsets, axis=1)
    tips = {bone: np.array(point) for bone, point in skeleton.markers.values()}
    for chain in skeleton.chains():
        end = float(np.linalg.norm(tips.get(chain[-1], np.zeros(3))))
        length = sum(float(lengths[skeleton.bone_index(bone)]) for _, bone in pairwise(chain))
        longest = max(longest, end + length)
    return longest if longest > 1e-6 else 1.0


def fit_head_sphere(skeleton: Skeleton, bone: str) -> tuple[Array, float] | None:
    """Return the centre [m, bone], (3,), and the radius [m] of a bone that is a head, else None.

    A head has markers all around and no children.
    """
    points = _marker_points(skeleton, bone)
    if len(points) < MIN_HEAD_MARKERS or any(child.parent == bone for child in skeleton.bones):
        return None
    middle = points.mean(axis=0)
    return middle, HEAD_RADIUS_SHARE * float(np.linalg.norm(points - middle, axis=1).mean())


def find_tip(skeleton: Skeleton, bone: str) -> Point:
    """Return the end of a bone [m, bone]: the middle of its outermost markers, the top of a head.

    The nose of a head with a muzzle; the bone's origin if it has no markers.
    """
    points = _marker_points(skeleton, bone)
    if len(points) == 0:
        return (0.0, 0.0, 0.0)
    distances, head = np.linalg.norm(points, axis=1), fit_head_sphere(skeleton, bone)
    above = 0.0 if head is None else float(np.linalg.norm(head[0]))
    if head is not None and above > 0.0 and above + head[1] > distances.max():
        x, y, z = (head[0] * (1.0 + head[1] / above)).tolist()
    else:
        outermost = distances >= TIP_MARKER_SHARE * distances.max()
        x, y, z = points[outermost].mean(axis=0).tolist()
    return (x, y, z)


def _marker_points(skeleton: Skeleton, bone: str) -> Array:
    return np.array([p for b, p in skeleton.markers.values() if b == bone]).reshape(-1, 3)
