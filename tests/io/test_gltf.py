"""glTF: figures stand as the file says, move as it says, and faults end in one sentence."""

from __future__ import annotations

import base64
import json
import math
import struct
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from exactik.errors import FileError, FileWarning
from exactik.io import Notes, load_motion, load_skeleton
from exactik.io.gltf import _read as _gltf
from exactik.io.gltf import read_gltf_motion
from exactik.model import Bone, Joint, Skeleton
from exactik.model.motion import Motion
from exactik.typing import Array

HALF = math.sqrt(0.5)
Z_UP = [-HALF, 0.0, 0.0, HALF]  # xyzw of the turn that takes z to y

# --- files made here


class Made:
    """A document in the making; arrays go into one buffer."""

    def __init__(self, nodes: list[dict[str, Any]], joints: Sequence[int] = ()):
        self.json: dict[str, Any] = {"asset": {"version": "2.0"}, "nodes": nodes}
        self.json |= {"accessors": [], "bufferViews": [], "buffers": [], "animations": []}
        if len(joints) > 0:
            self.json["skins"] = [{"joints": list(joints)}]
        self.data = b""

    def view(self, array: Any, dtype: str) -> int:
        data = np.asarray(array, dtype=dtype).tobytes()
        self.json["bufferViews"].append(
            {"buffer": 0, "byteOffset": len(self.data), "byteLength": len(data)}
        )
        self.data += data + bytes(-len(data) % 4)
        return len(self.json["bufferViews"]) - 1

    def accessor(self, array: Any, dtype: str = "<f4", **more: Any) -> int:
        array = np.asarray(array)
        kind = "SCALAR" if array.ndim == 1 else f"VEC{array.shape[1]}"
        code = {"i1": 5120, "u1": 5121, "i2": 5122, "u2": 5123, "u4": 5125, "f4": 5126}[dtype[1:]]
        entry = {"componentType": code, "count": len(array), "type": kind}
        self.json["accessors"].append({"bufferView": self.view(array, dtype), **entry, **more})
        return len(self.json["accessors"]) - 1

    def animate(self, *curves: tuple[Any, ...], name: str = "", into: int | None = None) -> Made:
        """Curves are (node, path, times, values, interpolation); values may be an accessor."""
        if into is None:
            self.json["animations"].append({"name": name, "samplers": [], "channels": []})
        animation = self.json["animations"][-1 if into is None else into]
        for node, path, times, values, *kind in curves:
            output = values if isinstance(values, int) else self.accessor(values)
            sampler = {"input": self.accessor(times), "output": output}
            sampler |= {"interpolation": kind[0]} if len(kind) > 0 else {}
            target = {"node": node, "path": path}
            animation["channels"].append({"sampler": len(animation["samplers"]), "target": target})
            animation["samplers"].append(sampler)
        return self

    def finished(self, **buffer: Any) -> dict[str, Any]:
        text = base64.b64encode(self.data).decode()
        uri = {"uri": f"data:application/vec8-stream;base64,{text}"}
        buffers = [{"byteLength": len(self.data), **(buffer or uri)}] if len(self.data) > 0 else []
        document = {**self.json, "buffers": buffers}
        return {key: value for key, value in document.items() if value != []}

    def gltf(self, path: Path, **buffer: Any) -> Path:
        path.write_text(json.dumps(self.finished(**buffer)), encoding="utf-8")
        return path

    def glb(self, path: Path) -> Path:
        document = self.finished()
        if len(self.data) > 0:
            document["buffers"] = [{"byteLength": len(self.data)}]
        path.write_bytes(glb_bytes(document, self.data))
        return path


def glb_bytes(document: Any, binary: bytes) -> bytes:
    text = json.dumps(document).encode()
    text += b" " * (-len(text) % 4)
    body = struct.pack("<II", len(text), 0x4E4F534A) + text
    body += struct.pack("<II", len(binary), 0x004E4942) + binary if len(binary) > 0 else b""
    return struct.pack("<4sII", b"glTF", 2, 12 + len(body)) + body


def arm(rotation: Sequence[float] = (0, 0, 0, 1)) -> list[dict[str, Any]]:
    """Three nodes in a row, the first one turned."""
    return [
        {"name": "upper", "children": [1], "rotation": list(rotation), "translation": [0, 1, 0]},
        {"name": "lower", "children": [2], "translation": [0.3, 0, 0]},
        {"name": "hand", "translation": [0.2, 0.1, 0]},
    ]


def about_z(*angles: float) -> list[list[float]]:
    return [[0.0, 0.0, math.sin(a / 2), math.cos(a / 2)] for a in angles]


def rest(skeleton: Skeleton) -> Array:
    return skeleton.forward(skeleton.neutral()).positions


# --- an obvious reader to compare with: 4 × 4 matrices, one node at a time


def parsed(path: Path) -> tuple[dict[str, Any], bytes]:
    data = path.read_bytes()
    if data[:4] == b"glTF":
        (size,) = struct.unpack_from("<I", data, 12)
        return json.loads(data[20 : 20 + size]), data[28 + size :]
    return json.loads(data), b""


def naive_values(document: dict[str, Any], binary: bytes, index: int) -> Array:
    accessor = document["accessors"][index]
    view = document["bufferViews"][accessor["bufferView"]]
    uri = document["buffers"][view["buffer"]].get("uri")
    data = binary if uri is None else base64.b64decode(uri.partition(",")[2])
    width = {"SCALAR": 1, "VEC3": 3, "VEC4": 4}[accessor["type"]]
    start = view.get("byteOffset", 0) + accessor.get("byteOffset", 0)
    assert accessor["componentType"] == 5126
    assert "byteStride" not in view
    values = np.frombuffer(data, "<f4", accessor["count"] * width, start)
    return values.reshape(-1, width).astype(float)


