"""The shapes that robots are described with: boxes, cylinders, spheres, capsules."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from exactik.typing import Array
from exactik.visuals._mesh import Mesh

__all__ = ["make_box", "make_capsule", "make_cylinder", "make_sphere"]

CACHED_SHAPES = 256  # robots of primitives have many that are alike; decides nothing else
SIDES = 32  # of what is round
RINGS = 16  # from pole to pole


@lru_cache(maxsize=CACHED_SHAPES)
def make_box(size: tuple[float, float, float]) -> Mesh:
    """Return a box about the origin, of these lengths along x, y and z [m]."""
    vertices, normals, faces = [], [], []
    for axis in range(3):
        for sign in (1.0, -1.0):
            normal = sign * np.eye(3)[axis]
            u = np.eye(3)[(axis + 1) % 3]
            v = np.cross(normal, u)
            corners = [normal + a * u + b * v for a, b in ((-1, -1), (1, -1), (1, 1), (-1, 1))]
            first = len(vertices)
            vertices += corners
            normals += [normal] * 4
            faces += [(first, first + 1, first + 2), (first, first + 2, first + 3)]
    return Mesh(0.5 * np.array(size) * np.array(vertices), np.array(faces), np.array(normals))


@lru_cache(maxsize=CACHED_SHAPES)
def make_cylinder(radius: float, length: float) -> Mesh:
    """Return a cylinder about the origin, along z [m]."""
    angles = 2.0 * np.pi * np.arange(SIDES) / SIDES
    circle = np.stack([np.cos(angles), np.sin(angles), np.zeros(SIDES)], axis=1)
    up, half = np.array([0.0, 0.0, 1.0]), 0.5 * length
    vertices = [radius * circle + sign * half * up for sign in (-1.0, 1.0)] * 2
    normals = [circle, circle, np.tile(-up, (SIDES, 1)), np.tile(up, (SIDES, 1))]
    side, following = np.arange(SIDES), (np.arange(SIDES) + 1) % SIDES
    faces = [
        np.stack([side, following, SIDES + following], axis=1),
        np.stack([side, SIDES + following, SIDES + side], axis=1),
    ]
    inner = np.arange(1, SIDES - 1)
    bottom, top = 2 * SIDES, 3 * SIDES
    faces.append(
        np.stack([np.full(len(inner), bottom), bottom + inner + 1, bottom + inner], axis=1)
    )
    faces.append(np.stack([np.full(len(inner), top), top + inner, top + inner + 1], axis=1))
    return Mesh(np.concatenate(vertices), np.concatenate(faces), np.concatenate(normals))


def make_sphere(radius: float) -> Mesh:
    """Return a sphere about the origin [m]."""
    return make_capsule(radius, 0.0)


@lru_cache(maxsize=CACHED_SHAPES)
def make_capsule(radius: float, length: float) -> Mesh:
    """Return a cylinder of this length [m] along z with half a sphere at both ends."""
    polar = np.linspace(0.0, np.pi, RINGS + 1)
    # The ring of the equator is there twice: the cylinder lies between.
    rings = np.concatenate([polar[: RINGS // 2 + 1], polar[RINGS // 2 :]])
    shift = np.where(np.arange(len(rings)) <= RINGS // 2, 0.5, -0.5) * length
    azimuth = 2.0 * np.pi * np.arange(SIDES + 1) / SIDES
    lat, lon = np.meshgrid(rings, azimuth, indexing="ij")
    normals: Array = np.stack(
        [np.sin(lat) * np.cos(lon), np.sin(lat) * np.sin(lon), np.cos(lat)], axis=-1
    )
    vertices = radius * normals
    vertices[..., 2] += shift[:, None]
    columns = SIDES + 1
    ring, side = np.meshgrid(np.arange(len(rings) - 1), np.arange(SIDES), indexing="ij")
    a = (ring * columns + side).ravel()
    below = np.stack([a, a + columns, a + columns + 1], axis=1)
    above = np.stack([a, a + columns + 1, a + 1], axis=1)
    return Mesh(vertices.reshape(-1, 3), np.concatenate([below, above]), normals.reshape(-1, 3))
