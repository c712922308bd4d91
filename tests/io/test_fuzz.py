"""Damaged files of every kind: a result or one clear sentence, in bounded time and memory.

What each run must keep is told in fuzz_runs.py. A run that fails names itself, as in
"motion.bvh/own/1/37", and `python -m tests.support.fuzz_runs FOLDER --again NAME` does it again.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tracemalloc
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from exactik.errors import FileError, UnknownNameError
from tests.support import fuzz_runs
from tests.support.checkout import ROOT
from tests.support.fuzz_files import READERS, Reader
from tests.support.fuzz_runs import Fuzzer, Wrong

RUNS = 36  # of each reader, 1,044 in all; scenes, which are shown besides, take longer
SCENE_RUNS = 2
CAMPAIGN = 36_720  # over all readers


@pytest.fixture(scope="module")
def fuzzer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fuzzer]:
    """Files of our own only, so that the mutants are the same on every machine."""
    made = Fuzzer(tmp_path_factory.mktemp("fuzz"))
    tracemalloc.start()
    yield made
    tracemalloc.stop()


@pytest.mark.full
@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)
def test_damaged_files_end_in_a_result_or_a_sentence(fuzzer: Fuzzer, reader: Reader):
    runs = SCENE_RUNS if reader.what == "scene" else RUNS
    outcomes = Counter(fuzzer.run(fuzzer.named(reader, 0, run)) for run in range(runs))
    assert outcomes["FileError"] > 0 or reader.what == "scene"
    assert set(outcomes) <= {"result", "FileError"}


def test_a_run_is_the_same_whenever_it_is_done(fuzzer: Fuzzer):
    for reader in READERS:
        name = fuzzer.named(reader, 1, 3)
        outcomes, files = [], []
        for _ in range(2):
            outcomes.append(fuzzer.run(name))
            files.append(fuzzer.place(reader).read_bytes())
        assert outcomes[0] == outcomes[1] and files[0] == files[1]


def loops(path: Path) -> None:
    while True:
        try:
            sum(range(100))
        except Exception:
            pass


def warns(path: Path) -> None:
    warnings.warn("overflow", RuntimeWarning, stacklevel=1)
    raise FileError(path, "no")


def fails(error: Exception) -> Callable[[Path], None]:
    def load(path: Path) -> None:
        raise error

    return load


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers here")
@pytest.mark.parametrize(
    ("load", "message"),
    [
        (loops, "Hang"),
        (lambda path: np.ones(8 << 20), "took 64 MiB of memory"),
        (warns, "RuntimeWarning at test_fuzz.py, line"),
        (fails(RecursionError("deep")), "RecursionError: deep"),
        (fails(FileError("elsewhere", "x")), "does not name the file"),
        (fails(UnknownNameError("mutant.c3d", "a\nb", ["\n"])), "cannot be printed"),
        (lambda path: SimpleNamespace(positions=np.array([np.inf])), "has infinities"),
        (lambda path: (path.parents[1] / "elsewhere").write_text(""), "opened .*elsewhere"),
    ],
)
def test_the_judge_sees_faults(
    fuzzer: Fuzzer, monkeypatch: pytest.MonkeyPatch, load: Callable[[Path], Any], message: str
):
    monkeypatch.setattr(fuzz_runs, "SECONDS", 0.2)
    monkeypatch.setattr(Reader, "load", lambda self, path, *rest: load(path))
    with pytest.raises(Wrong, match=message) as caught:
        fuzzer.run("markers.c3d/own/0/0")
    assert "run markers.c3d/own/0/0 (" in str(caught.value)


def campaign(folder: Path, *more: str) -> str:
    """Run many mutants in a process of its own, whose crash is seen; return what it prints."""
    seed = os.environ.get("EXACTIK_FUZZ_SEED", "1")
    command = [sys.executable, "-m", "tests.support.fuzz_runs", str(folder), "--seed", seed]
    done = subprocess.run(
        [*command, "--runs", str(CAMPAIGN), *more],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    current = folder / "current"
    last = current.read_text().strip() if current.exists() else "none"
    report = f"exit code {done.returncode}, last run {last}\n{done.stdout}{done.stderr[-4000:]}"
    assert done.returncode == 0, report
    return done.stdout


@pytest.mark.slow
def test_campaign_on_files_of_our_own(tmp_path: Path):
    assert f"{CAMPAIGN} runs" in campaign(tmp_path)


@pytest.mark.slow
def test_campaign_on_real_files(tmp_path: Path, shared_data: Path):
    assert f"{CAMPAIGN} runs" in campaign(tmp_path, "--shared", str(shared_data))
