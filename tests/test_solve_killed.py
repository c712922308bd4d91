"""Killed at any moment, `exactik solve` leaves complete files or none, and can be repeated."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import exactik as ik
from exactik.demo import performance, recorded

OUTPUTS = ("take.bvh", "take.glb", "take.npz")


def command(folder: Path) -> list[str]:
    given = ["take.c3d", "--skeleton", "human", "--no-calibrate", "--report", "take.html"]
    for name in OUTPUTS:
        given += ["-o", name]
    return [sys.executable, "-m", "exactik", "solve", *given]


def check_complete(folder: Path, frames: int) -> set[str]:
    """Whatever is there is whole; return what is."""
    found = {path.name for path in folder.iterdir() if not path.name.startswith(".")}
    for name in found & set(OUTPUTS):
        unit = {"length_unit": "cm"} if name.endswith("bvh") else {}
        assert len(ik.load_motion(folder / name, **unit)) == frames, name
    if "take.html" in found:
        assert (folder / "take.html").read_text("utf-8").rstrip().endswith("</html>")
    return found


@pytest.mark.slow
def test_killed_five_times_and_then_left_alone(tmp_path: Path):
    markers = recorded(performance(10.0, 120.0), gaps=0.0, swap=False).markers
    markers.save(tmp_path / "take.c3d")
    quiet = {"cwd": tmp_path, "stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    start = time.perf_counter()
    done = subprocess.run(command(tmp_path), **quiet, check=False)
    whole = time.perf_counter() - start
    assert done.returncode in (0, 1), done.stderr
    everything = check_complete(tmp_path, len(markers))
    assert everything == {"take.c3d", *OUTPUTS, "take.html"}

    random = np.random.default_rng()
    for moment in random.uniform(0.2, 1.0, 5):  # writing comes late
        for name in everything - {"take.c3d"}:
            (tmp_path / name).unlink(missing_ok=True)
        process = subprocess.Popen(command(tmp_path), **quiet)
        try:
            process.wait(timeout=float(moment) * whole)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        assert process.stderr is not None
        process.stderr.close()
        check_complete(tmp_path, len(markers))

    done = subprocess.run(command(tmp_path), **quiet, check=False)
    assert done.returncode in (0, 1), done.stderr
    assert check_complete(tmp_path, len(markers)) == everything
