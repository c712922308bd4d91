"""The nodes of a glTF document: the trees that they form, and where all of them are.

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
from exactik.io.gltf._json import JsonObject
from exactik.spatial import axis_rotation, matrix_from_wxyz, nearest_rotation, wxyz_from_matrix
from exactik.typing import Array


def make_rotation_to_y_up(up_axis: str | None) -> Array:
    """Return R_gltf_skeleton, which takes the up axis to y; the identity for y and None."""
    rotations = {"x": axis_rotation("z", np.pi / 2), "z": axis_rotation("x", -np.pi / 2)}
    return np.rint(rotations[up_axis]) if up_axis in rotations else np.eye(3)


def extract_rotations(linear: Array) -> Array:
    """Return the rotations nearest to linear parts, (…, 3, 3), up to a scale or a mirror.

    A mirror is taken as a mirror through the origin, which commutes with rotations, so that a
    mirrored figure moves as it should.
    """
    largest = np.abs(linear).max(axis=(-2, -1), keepdims=True)
    m = linear / np.where(largest > 0.0, largest, 1.0)
    det = np.linalg.det(m)[..., None, None]
    is_singular = np.abs(det) < 1e-12
    m = m / np.where(is_singular, 1.0, np.cbrt(np.where(is_singular, 1.0, det)))
    # Most files are off by a rounding only. After one Newton step of the polar decomposition
    # `nearest_rotation` has next to nothing left to do, which makes it far cheaper.
    error = np.abs(m @ np.swapaxes(m, -1, -2) - np.eye(3)).max(axis=(-2, -1), keepdims=True)
    newton_step = 1.5 * m - 0.5 * m @ np.swapaxes(m, -1, -2) @ m
    rotations = nearest_rotation(np.where(error < 1e-3, newton_step, m))
    return rotations * np.where(np.linalg.det(rotations) < 0.0, -1.0, 1.0)[..., None, None]


class NodeForest:
    """The nodes as trees.

    Attributes:
        nodes: the nodes in the file.
        parents: index of each node's parent, −1 for a root.
        order: all nodes, parents before children, depth first.
        translations: rest translation of each node in its parent, (n, 3).
        wxyz: rest rotation of each node, (n, 4).
        scales: rest scale of each node, (n, 3).
        linear: linear part of each node at rest, (n, 3, 3).
        up_axis: the up axis of the figure in the coordinates in which it is read; None where it is
            not known.
        wrapper: the node with which `write_glb` turns a figure to y up, −1 if there is none.
    """

    def __init__(self, document: Document, notes: Notes):
        """Read the nodes of a document; cycles and second parents are refused."""
        self.nodes = document.nodes
        if len(self.nodes) == 0:
            raise document.error("missing or empty; expected a figure", "nodes")
        self.parents = self._find_parents()
        self.order = self._order_depth_first()
        n = len(self.nodes)
        self.translations, self.scales = np.zeros((n, 3)), np.ones((n, 3))
        self.wxyz, self.linear = np.zeros((n, 4)), np.empty((n, 3, 3))
        for k, node in enumerate(self.nodes):
            self._read_transform(k, node, notes)
        self.up_axis, self.wrapper = self._remove_wrapper_rotation()
        with np.errstate(over="ignore", invalid="ignore"):
            self.rest_linear, self.rest_positions = self.compute_world({}, range(n))
        for k, node in enumerate(self.nodes):
            if not np.isfinite([*self.rest_linear[k].flat, *self.rest_positions[k]]).all():
                raise node.error(
                    "its place in the world overflows; expected a figure of finite size"
                )

    def _find_parents(self) -> list[int]:
        parents = [-1] * len(self.nodes)
        for k, node in enumerate(self.nodes):
            for i, child in enumerate(node.indices("children", self.nodes)):
                if parents[child] >= 0:
                    text = f"is {child}, already a child of nodes[{parents[child]}]"
                    raise node.error(f"{text}; expected one parent", f"children[{i}]")
                parents[child] = k
        return parents

    def _order_depth_first(self) -> list[int]:
        order: list[int] = []
        stack = [k for k, parent in enumerate(self.parents) if parent < 0][::-1]
        while len(stack) > 0:
            order.append(stack.pop())
            stack.extend(self.nodes[order[-1]].indices("children", self.nodes)[::-1])
        if len(order) < len(self.nodes):
            in_cycle = min(set(range(len(self.nodes))) - set(order))
            raise self.nodes[in_cycle].error("hangs in a cycle of nodes; expected trees")
        return order

    def _read_transform(self, k: int, node: JsonObject, notes: Notes) -> None:
        """Read where one node is in its parent."""
        if "matrix" in node.value:
            eye = tuple(np.eye(4).flat)
            matrix = node.numbers("matrix", eye).reshape(4, 4).T  # stored column by column
            if not np.allclose(matrix[3], eye[12:], atol=1e-6):
                raise node.error("its last row is not 0 0 0 1; expected an affine map", "matrix")
            self.translations[k], self.linear[k] = matrix[:3, 3], matrix[:3, :3]
            R_parent_node = extract_rotations(self.linear[k])
            self.wxyz[k] = wxyz_from_matrix(R_parent_node)
            self.scales[k] = np.diagonal(R_parent_node.T @ self.linear[k])
            return
        self.translations[k] = node.numbers("translation", (0.0, 0.0, 0.0))
        self.scales[k] = node.numbers("scale", (1.0, 1.0, 1.0))
        xyzw = node.numbers("rotation", (0.0, 0.0, 0.0, 1.0))
        length = np.linalg.norm(xyzw)
        if length < 1e-6:
            raise node.error("is zero; expected a unit quaternion", "rotation")
        if abs(length - 1.0) > 1e-3:
            place = node.place_of("rotation")
            notes.remark(f"quaternion of length {length:.4g} is brought to 1", place)
        self.wxyz[k] = xyzw[[3, 0, 1, 2]] / length
        self.linear[k] = matrix_from_wxyz(self.wxyz[k]) * self.scales[k]

    def _remove_wrapper_rotation(self) -> tuple[str | None, int]:
        """Set the node by which `write_glb` turned a figure to the identity.

        Only if it still is what the writer made it; other programs may have changed it.

        Returns:
            The up axis of the figure without that rotation, and the node.
        """
        for k, node in enumerate(self.nodes):
            if self.parents[k] < 0 and "up_axis" in node.exactik_extras:
                up_axis = node.exactik_extras["up_axis"]
                if up_axis not in ("x", "y", "z", None):
                    continue
                if np.allclose(self.linear[k], make_rotation_to_y_up(up_axis), atol=1e-5):
                    self.linear[k], self.wxyz[k] = np.eye(3), (1.0, 0.0, 0.0, 0.0)
                    return up_axis, k
        return "y", -1

    def name(self, k: int) -> str:
        """Return the name of a node, or one made of its index."""
        name = self.nodes[k].text("name").strip()
        return name if name != "" else f"node_{k}"

    def with_ancestors(self, nodes: Iterable[int]) -> set[int]:
        """Return these nodes and all above them."""
        result: set[int] = set()
        for k in nodes:
            while k >= 0 and k not in result:
                result.add(k)
                k = self.parents[k]
        return result

    def compute_world(
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
            A, t = moved.get(k, (self.linear[k], self.translations[k]))
            parent = self.parents[k]
            if parent < 0:
                linear[k], positions[k] = A, t
            else:
                linear[k] = linear[parent] @ A
                positions[k] = positions[parent] + (linear[parent] @ t[..., None])[..., 0]
        return linear, positions
