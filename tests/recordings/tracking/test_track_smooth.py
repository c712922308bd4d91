"""Smoothing: all frames at once, against dense linear algebra and against the truth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

import exactik as ik
from exactik.kernels.goals.sums import GAUSS_NEWTON, VALUE
from exactik.kernels.smoothing.accelerations import AccelerationPrior
from exactik.kernels.smoothing.step import compute_sequence_step
from exactik.kernels.smoothing.variances import estimate_variances
from exactik.kernels.tree.couplings import SOURCE
from exactik.lab.synthetic import (
    SyntheticRecording,
    simulate_performance,
    simulate_recording,
)
from exactik.recordings.pipeline import compare_with_truth
from exactik.recordings.tracking import (
    DEFAULT_OPTIONS,
    Smoother,
    Track,
    TrackingOptions,
    estimate_white_noise,
    follow_frames,
    make_prior,
    make_tracking_problem,
)
from exactik.recordings.tracking.smoothing import _smoother, _strength
from exactik.typing import Array
from tests.support.mechanisms import legs
from tests.support.problems import menagerie
from tests.support.tracking import is_within_limits

DAMPING = 1e-4


FIGURES: dict[str, tuple[Callable[[], ik.Skeleton], str]] = {
    "menagerie": (menagerie, "pair*"),
    "legs": (legs, "foot_l"),
}


def small_sequence(
    count: int, limits: str = "hard", noise: float = 0.02, figure: str = "menagerie"
) -> tuple[Smoother, AccelerationPrior, Array]:
    """A few frames of a figure with all kinds of joints, some dofs locked, some at limits."""
    make, lock = FIGURES[figure]
    skeleton, rng = make(), np.random.default_rng(0)
    v = 0.3 * rng.normal(size=skeleton.nv) + noise * rng.normal(size=(count, skeleton.nv))
    q = skeleton.clip(np.array([skeleton.integrate(skeleton.neutral(), step) for step in v]))
    place = skeleton.forward(q).markers + rng.normal(0, noise, (count, len(skeleton.markers), 3))
    place[0, 3] = np.nan
    markers = ik.Markers(place, tuple(skeleton.markers), 100.0)
    problem = make_tracking_problem(skeleton, markers, limits=limits, lock=lock, posture=1e-3)
    options = ik.Auto(tolerance=1e-3, detour=False).options(problem.frame_problem)
    q = follow_frames(problem, options, np.arange(count), q[0]).q
    prior = make_prior(skeleton)
    prior = prior._replace(
        turn=rng.uniform(0.5, 5.0, (count, len(prior.turn_count))) * (prior.turn_count > 0),
        shift=rng.uniform(0.5, 5.0, (count, skeleton.nv)) * (prior.shift_coordinate >= 0),
    )
    return Smoother(problem, DEFAULT_OPTIONS.chunk_frames, 1), prior, q


def dense_curvature(smoother: Smoother, prior: AccelerationPrior, q: Array) -> Array:
    """The whole matrix from blocks and from Jacobians of accelerations."""
    skeleton, count = smoother.problem.skeleton, len(q)
    work, tree = smoother.workspace, skeleton.tree
    smoother.evaluate(q, 0, prior, GAUSS_NEWTON)
    dof, level, above = skeleton.ancestor_pairs
    full = np.zeros((count, skeleton.nv, count, skeleton.nv))
    for t in range(count):
        full[t, dof, t, above] = full[t, above, t, dof] = work.L[t, dof, level]
    size = count * skeleton.nv
    matrix = full.reshape(size, size) + DAMPING * np.eye(size)
    second = np.diff(np.eye(count), 2, axis=0)
    for b in range(1, len(tree.parent)):
        turns = np.zeros((count, 3, skeleton.nv))
        k = b
        while k > 0:
            for i in range(int(prior.first_turn[k]), int(tree.joint_v[k + 1])):
                turns[:, :, int(tree.joint_dofs[SOURCE, i])] += work.axes[:count, i]
            k = int(tree.parent[k])
        axes = work.axes[:count, int(prior.first_turn[b]) : int(tree.joint_v[b + 1])]
        length = np.linalg.norm(axes, axis=2, keepdims=True)
        axes = axes / np.where(length > 0.0, length, 1.0)
        for s, row in enumerate(second):
            J = np.einsum("t,tci->cti", row, turns).reshape(3, size)
            if prior.turn_count[b] < 3:
                J = axes[s + 1] @ J
            matrix += prior.turn[s + 1, b] * J.T @ J
    for s, row in enumerate(second):
        matrix += np.kron(np.outer(row, row), np.diag(prior.shift[s + 1]))
    return matrix


def compute_step(
    smoother: Smoother, prior: AccelerationPrior, q: Array, iterations: int, tolerance: float
) -> Array:
    smoother.evaluate(q, 0, prior, GAUSS_NEWTON)
    box, nv = smoother.problem.frame_problem.box, smoother.problem.skeleton.nv
    damping = np.full(nv, DAMPING)
    tree = smoother.problem.skeleton.tree
    work = smoother.workspace
    compute_sequence_step(tree, box, prior, damping, iterations, tolerance, q, work)
    return work.step[: len(q)].copy()


@pytest.mark.parametrize("count", [3, 4, 5, 9])
@pytest.mark.parametrize("limits", ["hard", "off"])
@pytest.mark.parametrize("figure", FIGURES)
def test_the_step_is_gauss_newtons(count: int, limits: str, figure: str):
    smoother, prior, q = small_sequence(count, limits, figure=figure)
    A = dense_curvature(smoother, prior, q)
    g = smoother.workspace.g[:count].copy()
    box = smoother.problem.frame_problem.box
    values = q[:, np.maximum(box.coordinate, 0)]
    held = (values <= box.lower) & (g > 0) | (values >= box.upper) & (g < 0)
    held = (held & (box.coordinate >= 0) | (box.free == 0.0)).ravel()
    assert held.any()
    free = np.flatnonzero(~held)
    wanted = np.zeros(len(A))
    wanted[free] = np.linalg.solve(A[np.ix_(free, free)], -g.ravel()[free])
    result = compute_step(smoother, prior, q, 400, 0.0)
    assert np.abs(result.ravel() - wanted).max() < 1e-6 * np.abs(wanted).max()


def test_few_iterations_are_enough():
    """Where markers still have the greater part in it, as in recordings."""
    smoother, prior, q = small_sequence(9)
    prior = prior._replace(turn=0.01 * prior.turn, shift=0.01 * prior.shift)
    exact = compute_step(smoother, prior, q, 400, 0.0)
    few = compute_step(smoother, prior, q, _smoother.MAX_STEP_ITERATIONS, _smoother.STEP_TOLERANCE)
    A = dense_curvature(smoother, prior, q)
    rest = (few - exact).ravel()
    share = float(rest @ A @ rest) / float(exact.ravel() @ A @ exact.ravel())
    assert share < 0.02, share


@pytest.mark.parametrize(("figure", "noise"), [("menagerie", 1e-4), ("legs", 1e-6)])
def test_the_gradient_is_that_of_the_sum(figure: str, noise: float):
    """But for the change of P, of the order of accelerations: large where markers tell little."""
    smoother, prior, q = small_sequence(6, "off", noise=noise, figure=figure)
    smoother.evaluate(q, 0, prior, GAUSS_NEWTON)
    g, skeleton = smoother.workspace.g[: len(q)].copy(), smoother.problem.skeleton
    rng, h = np.random.default_rng(1), 1e-6
    for _ in range(8):
        step = rng.normal(size=g.shape) * (smoother.problem.frame_problem.box.free != 0.0)
        sums = [
            smoother.evaluate(skeleton.integrate(q, sign * h * step), 0, prior, VALUE)
            for sign in (1.0, -1.0)
        ]
        slope = (sums[0] - sums[1]) / (2 * h)
        usual = float(np.linalg.norm(g))  # size of a slope along a random step
        assert slope == pytest.approx(float((g * step).sum()), abs=1e-3 * usual)


@pytest.mark.full
@pytest.mark.parametrize("figure", FIGURES)
def test_variances_are_those_of_the_whole_matrix(figure: str):
    """Of a pose that does not change, far from the ends, where coordinates hardly couple."""
    smoother, _, q = small_sequence(1, figure=figure)
    count = 61
    problem = smoother.problem
    still = problem.with_targets(position=np.repeat(problem.targets.position, count, axis=0))
    smoother = Smoother(still, DEFAULT_OPTIONS.chunk_frames, 1)
    q = np.repeat(q, count, axis=0)
    prior = make_prior(problem.skeleton)
    for weight, usual, most in ((1e-6, 1e-3, 0.01), (1.0, 0.2, 0.5)):
        prior = prior._replace(
            turn=np.tile(weight * (prior.turn_count > 0), (count, 1)),
            shift=np.tile(weight * (prior.shift_coordinate >= 0), (count, 1)),
        )
        A = dense_curvature(smoother, prior, q)
        nv, box = problem.skeleton.nv, problem.frame_problem.box
        variance = np.empty((count, nv))
        smoother.evaluate(q, 0, prior, GAUSS_NEWTON)
        damping, work = np.full(nv, DAMPING), smoother.workspace
        tree = problem.skeleton.tree
        estimate_variances(tree, box, prior, damping, q, work, variance)
        free = work.active_set[:count].ravel() == 0.0
        wanted = np.zeros(count * nv)
        wanted[free] = np.diag(np.linalg.inv(A[np.ix_(free, free)]))
        middle = wanted.reshape(count, nv)[count // 2]
        known = middle > 0.0
        ratio = np.sqrt(variance[count // 2, known] / middle[known])
        assert np.median(np.abs(ratio - 1.0)) < usual and np.abs(ratio - 1.0).max() < most


@pytest.fixture(scope="module")
def noisy() -> SyntheticRecording:
    motion = simulate_performance(10.0, 120.0, seed=1)
    return simulate_recording(motion, noise=0.002, gaps=0.0, swap=False)


def test_noise_of_accelerations_and_of_angles_falls(noisy: SyntheticRecording):
    figure, truth = noisy.truth.skeleton, np.array(noisy.truth.q)
    plain = ik.track(figure, noisy.markers, smooth=None)
    smooth = ik.track(figure, noisy.markers, smooth=8.0)
    bend = np.diff(truth, 2, axis=0)
    noise = [
        np.sqrt(np.mean((np.diff(result.motion.q, 2, axis=0) - bend) ** 2, axis=0))
        for result in (plain, smooth)
    ]
    ratio = noise[0] / noise[1]
    print(f"acceleration noise: least {ratio.min():.1f} ×, median {np.median(ratio):.1f} × less")
    assert ratio.min() >= 5.0
    error = [
        np.sqrt(np.mean(figure.difference(result.motion.q, truth)[:, 6:] ** 2))
        for result in (plain, smooth)
    ]
    print(f"angles: {np.degrees(error[0]):.2f}° and {np.degrees(error[1]):.2f}°")
    assert error[1] < error[0]
    assert is_within_limits(figure, smooth.motion.q)
    places = [
        np.linalg.norm(result.motion.forward().markers - noisy.clean, axis=2).mean()
        for result in (plain, smooth)
    ]
    assert places[1] < 0.75 * places[0]


def test_a_lower_cut_off_is_smoother(noisy: SyntheticRecording):
    markers = noisy.markers.between(0.0, 3.0)
    rough = [
        np.square(np.diff(ik.track(noisy.truth.skeleton, markers, smooth=f).motion.q, 2, axis=0))
        for f in (20.0, 8.0, 3.0)
    ]
    sizes = [float(x.mean()) for x in rough]
    assert sizes[0] > sizes[1] > sizes[2]


def test_seams_between_chunks_do_not_show(noisy: SyntheticRecording):
    figure, markers = noisy.truth.skeleton, noisy.markers.between(0.0, 4.0)
    whole = ik.track(figure, markers, smooth=8.0).motion.q
    options = TrackingOptions(chunk_frames=100)
    parts = ik.track(figure, markers, smooth=8.0, options=options).motion.q
    noise = np.abs(figure.difference(parts, whole))
    assert np.quantile(noise, 0.99) < 0.01


def turn_steps(motion: ik.Motion) -> Array:
    """How far every bone turns in the world from frame to frame [rad], (T − 1, bones)."""
    R = motion.forward().rotations
    relative = np.einsum("tbij,tbkj->tbik", R[1:], R[:-1])
    cosine = 0.5 * (np.trace(relative, axis1=2, axis2=3) - 1.0)
    return np.arccos(np.clip(cosine, -1.0, 1.0))


def check_against_truth(track: Track, recording: SyntheticRecording) -> None:
    """What is asked of the demo's recording, and prints it."""
    steps, true_steps = turn_steps(track.motion), turn_steps(recording.truth)
    rms = np.sqrt((steps**2).mean(axis=0) / (true_steps**2).mean(axis=0))
    largest = steps.max(axis=0) / true_steps.max(axis=0)
    found = compare_with_truth(track, recording.truth)
    print(f"turns: rms {rms.max():.2f}, largest {largest.max():.2f} of the truth's; {found}")
    assert rms.max() < 1.3 and largest.max() < 1.5
    assert 0.88 < found.within_band < 0.98


