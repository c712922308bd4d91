"""Other solutions beside a path: where they are looked for, how far followed, and what they pay."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import exactik as ik
from exactik.kernels.descent.results import FRAME_RESULT_SIZE
from exactik.model.motion import Markers, Segment
from exactik.recordings.tracking import (
    DEFAULT_OPTIONS,
    FramePoses,
    FrameSolutions,
    PathWindow,
    TrackingRun,
    compute_step_charges,
    follow_frames,
    improve_poor_segments,
    make_other_poses,
    search_branches,
    splice_branch,
)
from exactik.typing import Array
from tests.support.chains import make_rigid_body
from tests.support.two_elbows import ARM, RATE, WEIGHTS, make_run, place_arm, place_targets

UP, DOWN = place_arm(0.9), place_arm(-0.9)


def make_arm_run(preference: Array, crossing_seconds: float) -> TrackingRun:
    """An arm whose elbow fits better down than up by `preference`, (T,)."""
    options = replace(DEFAULT_OPTIONS, crossing_seconds=crossing_seconds)
    return make_run(ARM, place_targets(preference), options, weights=WEIGHTS)


def follow(run: TrackingRun, start: Array) -> FrameSolutions:
    """The path of one solution through all frames."""
    return follow_frames(run.problem, run.warm_start, np.arange(len(run.problem)), start)


def open_window(run: TrackingRun, path: FrameSolutions) -> PathWindow:
    """All frames of a path; no solution is known for any."""
    everything = Segment(0, len(path.q) - 1)
    return PathWindow.around(run, path, everything, np.full(len(path.q), np.inf))


@pytest.mark.parametrize(("frame_count", "taken"), [(2, False), (3, True)])
def test_a_branch_saves_more_than_both_changes_cost(frame_count: int, taken: bool):
    """Which cost as much as two and a half frames save."""
    preference = np.full(20, -0.1)
    preference[8 : 8 + frame_count] = 0.1
    free = make_arm_run(preference, 1.0)
    up, down = follow(free, UP), follow(free, DOWN)
    saved = float(up.cost[8] - down.cost[8])

    def charge(t: int) -> float:
        start, end = (
            FramePoses(np.array([k]), q[k : k + 1], free.problem.residuals(q[k : k + 1], frames))
            for k, q in ((t, up.q), (t + 1, down.q))
            for frames in (np.array([k]),)
        )
        return float(compute_step_charges(free, start, end)[0])

    run = make_arm_run(preference, 2.5 * saved / (2.0 * charge(7)))
    path = follow(run, UP)
    assert splice_branch(open_window(run, path), 8, down.q[8]) == taken
    is_down = path.q[:, 1] < 0.0
    assert np.flatnonzero(is_down).tolist() == (list(range(8, 8 + frame_count)) if taken else [])


@pytest.mark.parametrize(("share", "taken"), [(0.002, False), (0.02, True)])
def test_half_a_percent_is_worth_another_solution(share: float, taken: bool):
    """Even if a change of solution costs nothing."""
    run = make_arm_run(np.full(600, share / 8.0), 0.0)
    path, down = follow(run, UP), follow(run, DOWN)
    assert down.cost == pytest.approx((1.0 - share) * path.cost, rel=0.1 * share)
    search_branches(run, path, np.full(600, np.inf), lambda frames: None)
    assert (path.q[:, 1] < 0.0).all() == taken and (path.q[:, 1] < 0.0).any() == taken


@pytest.mark.parametrize(
    ("first", "last", "forwards", "backwards"),
    [
        (0, 9, (4, 9), (4, 0)),
        (0, 7, (4, 6), (4, 0)),
        (2, 9, (4, 9), (4, 3)),
        (2, 7, (4, 6), (4, 3)),
    ],
)
def test_ends_of_a_window_stay_unless_the_recording_ends_there(
    first: int, last: int, forwards: tuple[int, int], backwards: tuple[int, int]
):
    run = make_arm_run(np.zeros(10), 0.0)
    path = follow(run, UP)
    window = PathWindow.around(run, path, Segment(first, last), np.full(10, np.inf))
    ways = {way: (int(frames[0]), int(frames[-1])) for way, frames in window.iterate_directions(4)}
    assert ways == {1: forwards, -1: backwards}


def test_the_longest_of_many_wrong_stretches_are_mended():
    """A hundred of six to eight frames. Where there are so many, the markers may be to blame."""
    lengths = np.tile([6, 8, 7, 7], 25)
    wrong = np.repeat(np.tile([False, True], 100), np.stack([24 - lengths, lengths], 1).ravel())
    run = make_arm_run(np.where(wrong, 0.49, -0.4), 0.0)
    path = follow(run, UP)
    improve_poor_segments(run, path, np.full(len(wrong), np.inf))
    mended = np.any((path.q[:, 1] < 0.0).reshape(100, 24), axis=1)
    long, short = (float(mended[lengths == n].mean()) for n in (8, 6))
    assert long > 0.6 and short < 0.35  # some are not found


def test_joints_without_limits_are_looked_for_within_a_quarter_of_a_turn():
    run = make_arm_run(np.zeros(100), 0.0)
    poses, _ = make_other_poses(open_window(run, follow(run, UP)), np.arange(100), seed=0)
    elbow = np.abs(poses[:, 1])
    assert elbow.max() <= 0.5 * np.pi and (elbow > 1.0).mean() > 0.1


def test_a_gap_beside_a_branch_goes_by_the_course_from_the_branch():
    """The first frames lead to the elbow up; down it fits better, and is until the gap."""
    t = np.arange(240)
    turn = 0.8 * np.sin(t / 12.0)
    cos, sin = np.cos(turn), np.sin(turn)
    x, y, z = np.moveaxis(place_targets(np.where(t < 5, -0.4, 0.4)), 2, 0)
    place = np.stack(
        [cos[:, None] * x - sin[:, None] * y, sin[:, None] * x + cos[:, None] * y, z], axis=2
    )
    place[180:192] = np.nan
    track = ik.track(ARM, Markers(place, tuple(ARM.markers), RATE), weights=WEIGHTS, smooth=None)
    q = track.motion.q
    assert (q[30:180, 1] < 0.0).all() and track.undetermined[180:192].all()
    assert q[179:193] == pytest.approx(np.linspace(q[179], q[192], 14), abs=0.02)


def test_robust_weights_are_those_of_the_path_and_not_of_what_was_tried_last():
    place = place_targets(np.full(300, -0.4))
    track = ik.track(
        ARM,
        Markers(place, tuple(ARM.markers), RATE),
        weights=WEIGHTS,
        robust="huber",
        sigma=0.004,
        smooth=None,
    )
    assert track.marker_weights is not None and track.marker_errors.max() > 0.02
    expected = 1.0 / np.maximum(track.marker_errors / 0.01, 1.0)
    assert track.marker_weights == pytest.approx(expected, abs=1e-6)


# A body whose markers fit but for a misfit, and a path beside the solution.


def follow_solution(shift: Array, path_cost: Array) -> int:
    """How many frames the solution is followed beside a path that is off by `shift` [m], (T,).

    `path_cost`, (T,), is in what the solution costs in each frame.
    """
    body = make_rigid_body(np.diag([0.1, 0.2, 0.3]))
    place = np.tile(body.forward(body.neutral()).markers, (len(shift), 1, 1))
    place += np.array([[0.01, 0.0, 0.0], [-0.01, 0.0, 0.0], [0.0, 0.0, 0.0]])
    run = make_run(body, place)
    solution = follow(run, body.neutral())
    path = FrameSolutions(solution.q.copy(), np.zeros((len(shift), FRAME_RESULT_SIZE)))
    path.q[:, 0] += shift
    path.cost[:] = path_cost * solution.cost
    window = open_window(run, path)
    splice_branch(window, 0, solution.q[0])
    return int(np.isfinite(window.least_cost).sum())


def test_a_branch_is_followed_until_it_is_within_a_millimetre_of_the_path():
    shift = 0.02 * np.power(0.9, np.arange(80.0))
    followed = follow_solution(shift, np.full(80, 2.0))
    assert shift[followed - 2] > 1e-3 > shift[followed - 1]


@pytest.mark.parametrize(("lost", "followed"), [(2.0, 80), (5.0, 26)])
def test_a_branch_may_lose_three_usual_frames_on_its_way(lost: float, followed: int):
    """It gains at first, loses half a usual frame a frame for a while, and gains in the end."""
    path_cost = np.ones(80)
    path_cost[:5] = path_cost[60:] = 2.0
    path_cost[20 : 20 + round(2 * lost)] = 0.5
    assert follow_solution(np.full(80, 0.02), path_cost) in (followed, followed + 1)
