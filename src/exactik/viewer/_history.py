"""Undo and redo of immutable states."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from typing import Generic, TypeVar

__all__ = ["UndoHistory"]

T = TypeVar("T")

MAX_STEPS = 200  # of undo: more than anybody goes back


class UndoHistory(Generic[T]):
    """Bounded stacks of earlier states and of undone ones.

    Successive changes with the same key are one step: a whole drag, or every value that a slider
    passed through.
    """

    def __init__(self, depth: int = MAX_STEPS):
        """Keep at most `depth` steps; the oldest are forgotten first."""
        self._past: deque[T] = deque(maxlen=depth)
        self._future: deque[T] = deque(maxlen=depth)
        self._key: Hashable = None

    def record(self, state: T, key: Hashable = None) -> bool:
        """Record a state that is about to change; return whether that began a new step.

        Args:
            state: as it is before the change.
            key: of the step; None for a step of its own.
        """
        if key is not None and key == self._key:
            return False
        self._past.append(state)
        self._future.clear()
        self._key = key
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
