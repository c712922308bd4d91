"""glTF and GLB: skeletons and motions from the nodes and animations of a file.

glTF is in metres and y is up. A file of our own writer says which axis was up, and is read in the
coordinates that were written. Which nodes are bones is told in `_gltf_figure`, how curves become
frames in `_gltf_curves`.
"""

from __future__ import annotations

import numpy as np

from exactik.io._coordinates import continuous, coordinates_of
from exactik.io._notes import Notes
from exactik.io.gltf._curves import Frames, even_frames, sampled
from exactik.io.gltf._document import read_document
from exactik.io.gltf._nodes import Forest, turns_of
from exactik.io.gltf._skeleton import Curves, Figure, read_figure
from exactik.model import Skeleton
from exactik.motion import Motion
from exactik.spatial import matrix_from_wxyz
from exactik.typing import Array, IntArray

__all__ = ["has_animations", "read_gltf_motion", "read_gltf_skeleton", "read_gltf_up_axis"]

# Frames × coordinates: a few keys may be hours apart, a small file is no reason to fill the memory.
MAX_COORDINATES, COORDINATES_PER_BYTE = 1 << 22, 8
CHUNK = 4096  # frames at a time
OFF = 1e-4  # of the figure's size; a bone further from its place is worth a word

Unit = str | float | None


def has_animations(path: str, notes: Notes) -> bool:
    """Return whether a .gltf or .glb file has more than a figure at rest."""
    return len(read_document(path, notes).parts("animations")) > 0


def read_gltf_up_axis(path: str, notes: Notes) -> str | None:
    """Return which axis is up in the coordinates in which a .gltf or .glb file is read."""
    return Forest(read_document(path, notes), notes).up_axis


def read_gltf_skeleton(
    path: str, notes: Notes, length_unit: Unit = None, floating: bool = False
) -> Skeleton:
    """Return the skeleton in a .gltf or .glb file; its neutral pose is the rest pose of the nodes.

    Args:
        path: the file; its buffers are in it or beside it.
        notes: takes what is odd about it.
        length_unit: in place of the metre.
        floating: for robots only; the root of a figure is free anyway.
    """
    return read_figure(path, notes, length_unit).skeleton


def read_gltf_motion(
    path: str,
    notes: Notes,
    skeleton: Skeleton | None = None,
    length_unit: Unit = None,
    rate: float | None = None,
    positions: str = "replace",
    animation: int | str = 0,
) -> Motion:
    """Return a motion in a .gltf or .glb file.

    The frames are the keys, if they are evenly spaced. Else, and where a `rate` is given, they are
    points on the curves through the keys, at that rate or 60 Hz.

    Args:
        path: the file; its buffers are in it or beside it.
        notes: takes what is odd about it.
        skeleton: takes the motion in its own coordinates; its bones are found by name.
        length_unit: in place of the metre.
        rate: [Hz] at which to look at the curves.
        positions: for BVH only.
        animation: number or name of the animation; the first one by default.
    """
    figure = read_figure(path, notes, length_unit, wanted=animation)
    number = _chosen(figure, animation)
    part, curves = figure.animations[number], figure.curves[number]
    if curves is None or len(curves) == 0:
        raise part.error("moves no node; expected translations or rotations", "channels")
    others = [a.text("name") or a.place for a in figure.animations if a is not part]
    if len(others) > 0:
        shown = ", ".join(others[:20]) + (", …" if len(others) > 20 else "")
        notes.odd(f"other animations are not read: {shown}", part.place)
    if length_unit is None and figure.size > 20.0:
        notes.odd(f"the figure is {figure.size:.3g} m in size; is its length unit the metre?")
    frames = even_frames(curves.values(), part, rate, notes)
    target = figure.skeleton if skeleton is None else skeleton
    most = max(MAX_COORDINATES, COORDINATES_PER_BYTE * figure.document.size)
    if len(frames.times) * target.nq > most:
        text = f"{len(frames.times)} frames of {target.nq} coordinates at {frames.rate:g} Hz"
        raise part.error(f"{text}; expected at most {most} numbers, or give a lower rate")
    metadata = {
        "animation": part.text("name"),
        "animations": tuple(a.text("name") for a in figure.animations),
        "generator": figure.document.part("asset").text("generator"),
        "start_time": float(frames.times[0]),
    }
    q = _coordinates(figure, curves, frames, target, notes)
    up_axis = figure.forest.up_axis
    return Motion(target, q, frames.rate, frames.first, up_axis, path, metadata, notes.all)


