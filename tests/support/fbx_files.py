"""Makes binary FBX files record by record, and says where their nodes are: an oracle of its own."""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

MAGIC = b"Kaydara FBX Binary  \x00\x1a\x00"
TICKS = 46_186_158_000
ORDERS = ("XYZ", "XZY", "YZX", "YXZ", "ZXY", "ZYX")  # the axis that turns first stands first
CODES = {"float32": "f", "float64": "d", "int32": "i", "int64": "l"}


@dataclass
class Rec:
    """A record: int → L (I with `Int`), float → D, str → S, array → an array."""

    name: str
    values: list[Any] = field(default_factory=list)
    records: list[Rec] = field(default_factory=list)


class Int(int):
    """A number of 32 bits."""


def encode_value(value: Any, deflate: bool) -> bytes:
    if isinstance(value, np.ndarray):
        raw = value.tobytes()
        packed = zlib.compress(raw) if deflate else raw
        head = CODES[value.dtype.name].encode() + struct.pack(
            "<III", value.size, deflate, len(packed)
        )
        return head + packed
    if isinstance(value, Int):
        return b"I" + struct.pack("<i", value)
    if isinstance(value, int):
        return b"L" + struct.pack("<q", value)
    if isinstance(value, float):
        return b"D" + struct.pack("<d", value)
    data = value.encode()
    return b"S" + struct.pack("<I", len(data)) + data


def encode_record(record: Rec, start: int, wide: bool, deflate: bool) -> bytes:
    head = struct.Struct("<QQQB" if wide else "<IIIB")
    values = b"".join(encode_value(value, deflate) for value in record.values)
    name = record.name.encode()
    body = name + values
    for inner in record.records:
        body += encode_record(inner, start + head.size + len(body), wide, deflate)
    if len(record.records) > 0:
        body += bytes(head.size)
    end = start + head.size + len(body)
    return head.pack(end, len(record.values), len(values), len(name)) + body


def encode_fbx(records: list[Rec], version: int = 7400, deflate: bool = True) -> bytes:
    data = MAGIC + struct.pack("<I", version)
    for record in records:
        data += encode_record(record, len(data), version >= 7500, deflate)
    return data + bytes(25 if version >= 7500 else 13) + b"footer" + bytes(200)


def properties(values: dict[str, Any]) -> Rec:
    """Properties70: a tuple of numbers, a number or a whole number each."""
    rows = []
    for name, value in values.items():
        numbers = list(value) if isinstance(value, tuple | list) else [value]
        typed = [Int(x) if isinstance(x, int) else float(x) for x in numbers]
        rows.append(Rec("P", [name, "", "", "A", *typed]))
    return Rec("Properties70", [], rows)


@dataclass
class Node:
    """A node of a made file; `moved` has curves by channel: times [s] and values, (n, 3)."""

    name: str
    parent: int = -1
    subtype: str = "LimbNode"
    props: dict[str, Any] = field(default_factory=dict)
    moved: dict[str, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict)


