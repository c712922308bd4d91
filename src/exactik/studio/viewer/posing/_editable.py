"""A figure whose pose and settings can be changed; every change can be undone."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from exactik._arrays import freeze, require_shape
from exactik.errors import UnknownNameError, UsageError
from exactik.model import Pose, Skeleton
from exactik.problem import compute_strengths, find_locked_dofs
from exactik.solvers import Method, resolve_method
from exactik.studio.viewer._history import UndoHistory
from exactik.studio.viewer._limits import LimitState, compute_limit_state
from exactik.studio.viewer.posing._goals import TargetFilter, find_moving_bone, solve_bone_frame
from exactik.studio.viewer.posing._handles import Handle, choose_handles
from exactik.studio.viewer.posing._relations import Join, find_support, make_join
from exactik.studio.viewer.posing._robots import choose_first_pose
from exactik.typing import Array


@dataclass(frozen=True, eq=False)
class PosingState:
    """Pose and settings of a figure, as undo restores them; an immutable value.

    Attributes:
        q: the pose, (nq,), read-only.
        handles: by name.
        locked: names of bones or dofs that stay where they are.
        strength: bone or dof → how readily it moves.
        limits: whether limits are kept.
        solver: name of the method.
        joins: handles that stay as they are to each other.
        balanced: whether the centre of mass stays above what stands on the floor.
        apart: whether bodies do not cross each other.
    """

    q: Array
    handles: Mapping[str, Handle]
    locked: tuple[str, ...] = ()
    strength: Mapping[str, float] = field(default_factory=dict)
    limits: bool = True
    solver: str = "auto"
    joins: tuple[Join, ...] = ()
    balanced: bool = False
    apart: bool = False

    def __post_init__(self) -> None:
        """Keep read-only copies."""
        object.__setattr__(self, "q", freeze(np.array(self.q, dtype=float)))
        for name in ("handles", "strength"):
            mapping = getattr(self, name)
            if not isinstance(mapping, MappingProxyType):  # else a copy already: updates are many
                object.__setattr__(self, name, MappingProxyType(dict(mapping)))


class EditableFigure:
    """A figure, its handles and settings; see `PosingSession`.

    Attributes:
        skeleton: the figure.
        floor: height of what it stands on [m].
    """

    def __init__(self, skeleton: Skeleton, q: ArrayLike | None, solver: str | Method, glide: float):
        """Begin with the pose q, (nq,), moved into the limits; see `choose_first_pose` if None."""
        if not isinstance(skeleton, Skeleton):
            raise UsageError(f"a session needs a Skeleton, not {type(skeleton).__name__}")
        self.skeleton, self.floor = skeleton, 0.0
        first = choose_first_pose(skeleton) if q is None else skeleton.clip(skeleton.normalised(q))
        handles = choose_handles(skeleton, first)
        self._state = PosingState(first, handles, solver=resolve_method(solver).name)
        self._initial = self._state
        self._methods = {self._state.solver: resolve_method(solver)}
        self._lock = threading.RLock()
        self._history: UndoHistory[PosingState] = UndoHistory()
        self._target_filter = TargetFilter(glide)
        self._dragged: set[str] = set()
        self._rest = self._state.q  # the pose where the drag began
        self._support: Array | None = None  # what the figure stands on, if it keeps its balance

    # --- state

    @property
    def state(self) -> PosingState:
        """Everything that undo restores."""
        return self._state

    @property
    def q(self) -> Array:
        """The pose, (nq,), a copy."""
        return self._state.q.copy()

    @property
    def handles(self) -> Mapping[str, Handle]:
        """Handles by name."""
        return self._state.handles

    @property
    def dragged(self) -> frozenset[str]:
        """Names of the handles that are being dragged."""
        return frozenset(self._dragged)

    @property
    def glide(self) -> float:
        """Time constant with which targets are followed [s]; 0 to follow at once."""
        return self._target_filter.seconds

    @glide.setter
    def glide(self, seconds: float) -> None:
        self._target_filter.seconds = max(float(seconds), 0.0)

    def pose(self) -> Pose:
        """Return the pose of all bones."""
        return self.skeleton.forward(self._state.q)

    def limits(self) -> LimitState:
        """Return how near every dof is to its limits."""
        return compute_limit_state(self.skeleton, self._state.q, self._initial.q)

    # --- settings

    def pin(self, name: str, pinned: bool = True, *, oriented: bool | None = None) -> None:
        """Hold a handle where it is now while others are dragged, or set it free.

        Args:
            name: of the handle.
            pinned: whether to hold it.
            oriented: whether its rotation is held, and dragged, as well; None to leave that.
        """
        with self._lock:
            handle = self._handle(name)
            self._record()
            oriented = handle.oriented if oriented is None else oriented
            self._put(replace(handle, pinned=pinned, oriented=oriented))
            if name not in self._dragged:
                self._reset_targets(name)
            self._on_change()

    def join(self, first: str, second: str, joined: bool = True) -> None:
        """Hold two handles as they are to each other while others are dragged, or let them go.

        Whichever of them is dragged takes the other along. Angles that are set move them apart.
        """
        with self._lock:
            one, other = self._handle(first), self._handle(second)
            if first == second:
                raise UsageError(f"handle {first!r} cannot be joined to itself; expected two")
            joins = [j for j in self._state.joins if j.pair != {first, second}]
            if joined:
                joins.append(make_join(self.pose(), one, other))
            self._set(None, joins=tuple(joins))

    def keep_balance(self, keep: bool = True) -> None:
        """Keep the centre of mass above what stands on the floor, or stop to."""
        if keep and len(self.skeleton.masses) == 0:
            raise UsageError(f"the masses of {self.skeleton.name!r} are not known")
        with self._lock:
            self._set(None, balanced=bool(keep))
            self._find_support()

    def keep_apart(self, keep: bool = True) -> None:
        """Keep bodies from crossing each other, see `exactik.goals.Collisions`, or stop to."""
        with self._lock:
            self._set(None, apart=bool(keep))

    def weigh(self, name: str, weight: float) -> None:
        """Set how much a handle counts beside others, 1 by default."""
        if not 0.0 < weight < np.inf:
            raise UsageError(f"weight of {name!r} is {weight}; it must be positive and finite")
        with self._lock:
            handle = self._handle(name)
            self._set(("weight", name), handles={name: replace(handle, weight=float(weight))})

    def lock(self, name: str, locked: bool = True) -> None:
        """Lock a bone, a dof or a pattern ("spine*") where it is, or set it free again."""
        with self._lock:
            names = tuple(other for other in self._state.locked if other != name)
            names = (*names, name) if locked else names
            find_locked_dofs(self.skeleton, names)  # raises for what does not exist
            self._set(None, locked=names)

    def strengthen(self, name: str, strength: float) -> None:
        """Set how readily a bone, a dof or a pattern moves: 0.2 for a fifth of the others."""
        with self._lock:
            strengths = {**self._state.strength, name: float(strength)}
            compute_strengths(self.skeleton, strengths)  # raises for what does not exist
            self._set(("strength", name), strength=strengths)

    def keep_limits(self, keep: bool = True) -> None:
        """Keep the limits, or do without them; a pose outside is moved inside when they are on."""
        with self._lock:
            q = self.skeleton.clip(self._state.q) if keep else self._state.q
            self._set(None, limits=bool(keep), q=q)

    def choose(self, solver: str | Method) -> None:
        """Pose with another solver: a name of `list_solvers()`, or a method with options."""
        method = resolve_method(solver)
        with self._lock:
            self._methods[method.name] = method
            self._set(None, solver=method.name)

    # --- the pose itself

    def set_dof(self, name: str, value: float) -> None:
        """Set one dof [rad or m], as a slider does; kept inside its limits where they are on.

        Pinned handles move along: setting an angle means that angle.
        """
        with self._lock:
            names = self.skeleton.dof_names
            if name not in names:
                raise UnknownNameError("dof", name, names)
            i = names.index(name)
            if self.skeleton.plain_q[i] < 0:
                raise UsageError(f"dof {name!r} turns a quaternion, which no single number sets")
            low, high = self.skeleton.lower[i], self.skeleton.upper[i]
            q = self._state.q.copy()
            number = float(require_shape("value", value))
            number = float(np.clip(number, low, high)) if self._state.limits else number
            q[self.skeleton.plain_q[i]] = number
            self._take(("dof", name), q)

    def turn_bone(self, bone: str, rotation: ArrayLike, position: ArrayLike | None = None) -> None:
        """Turn a bone by its own joint alone, as far as that and its limits allow.

        Bones below it, and pinned handles, move along. Successive turns of a bone are one step of
        undo until `release`.

        Args:
            bone: its name; one whose joint cannot move turns the nearest above that can.
            rotation: R_world_bone, (3, 3).
            position: of its origin [m, world], (3,), where its joint shifts; None to leave it.
        """
        with self._lock:
            moving = find_moving_bone(self.skeleton, bone)
            if moving is None:
                raise UsageError(f"bone {bone!r} cannot be turned: no joint above it moves")
            R_world_bone = require_shape("rotation", rotation, 3, 3)
            place = None if position is None else require_shape("position", position, 3)
            if moving != bone:
                pose = self.pose()
                k, j = self.skeleton.bone_index(bone), self.skeleton.bone_index(moving)
                R_world_bone = R_world_bone @ pose.rotations[k].T @ pose.rotations[j]
                place = None
            q = solve_bone_frame(
                self.skeleton, self._state.q, moving, R_world_bone, place, limits=self._state.limits
            )
            self._take(("turn", moving), q)

    def set_pose(self, q: ArrayLike, step: Hashable = None) -> None:
        """Take the pose q, (nq,), moved into the limits where they are on.

        Successive calls with the same `step` are one step of undo; None for one of its own.
        """
        with self._lock:
            pose = self.skeleton.normalised(require_shape("q", q, self.skeleton.nq))
            self._take(step, self.skeleton.clip(pose) if self._state.limits else pose)

    def reset(self) -> None:
        """Go back to the first pose, handles and settings; that can be undone."""
        with self._lock:
            self._record()
            self._restore(self._initial)

    def on_step(self, listener: Callable[[], None]) -> None:
        """Call a function whenever a step of undo begins."""
        self._history.on_step = listener

    def undo(self) -> bool:
        """Undo the last step; return whether there was one."""
        with self._lock:
            undone = self._history.undo_count > 0
            self._restore(self._history.undo(self._state_without_grabs()))
            return undone

    def redo(self) -> bool:
        """Redo the step undone last; return whether there was one."""
        with self._lock:
            redone = self._history.redo_count > 0
            self._restore(self._history.redo(self._state_without_grabs()))
            return redone

    # --- private; the lock is held

    def _handle(self, name: str) -> Handle:
        if name not in self._state.handles:
            raise UnknownNameError("handle", name, self._state.handles)
        return self._state.handles[name]

    def _put(self, *handles: Handle) -> None:
        new = {handle.name: handle for handle in handles}
        self._state = replace(self._state, handles={**self._state.handles, **new})

    def _reset_targets(self, *names: str) -> None:
        """Set the targets of handles to where the handles are."""
        pose = self.pose()
        for name in names:
            handle = self._handle(name)
            rotation = pose.rotations[self.skeleton.bone_index(handle.bone)].copy()
            position = pose.point(handle.bone, handle.point)
            handle = replace(handle, position=freeze(position), rotation=freeze(rotation))
            self._put(handle)
            self._target_filter.reset(handle)

    def _reset_all_targets(self) -> None:
        self._rest = self._state.q
        self._reset_targets(*(name for name in self._state.handles if name not in self._dragged))

    def _take(self, step: Hashable, q: Array) -> None:
        """Take a pose, (nq,), with pins and joins as they are in it."""
        self._set(step, q=q)
        self._reset_all_targets()
        pose, handles = self.pose(), self._state.handles
        joins = [make_join(pose, handles[j.first], handles[j.second]) for j in self._state.joins]
        self._state = replace(self._state, joins=tuple(joins))
        self._find_support()

    def _find_support(self) -> None:
        """Find what the figure stands on now; what is dragged supports nothing."""
        self._support = None
        if self._state.balanced:
            moving = {self._state.handles[name].bone for name in self._dragged}
            roots = {bone.name for bone in self.skeleton.bones if bone.parent is None}
            self._support = find_support(self.pose(), self.floor, moving - roots)

    def _record(self, key: Hashable = None) -> None:
        self._history.record(self._state_without_grabs(), key)

    def _state_without_grabs(self) -> PosingState:
        """Return the state without grab handles, which exist only while they are dragged."""
        handles = {k: h for k, h in self._state.handles.items() if h.kind != "grab"}
        return replace(self._state, handles=handles)

    def _set(
        self, step: Hashable, handles: Mapping[str, Handle] | None = None, **changes: Any
    ) -> None:
        """Change the state, as part of a step of undo; None for a step of its own."""
        self._record(step)
        if handles is not None:
            changes["handles"] = {**self._state.handles, **handles}
        self._state = replace(self._state, **changes)
        self._on_change()

    def _restore(self, state: PosingState) -> None:
        """Make a state the present one; all drags end."""
        self._dragged.clear()
        self._state, self._rest = state, state.q
        self._find_support()
        for handle in state.handles.values():
            self._target_filter.reset(handle)
        self._on_change()

    def _on_change(self) -> None:
        """Notify that goals or settings changed."""
        raise NotImplementedError
