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
from exactik.io.gltf._curves import Curve, read_curves
from exactik.io.gltf._document import Document, read_document
from exactik.io.gltf._json import Part
from exactik.io.gltf._nodes import Forest, turns_of
from exactik.model import Bone, Joint, Skeleton

__all__ = ["Figure", "read_figure"]

MAX_BONES = 20_000
NOISE = 1e-5  # of the figure's size, and of a turn; less is what exporters lose

Curves = dict[tuple[int, str], Curve]


class Figure(NamedTuple):
    """What a file says, but for the motion itself.

    Attributes:
        document: the file.
        forest: its nodes.
        animations: its animations.
        curves: of each animation, by node and path; None for an animation that cannot be read.
        nodes: the nodes of the bones, in the order of the bones.
        skeleton: the bones.
        metres: in one unit of the file.
        size: of the figure at rest [m].
    """

    document: Document
    forest: Forest
    animations: list[Part]
    curves: list[Curves | None]
    nodes: list[int]
    skeleton: Skeleton
    metres: float
    size: float


def read_figure(
    path: str, notes: Notes, length_unit: str | float | None, wanted: int | str | None = None
) -> Figure:
    """Return the figure in a file.

    Args:
        path: the file.
        notes: takes what is odd about it.
        length_unit: in place of the metre.
        wanted: number or name of the animation that has to be good, if any; a fault in another one
            is noted, and nothing moves in it.
    """
    metres = 1.0 if length_unit is None or length_unit == "auto" else metres_per(length_unit)
    document = read_document(path, notes)
    forest = Forest(document, notes)
    animations = document.parts("animations")
    curves: list[Curves | None] = []
    for k, part in enumerate(animations):
        read = wanted in (k, part.text("name"))
        try:
            curves.append(read_curves(document, part, forest, notes if read else Notes(path)))
        except FileError as error:
            if read or notes.strict:
                raise
            notes.flag_damage(f"{error.message}; {part.place} is left out", error.place)
            curves.append(None)
    joints = _joints(document, forest, [c for c in curves if c is not None])
    at = np.array([forest.rest_positions[k] for k in joints])
    size = float(np.ptp(at, axis=0).max())
    shifted, turned = _departing(forest, curves, size if size > 0.0 else 1.0)
    moved_above = (forest.with_ancestors(joints) - set(joints)) & (shifted | turned)
    moving = [k for k in forest.order if k in moved_above]
    for k in moving:
        notes.remark(
            f"{forest.name(k)!r} is no joint, but it moves: taken as a bone", f"nodes[{k}]"
        )
    nodes, parents = _parents_first(forest, [*moving, *joints])
    if len(nodes) > MAX_BONES:
        raise document.error(f"{len(nodes)} bones; expected at most {MAX_BONES}", "nodes")
    _note_scales(forest, nodes, parents, notes)
    skeleton = _skeleton(path, forest, nodes, parents, shifted, metres, notes)
    return Figure(document, forest, animations, curves, nodes, skeleton, metres, size * metres)


def _joints(document: Document, forest: Forest, curves: list[Curves]) -> list[int]:
    """Return the nodes that are bones because the file says so, without those above them."""
    skins = document.parts("skins")
    joints: dict[int, None] = {}
    for skin in skins:
        found = skin.indices("joints", forest.parts)
        if len(found) == 0:
            raise skin.error("missing or empty; expected the nodes of a skeleton", "joints")
        joints.update(dict.fromkeys(found))
    if len(skins) > 0:
        return list(joints)
    own = {k for k, part in enumerate(forest.parts) if part.own.get("marker") is True}
    own.add(forest.wrapper)
    animated = {node for one in curves for node, _ in one}
    for k in forest.order:  # parents first, so that what is below an animated node follows
        if (k in animated or forest.parents[k] in joints or len(animated) == 0) and k not in own:
            joints[k] = None
    return list(joints) if len(joints) > 0 else forest.order


