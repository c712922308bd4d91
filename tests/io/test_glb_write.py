"""GLB that we write: valid glTF, a figure that moves, and the same motion when it is read back."""

from __future__ import annotations

import json
import os
import shutil
import struct
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exactik.errors import FileError, UsageError
from exactik.io import (
    compute_coordinates,
    load_motion,
    load_skeleton,
    make_continuous,
    save_motion,
    save_skeleton,
)
from exactik.io.gltf import GlbBuilder, make_bone_mesh, make_marker_mesh, make_octahedron
from exactik.model import Bone, Joint, Skeleton, human
from exactik.model.motion import Motion
from exactik.typing import Array
from tests.support.models import (
    EVERY_JOINT,
    chain_of,
    configuration,
    planar_arm,
    serial_chain,
    skeletons,
)

COMPONENT = {5120: "<i1", 5121: "<u1", 5122: "<i2", 5123: "<u2", 5125: "<u4", 5126: "<f4"}
WIDTH = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT4": 16}


def smooth(skeleton: Skeleton, frames: int = 40, seed: int = 0, **more: Any) -> Motion:
    """Every dof swings about the neutral pose."""
    rng = np.random.default_rng(seed)
    t = np.linspace(0.0, 6.0, frames)[:, None]
    v = 0.9 * np.sin(t * rng.uniform(0.5, 2.0, skeleton.nv) + rng.uniform(0, 6, skeleton.nv))
    return Motion(skeleton, skeleton.integrate(skeleton.neutral(), v), 120.0, **more)


def wild(skeleton: Skeleton, frames: int = 12, **more: Any) -> Motion:
    """Poses far from each other."""
    return Motion(
        skeleton, np.stack([configuration(skeleton, k) for k in range(frames)]), 30, **more
    )


# --- a validator of our own, of the rules that concern what we write


