"""The kinematic tree: bones, markers, limits; and what happens to it when its joints move."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from exactik._arrays import as_floats, contiguous_copy, freeze, require_finite, require_shape
from exactik.errors import CoordinateError, ShapeError, UnknownNameError
from exactik.kernels.tree import fk
from exactik.kernels.tree import integrate as integration
from exactik.kernels.tree.couplings import FROM, expand_coordinates_batch
from exactik.kernels.tree.packed import NONE, Tree
from exactik.model._bone import Bone
from exactik.model._coupling import Coupling, check_couplings
from exactik.model._jacobian import Frame, Route, Rows, bone_jacobian, bone_jacobian_dot
from exactik.model._packing import ancestor_pairs, find_last_dofs, pack_tree
from exactik.model._pose import Pose
from exactik.model._structure import find_chains, format_tree, order_parents_first
from exactik.spatial import runnable
from exactik.typing import Array, BoolArray, IntArray
from exactik.visuals import LazyVisuals, Visuals

__all__ = ["Skeleton"]

Point = tuple[float, float, float]


class Skeleton:
    """An immutable articulated figure.

    Make one with `Skeleton.build` or `human`. Coordinates q have length `nq`, degrees of freedom v
    length `nv`; both run over the bones in order, each bone's own together.

    Attributes:
        name: what the figure is called.
        bones: the bones, parents before children.
        markers: name → (bone, point in the bone's frame [m]).
        couplings: dofs that follow others and are no coordinates, each after its driver.

    Two skeletons are equal if they move alike: what they look like, `visuals`, is not compared.
    """

    name: str
    bones: tuple[Bone, ...]
    markers: Mapping[str, tuple[str, Point]]
    couplings: tuple[Coupling, ...]

    def __init__(
        self,
        name: str,
        bones: Sequence[Bone],
        markers: Mapping[str, tuple[str, ArrayLike]] | None = None,
        couplings: Sequence[Coupling] = (),
        visuals: Visuals | LazyVisuals | None = None,
    ):
        """See `Skeleton.build`."""
        ordered = order_parents_first(tuple(bones))
        names = [bone.name for bone in ordered]
        self._set("name", str(name))
        self._set("bones", ordered)
        self._set("_index", {bone: k for k, bone in enumerate(names)})
        checked: dict[str, tuple[str, Point]] = {}
        for marker, (bone, point) in (markers or {}).items():
            if bone not in self._index:
                raise UnknownNameError("bone", bone, names)
            x, y, z = require_shape(f"point of marker {marker!r}", point, 3).tolist()
            checked[str(marker)] = (bone, (x, y, z))
        self._set("markers", MappingProxyType(checked))
        self._set("couplings", check_couplings(ordered, tuple(couplings)))
        self._set("_visuals", visuals)

    _index: dict[str, int]
    _visuals: Visuals | LazyVisuals | None

    @classmethod
    def build(
        cls,
        name: str,
        bones: Sequence[Bone],
        markers: Mapping[str, tuple[str, ArrayLike]] | None = None,
        couplings: Sequence[Coupling] = (),
        visuals: Visuals | LazyVisuals | None = None,
    ) -> Skeleton:
        """Return the skeleton of `bones`; children may be listed before their parents.

        Args:
            name: what the figure is called.
            bones: at least one; the order is kept where it has parents first, else parents are
                moved forward.
            markers: name → (bone, point in the bone's frame [m]).
            couplings: dofs that follow others; these are then no coordinates of the skeleton.
            visuals: what it looks like; a `LazyVisuals` is read when somebody looks.

        Raises:
            ModelError: duplicate names, a cycle, or a dof that cannot be coupled.
            UnknownNameError: a parent, a marker's bone or a coupled dof that does not exist.
        """
        return cls(name, bones, markers, couplings, visuals)

    def _set(self, key: str, value: object) -> None:
        object.__setattr__(self, key, value)

    def __setattr__(self, key: str, value: object) -> None:
        raise AttributeError(f"a Skeleton is immutable; cannot set {key!r} (build another one)")

    def __delattr__(self, key: str) -> None:
        raise AttributeError(f"a Skeleton is immutable; cannot delete {key!r}")

    def __reduce__(self) -> tuple[Any, ...]:
        state = (self.name, self.bones, dict(self.markers), self.couplings, self._visuals)
        return type(self), state

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Skeleton):
            return NotImplemented
        mine = (self.name, self.bones, dict(self.markers), self.couplings)
        return mine == (other.name, other.bones, dict(other.markers), other.couplings)

    def __hash__(self) -> int:
        return hash((self.name, self.bones))

    # --- names and sizes

    @cached_property
    def tree(self) -> Tree:
        """The packed arrays that the kernels read."""
        return pack_tree(self.bones, self.parents.tolist(), self.couplings)

    @cached_property
    def ancestor_pairs(self) -> tuple[IntArray, IntArray, IntArray]:
        """Where the ancestor rows of the kernels lie in a full matrix: dof, level, dof above."""
        return ancestor_pairs(self.tree)

    @cached_property
    def last_dofs(self) -> IntArray:
        """The last dof on the path of the kernels to each of their frames, the world's first.

        −1 for none, shape (n_bones + 1,). Dofs that drive others are on the paths of all of these.
        """
        return freeze(find_last_dofs(self.bones, self.parents.tolist(), self.couplings))

    @cached_property
    def parents(self) -> IntArray:
        """Index of each bone's parent, −1 for a root, shape (n_bones,)."""
        indices = [-1 if b.parent is None else self._index[b.parent] for b in self.bones]
        return freeze(np.array(indices, dtype=np.int64))

    @cached_property
    def rest_offsets(self) -> Array:
        """Where each bone begins in its parent's frame in the neutral pose [m], (n_bones, 3).

        That is its offset, unless its joint shifts it: knees may be nothing but shifts.
        """
        offsets = np.array([bone.offset for bone in self.bones], dtype=float).reshape(-1, 3)
        shifted = [k for k, bone in enumerate(self.bones) if bone.joint.translates]
        if any(self.parents[k] >= 0 for k in shifted):
            pose = self.forward(self.neutral())
            for k in shifted:
                if (parent := self.parents[k]) >= 0:
                    between = pose.positions[k] - pose.positions[parent]
                    offsets[k] = between @ pose.rotations[parent]
        return freeze(offsets)

    @cached_property
    def nq(self) -> int:
        """Number of coordinates."""
        return sum(bone.joint.nq for bone in self.bones) - len(self.couplings)

    @cached_property
    def nv(self) -> int:
        """Number of degrees of freedom; differs from `nq` only by one per quaternion joint."""
        return len(self._dofs)

    @cached_property
    def bone_names(self) -> tuple[str, ...]:
        """Names of the bones, in order."""
        return tuple(bone.name for bone in self.bones)

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

    def bone_index(self, bone: str) -> int:
        """Return the index of a bone; raise `UnknownNameError` with near misses."""
        if bone not in self._index:
            hint = "that is a marker, see MarkerGoal" if bone in self.markers else ""
            raise UnknownNameError("bone", bone, self.bone_names, hint)
        return self._index[bone]

    def marker(self, name: str) -> tuple[str, Point]:
        """Return (bone, point in its frame [m]) of a marker, or raise `UnknownNameError`."""
        if name not in self.markers:
            raise UnknownNameError("marker", name, self.markers)
        return self.markers[name]

    @cached_property
    def visuals(self) -> Visuals:
        """What the figure looks like: meshes on its bones, skins; read when first asked for.

        Without any it is empty, and so it is where its file cannot be read, which its notes say.
        Parts on bones that the skeleton does not have are left out.
        """
        source = self._visuals.load() if isinstance(self._visuals, LazyVisuals) else self._visuals
        if not source:
            return Visuals() if source is None else source
        shown = source.only_on(self.bone_names)
        return shown.fitted(self.bone_names, self.parents, self.rest_offsets)

    # --- structure

    def chains(self) -> list[tuple[str, ...]]:
        """Return one chain of bone names per leaf, root first (the papers' MAKECHAINS)."""
        return find_chains(self.bones)

    def reroot(self, bone: str) -> Skeleton:
        """Return the same figure hanging from `bone`; see `exactik.model.reroot`."""
        from exactik.model._reroot import reroot

        return reroot(self, bone)

    def reroot_coordinates(self, bone: str, q: ArrayLike) -> Array:
        """Return the coordinates of `reroot(bone)` in the pose at q, shape (…, nq)."""
        from exactik.model._reroot import reroot_coordinates

        return reroot_coordinates(self, bone, q)

    def with_markers(self, markers: Mapping[str, tuple[str, ArrayLike]]) -> Skeleton:
        """Return the same skeleton with these markers instead of its own."""
        return Skeleton(self.name, self.bones, markers, self.couplings, self._visuals)

    def with_visuals(self, visuals: Visuals | LazyVisuals | None) -> Skeleton:
        """Return the same skeleton with this look instead of its own; None for no look."""
        return Skeleton(self.name, self.bones, self.markers, self.couplings, visuals)

    def with_look_of(self, other: Skeleton) -> Skeleton:
        """Return the same skeleton with the look of another, whose bones have the same names."""
        return self.with_visuals(other._visuals)

    def with_bones(
        self,
        bones: Sequence[Bone],
        markers: Mapping[str, tuple[str, ArrayLike]] | None = None,
        name: str | None = None,
    ) -> Skeleton:
        """Return the same skeleton of other bones, with its couplings and its look.

        Args:
            bones: with the same names and the same dofs where couplings name them.
            markers: on these bones; None for its own.
            name: of the new skeleton; None for the same.
        """
        markers = dict(self.markers) if markers is None else markers
        name = self.name if name is None else name
        return Skeleton(name, bones, markers, self.couplings, self._visuals)

    # --- motion

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

    def forward(self, q: ArrayLike) -> Pose:
        """Return the pose of all bones.

        Args:
            q: coordinates, shape (…, nq); quaternions need not have unit length.
        """
        q = self.joint_coordinates(q)
        flat = np.ascontiguousarray(q.reshape(math.prod(q.shape[:-1]), q.shape[-1]))
        n = len(self.bones) + 1
        R, p = np.empty((len(flat), n, 3, 3)), np.empty((len(flat), n, 3))
        scratch = np.empty((2, q.shape[-1]))
        S = np.empty((int(self.tree.joint_v[-1]), 6))
        runnable(fk.forward_kinematics_batch, len(flat))(
            self.tree, flat, np.zeros(3), scratch[0], scratch[1], R, p, S
        )
        lead = q.shape[:-1]
        return Pose(self, p[:, 1:].reshape(*lead, n - 1, 3), R[:, 1:].reshape(*lead, n - 1, 3, 3))

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
        runnable(expand_coordinates_batch, len(flat))(tree, flat, out, slope, bend)
        return out.reshape(*q.shape[:-1], out.shape[1])

    def without_couplings(self) -> Skeleton:
        """Return the same figure with all dofs of its joints free: q is `joint_coordinates`."""
        if len(self.couplings) == 0:
            return self
        return Skeleton(self.name, self.bones, self.markers, (), self._visuals)

    @cached_property
    def free_coordinates(self) -> IntArray:
        """Which of the `joint_coordinates` are those of q, (nq,)."""
        sources = self.tree.joint_dofs[FROM]
        return freeze(np.flatnonzero(sources != NONE))

    def integrate(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Return q moved by the tangent step v; quaternions are multiplied on the right.

        Args:
            q: coordinates, shape (…, nq).
            v: step [rad or m], shape (…, nv); leading axes broadcast against those of q.
        """
        q, v = self.normalised(q), self._require_length("v", v, self.nv)
        lead = np.broadcast_shapes(q.shape[:-1], v.shape[:-1])
        q, v = _as_rows(q, lead), _as_rows(v, lead)
        out = np.empty_like(q)
        runnable(integration.integrate_batch, len(q))(self.tree, q, v, out)
        return out.reshape(*lead, self.nq)

    def difference(self, q1: ArrayLike, q0: ArrayLike) -> Array:
        """Return the v with integrate(q0, v) = q1, (…, nv); quaternions go the shorter way."""
        q1, q0 = self.normalised(q1, "q1"), self.normalised(q0, "q0")
        lead = np.broadcast_shapes(q1.shape[:-1], q0.shape[:-1])
        q1, q0 = _as_rows(q1, lead), _as_rows(q0, lead)
        out = np.empty((len(q1), self.nv))
        runnable(integration.difference_batch, len(q1))(self.tree, q1, q0, out)
        return out.reshape(*lead, self.nv)

    def reparameterise(self, q: ArrayLike) -> Array:
        """Return the same pose, (nq,), exponential maps and swings brought within half a turn.

        Between steps only, never inside one. A joint whose limits exclude the new coordinates stays
        as it is.
        """
        q = require_shape("q", q, self.nq).copy()
        runnable(integration.reparameterise)(self.tree, q, self.lower, self.upper)
        return q

    def jacobian(
        self,
        q: ArrayLike,
        bone: str,
        point: ArrayLike = (0.0, 0.0, 0.0),
        *,
        frame: Frame = "world",
        rows: Rows = "linear",
        route: Route = "cross",
    ) -> Array:
        """Return the Jacobian of a point on a bone, (3, nv), or (6, nv) for both kinds of rows.

        Args:
            q: coordinates, shape (nq,).
            bone: name of the bone.
            point: in the bone's frame [m], shape (3,).
            frame: "world": velocity of the point in world axes; "body": the same in the bone's
                axes; "spatial": of that point of the bone which passes the world's origin.
            rows: "linear" [m/s], "angular" [rad/s] or "both", linear rows first.
            route: "cross", "poe" or "adjusted", three ways to the same numbers.
        """
        return bone_jacobian(self, q, bone, point, frame, rows, route)

    def jacobian_dot(
        self,
        q: ArrayLike,
        v: ArrayLike,
        bone: str,
        point: ArrayLike = (0.0, 0.0, 0.0),
        *,
        frame: Frame = "world",
        rows: Rows = "linear",
    ) -> Array:
        """Return the time derivative of `jacobian` along integrate(q, t v) at t = 0.

        Args:
            q: coordinates, shape (nq,).
            v: velocity of the dofs [rad/s or m/s], shape (nv,).
            bone: name of the bone.
            point: in the bone's frame [m], shape (3,).
            frame: as for `jacobian`.
            rows: as for `jacobian`.
        """
        return bone_jacobian_dot(self, q, v, bone, point, frame, rows)

    # --- checks

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

    # --- printing

    def __repr__(self) -> str:
        counts = f"{len(self.bones)} bones, {self.nv} dofs, {len(self.markers)} markers"
        return f"<Skeleton {self.name!r}: {counts}>"

    def __str__(self) -> str:
        """Return a readable tree, one bone a line."""
        return format_tree(self)


def _as_rows(array: Array, lead: tuple[int, ...]) -> Array:
    """Return an array broadcast to the leading axes, (…, n), as a list of rows, (product, n)."""
    n = array.shape[-1]
    return contiguous_copy(np.broadcast_to(array, (*lead, n)).reshape(math.prod(lead), n))
