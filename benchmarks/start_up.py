"""Section start-up: importing, and the first result in a fresh process, with the library or not."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

from benchmarks.support.report import Metric, Report

IMPORT_CODE = """
import time; start = time.perf_counter(); import numpy
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
"""


def run_fresh(code: str, **settings: str) -> float:
    """Run code in a fresh process with these environment variables; return what it prints."""
    completed = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **settings},
        capture_output=True,
        text=True,
        check=True,
    )
    return float(completed.stdout)


def run(report: Report) -> None:
    """Measure and print the section."""
    report.title("start-up: fresh processes, s")
    light = min(run_fresh(IMPORT_CODE) for _ in range(3))
    first = min(run_fresh(FIRST_RESULT_CODE, EXACTIK_COMPILED="strict") for _ in range(3))
    with tempfile.TemporaryDirectory() as cache:
        settings = {"EXACTIK_COMPILED": "0", "NUMBA_CACHE_DIR": cache}
        compiled = run_fresh(FIRST_RESULT_CODE, **settings)
    report.add(
        Metric("import exactik, beyond import numpy", light, "s", 0.3),
        Metric("first Hessian and first solve", first, "s", 1.5),
        Metric("the same without the library, Numba compiles", compiled, "s"),
    )
