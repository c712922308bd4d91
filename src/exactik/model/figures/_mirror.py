"""Tables of bones for the built-in animals: a row a bone, sides as mirror images in y = 0.

Where a bone's frame is parallel to the world's at q = 0, its mirror image has the same angles about
y and the negated ones about x and z. Offsets are metres in the parent's frame, limits degrees.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from exactik.model._bone import Bone
from exactik.model._joint import Joint

__all__ = ["Point", "Row", "bone_of", "both_sides", "mirrored_markers"]

Point = tuple[float, float, float]
Row = tuple[str, str, Point, str, tuple[tuple[float, float], ...]]
"""Name, parent, joint centre in the parent's frame [m], axes outermost first, limits [degrees]."""


def bone_of(row: Row, side: float = 1.0, prefix: str = "", paired: Iterable[str] = ()) -> Bone:
    """Return the bone of a row; its mirror image for side −1.

    Args:
        row: see `Row`.
        side: 1 for the left and the middle, −1 for the right.
        prefix: of the name, and of the parent's if that is among `paired`.
        paired: names of rows that exist on both sides.
    """
    name, parent, (x, y, z), order, degrees = row
    limits = np.radians(degrees)
    for a, letter in enumerate(order):
        if side < 0.0 and letter != "Y":
            limits[a] = -limits[a, ::-1]
    return Bone(
        prefix + name,
        parent=prefix + parent if parent in set(paired) else parent,
        offset=(x, side * y, z),
        joint=Joint.revolute(order, limits) if len(order) == 1 else Joint.euler(order, limits),
    )


def both_sides(rows: tuple[Row, ...]) -> list[Bone]:
    """Return the bones of rows that describe the left side: "l_…", then "r_…"."""
    names = [row[0] for row in rows]
    sides = ((1.0, "l_"), (-1.0, "r_"))
    return [bone_of(row, side, prefix, names) for side, prefix in sides for row in rows]


def mirrored_markers(left: Mapping[str, tuple[str, Point]]) -> dict[str, tuple[str, Point]]:
    """Return the markers with those on bones "l_…" repeated on the right: L… becomes R…."""
    found = dict(left)
    for name, (bone, (x, y, z)) in left.items():
        if bone.startswith("l_"):
            found["R" + name[1:]] = ("r_" + bone[2:], (x, -y, z))
    return found
