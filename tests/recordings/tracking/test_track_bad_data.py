"""Markers that are wrong: thrown far off for a moment, or called by each other's name."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

import exactik as ik
from exactik.lab.synthetic import simulate_performance, simulate_recording
from exactik.recordings.tracking import find_spikes
from exactik.typing import Array
from tests.support.hdm05 import LOCK, TAKES, compute_marker_positions, get_take, with_positions

LOSSES = ("huber", "tukey")
WRIST, ANKLE = ("LWRA", "LWRB"), ("LANK", "LHEE")
FIRST, END = 300, 400


class Spoilt(NamedTuple):
    """A recording with known errors."""

    markers: ik.Markers
    outliers: NDArray[np.bool_]


def spoilt(markers: ik.Markers, pair: tuple[str, str], first: int, seed: int = 0) -> Spoilt:
    """Two in a hundred samples 0.3 m off, and two markers exchanged for 100 frames."""
    rng, place = np.random.default_rng(seed), np.array(markers.positions)
    outliers = rng.random(place.shape[:2]) < 0.02
    place[outliers] += rng.normal(0.0, 0.3, (int(outliers.sum()), 3))
    one, two = (markers.names.index(name) for name in pair)
    frames = slice(first, first + END - FIRST)
    place[frames, [one]], place[frames, [two]] = place[frames, [two]], place[frames, [one]]
    outliers[frames, [one]], outliers[frames, [two]] = (
        outliers[frames, [two]],
        outliers[frames, [one]],
    )
    return Spoilt(with_positions(markers, place), outliers)


def errors(result: ik.Track, true: Array) -> Array:
    """Distance of the figure's markers from the true ones [m], (T, M)."""
    return np.linalg.norm(
        compute_marker_positions(result.skeleton, result.motion.q, result.names) - true, axis=2
    )


def moved_bones(one: ik.Track, two: ik.Track) -> Array:
    a, b = one.motion.forward().positions, two.motion.forward().positions
    return np.linalg.norm(a - b, axis=2)


@pytest.mark.slow
@pytest.mark.parametrize("name", TAKES)
def test_errors_in_a_real_take_do_not_show(shared_data: Path, name: str):
    take = get_take(shared_data, name)
    true, bad = take.markers.positions, spoilt(take.markers, WRIST, 1000)
    clean = ik.track(take.skeleton, take.markers, lock=LOCK, limits="off")
    plain = ik.track(take.skeleton, bad.markers, lock=LOCK, limits="off")
    expected = errors(clean, true)
    wanted = expected.mean()
    print(f"{name}: clean {1e3 * wanted:.2f} mm, not robust {1e3 * errors(plain, true).mean():.2f}")
    pair = [take.markers.names.index(marker) for marker in WRIST]
    pair_error = expected[1000:1100][:, pair].mean()
    for loss in LOSSES:
        result = ik.track(take.skeleton, bad.markers, lock=LOCK, limits="off", robust=loss)
        error, apart = errors(result, true), moved_bones(result, clean)
        inside = error[1000:1100][:, pair].mean()
        print(
            f"  {loss}: {1e3 * error.mean():.2f} mm, bones moved by {1e3 * apart.mean():.2f} mm, "
            f"swapped pair {1e3 * inside:.1f} mm (clean {1e3 * pair_error:.1f})"
        )
        assert error.mean() <= 1.1 * wanted
        assert inside <= 1.1 * pair_error + 0.001
        # Bones: as far off as the loss itself puts them, and not much more.
        same = ik.track(take.skeleton, take.markers, lock=LOCK, limits="off", robust=loss)
        assert np.median(moved_bones(result, same)) < 0.1 * wanted
        assert WRIST in [swap.names for swap in result.swaps]
        swap = next(swap for swap in result.swaps if swap.names == WRIST)
        assert abs(swap.first - 1000) <= 2 and abs(swap.last - 1099) <= 2


@pytest.fixture(scope="module")
def performed() -> tuple[ik.Track, Array, Spoilt]:
    motion = simulate_performance(8.0, 60.0, seed=5, acts=("wave", "kick", "squat"))
    rec = simulate_recording(motion, noise=0.001, tissue=0.008, gaps=0.0, swap=False)
    true = rec.markers.positions
    return ik.track(motion.skeleton, rec.markers), true, spoilt(rec.markers, ANKLE, FIRST)


