"""Recordings of laboratories: each right without an option, or not called good."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import exactik as ik
from exactik.recordings.pipeline import SolvedRecording, solve_recording
from tools.spoiled_copies import FAULTS, MIRRORING_FAULTS

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::exactik.FileWarning")]

SECONDS = 2.5  # [s] of each; two strides
BRIEF_FAULT = "a marker strays for 0.4 s"


def load(shared: Path, name: str, seconds: float = SECONDS) -> ik.Markers:
    return ik.load_markers(shared / "data" / name).between(0.0, seconds)


def solve(markers: ik.Markers) -> SolvedRecording:
    (one,) = solve_recording(markers, ik.human())
    return one


@cache
def solve_unspoiled(shared: Path, name: str) -> SolvedRecording:
    return solve(load(shared, name))


def height_of_head_above_feet(solved: SolvedRecording) -> float:
    motion = solved.track.motion
    positions = motion.forward().positions
    head, foot = (motion.skeleton.bone_index(name) for name in ("head", "l_foot"))
    return float(np.median(positions[:, head, 2] - positions[:, foot, 2]))


def test_a_static_t_pose_in_a_y_up_trc_stands(shared_data: Path):
    one = solve(load(shared_data, "opensim/gait2354/subject01_static.trc", 1.0))
    assert one.track.context is not None and one.track.context.up.axis == "y"
    assert height_of_head_above_feet(one) > 1.2
    assert one.verdict.grade == "good" and "Hardly anything moves" in str(one.verdict)


def test_two_subjects_side_by_side(shared_data: Path):
    folder = "asf_amc/hdm05_dg"
    takes = [
        load(shared_data, f"{folder}/HDM_dg_{name}_120.c3d", 10.0).between(8.0, None)
        for name in ("01-03_01", "03-05_02")
    ]
    takes = [take.chosen([n for n in take.names if ":" in n]).without_prefix() for take in takes]
    shift = np.nanmean(takes[0].positions, axis=(0, 1)) - np.nanmean(
        takes[1].positions, axis=(0, 1)
    )
    both = replace(
        takes[0],
        positions=np.concatenate(
            [takes[0].positions, takes[1].positions + shift + [0, 3, 0]], axis=1
        ),
        names=(*(f"A:{n}" for n in takes[0].names), *(f"B:{n}" for n in takes[1].names)),
    )
    found = solve_recording(both, ik.human(), subject="all")
    assert [one.subject for one in found] == ["A", "B"]
    assert all(one.verdict.grade == "good" for one in found)


def test_computed_points_of_plug_in_gait_are_no_markers(shared_data: Path):
    one = solve(load(shared_data, "c3d/vicon_pig/PiG_Motion3_FF.c3d"))
    assert len(one.track.names) == 16 and one.verdict.grade == "good"


@pytest.mark.parametrize("part", ["legs", "arms", "fifteen"])
def test_half_instrumented_bodies(shared_data: Path, part: str):
    whole = load(shared_data, "asf_amc/cmu02/02_01.c3d").without_prefix()
    legs = ("FWT", "BWT", "THI", "KNE", "SHN", "ANK", "HEE", "TOE", "MT5")
    arms = ("SHO", "UPA", "ELB", "FRM", "WRA", "WRB", "FIN")
    chosen = {
        "legs": [n for n in whole.names if n[1:] in legs],
        "arms": [n for n in whole.names if n[1:] in arms or n in ("C7", "CLAV", "STRN", "T10")],
        "fifteen": list(whole.names)[::3][:15],
    }[part]
    verdict = solve(whole.chosen(chosen)).verdict
    if part == "fifteen":  # whatever comes first: no set
        assert verdict.grade != "good"
    else:
        assert verdict.grade != "reject"
        assert ("head" if part == "legs" else "l_shin") in verdict.held
    if part == "legs":
        assert verdict.grade == "good"


@pytest.mark.parametrize("seed", [0, 1])
def test_a_leg_beside_someone_who_stands_still_is_seen(shared_data: Path, seed: int):
    """The fit moves markers on thigh, pelvis and foot instead: left and right differ there."""
    markers = load(shared_data, "asf_amc/hdm05_dg/HDM_dg_03-05_02_120.c3d").resampled(50.0)
    one = solve(markers)
    assert one.verdict.grade != "reject" and one.track.context is not None
    take_leg = FAULTS["one leg from elsewhere"]
    copy = take_leg(markers, one.track.context, np.random.default_rng(seed))
    assert copy is not None
    assert "marker-symmetry" in [reason.code for reason in solve(copy).verdict.reasons]


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize(
    "name",
    [
        "asf_amc/cmu02/02_01.c3d",
        "c3d/vicon_pig/PiG_Motion3_FF.c3d",
        "opensim/gait2354/subject01_walk1.trc",
    ],
)
def test_no_spoiled_copy_of_a_good_recording_is_good(shared_data: Path, name: str, fault: str):
    markers, one = load(shared_data, name), solve_unspoiled(shared_data, name)
    assert one.verdict.grade == "good" and one.track.context is not None
    assert one.track.context.handedness is not None or fault not in MIRRORING_FAULTS
    copy = FAULTS[fault](markers, one.track.context, np.random.default_rng(2))
    assert copy is not None
    spoiled = solve(copy)
    if fault == BRIEF_FAULT and spoiled.verdict.grade == "good":
        # Less than 2 % of the values are in doubt: then at least the marker is named.
        assert {one.kind for one in spoiled.track.attention} & {"far-marker", "marker-jump"}
    else:
        assert spoiled.verdict.grade != "good"
