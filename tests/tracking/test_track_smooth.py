"""Smoothing: all frames at once, against dense linear algebra and against the truth."""

from __future__ import annotations

import numpy as np
import pytest

import exactik as ik
from exactik.kernels.calculus.sums import EXACT
from exactik.synthetic import SyntheticRecording, simulate_performance, simulate_recording
from exactik.tracking import (
    DEFAULT_OPTIONS,
    SequenceProblem,
    SmoothingOptions,
    TrackingOptions,
    follow_frames,
    make_tracking_problem,
)
from exactik.typing import Array
from tests.support.problems import menagerie
from tests.support.tracking import is_within_limits


def small_sequence(count: int, limits: str = "hard") -> tuple[SequenceProblem, Array]:
    """A few frames of a figure with all kinds of joints, some dofs locked, some at limits."""
    skeleton, rng = menagerie(), np.random.default_rng(0)
    v = 0.3 * rng.normal(size=skeleton.nv) + 0.02 * rng.normal(size=(count, skeleton.nv))
    q = skeleton.clip(np.array([skeleton.integrate(skeleton.neutral(), step) for step in v]))
    place = skeleton.forward(q).markers + rng.normal(0, 0.02, (count, len(skeleton.markers), 3))
    place[0, 3] = np.nan
    markers = ik.Markers(place, tuple(skeleton.markers), 100.0)
    problem = make_tracking_problem(skeleton, markers, limits=limits, lock="pair*", posture=1e-3)
    stiffness = rng.uniform(0.5, 5.0, skeleton.nv)
    curvature = rng.uniform(0.1, 1.0, skeleton.nv)
    options = ik.Auto(tolerance=1e-3, detour=False).options(problem.frame_problem)
    q = follow_frames(problem, options, np.arange(count), q[0]).q
    sequence = SequenceProblem(
        problem=problem,
        frames=np.arange(count),
        stiffness=stiffness,
        curvature=curvature,
        options=DEFAULT_OPTIONS.smoothing,
    )
    return sequence, q


def dense(sequence: SequenceProblem, H: Array) -> Array:
    """The whole Hessian by Kronecker products and full blocks."""
    skeleton, count = sequence.problem.skeleton, len(H)
    dof, level, above = skeleton.ancestor_pairs
    full = np.zeros((count, skeleton.nv, count, skeleton.nv))
    for t in range(count):
        full[t, dof, t, above] = full[t, above, t, dof] = H[t, dof, level]
    D = np.diff(np.eye(count), 2, axis=0)
    full += np.einsum("st,ij->sitj", D.T @ D, np.diag(sequence.stiffness))
    size, damping = count * skeleton.nv, sequence.options.damping
    return full.reshape(size, size) + damping * np.diag(np.tile(sequence.curvature, count))


@pytest.mark.parametrize("count", [2, 3, 4, 5, 6, 9])
def test_the_band_is_the_matrix(count: int):
    sequence, q = small_sequence(count)
    H = sequence.evaluate(q, EXACT)[3]
    band, wanted = sequence.assemble_band(H), dense(sequence, H)
    size = len(wanted)
    result = np.zeros((size, size))
    for k in range(len(band)):
        for j in range(size - k):
            result[j + k, j] = result[j, j + k] = band[k, j]
    assert np.abs(result - wanted).max() < 1e-12 * np.abs(wanted).max()


@pytest.mark.parametrize("limits", ["hard", "off"])
def test_the_step_is_newtons(limits: str):
    sequence, q = small_sequence(6, limits)
    _, _, g, H = sequence.evaluate(q, EXACT)
    box = sequence.problem.frame_problem.box
    result = sequence.compute_step(q, g, H)
    values = q[:, np.maximum(box.coordinate, 0)]
    held = (values <= box.lower) & (g > 0) | (values >= box.upper) & (g < 0)
    held = (held & (box.coordinate >= 0) | (box.free == 0.0)).ravel()
    assert held.any() and (limits == "off" or held.sum() > 6 * 2)
    A = dense(sequence, H)
    free = np.flatnonzero(~held)
    wanted = np.zeros(A.shape[0])
    wanted[free] = np.linalg.solve(A[np.ix_(free, free)], -g.ravel()[free])
    assert np.abs(result.ravel() - wanted).max() < 1e-9 * np.abs(wanted).max()


def test_the_gradient_is_that_of_the_sum():
    sequence, q = small_sequence(5, "off")
    skeleton = sequence.problem.skeleton
    g, h = sequence.evaluate(q, EXACT)[2], 1e-6
    plain = skeleton.plain_q >= 0
    for t in range(5):
        for i in np.flatnonzero(plain)[::4]:
            sums = []
            for sign in (1.0, -1.0):
                other, step = q.copy(), np.zeros(skeleton.nv)
                step[i] = sign * h
                other[t] = skeleton.integrate(q[t], step)
                sums.append(sequence.evaluate(other, EXACT)[0])
            assert (sums[0] - sums[1]) / (2 * h) == pytest.approx(g[t, i], rel=1e-4, abs=1e-6)


def test_solving_lowers_the_sum_and_keeps_the_limits():
    sequence, q = small_sequence(9)
    result, cost = sequence.solve(q)
    before, after = (sequence.evaluate(x, EXACT)[0] for x in (q, result))
    assert after < before
    assert is_within_limits(sequence.problem.skeleton, result)
    assert cost == pytest.approx(sequence.evaluate(result, EXACT)[1])


@pytest.fixture(scope="module")
def noisy() -> SyntheticRecording:
    motion = simulate_performance(10.0, 120.0, seed=1)
    return simulate_recording(motion, noise=0.002, gaps=0.0, swap=False)


def test_noise_of_accelerations_and_of_angles_falls(noisy: SyntheticRecording):
    figure, truth = noisy.truth.skeleton, np.array(noisy.truth.q)
    plain = ik.track(figure, noisy.markers)
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
    options = TrackingOptions(smoothing=SmoothingOptions(chunk_frames=100))
    parts = ik.track(figure, markers, smooth=8.0, options=options).motion.q
    noise = np.abs(figure.difference(parts, whole))
    assert np.quantile(noise, 0.99) < 0.01
