"""Whole scenes for fuzzing: a robot, a model or a character with meshes, images and what they name.

A scene lies in a folder of its own: `model/` has the file that is opened, `meshes/` what it refers
to, and outside of it is a canary that nothing may open. A run damages the model or one of its
parts, or lets the model name something else. What is read is then shown in every way that needs no
browser: as GLB, as a page, as a still picture.
"""

from __future__ import annotations

import json
import os
import re
import struct
import sys
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import exactik as ik
from exactik.io.gltf import encode_posable_glb
from exactik.studio.player.data import LookLimits
from exactik.studio.player.page import render_player_page
from exactik.studio.player.scene import compose_scene
from exactik.studio.player.still import render_still
from tests.support.fuzzing import LARGEST, mutant
from tests.support.mesh_files import DAE, MTL, OBJ, VTP, write_stl
from tests.support.visuals import make_boxed_arm, make_png, make_skinned_arm

__all__ = ["SCENE_SUFFIXES", "Scene", "load_scene", "watch_files"]

SCENE_SUFFIXES = (".urdf", ".xml", ".osim", ".glb", ".gltf")
LIMITS = LookLimits(vertices=300, image_bytes=2000)  # small, so that surfaces are simplified too

_LINK = '<link name="{0}"><visual><geometry><mesh filename="{1}" scale="1 -2 0.5"/></geometry>{2}'
_LINK += "</visual></link>"
_JOINT = (
    '<joint name="j{0}" type="revolute"><parent link="{1}"/><child link="{0}"/><axis xyz="0 1 0"/>'
)
_JOINT += '<limit lower="-1" upper="1"/></joint>'
_PAINT = '<material name="p"><texture filename="../meshes/own.png"/></material>'
_NAMES = ("own.stl", "own.obj", "own.dae", "own.glb", "skin.glb")
URDF = (
    '<robot name="r">'
    + "".join(_LINK.format(f"l{k}", f"../meshes/{name}", _PAINT) for k, name in enumerate(_NAMES))
    + '<link name="own"><visual><geometry><mesh filename="package://scene/meshes/own.stl"/></geometry>'
    + '</visual><inertial><mass value="2"/><origin xyz="1 0 0"/></inertial></link>'
    + "".join(_JOINT.format(f"l{k}", f"l{k - 1}") for k in range(1, len(_NAMES)))
    + _JOINT.format("own", "l0")
    + "</robot>"
)
MJCF = """<mujoco><compiler meshdir="../meshes" texturedir="../meshes" angle="radian"/><asset>
<mesh name="a" file="own.stl" scale="1 2 -1" refpos="1 0 0" refquat="0.9 0.1 0 0.2"/>
<mesh file="own.obj" inertia="convex"/><mesh name="s" file="own.stl" inertia="shell"/>
<texture name="t" type="2d" file="own.png"/><material name="m" texture="t" rgba="1 0 0 0.5"/>
</asset>
<default><geom density="700"/><default class="c"><geom rgba="0 1 0 1"/></default></default>
<worldbody><body name="x" pos="0 0 1"><freejoint/><geom type="mesh" mesh="a" material="m"/>
<body name="y" childclass="c"><joint name="h" axis="0 1 0" range="-1 1"/>
<geom type="mesh" mesh="own" fromto="0 0 0 1 0 0"/><geom type="capsule" size=".1 .2" mass="1"/>
<body name="z"><joint type="ball"/><geom type="mesh" mesh="s"/>
<geom type="ellipsoid" size=".1 .2 .3"/>
</body></body></body></worldbody>
<keyframe><key name="home" qpos="0 0 1 1 0 0 0 0.5 1 0 0 0"/></keyframe></mujoco>"""
OSIM = """<?xml version="1.0"?><OpenSimDocument Version="40000"><Model name="m">
<Ground name="ground"/><BodySet><objects><Body name="b"><attached_geometry>
<Mesh name="g"><mesh_file>../meshes/own.vtp</mesh_file>
<scale_factors>1 2 3</scale_factors><Appearance><color>1 0 0</color></Appearance></Mesh>
<Mesh name="o"><mesh_file>own.obj</mesh_file></Mesh></attached_geometry><mass>2</mass>
<mass_center>0 1 0</mass_center></Body></objects></BodySet><JointSet><objects><PinJoint name="j">
<socket_parent_frame>f</socket_parent_frame><socket_child_frame>c</socket_child_frame>
<coordinates><Coordinate name="q"><default_value>0.1</default_value><range>-1 1</range></Coordinate>
</coordinates><frames><PhysicalOffsetFrame name="f"><socket_parent>/ground</socket_parent>
<translation>0 1 0</translation></PhysicalOffsetFrame><PhysicalOffsetFrame name="c">
<socket_parent>/bodyset/b</socket_parent></PhysicalOffsetFrame></frames></PinJoint></objects></JointSet>
</Model></OpenSimDocument>"""
_REFERENCE = re.compile(rb'(?:(?<=filename=")|(?<=file=")|(?<=<mesh_file>)|(?<="uri": "))[^"<]*')


