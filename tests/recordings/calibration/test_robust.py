"""Markers that are wrong do not bend bones, and those that are right count in full."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import exactik as ik
from exactik.recordings.calibration import calibrate
from exactik.recordings.calibration.fitting import choose_diverse_frames, compute_robust_weights
from tests.support.subjects import Subject, make_subject


@pytest.fixture(scope="module")
def somebody() -> Subject:
    return make_subject(ik.human(), 7, frames=200)


def scale_errors(fit, own: Subject) -> dict[str, float]:
    return {
        group[0]: fit.scales[group[0]] / float(np.exp(own.theta[g])) - 1.0
        for g, group in enumerate(own.figure.scale_groups)
    }


def test_a_swapped_pair_does_not_bend_bones(somebody: Subject):
    """Knee and ankle of one leg exchanged in a fifth of the frames, a heel on the floor in some."""
    legs = ("FWT", "BWT", "THI", "KNE", "SHN", "ANK", "HEE", "TOE", "MT5")
    markers = somebody.markers.chosen([n for n in somebody.markers.names if n[1:] in legs])
    places = markers.positions.copy()
    knee, ankle, heel = (markers.names.index(name) for name in ("LKNE", "LANK", "RHEE"))
    places[40:80, [knee, ankle]] = places[40:80, [ankle, knee]]
    places[100:130, heel] *= (1.0, 1.0, 0.0)
    wrong = replace(markers, positions=places)
    fit = calibrate(ik.human(), wrong, frames=40)
    plain = calibrate(ik.human(), wrong, frames=40, robust=False)
    errors, plain_errors = scale_errors(fit, somebody), scale_errors(plain, somebody)
    assert max(abs(errors[bone]) for bone in ("l_thigh", "l_shin")) < 0.012
    assert max(abs(plain_errors[bone]) for bone in ("l_thigh", "l_shin")) > 0.03
    swapped = np.isin(fit.frames, np.arange(40, 80))
    weights = fit.fit.solution.weights
    assert swapped.any() and weights[swapped][:, knee].max() < 0.01
    assert np.median(weights[~swapped][:, knee]) > 0.95


def test_spikes_are_left_out_before_frames_are_chosen():
    slow = make_subject(ik.human(), 7, frames=1200).markers.between(0.0, 2.0)
    places = slow.positions.copy()
    places[[30, 60, 90], 5] += 0.5  # a shape like no other: diversity would take it
    chosen = choose_diverse_frames([replace(slow, positions=places)], 150)
    rows = np.isin(chosen.frames, (30, 60, 90))
    assert rows.any() and np.isnan(chosen.markers.positions[rows, 5]).all()
    assert np.isnan(chosen.markers.positions).any(axis=2).sum() == rows.sum()


def test_without_outliers_the_loss_is_quadratic():
    """Of normal errors less than 2 % weigh less than 0.9; of gross ones hardly anything is left."""
    distances = np.linalg.norm(np.random.default_rng(0).normal(0.0, 2e-3, (400, 30, 3)), axis=2)
    weights = compute_robust_weights(distances)
    assert (weights < 0.9).mean() < 0.02 and weights.mean() > 0.99
    distances[:40, 3], distances[50, 7] = 0.1, np.nan
    weights = compute_robust_weights(distances)
    assert weights[:40, 3].max() < 2e-3 and weights[50, 7] == 0.0
    distances[:40, 3] = 0.012  # beyond c by little: skin
    assert 0.3 < compute_robust_weights(distances)[0, 3] < 0.8
    assert (compute_robust_weights(np.full((3, 4), 1e-9)) == 1.0).all()
    assert (compute_robust_weights(np.full((3, 4), np.nan)) == 0.0).all()