class Checked:
    """A GLB that has passed every rule below; what it holds, for further tests."""

    def __init__(self, path: Path):
        data = path.read_bytes()
        magic, version, length = struct.unpack_from("<4sII", data)
        assert (magic, version, length) == (b"glTF", 2, len(data))
        size, kind = struct.unpack_from("<II", data, 12)
        assert (kind, size % 4) == (0x4E4F534A, 0)
        self.text = data[20 : 20 + size]
        assert self.text.rstrip(b" ")[-1:] == b"}"
        size_binary, kind = struct.unpack_from("<II", data, 20 + size)
        assert (kind, size_binary % 4, 28 + size + size_binary) == (0x004E4942, 0, len(data))
        self.binary = data[28 + size :]
        self.json = json.loads(self.text)
        assert self.json["asset"]["version"] == "2.0"
        assert self.json["asset"]["generator"] == "exactik"
        assert self.json["buffers"] == [{"byteLength": len(self.binary)}]
        assert all(value != [] for value in self.json.values())
        self.used: dict[str, set[int]] = {}
        self.values = [self.accessor(k) for k in range(len(self.json["accessors"]))]
        self.nodes()
        self.meshes()
        self.skins()
        self.animations()
        for key in ("accessors", "bufferViews", "meshes", "materials", "skins", "nodes"):
            count = len(self.json[key])
            unused = set(range(count)) - self.used[key]
            # Of a figure with a look the first skin names the bones, and no mesh has it.
            assert unused <= ({0} if key == "skins" and count > 1 else set()), key

    def use(self, key: str, index: int) -> Any:
        assert type(index) is int
        assert 0 <= index < len(self.json[key])
        self.used.setdefault(key, set()).add(index)
        return self.json[key][index]

    def accessor(self, index: int) -> Array:
        accessor = self.json["accessors"][index]
        view = self.use("bufferViews", accessor["bufferView"])
        dtype, width = np.dtype(COMPONENT[accessor["componentType"]]), WIDTH[accessor["type"]]
        assert view["byteOffset"] % 4 == 0
        assert view["byteOffset"] + view["byteLength"] <= len(self.binary)
        assert accessor["count"] * width * dtype.itemsize == view["byteLength"]
        values = np.frombuffer(self.binary, dtype, accessor["count"] * width, view["byteOffset"])
        values = values.reshape(-1, width)
        assert np.isfinite(values).all()
        for key, bound in (("min", values.min(axis=0)), ("max", values.max(axis=0))):
            if key in accessor:
                np.testing.assert_array_equal(np.float32(accessor[key]), bound)
        return values.astype(float)

    def numbers(self, index: int, kind: str, target: int | None, *components: int) -> Array:
        accessor = self.use("accessors", index)
        view = self.json["bufferViews"][accessor["bufferView"]]
        assert accessor["type"] == kind
        assert accessor["componentType"] in components
        assert view.get("target") == target
        return self.values[index]

    def nodes(self) -> None:
        nodes = self.json["nodes"]
        self.parents: dict[int, int] = {}
        for k, node in enumerate(nodes):
            assert "weights" not in node
            assert "matrix" not in node or set(node) <= {"name", "mesh", "matrix"}
            assert node.get("children") != []
            for child in node.get("children", []):
                self.use("nodes", child)
                assert child not in self.parents
                self.parents[child] = k
            if "rotation" in node:
                assert abs(np.linalg.norm(node["rotation"]) - 1.0) < 1e-6
            if "mesh" in node:
                self.use("meshes", node["mesh"])
            if "skin" in node:
                self.use("skins", node["skin"])
                assert "mesh" in node
                assert k not in self.parents
        (scene,) = self.json["scenes"]
        assert self.json["scene"] == 0
        assert len(set(scene["nodes"])) == len(scene["nodes"])
        for k in scene["nodes"]:
            self.use("nodes", k)
            assert k not in self.parents

    def meshes(self) -> None:
        skinned = {node["mesh"] for node in self.json["nodes"] if "skin" in node}
        for k, mesh in enumerate(self.json["meshes"]):
            (primitive,) = mesh["primitives"]
            self.use("materials", primitive["material"])
            attributes = primitive["attributes"]
            names = {"POSITION", "NORMAL"} | ({"JOINTS_0", "WEIGHTS_0"} if k in skinned else set())
            assert names <= set(attributes) <= {*names, "TEXCOORD_0", "COLOR_0"}
            positions = self.numbers(attributes["POSITION"], "VEC3", 34962, 5126)
            assert {"min", "max"} <= set(self.json["accessors"][attributes["POSITION"]])
            normals = self.numbers(attributes["NORMAL"], "VEC3", 34962, 5126)
            np.testing.assert_allclose(np.linalg.norm(normals, axis=1), 1.0, atol=1e-6)
            assert len(positions) == len(normals)
            if "TEXCOORD_0" in attributes:
                uv = self.numbers(attributes["TEXCOORD_0"], "VEC2", 34962, 5126)
                assert len(uv) == len(positions)
            if "COLOR_0" in attributes:
                self.numbers(attributes["COLOR_0"], "VEC4", 34962, 5126)
            if "indices" in primitive:
                corners = self.numbers(primitive["indices"], "SCALAR", 34963, 5123, 5125)
                assert len(corners) % 3 == 0
                assert corners.max() < len(positions)
            else:
                assert len(positions) % 3 == 0
            if k in skinned and "indices" in primitive:
                joints = self.numbers(attributes["JOINTS_0"], "VEC4", 34962, 5121, 5123)
                weights = self.numbers(attributes["WEIGHTS_0"], "VEC4", 34962, 5126)
                np.testing.assert_allclose(weights.sum(axis=1), 1.0, atol=1e-6)
                assert len(joints) == len(weights) == len(positions)
                used = next(n["skin"] for n in self.json["nodes"] if n.get("mesh") == k)
                assert joints.max() < len(self.json["skins"][used]["joints"])
            elif k in skinned:
                joints = self.numbers(attributes["JOINTS_0"], "VEC4", 34962, 5121, 5123)
                weights = self.numbers(attributes["WEIGHTS_0"], "VEC4", 34962, 5121)
                assert self.json["accessors"][attributes["WEIGHTS_0"]]["normalized"] is True
                assert len(joints) == len(weights) == len(positions)
                np.testing.assert_array_equal(weights.sum(axis=1), 255)
                assert (joints[weights == 0] == 0).all()
                assert joints.max() < len(self.json["skins"][0]["joints"])

    def skins(self) -> None:
        for k, skin in enumerate(self.json["skins"]):
            assert len(skin["joints"]) == len(set(skin["joints"]))
            for joint in skin["joints"]:
                self.use("nodes", joint)
                node = joint
                while node != skin.get("skeleton", 0):  # the root is above every joint
                    node = self.parents[node]
            if k == 0 and "inverseBindMatrices" not in skin:
                continue
            inverse = self.numbers(skin["inverseBindMatrices"], "MAT4", None, 5126)
            assert len(inverse) == len(skin["joints"])
            last = np.tile([0, 0, 0, 1], (len(inverse), 1))
            np.testing.assert_array_equal(inverse[:, 3::4], last)
            self.inverse = np.swapaxes(inverse.reshape(-1, 4, 4), 1, 2)
        for material in self.json["materials"]:
            surface = material["pbrMetallicRoughness"]
            if "baseColorTexture" in surface:
                texture = self.use("textures", surface["baseColorTexture"]["index"])
                image = self.use("images", texture["source"])
                view = self.use("bufferViews", image["bufferView"])
                start = self.binary[view["byteOffset"] :][:4]
                assert start == (b"\x89PNG" if image["mimeType"] == "image/png" else start)

    def animations(self) -> None:
        for animation in self.json.get("animations", []):
            assert len(animation["channels"]) == len(animation["samplers"]) > 0
            targets = [tuple(c["target"].values()) for c in animation["channels"]]
            assert len(set(targets)) == len(targets)
            assert sorted(c["sampler"] for c in animation["channels"]) == list(range(len(targets)))
            for channel in animation["channels"]:
                sampler = animation["samplers"][channel["sampler"]]
                assert sampler["interpolation"] == "LINEAR"
                times = self.numbers(sampler["input"], "SCALAR", None, 5126)[:, 0]
                assert {"min", "max"} <= set(self.json["accessors"][sampler["input"]])
                assert times[0] >= 0
                assert (np.diff(times) > 0).all()
                path = channel["target"]["path"]
                self.use("nodes", channel["target"]["node"])
                kind = {"rotation": "VEC4", "translation": "VEC3"}[path]
                values = self.numbers(sampler["output"], kind, None, 5126)
                assert len(values) == len(times)
                if path == "rotation":
                    np.testing.assert_allclose(np.linalg.norm(values, axis=1), 1.0, atol=1e-6)
                    assert ((values[1:] * values[:-1]).sum(axis=1) >= -1e-6).all()