def test_bones_turn_as_in_truth():
    motion = simulate_performance(5.0)
    recording = simulate_recording(motion, noise=0.001, gaps=0.05)
    solved = ik.track(motion.skeleton, recording.markers, robust="huber", branches=False)
    assert solved.smoothing is not None
    assert solved.smoothing.noise == pytest.approx(0.001, rel=0.15)
    check_against_truth(solved, recording)
    alone = ik.track(
        motion.skeleton, recording.markers, robust="huber", branches=False, smooth=None
    )
    better, plain = (compare_with_truth(x, recording.truth) for x in (solved, alone))
    assert better.angle_error < 0.5 * plain.angle_error
    assert better.joint_error < 0.7 * plain.joint_error
    # What the markers determine stays where it is: errors grow to those of the noise, not beyond.
    expected = 0.001 * np.sqrt(8.0 / np.pi)
    assert alone.mean_error < solved.mean_error < 1.02 * expected


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_bones_turn_as_in_truth_in_the_demo(seed: int):
    recording = simulate_recording(
        simulate_performance(20.0, seed=seed), noise=0.001, gaps=0.05, seed=seed
    )
    solved = ik.track(recording.truth.skeleton, recording.markers, robust="huber", threads=2)
    check_against_truth(solved, recording)
    assert compare_with_truth(solved, recording.truth).angle_error < np.radians(0.25)