def _chosen(figure: Figure, animation: int | str) -> int:
    """Return the number of an animation given by number or name."""
    names = [part.text("name") for part in figure.animations]
    if len(names) == 0:
        raise figure.document.error("missing or empty; expected a motion", "animations")
    number = names.index(animation) if animation in names else animation
    if not isinstance(number, int) or not 0 <= number < len(names):
        text = f"no animation {animation!r}; expected one of 0 to {len(names) - 1} or its name"
        raise figure.document.error(text, "animations")
    return number


def _coordinates(
    figure: Figure, curves: Curves, frames: Frames, skeleton: Skeleton, notes: Notes
) -> Array:
    """Return the coordinates of a skeleton in all frames, (T, nq); NaN where a frame is missing."""
    own = figure.skeleton
    missing = [b.name for b in skeleton.bones if b.name not in own.bone_names and b.joint.nv > 0]
    if len(missing) > 0:
        known = ", ".join(own.bone_names[:40])
        text = f"no bone named {missing[0]!r}, which moves in the skeleton (there are: {known})"
        raise figure.document.error(text, "nodes")
    rows = np.flatnonzero(frames.present)
    q = np.full((len(frames.times), skeleton.nq), np.nan)
    worst, where = 0.0, ""
    for start in range(0, len(rows), CHUNK):
        chunk = rows[start : start + CHUNK]
        positions, rotations = _carried(skeleton, figure, *_world(figure, curves, frames, chunk))
        q[chunk] = coordinates_of(skeleton, positions, rotations)
        off = np.linalg.norm(skeleton.forward(q[chunk]).positions - positions, axis=-1).max(axis=0)
        if off.max() > worst:
            worst, where = float(off.max()), skeleton.bones[int(np.argmax(off))].name
    q[rows] = continuous(skeleton, q[rows])
    if worst > OFF * max(figure.size, 1e-9):
        text = f"bone {where!r} is up to {worst:.3g} m from its place in the file"
        why = "scales that change or are uneven" if skeleton is own else "another skeleton"
        notes.assume(f"{text}, because of {why}", "animations")
    return q


def _world(figure: Figure, curves: Curves, frames: Frames, rows: IntArray) -> tuple[Array, Array]:
    """Return positions [m] and rotations of the file's bones in some frames, as `Pose` has them."""
    forest = figure.forest
    moved = {}
    for k in {node for node, _ in curves}:
        turn, scale, place = (
            sampled(curves[k, path], frames, rows, path == "rotation")
            if (k, path) in curves
            else np.broadcast_to(rest[k], (len(rows), len(rest[k])))
            for path, rest in (
                ("rotation", forest.wxyz),
                ("scale", forest.scales),
                ("translation", forest.translations),
            )
        )
        moved[k] = (matrix_from_wxyz(turn) * scale[:, None, :], place)
    with np.errstate(over="ignore", invalid="ignore"):
        linear, places = forest.world(moved, figure.nodes)
    n = len(figure.nodes)
    positions, rotations = np.empty((len(rows), n, 3)), np.empty((len(rows), n, 3, 3))
    for j, k in enumerate(figure.nodes):
        if not (np.isfinite(linear[k]).all() and np.isfinite(places[k]).all()):
            raise forest.parts[k].error("leaves the numbers; expected a figure of finite size")
        positions[:, j] = figure.metres * places[k]
        rotations[:, j] = turns_of(linear[k])
    return positions, rotations


def _carried(
    skeleton: Skeleton, figure: Figure, positions: Array, rotations: Array
) -> tuple[Array, Array]:
    """Return where the bones of a skeleton are, by name; rigid ones may follow their parents."""
    if skeleton is figure.skeleton:
        return positions, rotations
    index = {name: k for k, name in enumerate(figure.skeleton.bone_names)}
    p = np.empty((len(positions), len(skeleton.bones), 3))
    r = np.empty((*p.shape, 3))
    for k, bone in enumerate(skeleton.bones):
        if bone.name in index:
            p[:, k], r[:, k] = positions[:, index[bone.name]], rotations[:, index[bone.name]]
            continue
        parent = int(skeleton.parents[k])
        base = r[:, parent] if parent >= 0 else np.eye(3)
        origin = p[:, parent] if parent >= 0 else np.zeros(3)
        pre = np.eye(3) if bone.pre is None else np.array(bone.pre)
        post = np.eye(3) if bone.post is None else np.array(bone.post)
        p[:, k], r[:, k] = origin + base @ np.array(bone.offset), base @ (pre @ post)
    return p, r
