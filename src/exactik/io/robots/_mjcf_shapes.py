"""Geoms of an MJCF in numbers: what kind of shape, how large, and where on its body.

Half lengths, as MuJoCo has them: a box of size 1 is two units long. `fromto` places what is long by
its ends. A mesh is where its file has it: MuJoCo moves it to its centre of mass and back.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from exactik.io._xml import Element
from exactik.io.meshes import MeshFinder
from exactik.io.robots._mjcf_bodies import BodyGeom
from exactik.io.robots._mjcf_settings import Compiler, DefaultClasses, normalise
from exactik.spatial import matrix_from_wxyz, rotation_taking_z_to
from exactik.typing import Array

__all__ = [
    "GeomShape",
    "MeshAsset",
    "find_asset_files",
    "list_assets",
    "read_mesh_asset",
    "read_shape",
]

MESH_FOLDERS, TEXTURE_FOLDERS = ("meshdir", "assetdir"), ("texturedir", "assetdir")


@dataclass(frozen=True)
class GeomShape:
    """A geom with its defaults filled in.

    Attributes:
        element: with its defaults.
        kind: MuJoCo's word, such as "box" or "mesh".
        mesh: name of the mesh asset, empty for none; a shape of another kind is fitted to it.
        size: half lengths [unit of the file], three of them, 0 where it has fewer.
        p_body_geom: [unit of the file], (3,).
        R_body_geom: (3, 3).
    """

    element: Element
    kind: str
    mesh: str
    size: tuple[float, ...]
    p_body_geom: Array
    R_body_geom: Array


def read_shape(geom: BodyGeom, compiler: Compiler, defaults: DefaultClasses) -> GeomShape:
    """Return what a geom is."""
    element = defaults.apply_to(geom.element, geom.default_class)
    mesh = element.attributes.get("mesh", "")
    kind = element.attributes.get("type", "mesh" if mesh != "" else "sphere").strip()
    p_frame_geom = np.array(element.read_numbers("pos", (0.0, 0.0, 0.0)))
    R_frame_geom = compiler.read_orientation(element)
    size = element.read_numbers("size", (0.0, 0.0, 0.0), fewer=True)
    if "fromto" in element.attributes:
        ends = np.reshape(element.read_numbers("fromto", (0.0,) * 6), (2, 3))
        along = ends[1] - ends[0]
        p_frame_geom = ends.mean(axis=0)
        R_frame_geom = rotation_taking_z_to(normalise(element, "fromto", along))
        half = 0.5 * float(np.linalg.norm(along))
        size = (size[0], half, 0.0) if kind in ("capsule", "cylinder") else (size[0], size[0], half)
    return GeomShape(
        element=element,
        kind=kind,
        mesh=mesh,
        size=size,
        p_body_geom=geom.p_body_frame + geom.R_body_frame @ p_frame_geom,
        R_body_geom=geom.R_body_frame @ R_frame_geom,
    )


@dataclass(frozen=True)
class MeshAsset:
    """A <mesh> of the assets.

    Attributes:
        element: with its defaults.
        file: as the model names it, empty for none.
        T_geom_file: map of the file's numbers into the geom: reference pose, then scale, (4, 4).
    """

    element: Element
    file: str
    T_geom_file: Array


def read_mesh_asset(element: Element, defaults: DefaultClasses) -> MeshAsset:
    """Return a mesh of the assets."""
    asset = defaults.apply_to(element, None)
    scale = np.diag(asset.read_numbers("scale", (1.0, 1.0, 1.0)))
    wxyz = np.array(asset.read_numbers("refquat", (1.0, 0.0, 0.0, 0.0)))
    R_ref = matrix_from_wxyz(normalise(asset, "refquat", wxyz))
    T_geom_file = np.eye(4)
    T_geom_file[:3, :3] = scale @ R_ref.T
    T_geom_file[:3, 3] = -scale @ R_ref.T @ asset.read_numbers("refpos", (0.0, 0.0, 0.0))
    return MeshAsset(element=asset, file=asset.attributes.get("file", ""), T_geom_file=T_geom_file)


def find_asset_files(root: Element) -> MeshFinder:
    """Return what finds the files of a model: beside it, and in the folders that it names."""
    compilers = list(root.find_children("compiler"))
    keys = (*MESH_FOLDERS, *TEXTURE_FOLDERS)
    found = [c.attributes[key] for key in keys for c in compilers if key in c.attributes]
    return MeshFinder(root.path, tuple(folder.replace("\\", "/") for folder in found))


def list_assets(root: Element, tag: str) -> dict[str, Element]:
    """Return the assets of a kind by name; that of one without a name is its file's."""
    by_name: dict[str, Element] = {}
    for asset in root.find_children("asset"):
        for element in asset.find_children(tag):
            file = element.attributes.get("file", "").replace("\\", "/")
            stem = file.rpartition("/")[2].rpartition(".")[0]
            by_name.setdefault(element.attributes.get("name", stem), element)
    return by_name
