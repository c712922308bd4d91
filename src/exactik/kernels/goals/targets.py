"""New targets for the same goals: all that changes between the problems of a batch."""

from __future__ import annotations

from typing import NamedTuple

from exactik.compile import jit
from exactik.kernels.goals.clouds import reduce_to_clouds
from exactik.kernels.goals.terms import LOG
from exactik.typing import Array


class Targets(NamedTuple):
    """Targets of B problems on n terms; empty arrays where nothing is to change."""

    origin: Array  #   (B, 3) what places are relative to [m, world]
    target: Array  #   (B, n, 3) as in `Terms`
    rotation: Array  # (B, n, 3, 3) of LOG; those of others do not change


@jit
def retarget(goals, targets, b):
    """Write the targets of problem b into `goals`."""
    for i in range(3):
        goals.origin[i] = targets.origin[b, i]
    for m in range(goals.terms.kind.shape[0]):
        for i in range(3):
            goals.terms.target[m, i] = targets.target[b, m, i]
            if goals.terms.kind[m] == LOG:
                for j in range(3):
                    goals.terms.rotation[m, i, j] = targets.rotation[b, m, i, j]
    reduce_to_clouds(goals.terms, goals.cloud_of_frame, goals.clouds)
