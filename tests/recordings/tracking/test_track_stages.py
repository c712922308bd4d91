"""The stages of `track`, one by one, on figures of a few bones: what each is there for."""

from __future__ import annotations

from threading import get_ident
from typing import Any

import numpy as np
import pytest

import exactik as ik
from exactik._threads import run_in_threads
from exactik.model.motion import Markers
from exactik.recordings.tracking import (
    COLD_START,
    PROGRESS_SHARES,
    WARM_START,
    Track,
    TrackingOptions,
    _frame_solver,
    choose_methods,
    find_nearest_equivalents,
    make_tracking_problem,
    unwrap_path,
)
from exactik.typing import Array
from tests.support.chains import make_chain, move_chain

RATE = 60.0


def solve(chain: ik.Skeleton, q: Array, change: Array | None = None, **options: Any) -> Track:
    """Track a chain that does q, its markers changed."""
    place = chain.forward(q).markers
    markers = Markers(place if change is None else place + change, tuple(chain.markers), RATE)
    return ik.track(chain, markers, **{"smooth": None, **options})


def wild_pose(chain: ik.Skeleton) -> Array:
    """A pose that a descent from the neutral one does not find, nor one from a second start."""
    ends = np.random.default_rng(4).uniform(-2.5, 2.5, (2, chain.nv))
    return 0.9 * ends[0] + 0.1 * ends[1]


def test_the_first_pose_is_found_from_nothing():
    chain = make_chain(4, 2)
    q = np.tile(wild_pose(chain), (3, 1))
    assert solve(chain, q, branches=False).mean_error < 1e-4


def test_whole_turns_are_taken_out():
    chain = make_chain(2, 3)
    q = move_chain(chain, 120, bend=0.2)
    q[:, 3] = np.linspace(0.0, 14.0, 120)  # round and round
    track = solve(chain, q)
    assert np.abs(np.diff(track.motion.q, axis=0)).max() < 0.3
    assert np.ptp(track.motion.q[:, 3]) > 12.0


@pytest.mark.parametrize("custom", [True, False])
def test_custom_joints_keep_their_solution_of_the_angles(custom: bool):
    turns = [(axis, None, axis * 2) for axis in "zxy"]
    joint = ik.Joint.custom(turns) if custom else ik.Joint.euler("ZXY")
    marker = {"M": ("b", (0.1, 0.2, 0.3))}
    chain = ik.Skeleton.build("one", [ik.Bone("b", joint=joint)], marker)
    q = np.array([[0.3, 0.2, -0.1], [0.3 + np.pi, np.pi - 0.2, 2 * np.pi + np.pi - 0.1]])
    markers = Markers(chain.forward(q).markers, tuple(chain.markers), RATE)
    problem, unwrapped = make_tracking_problem(chain, markers), q.copy()
    unwrap_path(problem, unwrapped)
    nearest = find_nearest_equivalents(problem, q[1:], q[:1])
    np.testing.assert_allclose(unwrapped, q if custom else q[[0, 0]], atol=1e-12)
    np.testing.assert_allclose(nearest, q[1:] if custom else q[:1], atol=1e-12)


def test_robust_weights_are_those_of_the_final_poses():
    chain = make_chain(3, 4)
    q = move_chain(chain, 40)
    off = np.zeros((40, 12, 3))
    off[10:30, 5] = (0.05, 0.0, 0.0)
    off[20:35, 2] = np.nan  # and a gap, whose frames are solved again
    track = solve(chain, q, off, robust="huber", sigma=0.002, branches=False)
    assert track.marker_weights is not None
    seen = np.isfinite(track.marker_errors)
    expected = 1.0 / np.maximum(track.marker_errors[seen] / 0.005, 1.0)
    assert track.marker_weights[seen] == pytest.approx(expected, abs=1e-6)
    assert track.marker_weights[15, 5] < 0.5