def test_the_noise_of_markers_is_found_among_their_motion():
    motion = simulate_performance(4.0)
    for noise in (0.0003, 0.003):
        recording = simulate_recording(motion, noise=noise, gaps=0.05, swap=False)
        problem = make_tracking_problem(motion.skeleton, recording.markers)
        found = estimate_white_noise(problem)
        assert found == pytest.approx(noise, rel=0.1)


def test_the_noise_of_a_long_recording_is_found_in_samples_of_it(monkeypatch: pytest.MonkeyPatch):
    recording = simulate_recording(simulate_performance(4.0), noise=0.001, gaps=0.05, swap=False)
    problem = make_tracking_problem(recording.truth.skeleton, recording.markers)
    differences = np.abs(np.diff(problem.targets.position, 4, axis=0))
    whole = float(np.nanmedian(differences)) / (0.6745 * np.sqrt(70.0))
    assert estimate_white_noise(problem) == pytest.approx(whole)
    monkeypatch.setattr(_strength, "WHITE_NOISE_SAMPLES", 50)
    assert estimate_white_noise(problem) == pytest.approx(whole, rel=0.1)


@pytest.mark.parametrize(("act", "speed"), [("walk", 2.3), ("punch", 1.5), ("wave", 2.0)])
def test_fast_motion_is_not_blunted(act: str, speed: float):
    """A sprint, a throw, a drum: as fast as that, and noise goes all the same."""
    motion = simulate_performance(5.0 * speed, 120.0 / speed, seed=1, acts=(act,))
    fast = replace(motion, rate=120.0)
    recording = simulate_recording(fast, noise=0.001, gaps=0.0, swap=False)
    solved, plain = (
        ik.track(fast.skeleton, recording.markers, smooth=smooth, branches=False)
        for smooth in ("auto", None)
    )
    true = turn_steps(fast).max(axis=0)
    limbs = [
        b
        for b, name in enumerate(fast.skeleton.bone_names)
        if name[2:] in ("thigh", "shin", "upper_arm", "forearm") and true[b] * 120.0 > 8.0
    ]
    share = turn_steps(solved.motion).max(axis=0)[limbs] / true[limbs]
    print(f"peaks {share.min():.3f} to {share.max():.3f} of the truth's, {len(limbs)} bones")
    assert len(limbs) >= 1 and 0.97 < share.min()
    better, alone = (compare_with_truth(x, recording.truth) for x in (solved, plain))
    assert better.joint_error < 0.8 * alone.joint_error


