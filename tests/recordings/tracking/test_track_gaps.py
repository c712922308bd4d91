"""Markers that are missing for a while: the figure goes on where it would have been seen."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import exactik as ik
from exactik.lab.synthetic import simulate_performance, simulate_recording
from exactik.recordings.tracking import fill_gaps, find_jumps, make_tracking_problem
from exactik.typing import Array
from tests.support.hdm05 import (
    LOCK,
    TAKES,
    compute_marker_positions,
    find_samples_with_neighbours,
    get_take,
    make_gap_bursts,
    with_positions,
)
from tests.support.tracking import is_within_limits

Mask = NDArray[np.bool_]
ARM = ("LUPA", "LELB", "LFRM", "LWRA", "LWRB", "LFIN")
ARM_BONES = ("lhumerus", "lradius", "lwrist", "lhand")


def hidden_and_visible(result: ik.Track, true: Array, hidden: Mask) -> tuple[float, float]:
    """Mean error [m] at hidden samples whose neighbourhood keeps three markers, and at visible."""
    error = np.linalg.norm(
        compute_marker_positions(result.skeleton, result.motion.q, result.names) - true, axis=2
    )
    keeps = find_samples_with_neighbours(result.skeleton, result.names, hidden, 3)
    return float(error[hidden & keeps].mean()), float(error[~hidden].mean())


SEEDS = (1, 2, 3, 4)


@cache
def gappy_take(shared: Path, name: str, seed: int) -> tuple[ik.Track, float, float]:
    """The motion, and the mean errors at hidden and at visible samples [m]."""
    take = get_take(shared, name)
    true = take.markers.positions
    hidden = make_gap_bursts((len(take), 41), 0.2, 120.0, seed)
    seen = with_positions(take.markers, np.where(hidden[:, :, None], np.nan, true))
    result = ik.track(take.skeleton, seen, lock=LOCK, limits="off")
    return result, *hidden_and_visible(result, true, hidden)


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", TAKES)
def test_a_fifth_of_the_markers_hidden_in_bursts(shared_data: Path, name: str, seed: int):
    _, gone, there = gappy_take(shared_data, name, seed)
    print(f"{name}, seed {seed}: hidden {1e3 * gone:.1f} mm, visible {1e3 * there:.1f} mm")
    assert gone <= 1.5 * there


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", TAKES)
def test_jumps_among_gaps_are_few_and_listed(shared_data: Path, name: str, seed: int):
    """Frames may jump where two solutions fit: no pose is bent to hide it."""
    result, _, _ = gappy_take(shared_data, name, seed)
    listed = np.zeros(len(result), dtype=bool)
    for entry in result.attention:
        if entry.kind == "jump":
            listed[entry.first : entry.last + 1] = True
    assert listed[result.jumps].all() and result.jumps.mean() < 0.03


def gappy(tissue: float) -> tuple[float, float]:
    """Errors at hidden and visible samples of a performance, against where the bones have them."""
    motion = simulate_performance(8.0, 60.0, seed=2, acts=("squat", "kick"))
    rec = simulate_recording(motion, noise=0.001, tissue=tissue, gaps=0.0, swap=False)
    hidden = make_gap_bursts(rec.clean.shape[:2], 0.2, 60.0, seed=3)
    place = np.where(hidden[:, :, None], np.nan, rec.markers.positions)
    result = ik.track(motion.skeleton, with_positions(rec.markers, place))
    assert np.isfinite(result.motion.q).all()
    return hidden_and_visible(result, rec.clean, hidden)


def test_a_fifth_hidden_of_a_performance_where_skin_slides():
    gone, there = gappy(tissue=0.015)
    assert gone <= 1.8 * there


@pytest.mark.full
@pytest.mark.parametrize(("tissue", "most"), [(0.015, 1.6), (0.005, 2.3)])
def test_a_fifth_hidden_of_a_performance(tissue: float, most: float):
    """The less the skin moves, the better seen markers fit, and the harder it is to keep up."""
    gone, there = gappy(tissue)
    assert gone <= most * there


def test_gaps_do_no_harm_where_the_others_determine_the_pose():
    """Cameras good to a millimetre: markers that are seen should still fit to a millimetre."""
    motion = simulate_performance(7.0, 60.0, seed=3, acts=("punch", "kick"))
    rec = simulate_recording(motion, noise=0.001, gaps=0.02, swap=False, seed=1)
    result = ik.track(motion.skeleton, rec.markers)
    assert result.sigma == pytest.approx(0.001, rel=0.15)
    assert np.nanmax(result.marker_errors) < 0.008


def blackout(markers: ik.Markers, names: tuple[str, ...], first: int, end: int) -> ik.Markers:
    seen = np.array(markers.positions)
    seen[first:end, [markers.names.index(name) for name in names]] = np.nan
    return with_positions(markers, seen)


PLACES = (500, 1000, 2000, 3000)


@cache
def lost_arm(shared: Path, name: str, first: int) -> ik.Track:
    take = get_take(shared, name)
    seen = blackout(take.markers, ARM, first, first + 240)
    return ik.track(take.skeleton, seen, lock=LOCK, limits="off")


@pytest.mark.slow
@pytest.mark.parametrize("first", PLACES)
@pytest.mark.parametrize("name", TAKES)
def test_an_arm_lost_for_two_seconds_is_flagged(shared_data: Path, name: str, first: int):
    result, end = lost_arm(shared_data, name, first), first + 240
    bones = [dof.split(".")[0] for dof in result.skeleton.dof_names]
    dofs = np.flatnonzero(np.isin(bones, ARM_BONES))
    assert result.undetermined[first + 5 : end - 5][:, dofs].all()
    assert not result.undetermined[: first - 10].any() and not result.undetermined[end + 10 :].any()
    assert (result.status[first + 5 : end - 5] == "gap").all()
    outside = float(np.median(result.sd[first - 100, dofs]))
    assert np.median(result.sd[first + 100, dofs]) > max(0.5, 3.0 * outside)
    gaps = [item for item in result.attention if item.kind == "gap"]
    assert [(item.first, item.last) for item in gaps] == [(first, end - 1)]
    assert "lhumerus" in gaps[0].text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "first"),
    [(name, first) for name in TAKES for first in PLACES],
)
def test_an_arm_lost_for_two_seconds_goes_on(shared_data: Path, name: str, first: int):
    """Into the gap, through it and out of it no bone of the arm jumps, smoothed or not."""
    result = lost_arm(shared_data, name, first)
    bones = [result.skeleton.bone_index(bone) for bone in ARM_BONES]
    assert not result.jumping_bones[first - 2 : first + 241, bones].any()


def test_an_arm_lost_by_a_performer():
    motion = simulate_performance(6.0, 60.0, seed=4, acts=("walk", "wave"))
    rec = simulate_recording(motion, noise=0.001, gaps=0.0, swap=False)
    figure = motion.skeleton
    result = ik.track(figure, blackout(rec.markers, ARM, 150, 270))
    bones = [name.split(".")[0] for name in figure.dof_names]
    dofs = np.flatnonzero(np.isin(bones, ("l_upper_arm", "l_forearm", "l_wrist")))
    assert result.undetermined[155:265][:, dofs].all()
    assert not result.undetermined[:150].any() and not result.undetermined[271:].any()
    assert (result.status[155:265] == "gap").all()
    assert np.median(result.sd[200, dofs]) > 0.5 > 10 * np.median(result.sd[100, dofs])
    assert [(a.first, a.last) for a in result.attention if a.kind == "gap"] == [(150, 269)]
    # What is still seen is as good as before, and nothing jumps.
    rest = [m for m, name in enumerate(result.names) if name not in ARM]
    assert result.marker_errors[150:270][:, rest].mean() < 1.2 * result.marker_errors[:150].mean()
    assert len(find_jumps(result.problem, np.array(result.motion.q))) == 0
    assert is_within_limits(figure, result.motion.q)


def test_filling_is_exact_for_a_rigid_body():
    """Markers that keep their distances: what is filled in is what was hidden."""
    figure = ik.human()
    body = [n for n, (bone, _) in figure.markers.items() if bone in ("pelvis", "head")]
    rng, t = np.random.default_rng(0), np.arange(100) / 50.0
    q = np.tile(figure.neutral(), (100, 1))
    q[:, :3] = np.stack([t, np.sin(t), 0.1 * t], axis=1)
    q[:, 3:6] = 0.5 * np.sin(t)[:, None] * rng.normal(size=3)
    true = figure.forward(q).markers
    names = tuple(figure.markers)
    seen = true.copy()
    seen[30:60, names.index(body[0])] = np.nan
    seen[:20, names.index(body[5])] = np.nan  # at the start: only frames after can tell
    problem = make_tracking_problem(figure, ik.Markers(seen, names, 50.0))
    place = fill_gaps(problem, 0.001).targets.position
    assert np.isfinite(place).all()
    assert np.abs(place - true).max() < 1e-9
    assert np.array_equal(place[np.isfinite(seen)], seen[np.isfinite(seen)])
