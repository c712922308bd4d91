"""The skin of a figure in the scene: a GLB, and the bones that move it in one message.

The page's script (_driver.js) moves the bones of the GLB as a hidden batched mesh, the driver, has
its instances: two messages a pose, whatever the number of bones and meshes.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exactik.io.gltf import encode_posable_glb
from exactik.model import Pose, Skeleton
from exactik.spatial import wxyz_from_matrix
from exactik.typing import Array

SIGNATURE = 4544587  # "EXK": first number of a driver's mesh; the page's script looks for it
# Batched meshes of this opacity are drawn before all else: handles would be hidden in a body.
ON_TOP_OPACITY = 0.96
# Of a figure's size: vertices so near to a ray are where it meets the skin; fingers are as thick.
# Of dense meshes less is as good.
RAY_SHARE = 0.01
THROUGH_OPACITY = 0.45  # of a skin through which sticks are to be seen

_numbers = count(1)


class SkinScene:
    """Meshes and skins of a figure, with their own materials and textures.

    Attributes:
        opacity: of the whole figure; None for that of its materials.
        surface: the GLB.
        driver: its bones, hidden.
    """

    def __init__(self, server: Any, skeleton: Skeleton, name: str, opacity: float | None = None):
        """Add the visuals of a skeleton to the scene, below a node."""
        self.skeleton, self.opacity = skeleton, opacity
        figure = next(_numbers)
        self.surface = server.scene.add_glb(
            f"{name}/skin",
            encode_posable_glb(skeleton, figure),
            cast_shadow=False,
            receive_shadow=False,
        )
        n = len(skeleton.bones)
        corner = (SIGNATURE, figure, n)
        self.driver = server.scene.add_batched_meshes_simple(
            f"{name}/driver",
            np.array([corner, corner, corner], dtype=np.float32),
            np.array([(0, 1, 2)], dtype=np.uint32),
            np.tile((1.0, 0.0, 0.0, 0.0), (n, 1)),
            np.zeros((n, 3)),
            batched_colors=np.full((n, 3), 255, dtype=np.uint8),
            opacity=opacity,
            visible=False,
            cast_shadow=False,
            receive_shadow=False,
            lod="off",
        )
        self.draw(skeleton.forward(skeleton.neutral()))

    def draw(self, pose: Pose) -> None:
        """Move the bones; to be called inside `server.atomic()`."""
        self.driver.batched_positions = pose.positions.astype(np.float32)
        self.driver.batched_wxyzs = wxyz_from_matrix(pose.rotations).astype(np.float32)

    def paint(self, tints: NDArray[np.uint8]) -> None:
        """Set the tint of every bone, (n_bones, 3), linear from 0 to 255; white for none."""
        self.driver.batched_colors = tints

    def set_opacity(self, opacity: float) -> None:
        """Make it more or less translucent."""
        self.opacity = self.driver.opacity = opacity

    def show(self, visible: bool, see_through: bool = False) -> None:
        """Show or hide the skin, or let what is inside be seen."""
        self.surface.visible = visible
        self.driver.opacity = THROUGH_OPACITY if see_through else self.opacity

    def on_drag(
        self, pose_now: Callable[[], Pose], callback: Callable[[str, Any], Awaitable[None]]
    ) -> None:
        """Register a function for drags; it gets the name of the bone and viser's event."""
        grabbed: dict[int, str] = {}

        async def handle_drag(event: Any) -> None:
            if event.phase == "start" or event.client_id not in grabbed:
                place = np.array(event.start_position, dtype=float)
                grabbed[event.client_id] = self.find_bone(pose_now(), place)
            await callback(grabbed[event.client_id], event)

        self.surface.on_drag(handle_drag)

    def on_click(
        self, pose_now: Callable[[], Pose], callback: Callable[[str, Any], Awaitable[None]]
    ) -> None:
        """Register a function for clicks; it gets the name of the bone and viser's event."""

        async def handle_click(event: Any) -> None:
            origin, direction = (np.array(a) for a in (event.ray_origin, event.ray_direction))
            await callback(find_bone_on_ray(pose_now(), origin, direction), event)

        self.surface.on_click(handle_click)

    def find_bone(self, pose: Pose, place: Array) -> str:
        """Return the bone that the vertex nearest to a place [m, world] follows most."""
        names, visuals = self.skeleton.bone_names, self.skeleton.visuals
        vertices = visuals.compute_vertices(names, pose.positions, pose.rotations)
        bones = visuals.find_vertex_bones(names)
        nearest = [(float("inf"), 0)]
        for points, carriers in zip(vertices, bones, strict=True):
            distances = np.linalg.norm(points - place, axis=1)
            k = int(np.argmin(distances))
            nearest.append((float(distances[k]), int(carriers[k])))
        return names[min(nearest)[1]]


def find_bone_on_ray(pose: Pose, origin: Array, direction: Array) -> str:
    """Return the bone whose skin a ray meets first, going by the vertices near it.

    Args:
        origin: of the ray [m, world], (3,).
        direction: of the ray, world, (3,), of any length.
    """
    names, visuals = pose.skeleton.bone_names, pose.skeleton.visuals
    vertices = visuals.compute_vertices(names, pose.positions, pose.rotations)
    points = np.concatenate(vertices) - origin
    depth = points @ (direction / np.linalg.norm(direction))
    distance = np.sqrt(np.maximum(np.einsum("ij,ij->i", points, points) - depth**2, 0.0))
    near = distance <= max(RAY_SHARE * float(np.ptp(points, axis=0).max()), distance.min())
    first = np.flatnonzero(near)[np.argmin(depth[near])]
    return names[int(np.concatenate(visuals.find_vertex_bones(names))[first])]
