"""A figure as instances of two meshes, a limb and a sphere, of which only the places change."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from exactik.model import Pose, Skeleton
from exactik.model.visuals import Mesh
from exactik.spatial import rotation_taking_z_to, wxyz_from_matrix
from exactik.studio.player.proportions import compute_reach, find_tip, fit_head_sphere
from exactik.typing import Array, BoolArray, IntArray

LIMB_WIDTH_SHARE = 0.2  # half the width of a limb over its length
MAX_LIMB_WIDTH, MIN_LIMB_WIDTH = 0.032, 0.007  # of the figure's reach
JOINT_SHARE = 0.7  # size of a joint over half the width of the widest limb there
# Height and half width of a limb: round at both ends, thickest at a quarter.
LIMB_OUTLINE = (
    (0.01, 0.45),
    (0.05, 0.75),
    (0.13, 0.95),
    (0.25, 1.0),
    (0.45, 0.9),
    (0.7, 0.72),
    (0.88, 0.6),
    (0.96, 0.45),
    (0.99, 0.22),
)
MIN_LIMB_LENGTH = 0.01  # of the figure's reach: shorter pieces are not drawn


def _make_limb_mesh(sides: int = 12) -> Mesh:
    """Return a rounded limb from the origin to (0, 0, 1), widest near its foot, of radius 1."""
    angles = 2.0 * np.pi * np.arange(sides) / sides
    circle = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    rings = [
        np.column_stack([width * circle, np.full(sides, height)]) for height, width in LIMB_OUTLINE
    ]
    vertices = np.concatenate([[(0.0, 0.0, 0.0)], *rings, [(0.0, 0.0, 1.0)]])
    side, following = np.arange(sides), (np.arange(sides) + 1) % sides
    top, last = len(vertices) - 1, 1 + sides * (len(LIMB_OUTLINE) - 1)
    faces = [np.stack([np.zeros(sides, int), 1 + following, 1 + side], axis=1)]
    for low in range(1, last, sides):
        faces.append(np.stack([low + side, low + following, low + sides + side], axis=1))
        faces.append(
            np.stack([low + following, low + sides + following, low + sides + side], axis=1)
        )
    faces.append(np.stack([np.full(sides, top), last + side, last + following], axis=1))
    return Mesh(vertices.astype(np.float32), np.concatenate(faces).astype(np.uint32))


def _make_sphere_mesh(rings: int = 8, sides: int = 12) -> Mesh:
    """Return a sphere of radius 1."""
    polar, azimuth = np.linspace(0.0, np.pi, rings + 1), 2.0 * np.pi * np.arange(sides) / sides
    lat, lon = np.meshgrid(polar, azimuth, indexing="ij")
    points = np.stack([np.sin(lat) * np.cos(lon), np.sin(lat) * np.sin(lon), np.cos(lat)], axis=-1)
    faces = []
    for i in range(rings):
        for j in range(sides):
            a, b = i * sides + j, i * sides + (j + 1) % sides
            faces += [(a, a + sides, b), (b, a + sides, b + sides)]
    return Mesh(points.reshape(-1, 3).astype(np.float32), np.array(faces, dtype=np.uint32))


def _make_diamond_mesh() -> Mesh:
    """Return an octahedron whose corners are 1 from its middle, each face with corners of its own.

    So its edges are seen, and nobody takes it for a sphere.
    """
    x, y, z = np.eye(3)
    faces = [
        (a * x, b * y, c * z) if a * b * c > 0 else (b * y, a * x, c * z)
        for a in (1, -1)
        for b in (1, -1)
        for c in (1, -1)
    ]
    return Mesh(
        np.array(faces, dtype=np.float32).reshape(-1, 3),
        np.arange(3 * len(faces), dtype=np.uint32).reshape(-1, 3),
    )


LIMB_MESH, SPHERE_MESH = _make_limb_mesh(), _make_sphere_mesh()
DIAMOND_MESH = _make_diamond_mesh()


class Limbs(NamedTuple):
    """Limbs of a figure, each rigid with a bone."""

    bone: IntArray  # index of the bone of each limb, (n,)
    R_bone_limb: Array  # rotation of the limb in the bone's frame, (n, 3, 3)
    scale: Array  # width, width and length [m], (n, 3)


def make_limbs(skeleton: Skeleton) -> Limbs:
    """Return a limb from every bone's origin to those of its children, and to its tip."""
    reach = compute_reach(skeleton)
    ends: list[tuple[int, Array]] = []
    for k, bone in enumerate(skeleton.bones):
        children = list(skeleton.rest_offsets[skeleton.parents == k])
        if len(children) == 0:
            head = fit_head_sphere(skeleton, bone.name)  # a neck leads to its middle
            children = [np.array(find_tip(skeleton, bone.name)) if head is None else head[0]]
        ends += [(k, end) for end in children if np.linalg.norm(end) > MIN_LIMB_LENGTH * reach]
    if len(ends) == 0:  # something must be visible
        ends = [(k, np.array([0.0, 0.0, 0.1 * reach])) for k in range(len(skeleton.bones))]
    lengths = np.array([float(np.linalg.norm(end)) for _, end in ends])
    width = np.clip(LIMB_WIDTH_SHARE * lengths, MIN_LIMB_WIDTH * reach, MAX_LIMB_WIDTH * reach)
    return Limbs(
        bone=np.array([k for k, _ in ends], dtype=np.int64),
        R_bone_limb=np.array([rotation_taking_z_to(end / np.linalg.norm(end)) for _, end in ends]),
        scale=np.stack([width, width, lengths], axis=1),
    )


def place_limbs(limbs: Limbs, pose: Pose) -> tuple[Array, Array]:
    """Return positions (n, 3) [m] and quaternions wxyz (n, 4) of the limbs in a pose."""
    R_world_limb = pose.rotations[limbs.bone] @ limbs.R_bone_limb
    return pose.positions[limbs.bone], wxyz_from_matrix(R_world_limb)


class Spheres(NamedTuple):
    """Joints and heads, each rigid with a bone."""

    bone: IntArray  # index of the bone of each, (n,)
    centre: Array  # in the bone's frame [m], (n, 3)
    radius: Array  # [m], (n,)
    is_head: BoolArray  # whether it is part of the body rather than a joint, (n,)


def make_spheres(skeleton: Skeleton, limbs: Limbs) -> Spheres:
    """Return a sphere at the origin of every bone that is drawn, and at the markers of a head."""
    spheres: list[tuple[int, Array, float, bool]] = []
    for k, bone in enumerate(skeleton.bones):
        widths = limbs.scale[limbs.bone == k, 0]
        if len(widths) > 0:
            spheres.append((k, np.zeros(3), JOINT_SHARE * float(widths.max()), False))
        head = fit_head_sphere(skeleton, bone.name)
        if head is not None:
            spheres.append((k, *head, True))
    bones, centres, radii, heads = zip(*spheres, strict=True) if spheres else ((), (), (), ())
    return Spheres(
        bone=np.array(bones, dtype=np.int64),
        centre=np.array(centres).reshape(-1, 3),
        radius=np.array(radii),
        is_head=np.array(heads, dtype=bool),
    )


def place_spheres(spheres: Spheres, pose: Pose) -> Array:
    """Return the centres of the spheres in a pose [m, world], (n, 3)."""
    arms = np.einsum("nij,nj->ni", pose.rotations[spheres.bone], spheres.centre)
    return pose.positions[spheres.bone] + arms
