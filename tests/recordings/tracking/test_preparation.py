"""What is done to markers before they are solved, threshold by threshold."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import exactik as ik
from exactik.model.motion import Markers, Swap
from exactik.recordings.tracking import (
    COLD_START,
    DEFAULT_OPTIONS,
    TrackingProblem,
    close_step,
    count_bones_between,
    cut_gaps,
    estimate_initial_noise,
    fill_gaps,
    find_neighbours,
    find_spikes,
    fits_better_exchanged,
    make_tracking_problem,
    move_rigidly,
    prepare_markers,
    remove_outliers,
)
from exactik.typing import Array
from tests.support.chains import make_chain, make_problem, make_rigid_body, move_chain

OPTIONS = DEFAULT_OPTIONS
CORNERS = 0.2 * np.array(
    [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0], [1, 0, 1], [0, 1, 1], [1, 1, 1]]
)


def moving_body(frames: int = 40, points: Array = CORNERS) -> tuple[ik.Skeleton, Array, Array]:
    """A rigid body, what it does, (frames, nq), and where its markers are."""
    body = make_rigid_body(points)
    q = move_chain(body, frames)
    return body, q, body.forward(q).markers


def noise_of(problem: TrackingProblem) -> float:
    cold = COLD_START.options(problem.frame_problem)
    return estimate_initial_noise(problem, cold)


# --- spikes


@pytest.mark.parametrize(("off", "is_spike"), [(0.025, False), (0.05, True)])
def test_a_spike_stands_out_by_noise_and_by_what_bodies_can_do(off: float, is_spike: bool):
    """At 120 Hz 400 m/s² are 14 mm in a frame, and 20 mm are allowed for noise."""
    place = np.zeros((20, 1, 3))
    place[10, 0, 1] = off
    result = find_spikes(place, 120.0)
    assert result[10, 0] == is_spike and result.sum() == is_spike
    # Beside a gap there are still lines; alone between gaps there is none.
    place[[9, 11]] = np.nan
    assert find_spikes(place, 120.0)[10, 0] == is_spike
    place[[8, 12]] = np.nan
    assert not find_spikes(place, 120.0).any()


def test_the_rate_matters_to_what_is_a_spike():
    place = np.zeros((20, 1, 3))
    place[10, 0, 1] = 0.15
    assert find_spikes(place, 120.0).any() and not find_spikes(place, 25.0).any()


def test_a_spike_beside_a_larger_one_is_found():
    """10 cm beside 30 cm lie within what bodies can do of a line to it, until it is left out."""
    body, _, place = moving_body()
    place[20, 3] += (0.3, 0.0, 0.0)
    place[21, 3] += (0.1, 0.0, 0.0)
    cleaned, outliers = remove_outliers(make_problem(body, place), OPTIONS)
    assert np.argwhere(outliers.spikes).tolist() == [[20, 3], [21, 3]]
    assert np.array_equal(np.isnan(cleaned.targets.position[:, :, 0]), outliers.spikes)


def test_what_was_missing_is_no_spike():
    body, _, place = moving_body()
    place[5:9, 0] = np.nan
    _, outliers = remove_outliers(make_problem(body, place), OPTIONS)
    assert not outliers.spikes.any() and outliers.swaps == ()


# --- swaps


def half_swapped(share: float, last: int) -> tuple[TrackingProblem, Array, Swap]:
    """Two markers that go a share of the way to each other's place, from frame 10 to `last`."""
    body, _, place = moving_body()
    frames = slice(10, last + 1)
    one, two = place[frames, 0].copy(), place[frames, 1].copy()
    place[frames, 0], place[frames, 1] = one + share * (two - one), two + share * (one - two)
    return make_problem(body, place), place, Swap(("P0", "P1"), 10, last, 0.2)


@pytest.mark.parametrize(
    ("share", "last", "exchange"),
    [
        (0.75, 39, True),  # to the end: only if plainly better
        (0.45, 39, False),
        (0.5, 25, True),  # it changes back: as good is enough
        (0.3, 25, False),
    ],
)
def test_swaps_are_exchanged_back_if_that_fits_better(share: float, last: int, exchange: bool):
    problem, place, swap = half_swapped(share, last)
    assert fits_better_exchanged(problem, place, swap, OPTIONS) == exchange


