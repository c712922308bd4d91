"""The kinematic tree: bones, markers, limits; and what happens to it when its joints move."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from exactik._arrays import freeze, require_shape
from exactik._registry import find
from exactik.errors import UnknownNameError
from exactik.kernels.linear.elimination import ancestor_pairs
from exactik.kernels.tree import fk
from exactik.model._bone import Bone
from exactik.model._coordinates import CoordinateSpace
from exactik.model._coupling import Coupling, check_couplings
from exactik.model._jacobian import (
    Frame,
    Route,
    Rows,
    backpropagate_poses,
    bone_jacobian,
    bone_jacobian_dot,
)
from exactik.model._loop import Loop, check_loops
from exactik.model._packing import find_last_dofs
from exactik.model._pose import BoneMass, LazyMasses, Pose, check_masses, map_masses, scale_masses
from exactik.model._structure import (
    Point,
    check_marker_places,
    check_speeds,
    find_chains,
    format_tree,
    order_parents_first,
)
from exactik.model.shapes import CollisionShape, LazyShapes, Shapes, fit_shapes
from exactik.model.visuals import LazyVisuals, Visuals, map_visuals
from exactik.typing import Array, IntArray


class Skeleton(CoordinateSpace):
    """An immutable articulated figure.

    Make one with `Skeleton.build` or `human`. Coordinates q have length `nq`, degrees of freedom v
    length `nv`; both run over the bones in order, each bone's own together.

    Attributes:
        name: what the figure is called.
        bones: the bones, parents before children.
        markers: name → (bone, point in the bone's frame [m]).
        couplings: dofs that follow others and are no coordinates, each after its driver.
        home: coordinates of the pose that its file calls home, (nq,); None if it names none.
        loops: bodies that are held together across the tree; `solve` closes them.

    Two skeletons are equal if they move alike: what they look like, `visuals`, what they weigh,
    `masses`, how fast they may move and where they are at home are not compared.
    """

    name: str
    bones: tuple[Bone, ...]
    markers: Mapping[str, tuple[str, Point]]
    couplings: tuple[Coupling, ...]
    home: Array | None
    loops: tuple[Loop, ...]

    def __init__(
        self,
        name: str,
        bones: Sequence[Bone],
        markers: Mapping[str, tuple[str, ArrayLike]] | None = None,
        couplings: Sequence[Coupling] = (),
        visuals: Visuals | LazyVisuals | None = None,
        masses: Mapping[str, BoneMass] | LazyMasses | None = None,
        home: ArrayLike | None = None,
        max_speed: Mapping[str, float] | None = None,
        shapes: Shapes | LazyShapes | None = None,
        loops: Sequence[Loop] = (),
    ):
        """See `Skeleton.build`."""
        ordered = order_parents_first(bones)
        names = [bone.name for bone in ordered]
        self._set("name", str(name))
        self._set("bones", ordered)
        self._set("_index", {bone: k for k, bone in enumerate(names)})
        self._set("markers", MappingProxyType(check_marker_places(markers, names)))
        self._set("couplings", check_couplings(ordered, tuple(couplings)))
        self._set("_visuals", visuals)
        if not isinstance(masses, LazyMasses):
            masses = MappingProxyType(check_masses(masses, self._index))
        self._set("_masses", masses)
        self._set("home", None if home is None else freeze(require_shape("home", home, self.nq)))
        self._set("_max_speed", MappingProxyType(check_speeds(max_speed, self.dof_names)))
        self._set("_shapes", shapes)
        self._set("loops", check_loops(loops, names))

    _max_speed: Mapping[str, float]
    _shapes: Shapes | LazyShapes | None
    _visuals: Visuals | LazyVisuals | None
    _masses: Mapping[str, BoneMass] | LazyMasses

    @classmethod
    def build(
        cls,
        name: str,
        bones: Sequence[Bone],
        markers: Mapping[str, tuple[str, ArrayLike]] | None = None,
        couplings: Sequence[Coupling] = (),
        visuals: Visuals | LazyVisuals | None = None,
        masses: Mapping[str, BoneMass] | LazyMasses | None = None,
        home: ArrayLike | None = None,
        max_speed: Mapping[str, float] | None = None,
    ) -> Skeleton:
        """Return the skeleton of `bones`; children may be listed before their parents.

        Args:
            name: what the figure is called.
            bones: at least one; the order is kept where it has parents first, else parents are
                moved forward.
            markers: name → (bone, point in the bone's frame [m]).
            couplings: dofs that follow others; these are then no coordinates of the skeleton.
            visuals: what it looks like; a `LazyVisuals` is read when somebody looks.
            masses: of bones, by name; `LazyMasses` are worked out when somebody asks.
            home: coordinates of a pose in which viewers open the figure, (nq,).
            max_speed: largest speeds of dofs, by name [rad/s or m/s]; the others have no bound.

        Raises:
            ModelError: duplicate names, a cycle, or a dof that cannot be coupled.
            UnknownNameError: a parent, a marker's bone or a coupled dof that does not exist.
        """
        return cls(name, bones, markers, couplings, visuals, masses, home, max_speed)

    def _copy(self, **changes: Any) -> Skeleton:
        """Return the same skeleton, but for some arguments of `build`."""
        own = ("name", "bones", "markers", "couplings", "home", "loops")
        kept = {key: getattr(self, key) for key in own}
        kept |= {"visuals": self._visuals, "masses": self._masses, "max_speed": self._max_speed}
        kept["shapes"] = self._shapes
        return Skeleton(**(kept | changes))

    def _set(self, key: str, value: object) -> None:
        object.__setattr__(self, key, value)

    def __setattr__(self, key: str, value: object) -> None:
        raise AttributeError(f"a Skeleton is immutable; cannot set {key!r} (build another one)")

    def __delattr__(self, key: str) -> None:
        raise AttributeError(f"a Skeleton is immutable; cannot delete {key!r}")

    def __reduce__(self) -> tuple[Any, ...]:
        state = (self.name, self.bones, dict(self.markers), self.couplings, self._visuals)
        masses = self._masses if isinstance(self._masses, LazyMasses) else dict(self._masses)
        tail = (dict(self._max_speed), self._shapes, self.loops)
        return type(self), (*state, masses, self.home, *tail)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Skeleton):
            return NotImplemented
        mine = (self.name, self.bones, dict(self.markers), self.couplings, self.loops)
        yours = (other.name, other.bones, dict(other.markers), other.couplings, other.loops)
        return mine == yours

    def __hash__(self) -> int:
        return hash((self.name, self.bones))

    # --- names and sizes

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
    def bone_names(self) -> tuple[str, ...]:
        """Names of the bones, in order."""
        return tuple(bone.name for bone in self.bones)

    def bone_index(self, bone: str) -> int:
        """Return the index of a bone; raise `UnknownNameError` with near misses."""
        if not isinstance(bone, str) or bone not in self._index:
            is_marker = isinstance(bone, str) and bone in self.markers
            hint = "that is a marker, see MarkerGoal" if is_marker else ""
            raise UnknownNameError("bone", bone, self.bone_names, hint)
        return self._index[bone]

    def find_ancestors(self, bone: str) -> list[int]:
        """Return the index of a bone and of those above it, upwards to the root."""
        path = [self.bone_index(bone)]
        while (parent := int(self.parents[path[-1]])) >= 0:
            path.append(parent)
        return path

    def marker(self, name: str) -> tuple[str, Point]:
        """Return (bone, point in its frame [m]) of a marker, or raise `UnknownNameError`."""
        if not isinstance(name, str) or name not in self.markers:
            raise UnknownNameError("marker", name, self.markers)
        return self.markers[name]

    @cached_property
    def visuals(self) -> Visuals:
        """What the figure looks like: meshes on its bones, skins; read when first asked for.

        Without any it is empty, and so it is where its file cannot be read, which its notes say.
        Parts on bones that the skeleton does not have are left out.
        """
        return self.load_visuals()

    def load_visuals(self, *, for_good: bool = False) -> Visuals:
        """Return `visuals`; skins that are stretched to these bones may be so for good."""
        source = self._visuals.load() if isinstance(self._visuals, LazyVisuals) else self._visuals
        if not source:
            return Visuals() if source is None else source
        shown = source.only_on(self.bone_names)
        return shown.fitted(self.bone_names, self.parents, self.rest_offsets, for_good=for_good)

    @cached_property
    def masses(self) -> Mapping[str, BoneMass]:
        """Masses of the bones that have one, by name; empty where they are not known.

        Those that follow from meshes are worked out when first asked for.
        """
        if not isinstance(self._masses, LazyMasses):
            return self._masses
        found = {bone: mass for bone, mass in self._masses.load().items() if bone in self._index}
        return MappingProxyType(check_masses(found, self._index))

    @cached_property
    def shapes(self) -> Shapes:
        """What its bones collide with: of its file, else fitted to its meshes or its bones.

        Shapes on bones that the skeleton does not have are left out.
        """
        source = self._shapes.load() if isinstance(self._shapes, LazyShapes) else self._shapes
        kept = () if source is None else tuple(s for s in source.shapes if s.bone in self._index)
        if source is not None and (len(kept) > 0 or source.source == "given"):
            return source._replace(shapes=kept)
        fitted = fit_shapes(self.bone_names, self.parents, self.rest_offsets, self.visuals)
        if source is None:
            return fitted
        notes = (*source.notes, *fitted.notes)
        return fitted._replace(left_out=source.left_out, notes=notes)

    @cached_property
    def max_speed(self) -> Array:
        """Largest speed of each dof [rad/s or m/s], (nv,); inf where none is known."""
        return freeze(np.array([self._max_speed.get(dof, np.inf) for dof in self.dof_names]))

    @property
    def masses_note(self) -> str:
        """Why masses are not known although the file implies some, a sentence; empty if not so."""
        return self._masses.note if isinstance(self._masses, LazyMasses) else ""

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
        return self._copy(markers=markers)

    def with_loops(self, loops: Sequence[Loop] | Loop) -> Skeleton:
        """Return the same skeleton with these loops, and no others."""
        return self._copy(loops=(loops,) if isinstance(loops, Loop) else tuple(loops))

    @cached_property
    def opened(self) -> Skeleton:
        """The same skeleton without its loops."""
        return self.with_loops(()) if len(self.loops) > 0 else self

    def with_visuals(self, visuals: Visuals | LazyVisuals | None) -> Skeleton:
        """Return the same skeleton with this look instead of its own; None for no look."""
        return self._copy(visuals=visuals)

    def with_masses(self, masses: Mapping[str, BoneMass] | None) -> Skeleton:
        """Return the same skeleton with these masses instead of its own; None for none."""
        return self._copy(masses=masses)

    def with_total_mass(self, total: float) -> Skeleton:
        """Return the same skeleton with its masses in proportion, and this sum of them [kg].

        Raises:
            ModelError: it has no masses, or the sum is not positive.
        """
        return self._copy(masses=scale_masses(self.masses, total))

    def with_shapes(
        self, shapes: Shapes | LazyShapes | Sequence[CollisionShape] | None
    ) -> Skeleton:
        """Return the same skeleton that collides with these; None for fitted ones."""
        if shapes is not None and not isinstance(shapes, Shapes | LazyShapes):
            shapes = Shapes(tuple(shapes))
            for shape in shapes.shapes:
                self.bone_index(shape.bone or "")
        return self._copy(shapes=shapes)

    def with_max_speed(self, max_speed: Mapping[str, float] | None) -> Skeleton:
        """Return the same skeleton with these largest speeds [rad/s or m/s], by dof, and no others.

        Raises:
            UnknownNameError: a dof that it does not have.
            ModelError: a speed that is not above zero.
        """
        return self._copy(max_speed=max_speed)

    def with_home(self, q: ArrayLike | None) -> Skeleton:
        """Return the same skeleton with another pose to open in, (nq,), moved into the limits."""
        return self._copy(home=None if q is None else self.clip(self.normalised(q)))

    def with_attachments_mapped(self, T_new_old: Mapping[str, Array]) -> Skeleton:
        """Return the same skeleton with what is attached to its bones moved or stretched on them.

        That is centres of mass, meshes and skins, but not markers. Skins that fit themselves to
        the lengths of bones are moved as they are bound, not stretched.

        Args:
            T_new_old: affine maps in the frames of bones, by bone, (4, 4).
        """
        look = self._visuals
        if look is not None:
            look = LazyVisuals(partial(map_visuals, look, T_new_old))
        return self._copy(masses=map_masses(self._masses, T_new_old), visuals=look)

    def with_look_of(self, other: Skeleton) -> Skeleton:
        """Return the same skeleton with the look of another, whose bones have the same names."""
        return self.with_visuals(other._visuals)

    def with_bones(
        self,
        bones: Sequence[Bone],
        markers: Mapping[str, tuple[str, ArrayLike]] | None = None,
        name: str | None = None,
    ) -> Skeleton:
        """Return the same skeleton of other bones, with its couplings, its look and its masses.

        Args:
            bones: with the same names and the same dofs where couplings name them.
            markers: on these bones; None for its own.
            name: of the new skeleton; None for the same.
        """
        markers = dict(self.markers) if markers is None else markers
        name = self.name if name is None else name
        kept = {bone.name for bone in bones}
        masses = self._masses
        if not isinstance(masses, LazyMasses):
            masses = {bone: mass for bone, mass in masses.items() if bone in kept}
        sizes = ([(b.name, b.joint.nq) for b in each] for each in (bones, self.bones))
        home = self.home if next(sizes) == next(sizes) else None
        driven = {coupling.driven for coupling in self.couplings}
        dofs = {f"{b.name}.{dof}" for b in bones for dof in b.joint.dof_names} - driven
        speeds = {dof: speed for dof, speed in self._max_speed.items() if dof in dofs}
        loops = [loop for loop in self.loops if kept.issuperset(loop.bones)]
        changes = {"masses": masses, "home": home, "max_speed": speeds, "loops": loops}
        return self._copy(name=name, bones=bones, markers=markers, **changes)

    # --- motion

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
        fk.forward_kinematics_batch(self.tree, flat, np.zeros(3), scratch[0], scratch[1], R, p, S)
        lead = q.shape[:-1]
        return Pose(self, p[:, 1:].reshape(*lead, n - 1, 3), R[:, 1:].reshape(*lead, n - 1, 3, 3))

    def backpropagate(self, q: ArrayLike, by_position: ArrayLike, by_rotation: ArrayLike) -> Array:
        """Return the gradient of a loss by q, (B, nq), from that by the poses of all bones.

        Args:
            q: coordinates, (B, nq).
            by_position: gradient by `Pose.positions`, (B, n_bones, 3).
            by_rotation: gradient by `Pose.rotations`, (B, n_bones, 3, 3).
        """
        return backpropagate_poses(self, q, by_position, by_rotation)

    def without_couplings(self) -> Skeleton:
        """Return the same figure with all dofs of its joints free: q is `joint_coordinates`."""
        if len(self.couplings) == 0:
            return self
        home = None if self.home is None else self.joint_coordinates(self.home)
        return self._copy(couplings=(), home=home)

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

    # --- printing

    def __repr__(self) -> str:
        counts = f"{len(self.bones)} bones, {self.nv} dofs, {len(self.markers)} markers"
        return f"<Skeleton {self.name!r}: {counts}>"

    def __str__(self) -> str:
        """Return a readable tree, one bone a line."""
        return format_tree(self)

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the figure at rest, and what it is made of."""
        return find("render_card")(self)
