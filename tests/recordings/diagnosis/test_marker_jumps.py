"""Markers that are suddenly elsewhere, which a figure may follow without any error."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import exactik as ik
from exactik.lab.synthetic import simulate_performance, simulate_recording
from exactik.recordings.diagnosis import Finding, find_marker_jumps
from exactik.recordings.tracking import Quality
from exactik.typing import Array, BoolArray

RATE = 100.0


def circling(speed: float, radius: float = 0.5, rate: float = RATE) -> Array:
    """Two seconds of two markers, one on a circle [m/s, m], one at rest."""
    angle = speed / radius * np.arange(round(2 * rate)) / rate
    positions = np.zeros((len(angle), 2, 3))
    positions[:, 0, :2] = radius * np.column_stack([np.cos(angle), np.sin(angle)])
    return positions


def find(positions: Array, rate: float = RATE, ignored: BoolArray | None = None) -> list[Finding]:
    mask = np.zeros(positions.shape[:2], dtype=bool) if ignored is None else ignored
    return find_marker_jumps(positions, mask, ("A", "B"), rate, neighbour_ratio=1.5, stature=2.0)


@pytest.mark.parametrize("rate", [50.0, 250.0])
def test_a_fast_limb_does_not_jump(rate: float):
    assert find(circling(8.0, rate=rate), rate) == []


def test_a_hand_that_is_stopped_by_a_wall_does_not_jump():
    """From 5 m/s to nothing within a frame: its speed ends, its place goes on."""
    positions = circling(0.0)
    positions[:100, 0, 0] = 0.05 * np.arange(100)
    positions[100:, 0, 0] = 0.05 * 99
    assert find(positions) == []


def test_what_stays_elsewhere_has_jumped():
    positions = circling(1.0)
    positions[60:, 0, 2] += 0.1
    (jump,) = find(positions)
    assert (jump.names, jump.frames, jump.details["frame"]) == (("A",), (0, 59), 60)
    assert jump.value == pytest.approx(np.hypot(0.1, 0.01) - 1.5 * 0.01, abs=1e-4)
    positions[100:, 1, 0] += 0.2
    assert [jump.names for jump in find(positions)] == [("B",), ("A",)]


def test_a_stretch_goes_from_one_jump_or_long_gap_to_the_next():
    positions = circling(1.0)
    positions[60:100, 0, 2] += 0.1
    (away,) = find(positions)
    assert away.frames == (60, 99)
    positions[80:100, 0] = np.nan
    assert [jump.frames for jump in find(positions)] == [(60, 79)]


@pytest.mark.parametrize(("frames", "count"), [(1, 0), (2, 0), (9, 0), (10, 1), (40, 1)])
def test_what_comes_back_within_a_moment_has_not(frames: int, count: int):
    positions = circling(1.0)
    positions[60 : 60 + frames, 0, 2] += 0.1
    assert len(find(positions)) == count


def test_samples_that_do_not_count_and_missing_ones():
    positions = circling(1.0)
    positions[60:100, 0, 2] += 0.1
    ignored = np.zeros(positions.shape[:2], dtype=bool)
    ignored[60:100, 0] = True
    assert find(positions, ignored=ignored) == []
    positions[60:100, 0] = np.nan
    assert find(positions) == [] and find(positions[:3]) == []


# --- what it does to a verdict


@pytest.fixture(scope="module")
def markers() -> ik.Markers:
    """Three seconds of a walk, 1 mm of noise."""
    motion = simulate_performance(3.0, RATE)
    return simulate_recording(motion, noise=0.001, gaps=0.0, swap=False).markers


def stray(markers: ik.Markers, name: str, seconds: float) -> ik.Markers:
    """The same with a marker 100 mm beside itself for a while."""
    positions = np.array(markers.positions)
    positions[120 : 120 + round(seconds * RATE), markers.names.index(name), 2] += 0.1
    return replace(markers, positions=positions)


def test_a_sound_recording_has_none_that_counts(markers: ik.Markers):
    track = ik.track(ik.human(), markers)
    assert track.verdict.grade == "good"
    jumps = [found for found in track.findings if found.kind == "marker-jump"]
    assert jumps == []


def test_a_finger_that_follows_its_marker_is_doubtful(markers: ik.Markers):
    """Hand and fingers give way, so that errors hardly tell."""
    track = ik.track(ik.human(), stray(markers, "RFIN", 0.3), robust=None)
    (jump,) = [found for found in track.attention if found.kind == "marker-jump"]
    assert jump.names == ("RFIN",) and jump.frames == (120, 149)
    doubtful = track.quality == Quality.DOUBTFUL
    bones = np.array([name.partition(".")[0] for name in track.skeleton.dof_names])
    assert doubtful[120:150][:, np.isin(bones, ["r_hand", "r_fingers"])].any(axis=1).all()
    assert not doubtful[:, np.isin(bones, ["l_forearm", "l_shin", "head"])].any()


def test_what_a_robust_loss_left_out_does_no_harm(markers: ik.Markers):
    strayed = stray(markers, "RBWT", 0.3)
    assert ik.track(ik.human(), strayed, robust="huber").verdict.grade == "good"
