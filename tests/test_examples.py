"""Every example runs by itself, prints something, and is short."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.checkout import ROOT
from tests.support.selection import first_quick

EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


@pytest.mark.parametrize("path", first_quick(EXAMPLES), ids=lambda path: path.stem)
def test_an_example_runs_elsewhere(path: Path, tmp_path: Path):
    done = subprocess.run(
        [sys.executable, "-W", "error", str(path)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == "" and len(done.stdout.splitlines()) >= 2
    assert list(tmp_path.iterdir()) == [], "an example leaves files behind"


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_short_and_says_what_it_shows(path: Path):
    text = path.read_text("utf-8")
    assert len(text.splitlines()) < 60
    assert text.startswith('"""') and "shared" not in text


def test_examples_are_numbered():
    numbers = [int(re.match(r"\d+", path.name)[0]) for path in EXAMPLES]  # type: ignore[index]
    assert numbers == list(range(1, len(EXAMPLES) + 1)) and len(numbers) >= 9
