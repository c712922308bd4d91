"""Swapped and frozen markers are found where they are, and not where they are not."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from exactik.errors import FileWarning
from exactik.io import load_markers
from exactik.model.motion import FrozenMarker, Markers, Swap, find_frozen_markers, find_swaps
from exactik.typing import Array


def make_recording(
    frames: int = 300, count: int = 8, rate: float = 100.0, noise: float = 2e-4
) -> Markers:
    """Markers on a body that walks and swings, with the noise of cameras."""
    rng = np.random.default_rng(7)
    t = np.arange(frames)[:, None, None] / rate
    rest = rng.uniform(-0.4, 0.4, (count, 3)) + np.array([0.0, 0.0, 1.0])
    swing = rng.uniform(0.02, 0.15, (count, 3)) * np.sin(
        2.0 * np.pi * t + rng.uniform(0, 6, (count, 3))
    )
    walk = np.array([1.2, 0.0, 0.0]) * t
    x = rest + swing + walk + noise * rng.normal(size=(frames, count, 3))
    return Markers(x, tuple(f"M{k}" for k in range(count)), rate)


def with_positions(markers: Markers, x: Array) -> Markers:
    return replace(markers, positions=x)


def swap_positions(x: Array, a: int, b: int, first: int, last: int) -> Array:
    x = x.copy()
    x[first : last + 1, [a, b]] = x[first : last + 1, [b, a]]
    return x


def without_distances(swaps: tuple[Swap, ...]) -> list[tuple[tuple[str, str], int, int]]:
    return [(swap.names, swap.first, swap.last) for swap in swaps]


# --- swaps


def test_nothing_is_suspected_of_a_sound_recording():
    assert find_swaps(make_recording()) == ()
    assert find_frozen_markers(make_recording()) == ()


@pytest.mark.parametrize(("first", "last"), [(100, 140), (100, 100), (3, 5), (150, 299)])
def test_a_swap_has_its_names_and_its_frames(first: int, last: int):
    markers = make_recording()
    x = swap_positions(markers.positions, 2, 5, first, last)
    result = find_swaps(with_positions(markers, x))
    assert without_distances(result) == [(("M2", "M5"), first, last)]
    apart = np.linalg.norm(markers.positions[first, 2] - markers.positions[first, 5])
    assert result[0].distance == pytest.approx(apart, abs=0.03)


def test_several_swaps_of_several_pairs():
    markers = make_recording()
    x = swap_positions(markers.positions, 0, 1, 50, 60)
    x = swap_positions(swap_positions(x, 6, 7, 55, 200), 0, 1, 250, 299)
    assert without_distances(find_swaps(with_positions(markers, x))) == [
        (("M0", "M1"), 50, 60),
        (("M6", "M7"), 55, 200),
        (("M0", "M1"), 250, 299),
    ]


@pytest.mark.parametrize("gap", [1, 3, 8])
def test_a_swap_across_a_short_gap(gap: int):
    """Both are lost for a while and come back with each other's name."""
    markers = make_recording()
    x = swap_positions(markers.positions, 2, 5, 120, 299)
    x[120 - gap : 120, [2, 5]] = np.nan
    assert without_distances(find_swaps(with_positions(markers, x))) == [(("M2", "M5"), 120, 299)]


def test_a_swap_whose_markers_come_back_one_after_the_other():
    markers = make_recording()
    x = swap_positions(markers.positions, 2, 5, 120, 299)
    x[117:120, 2] = np.nan
    x[119:123, 5] = np.nan
    assert without_distances(find_swaps(with_positions(markers, x))) == [(("M2", "M5"), 120, 299)]


def test_no_swap_is_reported_across_a_long_gap():
    markers = make_recording()
    x = swap_positions(markers.positions, 2, 5, 160, 299)
    x[100:160, [2, 5]] = np.nan
    assert find_swaps(with_positions(markers, x)) == ()


