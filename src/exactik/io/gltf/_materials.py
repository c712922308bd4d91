"""Materials and textures of a glTF document."""

from __future__ import annotations

from collections import Counter
from typing import Any

from exactik.errors import FileError
from exactik.io.gltf._document import Document
from exactik.io.gltf._json import JsonObject
from exactik.model.visuals import MAX_PIXELS, Material, Texture, find_image_type, measure_image

SAMPLER_KEYS = ("magFilter", "minFilter", "wrapS", "wrapT")
ALPHA_MODES = ("OPAQUE", "MASK", "BLEND")


class MaterialReader:
    """Reads materials, each once, and images, each once.

    Attributes:
        not_kept: what of them is left out → how often.
        faults: what was wrong with those that could not be read.
    """

    def __init__(self, document: Document):
        """Read nothing yet."""
        self.document = document
        self.not_kept: Counter[str] = Counter()
        self.faults: list[FileError] = []
        self._materials = document.objects("materials")
        self._textures = document.objects("textures")
        self._images = document.objects("images")
        self._samplers = document.objects("samplers")
        self._read: dict[int, Material] = {}
        self._data: dict[int, tuple[bytes, str]] = {}

    def read(self, owner: JsonObject) -> Material:
        """Return the material of a primitive; glTF's default if it names none."""
        index = owner.index("material", self._materials)
        if index is None:
            return Material(base_colour=(1.0, 1.0, 1.0, 1.0), metallic=1.0, roughness=1.0)
        if index not in self._read:
            self._read[index] = self._convert(self._materials[index])
        return self._read[index]

    def _convert(self, material: JsonObject) -> Material:
        surface = material.object("pbrMetallicRoughness")
        red, green, blue, alpha = surface.numbers("baseColorFactor", (1.0, 1.0, 1.0, 1.0)).tolist()
        emissive = material.numbers("emissiveFactor", (0.0, 0.0, 0.0)).tolist()
        alpha_mode = material.text("alphaMode", "OPAQUE")
        if alpha_mode not in ALPHA_MODES:
            raise material.error(
                f"is {alpha_mode[:20]!r}; expected one of {ALPHA_MODES}", "alphaMode"
            )
        for name in material.object("extensions").value:
            self.not_kept[f"the extension {name[:40]} of a material"] += 1
        slots = {
            "base_colour": (surface, "baseColorTexture"),
            "metallic_roughness": (surface, "metallicRoughnessTexture"),
            "normal": (material, "normalTexture"),
            "occlusion": (material, "occlusionTexture"),
            "emissive": (material, "emissiveTexture"),
        }
        textures: dict[str, Texture] = {}
        for slot, (owner, key) in slots.items():
            if key in owner.value:
                try:
                    textures[slot] = self._read_texture(owner.object(key))
                except FileError as error:
                    self.faults.append(error)
        return Material(
            name=material.text("name"),
            base_colour=(red, green, blue, alpha),
            metallic=surface.number("metallicFactor", 1.0),
            roughness=surface.number("roughnessFactor", 1.0),
            emissive=(emissive[0], emissive[1], emissive[2]),
            alpha_mode=alpha_mode,
            alpha_cutoff=material.number("alphaCutoff", 0.5),
            double_sided=material.value.get("doubleSided", False) is True,
            textures=textures,
        )

    def _read_texture(self, use: JsonObject) -> Texture:
        """Return the texture that a material uses."""
        texture = self._textures[use.integer("index", count=len(self._textures))]
        if use.integer("texCoord", 0) != 0:
            self.not_kept["a second set of texture coordinates"] += 1
        for name in use.object("extensions").value:
            self.not_kept[f"the extension {name[:40]} of a texture"] += 1
        source = texture.integer("source", count=len(self._images))
        if source not in self._data:
            self._data[source] = self._read_image(self._images[source])
        data, image_type = self._data[source]
        sampler: dict[str, Any] = {}
        index = texture.index("sampler", self._samplers)
        if index is not None:
            chosen = self._samplers[index]
            sampler = {key: chosen.integer(key) for key in SAMPLER_KEYS if key in chosen.value}
        key = "scale" if "scale" in use.value else "strength"
        return Texture(data, image_type, sampler, use.number(key, 1.0))

    def _read_image(self, image: JsonObject) -> tuple[bytes, str]:
        data = self.document.read_image(image)
        image_type, size = find_image_type(data), measure_image(data)
        if image_type == "" or size is None:
            raise image.error("is neither PNG nor JPEG; expected one of them")
        if size[0] * size[1] > MAX_PIXELS:
            text = f"has {size[0]} × {size[1]} pixels; expected at most {MAX_PIXELS}"
            raise image.error(text)
        return data, image_type
