"""The kernels run in a CUDA kernel, one thread a problem."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("numba.cuda", reason="needs numba-cuda, which the CUDA simulator comes with")

from tests.support.cuda_descend import METHODS, mixed_arm, problem_of, solve_on_cpu, starts_of


def test_the_solve_path_runs_under_the_cuda_simulator_as_on_the_cpu() -> None:
    """A CUDA kernel that calls `run_descent` on a batch finds what the compiled loop finds."""
    environment = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1", "NUMBA_DISABLE_JIT": "1"}
    answer = subprocess.run(
        [sys.executable, "-W", "error", "-m", "tests.support.cuda_descend"],
        cwd=Path(__file__).parents[2],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert answer.returncode == 0, answer.stderr
    problem, starts = problem_of(mixed_arm()), starts_of(mixed_arm())
    answers = json.loads(answer.stdout)
    for method in METHODS:
        (actual, passes), (expected, counted) = answers[method.name], solve_on_cpu(method)
        np.testing.assert_allclose(actual, expected, atol=1e-9)
        assert passes == counted.tolist()
        for start, q in zip(starts, np.array(actual), strict=True):
            assert problem.cost(q) < 0.3 * problem.cost(start)  # not where it began,
            if method.name != "ccd":
                assert np.abs(problem.gradient(q)).max() < 1e-8  # and a solution
