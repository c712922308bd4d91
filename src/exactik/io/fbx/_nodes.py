"""Where a node of an FBX file is in its parent, as translation, rotation and scale.

FBX multiplies, in the parent,

    T · R_off · R_p · R_pre · R · R_post⁻¹ · R_p⁻¹ · S_off · S_p · S · S_p⁻¹

with shifts T, R_off, R_p, S_off and S_p, which is the rotation Q = R_pre R R_post⁻¹, the scale S
and the translation

    t = T + R_off + R_p + Q (S_off + S_p − S S_p − R_p)

R has an order of its own, the others turn about x first. Angles are in degrees.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from exactik.io.fbx._scene import Object
from exactik.spatial import axis_rotation, wxyz_from_matrix
from exactik.typing import Array

ORDERS = ("zyx", "yzx", "xzy", "zxy", "yxz", "xyz")  # by RotationOrder, outermost axis first
NO_PARENT_SCALE = 2  # InheritType of nodes that do not take over the scale of their parent
CHANNELS = {"Lcl Translation": 0.0, "Lcl Rotation": 0.0, "Lcl Scaling": 1.0}


class Placement(NamedTuple):
    """Where a node is in its parent at some times."""

    translation: Array  # (…, 3)
    rotation: Array  # R_parent_node, (…, 3, 3)
    scale: Array  # (…, 3)

    @property
    def xyzw(self) -> Array:
        """The rotation as a quaternion, (…, 4)."""
        return wxyz_from_matrix(self.rotation)[..., [1, 2, 3, 0]]

    @property
    def matrix(self) -> Array:
        """The whole as a matrix, (4, 4), for a single time."""
        T = np.eye(4)
        T[:3, :3], T[:3, 3] = self.rotation * self.scale, self.translation
        return T


def rotation_of(angles: Array, order: str = ORDERS[0]) -> Array:
    """Return the rotation by angles about x, y and z [deg], (…, 3) → (…, 3, 3)."""
    a, b, c = (axis_rotation(x, np.radians(angles[..., "xyz".index(x)])) for x in order)
    return a @ b @ c


def place_node(node: Object, parent: Object | None, moved: dict[str, Array]) -> Placement:
    """Return where a node is in its parent.

    Args:
        node: the node.
        parent: its parent.
        moved: values of those `CHANNELS` that are animated, (T, 3); the others are at rest.
    """
    t, angles, scale = (
        moved.get(name, node.numbers(name, *(3 * (usual,)))) for name, usual in CHANNELS.items()
    )
    zero = (0.0, 0.0, 0.0)
    if node.number("RotationActive", 0.0) != 0.0:
        order = int(node.number("RotationOrder", 0.0))
        rotation = (
            rotation_of(node.numbers("PreRotation", *zero))
            @ rotation_of(angles, ORDERS[order] if 0 <= order < len(ORDERS) else ORDERS[0])
            @ rotation_of(node.numbers("PostRotation", *zero)).T
        )
    else:
        rotation = rotation_of(angles)
    pivot, scale_pivot = (node.numbers(f"{x}Pivot", *zero) for x in ("Rotation", "Scaling"))
    inner = node.numbers("ScalingOffset", *zero) + scale_pivot - scale * scale_pivot - pivot
    t = t + node.numbers("RotationOffset", *zero) + pivot + (rotation @ inner[..., None])[..., 0]
    if parent is not None and int(node.number("InheritType", 0.0)) == NO_PARENT_SCALE:
        above = float(np.cbrt(np.prod(parent.numbers("Lcl Scaling", 1.0, 1.0, 1.0))))
        scale = scale / (above if above != 0.0 else 1.0)
    return Placement(t, rotation, scale)


def place_geometry(node: Object) -> Placement:
    """Return where the meshes of a node are in it; nodes below do not take that over."""
    return Placement(
        node.numbers("GeometricTranslation", 0.0, 0.0, 0.0),
        rotation_of(node.numbers("GeometricRotation", 0.0, 0.0, 0.0)),
        node.numbers("GeometricScaling", 1.0, 1.0, 1.0),
    )
