"""A person who walks on evenly, every stride a little otherwise: as long as is needed."""

from __future__ import annotations

from functools import cache

import numpy as np
from scipy.interpolate import CubicSpline

from exactik.lab.synthetic import simulate_performance
from exactik.model.motion import Motion
from exactik.recordings.angles import find_gait_cycles
from exactik.typing import Array

RATE = 60.0
HARMONICS = 6


@cache
def find_stride() -> tuple[Motion, int, int]:
    """A walk, and the first and last frame of a stride in it."""
    motion = simulate_performance(4.0, RATE, acts=("walk",))
    cycle = find_gait_cycles(motion).of("r")[0]
    return motion, cycle.first, cycle.last


def draw_waves(phase: Array) -> Array:
    waves = [f(2 * np.pi * k * phase) for k in range(1, HARMONICS + 1) for f in (np.sin, np.cos)]
    return np.stack([np.ones(len(phase)), *waves], axis=1)


def walk_evenly(
    seed: int, strides: int, spread_deg: float = 1.0, shifts: dict[str, float] | None = None
) -> Motion:
    """Return a walk of so many strides.

    Args:
        seed: of what is different in each stride.
        spread_deg: of every dof from one half stride to the next [°].
        shifts: dof → degrees by which it differs all along.
    """
    motion, first, last = find_stride()
    skeleton, count = motion.skeleton, last - first
    rng = np.random.default_rng(seed)
    frames = np.arange(strides * count + 1)
    inside, along = draw_waves(np.arange(count) / count), draw_waves((frames % count) / count)
    halves = np.arange(0.0, strides + 0.6, 0.5)
    q = np.tile(motion.q[first], (len(frames), 1))
    for v, name in enumerate(skeleton.dof_names):
        k = skeleton.plain_q[v]
        values = motion.q[first:last, k]
        drift = motion.q[last, k] - motion.q[first, k] if not skeleton.turns[v] else 0.0
        level = values - drift * np.arange(count) / count
        q[:, k] = along @ np.linalg.lstsq(inside, level, rcond=None)[0]
        if name == "pelvis.tx":
            q[:, k] += drift * frames / count
        if skeleton.turns[v]:
            wander = np.radians(spread_deg) * rng.standard_normal(len(halves))
            q[:, k] += CubicSpline(halves, wander)(frames / count)
        q[:, k] += np.radians((shifts or {}).get(name, 0.0))
    return Motion(skeleton, q, RATE)
