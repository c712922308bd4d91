"""A figure as many copies of one limb and one ball: all that changes is where they are."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactik.model import Pose, Skeleton
from exactik.spatial import rotation_taking_z_to, wxyz_from_matrix
from exactik.typing import Array, BoolArray, IntArray
from exactik.viewer.posing._handles import head_of, reach_of, tip_of

__all__ = [
    "BALL",
    "LIMB",
    "Balls",
    "Mesh",
    "Segments",
    "balls_at",
    "balls_of",
    "limbs_at",
    "segments_of",
]


SLIM = 0.2  # half the width of a limb over its length
THICKEST, THINNEST = 0.032, 0.007  # of the figure's reach
KNOB = 0.7  # size of a joint over half the width of the widest limb there
# Height and half width of a limb: round at both ends, thickest at a quarter.
OUTLINE = (
    *((0.01, 0.45), (0.05, 0.75), (0.13, 0.95), (0.25, 1.0), (0.45, 0.9), (0.7, 0.72)),
    *((0.88, 0.6), (0.96, 0.45), (0.99, 0.22)),
)
SHORTEST = 0.01  # of the figure's reach: shorter pieces are not drawn


class Mesh(NamedTuple):
    """A closed surface."""

    vertices: NDArray[np.float32]  #  (n, 3)
    faces: NDArray[np.uint32]  #      (m, 3)


def _limb(sides: int = 12) -> Mesh:
    """Return a rounded limb from the origin to (0, 0, 1), widest near its foot, of radius 1."""
    angles = 2.0 * np.pi * np.arange(sides) / sides
    circle = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    rings = [np.column_stack([width * circle, np.full(sides, height)]) for height, width in OUTLINE]
    vertices = np.concatenate([[(0.0, 0.0, 0.0)], *rings, [(0.0, 0.0, 1.0)]])
    here, then = np.arange(sides), (np.arange(sides) + 1) % sides
    top, last = len(vertices) - 1, 1 + sides * (len(OUTLINE) - 1)
    faces = [np.stack([np.zeros(sides, int), 1 + then, 1 + here], axis=1)]
    for low in range(1, last, sides):
        faces.append(np.stack([low + here, low + then, low + sides + here], axis=1))
        faces.append(np.stack([low + then, low + sides + then, low + sides + here], axis=1))
    faces.append(np.stack([np.full(sides, top), last + here, last + then], axis=1))
    return Mesh(vertices.astype(np.float32), np.concatenate(faces).astype(np.uint32))


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


LIMB, BALL = _limb(), _ball()


class Segments(NamedTuple):
    """Pieces of a figure, each rigid with a bone.

    Attributes:
        bone: index of the bone of each piece, (n,).
        turn: rotation of the limb in the bone's frame, (n, 3, 3).
        scale: width, width and length [m], (n, 3).
    """

    bone: IntArray
    turn: Array
    scale: Array


def segments_of(skeleton: Skeleton) -> Segments:
    """Return a piece from every bone's origin to those of its children, and to its tip."""
    reach = reach_of(skeleton)
    ends: list[tuple[int, Array]] = []
    for k, bone in enumerate(skeleton.bones):
        children = [np.array(child.offset) for child in skeleton.bones if child.parent == bone.name]
        if len(children) == 0:
            head = head_of(skeleton, bone.name)  # a neck leads to its middle
            children = [np.array(tip_of(skeleton, bone.name)) if head is None else head[0]]
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


def limbs_at(segments: Segments, pose: Pose) -> tuple[Array, Array]:
    """Return positions (n, 3) [m] and quaternions wxyz (n, 4) of the pieces in a pose."""
    turned = pose.rotations[segments.bone] @ segments.turn
    return pose.positions[segments.bone], wxyz_from_matrix(turned)


class Balls(NamedTuple):
    """Joints and heads, each rigid with a bone.

    Attributes:
        bone: index of the bone of each, (n,).
        point: its middle in the bone's frame [m], (n, 3).
        size: its radius [m], (n,).
        head: whether it is part of the body rather than a joint, (n,).
    """

    bone: IntArray
    point: Array
    size: Array
    head: BoolArray


def balls_of(skeleton: Skeleton, segments: Segments) -> Balls:
    """Return a ball at the origin of every bone that is drawn, and at the markers of a head."""
    found: list[tuple[int, Array, float, bool]] = []
    for k, bone in enumerate(skeleton.bones):
        widths = segments.scale[segments.bone == k, 0]
        if len(widths) > 0:
            found.append((k, np.zeros(3), KNOB * float(widths.max()), False))
        head = head_of(skeleton, bone.name)
        if head is not None:
            found.append((k, *head, True))
    bones, places, sizes, heads = zip(*found, strict=True) if found else ((), (), (), ())
    return Balls(
        np.array(bones, dtype=np.int64),
        np.array(places).reshape(-1, 3),
        np.array(sizes),
        np.array(heads, dtype=bool),
    )


def balls_at(balls: Balls, pose: Pose) -> Array:
    """Return the middles of the balls in a pose [m, world], (n, 3)."""
    arms = np.einsum("nij,nj->ni", pose.rotations[balls.bone], balls.point)
    return pose.positions[balls.bone] + arms
