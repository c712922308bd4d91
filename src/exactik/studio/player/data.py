"""A scene as data for the player's script: names and numbers as JSON, arrays as one block."""

from __future__ import annotations

import base64
import zlib
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from exactik._text import count_noun
from exactik.model import Pose
from exactik.model.visuals import Texture
from exactik.spatial import wxyz_from_matrix
from exactik.studio.player.plates import ShownPlate
from exactik.studio.player.scene import Ghost, PlayerScene
from exactik.studio.player.surface import (
    Part,
    make_ghost_part,
    make_skin_parts,
    make_stick_part,
    place_part,
    simplify_part,
)
from exactik.studio.plots.colours import QUALITY_COLOURS
from exactik.typing import Array

MIN_STEP = (
    2.5e-4  # [m] to which places are rounded: 16 m of a room in 16 bits; noise is 0.1 to 1 mm
)
MAX_STEPS = 65000  # of a coordinate in 16 bits, with some to spare
ROTATION_STEPS = 16384  # of a quaternion's component: 0.007° at most
WRAPS = 10497, 33071, 33648  # glTF's and OpenGL's: repeat, clamp to the edge, repeat mirrored
RIGID = 1e-6  # [m] by which a bone may move in its parent and still be taken as fixed to it
FLOOR_SHARE = 0.35  # of the height of all that is seen: a floor at 0 may be so far off from it


class LookLimits(NamedTuple):
    """How large the look of a figure may be; what is larger is simplified or left out."""

    vertices: int  # of all its surfaces
    image_bytes: int  # of all its images, which are stored as they came


# In a report: 0.7 MB as text. A body has 10 000 vertices, robots up to some 500 000.
REPORT_LIMITS = LookLimits(vertices=30_000, image_bytes=600_000)


def encode_scene(
    scene: PlayerScene, *, with_skin: bool = True, limits: LookLimits = REPORT_LIMITS
) -> dict[str, Any]:
    """Return what the script draws, ready for JSON.

    Args:
        scene: what is shown.
        with_skin: whether to show the look of the figure, else limbs from joint to joint.
        limits: of its look.
    """
    block, notes = Block(), []
    low, high = scene.extent
    step = max(MIN_STEP, float((high - low).max()) / MAX_STEPS)
    if len(scene.frames) < scene.length:
        notes.append(f"{len(scene.frames)} of {count_noun(scene.length, 'frame')}")
    notes.append(f"drawn to {1e3 * step:.2g} mm")
    data: dict[str, Any] = {
        "name": scene.name,
        "rate": scene.rate,
        "length": scene.length,
        "first": scene.first,
        "firstNumber": scene.first_number,
        "frames": block.add(np.diff(scene.frames, prepend=0).astype("<u4")),
        "low": low.tolist(),
        "high": high.tolist(),
        "step": step,
        "floor": _find_floor(low, high),
        "markers": _encode_markers(scene, block, low, step),
        "plates": [_encode_plate(plate, block, low, step) for plate in scene.plates],
        "figure": None,
    }
    if scene.pose is not None:
        data["figure"] = _encode_pose(scene.pose, block, low, step)
        parts = [make_stick_part(scene.pose.skeleton)]
        if with_skin:
            parts += _choose_skin(scene.pose, limits, notes)
        data["figure"]["parts"] = [_encode_part(part, block) for part in parts]
        beyond = np.max([_measure_beyond(scene.pose, part) for part in parts], axis=0)
        data["figure"]["margin"] = round(float(beyond.max()), 4)
        data["figure"]["boxes"] = _measure_boxes(scene.pose, parts)
        if scene.quality is not None:  # by bone: runs of the same are short when compressed
            data["figure"]["quality"] = block.add(np.ascontiguousarray(scene.quality.T))
            levels = sorted(QUALITY_COLOURS.items())
            data["qualities"] = [[level.name.lower(), colour] for level, colour in levels]
        data["floor"] = _find_floor(low - beyond[0], high + beyond[1])
    data["ghosts"] = [_encode_ghost(ghost, block, low, step) for ghost in scene.ghosts]
    return {**data, "notes": notes, "block": block.encode()}


