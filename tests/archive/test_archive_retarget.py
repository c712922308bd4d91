"""Many clips taken over at once: resumable, the same bits, measures, conditions."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import exactik as ik
from exactik.archive import read_counts, retarget_archive
from exactik.errors import UsageError
from exactik.lab.synthetic import simulate_performance
from tests.support.archives import check_whole, hash_outputs

pytest.importorskip("distributed")
parquet = pytest.importorskip("pyarrow.parquet")

CLIPS, FRAMES = 3, 12


def write_clips(folder: Path, count: int, frames: int = FRAMES) -> None:
    """Pieces of a walk, a file each; one is in a folder of its own."""
    walk = simulate_performance(4.0, rate=30.0, acts=("walk",))
    rng = np.random.default_rng(0)
    for k in range(count):
        first = int(rng.integers(0, len(walk) - frames))
        path = folder / ("sub" if k == 1 else "") / f"clip{k:03d}.npz"
        path.parent.mkdir(parents=True, exist_ok=True)
        replace(walk, q=walk.q[first : first + frames]).save(path)


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    from distributed import Client

    options: dict[str, Any] = {"processes": False, "n_workers": 1, "threads_per_worker": 1}
    with Client(dashboard_address=":0", set_as_default=False, **options) as one:
        yield one


@pytest.fixture(scope="module")
def taken(client: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Clips taken over once; tests work on copies."""
    folder = tmp_path_factory.mktemp("clips")
    write_clips(folder / "in", CLIPS)
    done = retarget_archive(folder / "in", folder / "out", to="human", client=client)
    assert (done.solved, done.states, done.kept) == (CLIPS, {"done": CLIPS}, None)
    return folder


@pytest.fixture
def archive(taken: Path, tmp_path: Path) -> Path:
    """A copy of the archive that a test may change; its inputs stay where they are."""
    shutil.copytree(taken / "out", tmp_path / "out")
    return tmp_path / "out"


def test_clips_are_what_retarget_makes_of_each(taken: Path):
    assert check_whole(taken / "out") == CLIPS
    source = ik.load_motion(taken / "in/sub/clip001.npz")
    alone = ik.retarget(source, ik.human()).motion
    again = ik.load_motion(taken / "out/takes/sub/clip001.npz")
    assert np.array_equal(alone.q, again.q) and again.rate == 30.0


def test_table_and_page_have_the_measures_the_worst_first(taken: Path):
    table = parquet.read_table(taken / "out/summary.parquet").to_pylist()
    measures = ("slide_mm", "wrist_percent", "limit_percent", "speed_percent", "jumps", "worst")
    assert all(row[name] is not None for row in table for name in measures)
    assert {row["verdict"] for row in table} <= {"good", "care"}
    assert all(row["slide_mm"] < 1.0 and row["worst"] >= row["slide_mm"] for row in table)
    page = (taken / "out/index.html").read_text()
    assert '"first":"worst"' in page and '"title":"Slide, mm"' in page


def test_what_is_done_is_not_done_again_and_what_is_lost_is(
    taken: Path, archive: Path, client: Any
):
    hashes = hash_outputs(taken / "out")
    again = retarget_archive(taken / "in", archive, to="human", client=None)
    assert (again.solved, again.found) == (0, CLIPS)
    with sqlite3.connect(archive / "ledger.sqlite") as base:
        base.execute("DELETE FROM takes WHERE name='clip000'")  # it was done and not recorded
        base.execute("UPDATE takes SET state='running' WHERE name='clip002'")  # it was begun
    (archive / "takes/clip002.json").unlink()
    (archive / "takes/clip002.npz").write_text("half a fi")
    again = retarget_archive(taken / "in", archive, to="human", client=client)
    assert (again.solved, again.found) == (1, CLIPS - 1)
    assert hash_outputs(archive) == hashes


def test_conditions_choose_clips_and_retarget_nothing(taken: Path, archive: Path):
    table = parquet.read_table(taken / "out/summary.parquet").to_pylist()
    slides = sorted(row["slide_mm"] for row in table)
    bound = 0.5 * (slides[0] + slides[1])
    chosen = {f"takes/{row['take']}.npz" for row in table if row["slide_mm"] < bound}
    for keep in ([f"slide<{bound:.12f}mm"], [f"slide<{bound / 1000:.12f}m", "jumps<1"]):
        done = retarget_archive(taken / "in", archive, to="human", keep=keep)
        assert (done.solved, done.kept) == (0, len(chosen))
        assert set((archive / "kept.txt").read_text().split()) == chosen
    done = retarget_archive(taken / "in", archive, to="human", keep=["seconds>1"])
    assert done.kept == 0 and (archive / "kept.txt").read_text() == ""


