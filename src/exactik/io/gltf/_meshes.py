"""Meshes of bones and markers: an octahedron from each bone to each of its children.

Faces are shaded flat, so that no two of them share a vertex, and each vertex has the normal of its
face. A bone without children ends in a shorter octahedron, and a marker is a small regular one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from exactik.model import Pose, Skeleton
from exactik.typing import Array, IntArray

__all__ = ["make_bone_mesh", "make_marker_mesh", "make_octahedron", "measure_figure"]

# Where along its length an octahedron is widest, and how far it reaches to each side there.
WAIST_FRACTION = 0.1
TIP_FRACTION = 0.6  # length of the last bone of a chain, relative to the one before it
MIN_BONE_FRACTION = 0.02  # of the figure's size: shorter bones would not be seen


def make_octahedron(start: ArrayLike, end: ArrayLike, waist: float = WAIST_FRACTION) -> Array:
    """Return the triangles of an octahedron, (8, 3, 3), counter-clockwise from outside.

    Args:
        start: one end [m], (3,).
        end: the other one [m], (3,), somewhere else.
        waist: where along it it is widest, and how far it reaches to each side there, as parts of
            its length; one half makes it regular.
    """
    start, end = np.asarray(start, dtype=float), np.asarray(end, dtype=float)
    along = end - start
    length = float(np.linalg.norm(along))
    # Any perpendicular direction will do; the axis furthest from the bone is well conditioned.
    side = np.cross(along, np.eye(3)[int(np.argmin(np.abs(along)))])
    side *= length * waist / np.linalg.norm(side)
    across = np.cross(along, side) / length
    ring = [start + waist * along + d for d in (side, across, -side, -across)]
    faces = []
    for a, b in zip(ring, [*ring[1:], ring[0]], strict=True):
        faces += [(start, b, a), (end, a, b)]
    return np.array(faces)


def compute_normals(triangles: Array) -> Array:
    """Return the unit normal of each corner, (n, 3, 3), of triangles (n, 3, 3)."""
    normals = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    return np.repeat(normals[:, None], 3, axis=1)


def make_bone_mesh(skeleton: Skeleton, pose: Pose) -> tuple[Array, Array, IntArray]:
    """Return the figure in one pose.

    Args:
        skeleton: the figure.
        pose: where its bones are, one pose.

    Returns:
        Vertices [m] and normals, (n, 3), three in a row for a triangle, and the bone that carries
        each vertex, (n,).
    """
    p_world = pose.positions
    shortest = MIN_BONE_FRACTION * measure_figure(pose)
    octahedra: list[Array] = []
    owners: list[int] = []
    inner = set()
    for k, parent in enumerate(skeleton.parents.tolist()):
        if parent >= 0:
            inner.add(parent)
            if np.linalg.norm(p_world[k] - p_world[parent]) > shortest:
                octahedra.append(make_octahedron(p_world[parent], p_world[k]))
                owners.append(parent)
    for k, parent in enumerate(skeleton.parents.tolist()):
        if k not in inner:
            along = TIP_FRACTION * (p_world[k] - p_world[parent]) if parent >= 0 else np.zeros(3)
            if np.linalg.norm(along) < shortest:  # at its parent's origin: along the bone's z
                along = 2.0 * shortest * pose.rotations[k, :, 2]
            octahedra.append(make_octahedron(p_world[k], p_world[k] + along))
            owners.append(k)
    triangles = np.concatenate(octahedra)
    bones = np.repeat(np.array(owners), 24)
    return triangles.reshape(-1, 3), compute_normals(triangles).reshape(-1, 3), bones


def make_marker_mesh(size: float) -> tuple[Array, Array]:
    """Return vertices and normals of an octahedron about the origin, `size` across [m]."""
    triangles = make_octahedron((0.0, 0.0, -0.5 * size), (0.0, 0.0, 0.5 * size), waist=0.5)
    return triangles.reshape(-1, 3), compute_normals(triangles).reshape(-1, 3)


def measure_figure(pose: Pose) -> float:
    """Return the largest extent of a figure in one pose [m], its markers included; never zero."""
    points = np.concatenate([pose.positions, pose.markers])
    extent = float(np.ptp(points, axis=0).max())
    return extent if extent > 1e-6 else 1.0