def _encode_ghost(ghost: Ghost, block: Block, low: Array, step: float) -> dict[str, Any]:
    part = make_ghost_part(ghost.pose.skeleton)
    return {
        **_encode_pose(ghost.pose, block, low, step),
        "present": block.add(ghost.present.astype(np.uint8)),
        "parts": [_encode_part(part, block)],
        "boxes": _measure_boxes(ghost.pose, [part]),
    }


def _measure_beyond(pose: Pose, part: Part) -> Array:
    """Return by how much a surface reaches beyond the origins of the bones, in the first pose.

    To below and above of each axis [m], (2, 3).
    """
    origins, places = pose.positions[0], place_part(part, pose.positions[0], pose.rotations[0])
    if len(places) == 0:
        return np.zeros((2, 3))
    below, above = (
        origins.min(axis=0) - places.min(axis=0),
        places.max(axis=0) - origins.max(axis=0),
    )
    return np.maximum([below, above], 0.0)


def _measure_boxes(pose: Pose, parts: list[Part]) -> list[list[float]]:
    """Return the box of what follows each bone most, in its frame [m]: low and high; [] of nothing.

    By them the script knows what is to be in view. They are measured in the first pose.
    """
    count = len(pose.skeleton.bones)
    low, high = np.full((count, 3), np.inf), np.full((count, 3), -np.inf)
    for part in parts:
        places = place_part(part, pose.positions[0], pose.rotations[0])
        most = 0 if part.weights is None else np.argmax(part.weights, axis=1)
        bones = part.bones[part.joints[np.arange(len(places)), most]]
        arms = places - pose.positions[0, bones]
        local = np.einsum("nij,ni->nj", pose.rotations[0, bones], arms)
        np.minimum.at(low, bones, local)
        np.maximum.at(high, bones, local)
    boxes = np.round(np.concatenate([low, high], axis=1), 4)
    return [box.tolist() if np.isfinite(box).all() else [] for box in boxes]


def _find_floor(low: Array, high: Array) -> float:
    """Return the height of the floor [m]: 0, or the lowest place if 0 is far from it."""
    height = max(float(high[2] - low[2]), 1e-3)
    return 0.0 if abs(low[2]) < FLOOR_SHARE * height else float(low[2])


def _encode_markers(scene: PlayerScene, block: Block, low: Array, step: float) -> dict[str, Any]:
    names = list(scene.marker_names)
    data: dict[str, Any] = {
        "names": names,
        "measured": _encode_places(scene.measured, block, low, step),
    }
    data["bones"] = scene.marker_bones.tolist()
    if scene.marker_points.ndim == 2:
        data["points"] = np.round(scene.marker_points, 5).tolist()
    else:
        data["model"] = _encode_places(scene.model_markers, block, low, step)
    return data


def _encode_plate(plate: ShownPlate, block: Block, low: Array, step: float) -> dict[str, Any]:
    """Return the corners of a force plate, and both ends of its vector over time."""
    ends = np.stack([plate.feet, plate.tips], axis=1)
    return {
        "corners": np.round(plate.corners, 4).tolist(),
        "ends": _encode_places(ends, block, low, step),
    }


def _encode_places(places: Array, block: Block, low: Array, step: float) -> dict[str, Any]:
    """Return places over time, (K, M, 3); one that is missing stays where it was seen last."""
    seen = np.asarray(np.isfinite(places).all(axis=2))
    rounded = np.round((np.where(seen[:, :, None], places, low) - low) / step).astype(np.int64)
    order = np.where(seen, np.arange(len(places))[:, None], 0)
    last = np.maximum.accumulate(order, axis=0)
    held = np.take_along_axis(rounded, last[:, :, None], axis=0)
    return {
        "places": block.add(encode_over_time(held.reshape(len(places), -1))),
        "seen": block.add(np.ascontiguousarray(seen.T).astype(np.uint8)),
    }


