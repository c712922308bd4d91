"""Key frames: poses at times, the motion through them, locks on the way, a library of poses."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from exactik._arrays import freeze, require_shape
from exactik.errors import UnknownNameError, UsageError
from exactik.io import find_format, save_skeleton
from exactik.model import Skeleton
from exactik.model.motion import Motion
from exactik.studio.viewer._history import UndoHistory
from exactik.studio.viewer.keyframes._constraints import (
    Key,
    PinConstraint,
    interpolate_constraints,
    make_constraints,
    solve_constrained_pose,
)
from exactik.studio.viewer.keyframes._file import read_project, write_project
from exactik.studio.viewer.keyframes._interpolation import PoseInterpolator
from exactik.studio.viewer.keyframes._locks import SAME_TIME_S, BoneLock, SolvedKeys, solve_keys
from exactik.studio.viewer.keyframes._mirror import Mirror
from exactik.typing import Array

if TYPE_CHECKING:
    from exactik.studio.viewer.posing import Handle, PosingSession


PathLike = str | os.PathLike[str]


@dataclass(frozen=True, eq=False)
class KeyframesState:
    """Keys, locks and the library, as undo restores them; an immutable value.

    Attributes:
        keys: in the order of their times.
        locks: bones that stay where they are over time.
        poses: the library: name → pose, (nq,), read-only.
    """

    keys: tuple[Key, ...] = ()
    locks: tuple[BoneLock, ...] = ()
    poses: Mapping[str, Array] = field(default_factory=dict)


class Keyframes:
    """Poses of a figure at times; every change can be undone.

    What two neighbouring keys both pin (a foot on the floor) stays there in all poses between, and
    a locked bone from the first key of its lock to the last.

    Attributes:
        skeleton: the figure.
        smooth: whether poses follow cubic curves; else straight lines.
        keep_limits: whether poses between keys keep the limits where they are solved for.
    """

    def __init__(self, skeleton: Skeleton, keys: tuple[Key, ...] = (), *, smooth: bool = True):
        """Begin with these keys."""
        self.skeleton, self.smooth, self.keep_limits = skeleton, smooth, True
        self._interpolator = PoseInterpolator(skeleton)
        self._state = KeyframesState(keys=tuple(sorted(keys, key=lambda key: key.time)))
        self._history: UndoHistory[KeyframesState] = UndoHistory()
        self._lock = threading.RLock()
        self._solved: tuple[KeyframesState, bool, SolvedKeys] | None = None
        self._mirror: Mirror | None = None

    # --- keys

    @property
    def keys(self) -> tuple[Key, ...]:
        """The keys in the order of their times."""
        return self._state.keys

    @property
    def locks(self) -> tuple[BoneLock, ...]:
        """Bones that stay where they are over time."""
        return self._state.locks

    @property
    def poses(self) -> Mapping[str, Array]:
        """The library of poses: name → pose, (nq,)."""
        return MappingProxyType(dict(self._state.poses))

    @property
    def state(self) -> KeyframesState:
        """Everything that undo restores."""
        return self._state

    @property
    def times(self) -> Array:
        """Times of the keys [s], (n,)."""
        return np.array([key.time for key in self.keys])

    def __len__(self) -> int:
        return len(self.keys)

    def __repr__(self) -> str:
        span = f" from {self.keys[0].time:g} to {self.keys[-1].time:g} s" if self.keys else ""
        return f"<Keyframes of {self.skeleton.name!r}: {len(self)} keys{span}>"

    # --- changes

    def add(
        self, time: float, q: ArrayLike, holds: Mapping[str, PinConstraint] | None = None
    ) -> Key:
        """Add a key, in place of one at the same time.

        Args:
            time: [s].
            q: the pose, (nq,).
            holds: constraints there, by name.
        """
        pose = self.skeleton.normalised(require_shape("q", q, self.skeleton.nq))
        key = Key(float(require_shape("time", time)), pose, dict(holds or {}))
        with self._lock:
            self._set(keys=(*self._keys_except(key.time), key))
        return key

    def add_from(self, session: PosingSession, time: float) -> Key:
        """Add the pose of a session, with its pinned handles as constraints."""
        state = session.state
        return self.add(time, state.q, self.holds(state.q, state.handles))

    def holds(self, q: ArrayLike, handles: Mapping[str, Handle]) -> dict[str, PinConstraint]:
        """Return constraints of the pinned handles as they are in the pose q, (nq,)."""
        return make_constraints(self.skeleton, require_shape("q", q, self.skeleton.nq), handles)

    def move(self, time: float, to: float) -> None:
        """Move the key at a time to another [s]; a key that is there already is replaced.

        Locks that begin or end at the key move along. Successive moves of a key are one step of
        undo until `end_step`.
        """
        with self._lock:
            key, new_time = self._find_key(time), float(require_shape("to", to))
            others = [k for k in self._keys_except(new_time) if k is not key]
            locks = tuple(_move_ends(lock, key.time, new_time) for lock in self.locks)
            moved = Key(new_time, key.q, key.holds)
            kept = tuple(lock for lock in locks if lock.last - lock.first > SAME_TIME_S)
            self._set(("move", id(key.q)), keys=(*others, moved), locks=kept)

    def end_step(self) -> None:
        """End a step of undo: the next move begins another one."""
        self._history.end_step()

    def delete(self, time: float) -> None:
        """Remove the key at a time [s]."""
        with self._lock:
            key = self._find_key(time)
            self._set(keys=tuple(k for k in self.keys if k is not key))

    def mirror(self, time: float, *, in_place: bool = False) -> Key:
        """Mirror the key at a time [s]: left and right are exchanged, and what it pins.

        Args:
            time: of the key.
            in_place: about the root's own heading, see `mirrored`.
        """
        with self._lock:
            key = self._find_key(time)
            q = self.mirrored(key.q, in_place=in_place)
            holds = self._get_mirror().constraints(q, key.holds)
            mirrored = Key(key.time, q, holds)
            self._set(keys=tuple(mirrored if k is key else k for k in self.keys))
        return mirrored

    def mirrored(self, q: ArrayLike, *, in_place: bool = False) -> Array:
        """Return the mirror image of a pose, (nq,); see `Mirror`.

        Args:
            q: the pose, (nq,).
            in_place: mirror at the upright plane through the root along its heading; else at the
                plane of symmetry of the neutral figure.
        """
        pose = self.skeleton.normalised(require_shape("q", q, self.skeleton.nq))
        return self._get_mirror().pose(pose, in_place=in_place)

    # --- locks over time

    def lock(
        self,
        bone: str,
        first: float,
        last: float,
        *,
        point: ArrayLike = (0.0, 0.0, 0.0),
        oriented: bool = True,
    ) -> BoneLock:
        """Hold a bone where the first key has it, until the last; in place of locks it overlaps.

        Args:
            bone: its name.
            first: time of a key [s].
            last: time of a later key [s].
            point: of the bone that stays [m, bone], (3,).
            oriented: whether its rotation stays as well.
        """
        with self._lock:
            self.skeleton.bone_index(bone)
            start, end = (self._find_key(time).time for time in (first, last))
            if end - start <= SAME_TIME_S:
                raise UsageError(f"a lock ends after it begins, not from {start:g} to {end:g} s")
            x, y, z = require_shape("point", point, 3).tolist()
            lock = BoneLock(bone, start, end, (x, y, z), oriented)
            others = [o for o in self.locks if o.bone != bone or o.last <= start or o.first >= end]
            self._set(locks=(*others, lock))
        return lock

    def unlock(self, bone: str, time: float) -> bool:
        """Remove the lock of a bone at a time [s]; return whether there was one."""
        with self._lock:
            kept = tuple(o for o in self.locks if o.bone != bone or not o.first <= time <= o.last)
            if len(kept) == len(self.locks):
                return False
            self._set(locks=kept)
            return True

    # --- library of poses

    def save_pose(self, name: str, q: ArrayLike) -> None:
        """Keep a pose, (nq,), in the library by a name, in place of one of the same name."""
        if name.strip() == "":
            raise UsageError("a pose in the library needs a name")
        pose = self.skeleton.normalised(require_shape("q", q, self.skeleton.nq))
        with self._lock:
            self._set(poses={**self._state.poses, name.strip(): freeze(pose.copy())})

    def delete_pose(self, name: str) -> None:
        """Remove a pose from the library."""
        with self._lock:
            if name not in self._state.poses:
                raise UnknownNameError("pose", name, self._state.poses)
            self._set(poses={k: q for k, q in self._state.poses.items() if k != name})

    def replace(self, other: Keyframes) -> None:
        """Take over the keys of others of the same figure; that can be undone."""
        with self._lock:
            self._set(keys=other.keys, locks=other.locks, poses=dict(other.poses))
            self.smooth = other.smooth

    def on_step(self, listener: Callable[[], None]) -> None:
        """Call a function whenever a step of undo begins."""
        self._history.on_step = listener

    def undo(self) -> bool:
        """Undo the last change; return whether there was one."""
        with self._lock:
            undone = self._history.undo_count > 0
            self._state = self._history.undo(self._state)
            return undone

    def redo(self) -> bool:
        """Redo the change undone last; return whether there was one."""
        with self._lock:
            redone = self._history.redo_count > 0
            self._state = self._history.redo(self._state)
            return redone

    # --- motion

    def tween(self, times: ArrayLike) -> Array:
        """Return the poses at times [s], (m,) → (m, nq).

        Before the first key and after the last the pose stays. A pose at a key is the key's, to the
        last bit, unless a lock holds a bone elsewhere.
        """
        solved = self.solved_keys()
        keys = solved.keys
        if len(keys) == 0:
            raise UsageError("there are no keys yet; add one first")
        query = np.atleast_1d(require_shape("times", np.atleast_1d(times), -1))
        key_times = np.array([key.time for key in keys])
        key_poses = np.array([key.q for key in keys])
        poses = self._interpolator.interpolate(key_times, key_poses, query, self.smooth)
        for n, time in enumerate(query.tolist()):
            k = int(np.searchsorted(key_times, time, side="right")) - 1
            if not 0 <= k < len(keys) - 1 or time == key_times[k]:
                continue
            share = (time - key_times[k]) / (key_times[k + 1] - key_times[k])
            constraints = interpolate_constraints(keys[k], keys[k + 1], share)
            locked = solved.held[k]
            constraints = {name: pin for name, pin in constraints.items() if pin.bone not in locked}
            constraints |= {f"lock {bone}": pin for bone, pin in locked.items()}
            if len(constraints) > 0:
                poses[n] = solve_constrained_pose(
                    self.skeleton, poses[n], constraints, self.keep_limits
                )
        return poses

    def solved_keys(self) -> SolvedKeys:
        """Return the keys with the poses that the locks ask for, and what holds between them."""
        state, limits = self._state, self.keep_limits
        if self._solved is None or self._solved[:2] != (state, limits):
            keys = solve_keys(self.skeleton, state.keys, state.locks, limits)
            self._solved = state, limits, keys
        return self._solved[2]

    def bake(self, rate: float = 60.0) -> Motion:
        """Return the motion from the first key to the last, with so many frames a second [Hz]."""
        if len(self.keys) == 0:
            raise UsageError("there are no keys to make a motion of; add one first")
        first, last = self.keys[0].time, self.keys[-1].time
        count = round((last - first) * rate) + 1
        times = first + np.arange(count) / rate
        frame, key = np.nonzero(np.abs(times[:, None] - self.times[None]) < SAME_TIME_S)
        times[frame] = self.times[key]  # in spite of rounding
        return Motion(self.skeleton, self.tween(np.minimum(times, last)), rate, up_axis="z")

    # --- files

    def save(
        self, path: PathLike, *, rate: float = 60.0, desk: Mapping[str, Any] | None = None
    ) -> None:
        """Write keys, locks and library to .json, or the motion to .npz, .bvh, .amc, .glb, others.

        An .amc needs its skeleton to be read again: that goes to an .asf of the same name.

        Args:
            path: of the file; its ending says what it is.
            rate: frames a second of a motion [Hz].
            desk: what is kept beside the keys in a .json, which `load` does not look at.
        """
        stem, ending = os.path.splitext(os.fspath(path))
        if ending.lower() == ".json":
            write_project(path, self.skeleton, self._state, self.smooth, desk)
            return
        self.bake(rate).save(path)
        form = find_format(path)
        if form is not None and form.companion != "":
            save_skeleton(self.skeleton, stem + form.companion)

    @classmethod
    def load(cls, path: PathLike, skeleton: Skeleton) -> Keyframes:
        """Return keys, locks and library of a .json file that `save` wrote, for the same figure."""
        project = read_project(path, skeleton)
        loaded = cls(skeleton, project.keys, smooth=project.smooth)
        loaded._state = replace(loaded._state, locks=project.locks, poses=project.poses)
        return loaded

    # --- private; the lock is held

    def _get_mirror(self) -> Mirror:
        if self._mirror is None:
            self._mirror = Mirror(self.skeleton)
        return self._mirror

    def _find_key(self, time: float) -> Key:
        for key in self.keys:
            if abs(key.time - time) < SAME_TIME_S:
                return key
        shown = ", ".join(f"{key.time:g}" for key in self.keys) or "none"
        raise UsageError(f"there is no key at {time:g} s (there are keys at: {shown})")

    def _keys_except(self, time: float) -> list[Key]:
        return [key for key in self.keys if abs(key.time - time) >= SAME_TIME_S]

    def _set(self, step: Hashable = None, **changes: Any) -> None:
        self._history.record(self._state, step)
        if "keys" in changes:
            changes["keys"] = tuple(sorted(changes["keys"], key=lambda key: key.time))
        self._state = replace(self._state, **changes)


def _move_ends(lock: BoneLock, time: float, to: float) -> BoneLock:
    """Return a lock whose ends at a time are at another."""
    first = to if abs(lock.first - time) < SAME_TIME_S else lock.first
    last = to if abs(lock.last - time) < SAME_TIME_S else lock.last
    return replace(lock, first=first, last=last)