def test_a_burst_is_smoothed_less_than_the_rest():
    """A second of shaking in five of standing: weights of the forearm there are far less."""
    motion = simulate_performance(5.0, 120.0, acts=("wave",))
    q = np.array(motion.q)
    dof = motion.skeleton.dof_names.index("l_forearm.rz")
    column = int(motion.skeleton.plain_q[dof])
    q[:] = q[0]
    time = np.arange(len(q)) / 120.0
    shaken = (time > 2.0) & (time < 3.0)
    q[:, column] += 0.5 + np.where(shaken, 0.4 * np.sin(2 * np.pi * 6.0 * (time - 2.0)), 0.0)
    motion = replace(motion, q=motion.skeleton.clip(q))
    recording = simulate_recording(motion, noise=0.001, gaps=0.0, swap=False)
    solved = ik.track(motion.skeleton, recording.markers, branches=False)
    assert solved.smoothing is not None
    weight = solved.smoothing.prior.turn[:, motion.skeleton.bone_index("l_forearm") + 1]
    assert max(weight[4:6]) < 0.3 * min(*weight[:3], *weight[8:])


def test_what_smoothing_predicts_worse_stays_plain():
    """Markers without noise on a figure that fits badly: nothing is gained by smoothing."""
    motion = simulate_performance(3.0, 60.0, acts=("kick",))
    recording = simulate_recording(motion, noise=0.0, tissue=0.01, gaps=0.0, swap=False)
    rng = np.random.default_rng(0)
    kept = rng.random(recording.markers.positions.shape[:2]) > 0.1
    positions = np.where(kept[:, :, None], recording.markers.positions, np.nan)
    markers = replace(recording.markers, positions=positions)
    errors = []
    for smooth in ("auto", None):
        solved = ik.track(motion.skeleton, markers, smooth=smooth, branches=False)
        places = solved.motion.forward().markers
        distance = np.linalg.norm(places - recording.markers.positions, axis=2)
        errors.append(float(distance[~kept].mean()))
    print(f"held-out samples: {1e3 * errors[0]:.2f} mm, plain {1e3 * errors[1]:.2f} mm")
    assert errors[0] < 1.01 * errors[1]