def _encode_pose(pose: Pose, block: Block, low: Array, step: float) -> dict[str, Any]:
    """Return rotations of all bones over time, and places of bones that shift in their parents."""
    positions, rotations = pose.positions, pose.rotations
    parents = pose.skeleton.parents
    offsets = np.zeros((len(parents), 3))
    free = []
    for k, parent in enumerate(parents.tolist()):
        if parent >= 0:
            arms = positions[:, k] - positions[:, parent]
            in_parent = np.einsum("tij,ti->tj", rotations[:, parent], arms)
            if np.ptp(in_parent, axis=0).max() < RIGID:
                offsets[k] = in_parent[0]
                continue
        free.append(k)
    wxyz = wxyz_from_matrix(rotations)
    turn = np.where((wxyz[1:] * wxyz[:-1]).sum(axis=2) < 0.0, -1, 1)  # q and −q are the same
    wxyz[1:] *= np.cumprod(turn, axis=0)[:, :, None]
    rounded = np.round(ROTATION_STEPS * wxyz).astype(np.int64)
    places = np.round((positions[:, free] - low) / step).astype(np.int64)
    return {
        "bones": list(pose.skeleton.bone_names),
        "parents": parents.tolist(),
        "offsets": np.round(offsets, 6).tolist(),
        "free": free,
        "places": block.add(encode_over_time(places.reshape(len(places), -1))),
        "rotations": block.add(encode_over_time(rounded.reshape(len(rounded), -1))),
        "rotation_steps": ROTATION_STEPS,
    }


def _choose_skin(pose: Pose, limits: LookLimits, notes: list[str]) -> list[Part]:
    """Return the look of a figure as far as it is small enough; what is left out is noted."""
    parts = [part for part in make_skin_parts(pose.skeleton) if len(part.mesh.faces) > 0]
    count = sum(len(part.mesh.vertices) for part in parts)
    if count > limits.vertices:
        share = limits.vertices / count
        parts = [simplify_part(part, int(share * len(part.mesh.vertices))) for part in parts]
        left = sum(len(part.mesh.vertices) for part in parts)
        notes.append(f"surface simplified from {count} to {left} vertices")
    images = {id(part.texture): len(part.texture.data) for part in parts if part.texture}
    if sum(images.values()) > limits.image_bytes:
        notes.append(f"images of {sum(images.values()) / 1e6:.1f} MB left out")
        parts = [part._replace(texture=None) for part in parts]
    return parts


def _encode_part(part: Part, block: Block) -> dict[str, Any]:
    vertices = np.asarray(part.mesh.vertices, dtype=float)
    low = vertices.min(axis=0) if len(vertices) > 0 else np.zeros(3)
    step = np.maximum(np.ptp(vertices, axis=0) if len(vertices) > 0 else np.ones(3), 1e-9) / 65535.0
    faces = np.asarray(part.mesh.faces, dtype=np.int64).ravel()
    assert part.mesh.normals is not None  # as all parts have them
    small = "<u2" if len(part.bones) > 255 else "|u1"
    data: dict[str, Any] = {
        "kind": part.kind,
        "count": len(vertices),
        "low": low.tolist(),
        "step": step.tolist(),
        "bones": part.bones.tolist(),
        "maps": block.add(np.asarray(part.maps, dtype="<f4")),
        "vertices": block.add(np.round((vertices - low) / step).astype("<u2")),
        "normals": block.add(encode_normals(part.mesh.normals.astype(float))),
        "joints": block.add(part.joints.astype(small)),
        # Faces name vertices near those of the face before: differences pack better.
        "faces": block.add(np.diff(faces, prepend=0).astype("<i4").view("<u4")),
        "colours": block.add(_encode_colours(part.colours)),
        "opacity": part.opacity,
    }
    if part.weights is not None:
        data["weights"] = block.add(np.round(255.0 * part.weights).astype(np.uint8))
    if part.texture is not None and part.mesh.uv is not None:
        data["uv"] = block.add(np.asarray(part.mesh.uv, dtype="<f4"))
        data["image"] = _encode_image(part.texture)
    return data