FILES = {
    "human": lambda path: save_motion(smooth(human()), path, up_axis="z", markers=True),
    "plain": lambda path: save_motion(smooth(human()), path),
    "rest": lambda path: save_skeleton(human(), path, up_axis="z", markers=True),
    "every joint": lambda path: save_motion(wild(chain_of(list(EVERY_JOINT.values()))), path),
    "rigid": lambda path: save_motion(
        Motion(Skeleton.build("rigid", [Bone("only")]), np.empty((5, 0)), 10), path
    ),
    "one frame": lambda path: save_motion(smooth(planar_arm(), 1), path),
    "no frame": lambda path: save_motion(smooth(planar_arm()).between(9, 1), path),
    "many bones": lambda path: save_skeleton(serial_chain(300), path),
    "two roots": lambda path: save_skeleton(
        Skeleton.build("pair", [Bone("a"), Bone("b", offset=(1, 0, 0))]), path
    ),
    "names": lambda path: save_skeleton(
        Skeleton.build('"Ä\n骨', [Bone("ё"), Bone("\ud800", parent="ё")]), path
    ),
}


@pytest.mark.parametrize("name", FILES)
def test_files_follow_the_rules_of_gltf(tmp_path: Path, name: str):
    FILES[name](tmp_path / "a.glb")
    Checked(tmp_path / "a.glb")


