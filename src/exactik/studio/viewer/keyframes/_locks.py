"""Locks over time: a foot or a hand that stays where it is from one key to another.

A lock holds a bone where its first key has it. The keys inside the lock are corrected first, each
to the nearest pose that has the bone there, and the poses between keys after them; so the motion is
continuous where the lock ends, and begins.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from exactik.model import Skeleton
from exactik.studio.player.proportions import Point
from exactik.studio.viewer.keyframes._constraints import Key, PinConstraint, solve_constrained_pose

SAME_TIME_S = 1e-6  # times that are nearer to each other are one


@dataclass(frozen=True)
class BoneLock:
    """A bone that stays where it is in the world between two times.

    Attributes:
        bone: its name.
        first: time of the key that says where [s].
        last: time of the key at which the lock ends [s].
        point: of the bone that stays [m, bone].
        oriented: whether its rotation stays as well.
    """

    bone: str
    first: float
    last: float
    point: Point = (0.0, 0.0, 0.0)
    oriented: bool = True

    def span(self, times: Sequence[float]) -> tuple[int, int] | None:
        """Return the indices of the first and last key inside the lock; None if it has no two."""
        low, high = self.first - SAME_TIME_S, self.last + SAME_TIME_S
        inside = [k for k, time in enumerate(times) if low <= time <= high]
        return (inside[0], inside[-1]) if len(inside) > 1 else None


@dataclass(frozen=True, eq=False)
class SolvedKeys:
    """Keys whose poses meet the locks, and what holds between them."""

    keys: tuple[Key, ...]
    # For each span between two keys, the locked bones: bone → where
    held: tuple[dict[str, PinConstraint], ...]


def solve_keys(
    skeleton: Skeleton, keys: Sequence[Key], locks: Sequence[BoneLock], limits: bool = True
) -> SolvedKeys:
    """Return keys, in time, with the poses that the locks ask for; without locks the same keys."""
    times = [key.time for key in keys]
    spans = [(lock, span) for lock in locks if (span := lock.span(times)) is not None]
    held: list[dict[str, PinConstraint]] = [{} for _ in range(max(len(keys) - 1, 0))]
    solved: list[Key] = []
    for k, key in enumerate(keys):
        constraints = dict(held[k - 1]) if k > 0 else {}
        if len(constraints) > 0:
            q = solve_constrained_pose(skeleton, np.array(key.q), constraints, limits)
            key = Key(key.time, q, key.holds)
        solved.append(key)
        pose = None
        for lock, (first, last) in spans:
            if first != k:
                continue
            pose = skeleton.forward(key.q) if pose is None else pose
            R_world_bone = pose.rotations[skeleton.bone_index(lock.bone)].copy()
            pin = PinConstraint(
                bone=lock.bone,
                point=lock.point,
                position=pose.point(lock.bone, lock.point),
                rotation=R_world_bone if lock.oriented else None,
            )
            for span in range(first, last):
                held[span].setdefault(lock.bone, pin)
    return SolvedKeys(keys=tuple(solved), held=tuple(held))
