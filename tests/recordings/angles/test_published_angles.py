"""Joint angles of real recordings against those that OpenSim and Plug-in Gait give for them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.compare_angles import CASES, compare, solve_recording

TOLERANCE = 3.0  # [°] rms after a constant offset, knee and hip, in gait
COMPARED = ("hip_flexion", "hip_adduction", "knee_flexion")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gait2354", "pig-motion", "pig-sub-labels"])
def test_hip_and_knee_agree_with_what_was_published(shared_data: Path, name: str):
    case = next(case for case in CASES if case.name == name)
    data = shared_data / "data"
    motion = solve_recording(data / case.recording)
    found = {d.angle: d for d in compare(case, motion, data)}
    for angle in COMPARED:
        for side in "rl":
            difference = found[f"{angle}_{side}"]
            assert difference.rms <= TOLERANCE, difference
            assert difference.frames > 50


@pytest.mark.slow
def test_knees_of_a_jump_agree_too(shared_data: Path):
    case = next(case for case in CASES if case.name == "dropjump")
    data = shared_data / "data"
    found = {d.angle: d for d in compare(case, solve_recording(data / case.recording), data)}
    for angle in ("knee_flexion", "hip_adduction", "ankle_dorsiflexion"):
        for side in "rl":
            assert found[f"{angle}_{side}"].rms <= TOLERANCE, found[f"{angle}_{side}"]
