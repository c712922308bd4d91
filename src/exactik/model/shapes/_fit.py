"""Capsules around points: of meshes, of skins, of bones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from exactik.model.shapes._shape import Capsule, Shapes
from exactik.model.visuals import Visuals
from exactik.typing import Array, IntArray

SKIN_SHARE = (
    0.95  # of the vertices that follow a bone: those at its joints are its neighbours', too
)
MIN_RADIUS = 0.005  # m: of what has no thickness
BONE_THICKNESS = 0.12  # radius of a bone that nothing is known of, over its length: a limb's
MIN_VERTICES = 4
MAX_VERTICES = 4000  # of one mesh that are looked at: its shape needs no more


def fit_capsule(bone: str, points: Array, share: float = 1.0) -> Capsule:
    """Return the smallest capsule found that holds this share of points.

    Its axis is one of the principal axes or of the bone's own.

    Args:
        points: in its frame [m], (n, 3).
        share: of the points, from 0 to 1.
    """
    if len(points) > MAX_VERTICES:
        points = points[:: -(-len(points) // MAX_VERTICES)]
    center = 0.5 * (points.min(axis=0) + points.max(axis=0))
    axes = [*np.eye(3), *np.linalg.svd(points - points.mean(axis=0), full_matrices=False)[2]]
    found = [_fit_along(bone, points, axis, center, share) for axis in axes]
    return min(found, key=_compute_volume)


def _fit_along(bone: str, points: Array, axis: Array, center: Array, share: float) -> Capsule:
    """Return the capsule along an axis: midway between the points, as thin as they are."""
    across = points - center
    along = across @ axis
    across = across - along[:, None] * axis
    # The middle of the smallest box in the plane across the axis, whichever way it is turned.
    u = np.linalg.svd(axis[None])[2][1:]
    flat = across @ u.T
    middle = 0.5 * (flat.min(axis=0) + flat.max(axis=0))
    distance = np.linalg.norm(flat - middle, axis=1)
    radius = max(float(np.quantile(distance, share)), MIN_RADIUS)
    inside = distance <= radius
    # Points beside the axis need less than the whole radius beyond the ends.
    cap = np.sqrt(np.maximum(radius**2 - distance[inside] ** 2, 0.0))
    low, high = float((along[inside] + cap).min()), float((along[inside] - cap).max())
    if low > high:
        low = high = 0.5 * (low + high)
    base = center + middle @ u
    return Capsule(bone, base + low * axis, base + high * axis, radius)


def _compute_volume(capsule: Capsule) -> float:
    length = float(np.linalg.norm(capsule.ends[1] - capsule.ends[0]))
    return np.pi * capsule.radius**2 * (length + 4.0 / 3.0 * capsule.radius)


def fit_shapes(
    bone_names: Sequence[str], parents: IntArray, rest_offsets: Array, visuals: Visuals
) -> Shapes:
    """Return a capsule for each bone: around its meshes or its skin, else along it.

    Args:
        bone_names: (B,).
        parents: index of each bone's parent, −1 for a root, (B,).
        rest_offsets: where each bone begins in its parent's frame [m], (B, 3).
    """
    points = _collect_vertices(visuals)
    shapes = [
        fit_capsule(bone, vertices, share)
        for bone, (vertices, share) in points.items()
        if len(vertices) >= MIN_VERTICES and bone in set(bone_names)
    ]
    if len(shapes) > 0:
        return Shapes(tuple(shapes), source="meshes")
    lines = []
    for k, parent in enumerate(map(int, parents)):
        length = float(np.linalg.norm(rest_offsets[k]))
        radius = BONE_THICKNESS * length
        if parent < 0 or radius < MIN_RADIUS:
            continue
        inset = rest_offsets[k] * BONE_THICKNESS
        lines.append(Capsule(bone_names[parent], inset, rest_offsets[k] - inset, radius))
    notes = ("the figure has no meshes: capsules are along its bones, as thick as limbs",)
    return Shapes(tuple(lines), source="bones", notes=notes)


def _collect_vertices(visuals: Visuals) -> Mapping[str, tuple[Array, float]]:
    """Return the vertices that follow each bone, in its frame, and the share to be held."""
    found: dict[str, list[Array]] = {}
    of_skin: set[str] = set()
    for visual in visuals.rigid:
        T = visual.T_bone_mesh
        found.setdefault(visual.bone, []).append(visual.mesh.vertices @ T[:3, :3].T + T[:3, 3])
    for skin in visuals.skins:
        strongest = np.argmax(skin.weights, axis=1)
        joints = skin.joints[np.arange(len(strongest)), strongest]
        for k, bone in enumerate(skin.bones):
            T = skin.T_bone_mesh[k]
            vertices = skin.mesh.vertices[joints == k]
            found.setdefault(bone, []).append(vertices @ T[:3, :3].T + T[:3, 3])
            of_skin.add(bone)
    return {
        bone: (np.concatenate(parts), SKIN_SHARE if bone in of_skin else 1.0)
        for bone, parts in found.items()
    }
