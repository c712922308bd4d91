"""A newcomer's way: the commands of each page under docs/start, in order, in an empty folder."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from exactik.compile import load_library
from tests.support.checkout import ROOT

PAGES = sorted((ROOT / "docs" / "start").glob("*.md"))
RESULTS = {
    "animation": ("demo/performance.glb", "mine.glb", "mine.html"),
    "gait": ("demo/performance.c3d", "walk.csv", "walk.html"),
    "machine-learning": (
        "archive/summary.parquet",
        "archive/index.html",
        "g1.mjlab.npz",
        "g1.html",
    ),
    "robotics": (),  # its results are printed by Python, see test_docs.py
}
SERVE_S = 120.0  # [s] until a page of the viewer is there, on a busy machine


def commands_of(page: Path) -> list[list[str]]:
    blocks = re.findall(r"^```sh\n(.*?)^```", page.read_text("utf-8"), re.S | re.M)
    lines = [line for block in blocks for line in block.splitlines()]
    return [line.split()[1:] for line in lines if line.startswith("exactik ")]


def serves(words: list[str]) -> bool:
    """Whether a command shows a page until somebody ends it."""
    return words[0] == "pose" or (words[0] == "play" and "-o" not in words)


def start_and_stop(command: list[str], folder: Path, environment: dict[str, str]) -> None:
    """Start a viewer, wait until it says where its page is, and end it."""
    with subprocess.Popen(
        [*command, "--no-browser"], cwd=folder, env=environment, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        impatience = threading.Timer(SERVE_S, process.kill)
        impatience.start()
        said = process.stdout.readline()
        impatience.cancel()
        process.terminate()
    assert said.startswith("The page is at http://127.0.0.1:"), said


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_commands_of_a_start_page_lead_to_its_results(page: Path, tmp_path: Path):
    if page.stem != "robotics":
        pytest.importorskip("viser")
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    if load_library() is not None:  # nothing is compiled
        environment["EXACTIK_COMPILED"] = "strict"
    for words in commands_of(page):
        command = [sys.executable, "-m", "exactik", *words]
        if serves(words):
            start_and_stop(command, tmp_path, environment)
            continue
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True
        )
        assert done.returncode in (0, 1), done.stderr  # 1: usable with care
        assert "Traceback" not in done.stderr
    assert [name for name in RESULTS[page.stem] if not (tmp_path / name).is_file()] == []


def test_every_start_page_has_results_to_look_for():
    assert {page.stem for page in PAGES} == set(RESULTS)
