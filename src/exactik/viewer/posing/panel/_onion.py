"""Onion skins: the poses of keys as translucent figures."""

from __future__ import annotations

from typing import Any

import numpy as np

from exactik.viewer.keyframes import Key, Keyframes
from exactik.viewer.page import GHOST_COLOUR, MARKER_COLOUR, add_translucent_poses

__all__ = ["ONION_CHOICES", "OnionSkins", "choose_keys"]

NEIGHBOURS, ALL, NONE = ONION_CHOICES = ("neighbours", "all", "none")
BEFORE_COLOUR, AFTER_COLOUR = GHOST_COLOUR, MARKER_COLOUR
MAX_SHOWN_KEYS = 30  # more would hide each other
SAME_TIME_S = 1e-3  # a key so near to the playhead is the pose itself


def choose_keys(keys: tuple[Key, ...], time: float, choice: str) -> list[tuple[Key, bool]]:
    """Return the keys that are shown at a time [s], and whether each is before it."""
    others = [(key, key.time < time) for key in keys if abs(key.time - time) > SAME_TIME_S]
    if choice == NONE or (len(others) > MAX_SHOWN_KEYS and choice == ALL):
        return []
    if choice == ALL:
        return others
    before = [pair for pair in others if pair[1]][-1:]
    return before + [pair for pair in others if not pair[1]][:1]


class OnionSkins:
    """Ghosts of neighbouring keys, blue before the playhead and green after it, or of all keys."""

    def __init__(self, server: Any):
        """Begin with none."""
        self._server, self._ghosts = server, None
        self._shown: tuple[object, ...] = ()

    def show(self, keys: Keyframes, time: float, choice: str) -> None:
        """Show the keys that belong to a time [s], in the poses that locks leave them."""
        chosen = choose_keys(keys.solved_keys().keys, time, choice)
        shown = tuple((id(key.q), before) for key, before in chosen)
        if shown == self._shown:
            return
        self.clear()
        self._shown = shown
        if len(chosen) > 0:
            colours = [BEFORE_COLOUR if before else AFTER_COLOUR for _, before in chosen]
            poses = [np.array(key.q) for key, _ in chosen]
            self._ghosts = add_translucent_poses(
                self._server, keys.skeleton, poses, colours, "/keys"
            )

    def clear(self) -> None:
        """Remove all ghosts."""
        if self._ghosts is not None:
            self._ghosts.remove()
        self._ghosts, self._shown = None, ()
