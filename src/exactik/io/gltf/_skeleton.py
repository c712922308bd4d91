"""Which nodes of a glTF file are bones, and the skeleton that they make.

Bones are the joints of all skins together, and nodes above them that move. Without a skin they are
the topmost nodes that are animated and everything below them, and without an animation all nodes.
The other nodes above a bone are folded into its place; those beside and below are left out.

A bone is where its node is in the file, at rest in the neutral pose. Its joint is a ball; roots are
free, and so are bones whose translation departs from rest, in any animation of the file.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from exactik.errors import ExactikError, FileError
from exactik.io._notes import Notes
from exactik.io._units import metres_per
from exactik.io.gltf._curves import AnimationCurve, read_curves
from exactik.io.gltf._document import Document, Opener, read_document
from exactik.io.gltf._json import JsonObject
from exactik.io.gltf._nodes import NodeForest, extract_rotations
from exactik.model import Bone, Joint, Skeleton

MAX_BONES = 20_000  # far more than any figure has; the cost of a skeleton grows with its depth
# Of the figure's size, and of a quaternion: smaller movements are rounding errors of exporters.
EXPORT_NOISE = 1e-5

Curves = dict[tuple[int, str], AnimationCurve]


class GltfFigure(NamedTuple):
    """The contents of a file, with animations as curves."""

    document: Document  # the file
    forest: NodeForest  # its nodes
    animations: list[JsonObject]  # its animations
    # Of each animation, by node and path; None for an animation that cannot be read
    curves: list[Curves | None]
    bone_nodes: list[int]  # the nodes of the bones, in the order of the bones
    skeleton: Skeleton  # the bones
    metres: float  # in one unit of the file
    size: float  # of the figure at rest [m]


def read_figure(
    path: str,
    notes: Notes,
    length_unit: str | float | None,
    required_animation: int | str | None = None,
    read: Opener = read_document,
) -> GltfFigure:
    """Return the figure in a file.

    Args:
        length_unit: in place of the metre.
        required_animation: number or name of the animation that has to be sound, if any; a fault in
            another one is noted, and nothing moves in it.
        read: what opens the file.
    """
    metres = 1.0 if length_unit is None or length_unit == "auto" else metres_per(length_unit)
    document = read(path, notes)
    forest = NodeForest(document, notes)
    animations = document.objects("animations")
    curves: list[Curves | None] = []
    for k, animation in enumerate(animations):
        is_required = required_animation in (k, animation.text("name"))
        curve_notes = notes if is_required else Notes(path)
        try:
            curves.append(read_curves(document, animation, forest, curve_notes))
        except FileError as error:
            if is_required or notes.strict:
                raise
            notes.flag_damage(f"{error.message}; {animation.place} is left out", error.place)
            curves.append(None)
    joints = _find_joints(document, forest, [c for c in curves if c is not None])
    joint_positions = np.array([forest.rest_positions[k] for k in joints])
    size = float(np.ptp(joint_positions, axis=0).max())
    shifted, rotated = _find_moving_nodes(forest, curves, size if size > 0.0 else 1.0)
    above_joints = forest.with_ancestors(joints) - set(joints)
    moving = [k for k in forest.order if k in above_joints & (shifted | rotated)]
    for k in moving:
        notes.remark(
            f"{forest.name(k)!r} is no joint, but it moves: taken as a bone", f"nodes[{k}]"
        )
    nodes, parents = _order_nodes(forest, [*moving, *joints])
    if len(nodes) > MAX_BONES:
        raise document.error(f"{len(nodes)} bones; expected at most {MAX_BONES}", "nodes")
    _note_uneven_scales(forest, nodes, parents, notes)
    skeleton = _build_skeleton(path, forest, nodes, parents, shifted, metres, notes)
    return GltfFigure(
        document=document,
        forest=forest,
        animations=animations,
        curves=curves,
        bone_nodes=nodes,
        skeleton=skeleton,
        metres=metres,
        size=size * metres,
    )


def _find_joints(document: Document, forest: NodeForest, curves: list[Curves]) -> list[int]:
    """Return the nodes that are bones because of skins or animations, without those above them."""
    skins = document.objects("skins")
    joints: dict[int, None] = {}
    for skin in skins:
        skin_joints = skin.indices("joints", forest.nodes)
        if len(skin_joints) == 0:
            raise skin.error("missing or empty; expected the nodes of a skeleton", "joints")
        joints.update(dict.fromkeys(skin_joints))
    if len(skins) > 0:
        return list(joints)
    no_bones = {k for k, node in enumerate(forest.nodes) if _is_marker(node)} | {forest.wrapper}
    animated = {node for curves_by_node in curves for node, _ in curves_by_node}
    for k in forest.order:  # parents first, so that all below an animated node are joints too
        is_joint = k in animated or forest.parents[k] in joints or len(animated) == 0
        if is_joint and k not in no_bones:
            joints[k] = None
    return list(joints) if len(joints) > 0 else forest.order


def _is_marker(node: JsonObject) -> bool:
    return node.exactik_extras.get("marker") is True


def _find_moving_nodes(
    forest: NodeForest, curves: list[Curves | None], size: float
) -> tuple[set[int], set[int]]:
    """Return the nodes that an animation shifts away from rest, and those that it rotates."""
    shifted: set[int] = set()
    rotated: set[int] = set()
    for (node, path), curve in (item for c in curves if c is not None for item in c.items()):
        values = curve.values
        if curve.slopes is not None:  # a cubic curve leaves its keys by no more than this
            longest = np.diff(curve.times).max(initial=0.0)
            values = np.concatenate(
                [values, *(values[:, None] + longest * curve.slopes).swapaxes(0, 1)]
            )
        if path == "translation":
            parent = forest.parents[node]
            A_world_parent = forest.rest_linear[parent] if parent >= 0 else np.eye(3)
            shift = (values - forest.translations[node]) @ A_world_parent.T
            if np.abs(shift).max() > EXPORT_NOISE * size:
                shifted.add(node)
        elif path == "rotation":
            length = np.linalg.norm(values, axis=1)
            cosine = np.abs(values @ forest.wxyz[node])
            if not (cosine >= (1.0 - 0.5 * EXPORT_NOISE**2) * length - 1e-15).all():
                rotated.add(node)
    return shifted, rotated


def _order_nodes(forest: NodeForest, nodes: list[int]) -> tuple[list[int], dict[int, int]]:
    """Return the nodes with parents first, and the nearest bone above each node, or −1."""
    bones = set(nodes)
    parents = {-1: -1}
    for k in forest.order:
        parent = forest.parents[k]
        parents[k] = parent if parent in bones else parents[parent]
    ordered: dict[int, None] = {}
    for k in nodes:
        path = []
        while k >= 0 and k not in ordered:
            path.append(k)
            k = parents[k]
        ordered.update(dict.fromkeys(reversed(path)))
    return list(ordered), parents


def _note_uneven_scales(
    forest: NodeForest, nodes: list[int], parents: dict[int, int], notes: Notes
) -> None:
    """Warn of bones with children whose scale differs from axis to axis."""
    inner = sorted({parents[k] for k in nodes} - {-1})
    if len(inner) == 0:
        return
    linear = np.array([forest.rest_linear[k] for k in inner])
    scales = np.linalg.svd(linear, compute_uv=False)
    uneven = np.flatnonzero(scales[:, 0] - scales[:, 2] > 1e-3 * scales[:, 0])
    if len(uneven) > 0:
        k = inner[uneven[0]]
        text = (
            f"{len(uneven)} bones, {forest.name(k)!r} first, are scaled unevenly along their axes"
        )
        notes.assume(f"{text}; bones are rigid: what they carry may move wrongly", f"nodes[{k}]")


def _build_skeleton(
    path: str,
    forest: NodeForest,
    nodes: list[int],
    parents: dict[int, int],
    shifted: set[int],
    metres: float,
    notes: Notes,
) -> Skeleton:
    names = _choose_names(forest, nodes, notes)
    rotations = extract_rotations(np.array([forest.rest_linear[k] for k in nodes]))
    R_world = dict(zip(nodes, rotations, strict=True))
    p_world = forest.rest_positions
    bones = []
    try:
        for k in nodes:
            parent = parents[k]
            offset, pre = p_world[k], R_world[k]
            if parent >= 0:
                offset = R_world[parent].T @ (offset - p_world[parent])
                pre = R_world[parent].T @ pre
            is_free = parent < 0 or k in shifted
            bones.append(
                Bone(
                    names[k],
                    parent=names[parent] if parent >= 0 else None,
                    offset=metres * offset,
                    pre=pre,
                    joint=Joint.free("quaternion") if is_free else Joint.quaternion(),
                )
            )
        markers = {}
        for k, node in enumerate(forest.nodes):
            bone = forest.parents[k]
            if _is_marker(node) and bone in names:
                point = metres * (R_world[bone].T @ (p_world[k] - p_world[bone]))
                markers[forest.name(k)] = (names[bone], point)
        name = forest.name(forest.wrapper) if forest.wrapper >= 0 else Path(path).stem
        return Skeleton.build(name, bones, markers)
    except ExactikError as error:
        raise notes.error(str(error), "nodes") from error


def _choose_names(forest: NodeForest, nodes: list[int], notes: Notes) -> dict[int, str]:
    """Return names that are unique: the second "arm" is "arm_2"."""
    names: dict[int, str] = {}
    last_number: dict[str, int] = {}
    for k in nodes:
        name = base = forest.name(k)
        while name in last_number:
            last_number[base] += 1
            name = f"{base}_{last_number[base]}"
        last_number[name] = 1
        names[k] = name
        if name != base:
            notes.remark(f"a second bone named {base!r} is called {name!r}", f"nodes[{k}]")
    return names
