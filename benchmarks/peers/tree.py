"""A URDF in numpy for tools that optimise but have no robots: points, poses and Jacobians."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.support.arrays import Array
from benchmarks.support.urdf import find_chain, make_axis_frame, read_origin


class Tree:
    """The joints that move some links, each as a constant and a motion along or about its z.

    Attributes:
        parent: index of the joint above each, -1 for the root, (joints,).
        constant: from the frame after that joint to the one of this, (joints, 4, 4).
        slides: whether it is a slider, (joints,).
        carrier: last joint above each link, (links,).
        place: of each link in the frame after it, (links, 4, 4).
        moves: whether a joint moves a link, (links, joints).
    """

    def __init__(self, path: Path, joints: Sequence[str], links: Sequence[str]) -> None:
        index = {name: k for k, name in enumerate(joints)}
        self.parent = np.full(len(joints), -1)
        self.constant = np.tile(np.eye(4), (len(joints), 1, 1))
        self.slides = np.zeros(len(joints), dtype=bool)
        self.carrier = np.full(len(links), -1)
        self.place = np.tile(np.eye(4), (len(links), 1, 1))
        self.moves = np.zeros((len(links), len(joints)), dtype=bool)
        for i, link in enumerate(links):
            last, constant = -1, np.eye(4)
            for joint in find_chain(path, link):
                constant = constant @ read_origin(joint)
                if joint.get("type") == "fixed":
                    continue
                k, turn = index[joint.attrib["name"]], make_axis_frame(joint)
                self.parent[k], self.constant[k] = last, constant @ turn
                self.slides[k] = joint.get("type") == "prismatic"
                self.moves[i, k] = True
                last, constant = k, turn.T
            self.carrier[i], self.place[i] = last, constant
        self.order = _order_parents_first(self.parent)

    def frames(self, q: Array) -> Array:
        """Poses of the frames after each joint, (joints, 4, 4)."""
        T, c, s = np.empty_like(self.constant), np.cos(q), np.sin(q)
        for k in self.order:
            T[k] = self.constant[k] if self.parent[k] < 0 else T[self.parent[k]] @ self.constant[k]
            if self.slides[k]:
                T[k, :3, 3] += q[k] * T[k, :3, 2]
            else:
                x, y = T[k, :3, 0].copy(), T[k, :3, 1].copy()
                T[k, :3, 0], T[k, :3, 1] = c[k] * x + s[k] * y, c[k] * y - s[k] * x
        return T

    def poses(self, q: Array) -> Array:
        """Poses of the links, (links, 4, 4)."""
        return self.frames(q)[self.carrier] @ self.place

    def with_jacobian(self, q: Array) -> tuple[Array, Array, Array]:
        """Poses of the links, their dx/dq (links, 3, joints), and the axes that they turn about."""
        T = self.frames(q)
        poses = T[self.carrier] @ self.place
        axis, arm = T[:, :3, 2], poses[:, None, :3, 3] - T[None, :, :3, 3]
        slides, moves = self.slides[None, :, None], self.moves[:, :, None]
        shift = np.where(slides, axis, np.cross(axis[None], arm)) * moves
        turn = np.where(slides, 0.0, axis) * moves
        return poses, shift.swapaxes(1, 2), turn.swapaxes(1, 2)


def _order_parents_first(parent: NDArray[np.int64]) -> list[int]:
    order: list[int] = []
    while len(order) < len(parent):
        order += [k for k, p in enumerate(parent) if k not in order and (p < 0 or p in order)]
    return order


def compute_pose_error(T: Array, target: Array) -> Array:
    """Six numbers that vanish at the target: shift [m], and rotation vector in the world [rad]."""
    turn = target[:3, :3] @ T[:3, :3].T
    skew = np.array([turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]])
    sine = 0.5 * np.linalg.norm(skew)
    angle = np.arctan2(sine, 0.5 * (np.trace(turn) - 1.0))
    factor = 0.5 if sine < 1e-9 else 0.5 * angle / sine
    return np.r_[target[:3, 3] - T[:3, 3], factor * skew]
