"""Read skeletons and motions from the nodes and animations of a glTF or GLB file.

glTF is in metres and y is up. A file of `write_glb` says which axis was up, and is read in the
coordinates that were written. Which nodes are bones is said in `_skeleton`, how curves become
frames in `_curves`.
"""

from __future__ import annotations

import os
from functools import partial

import numpy as np

from exactik._text import join_names
from exactik.errors import Advice
from exactik.io._notes import Notes
from exactik.io._rest_frames import compute_coordinates, make_continuous
from exactik.io.formats import Content
from exactik.io.gltf._curves import SampleTimes, choose_frames, sample_curve
from exactik.io.gltf._document import Opener, read_document
from exactik.io.gltf._nodes import NodeForest, extract_rotations
from exactik.io.gltf._skeleton import Curves, GltfFigure, read_figure
from exactik.io.gltf._surfaces import read_gltf_visuals
from exactik.model import Skeleton
from exactik.model.motion import Motion
from exactik.model.visuals import LazyVisuals
from exactik.spatial import matrix_from_wxyz
from exactik.typing import Array, IntArray

# Frames × coordinates: this many, or so many per byte of the file if that is more. Two keys of a
# small file may be hours apart.
MAX_COORDINATES, COORDINATES_PER_BYTE = 1 << 22, 8
CHUNK_FRAMES = 4096  # bounds the memory for the rotations of all bones
MAX_LISTED_ANIMATIONS = 20  # of those that are not read
MAX_FIGURE_SIZE = 20.0  # [m] larger figures are hardly in metres
MAX_POSITION_ERROR = 1e-4  # of the figure's size; bones further from their node are noted

Unit = str | float | None


def read_gltf_content(path: str, notes: Notes, read: Opener = read_document) -> Content:
    """Return what a .gltf or .glb file holds; one without animations is a skeleton."""
    has_animations = len(read(path, notes).objects("animations")) > 0
    return "motion" if has_animations else "skeleton"


def read_gltf_up_axis(path: str, notes: Notes, read: Opener = read_document) -> str | None:
    """Return which axis is up in the coordinates in which a .gltf or .glb file is read."""
    return NodeForest(read(path, notes), notes).up_axis


def read_gltf_skeleton(
    path: str, notes: Notes, length_unit: Unit = None, *, read: Opener = read_document
) -> Skeleton:
    """Return the skeleton in a .gltf or .glb file; its neutral pose is the rest pose of the nodes.

    Args:
        length_unit: in place of the metre.
        read: what opens the file, for formats that become glTF on the way.
    """
    return _dress(read_figure(path, notes, length_unit, read=read), path, length_unit, read)


def _dress(figure: GltfFigure, path: str, length_unit: Unit, read: Opener) -> Skeleton:
    """Return the skeleton of a file with its meshes and skins, read when they are looked at."""
    if "meshes" not in figure.document.value:
        return figure.skeleton
    make = partial(read_gltf_visuals, os.path.abspath(path), length_unit, read)
    return figure.skeleton.with_visuals(LazyVisuals(make))


def read_gltf_motion(
    path: str,
    notes: Notes,
    skeleton: Skeleton | None = None,
    length_unit: Unit = None,
    rate: float | None = None,
    animation: int | str | None = None,
    *,
    read: Opener = read_document,
) -> Motion:
    """Return a motion in a .gltf or .glb file.

    The frames are the keys, if they are evenly spaced. Else, and where a `rate` is given, the
    curves through the keys are sampled at that rate or 60 Hz.

    Args:
        skeleton: the motion is given in its coordinates; bones are matched by name.
        length_unit: in place of the metre.
        rate: [Hz] at which to sample the curves.
        animation: number or name of the animation; the first one if None.
        read: what opens the file, for formats that become glTF on the way.
    """
    animation = 0 if animation is None else animation
    figure = read_figure(path, notes, length_unit, required_animation=animation, read=read)
    number = _find_animation(figure, animation)
    chosen, curves = figure.animations[number], figure.curves[number]
    if curves is None or len(curves) == 0:
        raise chosen.error("moves no node; expected translations or rotations", "channels")
    others = [a.text("name") or a.place for a in figure.animations if a is not chosen]
    if len(others) > 0:
        shown = join_names(others, MAX_LISTED_ANIMATIONS, last=", ", rest=", …")
        notes.remark(
            f"other animations are not read: {shown}", chosen.place, code="animations-not-read"
        )
    if length_unit is None and figure.size > MAX_FIGURE_SIZE:
        notes.remark(f"the figure is {figure.size:.3g} m in size; is its length unit the metre?")
    frames = choose_frames(curves.values(), chosen, rate, notes)
    dressed = _dress(figure, path, length_unit, read)
    figure = figure._replace(skeleton=dressed)
    target = dressed if skeleton is None else skeleton
    max_numbers = max(MAX_COORDINATES, COORDINATES_PER_BYTE * figure.document.size)
    if len(frames.times) * target.nq > max_numbers:
        text = f"{len(frames.times)} frames of {target.nq} coordinates at {frames.rate:g} Hz"
        raise chosen.error(
            f"{text}; expected at most {max_numbers} numbers",
            code="too-large",
            advice=Advice(", or give a lower ", "rate"),
        )
    metadata = {
        "animation": chosen.text("name"),
        "animations": tuple(a.text("name") for a in figure.animations),
        "generator": figure.document.object("asset").text("generator"),
        "start_time": float(frames.times[0]),
    }
    q = _compute_coordinates(figure, curves, frames, target, notes)
    return Motion(
        target,
        q,
        frames.rate,
        first_frame=frames.first,
        up_axis=figure.forest.up_axis,
        source=path,
        metadata=metadata,
        notes=notes.all,
    )