class Scene:
    """The files of a scene.

    Attributes:
        folder: that the models may look at, called "scene".
        parts: sound contents of what they refer to, by name.
    """

    def __init__(self, folder: Path):
        """Make all of it in a folder; what is beside "scene" there is none of its business."""
        self.outside, self.folder = folder, folder / "scene"
        self.model, self.meshes = self.folder / "model", self.folder / "meshes"
        for each in (self.model, self.meshes, self.model / "folder.stl"):
            each.mkdir(parents=True, exist_ok=True)
        write_stl(folder / "canary.stl")
        (folder / "canary.png").write_bytes(make_png(3, 3))
        for name, target in (("link.stl", "canary.stl"), ("linked", "."), ("loop.stl", "loop.stl")):
            if not (self.model / name).is_symlink():
                (self.model / name).symlink_to(folder / target if name != "loop.stl" else target)
        if not (self.model / "pipe.stl").exists():
            os.mkfifo(self.model / "pipe.stl")
        write_stl(self.meshes / "own.stl")
        for name, figure in (("own.glb", make_boxed_arm()), ("skin.glb", make_skinned_arm())):
            ik.save_skeleton(figure, self.meshes / name)
        texts = {"own.obj": OBJ.replace("box", "own"), "own.mtl": MTL.replace("box", "own")}
        texts |= {"own.dae": DAE.replace("box", "own"), "own.vtp": VTP}
        for name, text in texts.items():
            (self.meshes / name).write_text(text)
        (self.meshes / "own.png").write_bytes(make_png(4, 4))
        self.parts = {
            path.name: path.read_bytes() for path in self.meshes.iterdir() if path.is_file()
        }
        character = self.parts["skin.glb"]
        (self.model / "own.obj").write_bytes(self.parts["own.obj"])
        (self.model / "image.png").write_bytes(self.parts["own.png"])
        size = struct.unpack_from("<I", character, 12)[0]
        (self.model / "buffer.bin").write_bytes(character[28 + size :])
        self.files = {
            ".urdf": URDF.encode(),
            ".xml": MJCF.encode(),
            ".osim": OSIM.encode(),
            ".glb": character,
            ".gltf": _spread(character),
        }

    def damage(self, data: bytes, suffix: str, rng: Random) -> bytes:
        """Write the parts, one of them damaged or none, and return the model, damaged or not.

        Args:
            data: the sound model.
            suffix: of its name.
            rng: decides.
        """
        for name, part in self.parts.items():
            (self.meshes / name).write_bytes(part)
        how = rng.random()
        if how < 0.3 and suffix in (".urdf", ".xml", ".osim"):
            name = rng.choice(sorted(self.parts))
            others = [p for n, p in self.parts.items() if Path(n).suffix == Path(name).suffix]
            bad = rng.choice([mutant, _swap])(self.parts[name], Path(name).suffix, rng, others)
            (self.meshes / name).write_bytes(bad)
            return data
        if how < 0.55 and suffix != ".glb":
            places = [m.span() for m in _REFERENCE.finditer(data)]
            a, b = rng.choice(places)
            return data[:a] + rng.choice(self._list_references()).encode() + data[b:]
        if how < 0.85 and suffix in (".glb", ".gltf"):
            return _damage_character(data, suffix, rng)
        return mutant(data, suffix, rng, [data])

    def _list_references(self) -> list[str]:
        canary = self.outside / "canary.stl"
        ups = ("..", "%2e%2e", ".%2e", "..\\", "%252e%252e", "x/../..", "./..//..")
        found = [f"{up}/{up}/canary.{kind}" for up in ups for kind in ("stl", "png")]
        found += [f"../{up}/canary.stl" for up in ups]
        found += [
            str(canary),
            f"file://{canary}",
            f"file:{canary}",
            f"FILE://{canary}",
            f"//{canary}",
        ]
        found += [f"package://scene/../canary.{kind}" for kind in ("stl", "png")]
        found += ["package://../canary.stl", "package://./canary.stl", "package:///canary.stl"]
        found += ["package://model/../../canary.stl", "package://..%2fscene/../canary.stl"]
        found += ["package://scene%2f../canary.stl", "package://scene/%2e%2e/canary.stl"]
        found += [
            f"package://scene/{canary}",
            "model://scene/../canary.stl",
            "package://",
            "package:",
        ]
        found += ["link.stl", "linked/canary.stl", "linked/scene/../canary.stl", "loop.stl"]
        found += ["pipe.stl", "folder.stl", "/dev/zero", "/dev/stdin", "/proc/self/environ", "/"]
        found += ["http://127.0.0.1:1/x.stl", "https://example.invalid/x.obj", "ftp://x/y.dae"]
        found += ["", " ", ".", "..", "~/x.stl", "$HOME/x.stl", "C:/x.stl", "\\\\server\\x.stl"]
        found += ["a" * 5000 + ".stl", "a/" * 3000 + "x.stl", "x.stl#y", "x.stl?y", "data:,x"]
        found += ["../meshes/own.stl.gz", "../meshes/own.STL", "../meshes", "../meshes/own"]
        found += ["../model/mutant.urdf", "../model/mutant.glb", "../meshes/own.mtl", "é膝.stl"]
        return [*found, "../meshes/skin.glb", "../meshes/own.vtp", "data:;base64,AAAA", "%00.stl"]


