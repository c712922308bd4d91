"""Poses of frames as they come, on a performance that is known: clean, and with faults."""

from __future__ import annotations

import numpy as np
import pytest

import exactik as ik
from exactik.lab.synthetic import SyntheticRecording, simulate_performance, simulate_recording
from exactik.model import Skeleton
from exactik.recordings.live import LiveFrame, LivePose, LiveSolver, prepare_live
from exactik.recordings.tracking import TrackOptions
from exactik.typing import Array
from tests.support.hdm05 import LOCK, TAKES, get_take
from tests.support.tracking import is_within_limits, make_moving_menagerie

RATE = 100.0


@pytest.fixture(scope="module")
def rec() -> SyntheticRecording:
    """Three seconds of punches and kicks, seen by good cameras."""
    motion = simulate_performance(3.0, RATE, seed=3, acts=("punch", "kick"))
    return simulate_recording(motion, noise=0.001, gaps=0.0, swap=False, seed=1)


def solve(
    skeleton: Skeleton,
    markers: ik.Markers,
    positions: Array | None = None,
    lag: int = 0,
    branches: bool = False,
) -> list[LivePose]:
    solver = LiveSolver(skeleton, TrackOptions(branches=branches), rate=markers.rate, lag=lag)
    frames = markers.positions if positions is None else positions
    found = [
        pose
        for n, places in enumerate(frames)
        for pose in solver.step(LiveFrame(markers.names, places, n))
    ]
    return found + solver.flush()


def measure_joints(skeleton: Skeleton, poses: list[LivePose], truth: Array) -> Array:
    """How far joints are from where they were [m], (T, n)."""
    places = skeleton.forward(np.array([pose.q for pose in poses])).positions
    return np.linalg.norm(places - skeleton.forward(truth).positions, axis=2)


def collect(poses: list[LivePose]) -> list[tuple[int, str]]:
    return [(pose.number, event.kind) for pose in poses for event in pose.events]


def test_without_faults_poses_are_those_of_track(rec: SyntheticRecording):
    skeleton, markers = rec.truth.skeleton, rec.markers
    track = ik.track(skeleton, markers, smooth=None, branches=False, robust=None)
    poses = solve(skeleton, markers)
    assert len(poses) == len(markers) and collect(poses) == []
    q = np.array([pose.q for pose in poses])
    assert np.abs(skeleton.difference(q, track.motion.q)).max() < 1e-9
    errors = np.array([pose.errors for pose in poses])
    assert np.abs(errors - track.marker_errors).max() < 1e-9
    assert is_within_limits(skeleton, q)
    assert all(pose.quality == "measured" for pose in poses)


def test_a_better_pose_is_looked_for_beside_the_frames(rec: SyntheticRecording):
    """Of two solutions of wrist and fingers the path that is followed may have the worse one."""
    skeleton, markers = rec.truth.skeleton, rec.markers
    costs = [
        np.array(
            [np.nansum(pose.errors**2) for pose in solve(skeleton, markers, branches=branches)]
        )
        for branches in (False, True)
    ]
    assert (costs[1] < 1.01 * costs[0]).all() and costs[1].sum() < 0.9 * costs[0].sum()


@pytest.mark.full
@pytest.mark.parametrize(("name", "most"), [(TAKES[0], 0.01), (TAKES[1], 0.2)])
def test_a_take_is_solved_as_track_solves_it(shared_data, name: str, most: float):
    """But where `track` has begun anew, after 2000 frames, and its pose of a wrist is better."""
    take = get_take(shared_data, name)
    options = TrackOptions(lock=LOCK, smooth=None, branches=False, robust=None)
    solver = LiveSolver(take.skeleton, options, rate=take.markers.rate)
    q = [
        solver.step(LiveFrame(take.markers.names, places, n))[0].q
        for n, places in enumerate(take.markers.positions)
    ]
    track = ik.track(
        take.skeleton, take.markers, lock=LOCK, smooth=None, branches=False, robust=None
    )
    off = np.abs(take.skeleton.difference(np.array(q), track.motion.q)).max(axis=1)
    assert np.median(off) < 1e-9 and (off > 1e-4).mean() < most


def test_any_joints_are_followed():
    skeleton, _, markers = make_moving_menagerie(120)
    poses = solve(skeleton, markers)
    assert np.nanmax([pose.errors for pose in poses]) < 1e-4


def test_a_lost_arm_holds_still_and_comes_back(rec: SyntheticRecording):
    skeleton, positions = rec.truth.skeleton, rec.markers.positions.copy()
    arm = [
        m
        for m, name in enumerate(rec.markers.names)
        if skeleton.bone_index("l_upper_arm") in skeleton.find_ancestors(skeleton.marker(name)[0])
    ]
    assert len(arm) > 4
    positions[100:150, arm] = np.nan
    poses = solve(skeleton, rec.markers, positions)
    elbow = skeleton.dof_names.index("l_forearm.rz")
    assert all(pose.quality == "inferred" and pose.inferred[elbow] for pose in poses[100:150])
    held = np.array([pose.q[elbow] for pose in poses[100:150]])
    assert np.ptp(held) < 0.02
    off = measure_joints(skeleton, poses, np.array(rec.truth.q))
    seen = [skeleton.bone_index(bone) for bone in ("l_foot", "r_foot", "r_hand")]
    assert off[:, seen].max() < 0.02  # what is seen goes on
    hand = skeleton.bone_index("l_hand")
    assert off[100:150, hand].max() > 0.05 and off[155:, hand].max() < 0.02