def test_the_validator_of_khronos_finds_nothing(tmp_path: Path):
    """With EXACTIK_GLTF_VALIDATOR, a folder where `npm install gltf-validator` was run."""
    folder, node = os.environ.get("EXACTIK_GLTF_VALIDATOR"), shutil.which("node")
    if folder is None or node is None:
        pytest.skip("EXACTIK_GLTF_VALIDATOR names no folder with gltf-validator, or no node")
    script = """
        const validator = require("gltf-validator"), fs = require("fs");
        const all = process.argv.slice(1).map((f) =>
            validator.validateBytes(new Uint8Array(fs.readFileSync(f))).then((r) => r.issues));
        Promise.all(all).then((r) => console.log(JSON.stringify(r)));
    """
    for name, write in FILES.items():
        write(tmp_path / f"{name}.glb")
    paths = [str(tmp_path / f"{name}.glb") for name in FILES]
    done = subprocess.run(
        [node, "-e", script, *paths], cwd=folder, capture_output=True, text=True, check=True
    )
    for name, issues in zip(FILES, json.loads(done.stdout), strict=True):
        assert issues["messages"] == [], name


# --- what comes back


def assert_same(loaded: Motion, motion: Motion, tolerance: float = 1e-6) -> None:
    assert loaded.skeleton.bone_names == motion.skeleton.bone_names
    there = np.isfinite(motion.q).all(axis=1)
    np.testing.assert_array_equal(np.isnan(loaded.q).any(axis=1), ~there)
    assert (loaded.rate, loaded.first_frame) == (motion.rate, motion.first_frame)
    a = loaded.skeleton.forward(loaded.q[there])
    b = motion.skeleton.forward(motion.q[there])
    np.testing.assert_allclose(a.positions, b.positions, atol=tolerance)
    np.testing.assert_allclose(a.rotations, b.rotations, atol=3e-6)


@pytest.mark.parametrize("up_axis", ["x", "y", "z", None])
def test_a_motion_comes_back_as_it_was_whatever_is_up(tmp_path: Path, up_axis: str | None):
    motion = smooth(human(), up_axis=up_axis)
    motion.save(tmp_path / "a.glb")
    loaded = load_motion(tmp_path / "a.glb")
    assert_same(loaded, motion)
    assert loaded.up_axis == up_axis
    assert loaded.notes == ()
    assert loaded.skeleton.name == "human"


def test_the_figure_stands_upright_for_others(tmp_path: Path):
    save_skeleton(human().with_visuals(None), tmp_path / "a.glb", up_axis="z")
    file = Checked(tmp_path / "a.glb")
    head = file.json["skins"][0]["joints"][human().bone_index("head")]
    x, y, z = np.linalg.inv(file.inverse[head - 1])[:3, 3]
    head = human().forward(human().neutral()).positions[human().bone_index("head")]
    np.testing.assert_allclose([x, y, z], [head[0], head[2], -head[1]], atol=1e-6)
    assert y > 1.4


def test_a_wrapper_rotation_that_others_changed_is_kept(tmp_path: Path):
    save_motion(smooth(planar_arm()), tmp_path / "a.glb", up_axis="z")
    data = (tmp_path / "a.glb").read_bytes()
    turned = data.replace(b'"rotation":[-0.7071067811865475', b'"rotation":[0.70710678118654750')
    assert turned != data
    (tmp_path / "a.glb").write_bytes(turned)
    loaded = load_motion(tmp_path / "a.glb")
    assert loaded.up_axis == "y"
    arm = smooth(planar_arm()).forward().positions
    expected = np.stack([arm[..., 0], -arm[..., 2], arm[..., 1]], axis=-1)
    np.testing.assert_allclose(loaded.forward().positions, expected, atol=1e-6)


def test_every_kind_of_joint_comes_back_in_its_own_coordinates(tmp_path: Path):
    for name, joint in EVERY_JOINT.items():
        chain = chain_of([Joint.fixed(), joint])
        motion = wild(chain)
        motion.save(tmp_path / "a.glb")
        loaded = load_motion(tmp_path / "a.glb", chain)
        assert loaded.skeleton is chain, name
        assert_same(loaded, motion)


