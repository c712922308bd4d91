"""Branches can only help: never worse than the path without them, and jumps are no secret."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

import exactik as ik
from exactik.lab.synthetic import SyntheticRecording, simulate_performance, simulate_recording
from exactik.recordings.pipeline import solve_recording
from tests.support.hdm05 import LOCK, TAKES, get_take, make_gap_bursts, with_positions

SPARSE = ("LFHD", "RBHD", "C7", "LSHO", "RSHO", "LELB", "RELB", "LWRA", "RWRA")
SPARSE += ("LKNE", "RKNE", "LANK", "RANK", "LTOE", "RTOE")
"""15 of 41 markers: half of the dofs are open."""
LEGS = ("LFWT", "RFWT", "LBWT", "RBWT", "LKNE", "RKNE", "LANK", "RANK", "LHEE", "RHEE", "LTOE")


@cache
def perform(seconds: float, rate: float, acts: tuple[str, ...], seed: int) -> ik.Motion:
    return simulate_performance(seconds, rate, seed=seed, acts=acts)


def record(
    acts: tuple[str, ...] = ("kick",),
    rate: float = 120.0,
    chosen: tuple[str, ...] | None = None,
    noise: float = 0.001,
    tissue: float = 0.0,
    gaps: float = 0.0,
    seconds: float = 2.5,
    seed: int = 1,
) -> tuple[SyntheticRecording, ik.Markers]:
    motion = perform(seconds, rate, acts, seed)
    rec = simulate_recording(motion, noise=noise, tissue=tissue, gaps=0.0, swap=False, seed=2)
    hidden = make_gap_bursts(rec.clean.shape[:2], gaps, rate, seed=3)
    place = np.where(hidden[:, :, None], np.nan, rec.markers.positions)
    markers = with_positions(rec.markers, place)
    return rec, markers if chosen is None else markers.chosen(chosen)


def track_both(figure: ik.Skeleton, markers: ik.Markers, **options) -> tuple[ik.Track, ik.Track]:
    plain, branched = (
        ik.track(figure, markers, branches=branches, smooth=None, **options)
        for branches in (False, True)
    )
    return plain, branched


def is_no_worse(plain: ik.Track, branched: ik.Track) -> bool:
    costs = branched.cost.sum(), plain.cost.sum()
    errors = branched.mean_error, plain.mean_error
    return costs[0] <= costs[1] * (1 + 1e-9) and errors[0] <= errors[1] * (1 + 1e-9)


@pytest.mark.full
@pytest.mark.parametrize(
    "scene",
    [
        {"rate": 250.0, "chosen": SPARSE},
        {"rate": 250.0, "chosen": SPARSE, "tissue": 0.01, "noise": 0.003},
        {"rate": 120.0, "chosen": SPARSE, "tissue": 0.01, "acts": ("jack", "kick")},
        {"rate": 120.0, "chosen": LEGS, "gaps": 0.1},
        {"rate": 60.0, "gaps": 0.2, "tissue": 0.015, "acts": ("squat",), "seed": 2},
        {"rate": 60.0, "noise": 0.005, "acts": ("punch",)},
        {"rate": 30.0, "noise": 0.0, "gaps": 0.1, "acts": ("walk",), "seconds": 4.0},
    ],
)
def test_branches_are_never_worse_than_none(scene):
    rec, markers = record(**scene)
    plain, branched = track_both(rec.truth.skeleton, markers)
    assert is_no_worse(plain, branched)
    # Where nothing was taken it is the same path to the last digit.
    same = np.isclose(plain.motion.q, branched.motion.q, rtol=0.0, atol=1e-12).all(axis=1)
    assert (branched.cost[~same].sum() <= plain.cost[~same].sum()) and same.any()


@pytest.mark.slow
@pytest.mark.parametrize("acts", [("walk",), ("kick",), ("punch", "jack")])
@pytest.mark.parametrize("rate", [30.0, 120.0, 250.0])
@pytest.mark.parametrize("chosen", [None, SPARSE, LEGS])
@pytest.mark.parametrize(
    ("noise", "tissue", "gaps"), [(0, 0, 0.1), (1e-3, 0.01, 0), (5e-3, 0.01, 0.2)]
)
def test_branches_are_never_worse_whatever_is_recorded(acts, rate, chosen, noise, tissue, gaps):
    rec, markers = record(acts, rate, chosen, noise, tissue, gaps, seconds=5.0)
    plain, branched = track_both(rec.truth.skeleton, markers)
    print(f"{1e3 * plain.mean_error:.3f} and {1e3 * branched.mean_error:.3f} mm")
    assert is_no_worse(plain, branched)


@pytest.mark.slow
@pytest.mark.parametrize("limited", [False, True])
@pytest.mark.parametrize("name", TAKES)
def test_branches_are_never_worse_on_real_takes(shared_data: Path, name: str, limited: bool):
    take = get_take(shared_data, name)
    figure, limits = (take.limited, "hard") if limited else (take.skeleton, "off")
    plain, branched = track_both(figure, take.markers, lock=LOCK, limits=limits)
    assert is_no_worse(plain, branched)


@pytest.mark.slow
def test_branches_are_never_worse_on_any_recording_of_a_person(shared_data: Path):
    solved = 0
    for path in sorted((shared_data / "data").rglob("*")):
        if path.suffix.lower() not in (".c3d", ".trc", ".tsv"):
            continue
        try:
            (plain, *_) = solve_recording(
                ik.load_markers(path), ik.human(), branches=False, smooth=None
            )
        except ik.ExactikError:
            continue  # no person, or nothing that can be read
        track = plain.track
        branched = ik.track(track.skeleton, track.markers, smooth=None)
        errors = 1e3 * track.mean_error, 1e3 * branched.mean_error
        print(f"{path.name}: {errors[0]:.3f} and {errors[1]:.3f} mm")
        assert is_no_worse(track, branched), path.name
        solved += 1
    assert solved > 25


def test_they_find_what_is_nearer_the_truth():
    """The path of punches stays in a worse solution for seconds without them."""
    rec, markers = record(("punch", "kick"), rate=60.0, seconds=4.0, seed=3)
    plain, branched = track_both(rec.truth.skeleton, markers)
    true = rec.truth.forward().positions
    off, branched_off = (
        np.linalg.norm(each.motion.forward().positions - true, axis=2).mean()
        for each in (plain, branched)
    )
    assert branched.cost.sum() < 0.6 * plain.cost.sum()
    assert branched_off < 0.5 * off


def test_they_find_more_where_nothing_is_limited(shared_data: Path):
    take = get_take(shared_data, "03-05_02").between(0, 960)
    plain, branched = track_both(take.skeleton, take.markers, lock=LOCK, limits="off")
    assert branched.cost.sum() < 0.95 * plain.cost.sum() and is_no_worse(plain, branched)


def test_a_path_gone_wrong_is_mended_without_branches():
    """The first pass loses an arm of few markers: by 371 mm, at a cost of 17."""
    motion = perform(5.0, 60.0, ("jack", "walk"), 26)
    rec = simulate_recording(motion, noise=0.001, tissue=0.005, gaps=0.05, swap=False, seed=26)
    markers = rec.markers.chosen(SPARSE)
    mended = ik.track(motion.skeleton, markers, branches=False, smooth=None)
    assert mended.cost.sum() < 0.02 and np.nanmax(mended.marker_errors) < 0.025


def test_infinite_positions_are_missing():
    rec, markers = record(acts=("wave",), rate=30.0, seconds=2.0)
    place = np.array(markers.positions)
    place[20, 3, 1] = place[21, 4] = np.inf
    place[22, 5, 0] = -np.inf
    spoiled = with_positions(markers, place)
    assert spoiled.missing.sum() == 3 and not np.isinf(spoiled.positions).any()
    assert [note for note in spoiled.notes if "3 positions are infinite" in note]
    place[np.isinf(place)] = np.nan
    hidden = with_positions(markers, place)
    results = [ik.track(rec.truth.skeleton, each, smooth=None) for each in (spoiled, hidden)]
    assert np.array_equal(results[0].motion.q, results[1].motion.q)
    assert np.isfinite(results[0].sd).all() and hidden.notes == markers.notes
