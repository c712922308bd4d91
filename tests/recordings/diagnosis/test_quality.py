"""What each value is worth: the map of a track, and the findings behind it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import exactik as ik
from exactik.lab.synthetic import simulate_performance, simulate_recording
from exactik.recordings.tracking import GRAVITY, Quality

RATE = 50.0
STRAY = slice(60, 90)


@pytest.fixture(scope="module")
def markers() -> ik.Markers:
    motion = simulate_performance(4.0, RATE)
    return simulate_recording(motion, noise=0.001, gaps=0.0, swap=False).markers


def columns_of(track: ik.Track, *bones: str) -> np.ndarray:
    return np.array([name.rpartition(".")[0] in bones for name in track.skeleton.dof_names])


def without(markers: ik.Markers, names: tuple[str, ...], frames: slice) -> ik.Markers:
    positions = markers.positions.copy()
    positions[frames, [[markers.names.index(name)] for name in names]] = np.nan
    return replace(markers, positions=positions)


def test_a_clean_recording_is_measured_where_markers_tell(markers: ik.Markers):
    track = ik.track(ik.human(), markers)
    assert track.quality.shape == track.quality_finding.shape == track.sd.shape
    assert not (track.quality == Quality.DOUBTFUL).any()
    limbs = columns_of(track, "pelvis", "l_thigh", "l_shin", "r_upper_arm", "r_forearm")
    assert (track.quality[:, limbs] == Quality.MEASURED).mean() > 0.99
    bound = track.quality == Quality.BOUND
    assert (bound == track.at_limits).all()
    causes = {track.findings[n].kind for n in np.unique(track.quality_finding[bound])}
    assert causes <= {"limits"}
    is_open = (track.quality == Quality.OPEN).mean(axis=0) > 0.5
    assert set(np.array(track.skeleton.dof_names)[is_open]) == set(track.never_determined)


def test_a_fault_spreads_to_what_it_moves_in_its_frames(markers: ik.Markers):
    positions = markers.positions.copy()
    positions[STRAY, markers.names.index("LKNE")] += (0.0, 0.1, 0.0)
    track = ik.track(ik.human(), replace(markers, positions=positions), robust=None)
    doubtful = track.quality == Quality.DOUBTFUL
    leg = columns_of(track, "l_thigh", "l_shin")
    assert doubtful[STRAY][:, leg].any(axis=1).all()
    assert not doubtful[:, columns_of(track, "r_forearm", "head", "r_foot", "l_hand")].any()
    beside = np.ones(len(track), dtype=bool)
    beside[STRAY.start - 5 : STRAY.stop + 5] = False
    assert not doubtful[beside].any()
    causes = [track.findings[n] for n in np.unique(track.quality_finding[doubtful])]
    assert any("LKNE" in cause.names for cause in causes)
    joints = track.joint_quality
    assert joints.shape == (len(track), len(track.skeleton.bones))
    thigh = track.skeleton.bone_index("l_thigh")
    assert (joints[STRAY, thigh] == Quality.DOUBTFUL).all()


def test_short_gaps_are_inferred_and_long_ones_open(markers: ik.Markers):
    foot = ("LHEE", "LTOE", "LMT5", "LANK")
    short = ik.track(ik.human(), without(markers, foot, slice(60, 80)))
    ankle = columns_of(short, "l_foot")
    assert (short.quality[60:80, ankle] == Quality.INFERRED).all()
    cause = {short.findings[n].kind for n in np.unique(short.quality_finding[60:80, ankle])}
    assert cause == {"gap"}
    long = ik.track(ik.human(), without(markers, foot, slice(60, 140)))
    assert (long.quality[60:140, ankle] == Quality.OPEN).all()
    end = ik.track(ik.human(), without(markers, foot, slice(190, 201)))
    assert (end.quality[190:, ankle] == Quality.OPEN).all()  # nothing follows it


def test_what_has_no_marker_is_open(markers: ik.Markers):
    legs = [n for n in markers.names if n[1:] in ("FWT", "BWT", "THI", "KNE", "SHN", "ANK", "TOE")]
    track = ik.track(ik.human(), markers.chosen(legs), lock="l_shin.ry")
    arms = columns_of(track, "l_upper_arm", "r_forearm", "head")
    assert (track.quality[:, arms] == Quality.OPEN).all()
    assert (track.quality[:, track.skeleton.dof_names.index("l_shin.ry")] == Quality.BOUND).all()


def test_a_joint_is_worth_what_its_worst_dof_is():
    assert sorted(GRAVITY) == sorted(Quality)
    assert GRAVITY[0] == Quality.MEASURED and GRAVITY[-1] == Quality.OPEN