@given(skeletons(), st.sampled_from(["x", "y", "z", None]), st.booleans())
@settings(max_examples=25)
def test_any_figure_comes_back(
    tmp_path_factory: pytest.TempPathFactory, skeleton: Skeleton, up_axis: str | None, markers: bool
):
    path = tmp_path_factory.mktemp("glb") / "a.glb"
    motion = wild(skeleton, 4, up_axis=up_axis)
    motion.save(path, markers=markers)
    Checked(path)
    loaded = load_motion(path)
    assert_same(loaded, motion, 2e-6)  # shifts of some metres
    a, b = loaded.skeleton, skeleton
    rest = a.forward(a.neutral()), b.forward(b.neutral())
    np.testing.assert_allclose(rest[0].positions, rest[1].positions, atol=1e-12)
    assert (list(a.markers) == list(b.markers)) if markers else len(a.markers) == 0
    if markers:
        np.testing.assert_allclose(rest[0].markers, rest[1].markers, atol=1e-12)


def test_missing_frames_stay_missing(tmp_path: Path):
    motion = smooth(planar_arm())
    q = motion.q.copy()
    q[[0, 7, 8, 39]] = np.nan
    motion = Motion(motion.skeleton, q, 59.94, first_frame=101)
    motion.save(tmp_path / "a.glb")
    assert len(Checked(tmp_path / "a.glb").values[-1]) == 36
    assert_same(load_motion(tmp_path / "a.glb"), motion)


def test_a_motion_without_moving_joints_keeps_its_duration(tmp_path: Path):
    FILES["rigid"](tmp_path / "a.glb")
    loaded = load_motion(tmp_path / "a.glb")
    assert (len(loaded), loaded.rate) == (5, 10.0)
    FILES["no frame"](tmp_path / "a.glb")
    with pytest.raises(FileError, match="animations: missing or empty"):
        load_motion(tmp_path / "a.glb")


def test_far_from_the_origin_single_precision_is_the_limit(tmp_path: Path):
    skeleton = Skeleton.build("far", [Bone("only", joint=Joint.free())])
    motion = wild(skeleton)
    q = motion.q.copy()
    q[:, 0] += 1000.0
    Motion(skeleton, q, 30.0).save(tmp_path / "a.glb")
    off = np.abs(load_motion(tmp_path / "a.glb").forward().positions - q[:, None, :3])
    assert 1e-6 < off.max() < 1e-7 * 1000


def test_real_figures_survive_another_round(shared_data: Path, tmp_path: Path):
    for name in ("khronos/CesiumMan.glb", "threejs/RobotExpressive.glb"):
        motion = load_motion(shared_data / "data" / "gltf" / name)
        motion.save(tmp_path / "a.glb")
        Checked(tmp_path / "a.glb")
        assert_same(load_motion(tmp_path / "a.glb"), motion)


# --- what it looks like


def test_octahedra_are_closed_and_face_outwards():
    triangles = make_octahedron((1.0, 2.0, 3.0), (1.0, 2.5, 3.0))
    edges = {(tuple(t[i]), tuple(t[(i + 1) % 3])) for t in triangles for i in range(3)}
    assert len(edges) == 24
    assert all((b, a) in edges for a, b in edges)
    volume = np.einsum("ni,ni->", triangles[:, 0], np.cross(triangles[:, 1], triangles[:, 2])) / 6
    assert volume == pytest.approx(0.5 * (2 * 0.05**2) / 3)
    vertices, normals = make_marker_mesh(0.02)
    np.testing.assert_allclose(np.abs(vertices).sum(axis=1), 0.01)
    assert ((vertices * normals).sum(axis=1) > 0).all()


