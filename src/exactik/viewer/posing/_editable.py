"""A figure whose pose and settings can be changed, every change with its way back."""

from __future__ import annotations

import threading
from collections.abc import Hashable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from exactik._arrays import freeze, require_shape
from exactik.errors import ModelError, UnknownNameError
from exactik.model import Pose, Skeleton
from exactik.problem import compute_strengths, find_locked_dofs
from exactik.solvers import Method, resolve_method
from exactik.typing import Array
from exactik.viewer.posing._target_filter import TargetFilter
from exactik.viewer.posing._handles import Handle, choose_handles
from exactik.viewer._history import UndoHistory
from exactik.viewer._limits import LimitState, compute_limit_state
from exactik.viewer.posing._state import PosingState

__all__ = ["EditableFigure"]


class EditableFigure:
    """A figure, its handles and settings; see `PosingSession`.

    Attributes:
        skeleton: the figure.
    """

    def __init__(self, skeleton: Skeleton, q: ArrayLike | None, solver: str | Method, glide: float):
        """Begin with the pose q, (nq,), moved into the limits; the neutral one if None."""
        if not isinstance(skeleton, Skeleton):
            raise ModelError(f"a session needs a Skeleton, not {type(skeleton).__name__}")
        self.skeleton = skeleton
        first = skeleton.neutral() if q is None else skeleton.clip(skeleton.normalised(q))
        handles = choose_handles(skeleton, first)
        self._state = PosingState(first, handles, solver=resolve_method(solver).name)
        self._first = self._state
        self._methods = {self._state.solver: resolve_method(solver)}
        self._lock = threading.RLock()
        self._undo: UndoHistory[PosingState] = UndoHistory()
        self._glide = TargetFilter(glide)
        self._dragged: set[str] = set()
        self._start = self._state.q  # the pose where the drag began

    # --- what there is

    @property
    def state(self) -> PosingState:
        """Everything that undo brings back."""
        return self._state

    @property
    def q(self) -> Array:
        """The pose, (nq,), a copy."""
        return self._state.q.copy()

    @property
    def handles(self) -> Mapping[str, Handle]:
        """Places to take hold of, by name."""
        return self._state.handles

    @property
    def dragged(self) -> frozenset[str]:
        """Names of the handles that are held now."""
        return frozenset(self._dragged)

    @property
    def glide(self) -> float:
        """Time constant with which targets are followed [s]; 0 to follow at once."""
        return self._glide.seconds

    @glide.setter
    def glide(self, seconds: float) -> None:
        self._glide.seconds = max(float(seconds), 0.0)

    def pose(self) -> Pose:
        """Return the pose of all bones."""
        return self.skeleton.forward(self._state.q)

    def limits(self) -> LimitState:
        """Return how near every dof is to its limits."""
        return compute_limit_state(self.skeleton, self._state.q)

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
            turns = handle.oriented if oriented is None else oriented
            self._remember()
            self._put(replace(handle, pinned=pinned, oriented=turns))
            if name not in self._dragged:
                self._place(name)
            self._changed()

    def weigh(self, name: str, weight: float) -> None:
        """Set how much a handle counts beside others, 1 by default."""
        if not 0.0 < weight < np.inf:
            raise ModelError(f"weight of {name!r} is {weight}; it must be positive and finite")
        with self._lock:
            handle = self._handle(name)
            self._set(("weight", name), handles={name: replace(handle, weight=float(weight))})

    def lock(self, name: str, locked: bool = True) -> None:
        """Lock a bone, a dof or a pattern ("spine*") where it is, or set it free again."""
        with self._lock:
            others = tuple(one for one in self._state.locked if one != name)
            wanted = (*others, name) if locked else others
            find_locked_dofs(self.skeleton, wanted)  # raises for what does not exist
            self._set(None, locked=wanted)

    def strengthen(self, name: str, strength: float) -> None:
        """Set how readily a bone, a dof or a pattern moves: 0.2 for a fifth of the others."""
        with self._lock:
            wanted = {**self._state.strength, name: float(strength)}
            compute_strengths(self.skeleton, wanted)
            self._set(("strength", name), strength=wanted)

    def keep_limits(self, keep: bool = True) -> None:
        """Keep the limits, or do without them; a pose outside is moved inside when they are on."""
        with self._lock:
            q = self.skeleton.clip(self._state.q) if keep else self._state.q
            self._set(None, limits=bool(keep), q=q)

    def choose(self, solver: str | Method) -> None:
        """Pose with another solver: a name of `exactik.solvers()`, or a method with options."""
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
                raise ModelError(f"dof {name!r} turns a quaternion, which no single number sets")
            low, high = self.skeleton.lower[i], self.skeleton.upper[i]
            q = self._state.q.copy()
            number = float(require_shape("value", value))
            q[self.skeleton.plain_q[i]] = (
                np.clip(number, low, high) if self._state.limits else number
            )
            self._set(("dof", name), q=q)
            self._place_all()

    def set_pose(self, q: ArrayLike) -> None:
        """Take the pose q, (nq,), moved into the limits where they are on."""
        with self._lock:
            own = self.skeleton.normalised(require_shape("q", q, self.skeleton.nq))
            self._set(None, q=self.skeleton.clip(own) if self._state.limits else own)
            self._place_all()

    def reset(self) -> None:
        """Go back to the first pose, handles and settings; that can be undone."""
        with self._lock:
            self._remember()
            self._take(self._first)

    def undo(self) -> bool:
        """Take back the last step; return whether there was one."""
        with self._lock:
            there = self._undo.undo_count > 0
            self._take(self._undo.undo(self._settled_state()))
            return there

    def redo(self) -> bool:
        """Do again what was taken back last; return whether there was anything."""
        with self._lock:
            there = self._undo.redo_count > 0
            self._take(self._undo.redo(self._settled_state()))
            return there

    # --- inside; the lock is held

    def _handle(self, name: str) -> Handle:
        if name not in self._state.handles:
            raise UnknownNameError("handle", name, self._state.handles)
        return self._state.handles[name]

    def _put(self, *handles: Handle) -> None:
        new = {handle.name: handle for handle in handles}
        self._state = replace(self._state, handles={**self._state.handles, **new})

    def _place(self, *names: str) -> None:
        """Move targets of handles to where the handles are."""
        pose = self.pose()
        for name in names:
            handle = self._handle(name)
            turn = pose.rotations[self.skeleton.bone_index(handle.bone)].copy()
            place = pose.point(handle.bone, handle.point)
            handle = replace(handle, position=freeze(place), rotation=freeze(turn))
            self._put(handle)
            self._glide.start(handle)

    def _place_all(self) -> None:
        self._start = self._state.q
        self._place(*(name for name in self._state.handles if name not in self._dragged))

    def _remember(self, key: Hashable = None) -> None:
        self._undo.remember(self._settled_state(), key)

    def _settled_state(self) -> PosingState:
        """The state without what is held at this moment."""
        grabs = {k: h for k, h in self._state.handles.items() if h.kind != "grab"}
        return replace(self._state, handles=grabs)

    def _set(self, key: Hashable, handles: Mapping[str, Handle] | None = None, **new: Any) -> None:
        self._remember(key)
        if handles is not None:
            new["handles"] = {**self._state.handles, **handles}
        self._state = replace(self._state, **new)
        self._changed()

    def _take(self, state: PosingState) -> None:
        """Make a state the present one; whatever is held is let go."""
        self._dragged.clear()
        self._state, self._start = state, state.q
        for handle in state.handles.values():
            self._glide.start(handle)
        self._changed()

    def _changed(self) -> None:
        """Be told that goals or settings are others."""
        raise NotImplementedError
