"""The same quantities in vectorised numpy: all markers and all pairs of dofs at once.

Position goals with unit weights on a tree of Euler, hinge and translation joints, which is what the
human is made of. One Python loop over the bones remains, in forward kinematics, as in any numpy
implementation.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from exactik import Bone, Skeleton
from exactik.typing import Array


class NumpyRival:
    """Cost and derivatives of markers on a skeleton."""

    def __init__(self, skeleton: Skeleton, targets: Array):
        self.skeleton, self.targets = skeleton, targets
        self.bones = skeleton.bones
        self.parents = skeleton.parents.tolist()
        self.offsets = np.array([b.offset for b in self.bones])
        self.pre = [np.eye(3) if b.pre is None else np.array(b.pre) for b in self.bones]
        self.post = [np.eye(3) if b.post is None else np.array(b.post) for b in self.bones]
        names = list(skeleton.bone_names)
        self.marker_bone = np.array([names.index(b) for b, _ in skeleton.markers.values()])
        self.marker_point = np.array([p for _, p in skeleton.markers.values()])
        self.steps = [self._steps(b) for b in self.bones]  # per dof: (is a turn, axis)
        self.turns = np.array([turn for steps in self.steps for turn, _ in steps])
        owner = np.array([k for k, steps in enumerate(self.steps) for _ in steps])
        above = np.zeros((len(self.bones), len(self.bones)), bool)  # above[k, b]: k carries b
        for b in range(len(self.bones)):
            k = b
            while k >= 0:
                above[k, b] = True
                k = self.parents[k]
        self.moves = above[owner][:, self.marker_bone]  # (nv, markers)
        i = np.arange(len(owner))
        same = owner[:, None] == owner[None, :]
        carries = above[owner[:, None], owner[None, :]]
        self.outer = np.where(same, i[:, None] <= i[None, :], carries)  # j = row is outer than i

    @staticmethod
    def _steps(bone: Bone) -> list[tuple[bool, int]]:
        joint = bone.joint
        if joint.axis is not None:
            return [(True, joint.axis.index(1.0))]
        shifts = [(False, a) for a in range(3)] if joint.kind == "free" else []
        return shifts + [(True, "XYZ".index(c)) for c in joint.rotation_part.order]

    def forward(self, q: Array) -> tuple[Array, Array, Array]:
        """Marker positions (m, 3), dof axes (nv, 3) and joint centres (nv, 3)."""
        sine, cosine = np.sin(q), np.cos(q)
        R, p = np.empty((len(self.bones), 3, 3)), np.empty((len(self.bones), 3))
        axes, centres = np.empty((len(q), 3)), np.empty((len(q), 3))
        i = 0
        for k, parent in enumerate(self.parents):
            base = self.pre[k] if parent < 0 else R[parent] @ self.pre[k]
            place = self.offsets[k] if parent < 0 else p[parent] + R[parent] @ self.offsets[k]
            for turn, axis in self.steps[k]:
                axes[i] = base[:, axis]
                if turn:
                    b, c = (axis + 1) % 3, (axis + 2) % 3
                    turned = np.empty((3, 3))
                    turned[:, axis] = base[:, axis]
                    turned[:, b] = cosine[i] * base[:, b] + sine[i] * base[:, c]
                    turned[:, c] = cosine[i] * base[:, c] - sine[i] * base[:, b]
                    base = turned
                else:
                    place = place + q[i] * base[:, axis]
                centres[i] = place
                i += 1
            R[k], p[k] = base @ self.post[k], place
        markers = p[self.marker_bone] + np.einsum(
            "mij,mj->mi", R[self.marker_bone], self.marker_point
        )
        return markers, axes, centres

    def jacobian(self, q: Array) -> tuple[Array, Array, Array]:
        """Residual (m, 3), J (nv, m, 3) and axes (nv, 3)."""
        markers, axes, centres = self.forward(q)
        arms = markers[None] - centres[:, None]
        turning = np.cross(axes[:, None], arms)
        J = np.where(self.turns[:, None, None], turning, axes[:, None])
        return self.targets - markers, J * self.moves[:, :, None], axes

    def gradient(self, q: Array) -> Array:
        r, J, _ = self.jacobian(q)
        return -np.tensordot(J, r, 2)

    def gauss_newton(self, q: Array) -> tuple[Array, Array]:
        r, J, _ = self.jacobian(q)
        flat = J.reshape(len(q), -1)
        return -flat @ r.ravel(), flat @ flat.T

    def hessian(self, q: Array) -> tuple[Array, Array]:
        """Gradient and exact Hessian: K_ij·r = (ω_j × J_i)·r = ω_j·(J_i × r), j the outer dof."""
        r, J, axes = self.jacobian(q)
        flat = J.reshape(len(q), -1)
        torque = np.cross(J, r[None]).sum(axis=1)  # (nv, 3)
        bend = (axes * self.turns[:, None]) @ torque.T  # [j, i]
        bend = np.where(self.outer, bend, 0.0)
        H = flat @ flat.T - np.where(self.outer, bend, bend.T)
        return -flat @ r.ravel(), H

    def newton_step(self, q: Array, shift: float) -> Array:
        g, H = self.hessian(q)
        return -cho_solve(cho_factor(H + shift * np.eye(len(q))), g)
