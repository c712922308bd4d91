"""Undo and redo of immutable states."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Mapping
from typing import Generic, Protocol, TypeVar

T = TypeVar("T")

MAX_STEPS = 200  # of undo: more than anybody goes back


class UndoHistory(Generic[T]):
    """Bounded stacks of earlier states and of undone ones.

    Successive changes with the same key are one step: a whole drag, or every value that a slider
    passed through.

    Attributes:
        on_step: called when a new step begins.
    """

    def __init__(self, depth: int = MAX_STEPS):
        """Keep at most `depth` steps; the oldest are forgotten first."""
        self._past: deque[T] = deque(maxlen=depth)
        self._future: deque[T] = deque(maxlen=depth)
        self._key: Hashable = None
        self.on_step: Callable[[], None] = lambda: None

    def record(self, state: T, key: Hashable = None) -> bool:
        """Record a state that is about to change; return whether that began a new step.

        Args:
            key: of the step; None for a step of its own.
        """
        if key is not None and key == self._key:
            return False
        self._past.append(state)
        self._future.clear()
        self._key = key
        self.on_step()
        return True

    def end_step(self) -> None:
        """End the step: the next change begins another one, whatever its key."""
        self._key = None

    def undo(self, now: T) -> T:
        """Return the state before `now`; `now` itself if there is none."""
        return self._swap(self._past, self._future, now)

    def redo(self, now: T) -> T:
        """Return the state that was undone last; `now` itself if there is none."""
        return self._swap(self._future, self._past, now)

    def _swap(self, source: deque[T], other: deque[T], now: T) -> T:
        self._key = None
        if len(source) == 0:
            return now
        other.append(now)
        return source.pop()

    @property
    def undo_count(self) -> int:
        """Number of steps that can be undone."""
        return len(self._past)

    @property
    def redo_count(self) -> int:
        """Number of steps that can be redone."""
        return len(self._future)


class Undoable(Protocol):
    """What can undo and redo, and says whether there was anything."""

    def undo(self) -> bool:
        """Undo the last step; return whether there was one."""
        ...

    def redo(self) -> bool:
        """Redo the step undone last; return whether there was one."""
        ...


class UndoOrder:
    """One undo for several things with histories of their own: the latest change goes first."""

    def __init__(self, owners: Mapping[str, Undoable], depth: int = MAX_STEPS):
        """Undo changes of these, by their names; `note` says when one of them begins a step."""
        self._owners = dict(owners)
        self._past: deque[str] = deque(maxlen=depth)
        self._future: deque[str] = deque(maxlen=depth)

    def note(self, owner: str) -> None:
        """Note that a step of an owner begins."""
        self._past.append(owner)
        self._future.clear()

    def undo(self) -> str | None:
        """Undo the latest step of all; return whose it was, None if there was none."""
        while len(self._past) > 0:
            owner = self._past.pop()
            self._future.append(owner)
            if self._owners[owner].undo():
                return owner
        return None

    def redo(self) -> str | None:
        """Redo the step undone last; return whose it was, None if there was none."""
        while len(self._future) > 0:
            owner = self._future.pop()
            self._past.append(owner)
            if self._owners[owner].redo():
                return owner
        return None
