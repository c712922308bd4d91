"""Functions and custom joints as the plain arrays of `kernels.tree`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from exactik.kernels.tree import custom
from exactik.kernels.tree.packed import AXES, CUSTOM
from exactik.model._bone import Bone
from exactik.model.functions import Linear, PackedFunction
from exactik.model.joints import JOINT_KINDS, Joint
from exactik.spatial import rotation_taking_z_to
from exactik.typing import Array, IndexArray


class FunctionTable:
    """Collects functions, each once, for `Tree.function_table` and `Tree.function_data`."""

    def __init__(self) -> None:
        """Begin without functions."""
        self._numbers: dict[PackedFunction, int] = {}

    def add(self, function: PackedFunction) -> int:
        """Return the number of a function, which may be there already."""
        return self._numbers.setdefault(function, len(self._numbers))

    def arrays(self) -> tuple[IndexArray, Array]:
        """Return the table, (n, 3), and the numbers of all functions."""
        table, data = np.zeros((len(self._numbers), 3), np.uint32), []
        for function, row in zip(self._numbers, table, strict=True):
            row[:] = function.kind, len(data), function.length
            data.extend(function.data)
        return table, np.array(data, dtype=float)


def describe_rotation(joint: Joint) -> tuple[int, Array, str]:
    """Return the code of a joint's rotation for the kernels, and A and letters.

    As of `JointKind.coordinate_axes`. A custom joint whose coordinates are the angles about its
    axes, in their order, is packed as a hinge or as Euler angles, which take a third of the time.
    """
    turning = joint.rotation_part
    kind = JOINT_KINDS[turning.kind]
    plain = _find_plain_axes(turning)
    if len(plain) == 0:
        return kind.rotation_code, *kind.coordinate_axes(turning)
    if np.isin(plain, (0.0, 1.0)).all():
        return AXES, np.eye(3), "".join("XYZ"[int(np.argmax(axis))] for axis in plain)
    if len(plain) == 1:
        return AXES, rotation_taking_z_to(plain[0]), "Z"
    first, second = plain[:2]
    third = np.cross(first, second)
    if len(plain) == 3 and plain[2] @ third < 0.0:  # left-handed: they are x, z, y of A
        return AXES, np.stack([first, plain[2], second], axis=1), "XZY"
    return AXES, np.stack([first, second, third], axis=1), "XYZ"[: len(plain)]


def _find_plain_axes(joint: Joint) -> Array:
    """Return the axes of a custom joint about which its coordinates are the angles, (n, 3).

    None, (0, 3), if there are other motions too, or several axes that are not along x, y and z.
    """
    turns, shifts = joint.driven_axes
    angles = tuple(name for turn in turns for name in turn.coordinates)
    simple = [
        isinstance(turn.function, Linear)
        and abs(turn.function.slope) == 1.0
        and turn.function.intercept == 0.0
        for turn in turns
    ]
    if len(turns) == 0 or len(shifts) > 0 or not all(simple) or angles != joint.dof_names:
        return np.empty((0, 3))
    axes = np.array([turn.function.pack()[0].data[1] * np.array(turn.axis) for turn in turns])
    used = np.abs(axes)
    orthogonal = np.isin(used, (0.0, 1.0)).all() and (used.sum(axis=0) <= 1.0).all()
    return axes if len(axes) == 1 or orthogonal else np.empty((0, 3))


def pack_custom_joints(
    bones: Sequence[Bone], functions: FunctionTable, rotation: IndexArray, turn_axes: IndexArray
) -> tuple[Array, IndexArray]:
    """Return `Tree.custom_axes` and `Tree.custom_functions`; number the joints in `turn_axes`."""
    frames = np.flatnonzero(rotation == CUSTOM).tolist()
    axes = np.zeros((len(frames), 2 * custom.SHIFTS, 3))
    rows = np.zeros((len(frames), 2 * custom.SHIFTS, 5), np.uint32)
    for n, k in enumerate(frames):
        joint = bones[k - 1].joint
        turn_axes[k, 0] = n
        names = joint.dof_names
        turns, shifts = joint.driven_axes
        for first, group in ((0, shifts), (custom.SHIFTS, turns)):
            for a, axis in enumerate(group, start=first):
                axes[n, a] = axis.axis
                rows[n, a, 0] = custom.CONSTANT + len(axis.coordinates)
                rows[n, a, 1::2][: len(axis.function.pack())] = [
                    functions.add(packed) for packed in axis.function.pack()
                ]
                rows[n, a, 2::2][: len(axis.coordinates)] = [
                    names.index(name) for name in axis.coordinates
                ]
    return axes, rows