def test_every_vertex_moves_with_one_bone(tmp_path: Path):
    """Skinning by the formula of the specification gives the rigid motion of the bones."""
    skeleton = human().with_visuals(None)
    motion = smooth(skeleton, 3, up_axis="z")
    motion.save(tmp_path / "a.glb")
    file = Checked(tmp_path / "a.glb")
    attributes = file.json["meshes"][0]["primitives"][0]["attributes"]
    vertices = file.values[attributes["POSITION"]]
    bones = file.values[attributes["JOINTS_0"]][:, 0].astype(int)
    pose = motion.forward()
    world = np.zeros((len(skeleton.bones), 4, 4))
    world[:, :3, :3], world[:, :3, 3] = pose.rotations[1], pose.positions[1]
    world[:, 3, 3] = 1.0
    upright = np.array([[1, 0, 0, 0], [0, 0, 1, 0], [0, -1, 0, 0], [0, 0, 0, 1]])
    skinned = np.einsum(
        "nij,nj->ni", (upright @ world @ file.inverse)[bones], np.c_[vertices, np.ones(len(bones))]
    )
    rest = skeleton.forward(skeleton.neutral())
    rest_vertices, _, carriers = make_bone_mesh(skeleton, rest)
    np.testing.assert_array_equal(carriers, bones)
    away = (
        np.swapaxes(rest.rotations, -1, -2)[bones]
        @ (rest_vertices - rest.positions[bones])[..., None]
    )
    moved = pose.positions[1, bones] + (pose.rotations[1, bones] @ away)[..., 0]
    np.testing.assert_allclose(skinned[:, :3], moved @ upright[:3, :3].T, atol=2e-6)


def test_every_chain_shows_from_its_root_to_its_end():
    for skeleton in (human(), planar_arm(), serial_chain(5), chain_of([Joint.fixed()])):
        rest = skeleton.forward(skeleton.neutral())
        vertices, _, bones = make_bone_mesh(skeleton, rest)
        for k, position in enumerate(rest.positions):
            if k in bones:  # one end of its shape is the joint that moves it
                nearest = np.linalg.norm(vertices[bones == k] - position, axis=1).min()
                assert nearest < 1e-12
        leaves = set(range(len(skeleton.bones))) - set(skeleton.parents.tolist())
        assert leaves <= set(bones.tolist())


# --- misuse, and coordinates read backwards


def test_wrong_arguments_are_refused(tmp_path: Path):
    motion = smooth(planar_arm())
    with pytest.raises(UsageError, match="up_axis is 'up'; it must be 'x', 'y' or 'z'"):
        motion.save(tmp_path / "a.glb", up_axis="up")
    with pytest.raises(FileError, match="more than times in single precision can tell apart"):
        GlbBuilder(motion.skeleton, "a.glb", None, False).animate(
            motion, np.array([1 << 24, (1 << 24) + 1])
        )
    with pytest.raises(FileError, match="cannot be written"):
        motion.save(tmp_path / "nowhere" / "a.glb")
    assert list(tmp_path.iterdir()) == []


def test_coordinates_read_backwards_stay_within_limits_and_are_continuous():
    joints = [
        Joint.euler("ZYX"),  # its middle angle goes beyond a quarter turn
        Joint.free(Joint.euler("XYX", limits=[(-4, 4), (-3, 0), (-4, 4)])),
        Joint.revolute("z"),
        Joint.revolute("x", limits=(2, 6)),
        Joint.quaternion(),
    ]
    skeleton = chain_of(joints)
    t = np.linspace(0, 1, 50)[:, None]
    columns = [0.3 + t, 2.6 * t, 0.2 - t, *[t] * 3, 0.3 + t, -2.0 + t, 0.2 - t, 20 * t, 2.5 + 3 * t]
    q = np.hstack([*columns, np.cos(5 * t), np.sin(5 * t), 0 * t, 0 * t])
    pose = skeleton.forward(q)
    q_back = make_continuous(
        skeleton, compute_coordinates(skeleton, pose.positions, pose.rotations)
    )
    np.testing.assert_allclose(q_back[:, :-4], q[:, :-4], atol=1e-9)
    assert (np.abs(np.diff(q_back, axis=0)) < 0.5).all()


def test_the_skeleton_comes_back_at_rest(tmp_path: Path):
    save_skeleton(human(), tmp_path / "a.glb", up_axis="z", markers=True)
    loaded = load_skeleton(tmp_path / "a.glb")
    a, b = loaded.forward(loaded.neutral()), human().forward(human().neutral())
    np.testing.assert_allclose(a.positions, b.positions, atol=1e-12)
    np.testing.assert_allclose(a.markers, b.markers, atol=1e-12)
    assert loaded.bone_names == human().bone_names
