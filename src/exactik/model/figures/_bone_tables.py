"""Tables of bones for the built-in figures: a row a bone, sides as mirror images in y = 0.

Where a bone's frame is parallel to the world's at q = 0, its mirror image has the same angles about
y and the negated ones about x and z. Offsets are metres in the parent's frame, limits degrees.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from exactik.model._bone import Bone
from exactik.model.joints import Joint
from exactik.typing import Array

Point = tuple[float, float, float]
BoneRow = tuple[str, str, Point, str, tuple[tuple[float, float], ...]]
"""Name, parent, joint centre in the parent's frame [m], axes outermost first, limits [degrees]."""


def make_bone(
    row: BoneRow,
    side: float = 1.0,
    prefix: str = "",
    paired: Iterable[str] = (),
    *,
    scale: float = 1.0,
    pre: Array | None = None,
) -> Bone:
    """Return the bone of a row; its mirror image for side −1.

    Args:
        side: 1 for the left and the middle, −1 for the right.
        prefix: of the name, and of the parent's if that is among `paired`.
        paired: names of rows that exist on both sides.
        scale: metres in a unit of the offsets.
        pre: constant rotation before the joint, of this side, (3, 3).
    """
    name, parent, (x, y, z), order, degrees = row
    limits = np.radians(degrees)
    for a, letter in enumerate(order):
        if side < 0.0 and letter != "Y":
            limits[a] = -limits[a, ::-1]
    return Bone(
        prefix + name,
        parent=prefix + parent if parent in set(paired) else parent,
        offset=scale * np.array([x, side * y, z]),
        pre=pre,
        joint=Joint.revolute(order, limits) if len(order) == 1 else Joint.euler(order, limits),
    )


def make_both_sides(rows: tuple[BoneRow, ...]) -> list[Bone]:
    """Return the bones of rows that describe the left side: "l_…", then "r_…"."""
    names = [row[0] for row in rows]
    sides = ((1.0, "l_"), (-1.0, "r_"))
    return [make_bone(row, side, prefix, names) for side, prefix in sides for row in rows]


def mirror_markers(left: Mapping[str, tuple[str, Point]]) -> dict[str, tuple[str, Point]]:
    """Return the markers with those on bones "l_…" repeated on the right: L… becomes R…."""
    markers = dict(left)
    for name, (bone, (x, y, z)) in left.items():
        if bone.startswith("l_"):
            markers["R" + name[1:]] = ("r_" + bone[2:], (x, -y, z))
    return markers