def _departing(
    forest: Forest, curves: list[Curves | None], size: float
) -> tuple[set[int], set[int]]:
    """Return the nodes that some animation shifts away from rest, and those that it turns."""
    shifted: set[int] = set()
    turned: set[int] = set()
    for (node, path), curve in (item for c in curves if c is not None for item in c.items()):
        values = curve.values
        if curve.slopes is not None:  # how far the curve may leave its keys, at most
            longest = np.diff(curve.times).max(initial=0.0)
            values = np.concatenate(
                [values, *(values[:, None] + longest * curve.slopes).swapaxes(0, 1)]
            )
        if path == "translation":
            parent = forest.parents[node]
            above = forest.rest_linear[parent] if parent >= 0 else np.eye(3)
            if np.abs((values - forest.translations[node]) @ above.T).max() > NOISE * size:
                shifted.add(node)
        elif path == "rotation":
            length = np.linalg.norm(values, axis=1)
            same = np.abs(values @ forest.wxyz[node]) >= (1.0 - 0.5 * NOISE**2) * length - 1e-15
            if not same.all():
                turned.add(node)
    return shifted, turned


def _parents_first(forest: Forest, nodes: list[int]) -> tuple[list[int], dict[int, int]]:
    """Return the nodes in an order that a skeleton keeps, and the bone that carries each, or −1."""
    bones = set(nodes)
    carriers: dict[int, int] = {}
    parents = {-1: -1}
    for k in forest.order:
        parent = forest.parents[k]
        parents[k] = parent if parent in bones else carriers.get(parent, -1)
        carriers[k] = parents[k]
    ordered: dict[int, None] = {}
    for k in nodes:
        path = []
        while k >= 0 and k not in ordered:
            path.append(k)
            k = parents[k]
        ordered.update(dict.fromkeys(reversed(path)))
    return list(ordered), parents


def _note_scales(forest: Forest, nodes: list[int], parents: dict[int, int], notes: Notes) -> None:
    """Say which bones carry others in a space that is stretched unevenly."""
    carrying = sorted({parents[k] for k in nodes} - {-1})
    if len(carrying) == 0:
        return
    linear = np.array([forest.rest_linear[k] for k in carrying])
    stretch = np.linalg.svd(linear, compute_uv=False)
    uneven = np.flatnonzero(stretch[:, 0] - stretch[:, 2] > 1e-3 * stretch[:, 0])
    if len(uneven) > 0:
        k = carrying[uneven[0]]
        text = (
            f"{len(uneven)} bones, {forest.name(k)!r} first, are scaled unevenly along their axes"
        )
        notes.assume(f"{text}; bones are rigid: what they carry may move wrongly", f"nodes[{k}]")


def _skeleton(
    path: str,
    forest: Forest,
    nodes: list[int],
    parents: dict[int, int],
    shifted: set[int],
    metres: float,
    notes: Notes,
) -> Skeleton:
    names = _names(forest, nodes, notes)
    turns = dict(
        zip(nodes, turns_of(np.array([forest.rest_linear[k] for k in nodes])), strict=True)
    )
    places = forest.rest_positions
    bones = []
    try:
        for k in nodes:
            parent = parents[k]
            offset, pre = places[k], turns[k]
            if parent >= 0:
                offset = turns[parent].T @ (offset - places[parent])
                pre = turns[parent].T @ pre
            free = parent < 0 or k in shifted
            bones.append(
                Bone(
                    names[k],
                    parent=names[parent] if parent >= 0 else None,
                    offset=metres * offset,
                    pre=pre,
                    joint=Joint.free("quaternion") if free else Joint.quaternion(),
                )
            )
        markers = {}
        for k, part in enumerate(forest.parts):
            bone = forest.parents[k]
            if part.own.get("marker") is True and bone in names:
                point = metres * (turns[bone].T @ (places[k] - places[bone]))
                markers[forest.name(k)] = (names[bone], point)
        name = forest.name(forest.wrapper) if forest.wrapper >= 0 else Path(path).stem
        return Skeleton.build(name, bones, markers)
    except ExactikError as error:
        raise notes.error(str(error), "nodes") from error


def _names(forest: Forest, nodes: list[int], notes: Notes) -> dict[int, str]:
    """Return names that are unique: the second "arm" is "arm_2"."""
    names: dict[int, str] = {}
    taken: dict[str, int] = {}
    for k in nodes:
        name = base = forest.name(k)
        while name in taken:
            taken[base] += 1
            name = f"{base}_{taken[base]}"
        taken[name] = 1
        names[k] = name
        if name != base:
            notes.remark(f"a second bone named {base!r} is called {name!r}", f"nodes[{k}]")
    return names
