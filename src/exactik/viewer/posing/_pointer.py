"""What a pointer asks for through a gizmo, kept in proportion to how far the pointer moved.

An arrow that points at the camera is short on the screen: a pixel of it is metres of the world, and
past its vanishing point the place behind the camera. So the target moves at most `MAX_GAIN` times
as far as the pointer does, measured in the plane through the start that faces the camera.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from exactik.spatial import matrix_from_wxyz
from exactik.typing import Array

__all__ = ["CameraView", "limit_target_move"]

# An arrow at 20° from the line of sight has a gain of 3 when it is grabbed; nearer ones are slowed.
MAX_GAIN = 3.0


class CameraView(NamedTuple):
    """Where a camera is.

    Attributes:
        position: [m, world], (3,).
        forward: unit vector of the line of sight, world, (3,).
    """

    position: Array
    forward: Array

    @classmethod
    def of(cls, camera: object) -> CameraView:
        """Return the view of viser's camera, which looks along its z axis."""
        position = np.array(getattr(camera, "position"), dtype=float)  # noqa: B009
        R_world_camera = matrix_from_wxyz(np.array(getattr(camera, "wxyz"), dtype=float))  # noqa: B009
        return cls(position=position, forward=R_world_camera[:, 2].copy())


def limit_target_move(view: CameraView, start: Array, target: Array) -> Array | None:
    """Return a target [m, world], (3,), at a distance from the start that the pointer justifies.

    Args:
        view: of the camera.
        start: where the drag began [m, world], (3,).
        target: what the gizmo asks for [m, world], (3,).

    Returns:
        The target, nearer to the start where it is too far; None where it is not before the camera.
    """
    depth, target_depth = ((place - view.position) @ view.forward for place in (start, target))
    if depth <= 0.0 or target_depth <= 0.0 or not np.isfinite(target).all():
        return None
    # Both as the screen shows them, at the depth of the start.
    on_screen = view.position + (target - view.position) * (depth / target_depth)
    pointer, move = float(np.linalg.norm(on_screen - start)), target - start
    length = float(np.linalg.norm(move))
    return start + move * min(1.0, MAX_GAIN * pointer / max(length, 1e-12))
