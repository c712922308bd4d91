"""Write motions as animated GLB, for Blender, three.js and any other viewer of glTF.

Every bone is a node, with the bone's frame; every joint that moves is animated, a key for each
frame. A figure's meshes and skins go with it. One that has none is drawn as octahedra, a mesh bound
to the nodes by a skin, each octahedron to one bone; readers of ours leave it out again.

glTF has y up. A figure with another up axis hangs from a node that turns it; the reader undoes that
rotation. Times, rotations and translations of keys are single precision, as glTF wants it: what is
read back is within 1e-7 of the distance from the origin, or of the figure's size if that is larger,
so better than 1e-6 m for a figure of human size up to some metres from the origin. Rest poses keep
all digits.
"""

from __future__ import annotations

import json
import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exactik.errors import FileError, UsageError
from exactik.io._files import open_atomic
from exactik.io.gltf._nodes import make_rotation_to_y_up
from exactik.io.gltf._write_surfaces import (
    add_surfaces,
    make_bone_mesh,
    make_marker_mesh,
    measure_figure,
)
from exactik.model import Pose, Skeleton
from exactik.model.motion import Motion
from exactik.spatial import wxyz_from_matrix
from exactik.typing import Array, IntArray

CHUNK_FRAMES = 4096  # bounds the memory for the rotations of all bones
FLOAT, BYTE, SHORT, INT = 5126, 5121, 5123, 5125  # componentType
ARRAY_BUFFER = 34962  # target of a buffer view with vertices
COLOURS = {"bones": (0.56, 0.61, 0.67, 1.0), "markers": (0.85, 0.2, 0.15, 1.0)}
MARKER_FRACTION = 0.015  # size of a marker, of the figure's


def write_glb(
    motion: Motion, path: str, *, up_axis: str | None = None, markers: bool = False
) -> None:
    """Write a motion as an animated .glb.

    Missing frames get no key: viewers interpolate them, and `load_motion` finds them missing.

    Args:
        up_axis: "x", "y" or "z", in place of the motion's; a figure whose up axis is not known is
            written as it is.
        markers: whether to write the markers of the skeleton as well.
    """
    frames = np.flatnonzero(np.isfinite(motion.q).all(axis=1))
    up_axis = motion.up_axis if up_axis is None else up_axis
    builder = GlbBuilder(motion.skeleton, path, up_axis, markers)
    if len(frames) > 0:
        builder.animate(motion, frames)
    builder.write()


def write_glb_skeleton(
    skeleton: Skeleton, path: str, *, up_axis: str | None = None, markers: bool = False
) -> None:
    """Write a skeleton in its neutral pose as a .glb; arguments as for `write_glb`."""
    GlbBuilder(skeleton, path, up_axis, markers).write()


def encode_posable_glb(skeleton: Skeleton, figure: int) -> bytes:
    """Return the visuals of a skeleton as a GLB for a page that poses them itself.

    All bones are children of the first node, where they are in the world in the neutral pose, so
    that a page has their places alone to set. Extras number the figure and its bones.

    Args:
        skeleton: one with visuals.
        figure: its number on the page.
    """
    return GlbBuilder(skeleton, "", None, False, figure).encode()


