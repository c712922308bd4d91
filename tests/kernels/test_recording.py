"""Frames of a recording, solved by the compiled loop: the same as problems solved one by one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

import exactik as ik
from exactik.kernels.goals.sums import EXACT, GAUSS_NEWTON
from exactik.kernels.linear.variances import new_variance_scratch
from exactik.kernels.recording.error_bars import estimate_standard_deviations
from exactik.kernels.recording.frames import TUKEY_HUBER_SHARE
from exactik.kernels.recording.sequence import evaluate_frames
from exactik.recordings.tracking import (
    LOSS_KINDS,
    TrackingProblem,
    follow_branch,
    follow_frames,
    make_tracking_problem,
    solve_frames,
)
from exactik.typing import Array
from tests.support.models import configuration
from tests.support.problems import menagerie

SEEDS = range(4)
TIGHT = ik.Auto(tolerance=1e-11, max_iterations=300, small_cost=0.0, detour=False, escape=False)


def near_neutral(skeleton: ik.Skeleton, seed: int, size: float = 0.3) -> Array:
    rng = np.random.default_rng(seed)
    return skeleton.clip(skeleton.integrate(skeleton.neutral(), rng.normal(0, size, skeleton.nv)))


def moving(skeleton: ik.Skeleton, seed: int, frames: int, noise: float = 0.01) -> ik.Markers:
    """A recording of a figure that drifts, with noise, and a tenth of the markers missing."""
    rng = np.random.default_rng(seed + 100)
    start, way = near_neutral(skeleton, seed), rng.normal(size=skeleton.nv)
    q = np.array([skeleton.clip(skeleton.integrate(start, 0.02 * t * way)) for t in range(frames)])
    place = skeleton.forward(q).markers + rng.normal(0, noise, (frames, len(skeleton.markers), 3))
    place[rng.random(place.shape[:2]) < 0.1] = np.nan
    return ik.Markers(place, tuple(skeleton.markers), 100.0)


def problem_of(
    recording: TrackingProblem, t: int, weights: Sequence[float] | Array | None = None
) -> ik.Problem:
    """Frame t in the words of `Problem`: a goal for each marker that is there, and the posture."""
    frames, skeleton = recording.targets, recording.skeleton
    own = frames.weight if weights is None else np.asarray(weights)
    goals: list[ik.Goal] = [
        ik.MarkerGoal(name, frames.position[t, m], weight=float(own[m]))
        for m, name in enumerate(recording.names)
        if np.isfinite(frames.position[t, m]).all() and own[m] > 0.0
    ]
    goals.append(ik.PostureGoal(frames.rest[0], weight=frames.rest_weight[0]))
    limits = "hard" if np.isfinite(recording.frame_problem.lower).any() else "off"
    lock = [
        n for n, on in zip(skeleton.dof_names, recording.frame_problem.locked, strict=True) if on
    ]
    return ik.Problem(skeleton, goals, limits=limits, lock=lock)


def same_pose(skeleton: ik.Skeleton, one: Array, two: Array) -> float:
    return float(np.abs(skeleton.difference(one, two)).max(initial=0.0))


FIGURES = {"menagerie": menagerie, "human": ik.human}


@pytest.mark.parametrize("limits", ["hard", "off"])
@pytest.mark.parametrize("name", FIGURES)
def test_frames_by_themselves_are_problems_by_themselves(name: str, limits: str):
    skeleton = FIGURES[name]()
    for seed in SEEDS:
        markers = moving(skeleton, seed, 3)
        recording = make_tracking_problem(skeleton, markers, limits=limits, posture=1e-3)
        starts = np.array([near_neutral(skeleton, seed)] * 3)
        actual = solve_frames(
            recording, TIGHT.options(recording.frame_problem), np.arange(3), starts
        )
        for t in range(3):
            wanted = ik.solve(problem_of(recording, t), q0=starts[t], solver=TIGHT)
            assert actual.cost[t] == pytest.approx(wanted.cost, rel=1e-8)
            assert same_pose(skeleton, actual.q[t], wanted.q) < 1e-8


@pytest.mark.parametrize("name", FIGURES)
def test_following_is_solving_from_the_pose_that_is_expected(name: str):
    skeleton, frames = FIGURES[name](), 5
    for seed in SEEDS:
        recording = make_tracking_problem(skeleton, moving(skeleton, seed, frames), posture=1e-3)
        start, options = near_neutral(skeleton, seed), TIGHT.options(recording.frame_problem)
        actual = follow_frames(recording, options, np.arange(frames), start)
        poses = [start]
        for t in range(frames):
            problem, begin = problem_of(recording, t), poses[-1]
            if t > 1:  # goes on as it moved, if that fits better
                step = skeleton.difference(poses[-1], poses[-2])
                on = skeleton.clip(skeleton.integrate(poses[-1], step))
                begin = on if problem.cost(on) < problem.cost(begin) else begin
            wanted = ik.solve(problem, q0=begin, solver=TIGHT)
            poses = [wanted.q] if t == 0 else [*poses, wanted.q]
            assert actual.cost[t] == pytest.approx(wanted.cost, rel=1e-8)
            assert same_pose(skeleton, actual.q[t], wanted.q) < 1e-8


def test_frames_in_another_order_and_backwards():
    skeleton = menagerie()
    recording = make_tracking_problem(skeleton, moving(skeleton, 0, 4), posture=1e-3)
    options, which = TIGHT.options(recording.frame_problem), np.array([3, 1, 2])
    start = near_neutral(skeleton, 0)
    actual = solve_frames(recording, options, which, np.array([start] * 3))
    for k, t in enumerate(which):
        alone = solve_frames(recording.select(np.array([t])), options, np.array([0]), start[None])
        assert np.array_equal(actual.q[k], alone.q[0])
    back = follow_frames(recording, options, np.array([3, 2, 1, 0]), start)
    assert np.array_equal(back.q[0], actual.q[0])


def test_a_marker_that_is_missing_is_as_good_as_none():
    """To the last bit but for the order of sums: the cloud of its bone is made of the others."""
    skeleton = menagerie()
    markers = moving(skeleton, 1, 1, noise=0.02)
    gone = np.flatnonzero(markers.missing[0])
    assert len(gone) > 0
    kept = [name for m, name in enumerate(markers.names) if m not in gone]
    whole = make_tracking_problem(skeleton, markers, posture=0.0)
    fewer = make_tracking_problem(skeleton, markers.chosen(kept), posture=0.0)
    start, at = near_neutral(skeleton, 1)[None], np.array([0])
    one = solve_frames(whole, TIGHT.options(whole.frame_problem), at, start)
    two = solve_frames(fewer, TIGHT.options(fewer.frame_problem), at, start)
    assert same_pose(skeleton, one.q[0], two.q[0]) < 1e-12
    assert one.cost[0] == pytest.approx(two.cost[0], rel=1e-12)
    assert np.isnan(whole.residuals(one.q)[0, gone]).all()
    assert np.isfinite(np.delete(whole.residuals(one.q)[0], gone, axis=0)).all()


def test_weights_trust_and_offsets_are_those_of_goals():
    skeleton, rng = menagerie(), np.random.default_rng(3)
    markers = moving(skeleton, 2, 2, noise=0.02)
    weights = rng.uniform(0.0, 2.0, len(markers.names))
    weights[4] = 0.0
    recording = make_tracking_problem(skeleton, markers, weights=weights, posture=1e-3)
    trust = rng.uniform(0.2, 1.0, (2, len(weights)))
    recording = recording.with_targets(confidence=trust)
    start = near_neutral(skeleton, 2)
    options, at = TIGHT.options(recording.frame_problem), np.array([1])
    actual = solve_frames(recording, options, at, start[None])
    wanted = ik.solve(problem_of(recording, 1, weights * trust[1]), q0=start, solver=TIGHT)
    assert actual.cost[0] == pytest.approx(wanted.cost, rel=1e-8)
    assert same_pose(skeleton, actual.q[0], wanted.q) < 1e-8

    offsets = np.array([[point for _, point in skeleton.markers.values()]] * 2)
    offsets += rng.normal(0, 0.02, offsets.shape)
    recording = make_tracking_problem(skeleton, markers, offsets=offsets, posture=1e-3)
    actual = solve_frames(recording, options, at, start[None])
    moved = {n: (b, offsets[1, m]) for m, (n, (b, _)) in enumerate(skeleton.markers.items())}
    other = make_tracking_problem(skeleton.with_markers(moved), markers, posture=1e-3)
    other = other.with_targets(rest_weight=recording.targets.rest_weight)
    wanted = ik.solve(problem_of(other, 1), q0=start, solver=TIGHT)
    assert actual.cost[0] == pytest.approx(wanted.cost, rel=1e-8)
    assert same_pose(skeleton, actual.q[0], wanted.q) < 1e-8


def test_following_beside_a_path_ends_where_they_meet_and_where_it_loses():
    skeleton = ik.human()
    recording = make_tracking_problem(skeleton, moving(skeleton, 0, 40, noise=0.002), limits="off")
    options, which = TIGHT.options(recording.frame_problem), np.arange(40)
    path = follow_frames(recording, options, which, near_neutral(skeleton, 0))
    residual = recording.residuals(path.q)
    start = skeleton.integrate(path.q[0], np.full(skeleton.nv, 1e-3))
    args = (which, start, residual)
    met = follow_branch(recording, options, *args, path.cost, 1e-3, np.inf)
    assert len(met.q) == 1 and same_pose(skeleton, met.q[0], path.q[0]) < 1e-6
    # A path that costs nothing cannot be met: given up as soon as the slack is used up.
    slack = 2.5 * float(path.cost.max())
    lost = follow_branch(recording, options, *args, np.zeros(40), 0.0, slack)
    spent = np.cumsum(path.cost)
    assert len(lost.q) == int(np.searchsorted(spent, slack)) + 1


# --- robust losses, by an implementation that shares nothing


def rho(kind: str, r: Array, c: float) -> Array:
    huber = np.where(r <= c, 0.5 * r**2, c * (r - 0.5 * c))
    if kind == "huber":
        return huber
    tukey = c**2 / 6.0 * (1.0 - np.maximum(1.0 - (r / c) ** 2, 0.0) ** 3)
    return tukey + TUKEY_HUBER_SHARE * huber


def robust_sum(recording: TrackingProblem, kind: str, c: float, t: int, q: Array) -> float:
    skeleton, frames = recording.skeleton, recording.targets
    r = np.linalg.norm(skeleton.forward(q).markers - frames.position[t], axis=1)
    there = np.isfinite(r)
    away = skeleton.difference(q, frames.rest[0])
    own = 0.5 * float((frames.rest_weight[0] * away**2).sum())
    return float((frames.weight[there] * rho(kind, r[there], c)).sum()) + own


@pytest.mark.parametrize("kind", ["huber", "tukey"])
def test_robust_answers_are_minima_of_the_robust_sum(kind: str):
    skeleton, c = ik.human(), 0.02
    rng = np.random.default_rng(7)
    markers = moving(skeleton, 3, 1, noise=0.004)
    place = markers.positions.copy()
    wrong = [3, 24, 31]  # of the head, the pelvis and a foot, which have others
    place[0, wrong] = skeleton.forward(near_neutral(skeleton, 3)).markers[wrong] + 0.15
    markers = ik.Markers(place, markers.names, 100.0)
    weights = rng.uniform(0.5, 1.5, len(markers.names))
    recording = make_tracking_problem(
        skeleton, markers, robust=kind, width=c, weights=weights, limits="off", posture=1e-4
    )
    assert recording.targets.loss[0] == LOSS_KINDS[kind]
    start = near_neutral(skeleton, 3)
    options = TIGHT.options(recording.frame_problem)
    actual = solve_frames(recording.with_wide_loss(), options, np.array([0]), start[None])
    for _ in range(30):  # weights are let go once they change by a hundredth; go on from there
        actual = solve_frames(recording, options, np.array([0]), actual.q)
    q = actual.q[0]
    assert actual.cost[0] == pytest.approx(robust_sum(recording, kind, c, 0, q), rel=1e-9)
    h, slope = 1e-5, np.empty(skeleton.nv)
    for i in range(skeleton.nv):
        step = h * np.eye(skeleton.nv)[i]
        sums = [
            robust_sum(recording, kind, c, 0, skeleton.integrate(q, sign * step))
            for sign in (1.0, -1.0)
        ]
        slope[i] = (sums[0] - sums[1]) / (2 * h)
    # Against the force of a single marker at the edge of the inner part.
    assert np.abs(slope).max() < 1e-4 * c
    # The outliers hardly pull, and what they would pull to is not where the figure is.
    factor = recording.targets.robust_weight[0]
    assert factor[wrong].max() < 0.4
    good = np.setdiff1d(np.flatnonzero(np.isfinite(place[0, :, 0])), wrong)
    assert np.median(factor[good]) > 0.8
    assert (factor[np.isnan(place[0, :, 0])] == 0.0).all()


@pytest.mark.parametrize("kind", ["huber", "tukey"])
def test_rounds_of_a_robust_loss_never_go_up(kind: str):
    skeleton, c = menagerie(), 0.03
    recording = make_tracking_problem(
        skeleton, moving(skeleton, 5, 1, noise=0.03), robust=kind, width=c, posture=1e-3
    )
    options, q = TIGHT.options(recording.frame_problem), near_neutral(skeleton, 5)[None]
    costs = [robust_sum(recording, kind, c, 0, q[0])]
    for _ in range(6):
        actual = solve_frames(recording, options, np.array([0]), q)
        q = actual.q
        costs.append(float(actual.cost[0]))
    assert (np.diff(costs) <= 1e-12 * costs[0]).all()


# --- derivatives and error bars


@pytest.mark.parametrize("order", [EXACT, GAUSS_NEWTON])
def test_derivatives_of_many_frames_are_those_of_problems(order: int):
    skeleton = menagerie()
    recording = make_tracking_problem(skeleton, moving(skeleton, 4, 4), posture=1e-2)
    which, scratch = np.array([2, 0, 3]), recording.buffers
    q = np.array([configuration(skeleton, seed) for seed in range(3)])
    cost, g = np.empty(3), np.empty((3, skeleton.nv))
    H = np.empty((3, *scratch.workspace.H.shape))
    evaluate_frames(
        skeleton.tree,
        scratch.goals,
        recording.targets,
        order,
        which,
        q,
        cost,
        g,
        H,
        scratch.workspace,
    )
    dof, level, above = skeleton.ancestor_pairs
    for k, t in enumerate(which):
        problem = problem_of(recording, int(t))
        full = np.zeros((skeleton.nv, skeleton.nv))
        full[dof, above] = full[above, dof] = H[k][dof, level]
        wanted = problem.hessian(q[k]) if order == EXACT else problem.gauss_newton(q[k])
        assert cost[k] == pytest.approx(problem.cost(q[k]), rel=1e-12)
        assert np.allclose(g[k], problem.gradient(q[k]), atol=1e-12 * np.abs(g[k]).max())
        assert np.allclose(full, wanted, atol=1e-12 * np.abs(wanted).max())


def test_standard_deviations_are_those_of_a_result():
    """Where markers determine everything: three on each bone, and nobody at a limit."""
    skeleton, sigma = menagerie(), 0.002
    recording = make_tracking_problem(
        skeleton, moving(skeleton, 6, 2, noise=sigma), limits="off", posture=0.0
    )
    options, scratch = TIGHT.options(recording.frame_problem), recording.buffers
    q = solve_frames(recording, options, np.arange(2), np.array([near_neutral(skeleton, 6)] * 2)).q
    sd, none = np.empty((2, skeleton.nv)), np.zeros(skeleton.nv)
    estimate_standard_deviations(
        skeleton.tree,
        scratch.goals,
        recording.frame_problem.box,
        recording.targets,
        none,
        np.full(2, sigma),
        np.arange(2),
        q,
        new_variance_scratch(skeleton.tree),
        sd,
        scratch.descent_state,
        scratch.workspace,
    )
    for t in range(2):
        goals = [g for g in problem_of(recording, t).goals if isinstance(g, ik.MarkerGoal)]
        result = ik.solve(ik.Problem(skeleton, goals, limits="off"), q0=q[t], solver=TIGHT)
        assert same_pose(skeleton, result.q, q[t]) < 1e-8
        wanted = result.covariance(sigma)
        assert wanted.undetermined == []
        assert np.allclose(sd[t], wanted.sd, rtol=1e-6)
