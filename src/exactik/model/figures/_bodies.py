"""What the built-in figures look like: meshes that tools/body_meshes.py made, read when needed."""

from __future__ import annotations

from functools import partial
from importlib.resources import files

import numpy as np

from exactik.model.visuals import LazyVisuals, Material, Mesh, Skin, Visuals

MIRROR_Y = np.diag([1.0, -1.0, 1.0, 1.0])


def make_lazy_body(name: str, *, mirrored: bool = False) -> LazyVisuals:
    """Return the look of a built-in figure, or of its mirror image in y = 0."""
    return LazyVisuals(partial(load_body, name, mirrored))


def load_body(name: str, mirrored: bool = False) -> Visuals:
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
