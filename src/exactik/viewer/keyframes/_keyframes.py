"""Key frames: poses at times, the motion through them, and constraints on the way."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Hashable, Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from exactik._arrays import require_shape
from exactik.errors import UsageError
from exactik.io import find_format, save_skeleton
from exactik.model import Skeleton
from exactik.motion import Motion
from exactik.typing import Array
from exactik.viewer._history import UndoHistory
from exactik.viewer.keyframes._constraints import (
    Key,
    PinConstraint,
    interpolate_constraints,
    make_constraints,
    solve_constrained_pose,
)
from exactik.viewer.keyframes._file import read_keys, write_keys
from exactik.viewer.keyframes._interpolation import PoseInterpolator

if TYPE_CHECKING:
    from exactik.viewer.posing import Handle, PosingSession

__all__ = ["Keyframes"]

PathLike = str | os.PathLike[str]

SAME_TIME_S = 1e-6  # keys that are nearer to each other are one


class Keyframes:
    """Poses of a figure at times; every change can be undone.

    What two neighbouring keys both pin (a foot on the floor) stays there in all poses between.

    Attributes:
        skeleton: the figure.
        smooth: whether poses follow cubic curves; else straight lines.
        keep_limits: whether poses between keys keep the limits where they are solved for.
    """

    def __init__(self, skeleton: Skeleton, keys: tuple[Key, ...] = (), *, smooth: bool = True):
        """Begin with these keys."""
        self.skeleton, self.smooth, self.keep_limits = skeleton, smooth, True
        self._interpolator = PoseInterpolator(skeleton)
        self._keys = tuple(sorted(keys, key=lambda key: key.time))
        self._history: UndoHistory[tuple[Key, ...]] = UndoHistory()
        self._lock = threading.RLock()

    # --- keys

    @property
    def keys(self) -> tuple[Key, ...]:
        """The keys in the order of their times."""
        return self._keys

    @property
    def times(self) -> Array:
        """Times of the keys [s], (n,)."""
        return np.array([key.time for key in self._keys])

    def __len__(self) -> int:
        return len(self._keys)

    def __repr__(self) -> str:
        span = f" from {self._keys[0].time:g} to {self._keys[-1].time:g} s" if self._keys else ""
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
            self._set((*self._keys_except(key.time), key))
        return key

    def add_from(self, session: PosingSession, time: float) -> Key:
        """Add the pose of a session, with its pinned handles as constraints."""
        state = session.state
        return self.add(time, state.q, self.holds(state.q, state.handles))

    def holds(self, q: ArrayLike, handles: Mapping[str, Handle]) -> dict[str, PinConstraint]:
        """Return constraints of the pinned handles as they are in the pose q, (nq,)."""
        return make_constraints(self.skeleton, require_shape("q", q, self.skeleton.nq), handles)

    def move(self, time: float, to: float) -> None:
        """Move the key at a time to another [s]; a key that is there already is replaced."""
        with self._lock:
            key, new_time = self._find_key(time), float(require_shape("to", to))
            others = [k for k in self._keys_except(new_time) if k is not key]
            self._set((*others, Key(new_time, key.q, key.holds)), ("move", id(key.q)))

    def delete(self, time: float) -> None:
        """Remove the key at a time [s]."""
        with self._lock:
            key = self._find_key(time)
            self._set(tuple(k for k in self._keys if k is not key))

    def replace(self, other: Keyframes) -> None:
        """Take over the keys of others of the same figure; that can be undone."""
        with self._lock:
            self._set(other.keys)
            self.smooth = other.smooth

    def on_step(self, listener: Callable[[], None]) -> None:
        """Call a function whenever a step of undo begins."""
        self._history.on_step = listener

    def undo(self) -> bool:
        """Undo the last change; return whether there was one."""
        with self._lock:
            undone = self._history.undo_count > 0
            self._keys = self._history.undo(self._keys)
            return undone

    def redo(self) -> bool:
        """Redo the change undone last; return whether there was one."""
        with self._lock:
            redone = self._history.redo_count > 0
            self._keys = self._history.redo(self._keys)
            return redone

    # --- motion

    def tween(self, times: ArrayLike) -> Array:
        """Return the poses at times [s], (m,) → (m, nq).

        Before the first key and after the last the pose stays. A pose at a key is the key's, to the
        last bit.
        """
        keys = self._keys
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
            if len(constraints) > 0:
                poses[n] = solve_constrained_pose(
                    self.skeleton, poses[n], constraints, self.keep_limits
                )
        return poses

    def bake(self, rate: float = 60.0) -> Motion:
        """Return the motion from the first key to the last, with so many frames a second [Hz]."""
        if len(self._keys) == 0:
            raise UsageError("there are no keys to make a motion of; add one first")
        first, last = self._keys[0].time, self._keys[-1].time
        count = round((last - first) * rate) + 1
        times = first + np.arange(count) / rate
        frame, key = np.nonzero(np.abs(times[:, None] - self.times[None]) < SAME_TIME_S)
        times[frame] = self.times[key]  # in spite of rounding
        return Motion(self.skeleton, self.tween(np.minimum(times, last)), rate, up_axis="z")

    # --- files

    def save(self, path: PathLike, *, rate: float = 60.0) -> None:
        """Write the keys to .json, or the motion to .npz, .bvh, .amc, .glb and other formats.

        An .amc needs its skeleton to be read again: that goes to an .asf of the same name.

        Args:
            path: of the file; its ending says what it is.
            rate: frames a second of a motion [Hz].
        """
        stem, ending = os.path.splitext(os.fspath(path))
        if ending.lower() == ".json":
            write_keys(path, self.skeleton, self._keys, self.smooth)
            return
        self.bake(rate).save(path)
        form = find_format(path)
        if form is not None and form.companion != "":
            save_skeleton(self.skeleton, stem + form.companion)

    @classmethod
    def load(cls, path: PathLike, skeleton: Skeleton) -> Keyframes:
        """Return the keys of a .json file that `save` wrote, for the same figure."""
        keys, smooth = read_keys(path, skeleton)
        return cls(skeleton, keys, smooth=smooth)

    # --- private; the lock is held

    def _find_key(self, time: float) -> Key:
        for key in self._keys:
            if abs(key.time - time) < SAME_TIME_S:
                return key
        shown = ", ".join(f"{key.time:g}" for key in self._keys) or "none"
        raise UsageError(f"there is no key at {time:g} s (there are keys at: {shown})")

    def _keys_except(self, time: float) -> list[Key]:
        return [key for key in self._keys if abs(key.time - time) >= SAME_TIME_S]

    def _set(self, keys: tuple[Key, ...], step: Hashable = None) -> None:
        self._history.record(self._keys, step)
        self._keys = tuple(sorted(keys, key=lambda key: key.time))
