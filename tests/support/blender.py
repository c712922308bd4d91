"""Where a Python with Blender's bpy is."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.peers.environments import FOLDER
from exactik_papers.blender import find_blender_python
from tests.support.checkout import ROOT


def find_blender() -> Path:
    """Return a Python that has bpy; skip the test without one."""
    own = ROOT / ".venv-blender" / "bin" / "python"
    named = find_blender_python()
    for python in (named, own, FOLDER / "blender" / "bin" / "python"):
        if python is not None and python.is_file():
            return python
    pytest.skip("no Python with bpy: EXACTIK_BLENDER names none, make test-blender made none")
