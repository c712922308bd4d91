"""FBX files that Blender writes, read here: bones and skins are where Blender has them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

from exactik.io import load_motion
from tests.support.blender import find_blender
from tests.support.blender_rigs import CASES
from tests.support.checkout import ROOT

TOLERANCE = 1e-5  # [m]; Blender computes poses in single precision
UP = {"z up": "z", "x up": "x"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("rigs")
    command = [str(find_blender()), "-m", "tests.support.blender_rigs", str(made)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return made


@pytest.mark.parametrize("name", CASES)
def test_bones_and_skin_are_where_blender_has_them(folder: Path, name: str):
    motion = load_motion(folder / f"{name}.fbx")
    with np.load(folder / f"{name}.npz") as file:
        truth = dict(file)
    assert motion.rate == truth["rate"] and len(motion) == len(truth["heads"])
    assert motion.notes == () and motion.up_axis == UP.get(name, "y")
    pose, names = motion.forward(), motion.skeleton.bone_names
    heads = pose.positions[:, [names.index(bone) for bone in truth["names"]]]
    R = find_turn(truth["heads"], heads)
    np.testing.assert_allclose(heads, truth["heads"] @ R.T, atol=TOLERANCE)
    visuals = motion.skeleton.visuals
    assert visuals.notes == ()
    for frame, vertices in enumerate(truth["vertices"]):
        found = visuals.compute_vertices(names, pose.positions[frame], pose.rotations[frame])
        np.testing.assert_allclose(np.concatenate(found), vertices @ R.T, atol=TOLERANCE)


def find_turn(blender: np.ndarray, ours: np.ndarray) -> np.ndarray:
    """Return the turn by right angles that the exporter made; found, not assumed."""
    a, b = (x.reshape(-1, 3) - x.reshape(-1, 3).mean(axis=0) for x in (blender, ours))
    u, _, vt = np.linalg.svd(b.T @ a)
    turn = np.rint(u @ np.diag([1.0, 1.0, np.linalg.det(u @ vt)]) @ vt)
    assert np.linalg.det(turn) == 1.0
    return turn