def _find_animation(figure: GltfFigure, animation: int | str) -> int:
    """Return the number of an animation given by number or name."""
    names = [animation.text("name") for animation in figure.animations]
    if len(names) == 0:
        raise figure.document.error(
            "missing or empty; expected a motion", "animations", code="no-motion"
        )
    number = names.index(animation) if animation in names else animation
    if not isinstance(number, int) or not 0 <= number < len(names):
        text = f"no animation {animation!r}; expected one of 0 to {len(names) - 1} or its name"
        raise figure.document.error(text, "animations")
    return number


def _compute_coordinates(
    figure: GltfFigure, curves: Curves, frames: SampleTimes, skeleton: Skeleton, notes: Notes
) -> Array:
    """Return the coordinates of a skeleton in all frames, (T, nq); NaN where a frame is missing."""
    file_bones = figure.skeleton.bone_names
    missing = [b.name for b in skeleton.bones if b.name not in file_bones and b.joint.nv > 0]
    if len(missing) > 0:
        known = ", ".join(file_bones[:40])
        text = f"no bone named {missing[0]!r}, which moves in the skeleton (there are: {known})"
        raise figure.document.error(text, "nodes")
    rows = np.flatnonzero(frames.present)
    q = np.full((len(frames.times), skeleton.nq), np.nan)
    largest_error, worst_bone = 0.0, ""
    for start in range(0, len(rows), CHUNK_FRAMES):
        chunk = rows[start : start + CHUNK_FRAMES]
        positions, rotations = _compute_world(figure, curves, frames, chunk)
        positions, rotations = _match_bones(skeleton, figure, positions, rotations)
        q[chunk] = compute_coordinates(skeleton, positions, rotations)
        distances = np.linalg.norm(skeleton.forward(q[chunk]).positions - positions, axis=-1)
        errors = distances.max(axis=0)
        if errors.max() > largest_error:
            largest_error = float(errors.max())
            worst_bone = skeleton.bones[int(np.argmax(errors))].name
    q[rows] = make_continuous(skeleton, q[rows])
    if largest_error > MAX_POSITION_ERROR * max(figure.size, 1e-9):
        text = f"bone {worst_bone!r} is up to {largest_error:.3g} m from its place in the file"
        is_other = skeleton is not figure.skeleton
        reason = "another skeleton" if is_other else "scales that change or are uneven"
        notes.assume(f"{text}, because of {reason}", "animations")
    return q


def _compute_world(
    figure: GltfFigure, curves: Curves, frames: SampleTimes, rows: IntArray
) -> tuple[Array, Array]:
    """Return positions [m] and rotations of the file's bones in some frames, as `Pose` has them."""
    forest = figure.forest
    moved = {}
    for k in {node for node, _ in curves}:
        wxyz, scale, translation = (
            sample_curve(curves[k, path], frames, rows, path == "rotation")
            if (k, path) in curves
            else np.broadcast_to(rest[k], (len(rows), len(rest[k])))
            for path, rest in (
                ("rotation", forest.wxyz),
                ("scale", forest.scales),
                ("translation", forest.translations),
            )
        )
        moved[k] = (matrix_from_wxyz(wxyz) * scale[:, None, :], translation)
    with np.errstate(over="ignore", invalid="ignore"):
        linear, node_positions = forest.compute_world(moved, figure.bone_nodes)
    n = len(figure.bone_nodes)
    positions, rotations = np.empty((len(rows), n, 3)), np.empty((len(rows), n, 3, 3))
    for j, k in enumerate(figure.bone_nodes):
        if not (np.isfinite(linear[k]).all() and np.isfinite(node_positions[k]).all()):
            raise forest.nodes[k].error("leaves the numbers; expected a figure of finite size")
        positions[:, j] = figure.metres * node_positions[k]
        rotations[:, j] = extract_rotations(linear[k])
    return positions, rotations


def _match_bones(
    skeleton: Skeleton, figure: GltfFigure, positions: Array, rotations: Array
) -> tuple[Array, Array]:
    """Return where the bones of a skeleton are, by name; fixed ones may follow their parents."""
    if skeleton is figure.skeleton:
        return positions, rotations
    index = {name: k for k, name in enumerate(figure.skeleton.bone_names)}
    p_world = np.empty((len(positions), len(skeleton.bones), 3))
    R_world = np.empty((*p_world.shape, 3))
    for k, bone in enumerate(skeleton.bones):
        if bone.name in index:
            p_world[:, k] = positions[:, index[bone.name]]
            R_world[:, k] = rotations[:, index[bone.name]]
            continue
        parent = int(skeleton.parents[k])
        R_world_parent = R_world[:, parent] if parent >= 0 else np.eye(3)
        p_world_parent = p_world[:, parent] if parent >= 0 else np.zeros(3)
        pre, post = bone.constant_rotations
        p_world[:, k] = p_world_parent + R_world_parent @ np.array(bone.offset)
        R_world[:, k] = R_world_parent @ (pre @ post)
    return p_world, R_world
