"""Tracks go through pickles and deep copies, which clusters need; weights are numbers."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import exactik as ik
from tests.support.tracking import make_moving_menagerie

TWINS = [copy.deepcopy, lambda thing: pickle.loads(pickle.dumps(thing))]


@pytest.fixture(scope="module")
def track() -> ik.Track:
    skeleton, _, markers = make_moving_menagerie(30, noise=1e-3)
    return ik.track(skeleton, markers)


@pytest.mark.parametrize("wrong", [True, "1", None])
def test_a_weight_is_a_number(track: ik.Track, wrong: Any) -> None:
    name = track.names[0]
    with pytest.raises(ik.UsageError, match=f"weight of marker '{name}'"):
        ik.track(track.motion.skeleton, track.markers, weights={name: wrong})


@pytest.mark.parametrize("twin_of", TWINS)
def test_a_track_can_be_pickled_and_copied(track: ik.Track, twin_of) -> None:
    twin = twin_of(track)
    np.testing.assert_array_equal(twin.motion.q, track.motion.q)
    np.testing.assert_array_equal(twin.sd, track.sd)  # solves again, with buffers of its own
    assert twin.problem.buffers is not track.problem.buffers
    assert [entry.kind for entry in twin.attention] == [entry.kind for entry in track.attention]