@pytest.mark.parametrize(("one", "other"), [("LANK", "RANK"), ("LWRA", "LWRB")])
def test_exchanged_names_change_no_pose(rec: SyntheticRecording, one: str, other: str):
    names, positions = rec.markers.names, rec.markers.positions.copy()
    pair = [names.index(one), names.index(other)]
    positions[80:200, pair] = positions[80:200, pair[::-1]]
    poses = solve(rec.truth.skeleton, rec.markers, positions)
    assert collect(poses) == [(80, "exchanged"), (200, "exchanged")]
    plain = solve(rec.truth.skeleton, rec.markers)
    off = measure_joints(rec.truth.skeleton, poses, np.array([pose.q for pose in plain]))
    assert off.max() < 1e-6


def test_markers_thrown_away_are_left_out(rec: SyntheticRecording):
    positions, rng = rec.markers.positions.copy(), np.random.default_rng(0)
    thrown = rng.random(positions.shape[:2]) < 0.01
    thrown[:20] = False
    positions[thrown] += rng.choice([-0.4, 0.4], (int(thrown.sum()), 3))
    poses = solve(rec.truth.skeleton, rec.markers, positions)
    left_out = np.array([np.isnan(pose.errors) for pose in poses])
    assert (left_out & thrown).sum() > 0.98 * thrown.sum() and not (left_out & ~thrown).any()
    off = measure_joints(rec.truth.skeleton, poses, np.array(rec.truth.q))
    plain = measure_joints(
        rec.truth.skeleton, solve(rec.truth.skeleton, rec.markers), np.array(rec.truth.q)
    )
    assert off.mean() < 1.3 * plain.mean()


def test_a_figure_that_leaves_and_comes_back_elsewhere_is_found(rec: SyntheticRecording):
    positions = rec.markers.positions.copy()
    positions[100:200] = np.nan
    positions[200:] += (3.0, -2.0, 0.0)
    poses = solve(rec.truth.skeleton, rec.markers, positions)
    assert [pose.quality for pose in poses[100:200]] == ["lost"] * 100
    assert np.array_equal(poses[150].q, poses[99].q)
    assert max(np.nanmax(pose.errors) for pose in poses[200:]) < 0.02


def test_markers_come_go_and_change_their_prefix(rec: SyntheticRecording):
    skeleton, names = rec.truth.skeleton, rec.markers.names
    solver, positions = LiveSolver(skeleton, rate=RATE), rec.markers.positions
    some = names[: len(names) // 2]
    poses = []
    for n, places in enumerate(positions[:90]):
        given = some if n < 30 else names if n < 60 else tuple(f"Ada:{name}" for name in names)
        poses += solver.step(
            LiveFrame((*given, "dust"), np.vstack([places[: len(given)], [[9.0] * 3]]), n)
        )
    assert collect(poses) == [(30, "changed"), (60, "changed")]
    assert len(poses[0].errors) == len(some) and len(poses[-1].errors) == len(names)
    assert np.nanmax(poses[-1].errors) < 0.02


def test_smoothed_poses_come_late_and_are_nearer_to_the_truth(rec: SyntheticRecording):
    skeleton = rec.truth.skeleton
    rough, rng = rec.clean, np.random.default_rng(4)
    rough = rough + rng.normal(0.0, 0.004, rough.shape)
    plain, smooth = (solve(skeleton, rec.markers, rough, lag) for lag in (0, 4))
    assert [pose.number for pose in smooth] == list(range(len(rough)))
    truth = np.array(rec.truth.q)
    means = [measure_joints(skeleton, poses, truth).mean() for poses in (plain, smooth)]
    assert means[1] < 0.8 * means[0]
    assert is_within_limits(skeleton, np.array([pose.q for pose in smooth]))
    solver = LiveSolver(skeleton, rate=RATE, lag=4)
    steps = [solver.step(LiveFrame(rec.markers.names, p, n)) for n, p in enumerate(rough[:20])]
    assert [pose.number for step in steps for pose in step] == list(range(16))


def test_other_axes_units_and_names_are_settled_by_the_first_frames(rec: SyntheticRecording):
    skeleton = rec.truth.skeleton
    names = tuple(f"P7:{name.lower()}" for name in rec.markers.names)
    turned = 1e3 * rec.markers.positions[..., [1, 2, 0]]  # y up, and nobody has said millimetres
    frames = [LiveFrame(names, p, n, n / RATE) for n, p in enumerate(turned[:60])]
    solver, notes = prepare_live(frames, skeleton)
    assert len(notes) >= 2
    poses = [pose for frame in frames for pose in solver.step(frame)]
    truth = np.array(rec.truth.q)[:60]
    assert measure_joints(skeleton, poses, truth).mean() < 0.005


def test_the_figure_is_fitted_to_the_first_seconds(rec: SyntheticRecording):
    from exactik.recordings.pipeline import RecordingOptions

    larger = 1.1 * rec.markers.positions
    frames = [LiveFrame(rec.markers.names, p, n, n / RATE) for n, p in enumerate(larger[:200])]
    errors = []
    for fit in (False, True):
        solver, _ = prepare_live(frames, rec.truth.skeleton, RecordingOptions(fit=fit))
        errors.append(np.nanmean([solver.step(frame)[0].errors for frame in frames]))
    assert errors[1] < 0.25 * errors[0]