@pytest.mark.full
@pytest.mark.parametrize("loss", LOSSES)
def test_errors_in_a_performance_do_not_show(performed: tuple[ik.Track, Array, Spoilt], loss: str):
    clean, true, bad = performed
    result = ik.track(clean.skeleton, bad.markers, robust=loss)
    wanted = errors(clean, true).mean()
    assert errors(result, true).mean() <= 1.1 * wanted
    plain = ik.track(clean.skeleton, bad.markers, robust=None)
    assert errors(plain, true).mean() > 1.5 * wanted  # else there would be nothing to show
    assert [swap.names for swap in result.swaps] == [ANKLE]
    assert abs(result.swaps[0].first - FIRST) <= 2 and abs(result.swaps[0].last - (END - 1)) <= 2
    # Nearly all outliers are found: left out as spikes, or without a say.
    weights = result.marker_weights
    assert weights is not None and weights.shape == true.shape[:2]
    far = bad.outliers & (np.linalg.norm(bad.markers.positions - true, axis=2) > 0.1)
    far[FIRST:END, [true_index(result, name) for name in ANKLE]] = False
    assert (result.spikes | (weights < 0.3))[far].mean() > 0.97
    good = ~bad.outliers & ~result.spikes
    assert np.median(weights[good]) > 0.8


def test_markers_on_two_sides_of_a_wrist_are_exchanged_back(
    performed: tuple[ik.Track, Array, Spoilt],
):
    clean, true, _ = performed
    bad = spoilt(with_positions(clean.markers, true), WRIST, FIRST)
    result = ik.track(clean.skeleton, bad.markers, robust="huber")
    assert [swap.names for swap in result.swaps] == [WRIST]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_swaps_of_other_performances_are_named(seed: int):
    motion = simulate_performance(8.0, 60.0, seed=5 + seed, acts=("wave", "kick", "squat"))
    rec = simulate_recording(motion, noise=0.001, tissue=0.008, gaps=0.0, swap=False, seed=seed)
    bad = spoilt(rec.markers, ANKLE, FIRST, seed)
    result = ik.track(motion.skeleton, bad.markers, robust="huber")
    assert [swap.names for swap in result.swaps] == [ANKLE]


def true_index(result: ik.Track, name: str) -> int:
    return result.names.index(name)


@pytest.mark.parametrize("loss", LOSSES)
def test_without_errors_a_robust_loss_changes_little(
    performed: tuple[ik.Track, Array, Spoilt], loss: str
):
    clean, true, _ = performed
    result = ik.track(clean.skeleton, with_positions(clean.markers, true), robust=loss)
    assert errors(result, true).mean() <= 1.05 * errors(clean, true).mean()
    assert result.swaps == () and result.spikes.mean() < 1e-4


def test_spikes_are_told_from_fast_motion():
    """A marker that circles at 8 m/s is not a spike, one that is 5 cm off for a frame is."""
    t = np.arange(240) / 120.0
    path = np.stack([np.cos(16 * t), np.sin(16 * t), 0 * t], axis=1) * 0.5
    place = np.stack([path, path + np.array([0.1, 0.0, 0.0])], axis=1)
    assert not find_spikes(place, 120.0).any()
    place[100, 0] += (0.05, 0.0, 0.0)
    place[150, 1] = np.nan
    result = find_spikes(place, 120.0)
    assert result[100, 0] and result.sum() == 1


def test_ignored_markers_are_named(performed: tuple[ik.Track, Array, Spoilt]):
    clean, true, _ = performed
    place = true.copy()
    m = clean.names.index("RANK")
    place[100:160, m] += np.linspace(0.0, 0.3, 60)[:, None]  # drifts away, with no spike
    result = ik.track(clean.skeleton, with_positions(clean.markers, place), robust="tukey")
    items = [item for item in result.attention if item.kind == "ignored-marker"]
    assert any("RANK" in item.text and 100 <= item.first and item.last <= 165 for item in items)


GROSS = (0.1, 0.5)  # [m] that outliers are thrown


