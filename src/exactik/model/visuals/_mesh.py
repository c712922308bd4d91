"""A surface of triangles, shapes that robots are described with, and how surfaces reflect light.

A browser decodes the images that it is given, so that a file of a kilobyte could ask it for
gigabytes. What an image is and how large is read from its first bytes here: PNG and JPEG.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from exactik.errors import ModelError
from exactik.typing import Array

# Of one mesh: 20 times the largest of 1,900 meshes of robots, and 100 MB in a browser.
MAX_VERTICES = 4_000_000

Floats = NDArray[np.floating[Any]]
MAX_PIXELS = 8192 * 8192  # 256 MB when decoded; graphics processors take no larger texture
PNG_MAGIC, JPEG_MAGIC = b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff"


@dataclass(frozen=True, eq=False, repr=False)
class Mesh:
    """Triangles, counter-clockwise as seen from outside; arrays of single precision, read-only.

    Attributes:
        vertices: [m], (n, 3).
        faces: three vertices each, (m, 3).
        normals: unit vectors, (n, 3), or None.
        uv: texture coordinates, (n, 2), (0, 0) the upper left corner of the image; or None.
        colours: linear red, green, blue and opacity from 0 to 1, (n, 4), or None.
    """

    vertices: Floats
    faces: NDArray[np.integer[Any]]
    normals: Floats | None = None
    uv: Floats | None = None
    colours: Floats | None = None

    def __post_init__(self) -> None:
        """Check sizes, and that faces name vertices that exist."""
        n = len(self.vertices)
        if n > MAX_VERTICES or len(self.faces) > 2 * MAX_VERTICES:
            raise ModelError(f"a mesh of {n} vertices; at most {MAX_VERTICES} are shown")
        shapes = {"vertices": 3, "faces": 3, "normals": 3, "uv": 2, "colours": 4}
        for name, width in shapes.items():
            values = getattr(self, name)
            if values is None:
                continue
            dtype = np.uint32 if name == "faces" else np.float32
            array = np.ascontiguousarray(values, dtype=dtype).reshape(-1, width)
            if name not in ("faces", "vertices") and len(array) != n:
                raise ModelError(f"a mesh of {n} vertices has {len(array)} {name}")
            if name != "faces" and not np.isfinite(array).all():
                raise ModelError(f"{name} of a mesh are not finite")
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        if len(self.faces) > 0 and int(self.faces.max()) >= n:
            raise ModelError(f"a face has vertex {int(self.faces.max())}, and there are {n}")

    def __repr__(self) -> str:
        return f"<Mesh: {len(self.vertices)} vertices, {len(self.faces)} faces>"

    def with_normals(self) -> Mesh:
        """Return the same with normals, computed where it has none."""
        if self.normals is not None:
            return self
        normals = compute_normals(self.vertices, self.faces).astype(np.float32)
        return Mesh(self.vertices, self.faces, normals, self.uv, self.colours)


def compute_normals(vertices: Floats, faces: NDArray[np.integer[Any]]) -> Array:
    """Return unit normals, (n, 3): the mean of those of the faces at a vertex, by their areas."""
    corners = np.asarray(vertices, dtype=float)[faces]
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normals = np.zeros((len(vertices), 3))
    for axis in range(3):
        weights = np.repeat(across[:, axis], 3)
        normals[:, axis] = np.bincount(faces.ravel(), weights, minlength=len(vertices))
    length = np.linalg.norm(normals, axis=1, keepdims=True)
    upwards = np.array([0.0, 0.0, 1.0])  # for a vertex of no face, or of faces without area
    return np.where(length > 0.0, normals / np.where(length > 0.0, length, 1.0), upwards)


def join_meshes(meshes: Sequence[Mesh]) -> Mesh:
    """Return several meshes as one; what only some of them have is left out."""

    def stack(name: str) -> Floats | None:
        parts = [getattr(mesh, name) for mesh in meshes]
        return None if any(part is None for part in parts) else np.concatenate(parts)

    firsts = np.cumsum([0, *(len(mesh.vertices) for mesh in meshes)])
    return Mesh(
        vertices=np.concatenate([mesh.vertices for mesh in meshes]),
        faces=np.concatenate(
            [mesh.faces + np.uint32(first) for mesh, first in zip(meshes, firsts, strict=False)]
        ),
        normals=stack("normals"),
        uv=stack("uv"),
        colours=stack("colours"),
    )


CACHED_SHAPES = 256  # robots of primitives have many that are alike; decides nothing else
SIDES = 32  # of what is round
RINGS = 16  # from pole to pole


@lru_cache(maxsize=CACHED_SHAPES)
def make_box(size: tuple[float, float, float]) -> Mesh:
    """Return a box about the origin, of these lengths along x, y and z [m]."""
    vertices, normals, faces = [], [], []
    for axis in range(3):
        for sign in (1.0, -1.0):
            normal = sign * np.eye(3)[axis]
            u = np.eye(3)[(axis + 1) % 3]
            v = np.cross(normal, u)
            corners = [normal + a * u + b * v for a, b in ((-1, -1), (1, -1), (1, 1), (-1, 1))]
            first = len(vertices)
            vertices += corners
            normals += [normal] * 4
            faces += [(first, first + 1, first + 2), (first, first + 2, first + 3)]
    return Mesh(0.5 * np.array(size) * np.array(vertices), np.array(faces), np.array(normals))


@lru_cache(maxsize=CACHED_SHAPES)
def make_cylinder(radius: float, length: float) -> Mesh:
    """Return a cylinder about the origin, along z [m]."""
    angles = 2.0 * np.pi * np.arange(SIDES) / SIDES
    circle = np.stack([np.cos(angles), np.sin(angles), np.zeros(SIDES)], axis=1)
    up, half = np.array([0.0, 0.0, 1.0]), 0.5 * length
    vertices = [radius * circle + sign * half * up for sign in (-1.0, 1.0)] * 2
    normals = [circle, circle, np.tile(-up, (SIDES, 1)), np.tile(up, (SIDES, 1))]
    side, following = np.arange(SIDES), (np.arange(SIDES) + 1) % SIDES
    faces = [
        np.stack([side, following, SIDES + following], axis=1),
        np.stack([side, SIDES + following, SIDES + side], axis=1),
    ]
    inner = np.arange(1, SIDES - 1)
    bottom, top = 2 * SIDES, 3 * SIDES
    faces.append(
        np.stack([np.full(len(inner), bottom), bottom + inner + 1, bottom + inner], axis=1)
    )
    faces.append(np.stack([np.full(len(inner), top), top + inner, top + inner + 1], axis=1))
    return Mesh(np.concatenate(vertices), np.concatenate(faces), np.concatenate(normals))


def make_sphere(radius: float) -> Mesh:
    """Return a sphere about the origin [m]."""
    return make_capsule(radius, 0.0)


@lru_cache(maxsize=CACHED_SHAPES)
def make_capsule(radius: float, length: float) -> Mesh:
    """Return a cylinder of this length [m] along z with half a sphere at both ends."""
    polar = np.linspace(0.0, np.pi, RINGS + 1)
    # The ring of the equator is there twice: the cylinder lies between.
    rings = np.concatenate([polar[: RINGS // 2 + 1], polar[RINGS // 2 :]])
    shift = np.where(np.arange(len(rings)) <= RINGS // 2, 0.5, -0.5) * length
    azimuth = 2.0 * np.pi * np.arange(SIDES + 1) / SIDES
    lat, lon = np.meshgrid(rings, azimuth, indexing="ij")
    normals: Array = np.stack(
        [np.sin(lat) * np.cos(lon), np.sin(lat) * np.sin(lon), np.cos(lat)], axis=-1
    )
    vertices = radius * normals
    vertices[..., 2] += shift[:, None]
    columns = SIDES + 1
    ring, side = np.meshgrid(np.arange(len(rings) - 1), np.arange(SIDES), indexing="ij")
    a = (ring * columns + side).ravel()
    below = np.stack([a, a + columns, a + columns + 1], axis=1)
    above = np.stack([a, a + columns + 1, a + 1], axis=1)
    return Mesh(vertices.reshape(-1, 3), np.concatenate([below, above]), normals.reshape(-1, 3))


def find_image_type(data: bytes) -> str:
    """Return "image/png" or "image/jpeg"; empty for anything else."""
    if data.startswith(PNG_MAGIC):
        return "image/png"
    return "image/jpeg" if data.startswith(JPEG_MAGIC) else ""


def measure_image(data: bytes) -> tuple[int, int] | None:
    """Return width and height in pixels; None if they cannot be told."""
    if data.startswith(PNG_MAGIC) and len(data) >= 24:
        width, height = struct.unpack_from(">II", data, 16)
        return width, height
    if not data.startswith(JPEG_MAGIC):
        return None
    start = 2
    while start + 9 <= len(data) and data[start] == 0xFF:
        marker = data[start + 1]
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):  # a frame header
            height, width = struct.unpack_from(">HH", data, start + 5)
            return width, height
        if marker == 0xFF:  # a fill byte
            start += 1
            continue
        start += 2 + struct.unpack_from(">H", data, start + 2)[0]
    return None


Colour = tuple[float, float, float, float]


@dataclass(frozen=True)
class Texture:
    """An image that covers a surface."""

    # The bytes of a PNG or JPEG file, as they came; nothing here decodes them
    data: bytes = field(repr=False)
    image_type: str  # "image/png" or "image/jpeg"
    # How it is repeated and smoothed: glTF's wrapS, wrapT, minFilter, magFilter
    sampler: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    strength: float = 1.0  # of a map of normals or of occlusion


@dataclass(frozen=True)
class Material:
    """The look of a surface."""

    name: str = ""  # may be empty
    base_colour: Colour = (0.6, 0.6, 0.6, 1.0)  # linear red, green, blue and opacity, from 0 to 1
    metallic: float = 0.0  # from 0, as plastic, to 1
    roughness: float = 0.8  # from 0, a mirror, to 1
    # Linear red, green and blue that it shines with
    emissive: tuple[float, float, float] = (0.0, 0.0, 0.0)
    alpha_mode: str = "OPAQUE"  # "OPAQUE", "MASK" or "BLEND"
    alpha_cutoff: float = 0.5  # opacity below which a masked surface is not drawn
    double_sided: bool = False  # whether its back is drawn
    # By what they stand for: "base_colour", "metallic_roughness", "normal", "occlusion" and
    # "emissive"
    textures: Mapping[str, Texture] = field(default_factory=lambda: MappingProxyType({}))

    @classmethod
    def of_srgb(cls, colour: ArrayLike, name: str = "", **more: object) -> Material:
        """Return a material of a colour as files of robots have it: sRGB, (3,) or (4,), 0 to 1."""
        rgba = np.append(np.asarray(colour, dtype=float)[:4], 1.0)[:4]
        red, green, blue = srgb_to_linear(rgba[:3]).tolist()
        alpha = float(np.clip(rgba[3], 0.0, 1.0))
        options = {"alpha_mode": "BLEND" if alpha < 1.0 else "OPAQUE", **more}
        return cls(name, (red, green, blue, alpha), **options)  # type: ignore[arg-type]


def srgb_to_linear(colours: ArrayLike) -> Array:
    """Return linear colours of sRGB colours, both from 0 to 1, (…,)."""
    srgb = np.clip(np.asarray(colours, dtype=float), 0.0, 1.0)
    return np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)
