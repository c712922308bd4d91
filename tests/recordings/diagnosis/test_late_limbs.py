"""Limbs that are of another time than the rest of the body, and a leg that is of another place."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import exactik as ik
from exactik.lab.synthetic import simulate_performance, simulate_recording
from exactik.model.motion import Markers, Motion
from exactik.recordings.diagnosis import Finding
from exactik.recordings.pipeline import solve_recording
from exactik.recordings.tracking import Quality


@pytest.fixture(scope="module")
def motion() -> Motion:
    return simulate_performance(4.0)


@pytest.fixture(scope="module")
def markers(motion: Motion) -> Markers:
    return simulate_recording(motion, noise=0.001, gaps=0.0, swap=False).markers


def find_columns(motion: Motion, markers: Markers, side: str, *parts: str) -> list[int]:
    bones = {f"{side}_{part}" for part in parts}
    return [m for m, name in enumerate(markers.names) if motion.skeleton.marker(name)[0] in bones]


LEG = ("thigh", "shin", "foot", "toes")
ARM = ("upper_arm", "forearm", "wrist", "hand", "fingers")


def find_late(track: ik.Track) -> list[Finding]:
    return [found for found in track.findings if found.kind == "delayed-limb"]


@pytest.mark.parametrize(
    ("parts", "late", "limb", "seconds"),
    [(LEG, 24, "l_thigh", 0.2), (LEG, -12, "l_thigh", -0.1), (ARM, 30, "l_clavicle", 0.25)],
)
def test_a_limb_of_another_time_is_found(
    motion: Motion, markers: Markers, parts: tuple[str, ...], late: int, limb: str, seconds: float
):
    positions = np.array(markers.positions)
    columns = find_columns(motion, markers, "l", *parts)
    positions[:, columns] = np.roll(positions[:, columns], late, axis=0)
    keep = slice(abs(late), len(positions) - abs(late))
    late_markers = replace(markers, positions=positions[keep])
    track = ik.track(motion.skeleton, late_markers, smooth=None, branches=False)
    (found,) = find_late(track)
    assert found.names == (limb,)
    assert found.value == pytest.approx(seconds, abs=0.03)
    assert ("late" if late > 0 else "early") in found.text
    bones = np.array(motion.skeleton.bone_names)[motion.skeleton.dof_bones]
    hip = bones == f"l_{parts[0]}"
    assert (track.quality[:, hip] == Quality.DOUBTFUL).mean() > 0.9
    assert track.verdict.grade != "good"


def test_limbs_in_time_are_not_suspected(motion: Motion, markers: Markers):
    track = ik.track(motion.skeleton, markers, smooth=None, branches=False)
    assert find_late(track) == []


def test_a_marker_that_is_elsewhere_for_long_is_no_good_recording(motion: Motion, markers: Markers):
    """A head turns after it, within what a neck leaves open: no value is in doubt."""
    positions = np.array(markers.positions[:240])
    positions[60:110, markers.names.index("RBHD")] += (0.0, 0.06, 0.08)
    track = ik.track(
        motion.skeleton, replace(markers, positions=positions), smooth=None, robust=None
    )
    found = next(found for found in track.findings if found.kind == "left-out")
    assert found.severity == "care"
    assert found.names[0] == "RBHD"
    assert found.value == pytest.approx(50 / 240, abs=0.02)


def test_a_leg_that_stood_elsewhere_is_told_by_its_landmarks(motion: Motion, markers: Markers):
    standing = replace(markers, positions=np.repeat(markers.positions[:1], 12, axis=0))
    places = {
        name: next(
            f.value
            for f in solve_recording(one, ik.human())[0].track.findings
            if f.kind == "places"
        )
        for name, one in (("own", standing), ("other", move_leg(motion, standing)))
    }
    assert places["own"] < 1.0 < 2.1 < places["other"]


def move_leg(motion: Motion, markers: Markers) -> Markers:
    positions = np.array(markers.positions)
    positions[:, find_columns(motion, markers, "l", *LEG)] += (0.12, 0.0, 0.09)
    return replace(markers, positions=positions)
