"""Axes of the world, and the one way in which anything with another axis up is brought to z up.

All three axes move on in a circle: y up, looking along z, becomes z up, looking along x, as is the
custom with both. A quarter turn about one axis would keep that axis and change where figures look.
Commands, viewers and conversions all take these functions, so that a file shows the same way round
wherever it is opened.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from exactik.errors import UsageError
from exactik.model import Bone, Skeleton
from exactik.typing import Array

if TYPE_CHECKING:
    from exactik.model.motion._markers import Markers
    from exactik.model.motion._motion import Motion


MotionOrMarkers = TypeVar("MotionOrMarkers", "Markers", "Motion")


def check_up_axis(up_axis: str) -> str:
    """Return the name of an axis in lower case; raise `UsageError` if it is none."""
    if str(up_axis).lower() not in ("x", "y", "z"):
        raise UsageError(f"up_axis is {up_axis!r}; it must be 'x', 'y' or 'z'")
    return str(up_axis).lower()


def cyclic_axes(up: str, to: str) -> str:
    """Return the axes, as for `axes_matrix`, that bring an up axis to another: "ZXY" for y to z."""
    return ("XYZ", "ZXY", "YZX")[("xyz".index(to) - "xyz".index(up)) % 3]


def turn_to_up(thing: MotionOrMarkers, up: str) -> MotionOrMarkers:
    """Return a motion or markers with another axis up.

    Where nothing is known of it, it is taken to be so already.
    """
    if thing.up_axis is None or thing.up_axis == up:
        return replace(thing, up_axis=up)
    return thing.turned(cyclic_axes(thing.up_axis, up))


def turn_skeleton(skeleton: Skeleton, axes: str) -> Skeleton:
    """Return the same skeleton in permuted axes of the world, see `axes_matrix`.

    Every bone at rest is where it was, seen from the new axes. Coordinates and limits stay: what is
    turned is the constant part of the root bones (offset and `pre`), which works for any joint.
    """
    matrix = axes_matrix(axes)
    bones = [_turn_root(bone, matrix) if bone.parent is None else bone for bone in skeleton.bones]
    return skeleton.with_bones(bones)


def _turn_root(root: Bone, matrix: Array) -> Bone:
    pre = matrix if root.pre is None else matrix @ np.array(root.pre)
    offset = matrix @ np.array(root.offset)
    return replace(root, offset=offset, pre=pre)


def heading_axes(up: str | None) -> list[str]:
    """Return the four quarter turns about the axis that is up, as for `axes_matrix`.

    If no axis is known to be up, only the axes as they are.
    """
    if up is None:
        return ["XYZ"]
    u = "xyz".index(up)
    a, b = (u + 1) % 3, (u + 2) % 3
    turns = []
    for new_a, new_b in ((a, b), (b, ~a), (~a, ~b), (~b, a)):  # ~ is for a minus sign
        row = [""] * 3
        row[u] = "XYZ"[u]
        for place, axis in ((a, new_a), (b, new_b)):
            row[place] = "XYZ"[axis] if axis >= 0 else f"-{'XYZ'[~axis]}"
        turns.append("".join(row))
    return turns


def permute_axis(up: str | None, matrix: Array) -> str | None:
    """Return the up axis in axes permuted by a matrix; None where an axis then points down."""
    if up is None:
        return None
    column = matrix[:, "xyz".index(up)]
    return "xyz"[int(np.argmax(column))] if column.max() > 0.0 else None


def axes_matrix(axes: str) -> Array:
    """Return the matrix, (3, 3), that takes the file's axes to the permuted ones.

    Args:
        axes: three of X, Y and Z, minus signs allowed: "YZX" makes the file's y the new x.
    """
    rows, sign = [], 1.0
    for letter in str(axes).upper():
        if letter == "-":
            sign = -1.0
        elif letter in "XYZ":
            rows.append(sign * np.eye(3)["XYZ".index(letter)])
            sign = 1.0
        else:
            rows = []
            break
    matrix = np.array(rows, dtype=np.float64)
    if matrix.shape != (3, 3) or abs(np.linalg.det(matrix) - 1.0) > 1e-9:
        raise UsageError(
            f"axes is {axes!r}; expected three of X, Y and Z, each once, minus signs allowed, that "
            "keep the axes right-handed, such as 'YZX' or 'X-ZY'"
        )
    return matrix
