"""Functions and custom joints as the plain arrays of `kernels.tree`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from exactik.functions import PackedFunction
from exactik.kernels.tree import custom
from exactik.kernels.tree.packed import CUSTOM
from exactik.model._bone import Bone
from exactik.model.joints import JOINT_KINDS
from exactik.typing import Array, IndexArray

__all__ = ["FunctionTable", "pack_custom_joints"]


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


def pack_custom_joints(
    bones: Sequence[Bone], functions: FunctionTable, turn_axes: IndexArray
) -> tuple[Array, IndexArray]:
    """Return `Tree.custom_axes` and `Tree.custom_functions`; number the joints in `turn_axes`."""
    frames = [
        k
        for k, bone in enumerate(bones, start=1)
        if JOINT_KINDS[bone.joint.kind].rotation_code == CUSTOM
    ]
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
