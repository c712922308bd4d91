"""An FBX file as a glTF document, so that one reader makes figures and motions of both.

Nodes become nodes, below one that brings lengths to metres and, above it, one that says which axis
is up. The bones are what a modelling program calls limbs and what skins hang on; in a file without
any they are what moves and all below it, and in one without a motion all nodes.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from exactik.io._notes import Notes
from exactik.io.fbx._curves import Animation, read_animations
from exactik.io.fbx._nodes import Placement, place_geometry, place_node
from exactik.io.fbx._scene import Object, Scene
from exactik.io.fbx._surfaces import LazyArray, Surfaces
from exactik.io.gltf import Document, JsonObject, make_rotation_to_y_up
from exactik.spatial import axis_rotation
from exactik.typing import Array

LIMBS = ("LimbNode", "Limb", "Root", "Effector")  # subtypes of nodes that are bones
NO_BONES = ("Mesh", "Camera", "Light", "CameraSwitcher")
FIRST_NODES = 2  # what is up, and the unit


class FbxDocument(Document):
    """A glTF document whose arrays are at hand, and whose parts are named as in the FBX file."""

    def __init__(self, path: str, value: dict[str, Any], arrays: list[LazyArray], size: int):
        """Hold a document of a file of `size` bytes, and its arrays with their types."""
        self._arrays = arrays
        super().__init__(path, value, None, size)

    def objects(self, key: str) -> list[JsonObject]:
        """Return a list of objects, see `JsonObject.objects`."""
        parts = super().objects(key)
        for part in parts:
            part.place = part.value.get("place", part.place)
        return parts

    def read_accessor(self, owner: JsonObject, key: str, kind: str) -> Array:
        """Return an array, see `Document.read_accessor`."""
        return self._arrays[owner.value[key]][1]()

    def find_type(self, owner: JsonObject, key: str) -> str:
        """Return the type of an array, such as "VEC3"."""
        return self._arrays[owner.value[key]][0]


def read_fbx_document(path: str, notes: Notes, in_metres: bool = True) -> FbxDocument:
    """Return an FBX file as a glTF document.

    Args:
        in_metres: whether lengths are brought to metres; else they are as in the file.
    """
    scene = Scene(path, notes)
    models = scene.list_objects("Model")
    if len(models) == 0:
        raise notes.error("no Model in Objects; expected a figure")
    parents = _find_parents(scene, models)
    numbers = {model: k for k, model in enumerate(models, start=FIRST_NODES)}
    animations = read_animations(scene)
    arrays: list[LazyArray] = []
    nodes = _make_first_nodes(scene, path, scene.find_metres() if in_metres else 1.0)
    rest = {model: place_node(model, parents[model], {}) for model in models}
    for model in models:
        nodes.append({"name": model.name, "place": model.place, **_write_place(rest[model])})
    for model, parent in parents.items():
        owner = nodes[FIRST_NODES - 1 if parent is None else numbers[parent]]
        owner.setdefault("children", []).append(numbers[model])
    surfaces = Surfaces(numbers, arrays)
    surfaces.skins.append({"joints": _find_bones(models, parents, numbers, animations)})
    shapes = [(m, s) for m in models for s in m.list_parts("Geometry", "Mesh")]
    for model, shape in shapes:
        place = place_geometry(model)
        nodes[numbers[model]].setdefault("children", []).append(len(nodes))
        nodes.append({**_write_place(place), **surfaces.add(model, shape, place.matrix)})
    value = {
        "asset": {"version": "2.0", "generator": _find_maker(scene)},
        "nodes": nodes,
        "skins": surfaces.skins,
        "materials": surfaces.materials,
        "animations": [_write_animation(a, parents, numbers, rest, arrays) for a in animations],
    }
    if len(shapes) > 0:
        value["meshes"] = surfaces.meshes
    return FbxDocument(path, value, arrays, len(scene.file.data))


def _find_parents(scene: Scene, models: list[Object]) -> dict[Object, Object | None]:
    parents: dict[Object, Object | None] = {}
    for model in models:
        above = [link.other for link in model.owners if link.other.kind == "Model"]
        parents[model] = above[0] if len(above) > 0 else None
        seen, k = {model}, parents[model]
        while k in parents and k is not None and k not in seen:
            seen.add(k)
            k = parents[k]
        if k in seen:
            raise scene.notes.error("hangs in a cycle of nodes; expected trees", model.place)
    return parents


def _make_first_nodes(scene: Scene, path: str, metres: float) -> list[dict[str, Any]]:
    """Return the node that says what is up, and the one with the unit below it."""
    up_axis, is_turned = scene.find_up_axis()
    upright = Placement(np.zeros(3), make_rotation_to_y_up(up_axis), np.ones(3))
    top = {
        "name": Path(path).stem,
        "children": [1],
        **_write_place(upright),
        "extras": {"exactik": {"up_axis": up_axis}},
    }
    side = "x" if up_axis != "x" else "y"
    turn = axis_rotation(side, np.pi) if is_turned else np.eye(3)
    return [top, _write_place(Placement(np.zeros(3), turn, np.full(3, metres)))]


def _write_place(place: Placement) -> dict[str, Any]:
    return {
        "translation": place.translation.tolist(),
        "rotation": place.xyzw.tolist(),
        "scale": place.scale.tolist(),
    }


def _find_bones(
    models: list[Object],
    parents: dict[Object, Object | None],
    numbers: dict[Object, int],
    animations: list[Animation],
) -> list[int]:
    bones = [
        model
        for model in models
        if model.subtype in LIMBS or any(link.other.subtype == "Cluster" for link in model.owners)
    ]
    moved = {node for animation in animations for node in animation.moved}
    if len(bones) == 0:
        bones = [m for m in models if any(a in moved for a in _list_above(m, parents))]
    if len(bones) == 0:
        bones = [m for m in models if m.subtype not in NO_BONES] or models
    return [numbers[model] for model in bones]


def _list_above(model: Object | None, parents: dict[Object, Object | None]) -> list[Object]:
    """Return a node and those above it."""
    above = []
    while model is not None:
        above.append(model)
        model = parents[model]
    return above


def _write_animation(
    animation: Animation,
    parents: dict[Object, Object | None],
    numbers: dict[Object, int],
    rest: dict[Object, Placement],
    arrays: list[LazyArray],
) -> dict[str, Any]:
    """Return an animation as glTF has it; what stays at rest is left out."""
    channels: list[dict[str, Any]] = []
    samplers: list[dict[str, int]] = []
    arrays.append(("SCALAR", lambda: animation.times[:, None]))
    clock, count = len(arrays) - 1, len(animation.times)
    for node, moved in animation.moved.items():
        place = place_node(node, parents[node], moved)
        for path, values, usual in (
            ("translation", place.translation, rest[node].translation),
            ("rotation", place.rotation, rest[node].rotation),
            ("scale", place.scale, rest[node].scale),
        ):
            if (values == usual).all():
                continue
            kind, rows = ("VEC4", place.xyzw) if path == "rotation" else ("VEC3", values)
            arrays.append((kind, partial(np.broadcast_to, rows, (count, rows.shape[-1]))))
            channels.append(
                {"sampler": len(samplers), "target": {"node": numbers[node], "path": path}}
            )
            samplers.append({"input": clock, "output": len(arrays) - 1})
    return {
        "name": animation.name,
        "place": f"AnimationStack {animation.name[:60]!r}",
        "channels": channels,
        "samplers": samplers,
    }


def _find_maker(scene: Scene) -> str:
    record = scene.file.root.first("Creator")
    return record.value(0, str, "") if record is not None else ""