def naive_matrix(node: dict[str, Any], moved: dict[str, Array]) -> Array:
    if "matrix" in node and len(moved) == 0:
        return np.array(node["matrix"], dtype=float).reshape(4, 4).T
    t = moved.get("translation", node.get("translation", [0, 0, 0]))
    x, y, z, w = np.array(moved.get("rotation", node.get("rotation", [0, 0, 0, 1])), dtype=float)
    n = x * x + y * y + z * z + w * w
    matrix = np.eye(4)
    matrix[:3, :3] = np.eye(3) + 2 / n * np.array(
        [
            [-y * y - z * z, x * y - w * z, x * z + w * y],
            [x * y + w * z, -x * x - z * z, y * z - w * x],
            [x * z - w * y, y * z + w * x, -x * x - y * y],
        ]
    )
    matrix[:3, :3] *= np.array(moved.get("scale", node.get("scale", [1, 1, 1])))
    matrix[:3, 3] = t
    return matrix


def naive_world(document: dict[str, Any], moved: dict[int, dict[str, Array]] | None = None):
    """World matrices of all nodes, (n, 4, 4)."""
    nodes = document["nodes"]
    parents = {child: k for k, node in enumerate(nodes) for child in node.get("children", [])}
    world = []
    for k in range(len(nodes)):
        matrix, node = np.eye(4), k
        while node is not None:
            matrix = naive_matrix(nodes[node], (moved or {}).get(node, {})) @ matrix
            node = parents.get(node)
        world.append(matrix)
    return np.array(world)


def joints_of(document: dict[str, Any], skeleton: Skeleton) -> list[int]:
    """The node of each bone, by name."""
    joints = {k for skin in document["skins"] for k in skin["joints"]}
    named = {document["nodes"][k].get("name") or f"node_{k}": k for k in joints}
    assert len(named) == len(joints) == len(skeleton.bones)
    return [named[name] for name in skeleton.bone_names]


# --- real files

# Joints, animations, frames and rate of the first one, free bones, what the notes say.
REAL = {
    "khronos/CesiumMan.glb": (19, 1, 48, 24.0, 6, ()),
    "khronos/Fox.glb": (24, 3, 83, 24.0, 2, ("Walk, Run", "103 m in size")),
    "khronos/RiggedFigure.glb": (19, 1, 2, 0.8, 1, ("1.25 s apart",)),
    "khronos/RiggedSimple.gltf": (2, 1, 50, 24.0, 1, ()),
    "khronos/SimpleSkin.gltf": (2, 1, 12, 2.0, 1, ("0.5 s apart",)),
    "momentum/blender_simple_armature.glb": (4, 0, 0, 0.0, 1, ()),
    "threejs/RobotExpressive.glb": (43, 14, 81, 24.0, 9, ("'weights'", "Death, Idle, Jump")),
}


@pytest.mark.parametrize("name", REAL)
def test_real_files_have_what_is_known_of_them(shared_data: Path, name: str):
    path = shared_data / "data" / "gltf" / name
    joints, animations, frames, rate, free, notes = REAL[name]
    skeleton = load_skeleton(path)
    assert len(skeleton.bones) == joints
    assert sum(bone.joint.kind == "free" for bone in skeleton.bones) == free
    assert {bone.joint.rotation_part.kind for bone in skeleton.bones} == {"quaternion"}
    if animations == 0:
        with pytest.raises(FileError, match="animations: missing or empty; expected a motion"):
            load_motion(path)
        return
    motion = load_motion(path)
    assert motion.skeleton == skeleton
    assert (len(motion), motion.rate, motion.up_axis) == (frames, rate, "y")
    assert len(motion.metadata["animations"]) == animations
    assert len(motion.notes) == len(notes)
    assert all(text in note for text, note in zip(notes, sorted(motion.notes), strict=True))


@pytest.mark.parametrize("name", REAL)
def test_the_neutral_pose_is_the_rest_pose_of_the_file(shared_data: Path, name: str):
    path = shared_data / "data" / "gltf" / name
    skeleton = load_skeleton(path)
    document, _ = parsed(path)
    world = naive_world(document)[joints_of(document, skeleton)]
    pose = skeleton.forward(skeleton.neutral())
    size = np.ptp(pose.positions, axis=0).max()
    np.testing.assert_allclose(pose.positions, world[:, :3, 3], atol=1e-9 * size)
    scale = np.cbrt(np.linalg.det(world[:, :3, :3]))
    turns = world[:, :3, :3] / scale[:, None, None]
    np.testing.assert_allclose(pose.rotations, turns, atol=2e-5)  # the robot's scales are uneven


@pytest.mark.parametrize("name", REAL)
def test_the_rest_pose_is_that_of_trimesh(shared_data: Path, name: str):
    trimesh = pytest.importorskip("trimesh")
    path = shared_data / "data" / "gltf" / name
    skeleton = load_skeleton(path)
    graph = trimesh.load(path, skip_materials=True).graph
    document, _ = parsed(path)
    for bone, k in zip(skeleton.bone_names, joints_of(document, skeleton), strict=True):
        if sum(node.get("name") == bone for node in document["nodes"]) == 1:
            expected = rest(skeleton)[skeleton.bone_index(bone)]
            np.testing.assert_allclose(
                graph.get(document["nodes"][k]["name"])[0][:3, 3], expected, atol=1e-6
            )


