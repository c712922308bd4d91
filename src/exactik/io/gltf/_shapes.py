"""Bones to look at: an octahedron from each bone to each of its children.

Flat triangles, so every corner of every face is a vertex of its own and carries the normal of its
face. A bone without children ends in a shorter one, and a marker is a small regular one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from exactik.model import Pose, Skeleton
from exactik.typing import Array, IntArray

__all__ = ["bone_mesh", "figure_size", "marker_mesh", "octahedron"]

WAIST = 0.1  # of the length: where an octahedron is widest, and how wide it is to each side
TIP = 0.6  # length of the last bone of a chain, of the one before it
SMALLEST = 0.02  # of the figure's size: what is shorter is no bone to look at


def octahedron(start: ArrayLike, end: ArrayLike, waist: float = WAIST) -> Array:
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
    # Any direction across will do; the axis furthest from the bone gives a good one.
    side = np.cross(along, np.eye(3)[int(np.argmin(np.abs(along)))])
    side *= length * waist / np.linalg.norm(side)
    across = np.cross(along, side) / length
    ring = [start + waist * along + d for d in (side, across, -side, -across)]
    faces = []
    for a, b in zip(ring, [*ring[1:], ring[0]], strict=True):
        faces += [(start, b, a), (end, a, b)]
    return np.array(faces)


def normals_of(triangles: Array) -> Array:
    """Return the unit normal of each corner, (n, 3, 3), of triangles (n, 3, 3)."""
    normals = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    return np.repeat(normals[:, None], 3, axis=1)


def bone_mesh(skeleton: Skeleton, pose: Pose) -> tuple[Array, Array, IntArray]:
    """Return the figure in one pose.

    Args:
        skeleton: the figure.
        pose: where its bones are, one pose.

    Returns:
        Vertices [m] and normals, (n, 3), three in a row for a triangle, and the bone that carries
        each vertex, (n,).
    """
    at = pose.positions
    size = figure_size(pose)
    shapes: list[Array] = []
    owners: list[int] = []
    carrying = set()
    for k, parent in enumerate(skeleton.parents.tolist()):
        if parent >= 0:
            carrying.add(parent)
            if np.linalg.norm(at[k] - at[parent]) > SMALLEST * size:
                shapes.append(octahedron(at[parent], at[k]))
                owners.append(parent)
    for k, parent in enumerate(skeleton.parents.tolist()):
        if k not in carrying:
            along = TIP * (at[k] - at[parent]) if parent >= 0 else np.zeros(3)
            if np.linalg.norm(along) < SMALLEST * size:  # beside its parent: points its own way
                along = 2.0 * SMALLEST * size * pose.rotations[k, :, 2]
            shapes.append(octahedron(at[k], at[k] + along))
            owners.append(k)
    triangles = np.concatenate(shapes)
    bones = np.repeat(np.array(owners), 24)
    return triangles.reshape(-1, 3), normals_of(triangles).reshape(-1, 3), bones


def marker_mesh(size: float) -> tuple[Array, Array]:
    """Return vertices and normals of an octahedron about the origin, `size` across [m]."""
    triangles = octahedron((0.0, 0.0, -0.5 * size), (0.0, 0.0, 0.5 * size), waist=0.5)
    return triangles.reshape(-1, 3), normals_of(triangles).reshape(-1, 3)


def figure_size(pose: Pose) -> float:
    """Return the largest extent of a figure in one pose [m], its markers included; never zero."""
    points = np.concatenate([pose.positions, pose.markers])
    extent = float(np.ptp(points, axis=0).max())
    return extent if extent > 1e-6 else 1.0
