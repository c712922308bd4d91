"""Stretches in which a recording is badly wrong, though its means are good."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import exactik as ik
from exactik.lab.synthetic import simulate_performance, simulate_recording
from exactik.recordings.diagnosis import Finding, find_far_stretches
from exactik.typing import Array

RATE = 60.0
HEAD = ("LFHD", "RFHD", "LBHD", "RBHD")


# --- what a stretch is


def errors_of(*frames: int, far: float = 0.05, usual: float = 0.004) -> Array:
    """Ten seconds of a marker that is far from its place in some frames, and of one that is not."""
    errors = np.full((600, 2), usual)
    errors[list(frames), 0] = far
    return errors


def find(errors: Array, rate: float = RATE) -> list[Finding]:
    return find_far_stretches(errors, ("A", "B"), rate, stature=2.0)


def test_a_stretch_has_its_frames_and_its_error():
    errors = errors_of(*range(100, 112))
    errors[105, 0], errors[112, 0] = 0.09, 0.03
    (stretch,) = find(errors)
    assert (stretch.names, stretch.frames, stretch.value) == (("A",), (100, 112), 0.05 / 2.0)
    assert stretch.text == "A is off by up to 90 mm in frames 100 to 112"
    (later,) = find_far_stretches(errors, ("A", "B"), RATE, stature=2.0, first_frame=1000)
    assert (later.first, later.last) == (1100, 1112)


@pytest.mark.parametrize(("rate", "least"), [(60.0, 6), (240.0, 24), (20.0, 3)])
def test_a_stretch_lasts_a_tenth_of_a_second_and_three_frames(rate: float, least: int):
    assert len(find(errors_of(*range(100, 100 + least)), rate)) == 1
    assert find(errors_of(*range(100, 100 + least - 1)), rate) == []


def test_what_is_usual_for_a_marker_is_no_stretch():
    assert find(errors_of(*range(100, 130), far=0.05, usual=0.02)) == []
    assert len(find(errors_of(*range(100, 130), far=0.05, usual=0.015))) == 1


def test_missing_samples_end_a_stretch():
    errors = errors_of(*range(100, 109))
    assert len(find(errors)) == 1
    errors[104] = np.nan
    assert find(errors) == []
    errors[:, 0] = np.nan
    assert find(errors) == [] and find(errors[:2]) == []


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


def test_a_sound_recording_has_none_that_counts(solved: ik.Track):
    assert solved.verdict.grade == "good"
    stretches = [found for found in solved.findings if found.kind == "marker-stretch"]
    assert all(stretch.value < 0.01 / 1.7 for stretch in stretches)


@pytest.mark.parametrize(("frames", "grade"), [(12, "care"), (3, "good")])
def test_heads_beside_their_markers_in_a_twentieth_of_the_frames(
    solved: ik.Track, frames: int, grade: str
):
    """As smoothing once left them, by 64 mm; means and shares of frames are those of a good one."""
    errors = np.array(solved.marker_errors)
    columns = [solved.names.index(name) for name in HEAD]
    errors[100 : 100 + frames, columns] = 0.064
    verdict = replace(solved, marker_errors=errors).verdict
    assert verdict.grade == grade
    if grade == "care":
        (reason,) = verdict.reasons
        assert reason.code == "marker-stretch" and set(reason.names) == set(HEAD)
        assert "off by up to 64 mm in frames 101 to 112" in reason.text


def stray(markers: ik.Markers, name: str, seconds: float) -> ik.Markers:
    """The same with a marker 100 mm beside itself for a while."""
    positions = np.array(markers.positions)
    positions[120 : 120 + round(seconds * RATE), markers.names.index(name), 2] += 0.1
    return replace(markers, positions=positions)


@pytest.mark.parametrize("name", ["RBWT", "LKNE", "STRN"])
def test_a_marker_that_strays_for_a_while_is_named(markers: ik.Markers, name: str):
    strayed = stray(markers, name, 0.3)
    verdict = ik.track(ik.human(), strayed, robust=None).verdict
    assert verdict.grade == "care"
    reasons = {reason.code: reason for reason in verdict.reasons}
    assert name in reasons["marker-stretch"].names
    # By default it is left out, said, and counts if it is much of what there is of it.
    track = ik.track(ik.human(), strayed)
    (left_out,) = (found for found in track.attention if found.kind == "ignored-marker")
    assert left_out.names == (name,) and left_out.frames == (120, 120 + round(0.3 * RATE) - 1)
    assert left_out.value == pytest.approx(0.1, abs=0.02)
    assert track.verdict.grade == "good"
    (reason,) = ik.track(ik.human(), strayed.between(1.0, 3.0)).verdict.reasons
    assert reason.code == "left-out" and reason.names == (name,)
    assert f"{round(0.3 * RATE)} samples were left out" in reason.text


def test_what_a_robust_loss_left_out_does_no_harm(markers: ik.Markers):
    strayed = stray(markers, "RBWT", 0.3)
    assert ik.track(ik.human(), strayed, robust="huber").verdict.grade == "good"


def test_a_moment_is_none(markers: ik.Markers):
    verdict = ik.track(ik.human(), stray(markers, "RBWT", 0.05)).verdict
    assert "marker-stretch" not in [reason.code for reason in verdict.reasons]