def test_a_swap_of_the_whole_recording_is_left_alone():
    """There is no frame that tells how far apart markers usually are."""
    problem, place, swap = half_swapped(1.0, 39)
    whole = swap._replace(first=0)
    assert not fits_better_exchanged(problem, place, whole, OPTIONS)


def test_exchanged_markers_are_put_back():
    body, _, place = moving_body()
    swapped = place.copy()
    swapped[15:30, [0, 1]] = swapped[15:30, [1, 0]]
    cleaned, outliers = remove_outliers(make_problem(body, swapped), OPTIONS)
    assert [(swap.names, swap.first, swap.last) for swap in outliers.swaps] == [
        (("P0", "P1"), 15, 29)
    ]
    assert np.array_equal(cleaned.targets.position, place)


# --- noise


def test_noise_is_estimated_from_the_markers_alone():
    body, _, place = moving_body()
    noisy = place + np.random.default_rng(0).normal(0.0, 0.003, place.shape)
    assert noise_of(make_problem(body, noisy)) == pytest.approx(0.003, rel=0.25)
    assert noise_of(make_problem(body, place)) <= 1e-5
    assert noise_of(make_problem(body, np.full_like(place, np.nan))) == pytest.approx(0.002)


def test_one_wrong_marker_counts_as_five_centimetres_in_the_first_estimate():
    """It is 0.3 m off; of eight markers that is 37 mm for each by least squares."""
    body, _, place = moving_body()
    place[:, 0] += (0.0, 0.0, -0.3)
    assert 0.002 < noise_of(make_problem(body, place)) < 0.01


def test_noise_is_estimated_from_frames_all_over_the_recording():
    body, _, place = moving_body()
    place[:8] += np.random.default_rng(0).normal(0.0, 0.05, place[:8].shape)
    assert noise_of(make_problem(body, place)) < 1e-4


def test_noise_is_estimated_from_poses_far_from_neutral():
    """Bent by more than two radians: from the neutral pose alone most frames end elsewhere."""
    chain = make_chain(4, 2)
    q = np.random.default_rng(1).uniform(-2.5, 2.5, (3, chain.nv))
    assert noise_of(make_problem(chain, chain.forward(q).markers)) < 1e-3


def prepared(place: Array, robust: str | None, sigma: float | None = None):
    body = make_rigid_body(CORNERS)
    problem = make_problem(body, place)
    if robust is not None:
        markers = Markers(place, tuple(body.markers), 60.0)
        problem = make_tracking_problem(body, markers, robust=robust)
    cold = COLD_START.options(problem.frame_problem)
    return prepare_markers(problem, cold, robust, sigma, DEFAULT_OPTIONS)


@pytest.mark.parametrize(
    ("robust", "off", "low", "high"), [("huber", 0.05, 0.07, 0.16), ("tukey", 0.01, 0.1, 0.5)]
)
def test_how_far_off_a_marker_has_a_say(robust: str, off: float, low: float, high: float):
    """Cameras good to 2 mm: 5 cm off counts a tenth with Huber's loss, 1 cm a fifth with Tukey's.

    So far for a figure that knows its pose from 40 other markers.
    """
    points = np.concatenate([CORNERS + shift for shift in ([0, 0, 0], [0.5, 0, 0], [0, 0.5, 0])])
    body = make_rigid_body(points)
    place = body.forward(move_chain(body, 10)).markers
    place[:, 0] += np.array([off, 0.0, 0.0])
    markers = Markers(place, tuple(body.markers), 60.0)
    track = ik.track(body, markers, robust=robust, sigma=0.002, starts=2, branches=False)
    assert track.marker_weights is not None
    assert low < track.marker_weights[:, 0].mean() < high
    assert track.marker_weights[:, 1:].min() > 0.9