def _spread(glb: bytes) -> bytes:
    """The same document with its numbers and images in files beside it."""
    size = struct.unpack_from("<I", glb, 12)[0]
    document = json.loads(glb[20 : 20 + size])
    document["buffers"][0]["uri"] = "buffer.bin"
    for image in document.get("images", []):
        image.pop("bufferView", None)
        image["uri"] = "image.png"
    return json.dumps(document).encode()


def _swap(data: bytes, suffix: str, rng: Random, others: list[bytes]) -> bytes:
    """Something else under the name of a part: bombs, other kinds of file, nothing."""
    header = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"
    sizes = (0, 1, 65535, 0x7FFFFFFF, 0xFFFFFFFF)
    bombs = [header + struct.pack(">II", rng.choice(sizes), rng.choice(sizes)) + data[24:]]
    bombs += [b"\xff\xd8\xff\xc0\0\x11\x08\xff\xff\xff\xff\x03", b"\xff\xd8\xff" + b"\xff" * 900]
    bombs += [b"\x1f\x8b\x08" + rng.randbytes(300), b"PK\x03\x04" + bytes(200), b"", b"\0" * 500]
    bombs += [b"<svg xmlns='http://www.w3.org/2000/svg'/>", b"GIF89a" + bytes(20), b"glTF"]
    bombs += [b"solid x\nfacet\n" + b"vertex 1e30 -1e30 1e38\n" * 9, b"solid" + b" " * 90_000]
    bombs += [bytes(80) + struct.pack("<I", rng.choice([0xFFFFFFFF, 5, 0])) + bytes(250)]
    bombs += [b"v 1 1 1\n" * 3 + b"f 1 2 3\n" * 9000, b"v 0 0 0\nf 1" + b" 1" * 30_000]
    bombs += [b"v 1e38 0 0\nv -1e38 0 0\nv 0 1e38 1e-40\nf 1 2 3\n", b"mtllib own.obj\n" * 200]
    return rng.choice(bombs)