def test_what_else_may_happen_is_no_swap():
    markers = make_recording()
    x = markers.positions.copy()
    x[100, 3] += 0.3  # a spike
    x[150:] += np.array([0.0, 0.2, 0.0])  # the cameras are pushed: all jump together
    x[200:210, 4] = np.nan  # a gap
    x[220:, 6] += 0.1  # a marker falls off
    assert find_swaps(with_positions(markers, x)) == ()


def test_markers_that_pass_each_other_are_not_swapped():
    t = np.linspace(-1.0, 1.0, 201)[:, None]
    right = np.hstack([t, np.full_like(t, 0.005), 0 * t])
    left = np.hstack([-t, np.full_like(t, -0.005), 0 * t])
    assert find_swaps(Markers(np.stack([right, left], axis=1), ("A", "B"), 100.0)) == ()


@pytest.mark.parametrize("shape", [(0, 3), (1, 3), (2, 3), (5, 0), (30, 1)])
def test_tiny_recordings(shape: tuple[int, int]):
    markers = Markers(np.zeros((*shape, 3)), tuple("ABC"[: shape[1]]), 100.0)
    assert find_swaps(markers) == ()
    assert find_frozen_markers(markers) == ()
    gone = Markers(np.full((*shape, 3), np.nan), tuple("ABC"[: shape[1]]), 100.0)
    assert find_swaps(gone) == ()
    assert find_frozen_markers(gone) == ()


# --- frozen markers


def test_a_frozen_marker_has_its_frames():
    markers = make_recording()
    x = markers.positions.copy()
    x[80:121, 4] = x[80, 4]
    assert find_frozen_markers(with_positions(markers, x)) == (FrozenMarker("M4", 80, 120),)


def test_a_marker_that_never_moves_is_frozen_all_the_time():
    markers = make_recording()
    x = markers.positions.copy()
    x[:, 1] = 0.5
    assert find_frozen_markers(with_positions(markers, x)) == (FrozenMarker("M1", 0, 299),)


def test_short_stops_gaps_and_still_scenes_are_not_frozen():
    markers = make_recording()
    x = markers.positions.copy()
    x[80:86, 4] = x[80, 4]
    x[100:200, 5] = np.nan
    assert find_frozen_markers(with_positions(markers, x)) == ()
    still = np.repeat(markers.positions[:1], 300, axis=0)
    assert find_frozen_markers(with_positions(markers, still)) == ()


def test_rounded_coordinates_must_repeat_for_longer():
    """A foot that stands repeats itself by chance where coordinates are rounded to 0.1 mm."""
    markers = make_recording()
    x = markers.positions.round(4)
    x[80:110, 4] = x[80, 4]
    assert find_frozen_markers(with_positions(markers, x)) == ()
    x[80:140, 4] = x[80, 4]
    assert find_frozen_markers(with_positions(markers, x)) == (FrozenMarker("M4", 80, 139),)


# --- real files


def test_real_recordings_raise_few_alarms(shared_data: Path):
    """One true swap, and a file whose points have no names; nothing else."""
    alarms: dict[str, int] = {}
    for path in sorted((shared_data / "data").rglob("*")):
        if path.suffix.lower() in (".c3d", ".trc", ".tsv") and "malformed" not in path.parts:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", FileWarning)
                markers = load_markers(path)
            count = len(find_swaps(markers)) + len(find_frozen_markers(markers))
            if count > 0:
                alarms[path.name] = count
    assert set(alarms) == {"walkingOptiTrack.c3d", "10002-20130626160334-Unnamed.trc"}
    assert alarms["walkingOptiTrack.c3d"] == 1


def test_the_true_swap(shared_data: Path):
    """Seen in the numbers: the two change places in one frame and change back in the next."""
    markers = load_markers(shared_data / "data" / "c3d" / "optitrack" / "walkingOptiTrack.c3d")
    result = find_swaps(markers)
    assert without_distances(result) == [(("Foot_Marker3", "Foot_Marker5"), 1952, 1952)]