def test_a_joint_without_markers_follows_its_course():
    """All of three bones are lost for more than a second: nothing near tells of the last."""
    chain = make_chain(5, 3)
    q = move_chain(chain, 120, bend=0.3)
    off = np.zeros((120, 15, 3))
    off[20:90, 6:] = np.nan
    track = solve(chain, q, off)
    assert track.undetermined[20:90, 15:].all()
    straight = np.linspace(q[19, 15:], q[90, 15:], 72)[1:-1]
    assert track.motion.q[20:90, 15:] == pytest.approx(straight, abs=0.03)


def test_smoothing_is_done_if_asked_for():
    chain = make_chain(3, 4)
    q = move_chain(chain, 120)
    noise = np.random.default_rng(0).normal(0.0, 0.002, (120, 12, 3))
    rough, smooth = (solve(chain, q, noise, smooth=cutoff) for cutoff in (None, 4.0))
    shake = [np.abs(np.diff(track.motion.q, n=2, axis=0)).mean() for track in (rough, smooth)]
    assert shake[1] < 0.3 * shake[0]


def test_by_default_branches_are_looked_for():
    chain = make_chain(2, 3)
    assert solve(chain, move_chain(chain, 4), starts=1).settings["branches"] is True


def test_what_fits_perfectly_costs_no_more_than_the_best():
    chain = make_chain(3, 4)
    track = solve(chain, move_chain(chain, 60))
    assert track.excess_cost.max() < 0.01


def test_progress_is_of_all_stages():
    assert sum(PROGRESS_SHARES.values()) == pytest.approx(1.0)
    chain = make_chain(3, 4)
    told: list[int] = []
    solve(chain, move_chain(chain, 60), progress=lambda done, total: told.append(done))
    assert told == sorted(told) and told[-1] == 60 and 0 < told[0] < 60


def test_how_many_descents_a_recording_takes(monkeypatch: pytest.MonkeyPatch):
    """One a frame and fewer than two hundred more: that is the time it takes."""
    solved: list[int] = []
    solve_sequence = _frame_solver.solve_sequence

    def count(*arguments: Any) -> int:
        solved.append(solve_sequence(*arguments))
        return solved[-1]

    monkeypatch.setattr(_frame_solver, "solve_sequence", count)
    chain = make_chain(3, 4)
    noise = np.random.default_rng(0).normal(0.0, 0.002, (300, 12, 3))
    solve(chain, move_chain(chain, 300), noise, robust="huber")
    assert 300 < sum(solved) < 300 + 200


def test_one_thread_is_the_callers():
    for threads, is_own in ((1, True), (2, False)):
        used: list[int] = []
        run_in_threads(threads, lambda part, used=used: used.append(get_ident()), range(3))
        assert len(used) == 3 and all((ident == get_ident()) == is_own for ident in used)


def test_methods_of_warm_and_cold_starts():
    """A name has tracking's tolerance, a method its own; a detour would leave the solution."""
    options = TrackingOptions()
    assert choose_methods("auto", options) == (WARM_START, COLD_START)
    named, cold = choose_methods("newton", options)
    assert (named.name, named.tolerance) == ("newton", WARM_START.tolerance) and cold is named
    given, cold = choose_methods(ik.Auto(tolerance=1e-7, detour=True), options)
    assert isinstance(given, ik.Auto) and (given.tolerance, given.detour) == (1e-7, False)
    assert cold is COLD_START
    newton = ik.Newton(tolerance=1e-7)
    assert choose_methods(newton, options) == (newton, newton)


def test_poses_are_solved_to_a_ten_millionth():
    """Of the gradient: nothing is left of where they began; cold starts are solved on."""
    chain = make_chain(3, 4)
    noise = np.random.default_rng(0).normal(0.0, 0.002, (60, 12, 3))
    track = solve(chain, move_chain(chain, 60), noise, branches=False)
    at_rest = track.projected_gradient[track.ended == "converged"]
    assert len(at_rest) > 50 and at_rest.max() <= 1e-7
    exact = solve(
        chain, move_chain(chain, 60), noise, branches=False, solver=ik.Auto(tolerance=1e-10)
    )
    assert np.abs(track.motion.q - exact.motion.q).max() < 1e-3
