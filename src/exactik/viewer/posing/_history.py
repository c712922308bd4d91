"""Undo and redo: states that were, and states that were taken back."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from typing import Generic, TypeVar

__all__ = ["Undo"]

T = TypeVar("T")

DEPTH = 200


class Undo(Generic[T]):
    """A bounded list of earlier states, and of later ones to come back to.

    Changes with the same key that follow each other are one step: a whole drag, or all the places
    that a slider went through.
    """

    def __init__(self, depth: int = DEPTH):
        """Keep at most `depth` steps; the oldest are forgotten first."""
        self._past: deque[T] = deque(maxlen=depth)
        self._future: deque[T] = deque(maxlen=depth)
        self._key: Hashable = None

    def remember(self, state: T, key: Hashable = None) -> bool:
        """Keep a state that is about to change; return whether that began a new step.

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

    def close(self) -> None:
        """End the step: what follows is another one, whatever its key."""
        self._key = None

    def undo(self, now: T) -> T:
        """Return the state before `now`; `now` itself if there is none."""
        return self._swap(self._past, self._future, now)

    def redo(self, now: T) -> T:
        """Return the state that was taken back last; `now` itself if there is none."""
        return self._swap(self._future, self._past, now)

    def _swap(self, source: deque[T], other: deque[T], now: T) -> T:
        self._key = None
        if len(source) == 0:
            return now
        other.append(now)
        return source.pop()

    @property
    def undoable(self) -> int:
        """Number of steps that can be taken back."""
        return len(self._past)

    @property
    def redoable(self) -> int:
        """Number of steps that can be done again."""
        return len(self._future)
