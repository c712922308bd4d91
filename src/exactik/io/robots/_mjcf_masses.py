"""Masses of the bodies of an MJCF: stated by <inertial>, or following from shapes, as in MuJoCo.

A body without <inertial> weighs what its geoms weigh: each its `mass`, else `density` times its
volume, or its surface if it is a shell; `inertiafromgeom`, `inertiagrouprange`, `boundmass` and
`settotalmass` of <compiler> count. A mesh is measured in one of MuJoCo's four ways. By default
("legacy") the pyramids from a point c to each triangle are added up without signs, which is its
volume where it is convex and too much where it is not:

    V_k = |n_k·(x_k − c)| A_k / 3        V = Σ V_k        V x_mesh = Σ V_k (3 x_k + c) / 4

with the area A, unit normal n and centre x of a triangle. c is the mean of the surface for x_mesh,
and then x_mesh for V. "exact" keeps the signs, "convex" takes the convex hull, "shell" the surface.
Masses of meshes need their files, so that they are worked out only when somebody asks. If a file
is missing, or a shape is fitted to a mesh, the masses of the whole figure are unknown, and a
sentence says why.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from functools import partial

import numpy as np

from exactik.errors import FileError
from exactik.io._xml import Element, read_xml
from exactik.io.meshes import read_mesh_file
from exactik.io.robots._mjcf_bodies import MjcfBody, MjcfModel
from exactik.io.robots._mjcf_geoms import (
    GeomShape,
    MeshAsset,
    find_asset_files,
    list_assets,
    read_mesh_asset,
    read_shape,
)
from exactik.model import BoneMass, LazyMasses
from exactik.typing import Array, IntArray

DENSITY = 1000.0  # of a geom that states none [kg/m³]: MuJoCo's, of water
MASS_GROUPS = (0.0, 5.0)  # MuJoCo's default of inertiagrouprange: all groups
THOMSEN_POWER = 1.6075  # of Thomsen's formula for the area of an ellipsoid, as MuJoCo has it
MESSAGE = "its mass is not known"

Measure = tuple[float, Array]  # volume or area, and centre


@dataclass(frozen=True)
class MassSettings:
    """What <compiler> says of masses."""

    # "auto" where <inertial> counts if it is there, "true" for geoms alone, "false"
    from_geom: str = "auto"
    groups: tuple[float, ...] = MASS_GROUPS  # first and last group of the geoms that count
    smallest: float = 0.0  # the least mass of a body [kg]
    total: float = -1.0  # of all bodies [kg]; not positive for what comes out


def read_mass_settings(root: Element) -> MassSettings:
    """Return the settings of all <compiler> elements together; later ones win."""
    found = MassSettings()
    for element in root.find_children("compiler"):
        found = MassSettings(
            from_geom=element.read_choice(
                "inertiafromgeom", found.from_geom, "auto", "true", "false"
            ),
            groups=element.read_numbers("inertiagrouprange", found.groups),
            smallest=element.read_number("boundmass", found.smallest),
            total=element.read_number("settotalmass", found.total),
        )
    return found


def find_masses(model: MjcfModel, metres: float) -> dict[str, BoneMass] | LazyMasses:
    """Return the masses of bodies; to be worked out later where meshes are needed.

    Args:
        metres: length of the file's unit [m].
    """
    try:
        return _MassReader(model).weigh(metres)
    except _NeedsFilesError:
        return LazyMasses(partial(read_masses, os.path.abspath(model.root.path), metres))


def read_masses(path: str, metres: float) -> dict[str, BoneMass]:
    """Return the masses of the bodies of a file; meshes are read.

    Raises:
        FileError: a mass is not known.
    """
    model = MjcfModel(read_xml(path))
    with np.errstate(over="ignore", invalid="ignore"):
        return _MassReader(model, reads_files=True).weigh(metres)


class _NeedsFilesError(Exception):
    """A mass follows from a mesh, or is not known at all."""


class _MassReader:
    """Works out the masses of bodies.

    Attributes:
        reads_files: whether meshes may be read; else they raise `_NeedsFilesError`.
    """

    def __init__(self, model: MjcfModel, reads_files: bool = False):
        self.model, self.reads_files = model, reads_files
        self.settings = read_mass_settings(model.root)
        self.meshes, self.finder = list_assets(model.root, "mesh"), find_asset_files(model.root)
        self._measured: dict[str, Measure] = {}

    def weigh(self, metres: float) -> dict[str, BoneMass]:
        """Return the masses of bodies that have any."""
        settings = self.settings
        masses: dict[str, BoneMass] = {}
        for body in self.model.bodies:
            mass, center = self._weigh_body(body)
            mass = max(mass, settings.smallest)
            if not (math.isfinite(mass) and np.isfinite(center).all()):
                raise body.element.error(f"{MESSAGE}: it is not finite")
            if mass > 0.0:
                x, y, z = (metres * center).tolist()
                masses[body.name] = BoneMass(mass, (x, y, z))
        total = sum(entry.mass for entry in masses.values())
        if settings.total > 0.0 and total > 0.0:
            factor = settings.total / total
            return {b: entry._replace(mass=factor * entry.mass) for b, entry in masses.items()}
        return masses

    def _weigh_body(self, body: MjcfBody) -> Measure:
        """Return mass [kg] and centre [unit of the file]."""
        settings = self.settings
        if settings.from_geom == "false" or (
            body.mass is not None and settings.from_geom == "auto"
        ):
            return (0.0, np.zeros(3)) if body.mass is None else body.mass
        if body.has_replicas:
            raise self._give_up(body.element, "its geoms are replicated, which is not read")
        total, moment = 0.0, np.zeros(3)
        for geom in body.geoms:
            shape = read_shape(self.model, *geom)
            first, last = settings.groups
            if first <= int(shape.element.read_number("group", 0.0)) <= last:
                mass, center = self._weigh_geom(shape)
                total, moment = total + mass, moment + mass * center
        return total, moment / total if total > 0.0 else moment

    def _weigh_geom(self, shape: GeomShape) -> Measure:
        """Return mass [kg] and centre in the body [unit of the file]."""
        element = shape.element
        stated = element.read_number("mass", -1.0)
        density = element.read_number("density", DENSITY)
        if stated == 0.0 or (stated < 0.0 and density == 0.0):
            return 0.0, np.zeros(3)
        is_shell = element.read_choice("shellinertia", "false", "true", "false") == "true"
        if shape.mesh != "" or shape.kind in ("mesh", "sdf"):
            measure, p_geom_center = self._measure_asset(shape, is_shell)
        else:
            measure, p_geom_center = measure_shape(shape.kind, shape.size, is_shell), np.zeros(3)
        center = shape.p_body_geom + shape.R_body_geom @ p_geom_center
        return stated if stated > 0.0 else density * measure, center

    def _measure_asset(self, shape: GeomShape, is_shell: bool) -> Measure:
        if shape.kind != "mesh":
            raise self._give_up(shape.element, f"a {shape.kind[:20]} is fitted to a mesh")
        if shape.mesh not in self.meshes:
            raise self._give_up(shape.element, f"mesh {shape.mesh[:60]!r} is no asset")
        if not self.reads_files:
            raise _NeedsFilesError
        if shape.mesh not in self._measured:
            asset = read_mesh_asset(self.meshes[shape.mesh], self.model.defaults)
            self._measured[shape.mesh] = self._measure_file(asset, is_shell)
        return self._measured[shape.mesh]

    def _measure_file(self, asset: MeshAsset, is_shell: bool) -> Measure:
        how = asset.element.read_choice(
            "inertia", "shell" if is_shell else "legacy", "legacy", "exact", "convex", "shell"
        )
        if asset.file == "":
            raise asset.element.error(f"{MESSAGE}: a mesh without a file")
        path = self.finder.find(asset.file)
        try:
            parts = read_mesh_file(path, self.finder)
        except OSError as error:
            raise FileError(path, f"cannot be read: {error.strerror or error}") from None
        corners = []
        for part in parts:
            T_geom_mesh = asset.T_geom_file @ part.T_file_mesh
            vertices = np.asarray(part.mesh.vertices, dtype=float)
            placed = vertices @ T_geom_mesh[:3, :3].T + T_geom_mesh[:3, 3]
            is_mirrored = np.linalg.det(T_geom_mesh[:3, :3]) < 0.0  # which turns faces inside out
            corners.append(placed[part.mesh.faces[:, ::-1] if is_mirrored else part.mesh.faces])
        return measure_mesh(np.concatenate(corners), how)

    def _give_up(self, element: Element, why: str) -> Exception:
        """Return the error that says why a mass is unknown; first only that it is to be told."""
        return element.error(f"{MESSAGE}: {why}") if self.reads_files else _NeedsFilesError()


def measure_shape(kind: str, size: tuple[float, ...], is_shell: bool) -> float:
    """Return the volume, or the area of the surface, of a shape of half lengths; 0 for a plane."""
    a, b, c = (abs(number) for number in size)
    if kind == "sphere":
        return 4.0 * math.pi * a * a if is_shell else 4.0 / 3.0 * math.pi * a**3
    if kind == "capsule":
        ends = measure_shape("sphere", size, is_shell)
        return ends + 2.0 * b * (2.0 * math.pi * a if is_shell else math.pi * a * a)
    if kind == "cylinder":
        area = 2.0 * math.pi * a * a + 2.0 * math.pi * a * 2.0 * b
        return area if is_shell else math.pi * a * a * 2.0 * b
    if kind == "box":
        return 8.0 * (a * b + b * c + c * a) if is_shell else 8.0 * a * b * c
    if kind == "ellipsoid":
        x, y, z = (length**THOMSEN_POWER for length in (a, b, c))
        area = 4.0 * math.pi * ((x * y + y * z + z * x) / 3.0) ** (1.0 / THOMSEN_POWER)
        return area if is_shell else 4.0 / 3.0 * math.pi * a * b * c
    return 0.0


def measure_mesh(corners: Array, how: str) -> Measure:
    """Return volume, or area of a shell, and centre of triangles in one of MuJoCo's ways.

    Args:
        corners: of the triangles, (n, 3, 3).
        how: "legacy", "exact", "convex" or "shell".
    """
    if how == "convex":
        corners = _find_hull(corners.reshape(-1, 3))
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    centers, areas = corners.mean(axis=1), 0.5 * np.linalg.norm(across, axis=1)
    area = float(areas.sum())
    middle = areas @ centers / area if area > 0.0 else np.zeros(3)
    if how == "shell":
        return area, middle
    volumes = _measure_pyramids(across, centers - middle, how)
    if volumes.sum() <= 0.0:
        return 0.0, middle
    center = volumes @ (0.75 * centers + 0.25 * middle) / volumes.sum()
    return float(_measure_pyramids(across, centers - center, how).sum()), center


def _measure_pyramids(across: Array, centers: Array, how: str) -> Array:
    """Return the volumes of pyramids from the origin to triangles, with signs if "exact", (n,)."""
    volumes = np.einsum("ni,ni->n", across, centers) / 6.0
    return volumes if how == "exact" else np.abs(volumes)


def _find_hull(points: Array) -> Array:
    """Return the triangles of the convex hull, (n, 3, 3), in either direction."""
    from scipy.spatial import ConvexHull, QhullError

    try:
        faces: IntArray = ConvexHull(points).simplices
    except (QhullError, ValueError):  # flat, or too few points
        return np.zeros((1, 3, 3))
    return points[faces]
