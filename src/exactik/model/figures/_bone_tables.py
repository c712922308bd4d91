"""Bones of the built-in figures, a row each, sides as mirror images in y = 0; and their meshes.

Where a bone's frame is parallel to the world's at q = 0, its mirror image has the same angles about
y and the negated ones about x and z. Offsets are metres in the parent's frame, limits degrees.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from importlib.resources import files

import numpy as np

from exactik.model._bone import Bone
from exactik.model.joints import Joint
from exactik.model.visuals import LazyVisuals, Material, Mesh, Skin, Visuals
from exactik.typing import Array

Point = tuple[float, float, float]
BoneRow = tuple[str, str, Point, str, tuple[tuple[float, float], ...]]
"""Name, parent, joint centre in the parent's frame [m], axes outermost first, limits [degrees]."""
MIRROR_Y = np.diag([1.0, -1.0, 1.0, 1.0])


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


def make_lazy_body(name: str, *, mirrored: bool = False) -> LazyVisuals:
    """Return the look of a built-in figure, or of its mirror image in y = 0."""
    return LazyVisuals(partial(_load_body, name, mirrored))


def _load_body(name: str, mirrored: bool = False) -> Visuals:
    """Read the body mesh of a figure: "human", "quadruped" or "hand"."""
    resource = files("exactik.model.figures").joinpath("bodies", f"{name}.npz")
    with resource.open("rb") as file, np.load(file, allow_pickle=False) as data:
        vertices = float(data["scale"]) * data["vertices"].astype(float)
        faces, T_bone_mesh = data["faces"].astype(np.uint32), data["T_bone_mesh"].astype(float)
        bones = tuple(str(bone) for bone in data["bones"])
        joints, weights = data["joints"].astype(np.uint16), data["weights"].astype(np.float32)
        colour = data["colour"]
    if mirrored:
        vertices, faces = vertices * (1.0, -1.0, 1.0), faces[:, ::-1]
        T_bone_mesh = MIRROR_Y @ T_bone_mesh @ MIRROR_Y
    skin = Skin(
        name=name,
        mesh=Mesh(vertices, faces).with_normals(),
        bones=bones,
        T_bone_mesh=T_bone_mesh,
        joints=joints,
        weights=weights,
        material=Material.of_srgb(colour, name, roughness=0.75),
        fits=True,
    )
    return Visuals(skins=(skin,))
