"""Time limits: a solve stops within about one evaluation of its limit, and says so."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass

import numpy as np
import pytest

import exactik as ik
from exactik.solvers import BFGS, CCD, Method
from exactik.typing import Array
from tests.support.models import planar_arm, serial_chain
from tests.support.problems import Range

LOOKS: list[float] = []  # when a slow goal was looked at


@dataclass(frozen=True, eq=False)
class Slow(Range):
    """A goal that takes 5 ms to look at."""

    def residual(self, rotation: Array, position: Array) -> Array:
        LOOKS.append(time.perf_counter())
        time.sleep(5e-3)
        return super().residual(rotation, position)


SLOW = ik.Problem(
    planar_arm(),
    [Slow("lower", (0.2, 0.1, 0), (0.3, 0, 0)), ik.MarkerGoal("HAND", (0.1, 0.1, 0.0))],
)


@pytest.mark.parametrize("solver", [ik.Auto, ik.Newton, BFGS, CCD])
def test_time_limit(solver: type[Method]) -> None:
    """A solve that would take seconds stops within about one evaluation of its limit."""
    ik.solve(SLOW, solver=solver(max_iterations=1), q0=(0.3, 0.5))  # compiles what is needed
    LOOKS.clear()
    result = ik.solve(SLOW, solver=solver(max_seconds=0.02), q0=(0.3, 0.5))
    assert result.seconds > 0.02
    # The rest of a line search, and the last pose's derivatives; without a limit it takes hundreds.
    assert sum(look > LOOKS[0] + 0.02 for look in LOOKS) <= 8
    assert result.status == "time-limit" and not result.converged
    assert re.fullmatch(
        r"out of time after \S+ s, \S+ is \S+( m short| mm short| off); "
        r"relative projected gradient \S+",
        result.why,
    )


def test_time_limit_of_compiled_code() -> None:
    """The clock is looked at often enough inside compiled code, too."""
    goals = [ik.MarkerGoal("TIP", (0.3, 0.4, 0.2)), ik.PositionGoal("b30", (0.3, 0.2, -0.2))]
    problem = ik.Problem(serial_chain(60), [*goals, ik.PostureGoal(np.ones(60), weight=1e-4)])
    ik.solve(problem, solver=ik.ProjectedGradient(max_seconds=0.0))  # compiles what is needed
    endless = ik.ProjectedGradient(max_seconds=0.05, max_iterations=10**9, tolerance=1e-12)
    result = ik.solve(problem, solver=endless)
    assert result.status == "time-limit" and result.seconds > 0.05


def test_time_limit_of_many_starts() -> None:
    """The limit is on the solve, not on each of its starts."""
    q = ik.solve(SLOW, q0=(0.3, 0.5)).q
    result = ik.solve(SLOW, solver=ik.Auto(max_seconds=0.02), q0=q, starts=50)
    assert result.attempts < 10  # of 4 evaluations of 5 ms