def throw(markers: ik.Markers, share: float, seed: int) -> Spoilt:
    """A share of the samples 10 to 50 cm off."""
    rng, place = np.random.default_rng(seed), np.array(markers.positions)
    outliers = rng.random(place.shape[:2]) < share
    away = rng.normal(size=place.shape)
    away *= (rng.uniform(*GROSS, outliers.shape) / np.linalg.norm(away, axis=2))[..., None]
    place[outliers] += away[outliers]
    return Spoilt(with_positions(markers, place), outliers)


def joint_error(result: ik.Track, truth: ik.Motion) -> float:
    apart = result.motion.forward().positions - truth.forward().positions
    return float(np.linalg.norm(apart, axis=2).mean())


@pytest.mark.parametrize("share", [0.05, pytest.param(0.3, marks=pytest.mark.full)])
def test_by_default_gross_outliers_are_left_out(share: float):
    """Seeds 11, 13 and 16: joints 0.97 to 0.98 times as far off at 5 %, 0.96 to 1.09 at 30 %."""
    motion = simulate_performance(4.0, 60.0, seed=6, acts=("wave", "squat"))
    rec = simulate_recording(motion, noise=0.001, tissue=0.008, gaps=0.0, swap=False, seed=6)
    clean = ik.track(motion.skeleton, rec.markers)
    bad = throw(rec.markers, share, 6)
    plain = ik.track(motion.skeleton, bad.markers, robust=None)
    result = ik.track(motion.skeleton, bad.markers)
    wanted = joint_error(clean, motion)
    assert joint_error(plain, motion) > 2.0 * wanted
    assert joint_error(result, motion) < 1.3 * wanted
    assert result.left_out[bad.outliers].mean() > 0.95
    assert result.left_out[~bad.outliers].mean() < 0.005
    left_out = next(found for found in result.findings if found.kind == "left-out")
    assert f"{int(result.left_out.sum())} samples were left out" in left_out.text


def test_by_default_a_sound_recording_is_solved_as_without(
    performed: tuple[ik.Track, Array, Spoilt],
):
    clean, _, _ = performed
    assert not clean.left_out.any() and clean.swaps == ()
    plain = ik.track(clean.skeleton, clean.markers, robust=None)
    assert np.array_equal(plain.motion.q, clean.motion.q)
    assert np.array_equal(plain.marker_errors, clean.marker_errors)


def test_markers_that_are_each_at_the_others_place_are_exchanged_back():
    """Also where no path shows the exchange, since both are lost before and after it."""
    motion = simulate_performance(4.0, 60.0, seed=6, acts=("wave", "squat"))
    rec = simulate_recording(motion, noise=0.001, tissue=0.0, gaps=0.0, swap=False, seed=6)
    place = np.array(rec.markers.positions)
    pair = [rec.markers.names.index(name) for name in ("LTHI", "RTHI")]
    place[100:140, pair] = place[100:140, pair[::-1]]
    place[80:100, pair] = place[140:160, pair] = np.nan
    result = ik.track(motion.skeleton, with_positions(rec.markers, place))
    assert [(s.names, s.first, s.last) for s in result.swaps] == [(("LTHI", "RTHI"), 100, 139)]
    assert not result.left_out.any()
    (swap,) = (found for found in result.findings if found.kind == "swap")
    assert swap.details["verdict"] == "repaired" and swap.frames == (100, 139)


def test_what_goes_away_smoothly_keeps_its_say():
    """Skin, or a figure that does not fit: no jump, no outlier."""
    motion = simulate_performance(4.0, 60.0, seed=6, acts=("wave", "squat"))
    rec = simulate_recording(motion, noise=0.001, tissue=0.0, gaps=0.0, swap=False, seed=6)
    place, m = np.array(rec.markers.positions), rec.markers.names.index("RTHI")
    place[60:180, m] += 0.12 * np.sin(np.linspace(0.0, np.pi, 120))[:, None]
    markers = with_positions(rec.markers, place)
    assert not ik.track(motion.skeleton, markers).left_out.any()
    place = np.array(rec.markers.positions)
    place[100:130, m] += 0.12
    left_out = ik.track(motion.skeleton, with_positions(rec.markers, place)).left_out
    assert left_out[100:130, m].all()
