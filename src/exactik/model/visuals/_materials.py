"""How a surface reflects light: glTF's metallic-roughness model, its textures, and their images.

A browser decodes the images that it is given, so that a file of a kilobyte could ask it for
gigabytes. What an image is and how large is read from its first bytes here: PNG and JPEG.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike

from exactik.typing import Array

MAX_PIXELS = 8192 * 8192  # 256 MB when decoded; graphics processors take no larger texture
PNG_MAGIC, JPEG_MAGIC = b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff"


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
    """An image that covers a surface.

    Attributes:
        data: the bytes of a PNG or JPEG file, as they came; nothing here decodes them.
        image_type: "image/png" or "image/jpeg".
        sampler: how it is repeated and smoothed: glTF's wrapS, wrapT, minFilter, magFilter.
        strength: of a map of normals or of occlusion.
    """

    data: bytes = field(repr=False)
    image_type: str
    sampler: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    strength: float = 1.0


@dataclass(frozen=True)
class Material:
    """The look of a surface.

    Attributes:
        name: may be empty.
        base_colour: linear red, green, blue and opacity, from 0 to 1.
        metallic: from 0, as plastic, to 1.
        roughness: from 0, a mirror, to 1.
        emissive: linear red, green and blue that it shines with.
        alpha_mode: "OPAQUE", "MASK" or "BLEND".
        alpha_cutoff: opacity below which a masked surface is not drawn.
        double_sided: whether its back is drawn.
        textures: by what they stand for: "base_colour", "metallic_roughness", "normal",
            "occlusion" and "emissive".
    """

    name: str = ""
    base_colour: Colour = (0.6, 0.6, 0.6, 1.0)
    metallic: float = 0.0
    roughness: float = 0.8
    emissive: tuple[float, float, float] = (0.0, 0.0, 0.0)
    alpha_mode: str = "OPAQUE"
    alpha_cutoff: float = 0.5
    double_sided: bool = False
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
