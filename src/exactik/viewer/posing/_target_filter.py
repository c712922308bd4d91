"""Targets that are followed smoothly: browsers send drags 20 times a second, eyes want 60."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from exactik.spatial import exp_rotation, log_rotation
from exactik.typing import Array
from exactik.viewer.posing._handles import Handle

__all__ = ["TargetFilter"]


CLOSE, ALIGNED = 1e-5, 1e-4  # [m], [rad] where a target is taken for reached


class TargetFilter:
    """Where the target of each handle is shown to the solver, on its way to where it is wanted.

    Attributes:
        seconds: time constant of the exponential approach, 0 for none.
    """

    def __init__(self, seconds: float):
        """Follow with this time constant [s]."""
        self.seconds = max(float(seconds), 0.0)
        self._shown: dict[str, tuple[Array, Array]] = {}

    def start(self, handle: Handle) -> None:
        """Begin at the present target of a handle."""
        self._shown[handle.name] = (handle.position, handle.rotation)

    def keep(self, names: Iterable[str]) -> None:
        """Forget all other handles."""
        wanted = set(names)
        self._shown = {name: own for name, own in self._shown.items() if name in wanted}

    def follow(self, handles: Sequence[Handle], seconds: float) -> tuple[Array, Array, bool]:
        """Let time pass [s]; return targets (n, 3), (n, 3, 3), and whether all have arrived."""
        share = 1.0 if self.seconds == 0.0 else -math.expm1(-max(seconds, 0.0) / self.seconds)
        positions, rotations = np.empty((len(handles), 3)), np.empty((len(handles), 3, 3))
        arrived = True
        for k, handle in enumerate(handles):
            position, rotation = self._shown.get(handle.name, (handle.position, handle.rotation))
            if position is not handle.position:
                away = handle.position - position
                there = math.hypot(*away.tolist()) < CLOSE or share == 1.0
                position = handle.position if there else position + share * away
                arrived &= there
            if rotation is not handle.rotation:
                turn = log_rotation(handle.rotation @ rotation.T)
                there = float(np.linalg.norm(turn)) < ALIGNED or share == 1.0
                there = there or not handle.oriented
                rotation = handle.rotation if there else exp_rotation(share * turn) @ rotation
                arrived &= there
            self._shown[handle.name] = (position, rotation)
            positions[k], rotations[k] = position, rotation
        return positions, rotations, arrived