class GlbBuilder:
    """A document that is being made: JSON objects, and the bytes that they refer to."""

    def __init__(
        self,
        skeleton: Skeleton,
        path: str,
        up_axis: str | None,
        markers: bool,
        figure: int | None = None,
    ):
        """Begin with the figure in its neutral pose; with a number it is to be posed by a page."""
        if up_axis not in ("x", "y", "z", None):
            raise UsageError(f"up_axis is {up_axis!r}; it must be 'x', 'y' or 'z'")
        if len(skeleton.bones) > 1 << 16:
            raise FileError(path, f"{len(skeleton.bones)} bones; a skin has at most 65536")
        self.skeleton, self.path = skeleton, path
        self.binary = bytearray()
        self.json: dict[str, Any] = {
            "asset": {"version": "2.0", "generator": "exactik"},
            "scene": 0,
            "scenes": [{"nodes": [0]}],
        }
        pose = skeleton.forward(skeleton.neutral())
        if figure is None:
            self._add_nodes(pose, up_axis)
        else:
            self._add_flat_nodes(pose, figure)
        visuals = skeleton.visuals
        if figure is not None:
            add_surfaces(self, visuals, keep_normals=True, skins_at_top=False)
        elif visuals:
            # The joints of skins are what readers take for bones, and those of a skin for a part of
            # the figure need not be all: this one, which no mesh uses, names them.
            joints = list(range(1, len(skeleton.bones) + 1))
            self.add("skins", {"name": skeleton.name, "joints": joints})
            add_surfaces(self, visuals)
        else:
            self._add_figure(pose, make_rotation_to_y_up(up_axis))
        if markers and len(skeleton.markers) > 0:
            self._add_markers(MARKER_FRACTION * measure_figure(pose))

    def add(self, key: str, value: dict[str, Any]) -> int:
        """Append to one of the lists of the document; return the index."""
        entries = self.json.setdefault(key, [])
        entries.append(value)
        return len(entries) - 1

    def add_accessor(
        self,
        values: NDArray[Any],
        kind: str,
        component: int,
        *,
        target: int = 0,
        normalized: bool = False,
        bounds: bool = False,
    ) -> int:
        """Append numbers, (n, …), to the buffer; return the index of their accessor."""
        dtype = {FLOAT: "<f4", BYTE: "<u1", SHORT: "<u2", INT: "<u4"}[component]
        data = np.ascontiguousarray(values, dtype=dtype)
        accessor: dict[str, Any] = {
            "bufferView": self.add_bytes(data.tobytes(), target),
            "componentType": component,
            "count": len(data),
            "type": kind,
        }
        if normalized:
            accessor["normalized"] = True
        if bounds:
            flat = data.reshape(len(data), -1)
            accessor["min"], accessor["max"] = flat.min(axis=0).tolist(), flat.max(axis=0).tolist()
        return self.add("accessors", accessor)

    def add_bytes(self, data: bytes, target: int = 0) -> int:
        """Append bytes to the buffer; return the index of their view."""
        view = {"buffer": 0, "byteOffset": len(self.binary), "byteLength": len(data)}
        if target != 0:
            view["target"] = target
        self.binary += data
        self.binary += bytes(-len(self.binary) % 4)
        return self.add("bufferViews", view)

    # --- the figure at rest

    def _add_nodes(self, pose: Pose, up_axis: str | None) -> None:
        """Add node 0, which turns the figure to y up, and node k + 1 for bone k."""
        names = [self.skeleton.name, *self.skeleton.bone_names]
        nodes: list[dict[str, Any]] = [{"name": name} for name in names]
        nodes[0]["extras"] = {"exactik": {"up_axis": up_axis}}
        p_parent_bone, R_parent_bone = _compute_local_transforms(self.skeleton, pose)
        wrapper_wxyz = wxyz_from_matrix(make_rotation_to_y_up(up_axis))
        rotations = [wrapper_wxyz, *wxyz_from_matrix(R_parent_bone)]
        translations = [np.zeros(3), *p_parent_bone]
        for node, wxyz, translation in zip(nodes, rotations, translations, strict=True):
            if wxyz[0] != 1.0:
                node["rotation"] = wxyz[[1, 2, 3, 0]].tolist()
            if translation.any():
                node["translation"] = translation.tolist()
        for k, parent in enumerate(self.skeleton.parents.tolist()):
            nodes[parent + 1].setdefault("children", []).append(k + 1)
        self.json["nodes"] = nodes

    def _add_flat_nodes(self, pose: Pose, figure: int) -> None:
        """Add node 0, with the number of the figure, and below it node k + 1 for bone k."""
        n = len(self.skeleton.bones)
        root = {"children": list(range(1, n + 1)), "extras": {"exactik": {"figure": figure}}}
        self.json["nodes"] = nodes = [root]
        xyzw = wxyz_from_matrix(pose.rotations)[:, [1, 2, 3, 0]]
        for k in range(n):
            node = {"translation": pose.positions[k].tolist(), "rotation": xyzw[k].tolist()}
            nodes.append({**node, "extras": {"exactik": {"bone": k}}})

    def _add_figure(self, pose: Pose, R_gltf_skeleton: Array) -> None:
        """Add the octahedra, and the skin that binds them to the bones as they are at rest."""
        vertices, normals, bones = make_bone_mesh(self.skeleton, pose)
        n = len(self.skeleton.bones)
        joints, weights = np.zeros((len(bones), 4)), np.zeros((len(bones), 4))
        joints[:, 0], weights[:, 0] = bones, 255
        joint_type = BYTE if n < 256 else SHORT
        attributes = {
            **self._add_vertices(vertices @ R_gltf_skeleton.T, normals @ R_gltf_skeleton.T),
            "JOINTS_0": self.add_accessor(joints, "VEC4", joint_type, target=ARRAY_BUFFER),
            "WEIGHTS_0": self.add_accessor(
                weights, "VEC4", BYTE, target=ARRAY_BUFFER, normalized=True
            ),
        }
        R_bone_gltf = np.swapaxes(R_gltf_skeleton @ pose.rotations, -1, -2)
        p_gltf_bone = pose.positions @ R_gltf_skeleton.T
        T_bone_gltf = np.zeros((n, 4, 4))
        T_bone_gltf[:, :3, :3] = R_bone_gltf
        T_bone_gltf[:, :3, 3] = -(R_bone_gltf @ p_gltf_bone[..., None])[..., 0]
        T_bone_gltf[:, 3, 3] = 1.0
        skin = {
            "name": self.skeleton.name,
            "skeleton": 0,
            "joints": list(range(1, n + 1)),
            "inverseBindMatrices": self.add_accessor(np.swapaxes(T_bone_gltf, 1, 2), "MAT4", FLOAT),
        }
        mesh = self._add_mesh("bones", attributes)
        node = {"name": "bones", "mesh": mesh, "skin": self.add("skins", skin)}
        # At the top: the nodes above a skinned mesh have no effect on it.
        self.json["scenes"][0]["nodes"].append(self.add("nodes", node))

    def _add_markers(self, size: float) -> None:
        mesh = self._add_mesh("markers", self._add_vertices(*make_marker_mesh(size)))
        for name, (bone, point) in self.skeleton.markers.items():
            marker = {"name": name, "mesh": mesh, "translation": list(point)}
            index = self.add("nodes", {**marker, "extras": {"exactik": {"marker": True}}})
            parent = self.json["nodes"][self.skeleton.bone_index(bone) + 1]
            parent.setdefault("children", []).append(index)

    def _add_vertices(self, vertices: Array, normals: Array) -> dict[str, int]:
        """Add vertices and normals, (n, 3); return the attributes of their mesh."""
        return {
            "POSITION": self.add_accessor(
                vertices, "VEC3", FLOAT, target=ARRAY_BUFFER, bounds=True
            ),
            "NORMAL": self.add_accessor(normals, "VEC3", FLOAT, target=ARRAY_BUFFER),
        }

    def _add_mesh(self, name: str, attributes: dict[str, int]) -> int:
        surface = {"baseColorFactor": COLOURS[name], "metallicFactor": 0.0, "roughnessFactor": 0.8}
        material = self.add("materials", {"name": name, "pbrMetallicRoughness": surface})
        primitives = [{"attributes": attributes, "material": material}]
        helper = {"exactik": {"helper": True}}  # no part of the figure's look
        return self.add("meshes", {"name": name, "primitives": primitives, "extras": helper})

    # --- the motion

    def animate(self, motion: Motion, frames: IntArray) -> None:
        """Add the animation: a key for each of these frames."""
        times = (frames / motion.rate).astype(np.float32)
        if (np.diff(times) <= 0.0).any():
            text = f"{len(motion)} frames are more than times in single precision can tell apart"
            raise FileError(self.path, text)
        bones = self.skeleton.bones
        rotating = [k for k, bone in enumerate(bones) if bone.joint.rotates]
        shifting = [k for k, bone in enumerate(bones) if bone.joint.translates]
        if len(rotating) + len(shifting) == 0:
            rotating = [0]  # nothing moves, but one curve tells the duration
        xyzw = np.empty((len(frames), len(rotating), 4), dtype=np.float32)
        translations = np.empty((len(frames), len(shifting), 3), dtype=np.float32)
        for start in range(0, len(frames), CHUNK_FRAMES):
            rows = slice(start, start + CHUNK_FRAMES)
            pose = self.skeleton.forward(motion.q[frames[rows]])
            p_parent_bone, R_parent_bone = _compute_local_transforms(self.skeleton, pose)
            xyzw[rows] = wxyz_from_matrix(R_parent_bone[:, rotating])[..., [1, 2, 3, 0]]
            translations[rows] = p_parent_bone[:, shifting]
        signs = np.where((xyzw[1:] * xyzw[:-1]).sum(axis=-1) < 0.0, -1, 1)
        xyzw[1:] *= np.cumprod(signs, axis=0, dtype=np.int8)[..., None]
        clock = self.add_accessor(times, "SCALAR", FLOAT, bounds=True)
        animation: dict[str, Any] = {"name": "motion", "samplers": [], "channels": []}
        for column, k in enumerate(rotating):
            self._add_channel(animation, clock, k, "rotation", xyzw[:, column])
        for column, k in enumerate(shifting):
            self._add_channel(animation, clock, k, "translation", translations[:, column])
        extras = {"rate": motion.rate, "frames": len(motion), "first_frame": motion.first_frame}
        self.add("animations", {**animation, "extras": {"exactik": extras}})

    def _add_channel(
        self,
        animation: dict[str, Any],
        clock: int,
        bone: int,
        path: str,
        values: NDArray[np.float32],
    ) -> None:
        output = self.add_accessor(values, f"VEC{values.shape[1]}", FLOAT)
        sampler = {"input": clock, "output": output, "interpolation": "LINEAR"}
        target = {"node": bone + 1, "path": path}
        animation["channels"].append({"sampler": len(animation["samplers"]), "target": target})
        animation["samplers"].append(sampler)

    def encode(self) -> bytes:
        """Return the bytes of the file."""
        self.json["buffers"] = [{"byteLength": len(self.binary)}]
        text = json.dumps(self.json, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        data = text.encode("utf-8", "replace")
        data += b" " * (-len(data) % 4)
        length = 12 + 8 + len(data) + 8 + len(self.binary)
        if length >= 1 << 32:
            raise FileError(self.path, f"would have {length} bytes; a GLB has less than 4 GiB")
        header = struct.pack("<4sII", b"glTF", 2, length)
        head = struct.pack("<II", len(data), 0x4E4F534A) + data
        return header + head + struct.pack("<II", len(self.binary), 0x004E4942) + self.binary

    def write(self) -> None:
        """Write the file."""
        data = self.encode()
        with open_atomic(self.path, "wb") as file:
            file.write(data)


def _compute_local_transforms(skeleton: Skeleton, pose: Pose) -> tuple[Array, Array]:
    """Return where bones are in their parents: p_parent_bone (…, n, 3), R_parent_bone (…, n, 3, 3).

    Of roots it is their position and rotation in the world.
    """
    p_parent_bone, R_parent_bone = pose.positions.copy(), pose.rotations.copy()
    bones = np.flatnonzero(skeleton.parents >= 0)
    parents = skeleton.parents[bones]
    R_parent_world = np.swapaxes(pose.rotations[..., parents, :, :], -1, -2)
    away = pose.positions[..., bones, :] - pose.positions[..., parents, :]
    p_parent_bone[..., bones, :] = (R_parent_world @ away[..., None])[..., 0]
    R_parent_bone[..., bones, :, :] = R_parent_world @ pose.rotations[..., bones, :, :]
    return p_parent_bone, R_parent_bone