def _encode_colours(colours: Array) -> NDArray[np.uint8]:
    """Return the colours of the vertices from 0 to 255, one alone where all are the same."""
    rounded = np.round(255.0 * np.sqrt(np.clip(colours, 0.0, 1.0))).astype(np.uint8)
    return rounded[:1] if len(rounded) > 0 and (rounded == rounded[0]).all() else rounded


def _encode_image(texture: Texture) -> dict[str, Any]:
    return {
        "type": texture.image_type,
        "data": base64.b64encode(texture.data).decode("ascii"),
        "wrap": [_find_wrap(texture, "wrapS"), _find_wrap(texture, "wrapT")],
    }


def _find_wrap(texture: Texture, axis: str) -> int:
    """Return how an image goes on beyond its edge, by glTF's number: repeated unless it says so."""
    wrap = texture.sampler.get(axis, WRAPS[0])
    return wrap if wrap in WRAPS else WRAPS[0]


# --- arrays of a scene as one compressed block of text, small enough to be part of a page
#
# Values over time are rounded to whole steps and stored as differences from frame to frame, low
# bytes apart from high bytes, which deflate then packs to about a third.


COMPRESSION = 3  # of zlib: 6 takes twice as long for 4 % less, of 2400 frames 36 ms instead of 19
TYPES = {"|u1": "u8", "|i1": "i8", "<u2": "u16", "<u4": "u32", "<f4": "f32"}
ALIGNMENT = 4  # [bytes] of the first number of an array, as browsers ask


class Block:
    """Arrays one after another."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._parts: list[bytes] = []
        self._size = 0

    def add(self, array: NDArray[Any]) -> dict[str, Any]:
        """Append an array; return where the script finds it."""
        place = {"type": TYPES[array.dtype.str], "at": self._size, "count": int(array.size)}
        data = np.ascontiguousarray(array).tobytes()
        data += bytes(-len(data) % ALIGNMENT)
        self._parts.append(data)
        self._size += len(data)
        return place

    def encode(self) -> str:
        """Return all of them, compressed, as text."""
        return base64.b64encode(zlib.compress(b"".join(self._parts), COMPRESSION)).decode("ascii")


def encode_over_time(values: NDArray[np.integer[Any]]) -> NDArray[np.uint8]:
    """Return whole numbers over time, (T, C), as bytes of their differences modulo 2¹⁶.

    Column after column; of each difference d the number 2d or −2d − 1, which is small where d is;
    first all low bytes, then all high ones.
    """
    columns = np.ascontiguousarray(values.T, dtype=np.int64)
    steps = np.diff(columns, axis=1, prepend=0).astype(np.int16)  # modulo 2¹⁶
    folded = ((steps << 1) ^ (steps >> 15)).astype(np.uint16).ravel()
    return np.concatenate([folded & 255, folded >> 8]).astype(np.uint8)


def encode_normals(normals: ArrayLike) -> NDArray[np.int8]:
    """Return unit vectors, (n, 3), as points of an unfolded octahedron, (n, 2); zeros as z.

    Cigolle et al., "A survey of efficient representations for independent unit vectors", 2014.
    """
    normals = np.asarray(normals, dtype=float)  # of a file, they may be of any length
    length = np.abs(normals).sum(axis=1, keepdims=True)
    unit = np.where(length > 0.0, normals / np.where(length > 0.0, length, 1.0), (0.0, 0.0, 1.0))
    x, y, z = unit.T
    below = z < 0.0
    u = np.where(below, (1.0 - np.abs(y)) * np.where(x >= 0.0, 1.0, -1.0), x)
    v = np.where(below, (1.0 - np.abs(x)) * np.where(y >= 0.0, 1.0, -1.0), y)
    return np.round(127.0 * np.stack([u, v], axis=1)).astype(np.int8)
