"""No verdict is false, on the kinds of problems that verdicts are easily wrong about.

The judge is `tests/support/adversaries.py`: forward kinematics of its own, and
poses that roll down.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import exactik as ik
from tests.support.adversaries import FAMILIES, find_falsehood

# What a family is there for: these verdicts must come up, or it tests nothing.
EXPECTED = {
    "unmoved": {"out-of-reach", "local-minimum"},
    "loose": {"saddle", "at-limits", "local-minimum", "reached"},
    "touched": {"saddle", "at-limits", "reached"},
    "nearly touched": {"saddle", "at-limits", "reached"},
    "unfinished": {"iteration-limit"},
    "flat weights": {"reached", "at-limits"},
    "far": {"out-of-reach"},
    "limited": {"at-limits", "reached", "out-of-reach"},
}
MAX_UNDECIDED = 0.02  # of the problems


@pytest.mark.full
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("count", [30, pytest.param(1000, marks=pytest.mark.slow)])
def test_no_sentence_is_false(family: str, count: int) -> None:
    wrong, seen, stayed = [], Counter(), []
    for k in range(count):
        rng = np.random.default_rng([15, list(FAMILIES).index(family), k])
        trial = FAMILIES[family](rng)
        result = trial.solve()
        seen[result.status] += 1
        falsehood = find_falsehood(trial, result, rng)
        if falsehood != "":
            wrong.append(f"problem {k}, {trial.solver}: {result.why!r}, but {falsehood}")
        if result.status == "saddle" and isinstance(trial.solver, ik.Auto):
            stayed.append(f"problem {k}: {result.why}")
    assert wrong == [], "\n".join(wrong)
    assert stayed == [], "auto stays at a saddle that it could leave"
    assert EXPECTED[family] <= set(seen), seen
    assert seen["stationary"] <= MAX_UNDECIDED * count, seen
