"""Onion skins: the poses of keys as translucent figures."""

from __future__ import annotations

from typing import Any

import numpy as np

from exactik.model import Skeleton
from exactik.studio.viewer.keyframes import Key, Keyframes
from exactik.studio.viewer.page.colours import GHOST_COLOUR, GHOST_OPACITIES, MARKER_COLOUR
from exactik.studio.viewer.page.scene import FigureScene, add_translucent_poses

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
    """Ghosts of neighbouring keys, blue before the playhead and green after it, or of all keys.

    Two neighbours are whole figures, with their skins; all keys are sticks.
    """

    def __init__(self, server: Any, skeleton: Skeleton):
        """Begin with none."""
        self._server, self._skeleton = server, skeleton
        self._sticks: Any = None
        self._figures: dict[bool, FigureScene] = {}
        self._shown: tuple[object, ...] = ()
        self._opacity = GHOST_OPACITIES[False]

    def set_dark(self, dark: bool) -> None:
        """Choose how much is seen of ghosts, for a light page or for a dark one."""
        self._opacity = GHOST_OPACITIES[dark]
        for figure in self._figures.values():
            figure.set_opacity(self._opacity)

    def show(self, keys: Keyframes, time: float, choice: str) -> None:
        """Show the keys that belong to a time [s], in the poses that locks leave them."""
        chosen = choose_keys(keys.solved_keys().keys, time, choice)
        shown = (choice, *((id(key.q), before) for key, before in chosen))
        if shown == self._shown:
            return
        self.clear()
        self._shown = shown
        if choice == ALL and len(chosen) > 0:
            colours = [BEFORE_COLOUR if before else AFTER_COLOUR for _, before in chosen]
            poses = [np.array(key.q) for key, _ in chosen]
            self._sticks = add_translucent_poses(
                self._server, self._skeleton, poses, colours, "/keys"
            )
        elif choice == NEIGHBOURS:
            for key, before in chosen:
                figure = self._get_figure(before)
                with self._server.atomic():
                    figure.draw(self._skeleton.forward(key.q))
                    figure.node.visible = True

    def clear(self) -> None:
        """Remove all ghosts."""
        if self._sticks is not None:
            self._sticks.remove()
            self._sticks = None
        for figure in self._figures.values():
            figure.node.visible = False
        self._shown = ()

    def _get_figure(self, before: bool) -> FigureScene:
        """Return the figure of a neighbour; made when it is first needed."""
        if before not in self._figures:
            name = "/key_before" if before else "/key_after"
            figure = FigureScene(self._server, self._skeleton, name, self._opacity)
            colour = BEFORE_COLOUR if before else AFTER_COLOUR
            figure.paint(np.tile(colour, (len(self._skeleton.bones), 1)))
            self._figures[before] = figure
        return self._figures[before]
