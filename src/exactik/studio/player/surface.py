"""What is drawn of a figure: triangles that follow bones, whatever they come from.

A part has its vertices at x_world = Σ_k w_k T_world_bone_k (T_bone_mesh_k x), as a skin has
(`exactik.model.visuals`). Meshes that are rigid with a bone, and the limbs of a figure without a
look, are parts whose vertices follow one bone each.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from exactik.model import Skeleton
from exactik.model.visuals import (
    Material,
    Mesh,
    Skin,
    Texture,
    Visual,
    compute_normals,
    join_meshes,
)
from exactik.studio.player.shapes import LIMB_MESH, SPHERE_MESH, make_limbs, make_spheres
from exactik.typing import Array, IntArray

SKIN, STICKS = "skin", "sticks"
LIMB_COLOUR, JOINT_COLOUR = (0.209, 0.254, 0.332), (0.069, 0.089, 0.127)  # linear
GHOST_COLOUR, GHOST_OPACITY = (0.093, 0.262, 0.815), 0.55  # linear
FIRST_CELLS = (
    2.0  # of a grid over the root of the vertices that may be left: too fine for any surface
)
COARSER = 0.85  # from try to try, so that at least 0.7 of them are left


class Part(NamedTuple):
    """A surface of one look."""

    kind: str  # "skin" or "sticks"
    mesh: Mesh  # vertices in the frame that `maps` take, with normals
    bones: IntArray  # bones of the figure that it follows, (P,)
    maps: Array  # T_bone_mesh of each [m], (P, 3, 4)
    joints: IntArray  # which of `bones` each vertex follows, (n, 1 or 4)
    weights: Array | None  # how much, (n, 4); None where it follows one
    colours: Array  # linear red, green and blue of the vertices, from 0 to 1, (n, 3)
    opacity: float = 1.0  # from 0 to 1
    texture: Texture | None = None  # an image by which the colours are multiplied, or None


def make_ghost_part(skeleton: Skeleton) -> Part:
    """Return limbs from joint to joint, pale blue, for a figure beside another."""
    part = make_stick_part(skeleton)
    colours = np.tile(GHOST_COLOUR, (len(part.colours), 1))
    return part._replace(colours=colours, opacity=GHOST_OPACITY)


def make_stick_part(skeleton: Skeleton) -> Part:
    """Return limbs from joint to joint, for a figure without a look."""
    limbs = make_limbs(skeleton)
    spheres = make_spheres(skeleton, limbs)
    limb, sphere = LIMB_MESH.with_normals(), SPHERE_MESH.with_normals()
    assert limb.normals is not None and sphere.normals is not None
    turned = limbs.R_bone_limb.transpose(0, 2, 1)
    scale, radius = limbs.scale[:, None], spheres.radius[:, None, None]
    vertices = [
        ((limb.vertices * scale) @ turned).reshape(-1, 3),
        (sphere.vertices * radius + spheres.centre[:, None]).reshape(-1, 3),
    ]
    normals = [
        ((limb.normals / scale) @ turned).reshape(-1, 3),
        np.tile(sphere.normals, (len(spheres.bone), 1)),
    ]
    faces = [
        _repeat_faces(limb, len(limbs.bone), 0),
        _repeat_faces(sphere, len(spheres.bone), len(vertices[0])),
    ]
    n, m = len(limb.vertices), len(sphere.vertices)
    bones = np.concatenate([np.repeat(limbs.bone, n), np.repeat(spheres.bone, m)])
    head_or_joint = np.where(spheres.is_head[:, None], LIMB_COLOUR, JOINT_COLOUR)
    colours = [np.tile(LIMB_COLOUR, (len(vertices[0]), 1)), np.repeat(head_or_joint, m, axis=0)]
    mesh = Mesh(np.concatenate(vertices), np.concatenate(faces), np.concatenate(normals))
    return _make_rigid_part(STICKS, mesh, bones, np.concatenate(colours))


def _repeat_faces(mesh: Mesh, count: int, first: int) -> IntArray:
    """Return the faces of so many copies of a mesh, one after another, from a first vertex on."""
    firsts = first + len(mesh.vertices) * np.arange(count)
    return (mesh.faces.astype(np.int64) + firsts[:, None, None]).reshape(-1, 3)


def make_skin_parts(skeleton: Skeleton) -> list[Part]:
    """Return the look of a figure: its meshes, those without texture together, and its skins."""
    visuals, index = skeleton.visuals, {name: k for k, name in enumerate(skeleton.bone_names)}
    parts = []
    plain = [visual for visual in visuals.rigid if _find_texture(visual.material) is None]
    groups = [plain] if len(plain) > 0 else []
    groups += [[visual] for visual in visuals.rigid if _find_texture(visual.material) is not None]
    for group in groups:
        meshes = [_place_mesh(visual).with_normals() for visual in group]
        counts = [len(mesh.vertices) for mesh in meshes]
        bones = np.repeat([index[visual.bone] for visual in group], counts)
        colours = np.repeat([visual.material.base_colour[:3] for visual in group], counts, axis=0)
        part = _make_rigid_part(SKIN, join_meshes(meshes), bones, colours)
        parts.append(part._replace(texture=_find_texture(group[0].material)))
    return parts + [_make_skin_part(skin, index) for skin in visuals.skins]


def _make_rigid_part(kind: str, mesh: Mesh, bones: IntArray, colours: Array) -> Part:
    """Return a part whose vertices, in the frames of their bones, follow one bone each."""
    used, joints = np.unique(bones, return_inverse=True)
    return Part(
        kind=kind,
        mesh=mesh,
        bones=used.astype(np.int64),
        maps=np.tile(np.eye(4)[:3], (len(used), 1, 1)),
        joints=joints.astype(np.int64)[:, None],
        weights=None,
        colours=_tint(np.asarray(colours, dtype=float), mesh),
    )


def _make_skin_part(skin: Skin, index: dict[str, int]) -> Part:
    n, mesh = len(skin.mesh.vertices), skin.mesh.with_normals()
    return Part(
        kind=SKIN,
        mesh=mesh,
        bones=np.array([index[bone] for bone in skin.bones], dtype=np.int64),
        maps=np.array(skin.T_bone_mesh)[:, :3],
        joints=skin.joints.astype(np.int64),
        weights=skin.weights.astype(float),
        colours=_tint(np.tile(skin.material.base_colour[:3], (n, 1)), mesh),
        opacity=skin.material.base_colour[3] if skin.material.alpha_mode == "BLEND" else 1.0,
        texture=_find_texture(skin.material),
    )


def _find_texture(material: Material) -> Texture | None:
    return material.textures.get("base_colour")


def _tint(colours: Array, mesh: Mesh) -> Array:
    return colours if mesh.colours is None else colours * mesh.colours[:, :3]


def _place_mesh(visual: Visual) -> Mesh:
    """Return the mesh in the frame of its bone."""
    mesh, linear = visual.mesh, visual.T_bone_mesh[:3, :3]
    mirrored = np.linalg.det(linear) < 0.0
    return Mesh(
        vertices=mesh.vertices @ linear.T + visual.T_bone_mesh[:3, 3],
        faces=mesh.faces[:, ::-1] if mirrored else mesh.faces,
        normals=None if mesh.normals is None else _turn_normals(mesh.normals.astype(float), linear),
        uv=mesh.uv,
        colours=mesh.colours,
    )


def _turn_normals(normals: Array, linear: Array) -> Array:
    turned = normals @ np.linalg.pinv(linear)
    length = np.linalg.norm(turned, axis=1, keepdims=True)
    return turned / np.where(length > 0.0, length, 1.0)


def place_part(part: Part, positions: Array, rotations: Array) -> Array:
    """Return where the vertices of a part are [m, world], (n, 3).

    Args:
        positions: of the bones of the figure [m, world], (B, 3).
        rotations: of them, R_world_bone, (B, 3, 3).
    """
    R_world_bone = rotations[part.bones]
    maps = R_world_bone @ part.maps
    maps[:, :, 3] += positions[part.bones]
    weights = np.ones((len(part.joints), 1)) if part.weights is None else part.weights
    blended = np.einsum("nk,nkij->nij", weights, maps[part.joints])
    vertices = np.asarray(part.mesh.vertices, dtype=float)
    return np.einsum("nij,nj->ni", blended[:, :, :3], vertices) + blended[:, :, 3]


def simplify_part(part: Part, most: int) -> Part:
    """Return a part of about so many vertices at most: those in a cell of a grid become their mean.

    Vertices of different bones stay apart. Faces that lose a corner are left out.
    """
    vertices = np.asarray(part.mesh.vertices, dtype=float)
    if len(vertices) <= most:
        return part
    low, extent = vertices.min(axis=0), max(float(np.ptp(vertices, axis=0).max()), 1e-12)
    cells = FIRST_CELLS * np.sqrt(most)  # a surface meets about n² of n³ cells
    while True:
        grid = np.floor((vertices - low) * (cells / extent)).astype(np.int64)
        row = int(cells) + 2
        keys = ((grid[:, 0] * row + grid[:, 1]) * row + grid[:, 2]) * len(part.bones)
        _, chosen, place = np.unique(
            keys + part.joints[:, 0], return_index=True, return_inverse=True
        )
        if len(chosen) <= most or cells < 1.0:  # then each bone has one vertex left
            break
        cells *= COARSER
    faces = place[part.mesh.faces.astype(np.int64)]
    a, b, c = faces.T
    faces = np.unique(faces[(a != b) & (b != c) & (c != a)], axis=0)
    counts = np.bincount(place)
    sums = [np.bincount(place, vertices[:, axis]) for axis in range(3)]
    kept = np.stack(sums, axis=1) / counts[:, None]
    mesh = Mesh(
        vertices=kept,
        faces=faces,
        normals=compute_normals(kept, faces),
        uv=None if part.mesh.uv is None else part.mesh.uv[chosen],
    )
    return part._replace(
        mesh=mesh,
        joints=part.joints[chosen],
        weights=None if part.weights is None else part.weights[chosen],
        colours=part.colours[chosen],
    )
