"""Results keep what was found: read-only, sliced as numpy slices, through pickles and copies."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import exactik as ik
from exactik.solvers.batch import BatchResult


@pytest.fixture(scope="module")
def batch() -> BatchResult:
    problem = ik.Problem(ik.human(), ik.PositionGoal("r_hand", (0.4, 0.3, 1.2)))
    targets = np.random.default_rng(0).normal((0.0, 0.0, 1.2), 0.5, size=(6, 3))
    return ik.solve_batch(problem, {"r_hand": targets})


def test_results_are_read_only_and_everything_is_worked_out_from_them(
    batch: BatchResult,
) -> None:
    result = ik.solve(batch.problem)
    for array in (result.q, batch.q, batch.cost, batch.ended, batch[0].q, batch[1:3].q):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    assert result.reached and result.certificate.descent is None
    assert result.covariance(1e-3).sd.shape == (batch.problem.skeleton.nv,)
    assert "r_hand" in result.sensitivity()
    q = result.q.copy()
    q[0] += 1.0  # a copy is the caller's
    again = ik.solve(batch.problem, q0=result.q)
    assert again.iterations == 0


def test_a_part_of_a_batch_is_a_batch(batch: BatchResult) -> None:
    part = batch[1:5:2]
    assert isinstance(part, BatchResult) and len(part) == 2
    np.testing.assert_array_equal(part.q, batch.q[1:5:2])
    for name, errors in batch.goal_errors.items():
        np.testing.assert_array_equal(part.goal_errors[name], errors[1:5:2])
    np.testing.assert_array_equal(part.targets["r_hand"], batch.targets["r_hand"][1:5:2])
    assert part.why == batch.why[1:5:2]
    assert part[0].why == batch[1].why
    np.testing.assert_array_equal(batch[[4, 0]].cost, batch.cost[[4, 0]])
    np.testing.assert_array_equal(batch[batch.reached].q, batch.q[batch.reached])
    assert len(batch[0:1]) == 1 and len(batch[6:]) == 0 and len(batch[[]]) == 0
    assert batch[-1].cost == batch[np.int64(5)].cost == batch.cost[5]
    for wrong in (6, -7, [6]):
        with pytest.raises(IndexError):
            batch[wrong]
    fraction: Any = 1.0
    with pytest.raises(TypeError):
        batch[fraction]


@pytest.mark.parametrize(
    "twin_of", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))]
)
def test_results_survive_pickles_and_copies(batch: BatchResult, twin_of) -> None:
    result = ik.solve(batch.problem, history=True)
    twin = twin_of(result)
    np.testing.assert_array_equal(twin.q, result.q)
    assert twin.why == result.why and not twin.q.flags.writeable
    assert result.history is not None
    np.testing.assert_array_equal(twin.history.cost, result.history.cost)
    other = twin_of(batch)
    assert other.why == batch.why and not other.q.flags.writeable
