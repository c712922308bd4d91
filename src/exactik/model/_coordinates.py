"""Coordinates of bones in a tree: dofs and their limits, steps, differences, couplings.

Coordinates q have length `nq` and degrees of freedom v length `nv`; both run over the bones in
order, each bone's own together. A quaternion has four coordinates and three dofs; dofs that follow
others have none.
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from exactik._arrays import as_floats, contiguous_copy, freeze, require_finite, require_shape
from exactik.errors import CoordinateError, ShapeError
from exactik.kernels.tree import integrate as integration
from exactik.kernels.tree.couplings import FROM, expand_coordinates_batch
from exactik.kernels.tree.packed import NONE, Tree
from exactik.model._bone import Bone
from exactik.model._coupling import Coupling
from exactik.model._packing import pack_tree
from exactik.typing import Array, BoolArray, IntArray


class CoordinateSpace:
    """The coordinates of a skeleton, which is the only class that has them."""

    name: str  # of the figure
    bones: tuple[Bone, ...]  # parents before children
    # Dofs that follow others and are no coordinates, each after its driver
    couplings: tuple[Coupling, ...]

    _index: dict[str, int]  # of each bone, by its name

    # --- sizes, names, limits

    @cached_property
    def parents(self) -> IntArray:
        """Index of each bone's parent, −1 for a root, shape (n_bones,)."""
        indices = [-1 if b.parent is None else self._index[b.parent] for b in self.bones]
        return freeze(np.array(indices, dtype=np.int64))

    @cached_property
    def tree(self) -> Tree:
        """The packed arrays that the kernels read."""
        return pack_tree(self.bones, self.parents.tolist(), self.couplings)

    @cached_property
    def nq(self) -> int:
        """Number of coordinates."""
        return sum(bone.joint.nq for bone in self.bones) - len(self.couplings)

    @cached_property
    def nv(self) -> int:
        """Number of degrees of freedom; differs from `nq` only by one per quaternion joint."""
        return len(self._dofs)

    @cached_property
    def _dofs(self) -> tuple[tuple[int, int], ...]:
        """Bone, and number within its joint, of every dof that follows no other."""
        driven = {coupling.driven for coupling in self.couplings}
        return tuple(
            (k, a)
            for k, bone in enumerate(self.bones)
            for a, dof in enumerate(bone.joint.dof_names)
            if f"{bone.name}.{dof}" not in driven
        )

    @cached_property
    def dof_names(self) -> tuple[str, ...]:
        """Names of the dofs, such as "lower.ry", in order; not of those that follow others."""
        bones = self.bones
        return tuple(f"{bones[k].name}.{bones[k].joint.dof_names[a]}" for k, a in self._dofs)

    @cached_property
    def dof_bones(self) -> IntArray:
        """Index of the bone whose joint each dof belongs to, (nv,)."""
        return freeze(np.array([k for k, _ in self._dofs], dtype=np.int64))

    @cached_property
    def lower(self) -> Array:
        """Lower limits [rad or m], shape (nv,), −inf where free."""
        return self._pick_limits(0)

    @cached_property
    def upper(self) -> Array:
        """Upper limits [rad or m], shape (nv,), inf where free."""
        return self._pick_limits(1)

    def _pick_limits(self, side: int) -> Array:
        limits = [self.bones[k].joint.limits[a][side] for k, a in self._dofs]
        return freeze(np.array(limits, dtype=float))

    @cached_property
    def quaternions(self) -> tuple[tuple[str, int], ...]:
        """Bone and first coordinate of every quaternion."""
        end = self.tree.first_q  # no dof of a quaternion's joint follows another
        return tuple(
            (bone.name, int(end[k + 1]) - 4)
            for k, bone in enumerate(self.bones, start=1)
            if bone.joint.rotation_part.kind == "quaternion"
        )

    @cached_property
    def plain_q(self) -> IntArray:
        """For each dof the index of the coordinate it adds to; −1 for the dofs of quaternions."""
        index = np.full(self.nv, -1, dtype=np.int64)
        tree = self.tree
        for k, bone in enumerate(self.bones, start=1):
            count = int(tree.first_v[k + 1]) - int(tree.first_v[k])
            count -= 3 if bone.joint.nq > bone.joint.nv else 0
            index[tree.first_v[k] : tree.first_v[k] + count] = tree.first_q[k] + np.arange(count)
        return freeze(index)

    @cached_property
    def turns(self) -> BoolArray:
        """Which dofs are rotations [rad]; the others are shifts [m], (nv,)."""
        turning = [bone.joint.turning_dofs for bone in self.bones]
        return freeze(np.array([a in turning[k] for k, a in self._dofs], dtype=bool))

    @cached_property
    def is_periodic(self) -> BoolArray:
        """Which dofs a whole turn brings to the same pose, (nv,); none that others follow."""
        drivers = {coupling.driver for coupling in self.couplings}
        periodic = [bone.joint.periodic_dofs for bone in self.bones]
        pairs = zip(self._dofs, self.dof_names, strict=True)
        flags = [a in periodic[k] and name not in drivers for (k, a), name in pairs]
        return freeze(np.array(flags, dtype=bool))

    @cached_property
    def free_coordinates(self) -> IntArray:
        """Which of the `joint_coordinates` are those of q, (nq,)."""
        sources = self.tree.joint_dofs[FROM]
        return freeze(np.flatnonzero(sources != NONE))

    # --- poses

    def neutral(self) -> Array:
        """Return the rest pose, (nq,): zeros, unit quaternions, moved inside the limits."""
        q = np.zeros(self.nq)
        for _, first in self.quaternions:
            q[first] = 1.0
        return self.clip(q)

    def clip(self, q: ArrayLike) -> Array:
        """Return q, (…, nq), with coordinates that are outside their limits moved to the limit."""
        q = self._require_length("q", q, self.nq).copy()
        limited = self.plain_q >= 0
        index = self.plain_q[limited]
        q[..., index] = np.clip(q[..., index], self.lower[limited], self.upper[limited])
        return q

    def _require_length(self, name: str, value: ArrayLike, length: int) -> Array:
        array = as_floats(name, value)
        if array.ndim == 0 or array.shape[-1] != length:
            raise ShapeError(
                f"{name} has shape {array.shape}; expected (…, {length}) for {self.name!r}"
            )
        return require_finite(name, array)

    def normalised(self, q: ArrayLike, name: str = "q") -> Array:
        """Return a checked copy of q, shape (…, nq), with unit quaternions.

        Always a writable, contiguous one: the kernels would be compiled again for any other kind of
        array.
        """
        array = contiguous_copy(self._require_length(name, q, self.nq))
        for bone, first in self.quaternions:
            length = np.linalg.norm(array[..., first : first + 4], axis=-1, keepdims=True)
            if (length < 1e-12).any():
                raise CoordinateError(
                    f"{name} holds a zero quaternion for bone {bone!r}, which is no rotation"
                )
            unit = np.abs(length - 1.0) <= 4e-16  # unit to rounding: its bits are kept
            array[..., first : first + 4] /= np.where(unit, 1.0, length)
        return array

    def joint_coordinates(self, q: ArrayLike) -> Array:
        """Return the coordinates of all joints at q, (…, n), those of driven dofs included.

        They run over the bones in order, each bone's own together: the same as q unless the
        skeleton has couplings.
        """
        q = self.normalised(q)
        if len(self.couplings) == 0:
            return q
        tree = self.tree
        out = np.empty((math.prod(q.shape[:-1]), int(tree.joint_q[-1])))
        slope, bend = np.empty((2, int(tree.joint_v[-1])))
        flat = np.ascontiguousarray(q.reshape(len(out), self.nq))
        expand_coordinates_batch(tree, flat, out, slope, bend)
        return out.reshape(*q.shape[:-1], out.shape[1])

    # --- steps

    def integrate(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Return q moved by the tangent step v; quaternions are multiplied on the right.

        Args:
            q: coordinates, shape (…, nq).
            v: step [rad or m], shape (…, nv); leading axes broadcast against those of q.
        """
        q, v = self.normalised(q), self._require_length("v", v, self.nv)
        lead = _broadcast_lead(("q", q), ("v", v))
        q, v = _as_rows(q, lead), _as_rows(v, lead)
        out = np.empty_like(q)
        integration.integrate_batch(self.tree, q, v, out)
        return out.reshape(*lead, self.nq)

    def difference(self, q1: ArrayLike, q0: ArrayLike) -> Array:
        """Return the v with integrate(q0, v) = q1, (…, nv); quaternions go the shorter way."""
        q1, q0 = self.normalised(q1, "q1"), self.normalised(q0, "q0")
        lead = _broadcast_lead(("q1", q1), ("q0", q0))
        q1, q0 = _as_rows(q1, lead), _as_rows(q0, lead)
        out = np.empty((len(q1), self.nv))
        integration.difference_batch(self.tree, q1, q0, out)
        return out.reshape(*lead, self.nv)

    def dof_gradient(self, q: ArrayLike, by_coordinate: ArrayLike) -> Array:
        """Return the gradient of a function by the dofs, (…, nv), from that by q, (…, nq).

        The function is one of poses: it does not feel the lengths of quaternions.
        """
        q = self._require_length("q", q, self.nq)
        by_coordinate = self._require_length("by_coordinate", by_coordinate, self.nq)
        by_dof = by_coordinate[..., np.maximum(self.plain_q, 0)]
        for (_, first), dofs in zip(self.quaternions, self._quaternion_dofs, strict=True):
            rates = _quaternion_rates(q[..., first : first + 4])
            by_dof[..., dofs] = np.einsum(
                "...ab,...a->...b", rates, by_coordinate[..., first : first + 4]
            )
        return by_dof

    def coordinate_gradient(self, q: ArrayLike, by_dof: ArrayLike) -> Array:
        """Return the gradient of a function of poses by q, (…, nq), from that by the dofs."""
        q = self._require_length("q", q, self.nq)
        by_dof = self._require_length("by_dof", by_dof, self.nv)
        by_coordinate = np.zeros_like(q)
        limited = self.plain_q >= 0
        by_coordinate[..., self.plain_q[limited]] = by_dof[..., limited]
        for (_, first), dofs in zip(self.quaternions, self._quaternion_dofs, strict=True):
            wxyz = q[..., first : first + 4]
            square = np.sum(wxyz * wxyz, axis=-1, keepdims=True)
            # q̇ = Q v with QᵀQ = |q|²/4 · 1; what is along q is felt by no pose.
            by_coordinate[..., first : first + 4] = (4.0 / square) * np.einsum(
                "...ab,...b->...a", _quaternion_rates(wxyz), by_dof[..., dofs]
            )
        return by_coordinate

    @cached_property
    def _quaternion_dofs(self) -> IntArray:
        """The three dofs of each quaternion, (n, 3)."""
        return np.flatnonzero(self.plain_q < 0).reshape(-1, 3)

    def reparameterise(self, q: ArrayLike) -> Array:
        """Return the same pose, (nq,), exponential maps and swings brought within half a turn.

        Between steps only, never inside one. A joint whose limits exclude the new coordinates stays
        as it is.
        """
        q = require_shape("q", q, self.nq).copy()
        integration.reparameterise(self.tree, q, self.lower, self.upper)
        return q


def _broadcast_lead(first: tuple[str, Array], second: tuple[str, Array]) -> tuple[int, ...]:
    """Return the leading axes that two named arrays have together."""
    shapes = [array.shape for _, array in (first, second)]
    try:
        return np.broadcast_shapes(*(shape[:-1] for shape in shapes))
    except ValueError:
        raise ShapeError(
            f"{first[0]} has shape {shapes[0]} and {second[0]} {shapes[1]}; their leading axes "
            "do not broadcast"
        ) from None


def _as_rows(array: Array, lead: tuple[int, ...]) -> Array:
    """Return an array broadcast to the leading axes, (…, n), as a list of rows, (product, n)."""
    n = array.shape[-1]
    return contiguous_copy(np.broadcast_to(array, (*lead, n)).reshape(math.prod(lead), n))


def _quaternion_rates(wxyz: Array) -> Array:
    """Return Q, (…, 4, 3), with q̇ = Q v for a turn at v [rad/s] in the axes of the bone."""
    w, x, y, z = np.moveaxis(0.5 * wxyz, -1, 0)
    rows = [[-x, -y, -z], [w, -z, y], [z, w, -x], [-y, x, w]]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)
