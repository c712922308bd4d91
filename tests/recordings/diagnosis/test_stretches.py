"""Stretches in which a recording is badly wrong, though its means are good."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import exactik as ik
from exactik.lab.synthetic import simulate_performance, simulate_recording
from exactik.recordings.diagnosis import Finding, find_far_stretches
from exactik.recordings.tracking import Quality
from exactik.typing import Array

RATE = 60.0


# --- what a stretch is


def errors_of(*frames: int, far: float = 0.05, usual: float = 0.004) -> Array:
    """Ten seconds of a marker that is far from its place in some frames, and of one that is not."""
    errors = np.full((600, 2), usual)
    errors[list(frames), 0] = far
    return errors


def find(errors: Array, sigma: float = 0.002) -> list[Finding]:
    return find_far_stretches(errors, ("A", "B"), RATE, sigma)


def test_a_stretch_has_its_frames_and_its_error():
    errors = errors_of(*range(100, 112))
    errors[105, 0] = 0.09
    (stretch,) = find(errors)
    assert (stretch.names, stretch.frames, stretch.value) == (("A",), (100, 111), 0.09)
    assert stretch.text == "A is off by up to 90 mm, usually by 4.0 mm"
    assert stretch.details["worst"] == 105
    (later,) = find_far_stretches(errors, ("A", "B"), RATE, 0.002, first_frame=1000)
    assert (later.first, later.last, later.details["worst"]) == (1100, 1111, 1105)


@pytest.mark.parametrize(("apart", "count"), [(6, 1), (7, 2)])
def test_stretches_within_a_moment_are_one(apart: int, count: int):
    frames = (*range(100, 103), *range(103 + apart, 106 + apart))
    assert len(find(errors_of(*frames))) == count


def test_what_is_usual_for_a_marker_and_what_noise_does_are_no_stretch():
    assert find(errors_of(*range(100, 130), far=0.05, usual=0.02)) == []
    assert len(find(errors_of(*range(100, 130), far=0.05, usual=0.015))) == 1
    assert find(errors_of(*range(100, 130), far=0.02), sigma=0.006) == []
    assert len(find(errors_of(*range(100, 130), far=0.025), sigma=0.006)) == 1


def test_missing_samples_are_not_far():
    errors = errors_of(*range(100, 109))
    errors[108] = np.nan
    assert find(errors)[0].frames == (100, 107)
    errors[:, 0] = np.nan
    assert find(errors) == []


def test_stretches_at_the_ends_and_the_worst_first():
    errors = errors_of(*range(0, 10))
    errors[580:, 1] = 0.07
    worst, other = find(errors)
    assert (worst.names, worst.frames) == (("B",), (580, 599))
    assert (other.names, other.frames) == (("A",), (0, 9))


# --- what it does to a verdict


@pytest.fixture(scope="module")
def markers() -> ik.Markers:
    """Four seconds of a walk, 1 mm of noise."""
    motion = simulate_performance(4.0, RATE)
    return simulate_recording(motion, noise=0.001, gaps=0.0, swap=False).markers


@pytest.fixture(scope="module")
def solved(markers: ik.Markers) -> ik.Track:
    return ik.track(ik.human(), markers)


def test_a_sound_recording_has_none(solved: ik.Track):
    assert solved.verdict.grade == "good"
    assert [found for found in solved.findings if found.kind == "far-marker"] == []


def stray(markers: ik.Markers, name: str, seconds: float) -> ik.Markers:
    """The same with a marker 100 mm beside itself for a while."""
    positions = np.array(markers.positions)
    positions[120 : 120 + round(seconds * RATE), markers.names.index(name), 2] += 0.1
    return replace(markers, positions=positions)


@pytest.mark.parametrize("name", ["RBWT", "LKNE", "STRN"])
def test_a_marker_that_strays_for_a_while_is_named(markers: ik.Markers, name: str):
    track = ik.track(ik.human(), stray(markers, name, 0.3), robust=None)
    found = [one for one in track.attention if one.names == (name,)]
    assert any(one.first <= 125 and one.last >= 132 for one in found)
    assert (track.quality[120:138] == Quality.DOUBTFUL).any(axis=1).all()
    # By default it is left out, said, and counts if it is much of what there is of it.
    count = round(0.3 * RATE)
    repaired = ik.track(ik.human(), stray(markers, name, 0.3))
    (left_out,) = (one for one in repaired.attention if one.kind == "ignored-marker")
    assert left_out.names == (name,) and left_out.frames == (120, 120 + count - 1)
    assert left_out.value == pytest.approx(0.1, abs=0.02)
    assert repaired.verdict.grade == "good"
    (reason,) = ik.track(ik.human(), stray(markers, name, 0.3).between(1.0, 3.0)).verdict.reasons
    assert reason.code == "left-out" and reason.names == (name,)
    assert f"{count} samples were left out" in reason.text


def test_what_a_robust_loss_left_out_does_no_harm(markers: ik.Markers):
    strayed = stray(markers, "RBWT", 0.3)
    assert ik.track(ik.human(), strayed, robust="huber").verdict.grade == "good"


def test_what_moves_no_joint_by_more_than_its_error_bar_is_not_said(markers: ik.Markers):
    """Of the four markers of the pelvis, one is off by 10 mm: far for it, and nothing turns."""
    positions = np.array(markers.positions)
    positions[120:140, markers.names.index("RBWT"), 0] += 0.01
    track = ik.track(ik.human(), replace(markers, positions=positions))
    errors = track.marker_errors[:, track.names.index("RBWT")]
    assert errors[120:140].max() > 3.0 * np.median(errors)
    assert [found for found in track.findings if found.kind == "far-marker"] == []