def test_only_what_is_needed_is_prepared():
    _, _, place = moving_body()
    plain = prepared(place, None)
    assert plain.problem is plain.recorded and plain.outliers.spikes.shape == (0, 0)
    gaps = place.copy()
    gaps[5:9, 0] = np.nan
    filled = prepared(gaps, None)
    assert np.isnan(filled.recorded.targets.position[5:9, 0]).all()
    assert np.allclose(filled.problem.targets.position, place, atol=1e-9)
    given = prepared(place, "huber", sigma=0.004)
    assert given.problem.loss_width == pytest.approx(2.5 * 0.004)
    noisy = place + np.random.default_rng(0).normal(0.0, 0.003, place.shape)
    assert prepared(noisy, "tukey").problem.loss_width == pytest.approx(7 * 0.003, rel=0.3)


# --- gaps


def test_how_far_a_filled_in_marker_is_trusted():
    """Not by a figure that fits to two millimetres; as much as others where it fits to ten."""
    body, _, place = moving_body()
    place[5:9, 0] = np.nan
    problem = make_problem(body, place)
    shares = [fill_gaps(problem, sigma).targets.confidence[6, 0] for sigma in (0.0025, 0.005, 0.01)]
    assert shares[0] < 0.1 and shares[1] == pytest.approx(0.5) and shares[2] > 0.9
    assert (fill_gaps(problem, 0.005).targets.confidence[:, 1:] == 1.0).all()


def test_neighbours_are_the_nearest_along_the_bones():
    chain = make_chain(7)
    bones = count_bones_between(make_problem(chain, chain.forward(move_chain(chain, 2)).markers))
    assert bones[0, 1:].tolist() == [1, 2, 3, 4, 5, 6] and bones[3].tolist()[:3] == [3, 2, 1]
    sparse = find_neighbours(make_problem(chain, np.zeros((1, 7, 3))), OPTIONS)
    assert sparse[3].tolist() == [1, 2, 4, 5] and sparse[0].tolist() == [1, 2]
    dense_chain = make_chain(7, 4)
    dense = find_neighbours(make_problem(dense_chain, np.zeros((1, 28, 3))), OPTIONS)
    assert dense[12].tolist() == [8, 9, 10, 11, 13, 14, 15, 16, 17, 18, 19]


def gap_filled(hidden: dict[int, slice], frames: int = 150) -> Array:
    """Samples that are there after filling, (T, M): twelve bones, a marker each, 60 Hz."""
    chain = make_chain(12)
    place = chain.forward(move_chain(chain, frames, bend=0.05)).markers
    for m, when in hidden.items():
        place[when, m] = np.nan
    return np.isfinite(fill_gaps(make_problem(chain, place), 0.003).targets.position[:, :, 0])


def test_brief_gaps_are_filled_from_farther_bones():
    """Of marker 4 with 3 gone 2, 5 and 6 are near; with 5 gone too, 1 and 7 help if it is brief."""
    brief, long = slice(30, 75), slice(30, 130)  # 0.75 s and 1.7 s
    assert gap_filled({4: long, 3: long})[long, 4].all()
    assert gap_filled({4: brief, 3: brief, 5: brief})[brief, 4].all()
    assert not gap_filled({4: long, 3: long, 5: long})[long, 4].any()
    # All within three bones are gone: nothing that is left moves with it.
    assert not gap_filled(dict.fromkeys(range(1, 8), brief))[brief, 4].any()


def test_a_near_neighbour_counts_more_but_not_alone():
    """One at 1 cm and four at 10 cm: the near one moves by 1 cm, and the marker by three quarters.

    Distances below 3 cm count about the same.
    """
    points = np.array([[0, 0.01, 0], [0.1, 0, 0], [-0.1, 0, 0], [0, 0, 0.1], [0, 0, -0.1]])
    position = np.stack([np.vstack([[[0.0, 0.0, 0.0]], points])] * 2)
    position[1, 1, 1] += 0.01
    guess = move_rigidly(position, 0, np.arange(1, 6), 0, np.array([1]))
    assert guess is not None and 0.006 < guess[0, 1] < 0.0085


