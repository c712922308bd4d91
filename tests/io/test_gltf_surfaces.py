"""Meshes, skins, materials and textures through glTF and back, and what damaged files are told."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import exactik as ik
from exactik.io import convert
from exactik.io.gltf import encode_posable_glb
from exactik.model import Skeleton
from exactik.model.motion import Motion
from exactik.model.visuals import Mesh, Visual, Visuals
from tests.support.visuals import make_boxed_arm, make_png, make_skinned_arm


def vertices_of(skeleton: Skeleton, q: Any = None) -> list[Any]:
    pose = skeleton.forward(skeleton.neutral() if q is None else q)
    names = skeleton.bone_names
    return skeleton.visuals.compute_vertices(names, pose.positions, pose.rotations)


@pytest.mark.parametrize("up_axis", ["y", "z", None])
@pytest.mark.parametrize("make", [make_skinned_arm, make_boxed_arm])
def test_a_look_comes_back_whatever_is_up(tmp_path: Path, make: Any, up_axis: str | None):
    figure = make()
    rng = np.random.default_rng(0)
    q = figure.integrate(figure.neutral(), 0.4 * rng.standard_normal((3, figure.nv)))
    Motion(figure, q, 30.0, up_axis=up_axis).save(tmp_path / "a.glb")
    loaded = ik.load_motion(tmp_path / "a.glb")
    for a, b in zip(
        vertices_of(figure, q[1]), vertices_of(loaded.skeleton, loaded.q[1]), strict=True
    ):
        np.testing.assert_allclose(b, a, atol=3e-6)
    assert loaded.skeleton.visuals.notes == ()
    parts = zip(
        (*figure.visuals.rigid, *figure.visuals.skins),
        (*loaded.skeleton.visuals.rigid, *loaded.skeleton.visuals.skins),
        strict=True,
    )
    for old, new in parts:
        assert new.material == old.material
        np.testing.assert_array_equal(new.mesh.faces, old.mesh.faces)
        assert (new.mesh.uv is None) == (old.mesh.uv is None)


def test_sticks_are_no_look(tmp_path: Path):
    """What is drawn for a figure without a look does not become one."""
    bare = make_skinned_arm().with_visuals(None)
    ik.save_skeleton(bare, tmp_path / "a.glb", markers=True)
    assert not ik.load_skeleton(tmp_path / "a.glb").visuals


def test_a_conversion_keeps_a_skin_or_says_that_it_is_lost(tmp_path: Path):
    figure = make_skinned_arm()
    Motion(figure, np.tile(figure.neutral(), (4, 1)), 30.0).save(tmp_path / "a.glb")
    kept = convert(tmp_path / "a.glb", tmp_path / "b.glb")
    assert not any("look" in text for text in kept.lost)
    assert (tmp_path / "b.glb").stat().st_size == (tmp_path / "a.glb").stat().st_size
    lost = convert(tmp_path / "a.glb", tmp_path / "b.bvh").lost
    assert "the look, 1 skin, 1 texture: BVH is written without it" in lost


def test_real_characters_keep_their_skins(shared_data: Path, tmp_path: Path):
    for name in ("khronos/CesiumMan.glb", "khronos/Fox.glb", "threejs/RobotExpressive.glb"):
        path = shared_data / "data" / "gltf" / name
        old = ik.load_skeleton(path)
        convert(path, tmp_path / "b.glb")
        new = ik.load_skeleton(tmp_path / "b.glb")
        size = np.ptp(vertices_of(old)[0], axis=0).max()
        for a, b in zip(vertices_of(old), vertices_of(new), strict=True):
            np.testing.assert_allclose(b, a, atol=1e-6 * max(size, 1.0))
        assert [s.material for s in new.visuals.skins] == [s.material for s in old.visuals.skins]


def test_scaled_nodes_are_in_the_maps_of_skins(shared_data: Path):
    """A character in centimetres below a node that scales it is bound in metres."""
    path = shared_data / "data" / "gltf" / "khronos" / "CesiumMan.glb"
    plain, inches = ik.load_skeleton(path), ik.load_skeleton(path, "in")
    for a, b in zip(vertices_of(plain), vertices_of(inches), strict=True):
        np.testing.assert_allclose(0.0254 * a, b, atol=1e-7)


def test_the_page_gets_all_bones_below_one_node():
    figure = make_boxed_arm()
    data = encode_posable_glb(figure, 7)
    (size,) = struct.unpack_from("<I", data, 12)
    document = json.loads(data[20 : 20 + size])
    root, *nodes = document["nodes"]
    assert root["extras"] == {"exactik": {"figure": 7}}
    assert [node["extras"]["exactik"]["bone"] for node in nodes[:3]] == [0, 1, 2]
    np.testing.assert_allclose(nodes[2]["translation"], (0.0, 0.0, 0.2))
    assert "_NORMAL" in document["meshes"][0]["primitives"][0]["attributes"]


# --- damage


def damaged(tmp_path: Path, change: Any) -> Skeleton:
    """A skinned arm whose JSON was changed."""
    ik.save_skeleton(make_skinned_arm(), tmp_path / "a.glb")
    data = (tmp_path / "a.glb").read_bytes()
    (size,) = struct.unpack_from("<I", data, 12)
    document = json.loads(data[20 : 20 + size])
    change(document)
    text = json.dumps(document).encode()
    text += b" " * (-len(text) % 4)
    rest = data[20 + size :]
    head = struct.pack("<4sII", b"glTF", 2, 20 + len(text) + len(rest))
    (tmp_path / "b.glb").write_bytes(head + struct.pack("<II", len(text), 0x4E4F534A) + text + rest)
    return ik.load_skeleton(tmp_path / "b.glb")


def primitive_of(document: dict[str, Any]) -> dict[str, Any]:
    return document["meshes"][0]["primitives"][0]


DAMAGE = {
    "no joints": (lambda d: primitive_of(d)["attributes"].pop("JOINTS_0"), "has no JOINTS_0"),
    "no positions": (lambda d: primitive_of(d)["attributes"].pop("POSITION"), "POSITION"),
    "wrong index": (
        lambda d: d["accessors"][primitive_of(d)["indices"]].update(componentType=5121),
        "",
    ),
    "draco": (
        lambda d: primitive_of(d).update(extensions={"KHR_draco_mesh_compression": {}}),
        "is compressed",
    ),
    "image elsewhere": (
        lambda d: d["images"][0].update(uri="../../etc/passwd"),
        "expected a file in the folder of this one",
    ),
    "image on the net": (
        lambda d: d["images"][0].update(uri="https://example.org/a.png"),
        "expected a file in the folder of this one",
    ),
    "alpha": (lambda d: d["materials"][0].update(alphaMode="GLASS"), "alphaMode"),
    "few matrices": (
        lambda d: d["accessors"][d["skins"][1]["inverseBindMatrices"]].update(count=1),
        "1 matrices for 3 joints",
    ),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_a_damaged_look_is_one_sentence(tmp_path: Path, name: str):
    change, expected = DAMAGE[name]
    visuals = damaged(tmp_path, change).visuals
    assert len(visuals.notes) <= 1
    assert expected in "".join(visuals.notes)
    assert "\n" not in "".join(visuals.notes)


@pytest.mark.parametrize(("skinned", "most"), [(True, 300), (False, 3000)])
def test_a_file_of_endless_surfaces_is_shown_in_part(tmp_path: Path, skinned: bool, most: int):
    def repeat(document: dict[str, Any]) -> None:
        primitive = primitive_of(document)
        accessor = document["accessors"][primitive["indices"]]
        document["accessors"].append(accessor | {"count": 3})
        primitive |= {"indices": len(document["accessors"]) - 1}
        document["meshes"][0]["primitives"] = [primitive] * (most + 1)
        if not skinned:
            for node in document["nodes"]:
                if node.pop("skin", None) is not None:
                    document["nodes"][1]["mesh"] = node.pop("mesh")

    visuals = damaged(tmp_path, repeat).visuals
    assert (len(visuals.skins), len(visuals.rigid)) == ((most, 0) if skinned else (0, most))
    assert f"the first {most} " in visuals.notes[-1]


def test_a_mesh_without_triangles_is_no_look(tmp_path: Path):
    def cut(document: dict[str, Any]) -> None:
        document["accessors"][primitive_of(document)["indices"]]["count"] = 2

    figure = damaged(tmp_path, cut)
    assert not figure.visuals
    assert any("a mesh without triangles" in note for note in figure.visuals.notes)
    empty = Visual("e", figure.bone_names[0], Mesh(np.zeros((0, 3)), np.zeros((0, 3), int)))
    assert encode_posable_glb(figure.with_visuals(Visuals(rigid=(empty,))), 1)[:4] == b"glTF"


def test_an_image_that_would_fill_the_memory_is_refused(tmp_path: Path):
    huge = bytearray(make_png(8, 8))
    struct.pack_into(">II", huge, 16, 60000, 60000)

    def change(document: dict[str, Any]) -> None:
        import base64

        uri = "data:image/png;base64," + base64.b64encode(huge).decode()
        document["images"][0] = {"uri": uri}

    (note,) = damaged(tmp_path, change).visuals.notes
    assert "60000 × 60000 pixels" in note.text


def test_strips_and_fans_are_triangles(tmp_path: Path):
    for mode, count in ((5, "strip"), (6, "fan")):
        skeleton = damaged(tmp_path, lambda d, mode=mode: primitive_of(d).update(mode=mode))
        (skin,) = skeleton.visuals.skins
        assert len(skin.mesh.faces) == make_skinned_arm().visuals.skins[0].mesh.faces.size - 2, (
            count
        )


def test_points_lines_and_morph_targets_are_said_not_to_be_kept(tmp_path: Path):
    (note,) = damaged(tmp_path, lambda d: primitive_of(d).update(mode=1)).visuals.notes
    assert (note.code, note.severity) == ("visuals-not-kept", "remark")
    changed = damaged(tmp_path, lambda d: d["meshes"][0].update(weights=[0.5]))
    assert changed.visuals
    assert "morph targets" in changed.visuals.notes[0]