@pytest.mark.parametrize(
    ("text", "what"),
    [("slide", "no condition"), ("slip<1mm", "no measure"), ("slide<1kg", "no unit 'kg'")],
)
def test_conditions_that_are_none_are_one_sentence(text: str, what: str, tmp_path: Path):
    with pytest.raises(UsageError, match=what):
        retarget_archive(tmp_path, tmp_path / "out", to="human", keep=[text])
    assert not (tmp_path / "out").exists()


def test_files_that_are_no_clips_are_recorded_and_stop_nothing(
    taken: Path, tmp_path: Path, client: Any
):
    shutil.copytree(taken / "in", tmp_path / "in")
    (tmp_path / "in/broken.npz").write_bytes(b"PK\x03\x04 nothing")
    (tmp_path / "in/walk.amc").write_text("1\nroot 0 0 0\n")  # and no skeleton beside it
    options: dict[str, Any] = {"to": "human", "client": client, "output_rate": 60.0}
    done = retarget_archive(tmp_path / "in", tmp_path / "out", formats=("npz", "bvh"), **options)
    assert done.states == {"done": CLIPS, "failed": 2}
    assert ik.load_motion(tmp_path / "out/takes/clip000.npz").rate == 60.0
    examples = {e["name"]: e["reason"] for e in read_counts(tmp_path / "out")["examples"]}
    assert "broken.npz" in examples["broken"] and "walk.amc" in examples["walk"]


def test_another_skeleton_beside_a_clip_is_another_input(tmp_path: Path):
    from exactik.archive.tasks import ClipOptions, ClipTask, Figure

    figure = ik.human()
    ik.Motion(figure, figure.neutral()[None], 30.0, up_axis="y").save(tmp_path / "a.mot")
    clip = tmp_path / "a.amc"
    clip.write_text("1\n")
    asked = {"figure": Figure(file="f", sha256="0"), "options": ClipOptions(), "outputs": "out"}
    task = ClipTask(name="a", address=str(clip), fingerprint="", **asked)
    hashes = set()
    for text in ("one", "two"):
        (tmp_path / "a.asf").write_text(text)
        hashes.add(task.hash_input(clip))
    assert len(hashes) == 2


@pytest.mark.slow
def test_a_run_that_is_killed_goes_on_to_the_same_bits(tmp_path: Path):
    psutil = pytest.importorskip("psutil")
    clips, kills = 24, 3
    write_clips(tmp_path / "in", clips, frames=60)
    command = [sys.executable, "-m", "exactik", "archive", "retarget", "in", "--to", "human"]
    command += ["--format", "npz,bvh", "--workers", "2", "-o"]
    assert subprocess.run([*command, "whole"], cwd=tmp_path).returncode in (0, 1)
    for k in range(kills):
        with subprocess.Popen([*command, "out"], cwd=tmp_path) as run:
            wanted = (k + 1) * clips // (kills + 2)
            while len(list((tmp_path / "out").rglob("takes/**/*.json"))) < wanted:
                assert run.poll() is None
                time.sleep(0.05)
            children = psutil.Process(run.pid).children(recursive=True)
            run.kill()
            for child in children:
                child.kill()
    assert subprocess.run([*command, "out"], cwd=tmp_path).returncode in (0, 1)
    assert read_counts(tmp_path / "out")["states"] == {"done": clips}
    assert check_whole(tmp_path / "out") == clips
    assert hash_outputs(tmp_path / "out") == hash_outputs(tmp_path / "whole")
    solves = sqlite3.connect(tmp_path / "out/ledger.sqlite").execute("SELECT solves FROM takes")
    assert all(count <= 2 for (count,) in solves)  # once more at most, if it was killed on the way
    facts = json.loads((tmp_path / "out/takes/clip000.json").read_text())
    assert facts["options"]["formats"] == [".npz", ".bvh"]
