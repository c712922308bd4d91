"""Where to start: the pose given, and a seeded table of others that fill the limits evenly."""

from __future__ import annotations

import os

import numpy as np
from numpy.typing import ArrayLike

from exactik._arrays import require_shape
from exactik.errors import UsageError
from exactik.kernels.descent.starts import StartTable
from exactik.problem import Problem
from exactik.typing import Array, IntArray


def make_start_table(problem: Problem, count: int, seed: int) -> StartTable:
    """Return a table of `count` starts; NaN where the given start is to be kept.

    Limited dofs are spread over their range, unlimited angles over a whole turn, rotations of ball
    joints over all rotations. Unlimited shifts and locked dofs stay where they are. The first
    starts of a long table are those of a short one.

    The spread is a randomly shifted Kronecker sequence, k·√prime mod 1: starts keep clear of each
    other, which independent draws do not.
    """
    require_seed(seed)
    q = problem.remember(f"starts {count} {seed}", lambda: _spread_starts(problem, count, seed))
    frames = len(problem.skeleton.tree.parent)
    # Frames can be kept only where no start depends on where the problem starts itself.
    placed_count = 0 if np.isnan(q).any() else count
    return StartTable(
        q=q,
        cost=np.empty(count + 1),
        R=np.empty((placed_count, frames, 3, 3)),
        p=np.empty((placed_count, frames, 3)),
        origin=np.empty((placed_count, 3)),
    )


def require_start(problem: Problem, q0: ArrayLike | None) -> Array:
    """Return where to start, (nq,), the caller's own."""
    skeleton = problem.skeleton
    if q0 is None:
        return problem.remember("neutral", skeleton.neutral).copy()
    if not isinstance(q0, np.ndarray) or q0.shape != (skeleton.nq,):
        q0 = require_shape("q0", q0, skeleton.nq)
    return skeleton.normalised(q0, "q0")


def require_count(name: str, value: int) -> int:
    """Return a count of at least one."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 1:
        raise UsageError(f"{name} is {value!r}; it must be a whole number of at least 1")
    return int(value)


def count_threads(threads: int | None) -> int:
    """Return how many threads are asked for: one per processor if None."""
    return (os.cpu_count() or 1) if threads is None else require_count("threads", threads)


def require_seed(seed: int) -> int:
    """Return a seed of random numbers."""
    if not isinstance(seed, int | np.integer) or isinstance(seed, bool) or seed < 0:
        raise UsageError(f"seed is {seed!r}; it must be a whole number ≥ 0")
    return int(seed)


def _spread_starts(problem: Problem, count: int, seed: int) -> Array:
    skeleton, box = problem.skeleton, problem.box
    rng = np.random.default_rng(seed)
    width = skeleton.nq
    spread = np.sqrt(_list_primes(width))
    points = (rng.random(width) + np.arange(1, count + 1)[:, None] * spread) % 1.0
    table = np.full((count, width), np.nan)
    for i, j in enumerate(box.coordinate):
        low, high = problem.lower[i], problem.upper[i]
        if j < 0 or problem.locked[i]:
            continue
        if box.is_rotation[i] != 0.0:
            # Wider than a turn, or without end: a turn about the middle, or about zero.
            closed = np.isfinite(low) and np.isfinite(high)
            middle = 0.5 * (low + high) if closed else min(max(0.0, low + np.pi), high - np.pi)
            low, high = max(low, middle - np.pi), min(high, middle + np.pi)
        if np.isfinite(low) and np.isfinite(high):
            table[:, j] = low + (high - low) * points[:, j]
    free = {
        bone: not problem.locked[_quaternion_dofs(problem, bone)].any()
        for bone, _ in skeleton.quaternions
    }
    for bone, first in skeleton.quaternions:
        if free[bone]:
            table[:, first : first + 4] = _make_even_rotations(points[:, first : first + 3])
    return table


def _quaternion_dofs(problem: Problem, bone: str) -> slice:
    """Return the three dofs of the quaternion of a bone."""
    end = int(problem.skeleton.tree.first_v[problem.skeleton.bone_index(bone) + 2])
    return slice(end - 3, end)


def _make_even_rotations(u: Array) -> Array:
    """Return unit quaternions wxyz, (n, 4), spread evenly where u, (n, 3), is (Shoemake)."""
    a, b = np.sqrt(1.0 - u[:, 0]), np.sqrt(u[:, 0])
    x, y = 2.0 * np.pi * u[:, 1], 2.0 * np.pi * u[:, 2]
    return np.stack([b * np.cos(y), a * np.sin(x), a * np.cos(x), b * np.sin(y)], axis=1)


def _list_primes(count: int) -> IntArray:
    """Return the first primes."""
    primes: list[int] = []
    n = 2
    while len(primes) < count:
        if all(n % p > 0 for p in primes if p * p <= n):
            primes.append(n)
        n += 1
    return np.array(primes)