def _damage_character(data: bytes, suffix: str, rng: Random) -> bytes:
    """Faults of skins, nodes, accessors and images, in a document that is otherwise sound."""
    glb = suffix == ".glb"
    size = struct.unpack_from("<I", data, 12)[0] if glb else len(data)
    document = json.loads(data[20 : 20 + size] if glb else data)
    rest = bytearray(data[20 + size :]) if glb else bytearray()
    for _ in range(rng.choice([1, 1, 2, 3])):
        try:
            _damage_document(document, rest, rng)
        except (LookupError, TypeError, AttributeError, ValueError):
            break  # what was to be damaged is gone already
    text = json.dumps(document).encode()
    if len(text) > LARGEST:
        return data
    if not glb:
        return text
    text += b" " * (-len(text) % 4)
    head = struct.pack("<4sII", b"glTF", 2, 20 + len(text) + len(rest))
    return head + struct.pack("<II", len(text), 0x4E4F534A) + text + bytes(rest)


def _damage_document(document: dict[str, Any], rest: bytearray, rng: Random) -> None:
    numbers = [-1, 0, 1, 2, 3, 7, 255, 65535, 10**6, 2**31, 2**40, 1.5, "1", None, [0], 1e300]
    nodes, skins = document["nodes"], document["skins"]
    primitive = document["meshes"][0]["primitives"][0]
    attributes, node = primitive["attributes"], rng.choice(nodes)
    accessor = rng.choice(document["accessors"])
    view, skin = rng.choice(document["bufferViews"]), rng.choice(skins)
    n = len(nodes)

    def weigh() -> None:  # numbers of weights, joints, binds: NaN, negative, huge, zero
        which = rng.choice([attributes.get("WEIGHTS_0"), attributes.get("JOINTS_0"), 0])
        if isinstance(which, int) and which < len(document["accessors"]):
            chosen = document["accessors"][which].get("bufferView", 0)
            start = document["bufferViews"][chosen].get("byteOffset", 0) + 8  # after the head
            word = rng.choice(
                [b"\0\0\xc0\x7f", b"\0\0\x80\x7f", b"\xff\xff\xff\xff", b"\xff\xff\x7f\x7f"]
            )
            for _ in range(rng.choice([1, 4, 400])):
                at = start + 4 * rng.randrange(200)
                rest[at : at + 4] = word if at + 4 <= len(rest) else rest[at : at + 4]

    changes = [
        weigh,
        weigh,
        lambda: node.update(children=[rng.randrange(n) for _ in range(3)]),
        lambda: node.update(children=[nodes.index(node)]),
        lambda: node.update(scale=[rng.choice([0, -1, 1e-30, 1e30, 1e300]) for _ in range(3)]),
        lambda: node.update(matrix=[rng.choice([0.0, 1.0, -1.0, 1e20]) for _ in range(16)]),
        lambda: node.update(mesh=rng.choice(numbers), skin=rng.choice(numbers)),
        lambda: skin.update(
            joints=[rng.choice(numbers) for _ in range(rng.choice([0, 1, 3, 900]))]
        ),
        lambda: skin.update(joints=skin.get("joints", [0]) * rng.choice([2, 40])),
        lambda: skin.update(joints=[0] * rng.choice([3, 70_000])),
        lambda: skin.update(inverseBindMatrices=rng.choice(numbers)),
        lambda: skin.pop("inverseBindMatrices", None),
        lambda: accessor.update(count=rng.choice(numbers)),
        lambda: accessor.update(componentType=rng.choice([5120, 5121, 5122, 5123, 5125, 5126, 7])),
        lambda: accessor.update(type=rng.choice(["SCALAR", "VEC2", "VEC4", "MAT4", "MAT2"])),
        lambda: accessor.update(normalized=True),
        lambda: accessor.pop("bufferView", None),
        lambda: accessor.update(
            sparse={
                "count": rng.choice(numbers),
                "indices": {"bufferView": 0, "componentType": 5123},
                "values": {"bufferView": rng.choice(numbers)},
            }
        ),
        lambda: view.update(byteStride=rng.choice(numbers)),
        lambda: view.update(byteOffset=rng.choice(numbers), byteLength=rng.choice(numbers)),
        lambda: primitive.update(mode=rng.choice([0, 1, 4, 5, 6, 7, -1])),
        lambda: primitive.update(indices=rng.choice(numbers)),
        lambda: primitive.update(extensions={"KHR_draco_mesh_compression": {"bufferView": 0}}),
        lambda: attributes.update({rng.choice(sorted(attributes)): rng.choice(numbers)}),
        lambda: attributes.update(COLOR_0=attributes.get("NORMAL", 0)),
        lambda: attributes.pop(rng.choice(sorted(attributes))) if len(attributes) > 0 else None,
        lambda: document["meshes"].extend(document["meshes"] * rng.choice([1, 50])),
        lambda: document["meshes"][0].update(primitives=[primitive] * rng.choice([0, 2, 1000])),
        lambda: nodes.extend({"mesh": 0, "skin": 0} for _ in range(rng.choice([1, 300]))),
        lambda: nodes.extend({"children": [len(nodes) + 1]} for _ in range(3000)),
        lambda: document.update(images=[_make_image(rng)]),
        lambda: document.update(textures=[{"source": rng.choice(numbers)}]),
        lambda: document.update(samplers=[{"wrapS": rng.choice(numbers)}]),
        lambda: document.update(materials=[{"pbrMetallicRoughness": _make_paint(rng, numbers)}]),
        lambda: document.update(extensionsRequired=["EXT_meshopt_compression"]),
        lambda: document["buffers"][0].update(byteLength=rng.choice(numbers)),
        lambda: skin.update(skeleton=rng.choice(numbers)),
    ]
    rng.choice(changes)()


