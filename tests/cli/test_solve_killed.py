"""Killed at any moment, `exactik solve` leaves complete files or none, and can be repeated."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import exactik as ik
from exactik.lab.synthetic import simulate_performance, simulate_recording

OUTPUTS = ("take.bvh", "take.glb", "take.npz")


def start(folder: Path) -> subprocess.Popen[bytes]:
    given = ["take.c3d", "--skeleton", "human", "--no-calibrate", "--report", "take.html"]
    for name in OUTPUTS:
        given += ["-o", name]
    command = [sys.executable, "-m", "exactik", "solve", *given]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL)


def check_complete(folder: Path, frames: int) -> set[str]:
    """Whatever is there is whole; return what is."""
    found = {path.name for path in folder.iterdir() if not path.name.startswith(".")}
    for name in found & set(OUTPUTS):
        unit = "cm" if name.endswith("bvh") else None
        assert len(ik.load_motion(folder / name, length_unit=unit)) == frames, name
    if "take.html" in found:
        assert (folder / "take.html").read_text("utf-8").rstrip().endswith("</html>")
    return found


@pytest.mark.slow
def test_killed_five_times_and_then_left_alone(tmp_path: Path):
    markers = simulate_recording(simulate_performance(10.0, 120.0), gaps=0.0, swap=False).markers
    markers.save(tmp_path / "take.c3d")
    begin = time.perf_counter()
    assert start(tmp_path).wait() in (0, 1)
    whole = time.perf_counter() - begin
    everything = check_complete(tmp_path, len(markers))
    assert everything == {"take.c3d", *OUTPUTS, "take.html"}

    random = np.random.default_rng()
    for moment in random.uniform(0.2, 1.0, 5):  # writing comes late
        for name in everything - {"take.c3d"}:
            (tmp_path / name).unlink(missing_ok=True)
        process = start(tmp_path)
        try:
            process.wait(timeout=float(moment) * whole)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        check_complete(tmp_path, len(markers))

    assert start(tmp_path).wait() in (0, 1)
    assert check_complete(tmp_path, len(markers)) == everything