@dataclass
class Made:
    """A figure to be written.

    Attributes:
        nodes: parents first.
        settings: of the file.
        mesh: the node of a mesh with a skin of all limbs, −1 for none; Transform is that at rest.
        kind: of the keys: 4 straight, 8 cubic, 2 steps.
        seed: of the mesh.
    """

    nodes: list[Node]
    settings: dict[str, Any] = field(default_factory=dict)
    mesh: int = -1
    kind: int = 4
    seed: int = 0

    def encode(self, version: int = 7400, deflate: bool = True) -> bytes:
        objects, links = Rec("Objects"), Rec("Connections")
        ids = [1000 + k for k in range(len(self.nodes))]

        def link(part: int, owner: int, role: str = "") -> None:
            kind = "OO" if role == "" else "OP"
            links.records.append(Rec("C", [kind, part, owner, *([role] if role else [])]))

        def add(number: int, kind: str, name: str, subtype: str, records: list[Rec]) -> None:
            objects.records.append(Rec(kind, [number, f"{name}\0\1{kind}", subtype], records))

        for k, node in enumerate(self.nodes):
            add(ids[k], "Model", node.name, node.subtype, [properties(node.props)])
            link(ids[k], ids[node.parent] if node.parent >= 0 else 0)
        if any(node.moved for node in self.nodes):
            add(1, "AnimationStack", "take", "", [])
            add(2, "AnimationLayer", "base", "", [])
            link(2, 1)
        number = 5000
        for k, node in enumerate(self.nodes):
            for channel, (times, values) in node.moved.items():
                add(number, "AnimationCurveNode", channel[4:5], "", [])
                link(number, 2)
                link(number, ids[k], channel)
                group = number
                for axis in range(3):
                    number += 1
                    add(number, "AnimationCurve", "", "", self._curve(times, values[:, axis]))
                    link(number, group, f"d|{'XYZ'[axis]}")
                number += 1
        if self.mesh >= 0:
            self._add_mesh(ids, add, link)
        return encode_fbx(
            [Rec("GlobalSettings", [], [properties(self.settings)]), objects, links],
            version,
            deflate,
        )

    def _curve(self, times: np.ndarray, values: np.ndarray) -> list[Rec]:
        slopes = np.gradient(values, times) if len(times) > 1 else np.zeros(1)
        data = np.stack([slopes, np.append(slopes[1:], 0.0), 0 * slopes, 0 * slopes], axis=1)
        return [
            Rec("KeyTime", [np.rint(times * TICKS).astype(np.int64)]),
            Rec("KeyValueFloat", [values.astype(np.float32)]),
            Rec("KeyAttrFlags", [np.full(len(times), self.kind | 0x400, dtype=np.int32)]),
            Rec("KeyAttrDataFloat", [data.astype(np.float32).ravel()]),
            Rec("KeyAttrRefCount", [np.ones(len(times), dtype=np.int32)]),
        ]

    def surface(self) -> tuple[np.ndarray, np.ndarray]:
        """Return vertices of the mesh and their weights on the limbs, four each."""
        rng = np.random.default_rng(self.seed)
        limbs = [k for k, node in enumerate(self.nodes) if node.subtype == "LimbNode"]
        weights = np.zeros((30, len(self.nodes)))
        for row in weights:
            chosen = rng.choice(limbs, min(4, len(limbs)), replace=False)
            row[chosen] = rng.dirichlet(np.ones(len(chosen)))
        return rng.normal(size=(30, 3)), weights

    def _add_mesh(self, ids: list[int], add: Any, link: Any) -> None:
        vertices, weights = self.surface()
        corners = [0, 1, ~2, 3, 4, 5, ~6, *[~k if k % 3 == 0 else k for k in range(7, 31)]]
        corners = [c if c != ~30 else ~29 for c in corners]
        polygons = sum(c < 0 for c in corners)
        materials = Rec(
            "LayerElementMaterial",
            [Int(0)],
            [
                Rec("MappingInformationType", ["ByPolygon"]),
                Rec("Materials", [np.arange(polygons, dtype=np.int32) % 2]),
            ],
        )
        shape = [
            Rec("Vertices", [vertices.ravel()]),
            Rec("PolygonVertexIndex", [np.array(corners, dtype=np.int32)]),
            materials,
        ]
        add(900, "Geometry", "skin", "Mesh", shape)
        link(900, ids[self.mesh])
        for k, colour in enumerate(((0.9, 0.1, 0.2), (0.1, 0.2, 0.7))):
            add(910 + k, "Material", f"m{k}", "", [properties({"DiffuseColor": colour})])
            link(910 + k, ids[self.mesh])
        add(901, "Deformer", "", "Skin", [])
        link(901, 900)
        rest = self.place(None)
        for k, node in enumerate(self.nodes):
            used = np.flatnonzero(weights[:, k]).astype(np.int32)
            if node.subtype != "LimbNode" or len(used) == 0:
                continue
            transform = np.linalg.inv(rest[k]) @ rest[self.mesh]
            records = [
                Rec("Indexes", [used]),
                Rec("Weights", [weights[used, k]]),
                Rec("Transform", [transform.T.ravel()]),
                Rec("TransformLink", [rest[k].T.ravel()]),
            ]
            add(920 + k, "Deformer", node.name, "Cluster", records)
            link(920 + k, 901)
            link(ids[k], 920 + k)

    def place_geometry(self) -> np.ndarray:
        """Return where the mesh is in its node, (4, 4)."""
        props = self.nodes[self.mesh].props
        angles = np.array(props.get("GeometricRotation", (0.0, 0.0, 0.0)))
        away = np.array(props.get("GeometricTranslation", (0.0, 0.0, 0.0)))
        return shift(away) @ turn(angles, "XYZ")

    def place(self, frame: int | None) -> list[np.ndarray]:
        """Return where the nodes are in the world in the units of the file, (4, 4) each.

        As Autodesk's help defines it, as a product of matrices, for uniform scales.

        Args:
            frame: which of the keys; None for rest.
        """
        placed: list[np.ndarray] = []
        for node in self.nodes:

            def get(name: str, usual: float = 0.0, node: Node = node) -> np.ndarray:
                if frame is not None and name in node.moved:
                    return node.moved[name][1][frame]
                return np.array(node.props.get(name, 3 * (usual,)), dtype=float)

            active = node.props.get("RotationActive", 0)
            order = ORDERS[node.props.get("RotationOrder", 0)] if active else "XYZ"
            pre, post = (get(n) * active for n in ("PreRotation", "PostRotation"))
            scale = get("Lcl Scaling", 1.0)
            local = (
                shift(get("Lcl Translation") + get("RotationOffset") + get("RotationPivot"))
                @ turn(pre, "XYZ")
                @ turn(get("Lcl Rotation"), order)
                @ np.linalg.inv(turn(post, "XYZ"))
                @ shift(get("ScalingOffset") + get("ScalingPivot") - get("RotationPivot"))
                @ np.diag([*scale, 1.0])
                @ shift(-get("ScalingPivot"))
            )
            if node.parent >= 0 and node.props.get("InheritType", 0) == 2:
                local[:3, :3] /= self.nodes[node.parent].props.get("Lcl Scaling", (1.0,))[0]
            placed.append(local if node.parent < 0 else placed[node.parent] @ local)
        return placed