@pytest.mark.parametrize("name", [name for name, facts in REAL.items() if facts[1] > 0])
def test_every_animation_moves_the_bones_as_the_file_says(shared_data: Path, name: str):
    """At the keys, where no interpolation is needed; but Fox's run, whose keys are uneven."""
    path = shared_data / "data" / "gltf" / name
    document, binary = parsed(path)
    size = np.ptp(rest(load_skeleton(path)), axis=0).max()
    for number, animation in enumerate(document["animations"]):
        motion = read_gltf_motion(str(path), Notes(str(path)), animation=number)
        if animation.get("name") == "Run":
            assert motion.rate == 60.0
            assert "unevenly spaced; the curves are read at 60 Hz" in motion.notes[-1]
            assert len(motion) == 70
            continue
        nodes = joints_of(document, motion.skeleton)
        bone_positions = motion.forward().positions
        for frame in {0, len(motion) // 2, len(motion) - 1}:
            moved: dict[int, dict[str, Array]] = {}
            for channel in animation["channels"]:
                sampler = animation["samplers"][channel["sampler"]]
                if (target := channel["target"])["path"] != "weights":
                    values = naive_values(document, binary, sampler["output"])
                    assert len(values) == len(motion)
                    moved.setdefault(target["node"], {})[target["path"]] = values[frame]
            world = naive_world(document, moved)[nodes]
            np.testing.assert_allclose(bone_positions[frame], world[:, :3, 3], atol=2e-5 * size)


def test_a_z_up_figure_under_a_root_that_turns_it_stands_upright(shared_data: Path):
    man = load_skeleton(shared_data / "data/gltf/khronos/CesiumMan.glb")
    positions = dict(zip(man.bone_names, rest(man), strict=True))
    assert positions["Skeleton_neck_joint_2"][1] > positions["leg_joint_L_5"][1] + 1.0
    assert man.bones[0].parent is None  # Z_UP and Armature are folded in


def test_two_skins_that_share_joints_make_one_figure_in_metres(shared_data: Path):
    path = shared_data / "data/gltf/threejs/RobotExpressive.glb"
    robot = load_skeleton(path)
    assert sum(bone.parent is None for bone in robot.bones) == 1
    assert 2.0 < np.ptp(rest(robot)[:, 1]) < 5.0  # under a node scaled by 100
    assert read_gltf_motion(str(path), Notes(str(path)), animation="Walking").rate == 24.0
    with pytest.raises(FileError, match="no animation 'Fly'; expected one of 0 to 13 or its name"):
        read_gltf_motion(str(path), Notes(str(path)), animation="Fly")


# --- which nodes are bones, and where they are


def test_the_three_containers_hold_the_same_figure(tmp_path: Path):
    made = Made(arm(), [0, 1, 2]).animate((1, "rotation", [0, 0.5], about_z(0, 1)))
    (tmp_path / "a name.bin").write_bytes(made.data)
    paths = [
        made.gltf(tmp_path / "inside.gltf"),
        made.gltf(tmp_path / "outside.gltf", uri="a%20name.bin"),
        made.glb(tmp_path / "binary.glb"),
        made.glb(tmp_path / "misnamed.gltf"),
    ]
    motions = [load_motion(path) for path in paths]
    for motion in motions:
        assert motion.skeleton.bones == motions[0].skeleton.bones
        np.testing.assert_array_equal(motion.q, motions[0].q)


def test_joints_may_be_listed_in_any_order(tmp_path: Path):
    skeleton = load_skeleton(Made(arm(), [2, 0, 1]).gltf(tmp_path / "a.gltf"))
    assert skeleton.bone_names == ("upper", "lower", "hand")
    assert [bone.parent for bone in skeleton.bones] == [None, "upper", "lower"]
    assert [bone.joint.kind for bone in skeleton.bones] == ["free", "quaternion", "quaternion"]


def test_transforms_above_and_between_joints_are_folded_in(tmp_path: Path):
    nodes = [
        {"children": [1], "rotation": Z_UP, "scale": [2, 2, 2]},
        {"name": "hip", "children": [2], "translation": [0, 0, 0.5]},
        {"name": "twist", "children": [3], "translation": [0, 0, 0.1], "scale": [0.5, 0.5, 0.5]},
        {"name": "knee", "translation": [1, 0, 0]},
    ]
    skeleton = load_skeleton(Made(nodes, [1, 3]).gltf(tmp_path / "a.gltf"))
    assert skeleton.bone_names == ("hip", "knee")
    np.testing.assert_allclose(rest(skeleton), [[0, 1, 0], [1, 1.2, 0]], atol=1e-12)
    np.testing.assert_allclose(skeleton.bones[1].offset, [1, 0, 0.2], atol=1e-12)


def test_a_matrix_is_the_same_as_its_parts(tmp_path: Path):
    nodes = arm(about_z(0.7)[0])
    nodes[0]["scale"] = [3, 3, 3]
    parts = load_skeleton(Made(nodes, [0, 1, 2]).gltf(tmp_path / "a.gltf"))
    matrix = naive_matrix(nodes[0], {}).T.ravel().tolist()
    nodes[0] = {"name": "upper", "children": [1], "matrix": matrix}
    whole = load_skeleton(Made(nodes, [0, 1, 2]).gltf(tmp_path / "a.gltf"))
    np.testing.assert_allclose(rest(whole), rest(parts), atol=1e-12)


def test_a_node_above_the_joints_that_moves_is_a_bone(tmp_path: Path):
    nodes = [{"name": "Armature", "children": [1]}, {"children": [2], "name": "still"}]
    nodes += [{"name": "hip", "children": [3]}, {"name": "knee", "translation": [0, -0.4, 0]}]
    made = Made(nodes, [2, 3]).animate(
        (0, "translation", [0, 0.1], [[0, 0, 0], [0, 0, 2]]),
        (1, "rotation", [0, 0.1], [[0, 0, 0, 1]] * 2),
    )
    motion = load_motion(made.gltf(tmp_path / "a.gltf"))
    assert motion.skeleton.bone_names == ("Armature", "hip", "knee")
    assert "nodes[0]: 'Armature' is no joint, but it moves: taken as a bone" in motion.notes
    np.testing.assert_allclose(motion.forward().positions[1, 2], [0, -0.4, 2], atol=1e-7)


def test_a_bone_is_free_if_its_translation_departs_from_rest(tmp_path: Path):
    still, moved = [[0.3, 0, 0]] * 2, [[0.2, 0.1, 0], [0.2, 0.15, 0]]
    made = Made(arm(), [0, 1, 2])
    made.animate((1, "translation", [0, 1], still)).animate((2, "translation", [0, 1], moved))
    motion = load_motion(made.gltf(tmp_path / "a.gltf"))
    assert [bone.joint.kind for bone in motion.skeleton.bones] == ["free", "quaternion", "free"]
    np.testing.assert_allclose(motion.q[0], motion.skeleton.neutral(), atol=1e-7)


def test_mirrored_figures_move_as_they_should(tmp_path: Path):
    nodes = [{"children": [1], "scale": [-1, 1, 1]}, *arm()]
    for node in nodes[1:]:
        node["children"] = [k + 1 for k in node.get("children", [])]
    made = Made([{k: v for k, v in n.items() if v != []} for n in nodes], [1, 2, 3])
    made.animate((2, "rotation", [0, 0.1], about_z(0, math.pi / 2)))
    motion = load_motion(made.gltf(tmp_path / "a.gltf"))
    np.testing.assert_allclose(motion.forward().positions[1, 2], [-0.2, 1.2, 0], atol=1e-7)
    assert motion.notes == ()


def test_uneven_scales_are_right_at_rest_and_announced(tmp_path: Path):
    nodes = arm()
    nodes[0]["scale"] = [2, 1, 1]
    made = Made(nodes, [0, 1, 2]).animate((1, "rotation", [0, 0.1], about_z(0, math.pi / 2)))
    path = made.gltf(tmp_path / "a.gltf")
    with pytest.warns(FileWarning, match="'upper' first, are scaled unevenly"):
        skeleton = load_skeleton(path)
    np.testing.assert_allclose(rest(skeleton), [[0, 1, 0], [0.6, 1, 0], [1, 1.1, 0]], atol=1e-12)
    with pytest.warns(FileWarning) as caught:
        load_motion(path)
    text = "bone 'hand' is up to 0.224 m from its place in the file, because of scales"
    assert any(text in str(warning.message) for warning in caught)


def test_without_a_skin_the_animated_nodes_and_all_below_are_bones(tmp_path: Path):
    nodes = [{"name": "room", "children": [1, 4], "translation": [1, 0, 0]}]
    nodes += [{**n, "children": [k + 2]} if k < 2 else n for k, n in enumerate(arm())]
    nodes += [{"name": "lamp"}]
    made = Made(nodes).animate((2, "rotation", [0, 0.1], about_z(0, 1)))
    motion = load_motion(made.gltf(tmp_path / "a.gltf"))
    assert motion.skeleton.bone_names == ("lower", "hand")
    np.testing.assert_allclose(rest(motion.skeleton)[0], [1.3, 1, 0], atol=1e-12)
    everything = load_skeleton(Made(nodes).gltf(tmp_path / "b.gltf"))
    assert everything.bone_names == ("room", "upper", "lower", "hand", "lamp")


def test_names_are_made_unique_and_empty_ones_made_up(tmp_path: Path):
    nodes = [{"name": "a", "children": [1, 2, 3, 4]}, {"name": "a"}, {}, {"name": "a_2"}]
    nodes += [{"name": " "}]
    path = Made(nodes, [0, 1, 2, 3, 4]).animate((1, "rotation", [0, 1], about_z(0, 1)))
    motion = load_motion(path.gltf(tmp_path / "a.gltf"))
    assert motion.skeleton.bone_names == ("a", "a_2", "node_2", "a_2_2", "node_4")
    assert "nodes[1]: a second bone named 'a' is called 'a_2'" in motion.notes


def test_long_chains_are_walked_without_recursion(tmp_path: Path):
    n = 3000
    nodes = [{"translation": [0.001, 0, 0], "children": [k + 1]} for k in range(n - 1)]
    nodes += [{"translation": [0.001, 0, 0]}]
    skeleton = load_skeleton(Made(nodes, range(n)[::-1]).glb(tmp_path / "a.glb"))
    assert len(skeleton.bones) == n
    np.testing.assert_allclose(rest(skeleton)[-1], [0.001 * n, 0, 0], atol=1e-9)


def test_lengths_are_metres_unless_said_otherwise(tmp_path: Path):
    made = Made(arm(), [0, 1, 2]).animate((0, "translation", [0, 0.1], [[0, 1, 0], [5, 1, 0]]))
    path = made.gltf(tmp_path / "a.gltf")
    assert load_skeleton(path).bones[1].offset == (0.3, 0.0, 0.0)
    np.testing.assert_allclose(load_skeleton(path, "cm").bones[1].offset, [0.003, 0, 0])
    moved = load_motion(path, length_unit="cm").forward().positions
    np.testing.assert_allclose(moved[1, 0], [0.05, 0.01, 0], atol=1e-9)


# --- curves and frames


def sampled_angle(motion: Motion, bone: str = "lower") -> Array:
    k = motion.skeleton.bone_index(bone)
    parent = motion.skeleton.parents[k]
    rotations = motion.forward().rotations
    R_parent_bone = np.swapaxes(rotations[:, parent], -1, -2) @ rotations[:, k]
    return np.arctan2(R_parent_bone[:, 1, 0], R_parent_bone[:, 0, 0])


def test_linear_rotations_turn_at_constant_speed_the_shorter_way(tmp_path: Path):
    xyzw = np.array(about_z(0.2, 2.2, 1.2)) * [[1], [-1], [1]]  # −q is the same rotation
    made = Made(arm(), [0, 1, 2]).animate((1, "rotation", [1, 2, 2.5], xyzw))
    motion = load_motion(made.gltf(tmp_path / "a.gltf"), rate=10)
    t = 1.0 + np.arange(16) / 10
    np.testing.assert_allclose(
        sampled_angle(motion), np.interp(t, [1, 2, 2.5], [0.2, 2.2, 1.2]), atol=1e-6
    )
    assert (motion.rate, motion.first_frame, motion.metadata["start_time"]) == (10.0, 11, 1.0)
    dots = (motion.q[1:, -8:-4] * motion.q[:-1, -8:-4]).sum(axis=1)
    assert (dots > 0.9).all()


def test_steps_stay_until_the_next_key(tmp_path: Path):
    times = np.arange(7) / 30  # in single precision some are below the frame's time, some above
    angles = 0.1 * np.arange(7)
    made = Made(arm(), [0, 1, 2]).animate((1, "rotation", times, about_z(*angles), "STEP"))
    path = made.gltf(tmp_path / "a.gltf")
    np.testing.assert_allclose(sampled_angle(load_motion(path)), angles, atol=1e-6)
    fine = sampled_angle(load_motion(path, rate=60))
    np.testing.assert_allclose(fine, 0.1 * (np.arange(13) // 2), atol=1e-6)


def test_cubic_splines_follow_their_slopes(tmp_path: Path):
    def curve(t: Any) -> Any:
        return 0.3 + 0.5 * t - 0.2 * t**2 + 0.1 * t**3

    keys = np.array([0.0, 0.4, 1.0])
    triples = [
        ([0, s, 0], [0.3, curve(t), 0], [0, s, 0])
        for t, s in ((t, 0.5 - 0.4 * t + 0.3 * t**2) for t in keys)
    ]
    made = Made(arm(), [0, 1, 2])
    made.animate((1, "translation", keys, np.reshape(triples, (9, 3)), "CUBICSPLINE"))
    motion = load_motion(made.gltf(tmp_path / "a.gltf"), rate=20)
    t = np.arange(21) / 20
    np.testing.assert_allclose(motion.forward().positions[:, 1, 1] - 1, curve(t), atol=1e-6)


def test_cubic_rotations_are_brought_to_unit_length(tmp_path: Path):
    xyzw = np.array(about_z(0.0, 1.0))
    triples = np.zeros((2, 3, 4))
    triples[:, 1] = xyzw
    made = Made(arm(), [0, 1, 2])
    made.animate((1, "rotation", [0, 1], triples.reshape(6, 4), "CUBICSPLINE"))
    motion = load_motion(made.gltf(tmp_path / "a.gltf"), rate=4)
    u = np.arange(5) / 4
    blend = (2 * u**3 - 3 * u**2 + 1)[:, None] * xyzw[0] + (3 * u**2 - 2 * u**3)[:, None] * xyzw[1]
    expected = 2 * np.arctan2(blend[:, 2], blend[:, 3])
    np.testing.assert_allclose(sampled_angle(motion), expected, atol=1e-6)


@pytest.mark.parametrize(("dtype", "largest"), [("<i1", 127), ("<i2", 32767)])
def test_normalized_integers(tmp_path: Path, dtype: str, largest: int):
    angles = np.linspace(0.0, 1.0, 5)
    made = Made(arm(), [0, 1, 2])
    integers = np.rint(np.array(about_z(*angles)) * largest)
    made.animate(
        (1, "rotation", np.arange(5) / 10, made.accessor(integers, dtype, normalized=True))
    )
    sampled = sampled_angle(load_motion(made.gltf(tmp_path / "a.gltf")))
    np.testing.assert_allclose(sampled, angles, atol=2.0 / largest)


def test_sparse_accessors_replace_some_values(tmp_path: Path):
    made = Made(arm(), [0, 1, 2])
    values = made.accessor(about_z(0, 0, 0, 0))
    sparse = {
        "count": 2,
        "indices": {"bufferView": made.view([1, 3], "<u2"), "componentType": 5123},
        "values": {"bufferView": made.view(about_z(0.5, 1.5), "<f4")},
    }
    made.json["accessors"][values]["sparse"] = sparse
    zeros = made.accessor(np.zeros((4, 3)), sparse=dict(sparse))
    del made.json["accessors"][zeros]["bufferView"]
    thirds = {"bufferView": made.view([[0, 9, 0], [0, 7, 0]], "<f4")}
    made.json["accessors"][zeros]["sparse"]["values"] = thirds
    made.animate((1, "rotation", np.arange(4) / 10, values))
    made.animate((0, "translation", np.arange(4) / 10, zeros), into=0)
    motion = load_motion(made.gltf(tmp_path / "a.gltf"))
    np.testing.assert_allclose(sampled_angle(motion), [0, 0.5, 0, 1.5], atol=1e-6)
    np.testing.assert_allclose(motion.forward().positions[:, 0, 1], [0, 9, 0, 7], atol=1e-6)


def test_strided_and_offset_accessors(tmp_path: Path):
    made = Made(arm(), [0, 1, 2])
    rows = np.zeros((4, 7))
    rows[:, 2:6] = about_z(0.1, 0.2, 0.3, 0.4)
    view = made.view(rows, "<f4")
    made.json["bufferViews"][view]["byteStride"] = 28
    values = made.accessor(about_z(0, 0, 0, 0), byteOffset=8)
    made.json["accessors"][values]["bufferView"] = view
    made.animate((1, "rotation", np.arange(4) / 10, values))
    sampled = sampled_angle(load_motion(made.gltf(tmp_path / "a.gltf")))
    np.testing.assert_allclose(sampled, [0.1, 0.2, 0.3, 0.4], atol=1e-6)


TIMES = {
    "even": (np.arange(50) / 25, 25.0, 50),
    "from a second on": (1 + np.arange(9) / 50, 50.0, 9),
    "milliseconds": (np.round(np.arange(40) / 30, 3), 30.0, 40),
    "television": (np.arange(200) * 1.001 / 30, 30 / 1.001, 200),
    "far": (7200 + np.arange(100) / 60, 60.0, 100),
    "keys left out": (np.array([0, 1, 2, 3, 6, 7, 9, 10]) / 24, 24.0, 11),
    "uneven": (np.array([0, 0.11, 0.5]), 60.0, 31),
    "one key": (np.array([0.5]), 60.0, 1),
}


@pytest.mark.parametrize("case", TIMES)
def test_frames_are_the_keys_if_these_are_even(tmp_path: Path, case: str):
    times, rate, frames = TIMES[case]
    angles = 0.01 * np.arange(len(times))
    made = Made(arm(), [0, 1, 2]).animate((1, "rotation", times, about_z(*angles)))
    motion = load_motion(made.gltf(tmp_path / "a.gltf"))
    assert (motion.rate, len(motion)) == (pytest.approx(rate, rel=1e-9), frames)
    assert any("unevenly" in note for note in motion.notes) == (case == "uneven")
    if frames == len(times):
        np.testing.assert_allclose(sampled_angle(motion), angles, atol=1e-7)


def test_curves_may_have_keys_of_their_own(tmp_path: Path):
    made = Made(arm(), [0, 1, 2]).animate(
        (1, "rotation", np.arange(11) / 10, about_z(*np.linspace(0, 1, 11))),
        (2, "rotation", [0.0, 1.0], about_z(0, 1)),
        (0, "rotation", [0.5], about_z(0.3)),
    )
    motion = load_motion(made.gltf(tmp_path / "a.gltf"))
    assert (motion.rate, len(motion)) == (10.0, 11)
    np.testing.assert_allclose(sampled_angle(motion, "hand"), np.linspace(0, 1, 11), atol=1e-6)


def test_what_is_odd_about_an_animation_is_noted(tmp_path: Path):
    made = Made(arm(), [0, 1, 2]).animate(
        (1, "rotation", [0, 0.05, 0.05, 0.1], about_z(0, 5, 0.5, 1)),
        (1, "rotation", [0, 0.1], about_z(9, 9)),
    )
    animation = made.json["animations"][0]
    animation["channels"] += [{"sampler": 0, "target": {"node": 0, "path": "pointer"}}]
    animation["channels"] += [{"sampler": 0, "target": {"path": "rotation"}}]
    path = made.gltf(tmp_path / "a.gltf")
    with pytest.warns(FileWarning) as caught:
        motion = load_motion(path)
    assert len(caught) == 2
    np.testing.assert_allclose(sampled_angle(motion), [0, 0.5, 1], atol=1e-6)
    for text in ("keys at the same time", "a second curve of rotation", "moves 'pointer'"):
        assert any(text in note for note in motion.notes)
    with pytest.raises(FileError, match="keys at the same time"):
        load_motion(path, strict=True)


def test_a_fault_in_another_animation_is_no_fault_of_this_one(tmp_path: Path):
    made = Made(arm(), [0, 1, 2]).animate((1, "rotation", [0, 0.1], about_z(0, 1)))
    made.animate((1, "rotation", [0.1, 0], about_z(0, 1)), name="bad")
    path = made.gltf(tmp_path / "a.gltf")
    with pytest.warns(FileWarning, match=r"expected increasing times; animations\[1\] is left out"):
        assert len(load_motion(path)) == 2
    with pytest.raises(FileError, match="expected increasing times"):
        read_gltf_motion(str(path), Notes(str(path)), animation="bad")


def test_motion_in_the_coordinates_of_another_skeleton(tmp_path: Path):
    hinged = Skeleton.build(
        "hinged",
        [
            Bone("upper", offset=(0, 1, 0), joint=Joint.revolute("z")),
            Bone("lower", parent="upper", offset=(0.3, 0, 0), joint=Joint.euler("XZ")),
            Bone("nail", parent="lower", offset=(0.5, 0, 0)),
        ],
    )
    angles = np.linspace(0, 4, 9)
    made = Made(arm(), [0, 1, 2]).animate(
        (0, "rotation", np.arange(9) / 10, about_z(*(2 * angles))),
        (1, "rotation", np.arange(9) / 10, about_z(*-angles)),
    )
    path = made.gltf(tmp_path / "a.gltf")
    motion = load_motion(path, hinged)
    assert motion.skeleton is hinged
    expected = np.stack([2 * angles, 0 * angles, -angles], axis=1)
    np.testing.assert_allclose(motion.q, expected, atol=1e-6)
    stiff = Skeleton.build("stiff", [Bone("upper"), Bone("lower", parent="upper")])
    with pytest.warns(FileWarning, match="from its place in the file, because of another skeleton"):
        load_motion(path, stiff)
    other = Skeleton.build("other", [Bone("tail", joint=Joint.revolute("z"))])
    with pytest.raises(FileError, match=r"no bone named 'tail'.*there are: upper, lower, hand"):
        load_motion(path, other)


# --- faults


def good() -> Made:
    return Made(arm(), [0, 1, 2]).animate((1, "rotation", [0, 0.1], about_z(0, 1)))


def changed(*keys: Any) -> Any:
    """A change of one value: the last of `keys` is the new one; None removes the entry."""

    def change(document: dict[str, Any]) -> None:
        *path, last, value = keys
        container: Any = document
        for key in path:
            container = container[key]
        if value is None:
            del container[last]
        else:
            container[last] = value

    return change


FAULTS = {
    "no asset": (changed("asset", None), "JSON without an asset; expected glTF"),
    "version": (changed("asset", "version", "1.0"), "asset.version: is '1.0'; expected 2.0"),
    "newer": (changed("asset", "minVersion", "2.1"), "asset.minVersion: is '2.1'; expected 2.0"),
    "no nodes": (changed("nodes", None), "nodes: missing or empty; expected a figure"),
    "nodes": (changed("nodes", {"0": {}}), "nodes: is an object of 1 entries; expected a list"),
    "a node": (changed("nodes", 1, 7), "nodes[1]: is 7; expected an object"),
    "child": (
        changed("nodes", 1, "children", [3]),
        "nodes[1].children[0]: is 3; expected a whole number from 0 to 2",
    ),
    "fraction": (changed("nodes", 1, "children", [1.5]), "nodes[1].children[0]: is 1.5; expected"),
    "two parents": (
        changed("nodes", 0, "children", [1, 2]),
        "nodes[1].children[0]: is 2, already a child of nodes[0]; expected one parent",
    ),
    "cycle": (
        changed("nodes", 2, "children", [0]),
        "nodes[0]: hangs in a cycle of nodes; expected trees",
    ),
    "self": (changed("nodes", 2, "children", [2]), "already a child of nodes[1]"),
    "translation": (
        changed("nodes", 1, "translation", [1, "2", 3]),
        "nodes[1].translation: is a list of 3 entries; expected 3 finite numbers",
    ),
    "too short": (changed("nodes", 1, "scale", [1, 1]), "nodes[1].scale: is a list of 2 entries"),
    "too large": (changed("nodes", 1, "scale", [1e200, 1, 1]), "expected 3 finite numbers"),
    "overflow": (
        lambda d: [
            *(n.update(scale=[1e99] * 3) for n in d["nodes"]),
            d["nodes"][2].update(children=[3]),
            d["nodes"].extend({"scale": [1e99] * 3, "children": [k]} for k in (4, 5)),
            d["nodes"].append({}),
        ],
        "its place in the world overflows; expected a figure of finite size",
    ),
    "no turn": (
        changed("nodes", 0, "rotation", [0, 0, 0, 0]),
        "nodes[0].rotation: is zero; expected a unit quaternion",
    ),
    "projection": (
        changed("nodes", 2, "matrix", [1, 0, 0, 1, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]),
        "nodes[2].matrix: its last row is not 0 0 0 1",
    ),
    "name": (changed("nodes", 2, "name", 5), "nodes[2].name: is 5; expected a string"),
    "no joints": (changed("skins", 0, "joints", []), "skins[0].joints: missing or empty"),
    "joint": (changed("skins", 0, "joints", [9]), "skins[0].joints[0]: is 9; expected a whole"),
    "channel": (
        changed("animations", 0, "channels", 0, "sampler", 4),
        "animations[0].channels[0].sampler: is 4; expected a whole number from 0 to 0",
    ),
    "still": (changed("animations", 0, "channels", []), "animations[0].channels: moves no node"),
    "interpolation": (
        changed("animations", 0, "samplers", 0, "interpolation", "SPLINE"),
        "interpolation: is 'SPLINE'; expected LINEAR, STEP or CUBICSPLINE",
    ),
    "cubic": (
        changed("animations", 0, "samplers", 0, "interpolation", "CUBICSPLINE"),
        "samplers[0].output: has 2 elements for 2 keys; expected 6",
    ),
    "input": (
        changed("animations", 0, "samplers", 0, "input", 7),
        "animations[0].samplers[0].input: is 7; expected a whole number from 0 to 1",
    ),
    "wrong type": (
        changed("accessors", 0, "type", "VEC3"),
        "accessors[0].type: is 'VEC3'; expected 'VEC4' for animations[0].samplers[0].output",
    ),
    "component": (
        changed("accessors", 0, "componentType", 5127),
        "accessors[0].componentType: is 5127; expected one of 5120, 5121",
    ),
    "past the view": (
        changed("accessors", 0, "count", 3),
        "accessors[0]: 3 elements end at byte 48 of a view that has 32; expected them inside",
    ),
    "no count": (changed("accessors", 0, "count", None), "accessors[0].count: missing; expected"),
    "negative": (changed("accessors", 0, "byteOffset", -4), "byteOffset: is -4; expected a whole"),
    "absurd": (
        lambda d: (d["accessors"][0].pop("bufferView"), d["accessors"][0].update(count=10**12)),
        "accessors[0].count: is 1000000000000; expected no more than",
    ),
    "past the buffer": (
        changed("bufferViews", 0, "byteLength", 10**9),
        "bufferViews[0]: ends at byte 1000000000 of a buffer that has 40; expected it inside",
    ),
    "stride": (changed("bufferViews", 0, "byteStride", 4), "bufferViews[0].byteStride: is 4"),
    "compressed": (
        changed("bufferViews", 0, "extensions", {"EXT_meshopt_compression": {}}),
        "bufferViews[0]: is compressed (EXT_meshopt_compression)",
    ),
    "short buffer": (
        changed("buffers", 0, "byteLength", 1000),
        "buffers[0].byteLength: is 1000, but there are 40 bytes",
    ),
    "no uri": (changed("buffers", 0, "uri", None), "buffers[0]: has no uri and the file no binary"),
    "base64": (
        changed("buffers", 0, "uri", "data:a/b;base64,%%%"),
        "buffers[0].uri: is 'data:a/b;base64,%%%'; expected base64 data",
    ),
    "no file": (
        changed("buffers", 0, "uri", "lost.bin"),
        "buffers[0].uri: is 'lost.bin', and there is no such file beside this one",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_end_in_one_sentence(tmp_path: Path, fault: str):
    change, text = FAULTS[fault]
    document = good().finished()
    change(document)
    path = tmp_path / "bad.gltf"
    path.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(FileError) as caught:
        load_motion(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert text in message
    assert "\n" not in message
    assert len(message) < len(str(path)) + 300


def glb_with(offset: int, data: bytes) -> bytes:
    whole = bytearray(glb_bytes(good().finished(), b"1234"))
    whole[offset : offset + len(data)] = data
    return bytes(whole)


CONTAINERS = {
    "empty": (b"", "empty; expected glTF"),
    "magic": (glb_with(0, b"glTX"), "line 1, column 1: no JSON: Expecting value; expected glTF"),
    "header": (b"glTF\2\0\0\0", "byte 0: 8 bytes; expected a header of 20"),
    "version": (glb_with(4, b"\1"), "byte 4: container version is 1; expected 2"),
    "length": (glb_with(8, b"\xff\xff\xff\x7f"), "byte 8: cut off: 2147483647 bytes expected"),
    "no length": (glb_with(8, b"\x13\0\0\0"), "byte 8: length is 19; expected 20 bytes or more"),
    "chunk": (glb_with(12, b"\xff\xff\xff\xff"), "byte 12: a chunk of 4294967295 bytes; expected"),
    "kind": (glb_with(16, b"BIN\0"), "byte 16: the first chunk is 0x4e4942; expected JSON"),
    "text": (b"{", "line 1, column 2: no JSON: Expecting property name"),
    "encoding": (b'{"asset": "\xff"}', "no JSON: 'utf-8' codec can't decode"),
    "nan": (b'{"asset": NaN}', "no JSON: NaN is no number of JSON; expected glTF"),
    "digits": (b'{"asset": ' + b"9" * 5000 + b"}", "no JSON: Exceeds the limit"),
    "nested": (b"[" * 100_000, "JSON is nested too deeply; expected glTF"),
    "list": (b"[]", "JSON without an asset; expected glTF"),
}


@pytest.mark.parametrize("case", CONTAINERS)
def test_broken_containers_end_in_one_sentence(tmp_path: Path, case: str):
    data, text = CONTAINERS[case]
    path = tmp_path / "bad.glb"
    path.write_bytes(data)
    with pytest.raises(FileError) as caught:
        load_skeleton(path)
    assert str(caught.value).startswith(f"{path}: {text}")


def test_values_that_are_not_finite_are_refused(tmp_path: Path):
    for values, text in (
        ([[0, 0, math.nan, 1], [0, 0, 0, 1]], "accessors[0]: element 0 has nan in place 2"),
        ([[0, 0, 0, 0], [0, 0, 0, 1]], "samplers[0].output: key 0 is zero; expected a unit"),
    ):
        made = Made(arm(), [0, 1, 2]).animate((1, "rotation", [0, 0.1], values))
        with pytest.raises(FileError) as caught:
            load_motion(made.gltf(tmp_path / "a.gltf"))
        assert text in str(caught.value)


def test_motions_without_end_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    made = Made(arm(), [0, 1, 2]).animate((1, "rotation", [0, 1, 1e30], about_z(0, 1, 2)))
    path = made.gltf(tmp_path / "a.gltf")
    with pytest.raises(FileError, match=r"lasts 1e\+30 s, 6e\+31 frames at 60 Hz; expected"):
        load_motion(path)
    monkeypatch.setattr(_gltf, "MAX_COORDINATES", 1000)
    with pytest.raises(FileError, match="10001 frames of 15 coordinates at 100000 Hz; expected"):
        load_motion(good().gltf(path), rate=1e5)


def test_a_small_file_cannot_fill_the_memory(tmp_path: Path):
    """Neither by accessors without bytes nor by keys that are hours apart."""
    made = Made(arm(), [0, 1, 2]).animate((1, "rotation", [0, 1, 2], about_z(0, 1, 2)))
    made.json["accessors"][0] = {"componentType": 5126, "count": 10**8, "type": "VEC4"}
    with pytest.raises(FileError, match=r"is 100000000; expected no more than 10\d{5} numbers"):
        load_motion(made.gltf(tmp_path / "a.gltf"))
    made = Made(arm(), [0, 1, 2]).animate((1, "rotation", [0, 0.1, 6e4], about_z(0, 1, 2)))
    with pytest.raises(FileError, match="3600001 frames of 15 coordinates at 60 Hz; expected at"):
        load_motion(made.gltf(tmp_path / "a.gltf"))
    assert len(load_motion(tmp_path / "a.gltf", rate=1.0)) == 60_001


def test_buffers_outside_the_folder_are_refused(tmp_path: Path):
    made = good()
    (tmp_path / "secret.bin").write_bytes(made.data)
    folder = tmp_path / "inside"
    folder.mkdir()
    (folder / "link.bin").symlink_to(tmp_path / "secret.bin")
    outside = (tmp_path / "secret.bin").as_posix()
    for uri in ("../secret.bin", "%2e%2e/secret.bin", outside, f"file://{outside}", "link.bin"):
        path = made.gltf(folder / "a.gltf", uri=uri)
        with pytest.raises(FileError, match="expected a file in the folder of this one"):
            load_motion(path)


def test_random_damage_gives_a_motion_or_a_file_error(shared_data: Path, tmp_path: Path):
    """Cut anywhere, or with odd values anywhere in the JSON: read, or refused in one sentence."""
    whole = (shared_data / "data/gltf/khronos/SimpleSkin.gltf").read_bytes()
    cut = good().glb(tmp_path / "whole.glb").read_bytes()
    rng = np.random.default_rng(0)
    files = [cut[: int(n)] for n in np.linspace(0, len(cut) - 1, 60)]
    odd = [-1, 0, 10**18, 1e308, "x", None, [], {}, True, [[]], [{}], -0.5]
    for _ in range(150):
        document = json.loads(whole)
        container: Any = document
        while True:
            key = (
                rng.choice(list(container))
                if isinstance(container, dict)
                else int(rng.integers(len(container)))
            )
            if (
                not isinstance(container[key], dict | list)
                or len(container[key]) == 0
                or rng.random() < 0.2
            ):
                container[key] = odd[int(rng.integers(len(odd)))]
                break
            container = container[key]
        files.append(json.dumps(document).encode())
    refused = 0
    for data in files:
        path = tmp_path / "damaged.gltf"
        path.write_bytes(data)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FileWarning)
            try:
                load_motion(path)
            except FileError as error:
                assert "\n" not in str(error)
                refused += 1
    assert refused > 100