@pytest.mark.parametrize(("aside", "fills"), [(0.005, False), (0.02, True)])
def test_neighbours_in_line_tell_no_rotation(aside: float, fills: bool):
    points = np.array([[-0.1, aside, 0], [0.1, aside, 0], [-0.1, -aside, 0], [0.1, -aside, 0]])
    position = np.stack([np.vstack([[[0.0, 0.0, 0.05]], points])] * 2)
    guess = move_rigidly(position, 0, np.arange(1, 5), 0, np.array([1]))
    assert (guess is not None) == fills


def test_both_ends_of_a_gap_are_blended():
    """A marker that slips by 2 cm during its gap comes in where it left and leaves where it is."""
    body, _, place = moving_body()
    place[25:, 0] += (0.02, 0.0, 0.0)
    true = place.copy()
    place[15:25, 0] = np.nan
    filled = fill_gaps(make_problem(body, place), 0.003).targets.position
    off = np.linalg.norm(filled[15:25, 0] - true[15:25, 0], axis=1)
    assert off[0] < 0.003 and 0.017 < off[-1] < 0.0202 and (np.diff(off) > 0.0).all()
    late = place.copy()
    late[25:, 0] = np.nan  # to the end: only frames before can tell
    filled = fill_gaps(make_problem(body, late), 0.003).targets.position
    assert np.isfinite(filled).all()


def test_gaps_are_cut_where_a_neighbour_appears_or_is_lost():
    seen = np.ones((12, 4), dtype=bool)
    seen[2:8, 0] = False
    seen[10, 0] = False
    seen[5:, 1] = False
    parts = cut_gaps(seen, 0, np.array([1, 2, 3]))
    assert [part.tolist() for part in parts] == [[2, 3, 4], [5, 6, 7], [10]]
    assert cut_gaps(seen, 2, np.array([0, 1, 3])) == []
    assert cut_gaps(seen, 0, np.array([1, 2])) == []


def test_steps_between_parts_of_a_gap_are_closed():
    """Both parts go on at 1 cm a frame, 6 cm apart: half of the step is left to each side."""
    x = np.zeros((10, 3))
    x[:5, 0] = 0.01 * np.arange(5)
    x[5:, 0] = 0.06 + 0.01 * np.arange(5, 10)
    close_step(x, np.arange(5), np.arange(5, 10))
    steps = np.diff(x[:, 0])
    assert steps[4] == pytest.approx(0.02, abs=1e-12)
    assert np.delete(steps, 4) == pytest.approx(0.015, abs=1e-12)
    lone = np.array([[0.0, 0, 0], [0.03, 0, 0]])
    close_step(lone, np.array([0]), np.array([1]))
    assert lone[:, 0] == pytest.approx([0.0075, 0.0225])


def test_a_neighbour_lost_in_a_gap_leaves_no_step():
    chain = make_chain(3, 5)
    place = chain.forward(move_chain(chain, 60, bend=0.3)).markers
    place[20:40, 5] = np.nan
    place[45:48, 5] = np.nan  # a gap of its own
    place[30:50, 10:] = np.nan  # those of the next bone
    filled = fill_gaps(make_problem(chain, place), 0.003).targets.position
    second = np.linalg.norm(np.diff(filled[:, 5], n=2, axis=0), axis=1)
    assert second[18:50].max() < 0.0012
    assert np.isfinite(filled).all()


def test_options_reach_the_preparation():
    strict = replace(OPTIONS, spike_min_distance=0.001, spike_max_acceleration=1.0)
    chain = make_chain(3, 4)
    place = chain.forward(move_chain(chain, 40)).markers
    place[20, 0] += (0.0, 0.05, 0.0)
    markers = Markers(place, tuple(chain.markers), 60.0)
    for options, found in ((None, 0), (strict, 1)):
        track = ik.track(chain, markers, robust="huber", branches=False, starts=2, options=options)
        assert (track.spikes[20, 0], track.spikes.sum() > 0) == (bool(found), bool(found))
