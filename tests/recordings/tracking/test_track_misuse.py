"""What `track` is asked by mistake: each is named in a sentence."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import exactik as ik
from exactik.errors import ExactikError, ModelError, UnknownNameError
from exactik.lab.synthetic import SyntheticRecording, simulate_performance, simulate_recording


@pytest.fixture(scope="module")
def rec() -> SyntheticRecording:
    return simulate_recording(simulate_performance(2.0, 60.0), gaps=0.0, swap=False)


def cut(rec: SyntheticRecording, first: int, end: int) -> ik.Markers:
    return replace(rec.markers, positions=rec.markers.positions[first:end])


def one_sentence(error: BaseException) -> bool:
    text = str(error).strip("'\"")
    return 10 < len(text) < 500 and "\n" not in text


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"robust": "cauchy"}, "robust"),
        ({"smooth": -1.0}, "smooth"),
        ({"smooth": 31.0}, "smooth"),
        ({"smooth": float("nan")}, "smooth"),
        ({"posture": -1.0}, "posture"),
        ({"starts": 0}, "starts"),
        ({"threads": 0}, "threads"),
        ({"solver": "bfgs"}, "bfgs"),
        ({"solver": "no such"}, "no such"),
        ({"limits": "maybe"}, "limits"),
        ({"weights": {"LANKLE": 2.0}}, "LANK"),
        ({"weights": {"LANK": -1.0}}, "weights"),
        ({"weights": [1.0, 2.0]}, "weights"),
        ({"offsets": np.zeros((2, 3))}, "offsets"),
        ({"lock": "tail*"}, "tail"),
    ],
)
def test_misuse_is_named_in_a_sentence(rec: SyntheticRecording, options, word: str):
    with pytest.raises(ExactikError, match=word) as caught:
        ik.track(rec.truth.skeleton, cut(rec, 0, 4), **options)
    assert one_sentence(caught.value)


def test_recordings_that_cannot_be_are_named(rec: SyntheticRecording):
    figure = rec.truth.skeleton
    with pytest.raises(ModelError, match="no frames"):
        ik.track(figure, ik.Markers(np.empty((0, 41, 3)), rec.markers.names, 60.0))
    with pytest.raises(ModelError, match="no marker") as caught:
        ik.track(figure, ik.Markers(np.zeros((3, 2, 3)), ("wand", "table"), 60.0))
    assert one_sentence(caught.value) and "wand" in str(caught.value)
    with pytest.raises(UnknownNameError, match="LANK"):
        ik.track(figure, rec.markers, weights={"LANC": 1.0})


@pytest.mark.parametrize(
    "options",
    [
        {"weights": np.full(41, -1.0)},
        {"weights": np.zeros(41)},
        {"sigma": -0.001},
        {"sigma": float("nan"), "robust": "huber"},
    ],
)
def test_numbers_without_sense_are_named(rec: SyntheticRecording, options):
    with pytest.raises(ExactikError, match=next(iter(options))):
        ik.track(rec.truth.skeleton, cut(rec, 0, 4), **options)
