"""Error bars against what noise really does."""

from __future__ import annotations

import numpy as np
import pytest

import exactik as ik
from exactik.lab.synthetic import simulate_performance, simulate_recording
from exactik.recordings.tracking import (
    UNKNOWN_SD,
    compute_standard_deviations,
    make_tracking_problem,
    solve_frames,
)
from tests.support.tracking import find_determined_dofs

SIGMA, DRAWS = 0.001, 600
SMALL = 0.1  # [rad or m] sd above which a pose is not linear in its markers any more
METHOD = ik.Auto(tolerance=1e-9, small_cost=0.0, detour=False, escape=False)


@pytest.mark.full
def test_error_bars_are_those_of_many_recordings():
    """Ten poses, each recorded many times over: how the answers scatter is what was foretold.

    Left out are the neck and head, whose balls in line turn against each other by 0.2 rad and more
    for a millimetre, and the two hinges in each hand with one marker beyond them: nothing is linear
    there, and the posture has a say.
    """
    motion = simulate_performance(10.0, 12.0, seed=6, acts=("walk", "punch", "squat"))
    figure, rng = motion.skeleton, np.random.default_rng(0)
    checked, worst = 0, 0.0
    for t in np.linspace(5, len(motion) - 5, 10).astype(int):
        q = np.array(motion.q[t])
        true = figure.forward(q).markers
        noisy = true + rng.normal(0.0, SIGMA, (DRAWS, *true.shape))
        problem = make_tracking_problem(
            figure, ik.Markers(noisy, tuple(figure.markers), 100.0), limits="off"
        )
        options = METHOD.options(problem.frame_problem)
        result = solve_frames(problem, options, np.arange(DRAWS), np.tile(q, (DRAWS, 1))).q
        scatter = figure.difference(result, np.tile(q, (DRAWS, 1))).std(axis=0)
        foretold = np.sqrt(
            np.mean(compute_standard_deviations(problem, result, SIGMA, 1)[:50] ** 2, axis=0)
        )
        dofs = find_determined_dofs(figure)
        assert foretold[dofs].max() < SMALL
        ratio = scatter[dofs] / foretold[dofs]
        checked, worst = checked + int(dofs.sum()), max(worst, float(np.abs(ratio - 1.0).max()))
    print(f"{checked} error bars, off by {100 * worst:.1f} % at most")
    assert worst < 0.15


@pytest.mark.parametrize("noise", [0.001, 0.002])
def test_bands_hold_the_truth_as_often_as_they_say(noise: float):
    motion = simulate_performance(10.0, 60.0, seed=1)
    rec = simulate_recording(motion, noise=noise, gaps=0.0, swap=False)
    result = ik.track(motion.skeleton, rec.markers)
    error = np.abs(motion.skeleton.difference(result.motion.q, motion.q))
    # Dofs at a limit have no error bar; those that are all but free have one of the posture's.
    usable = (result.sd > 0.0) & (result.sd < 0.5)
    share = float(np.mean(error[usable] <= 1.645 * result.sd[usable]))
    print(f"noise {1e3 * noise:g} mm: {100 * share:.1f} % of the truth within the 90 % bands")
    assert 0.85 <= share <= 0.95
    assert result.sigma == pytest.approx(noise, rel=0.1)


def test_a_given_sigma_scales_the_bars():
    motion = simulate_performance(2.0, 30.0)
    rec = simulate_recording(motion, noise=0.001, gaps=0.0, swap=False)
    figure, markers = motion.skeleton, rec.markers
    one, two = (ik.track(figure, markers, sigma=s, smooth=None) for s in (0.001, 0.002))
    assert np.array_equal(one.motion.q, two.motion.q) and one.sigma == 0.001
    usable = (one.sd > 0.0) & (one.sd < 0.05)
    assert np.median(two.sd[usable] / one.sd[usable]) == pytest.approx(2.0, rel=1e-3)


def test_no_error_bar_is_longer_than_that_of_an_unknown_angle():
    motion = simulate_performance(2.0, 30.0)
    rec = simulate_recording(motion, noise=0.001, gaps=0.0, swap=False)
    assert ik.track(motion.skeleton, rec.markers).sd.max() < 1.01 * UNKNOWN_SD
