"""Loaded by Dask's workers in tests (`distributed.worker.preload`): takes that loop, crash or last.

What a take does is in its name: "loops", "kills"; others last as long as EXACTIK_TEST_SECONDS says,
so that a process that is killed is killed at work.
"""

from __future__ import annotations

import os
import signal
import time
from typing import Any

from exactik.archive.tasks import _take as module

_solve = module.solve_recording


def solve_with_faults(markers: Any, *args: Any, **options: Any) -> Any:
    name = os.path.basename(markers.source)  # the folder may be called anything
    if "loops" in name:
        while True:
            time.sleep(0.01)
    if "kills" in name:
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(float(os.environ.get("EXACTIK_TEST_SECONDS", "0")))
    return _solve(markers, *args, **options)


def dask_setup(worker: Any) -> None:
    module.solve_recording = solve_with_faults  # type: ignore[assignment]
