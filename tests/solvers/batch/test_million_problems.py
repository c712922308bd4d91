"""Bounded problems by the million: no limit is left, and nothing is called reached that is not.

Chains of hinges with random axes, links and limits, targets inside and outside the reach and the
limits. The judge is the forward kinematics of `tests/support/hinge_chains.py`.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import exactik as ik
from exactik.typing import Array
from tests.support.adversaries import TOLERANCE, limit, random_chain
from tests.support.hinge_chains import HingeChain

BATCH = 2000
ROUNDING = 1e-12  # [m] of two computations of a place


def draw_targets(rng: np.random.Generator, chain: HingeChain, count: int) -> Array:
    """Places of the tip at poses inside the limits, outside of them, and anywhere, (count, 3)."""
    q = rng.uniform(-np.pi, np.pi, (count, chain.size))
    q[::2] = np.clip(q[::2], chain.lower, chain.upper)
    targets = chain.place_many(q)[0]
    targets[::5] = rng.normal(scale=0.7, size=targets[::5].shape)
    return targets


@pytest.mark.parametrize("batches", [3, pytest.param(500, marks=pytest.mark.slow)])
def test_no_limit_is_left_and_nothing_is_falsely_reached(batches: int) -> None:
    outside, false, missed, reached, active = 0, 0, 0, 0, 0
    for k in range(batches):
        rng = np.random.default_rng([16, k])
        chain = limit(rng, random_chain(rng, int(rng.integers(2, 8))))
        targets = draw_targets(rng, chain, BATCH)
        q0 = rng.uniform(-np.pi, np.pi, (BATCH, chain.size))
        problem = replace(chain, target=targets[0]).problem
        solver = "auto" if k % 3 > 0 else "levenberg-marquardt"
        batch = ik.solve_batch(problem, {"TIP": targets}, q0=q0, solver=solver)
        misses = np.linalg.norm(targets - chain.place_many(batch.q)[0], axis=1)
        outside += int(((batch.q < chain.lower) | (batch.q > chain.upper)).any(axis=1).sum())
        false += int((batch.reached & (misses > TOLERANCE + ROUNDING)).sum())
        missed += int((~batch.reached & (misses < TOLERANCE - ROUNDING)).sum())
        reached += int(batch.reached.sum())
        active += int(((batch.q == chain.lower) | (batch.q == chain.upper)).any(axis=1).sum())
    assert (outside, false, missed) == (0, 0, 0)
    total = batches * BATCH
    assert 0.1 * total < reached < 0.9 * total and active > 0.1 * total, (reached, active, total)
