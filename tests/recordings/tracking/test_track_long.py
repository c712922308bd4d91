"""An hour of motion capture in bounded memory."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.checkout import ROOT

FRAMES = 432_000  # an hour at 120 Hz
SCRIPT = """
import resource, sys, time
from pathlib import Path
import numpy as np
import exactik as ik
from benchmarks.support.hdm05 import LOCK, TAKES, load_take

take = load_take(Path(sys.argv[1]), TAKES[0])
count, once = int(sys.argv[2]), len(take)
place = np.empty((count, 41, 3))
for at in range(0, count, once):  # there and back again, so that nothing jumps
    part = take.markers.positions[:: -1 if at // once % 2 else 1]
    place[at : at + once] = part[: count - at]
markers = ik.Markers(place, take.markers.names, 120.0)
del place
ik.track(take.skeleton, markers.between(0.0, 2.0), lock=LOCK, limits="off")
before, cpu = time.perf_counter(), time.process_time()
found = ik.track(take.skeleton, markers, lock=LOCK, limits="off", threads=2)
seconds, cpu = time.perf_counter() - before, time.process_time() - cpu
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
print(len(found), seconds, cpu, peak, found.mean_error, found.converged.mean())
"""


@pytest.mark.slow
def test_an_hour(shared_data: Path):
    folder = shared_data / "data" / "asf_amc" / "hdm05_dg"
    paths = os.pathsep.join([str(ROOT / "src"), str(ROOT), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": paths, "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-c", SCRIPT, str(folder), str(FRAMES)]
    answer = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=ROOT)
    assert answer.returncode == 0, answer.stderr
    count, seconds, cpu, peak, error, converged = map(float, answer.stdout.split())
    print(
        f"an hour: {seconds:.0f} s with two threads ({cpu:.0f} s of processor), "
        f"peak {peak / 1e9:.2f} GB, {1e3 * error:.1f} mm"
    )
    assert count == FRAMES and converged > 0.99
    assert error == pytest.approx(0.0162, rel=0.05)
    assert peak < 2e9