def _make_image(rng: Random) -> dict[str, Any]:
    bad = _swap(make_png(2, 2), ".png", rng, [])
    encoded = b64encode(bad).decode()
    return rng.choice(
        [
            {"uri": f"data:image/png;base64,{encoded}"},
            {"uri": f"data:text/html;base64,{b64encode(b'<script>').decode()}"},
            {"uri": "../../canary.png"},
            {"uri": "linked/canary.png"},
            {"bufferView": rng.choice([0, -1, 99]), "mimeType": rng.choice(["image/png", "x", 3])},
            {},
        ]
    )


def _make_paint(rng: Random, numbers: list[Any]) -> dict[str, Any]:
    return {
        "baseColorFactor": [rng.choice([0, 1, -1, 2, 1e300]) for _ in range(rng.choice([4, 4, 3]))],
        "baseColorTexture": {"index": rng.choice(numbers), "texCoord": rng.choice(numbers)},
        "roughnessFactor": rng.choice(numbers),
    }


# --- what is done with a scene


def load_scene(path: Path, floating: bool) -> Any:
    """Read a figure and show it in every way that needs no browser; return its look."""
    figure = ik.load_skeleton(path, floating=floating)
    look = figure.visuals
    assert np.isfinite([entry.mass for entry in figure.masses.values()]).all()
    q = figure.neutral() if figure.home is None else figure.home
    encode_posable_glb(figure, 1)
    scene = compose_scene(ik.Motion(figure, q[None], 30.0))
    page = render_player_page(scene, limits=LIMITS)
    data = page.partition('id="data">')[2].partition("</script>")[0]
    json.loads(data, parse_constant=_refuse)
    picture = render_still(scene, with_skin=True)
    if re.search(r"[^\w](nan|inf)[^\w]", picture):
        raise AssertionError("a picture with numbers that are not finite")
    figure.reroot(figure.bone_names[-1]) if _can_be_turned(figure) else None
    return look


def _can_be_turned(figure: ik.Skeleton) -> bool:
    return len(figure.couplings) == 0 and all(
        bone.joint.kind in ("fixed", "revolute", "prismatic") for bone in figure.bones
    )


def _refuse(name: str) -> None:
    raise AssertionError(f"{name} in the data of a page")


_opened: list[str] | None = None


def _listen(event: str, arguments: tuple[Any, ...]) -> None:
    if _opened is not None and event == "open" and isinstance(arguments[0], str | bytes):
        _opened.append(os.fsdecode(arguments[0]))


_hooked = False


@contextmanager
def watch_files(allowed: tuple[str, ...]) -> Iterator[list[str]]:
    """Give a list that has, at the end, what was opened outside these folders and Python's own."""
    global _opened, _hooked
    if not _hooked:
        sys.addaudithook(_listen)
        _hooked = True
    strange: list[str] = []
    own = (sys.prefix, sys.base_prefix, str(Path(ik.__file__).parents[2]), *allowed)
    own = tuple(os.path.realpath(folder) for folder in own)  # an environment may be a link
    _opened = []
    try:
        yield strange
    finally:
        opened, _opened = _opened, None
        strange += [p for p in opened if not os.path.realpath(p).startswith(own)]
