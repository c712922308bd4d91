"""The nodes of a glTF document: who hangs from whom, and where all of them are.

A node has translation t, rotation R and scale s, or a matrix instead. With its linear part
A = R diag(s), the world has

    A_world = A_parent A        p_world = p_parent + A_parent t

and a bone takes p_world and the rotation nearest to A_world. Uniform scales drop out of the latter
and stretch offsets in the former, wherever they are; what no rigid bone can show is a scale that
differs from axis to axis above a joint that turns.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from exactik.io._notes import Notes
from exactik.io.gltf._document import Document
from exactik.io.gltf._json import Part
from exactik.spatial import axis_rotation, matrix_from_wxyz, nearest_rotation, wxyz_from_matrix
from exactik.typing import Array

__all__ = ["Forest", "turn_to_y", "turns_of"]


def turn_to_y(up_axis: str | None) -> Array:
    """Return the rotation that takes an up axis to y, as glTF has it; none for y and None."""
    turns = {"x": axis_rotation("z", np.pi / 2), "z": axis_rotation("x", -np.pi / 2)}
    return np.rint(turns[up_axis]) if up_axis in turns else np.eye(3)


def turns_of(linear: Array) -> Array:
    """Return the rotations nearest to linear parts, (…, 3, 3), up to a scale or a mirror.

    A mirror is taken as a mirror through the origin, which commutes with rotations, so that a
    mirrored figure moves as it should.
    """
    largest = np.abs(linear).max(axis=(-2, -1), keepdims=True)
    m = linear / np.where(largest > 0.0, largest, 1.0)
    volume = np.linalg.det(m)[..., None, None]
    flat = np.abs(volume) < 1e-12
    m = m / np.where(flat, 1.0, np.cbrt(np.where(flat, 1.0, volume)))
    # Most files are off by a rounding only: one step of Newton's is enough and far cheaper.
    near = np.abs(m @ np.swapaxes(m, -1, -2) - np.eye(3)).max(axis=(-2, -1), keepdims=True) < 1e-3
    polished = 1.5 * m - 0.5 * m @ np.swapaxes(m, -1, -2) @ m
    turned = nearest_rotation(np.where(near, polished, m))
    return turned * np.where(np.linalg.det(turned) < 0.0, -1.0, 1.0)[..., None, None]


class Forest:
    """The nodes as trees.

    Attributes:
        parts: the nodes in the file.
        parents: index of each node's parent, −1 for a root.
        order: all nodes, parents before children, depth first.
        translations: rest translation of each node in its parent, (n, 3).
        wxyz: rest rotation of each node, (n, 4).
        scales: rest scale of each node, (n, 3).
        linear: linear part of each node at rest, (n, 3, 3).
        up_axis: the up axis of the figure in its own coordinates, None where it is not known.
        wrapper: the node with which our writer turned a figure, −1 if there is none.
    """

    def __init__(self, document: Document, notes: Notes):
        """Read the nodes of a document; cycles and second parents are refused."""
        self.parts = document.nodes
        if len(self.parts) == 0:
            raise document.error("missing or empty; expected a figure", "nodes")
        self.parents = self._find_parents()
        self.order = self._in_order()
        n = len(self.parts)
        self.translations, self.scales = np.zeros((n, 3)), np.ones((n, 3))
        self.wxyz, self.linear = np.zeros((n, 4)), np.empty((n, 3, 3))
        for k, part in enumerate(self.parts):
            self._place(k, part, notes)
        self.up_axis, self.wrapper = self._undo_wrapper()
        with np.errstate(over="ignore", invalid="ignore"):
            self.rest_linear, self.rest_positions = self.world({}, range(n))
        for k, part in enumerate(self.parts):
            if not np.isfinite([*self.rest_linear[k].flat, *self.rest_positions[k]]).all():
                raise part.error(
                    "its place in the world overflows; expected a figure of finite size"
                )

    def _find_parents(self) -> list[int]:
        parents = [-1] * len(self.parts)
        for k, part in enumerate(self.parts):
            for i, child in enumerate(part.indices("children", self.parts)):
                if parents[child] >= 0:
                    text = f"is {child}, already a child of nodes[{parents[child]}]"
                    raise part.error(f"{text}; expected one parent", f"children[{i}]")
                parents[child] = k
        return parents

    def _in_order(self) -> list[int]:
        order: list[int] = []
        stack = [k for k, parent in enumerate(self.parents) if parent < 0][::-1]
        while len(stack) > 0:
            order.append(stack.pop())
            stack.extend(self.parts[order[-1]].indices("children", self.parts)[::-1])
        if len(order) < len(self.parts):
            lost = min(set(range(len(self.parts))) - set(order))
            raise self.parts[lost].error("hangs in a cycle of nodes; expected trees")
        return order

    def _place(self, k: int, part: Part, notes: Notes) -> None:
        """Read where one node is in its parent."""
        if "matrix" in part.value:
            eye = tuple(np.eye(4).flat)
            matrix = part.numbers("matrix", eye).reshape(4, 4).T  # columns come first in the file
            if not np.allclose(matrix[3], eye[12:], atol=1e-6):
                raise part.error("its last row is not 0 0 0 1; expected an affine map", "matrix")
            self.translations[k], self.linear[k] = matrix[:3, 3], matrix[:3, :3]
            turn = turns_of(self.linear[k])
            self.wxyz[k] = wxyz_from_matrix(turn)
            self.scales[k] = np.diagonal(turn.T @ self.linear[k])
            return
        self.translations[k] = part.numbers("translation", (0.0, 0.0, 0.0))
        self.scales[k] = part.numbers("scale", (1.0, 1.0, 1.0))
        xyzw = part.numbers("rotation", (0.0, 0.0, 0.0, 1.0))
        length = np.linalg.norm(xyzw)
        if length < 1e-6:
            raise part.error("is zero; expected a unit quaternion", "rotation")
        if abs(length - 1.0) > 1e-3:
            notes.remark(f"quaternion of length {length:.4g} is brought to 1", part.at("rotation"))
        self.wxyz[k] = xyzw[[3, 0, 1, 2]] / length
        self.linear[k] = matrix_from_wxyz(self.wxyz[k]) * self.scales[k]

    def _undo_wrapper(self) -> tuple[str | None, int]:
        """Return the up axis and the node of our own that turns it to y, made to turn no more.

        Only if it still does what the writer made it do; other programs may have changed it.
        """
        for k, part in enumerate(self.parts):
            if self.parents[k] < 0 and "up_axis" in part.own:
                up_axis = part.own["up_axis"]
                turn = turn_to_y(up_axis) if up_axis in ("x", "y", "z", None) else np.zeros((3, 3))
                if np.allclose(self.linear[k], turn, atol=1e-5):
                    self.linear[k], self.wxyz[k] = np.eye(3), (1.0, 0.0, 0.0, 0.0)
                    return up_axis, k
        return "y", -1

    def name(self, k: int) -> str:
        """Return the name of a node, or one made of its index."""
        name = self.parts[k].text("name").strip()
        return name if name != "" else f"node_{k}"

    def with_ancestors(self, nodes: Iterable[int]) -> set[int]:
        """Return these nodes and all that carry them."""
        found: set[int] = set()
        for k in nodes:
            while k >= 0 and k not in found:
                found.add(k)
                k = self.parents[k]
        return found

    def world(
        self, moved: dict[int, tuple[Array, Array]], nodes: Iterable[int]
    ) -> tuple[dict[int, Array], dict[int, Array]]:
        """Return where nodes are in the world.

        Args:
            moved: for nodes that move, linear parts (T, 3, 3) and translations (T, 3) in the
                parent; the others are at rest.
            nodes: the nodes wanted.

        Returns:
            Linear parts and positions by node, (T, 3, 3) and (T, 3), or (3, 3) and (3,) for nodes
            that nothing moves.
        """
        linear: dict[int, Array] = {}
        positions: dict[int, Array] = {}
        needed = self.with_ancestors(nodes)
        for k in self.order:
            if k not in needed:
                continue
            own, t = moved.get(k, (self.linear[k], self.translations[k]))
            parent = self.parents[k]
            if parent < 0:
                linear[k], positions[k] = own, t
            else:
                linear[k] = linear[parent] @ own
                positions[k] = positions[parent] + (linear[parent] @ t[..., None])[..., 0]
        return linear, positions
