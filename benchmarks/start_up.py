"""Section start-up: importing, compiling, and the first result in a fresh process."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

from benchmarks.support.report import Metric, Report

IMPORT_CODE = """
import time; start = time.perf_counter(); import numba
middle = time.perf_counter(); import exactik
print(time.perf_counter() - middle)
"""
FIRST_RESULT_CODE = """
import time; start = time.perf_counter()
import exactik as ik
figure = ik.human()
q = figure.neutral()
goals = [ik.MarkerGoal(m, t + 0.01) for m, t in zip(figure.markers, figure.forward(q).markers)]
ik.Problem(figure, goals).hessian(q)
from exactik.lab.synthetic import solve_reach
solve_reach()
print(time.perf_counter() - start)
from exactik.kernels import tiers
for compiler in tiers._compilers:
    compiler.kill()
"""
COMPILE_CODE = """
import time; start = time.perf_counter()
from exactik.recordings.precompile import compile_parts
compile_parts({parts})
print(time.perf_counter() - start)
"""


def run_fresh(code: str, cache: str) -> float:
    """Run code in a fresh process with its own kernel cache; return the number that it prints."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
    completed = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    return float(completed.stdout)


def run(report: Report) -> None:
    """Measure and print the section."""
    report.title("start-up: fresh processes, s")
    with tempfile.TemporaryDirectory() as cache:
        cold = run_fresh(FIRST_RESULT_CODE, cache)
        poses = run_fresh(COMPILE_CODE.format(parts=["poses"]), cache)
        warm = min(run_fresh(FIRST_RESULT_CODE, cache) for _ in range(3))
        light = min(run_fresh(IMPORT_CODE, cache) for _ in range(3))
    with tempfile.TemporaryDirectory() as cache:
        recordings = run_fresh(COMPILE_CODE.format(parts=["recordings"]), cache)
    report.add(
        Metric("import exactik, beyond import numba", light, "s", 0.3),
        Metric("first Hessian and first solve, nothing compiled yet", cold, "s", 12.0),
        Metric("the same, compiled", warm, "s", 1.5),
        Metric("until the kernels of poses are compiled, in the background", poses, "s"),
        Metric("until the kernels of recordings are compiled, one process", recordings, "s"),
    )
