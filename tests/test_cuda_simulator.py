"""The kernels are one source for CPU and GPU."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("numba.cuda", reason="needs numba-cuda, which the CUDA simulator comes with")

from tests.cuda_newton import mixed_arm, problem_of, solve_on_cpu, starts_of


def test_the_solve_path_runs_under_the_cuda_simulator_as_on_the_cpu() -> None:
    """A CUDA kernel calling `newton` on views of a batch finds what the compiled loop finds."""
    environment = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1", "NUMBA_DISABLE_JIT": "1"}
    answer = subprocess.run(
        [sys.executable, "-W", "error", "-m", "tests.cuda_newton"],
        cwd=Path(__file__).parent.parent,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert answer.returncode == 0, answer.stderr
    found, expected = np.array(json.loads(answer.stdout)), solve_on_cpu()
    np.testing.assert_allclose(found, expected, atol=1e-9)
    problem, starts = problem_of(mixed_arm()), starts_of(mixed_arm())
    for start, q in zip(starts, found, strict=True):
        assert np.abs(problem.gradient(q)).max() < 1e-8  # and it is a solution,
        assert problem.cost(q) < 0.1 * problem.cost(start)  # not where it began