def test_smoothing_does_not_depend_on_threads(noisy: SyntheticRecording):
    figure, markers = noisy.truth.skeleton, noisy.markers.between(0.0, 2.0)
    options = TrackingOptions(chunk_frames=60)
    one, two = (
        ik.track(figure, markers, branches=False, options=options, threads=n).motion.q
        for n in (1, 2)
    )
    assert np.array_equal(one, two)


def test_without_noise_nothing_moves():
    motion = simulate_performance(2.0)
    recording = simulate_recording(motion, noise=0.0, gaps=0.0, swap=False)
    solved = ik.track(motion.skeleton, recording.markers, branches=False)
    assert solved.mean_error < 1e-4


def test_what_no_marker_is_on_stays_at_rest():
    motion = simulate_performance(2.0)
    markers = simulate_recording(motion, noise=1e-3, gaps=0.0, swap=False).markers
    on_legs = [name for name in markers.names if name[1:] in ("FWT", "BWT", "THI", "KNE", "ANK")]
    legs = ik.track(motion.skeleton, markers.chosen(on_legs))
    held = [
        n for n, name in enumerate(motion.skeleton.dof_names) if "arm" in name or "neck" in name
    ]
    assert len(held) > 10 and legs.smoothing is not None
    np.testing.assert_allclose(legs.motion.q[:, held], 0.0, atol=1e-5)


@pytest.mark.full
def test_smoothing_leaves_no_limb_beside_its_markers():
    """A neck of three joints that touch their limits, of which the markers tell only the sum."""
    recording = simulate_recording(simulate_performance(20.0), noise=0.001, gaps=0.05)
    markers = recording.markers.between(0.0, 3.0)
    fitted = ik.calibrate(recording.truth.skeleton, markers).skeleton
    solved = ik.track(fitted, markers)
    alone = ik.track(fitted, markers, smooth=None, branches=False)
    worst, worst_alone = np.nanmax(solved.marker_errors), np.nanmax(alone.marker_errors)
    assert worst < 2.0 * worst_alone, f"{1e3 * worst:.1f} mm, frames alone {1e3 * worst_alone:.1f}"
