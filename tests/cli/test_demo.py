"""The demonstration: a recording with known faults, solved and compared with the truth."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import exactik as ik
from exactik.lab.synthetic import simulate_performance, simulate_recording
from exactik.recordings.pipeline import compare_with_truth


def exactik(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "error", "-m", "exactik", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Folder and text of the demonstration as a newcomer runs it."""
    folder = tmp_path_factory.mktemp("demo")
    done = exactik(folder, "demo")
    assert done.returncode == 0, done.stderr
    return folder, done.stdout


def test_it_writes_what_it_says(shown: tuple[Path, str]):
    folder, text = shown
    files = re.findall(r"^written +(\S+):", text, re.M)
    names = sorted(path.name for path in (folder / "exactik-demo").iterdir())
    assert names == sorted(Path(file).name for file in files)
    assert {Path(name).suffix for name in names} == {".c3d", ".bvh", ".glb", ".html"}
    words = [line for line in text.splitlines() if re.search("exactik (solve|play)", line) is None]
    assert max(map(len, words)) <= 80
    assert re.search(r"exactik play \S+\.glb --markers \S+\.c3d", text) is not None


def test_the_error_bars_hold_the_truth_as_often_as_they_should(shown: tuple[Path, str]):
    _, text = shown
    share = re.search(r"hold the\s+truth\s+in\s+(\d+) %", text)
    assert share is not None and 85 <= int(share[1]) <= 95
    joints = re.search(r"joints are off by ([\d.]+) mm", text)
    assert joints is not None and float(joints[1]) < 3.0


def test_the_swapped_pair_is_named(shown: tuple[Path, str]):
    _, text = shown
    made = simulate_recording(simulate_performance(20.0), noise=0.001, gaps=0.05)
    assert made.swapped is not None
    flat = " ".join(text.split())
    assert re.search(rf"{' and '.join(made.swapped)} swapped in frames \d+", flat)
    assert f"{' and '.join(made.swapped)} seem to have exchanged their names" in flat


def test_its_files_can_be_read_and_are_the_performance(shown: tuple[Path, str]):
    folder, _ = shown
    truth = simulate_performance(20.0)
    bvh = ik.load_motion(folder / "exactik-demo" / "performance.bvh", length_unit="cm")
    assert len(bvh) == len(truth) and bvh.rate == pytest.approx(120.0, rel=1e-4)
    k = bvh.skeleton.bone_index("head")
    y_up = bvh.forward().positions[:, k]
    z_up = truth.forward().positions[:, truth.skeleton.bone_index("head")]
    # y is up and z forward, as other programs expect it of BVH.
    away = np.linalg.norm(y_up[:, [2, 0, 1]] - z_up, axis=1)
    assert np.median(away) < 0.01


@pytest.mark.full
def test_the_command_that_it_prints_does_the_same(shown: tuple[Path, str]):
    folder, text = shown
    command = re.search(r"^  (exactik solve .* -o take.bvh)$", text, re.M)
    assert command is not None
    done = exactik(folder, *shlex.split(command[1])[1:])
    assert done.returncode == 0, done.stdout  # gaps to look at, but good as a whole
    both = [folder / "take.bvh", folder / "exactik-demo" / "performance.bvh"]
    one, other = (ik.load_motion(path, length_unit="cm").q for path in both)
    np.testing.assert_allclose(one, other, atol=1e-5)


@pytest.mark.full
def test_it_prints_json(tmp_path: Path):
    done = exactik(tmp_path, "demo", "--json", "--seconds", "3", "-o", "here")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert 0.7 < answer["within_band"] < 1.0 and answer["joint_error"] < 0.005
    assert sorted(answer["written"]) == sorted(
        str(p) for p in (tmp_path / "here").iterdir()
    ) or all((tmp_path / name).is_file() for name in answer["written"])


def test_a_perfect_solve_agrees_with_the_truth():
    made = simulate_recording(simulate_performance(2.0, 30.0), noise=1e-6, gaps=0.0, swap=False)
    track = ik.track(made.truth.skeleton, made.markers, sigma=1e-6)
    verdict = compare_with_truth(track, made.truth)
    assert verdict.joint_error < 1e-3 and verdict.angle_error < 1e-3
    assert 0.5 < verdict.determined <= 1.0
