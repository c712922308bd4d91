"""Motions as animated GLB: a figure that moves in Blender, three.js and any other viewer of glTF.

Every bone is a node, with the bone's own frame; every joint that moves is animated, a key for each
frame. One mesh of octahedra is bound to the nodes by a skin, each octahedron to one bone.

glTF has y up. A figure with another up axis hangs from a node that turns it; the reader takes that
turn back. Times, rotations and translations of keys are single precision, as glTF wants it: what is
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

from exactik.errors import FileError, ModelError
from exactik.io._files import writing
from exactik.io.gltf._nodes import turn_to_y
from exactik.io.gltf._shapes import bone_mesh, figure_size, marker_mesh
from exactik.model import Pose, Skeleton
from exactik.motion import Motion
from exactik.spatial import wxyz_from_matrix
from exactik.typing import Array, IntArray

__all__ = ["write_glb", "write_glb_skeleton"]

CHUNK = 4096  # frames at a time
FLOAT, BYTE, SHORT = 5126, 5121, 5123
COLOURS = {"bones": (0.56, 0.61, 0.67, 1.0), "markers": (0.85, 0.2, 0.15, 1.0)}


def write_glb(
    motion: Motion, path: str, *, up_axis: str | None = None, markers: bool = False
) -> None:
    """Write a motion as an animated .glb.

    Missing frames get no key: viewers go straight over them, and our reader finds them missing.

    Args:
        motion: what to write.
        path: where.
        up_axis: "x", "y" or "z", in place of the motion's own; a figure whose up axis is not known
            is written as it is.
        markers: whether to write the markers of the skeleton as well.
    """
    frames = np.flatnonzero(np.isfinite(motion.q).all(axis=1))
    file = _File(motion.skeleton, path, motion.up_axis if up_axis is None else up_axis, markers)
    if len(frames) > 0:
        file.animate(motion, frames)
    file.write()


def write_glb_skeleton(
    skeleton: Skeleton, path: str, *, up_axis: str | None = None, markers: bool = False
) -> None:
    """Write a skeleton in its neutral pose as a .glb; arguments as for `write_glb`."""
    _File(skeleton, path, up_axis, markers).write()


class _File:
    """A document in the making: JSON objects, and the bytes that they refer to."""

    def __init__(self, skeleton: Skeleton, path: str, up_axis: str | None, markers: bool):
        """Begin with the figure in its neutral pose."""
        if up_axis not in ("x", "y", "z", None):
            raise ModelError(f"up_axis is {up_axis!r}; it must be 'x', 'y' or 'z'")
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
        self._add_nodes(pose, up_axis)
        self._add_figure(pose, turn_to_y(up_axis))
        if markers and len(skeleton.markers) > 0:
            self._add_markers(0.015 * figure_size(pose))

    def _add(self, key: str, value: dict[str, Any]) -> int:
        """Append to one of the lists of the document; return the index."""
        entries = self.json.setdefault(key, [])
        entries.append(value)
        return len(entries) - 1

    def _accessor(
        self, values: NDArray[Any], kind: str, component: int, target: int = 0, **more: Any
    ) -> int:
        """Append numbers, (n, …), to the buffer; return the index of their accessor."""
        dtype = {FLOAT: "<f4", BYTE: "<u1", SHORT: "<u2"}[component]
        data = np.ascontiguousarray(values, dtype=dtype)
        view = {"buffer": 0, "byteOffset": len(self.binary), "byteLength": data.nbytes}
        if target != 0:
            view["target"] = target
        self.binary += data.tobytes()
        self.binary += bytes(-len(self.binary) % 4)
        entry = {"bufferView": self._add("bufferViews", view), "componentType": component}
        if more.pop("bounds", False):
            flat = data.reshape(len(data), -1)
            more |= {"min": flat.min(axis=0).tolist(), "max": flat.max(axis=0).tolist()}
        return self._add("accessors", {**entry, "count": len(data), "type": kind, **more})

    # --- the figure at rest

    def _add_nodes(self, pose: Pose, up_axis: str | None) -> None:
        """Node 0 turns the figure, node k + 1 is bone k."""
        names = [self.skeleton.name, *self.skeleton.bone_names]
        nodes: list[dict[str, Any]] = [{"name": name} for name in names]
        nodes[0]["extras"] = {"exactik": {"up_axis": up_axis}}
        turn = wxyz_from_matrix(turn_to_y(up_axis))
        shifts, turns = _local(self.skeleton, pose)
        rotations = [turn, *wxyz_from_matrix(turns)]
        for node, wxyz, shift in zip(nodes, rotations, [np.zeros(3), *shifts], strict=True):
            if wxyz[0] != 1.0:
                node["rotation"] = wxyz[[1, 2, 3, 0]].tolist()
            if shift.any():
                node["translation"] = shift.tolist()
        for k, parent in enumerate(self.skeleton.parents.tolist()):
            nodes[parent + 1].setdefault("children", []).append(k + 1)
        self.json["nodes"] = nodes

    def _add_figure(self, pose: Pose, turn: Array) -> None:
        """Add the octahedra, and the skin that binds them to the bones as they are at rest."""
        vertices, normals, bones = bone_mesh(self.skeleton, pose)
        n = len(self.skeleton.bones)
        joints, weights = np.zeros((len(bones), 4)), np.zeros((len(bones), 4))
        joints[:, 0], weights[:, 0] = bones, 255
        attributes = {
            **self._vertices(vertices @ turn.T, normals @ turn.T),
            "JOINTS_0": self._accessor(joints, "VEC4", BYTE if n < 256 else SHORT, 34962),
            "WEIGHTS_0": self._accessor(weights, "VEC4", BYTE, 34962, normalized=True),
        }
        inverse = np.zeros((n, 4, 4))
        rotations = np.swapaxes(turn @ pose.rotations, -1, -2)
        inverse[:, :3, :3] = rotations
        inverse[:, :3, 3] = -(rotations @ (pose.positions @ turn.T)[..., None])[..., 0]
        inverse[:, 3, 3] = 1.0
        skin = {
            "name": self.skeleton.name,
            "skeleton": 0,
            "joints": list(range(1, n + 1)),
            "inverseBindMatrices": self._accessor(np.swapaxes(inverse, 1, 2), "MAT4", FLOAT),
        }
        mesh = self._mesh("bones", attributes)
        node = {"name": "bones", "mesh": mesh, "skin": self._add("skins", skin)}
        # At the top: what is above a skinned mesh has no effect on it.
        self.json["scenes"][0]["nodes"].append(self._add("nodes", node))

    def _add_markers(self, size: float) -> None:
        mesh = self._mesh("markers", self._vertices(*marker_mesh(size)))
        for name, (bone, point) in self.skeleton.markers.items():
            marker = {"name": name, "mesh": mesh, "translation": list(point)}
            index = self._add("nodes", {**marker, "extras": {"exactik": {"marker": True}}})
            parent = self.json["nodes"][self.skeleton.bone_index(bone) + 1]
            parent.setdefault("children", []).append(index)

    def _vertices(self, vertices: Array, normals: Array) -> dict[str, int]:
        return {
            "POSITION": self._accessor(vertices, "VEC3", FLOAT, 34962, bounds=True),
            "NORMAL": self._accessor(normals, "VEC3", FLOAT, 34962),
        }

    def _mesh(self, name: str, attributes: dict[str, int]) -> int:
        look = {"baseColorFactor": COLOURS[name], "metallicFactor": 0.0, "roughnessFactor": 0.8}
        material = self._add("materials", {"name": name, "pbrMetallicRoughness": look})
        return self._add(
            "meshes",
            {"name": name, "primitives": [{"attributes": attributes, "material": material}]},
        )

    # --- the motion

    def animate(self, motion: Motion, frames: IntArray) -> None:
        """Add the animation: a key for each of these frames."""
        times = (frames / motion.rate).astype(np.float32)
        if (np.diff(times) <= 0.0).any():
            text = f"{len(motion)} frames are more than times in single precision can tell apart"
            raise FileError(self.path, text)
        bones = self.skeleton.bones
        turning = [k for k, b in enumerate(bones) if b.joint.rotates]
        shifting = [k for k, b in enumerate(bones) if b.joint.translates]
        if len(turning) + len(shifting) == 0:
            turning = [0]  # nothing moves, but it lasts
        rotations = np.empty((len(frames), len(turning), 4), dtype=np.float32)
        shifts = np.empty((len(frames), len(shifting), 3), dtype=np.float32)
        for start in range(0, len(frames), CHUNK):
            rows = slice(start, start + CHUNK)
            shift, turn = _local(self.skeleton, self.skeleton.forward(motion.q[frames[rows]]))
            rotations[rows] = wxyz_from_matrix(turn[:, turning])[..., [1, 2, 3, 0]]
            shifts[rows] = shift[:, shifting]
        signs = np.where((rotations[1:] * rotations[:-1]).sum(axis=-1) < 0.0, -1, 1)
        rotations[1:] *= np.cumprod(signs, axis=0, dtype=np.int8)[..., None]
        clock = self._accessor(times, "SCALAR", FLOAT, bounds=True)
        animation: dict[str, Any] = {"name": "motion", "samplers": [], "channels": []}
        for column, k in enumerate(turning):
            self._channel(animation, clock, k, "rotation", "VEC4", rotations[:, column])
        for column, k in enumerate(shifting):
            self._channel(animation, clock, k, "translation", "VEC3", shifts[:, column])
        note = {"rate": motion.rate, "frames": len(motion), "first_frame": motion.first_frame}
        self._add("animations", {**animation, "extras": {"exactik": note}})

    def _channel(
        self, animation: dict[str, Any], clock: int, bone: int, path: str, kind: str, values: Any
    ) -> None:
        output = self._accessor(values, kind, FLOAT)
        sampler = {"input": clock, "output": output, "interpolation": "LINEAR"}
        target = {"node": bone + 1, "path": path}
        animation["channels"].append({"sampler": len(animation["samplers"]), "target": target})
        animation["samplers"].append(sampler)

    def write(self) -> None:
        """Put it into its file."""
        self.json["buffers"] = [{"byteLength": len(self.binary)}]
        text = json.dumps(self.json, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        data = text.encode("utf-8", "replace")
        data += b" " * (-len(data) % 4)
        length = 12 + 8 + len(data) + 8 + len(self.binary)
        if length >= 1 << 32:
            raise FileError(self.path, f"would have {length} bytes; a GLB has less than 4 GiB")
        with writing(self.path, "wb") as file:
            file.write(struct.pack("<4sII", b"glTF", 2, length))
            file.write(struct.pack("<II", len(data), 0x4E4F534A) + data)
            file.write(struct.pack("<II", len(self.binary), 0x004E4942))
            file.write(self.binary)


def _local(skeleton: Skeleton, pose: Pose) -> tuple[Array, Array]:
    """Return where bones are in their parents: places (…, n_bones, 3), rotations (…, 3, 3)."""
    places, turns = pose.positions.copy(), pose.rotations.copy()
    own = np.flatnonzero(skeleton.parents >= 0)
    above = skeleton.parents[own]
    inverse = np.swapaxes(pose.rotations[..., above, :, :], -1, -2)
    away = pose.positions[..., own, :] - pose.positions[..., above, :]
    places[..., own, :] = (inverse @ away[..., None])[..., 0]
    turns[..., own, :, :] = inverse @ pose.rotations[..., own, :, :]
    return places, turns
