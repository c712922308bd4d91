"""Visuals that are read when they are first asked for."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

from exactik.errors import ExactikError, FileError, Note
from exactik.typing import Array
from exactik.visuals._visuals import Visuals

__all__ = ["LazyVisuals", "map_visuals"]


class LazyVisuals:
    """A function that makes visuals, and what it made once it was called.

    Figures that come from one another share it, so that a file is read once. What cannot be read is
    no error, since nothing but the look depends on it: the visuals are empty then, and their notes
    say why. It is sent to another process as the function alone.
    """

    def __init__(self, make: Callable[[], Visuals]):
        """Keep the function."""
        self._make = make
        self._visuals: Visuals | None = None
        self._lock = threading.Lock()

    def load(self) -> Visuals:
        """Return the visuals; the first call reads them."""
        with self._lock:
            if self._visuals is None:
                try:
                    self._visuals = self._make()
                except ExactikError as error:
                    place = error.place if isinstance(error, FileError) else ""
                    text = error.message if isinstance(error, FileError) else str(error)
                    note = Note("visuals-not-read", "damage", place, f"nothing is shown: {text}")
                    self._visuals = Visuals(notes=(note,))
            return self._visuals

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._make,)


def map_visuals(visuals: Visuals | LazyVisuals, T_new_old: Mapping[str, Array]) -> Visuals:
    """Return visuals mapped in the frames of their bones, see `Visuals.mapped`; reads them."""
    loaded = visuals.load() if isinstance(visuals, LazyVisuals) else visuals
    return loaded.mapped(T_new_old)