def shift(x: np.ndarray) -> np.ndarray:
    T = np.eye(4)
    T[:3, 3] = x
    return T


def turn(degrees: np.ndarray, order: str) -> np.ndarray:
    T = np.eye(4)
    for axis in order:
        k = "XYZ".index(axis)
        c, s = np.cos(np.radians(degrees[k])), np.sin(np.radians(degrees[k]))
        R = np.eye(4)
        i, j = (k + 1) % 3, (k + 2) % 3
        R[i, i] = R[j, j] = c
        R[j, i], R[i, j] = s, -s
        T = R @ T
    return T


def make_figure(
    seed: int, frames: int = 12, rate: float = 30.0, limbs: int = 7, **more: Any
) -> Made:
    """Return a figure of random limbs below a Null, with every kind of rotation and pivot."""
    rng = np.random.default_rng(seed)
    nodes = [Node("holder", -1, "Null", {"Lcl Translation": tuple(rng.normal(size=3) * 10)})]
    nodes[0].props |= {"Lcl Rotation": (10.0, 20.0, -30.0), "Lcl Scaling": (2.0, 2.0, 2.0)}
    times = np.arange(frames) / rate

    def v(size: float) -> tuple[float, ...]:
        return tuple((rng.normal(size=3) * size).tolist())

    for k in range(limbs):
        size = float(rng.uniform(0.7, 1.4))
        props: dict[str, Any] = {"Lcl Translation": v(20.0), "Lcl Rotation": v(40.0)}
        props |= {"RotationActive": int(rng.random() < 0.8), "RotationOrder": int(rng.integers(6))}
        props |= {"PreRotation": v(60.0), "PostRotation": v(60.0), "RotationPivot": v(3.0)}
        props |= {"RotationOffset": v(3.0), "ScalingPivot": v(3.0), "ScalingOffset": v(3.0)}
        props |= {"InheritType": int(rng.integers(3)), "Lcl Scaling": (size, size, size)}
        node = Node(f"limb{k}", int(rng.integers(k + 1)), props=props)
        angles = rng.normal(size=3) * 40 + 30 * np.sin(times[:, None] * 5 + rng.normal(size=3))
        node.moved["Lcl Rotation"] = (times, angles)
        if k % 3 == 0:
            node.moved["Lcl Translation"] = (times, rng.normal(size=3) + angles[:, ::-1])
        nodes.append(node)
    geometric = {"GeometricTranslation": (1.0, 2.0, 3.0), "GeometricRotation": (20.0, -10.0, 5.0)}
    if more.pop("skin", False):
        nodes.append(Node("body", 0, "Mesh", more.pop("mesh_props", geometric)))
        more["mesh"] = len(nodes) - 1
    return Made(nodes, seed=seed, **more)


def write_fbx(path: Path, made: Made, **options: Any) -> Path:
    path.write_bytes(made.encode(**options))
    return path
