"""Exponential smoothing of targets: browsers send drags at 20 Hz, the figure moves at 60 Hz."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from exactik.spatial import exp_rotation, log_rotation
from exactik.typing import Array
from exactik.viewer.posing._handles import Handle

__all__ = ["TargetFilter"]


ARRIVED_M, ARRIVED_RAD = 1e-5, 1e-4  # below these distances a target counts as reached


class TargetFilter:
    """Filtered target of each handle, as the solver sees it, on its way to the true one.

    Attributes:
        seconds: time constant of the exponential approach, 0 for none.
    """

    def __init__(self, seconds: float):
        """Follow with this time constant [s]."""
        self.seconds = max(float(seconds), 0.0)
        self._filtered: dict[str, tuple[Array, Array]] = {}

    def reset(self, handle: Handle) -> None:
        """Begin at the present target of a handle."""
        self._filtered[handle.name] = (handle.position, handle.rotation)

    def keep_only(self, names: Iterable[str]) -> None:
        """Forget all other handles."""
        kept = set(names)
        self._filtered = {name: pose for name, pose in self._filtered.items() if name in kept}

    def advance(self, handles: Sequence[Handle], seconds: float) -> tuple[Array, Array, bool]:
        """Let time pass [s]; return targets (n, 3), (n, 3, 3), and whether all have arrived."""
        share = 1.0 if self.seconds == 0.0 else -math.expm1(-max(seconds, 0.0) / self.seconds)
        positions, rotations = np.empty((len(handles), 3)), np.empty((len(handles), 3, 3))
        all_arrived = True
        for k, handle in enumerate(handles):
            position, rotation = self._filtered.get(handle.name, (handle.position, handle.rotation))
            if position is not handle.position:
                error = handle.position - position
                arrived = math.hypot(*error.tolist()) < ARRIVED_M or share == 1.0
                position = handle.position if arrived else position + share * error
                all_arrived &= arrived
            if rotation is not handle.rotation:
                turn = log_rotation(handle.rotation @ rotation.T)
                arrived = float(np.linalg.norm(turn)) < ARRIVED_RAD or share == 1.0
                arrived = arrived or not handle.oriented
                rotation = handle.rotation if arrived else exp_rotation(share * turn) @ rotation
                all_arrived &= arrived
            self._filtered[handle.name] = (position, rotation)
            positions[k], rotations[k] = position, rotation
        return positions, rotations, all_arrived
