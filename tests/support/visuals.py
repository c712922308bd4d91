"""Figures with a look, and images, made here."""

from __future__ import annotations

import struct
import zlib

import numpy as np

import exactik as ik
from exactik.model.visuals import (
    Material,
    Mesh,
    Skin,
    Texture,
    Visual,
    Visuals,
    make_box,
    make_cylinder,
)


def make_png(width: int, height: int) -> bytes:
    """A grey PNG."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        code = zlib.crc32(kind + data)
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", code)

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    rows = b"".join(b"\0" + b"\x80\x40\xc0" * width for _ in range(height))
    parts = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + parts


def make_chain(bones: int) -> ik.Skeleton:
    """Ball joints 0.1 m apart, up along z."""
    ball = ik.Joint.quaternion()
    parts = [ik.Bone("b0", joint=ik.Joint.free())]
    for k in range(1, bones):
        parts.append(ik.Bone(f"b{k}", parent=f"b{k - 1}", offset=(0, 0, 0.1), joint=ball))
    return ik.Skeleton.build("arm", parts, {"TIP": (f"b{bones - 1}", (0.0, 0.0, 0.1))})


def make_skin(skeleton: ik.Skeleton, rings: int = 8, sides: int = 8) -> Skin:
    """A tube around a chain, with a texture; each vertex follows the two bones nearest to it."""
    n = len(skeleton.bones)
    heights = np.linspace(0.0, 0.1 * n, rings * n)
    angles = 2.0 * np.pi * np.arange(sides + 1) / sides
    h, a = np.meshgrid(heights, angles, indexing="ij")
    vertices = np.stack([0.03 * np.cos(a), 0.03 * np.sin(a), h], axis=-1).reshape(-1, 3)
    first = (np.arange(len(heights) - 1)[:, None] * (sides + 1) + np.arange(sides)).ravel()
    up = first + sides + 1
    faces = [(first, first + 1, up + 1), (first, up + 1, up)]
    lower = np.clip(np.floor(vertices[:, 2] / 0.1 - 0.5), 0, n - 1)
    joints = np.zeros((len(vertices), 4), dtype=np.int64)
    weights = np.zeros((len(vertices), 4))
    joints[:, 0], joints[:, 1] = lower.astype(int), np.minimum(lower + 1, n - 1).astype(int)
    weights[:, 1] = np.clip(vertices[:, 2] / 0.1 - 0.5 - lower, 0.0, 1.0)
    weights[:, 0] = 1.0 - weights[:, 1]
    pose = skeleton.forward(skeleton.neutral())
    T_bone_mesh = np.tile(np.eye(4), (n, 1, 1))
    T_bone_mesh[:, :3, 3] = -pose.positions
    uv = np.stack([a / (2.0 * np.pi), h / heights[-1]], axis=-1).reshape(-1, 2)
    texture = Texture(make_png(8, 8), "image/png", {"wrapS": 10497})
    return Skin(
        name="tube",
        mesh=Mesh(vertices, np.concatenate([np.stack(f, axis=1) for f in faces]), uv=uv),
        bones=skeleton.bone_names,
        T_bone_mesh=T_bone_mesh,
        joints=joints,
        weights=weights,
        material=Material("paint", roughness=0.5, textures={"base_colour": texture}),
    )


def make_skinned_arm(bones: int = 3) -> ik.Skeleton:
    """A chain with a textured tube."""
    chain = make_chain(bones)
    return chain.with_visuals(Visuals(skins=(make_skin(chain),)))


def make_boxed_arm() -> ik.Skeleton:
    """A chain with a box on its first bone and a scaled cylinder on its last."""
    chain = make_chain(3)
    T_bone_mesh = np.diag([2.0, 1.0, 0.5, 1.0])
    T_bone_mesh[:3, 3] = (0.0, 0.1, 0.2)
    red = Material.of_srgb((0.8, 0.1, 0.1, 0.5), "red", double_sided=True)
    visuals = (
        Visual("box", "b0", make_box((0.1, 0.05, 0.02))),
        Visual("can", "b2", make_cylinder(0.02, 0.1), red, T_bone_mesh),
    )
    return chain.with_visuals(Visuals(rigid=visuals))
