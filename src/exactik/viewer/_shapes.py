"""A figure as many copies of one spindle and one ball: all that changes is where they are."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactik.model import Pose, Skeleton
from exactik.spatial import rotation_taking_z_to, wxyz_from_matrix
from exactik.viewer._handles import reach_of, tip_of

__all__ = ["BALL", "SPINDLE", "Segments", "segments_of", "spindles_at"]

Array = NDArray[np.float64]

SLIM = 0.18  # width of a spindle over its length
THICKEST, THINNEST = 0.028, 0.006  # of the figure's reach
SHORTEST = 0.01  # of the figure's reach: shorter pieces are not drawn


class Mesh(NamedTuple):
    """A closed surface."""

    vertices: NDArray[np.float32]  #  (n, 3)
    faces: NDArray[np.uint32]  #      (m, 3)


def _spindle(sides: int = 8, waist: float = 0.22) -> Mesh:
    """Return a double cone from the origin to (0, 0, 1), widest near its foot, of radius 1."""
    angles = 2.0 * np.pi * np.arange(sides) / sides
    ring = np.stack([np.cos(angles), np.sin(angles), np.full(sides, waist)], axis=1)
    vertices = np.concatenate([[(0.0, 0.0, 0.0)], ring, [(0.0, 0.0, 1.0)]])
    here, then = 1 + np.arange(sides), 1 + (np.arange(sides) + 1) % sides
    foot = np.stack([np.zeros(sides, int), then, here], axis=1)
    tip = np.stack([np.full(sides, sides + 1), here, then], axis=1)
    return Mesh(vertices.astype(np.float32), np.concatenate([foot, tip]).astype(np.uint32))


def _ball(rings: int = 8, sides: int = 12) -> Mesh:
    """Return a sphere of radius 1."""
    down, around = np.linspace(0.0, np.pi, rings + 1), 2.0 * np.pi * np.arange(sides) / sides
    lat, lon = np.meshgrid(down, around, indexing="ij")
    points = np.stack([np.sin(lat) * np.cos(lon), np.sin(lat) * np.sin(lon), np.cos(lat)], axis=-1)
    faces = []
    for i in range(rings):
        for j in range(sides):
            a, b = i * sides + j, i * sides + (j + 1) % sides
            faces += [(a, a + sides, b), (b, a + sides, b + sides)]
    return Mesh(points.reshape(-1, 3).astype(np.float32), np.array(faces, dtype=np.uint32))


SPINDLE, BALL = _spindle(), _ball()


class Segments(NamedTuple):
    """Pieces of a figure, each rigid with a bone.

    Attributes:
        bone: index of the bone of each piece, (n,).
        turn: rotation of the spindle in the bone's frame, (n, 3, 3).
        scale: width, width and length [m], (n, 3).
    """

    bone: NDArray[np.int64]
    turn: Array
    scale: Array


def segments_of(skeleton: Skeleton) -> Segments:
    """Return a piece from every bone's origin to those of its children, and to its tip."""
    reach = reach_of(skeleton)
    ends: list[tuple[int, Array]] = []
    for k, bone in enumerate(skeleton.bones):
        children = [np.array(child.offset) for child in skeleton.bones if child.parent == bone.name]
        if len(children) == 0:
            children = [np.array(tip_of(skeleton, bone.name))]
        ends += [(k, end) for end in children if np.linalg.norm(end) > SHORTEST * reach]
    if len(ends) == 0:  # something must be there to be seen
        ends = [(k, np.array([0.0, 0.0, 0.1 * reach])) for k in range(len(skeleton.bones))]
    lengths = np.array([float(np.linalg.norm(end)) for _, end in ends])
    width = np.clip(SLIM * lengths, THINNEST * reach, THICKEST * reach)
    return Segments(
        np.array([k for k, _ in ends], dtype=np.int64),
        np.array([rotation_taking_z_to(end / np.linalg.norm(end)) for _, end in ends]),
        np.stack([width, width, lengths], axis=1),
    )


def spindles_at(segments: Segments, pose: Pose) -> tuple[Array, Array]:
    """Return positions (n, 3) [m] and quaternions wxyz (n, 4) of the pieces in a pose."""
    turned = pose.rotations[segments.bone] @ segments.turn
    return pose.positions[segments.bone], wxyz_from_matrix(turned)
