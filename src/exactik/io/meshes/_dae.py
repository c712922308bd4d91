"""COLLADA: nodes with transforms, geometries of triangles or polygons, colours and textures.

Its unit of length is applied, its up axis is not: programs that read robots leave that out as well,
and files are made for them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from exactik.errors import FileError
from exactik.io._xml import Element, read_xml
from exactik.io.meshes._parts import MeshPart, cut_polygons, shade
from exactik.model.visuals import Material, Mesh, Texture
from exactik.spatial import exp_rotation
from exactik.typing import Array, IntArray

PRIMITIVES = ("triangles", "polylist", "polygons")
MAX_NODES = 100_000  # instances of nodes could multiply without end

OpenTexture = Callable[[str], Texture | None]


def read_dae(path: str, open_texture: OpenTexture) -> list[MeshPart]:
    """Return the surfaces in a .dae file, in metres."""
    document = Collada(read_xml(path), open_texture)
    parts = document.read_parts()
    if len(parts) == 0:
        raise FileError(path, "no triangles or polygons; expected a surface")
    return parts


class Collada:
    """A document, whose parts refer to each other by ids."""

    def __init__(self, root: Element, open_texture: OpenTexture):
        """List what has an id."""
        if root.tag != "COLLADA":
            raise root.error("expected <COLLADA>")
        self.root, self.open_texture = root, open_texture
        self.by_id: dict[str, Element] = {}
        for element in root.find_descendants():
            if "id" in element.attributes:
                self.by_id.setdefault(element.attributes["id"], element)
        self._materials: dict[str, Material | None] = {}

    def _refer(self, element: Element, key: str = "url") -> Element | None:
        return self.by_id.get(element.attributes.get(key, "").removeprefix("#"))

    def read_parts(self) -> list[MeshPart]:
        """Return all geometries where nodes have them; if there are no nodes, as they are."""
        asset = self.root.first("asset")
        unit = None if asset is None else asset.first("unit")
        metres = 1.0 if unit is None else unit.read_number("meter", 1.0)
        parts: list[MeshPart] = []
        scale = np.diag([metres, metres, metres, 1.0])
        stack = [
            (node, scale)
            for scene in self.root.find_descendants("visual_scene")
            for node in scene.find_children("node")
        ][::-1]
        visited = 0
        while len(stack) > 0:
            node, T_file_parent = stack.pop()
            visited += 1
            if visited > MAX_NODES:
                raise node.error(f"more than {MAX_NODES} nodes; expected a mesh")
            T_file_node = T_file_parent @ _read_transform(node)
            for instance in node.find_children("instance_geometry"):
                geometry = self._refer(instance)
                if geometry is not None:
                    parts += self._read_geometry(geometry, instance, T_file_node)
            inner = list(node.find_children("node"))
            for instance in node.find_children("instance_node"):
                target = self._refer(instance)
                if target is not None:
                    inner.append(target)
            stack.extend((child, T_file_node) for child in reversed(inner))
        if visited == 0:
            for geometry in self.root.find_descendants("geometry"):
                parts += self._read_geometry(geometry, None, scale)
        return parts

    def _read_geometry(
        self, geometry: Element, instance: Element | None, T_file_mesh: Array
    ) -> list[MeshPart]:
        bound = {
            link.attributes.get("symbol", ""): link.attributes.get("target", "").removeprefix("#")
            for link in (instance.find_descendants("instance_material") if instance else ())
        }
        parts = []
        for mesh in geometry.find_children("mesh"):
            for primitive in mesh.find_children(*PRIMITIVES):
                surface = self._read_primitive(primitive)
                if surface is not None:
                    symbol = primitive.attributes.get("material", "")
                    material = self._read_material(bound.get(symbol, symbol))
                    parts.append(MeshPart(surface, material, T_file_mesh))
        return parts

    # --- numbers

    def _read_primitive(self, primitive: Element) -> Mesh | None:
        inputs: dict[str, tuple[Element, int]] = {}
        width = 1
        for entry in primitive.find_children("input"):
            source, offset = self._refer(entry, "source"), int(entry.read_number("offset", 0.0))
            if not 0 <= offset < 64:
                raise entry.error(f"offset is {offset}; expected a small number")
            width = max(width, offset + 1)
            if source is not None:
                inputs.setdefault(entry.attributes.get("semantic", ""), (source, offset))
        if "VERTEX" not in inputs:
            raise primitive.error("no input of vertices; expected one")
        holder, place = inputs["VERTEX"]
        for entry in holder.find_children("input"):  # of <vertices>
            source = self._refer(entry, "source")
            if source is not None:
                inputs.setdefault(entry.attributes.get("semantic", ""), (source, place))
        lists = [_parse(p, integers=True) for p in primitive.find_children("p")]
        if len(lists) == 0 or sum(map(len, lists)) == 0:
            return None
        rows = np.concatenate(lists).astype(np.int64)
        if len(rows) % width != 0 or "POSITION" not in inputs:
            raise primitive.error(f"{len(rows)} indices; expected {width} for each corner")
        rows = rows.reshape(-1, width)
        triangles = cut_polygons(np.arange(len(rows)), self._count_corners(primitive, lists, rows))
        keys, corner = np.unique(rows, axis=0, return_inverse=True)
        triangles = corner.reshape(-1)[triangles]
        points = self._pick(inputs["POSITION"], keys, 3, primitive)
        uv = self._pick(inputs["TEXCOORD"], keys, 2, primitive) if "TEXCOORD" in inputs else None
        if uv is not None:
            uv = uv * (1.0, -1.0) + (0.0, 1.0)  # v runs upwards in COLLADA
        if "NORMAL" not in inputs:
            return shade(points, triangles, uv)
        normals = self._pick(inputs["NORMAL"], keys, 3, primitive)
        length = np.linalg.norm(normals, axis=1, keepdims=True)
        up = (0.0, 0.0, 1.0)
        unit = np.where(length > 0.0, normals / np.where(length > 0.0, length, 1.0), up)
        return Mesh(points, triangles, unit, uv)

    def _count_corners(self, primitive: Element, lists: list[Array], rows: IntArray) -> IntArray:
        """Return the number of corners of each polygon."""
        counts = np.full(len(rows) // 3, 3)
        if primitive.tag == "polygons":
            counts = np.array([len(part) * len(rows) // sum(map(len, lists)) for part in lists])
        elif primitive.tag == "polylist":
            vcount = primitive.first("vcount")
            counts = np.empty(0, int) if vcount is None else _parse(vcount, integers=True)
        if (counts < 0).any() or counts.sum() > len(rows):
            raise primitive.error(f"polygons of {counts.sum()} corners, and {len(rows)} are there")
        return counts.astype(np.int64)

    def _pick(
        self, entry: tuple[Element, int], keys: IntArray, width: int, owner: Element
    ) -> Array:
        """Return the rows of a source that corners name, (n, width)."""
        source, offset = entry
        array = source.first("float_array")
        if array is None:
            raise source.error("no <float_array>; expected numbers")
        accessor = next(source.find_descendants("accessor"), None)
        stride = int(accessor.read_number("stride", width)) if accessor is not None else width
        values = _parse(array)
        if not width <= stride <= 64:
            raise source.error(f"stride is {stride}; expected at least {width}")
        table = values[: len(values) // stride * stride].reshape(-1, stride)[:, :width]
        index = keys[:, offset]
        if len(table) == 0 or index.min() < 0 or index.max() >= len(table):
            raise owner.error(f"an index that is none of {len(table)}; expected one that is")
        return table[index]

    # --- materials

    def _read_material(self, name: str) -> Material | None:
        if name not in self._materials:
            material = self.by_id.get(name)
            instance = None if material is None else material.first("instance_effect")
            effect = None if instance is None else self._refer(instance)
            self._materials[name] = None if effect is None else self._read_effect(name, effect)
        return self._materials[name]

    def _read_effect(self, name: str, effect: Element) -> Material | None:
        diffuse = next(effect.find_descendants("diffuse"), None)
        if diffuse is None:
            return None
        colour, texture = diffuse.first("color"), diffuse.first("texture")
        image = None if texture is None else self._find_image(effect, texture)
        if image is not None:
            return Material.of_srgb((1.0, 1.0, 1.0), name, textures={"base_colour": image})
        if colour is None:
            return None
        rgba = _parse(colour)
        # Opacity is meant in so many ways that few files agree with what programs make of it.
        return Material.of_srgb(rgba[:3], name) if len(rgba) >= 3 else None

    def _find_image(self, effect: Element, texture: Element) -> Texture | None:
        """Return the image of a texture: through a sampler and a surface, or directly."""
        params = {p.attributes.get("sid", ""): p for p in effect.find_descendants("newparam")}
        name = texture.attributes.get("texture", "")
        for _ in range(2):
            param = params.get(name)
            if param is None:
                break
            links = param.find_descendants("source", "init_from", "instance_image")
            link = next(links, None)
            if link is None:
                break
            name = link.text or link.attributes.get("url", "").removeprefix("#")
        image = self.by_id.get(name)
        file = None if image is None else next(image.find_descendants("init_from"), None)
        if file is None:
            return None
        reference = file.text or next((ref.text for ref in file.find_children("ref")), "")
        return self.open_texture(reference.removeprefix("file://"))


def _parse(element: Element, integers: bool = False) -> Array:
    """Return the numbers in the text of an element, (n,)."""
    try:
        values = np.array(element.text.split(), dtype=float)
    except ValueError:
        raise element.error("a word is no number; expected numbers") from None
    if not np.isfinite(values).all() or (integers and len(values) > 0 and abs(values).max() > 1e15):
        raise element.error("numbers that are not finite; expected others")
    return values


def _read_transform(node: Element) -> Array:
    """Return T_parent_node, (4, 4): the product of its transforms in the order of the file."""
    T_parent_node = np.eye(4)
    for element in node.find_children("matrix", "translate", "rotate", "scale"):
        values = _parse(element)
        step, width = np.eye(4), {"matrix": 16, "rotate": 4}.get(element.tag, 3)
        if len(values) != width:
            raise element.error(f"{len(values)} numbers; expected {width}")
        if element.tag == "matrix":
            step = values.reshape(4, 4)
        elif element.tag == "translate":
            step[:3, 3] = values
        elif element.tag == "scale":
            step[:3, :3] = np.diag(values)
        else:
            length = np.linalg.norm(values[:3])
            axis = values[:3] / (length if length > 0.0 else 1.0)
            step[:3, :3] = exp_rotation(axis * np.radians(values[3]))
        T_parent_node = T_parent_node @ step
    return T_parent_node
