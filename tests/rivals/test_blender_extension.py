"""The Blender extension, headless: three operators, three rigs, three recordings."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from exactik.io import load_motion, load_skeleton
from exactik.lab.synthetic import simulate_performance, simulate_recording
from tests.support.blender import find_blender
from tests.support.blender_sessions import RIGS, TREE
from tests.support.checkout import DATA, ROOT

TOLERANCE = 1e-4  # [m] of an armature against the .glb of the same solve
SKIN = 5e-3  # [m]; Blender binds the body at rest, after it was stretched to the subject's bones
REAL = DATA / "asf_amc" / "cmu02" / "02_01.c3d"
RECORDINGS = ("first", "second", REAL.stem)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    python = find_blender()
    command = [str(python), "-c", "import exactik"]
    if subprocess.run(command, capture_output=True).returncode != 0:
        pytest.skip("the Python with bpy has no exactik: make test-blender makes one that does")
    made = tmp_path_factory.mktemp("sessions")
    files = []
    for seed, name in enumerate(RECORDINGS[:2]):
        acts = (("walk",), ("jack", "squat"))[seed]
        recording = simulate_recording(simulate_performance(3.0, seed=seed, acts=acts), seed=seed)
        recording.markers.save(made / f"{name}.c3d")
        recording.truth.save(made / "motion.glb")  # of the last one
        files.append(made / f"{name}.c3d")
    files += [REAL] if REAL.is_file() else []
    arguments = [str(path) for path in (made, *files, made / "motion.glb")]
    command = [str(python), "-m", "tests.support.blender_sessions", *arguments]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=900)
    return made


def read(folder: Path, name: str) -> dict[str, Any]:
    path = folder / f"{name}.npz"
    if not path.is_file() and REAL.stem in name:
        pytest.skip("no recordings beside the clone")
    with np.load(path) as file:
        return dict(file)


def distance_to_glb(folder: Path, name: str, seen: dict[str, Any]) -> float:
    """Return how far bones are from those of the .glb of the same motion [m]."""
    motion = load_motion(folder / f"{name}.glb")
    assert motion.up_axis == "z" and motion.rate == pytest.approx(float(seen["rate"]), rel=1e-6)
    bones = [motion.skeleton.bone_index(bone) for bone in seen["names"]]
    positions = motion.forward().positions[:, bones]
    return float(np.linalg.norm(positions - seen["heads"], axis=-1).max())


@pytest.mark.parametrize("name", RECORDINGS)
def test_markers_become_an_armature_with_its_body(folder: Path, name: str):
    seen = read(folder, f"solved {name}")
    assert distance_to_glb(folder, f"solved {name}", seen) < TOLERANCE
    figure = load_skeleton(folder / f"solved {name}.glb")
    pose = figure.forward(load_motion(folder / f"solved {name}.glb").q[0])
    (body,) = figure.visuals.compute_vertices(figure.bone_names, pose.positions, pose.rotations)
    assert np.linalg.norm(body - seen["skin"], axis=1).max() < SKIN


@pytest.mark.parametrize("rig", RIGS)
def test_a_motion_is_taken_over_by_a_rig(folder: Path, rig: str):
    seen = read(folder, f"retargeted {rig}")
    assert distance_to_glb(folder, f"retargeted {rig}", seen) < TOLERANCE
    assert np.ptp(seen["heads"][:, 0], axis=0).max() > 0.05


@pytest.mark.parametrize("name", RECORDINGS)
@pytest.mark.parametrize("rig", RIGS)
def test_markers_move_a_rig(folder: Path, rig: str, name: str):
    solved, seen = read(folder, f"solved {name}"), read(folder, f"{name} on {rig}")
    assert len(seen["heads"]) == len(solved["heads"])
    hips, pelvis = seen["heads"][:, 0], solved["heads"][:, list(solved["names"]).index("pelvis")]
    moved, expected = hips - hips[0], pelvis - pelvis[0]
    scale = (moved * expected).sum() / (expected**2).sum()
    assert 0.5 < scale < 1.2  # by the length of the legs
    assert np.abs(moved - scale * expected).max() < 0.1
    lengths = np.linalg.norm(np.diff(seen["heads"][:, 7:9], axis=1), axis=-1)
    assert np.ptp(lengths) < TOLERANCE


@pytest.mark.parametrize("rig", [*RIGS, TREE])
def test_a_pulled_hand_arrives_while_pinned_feet_stay(folder: Path, rig: str):
    seen = read(folder, f"pulled {rig}")
    assert seen["ended"] == "FINISHED"
    names = list(seen["names"])
    feet, hand = [names.index(foot) for foot in seen["feet"]], names.index(seen["hand"])
    np.testing.assert_allclose(seen["heads"][feet], seen["before"][feet], atol=TOLERANCE)
    np.testing.assert_allclose(seen["turns"][feet], seen["before_turns"][feet], atol=1e-4)
    np.testing.assert_allclose(seen["heads"][hand], seen["target"], atol=TOLERANCE)


def test_what_goes_wrong_is_reported_in_a_sentence(folder: Path):
    ends = json.loads((folder / "sessions.json").read_text())
    assert "no armature is selected; expected the rig" in ends.pop("no rig")
    assert "expected a header of 512 bytes" in ends.pop("no C3D")
    assert set(ends.values()) == {"FINISHED"}
