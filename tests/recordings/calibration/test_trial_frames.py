"""Which frames of several trials are used, which markers are not believed, which dofs are held."""

from __future__ import annotations

import numpy as np
import pytest

from exactik.model.motion import Markers
from exactik.recordings.calibration.fitting import (
    align_shapes,
    choose_diverse_frames,
    compute_robust_weights,
)
from tests.support.chains import make_chain, move_chain

RATE = 60.0


def walk(frames: int, bend: float = 0.8) -> Markers:
    chain = make_chain(3, 4)
    place = chain.forward(move_chain(chain, frames, bend=bend)).markers
    return Markers(place, tuple(chain.markers), RATE)


# --- frames


def test_each_of_several_trials_has_its_part_of_half_of_the_frames():
    """A static hardly differs from frame to frame, and still has a quarter of them."""
    static, moving = walk(100, bend=0.001), walk(100)
    chosen = choose_diverse_frames([static, moving], 40)
    counts = [int((chosen.trials == k).sum()) for k in (0, 1)]
    assert sum(counts) == 40 and 10 <= counts[0] <= 12
    assert len(choose_diverse_frames([moving], 40).frames) == 40
    pairs = set(zip(chosen.trials.tolist(), chosen.frames.tolist(), strict=True))
    assert len(pairs) == 40
    of_three = choose_diverse_frames([static, static, moving], 42)
    assert all(7 <= (of_three.trials == k).sum() <= 9 for k in (0, 1))
    short = choose_diverse_frames([walk(4), moving], 40)
    assert (short.trials == 0).sum() == 4 and len(short.frames) == 40


def test_spikes_are_not_used():
    """A marker that is off for a frame is missing there; the ends cannot be judged."""
    markers = walk(60)
    place = np.array(markers.positions)
    place[30, 2] += (0.4, 0.0, 0.0)
    place[5, 1] += (0.4, 0.0, 0.0)
    place[0, 3] += (0.4, 0.0, 0.0)
    chosen = choose_diverse_frames([Markers(place, markers.names, RATE)], 100)
    missing = np.isnan(chosen.markers.positions[:, :, 0])
    assert np.argwhere(missing).tolist() == [[5, 1], [30, 2]]
    brief = choose_diverse_frames([Markers(place[28:32], markers.names, RATE)], 100)
    assert np.isfinite(brief.markers.positions).all()


def test_shapes_are_aligned_by_the_markers_that_both_have():
    markers = walk(3, bend=0.0)
    place = np.array(markers.positions)
    place[1] += 2.0
    place[1, 0] = np.nan
    place[2] += 4.0
    place[2, 1] = np.nan
    shapes = align_shapes(place)
    assert np.abs(shapes - shapes[0]).max() < 1e-9


# --- outliers


def test_markers_far_off_count_less_and_farther_ones_hardly():
    """Of 2 mm along each axis 7 mm count in full, 10 mm two thirds, 28 mm a sixteenth."""
    usual = 0.002 * 1.538
    distances = np.full((20, 10), usual)
    distances[0, :5] = (0.0068, 0.0105, 0.014, 0.028, np.nan)
    weights = compute_robust_weights(distances)
    assert weights[1:] == pytest.approx(1.0)
    assert weights[0, :5] == pytest.approx([1.0, 0.667, 0.5, 0.0625, 0.0], abs=0.005)
    # A figure that fits to a micrometre: a millimetre is no outlier, a centimetre is.
    exact = np.full((20, 10), 1e-6)
    exact[0, :2] = (0.0009, 0.01)
    weights = compute_robust_weights(exact)
    assert weights[0, 0] == pytest.approx(1.0) and weights[0, 1] == pytest.approx(0.004, rel=0.01)
    assert not compute_robust_weights(np.full((2, 3), np.nan)).any()
