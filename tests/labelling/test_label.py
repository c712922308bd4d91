"""Points without names are labelled by shape; what may be wrong is marked doubtful."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import exactik as ik
from exactik.errors import UsageError
from exactik.labelling import Labelling, label_markers
from exactik.motion import Markers
from exactik.synthetic import simulate_performance, simulate_recording

NAMES = tuple(ik.human().markers)


def record(**faults: float) -> Markers:
    """Our human, 2 s, 1.9 m tall, facing somewhere."""
    motion = simulate_performance(2.0)
    markers = simulate_recording(motion, noise=0.001, swap=False, **faults).markers
    turned = 1.09 * (markers.positions @ np.array([[0.6, 0.8, 0], [-0.8, 0.6, 0], [0, 0, 1]]).T)
    return replace(markers, positions=turned + (2.0, -1.0, 0.0))


def shuffle(markers: Markers, seed: int = 0) -> tuple[Markers, dict[str, str]]:
    """The same points in another order, without names; and what they are."""
    order = np.random.default_rng(seed).permutation(len(markers.names))
    names = tuple(f"*{k}" for k in range(len(order)))
    shuffled = replace(markers, positions=markers.positions[:, order], names=names)
    return shuffled, {names[k]: markers.names[i] for k, i in enumerate(order)}


def count_wrong(labelling: Labelling, truth: dict[str, str]) -> tuple[int, int]:
    """Wrong marker-frames, and those of them that are not doubtful."""
    wrong = [f for f in labelling.fragments if f.label != truth[f.point]]
    unseen = [f for f in wrong if f.label is not None and not f.doubtful]
    return sum(f.frame_count for f in wrong), sum(f.frame_count for f in unseen)


@pytest.fixture(scope="module")
def labelled() -> tuple[Labelling, dict[str, str], Markers]:
    """Names removed from a recording with gaps, in which two points exchange their identity."""
    recording = record(gaps=0.05)
    points, truth = shuffle(recording)
    return label_markers(ik.human(), points), truth, recording


def test_names_come_back(labelled: tuple[Labelling, dict[str, str], Markers]):
    labelling, truth, recording = labelled
    wrong, silently = count_wrong(labelling, truth)
    assert wrong <= 0.01 * np.count_nonzero(~recording.missing)
    assert silently == 0
    assert labelling.doubtful_share < 0.1
    assert labelling.mirror_margin > 20.0


def test_fragments_of_a_label_are_joined(labelled: tuple[Labelling, dict[str, str], Markers]):
    labelling, _, recording = labelled
    assert set(NAMES) <= set(labelling.markers.names)
    named = labelling.markers.chosen(recording.names)
    same = np.isclose(named.positions, recording.positions, atol=1e-12, equal_nan=True).all(axis=2)
    assert same.mean() > 0.99


def test_the_table_and_the_data_tell_every_label(
    labelled: tuple[Labelling, dict[str, str], Markers],
):
    labelling = labelled[0]
    table = str(labelling)
    assert all(name in table for name in NAMES)
    data = labelling.to_dict()
    assert set(data["labels"]) == set(labelling.found_labels)
    assert len(data["fragments"]) == len(labelling.fragments)
    assert repr(labelling).startswith("<Labelling: 41 of 41 labels found")


def test_a_wrong_name_is_found_and_a_known_one_is_kept():
    recording = record(gaps=0.0)
    swapped = recording.renamed({"LKNE": "RFHD", "RFHD": "LKNE"})
    labelling = label_markers(ik.human(), swapped)
    assert labelling.wrong_names == {"LKNE": "RFHD", "RFHD": "LKNE"}
    kept = label_markers(ik.human(), recording, known=("LKNE",))
    assert [f.code for f in kept.fragments if f.point == "LKNE"] == ["known"]
    with pytest.raises(UsageError, match="none of the labels"):
        label_markers(ik.human(), swapped.renamed({"C7": "*1"}), known=("*1",))


def test_strays_get_no_label_and_copies_are_left_out():
    recording = record(gaps=0.0)
    stray = np.broadcast_to([8.0, 8.0, 0.5], (len(recording), 1, 3))
    copy = recording.positions[:, 3:4]
    positions = np.concatenate([recording.positions, stray, copy], axis=1)
    both = replace(recording, positions=positions, names=(*recording.names, "stray", "copy"))
    points, truth = shuffle(both, seed=2)
    truth = {point: name for point, name in truth.items()}
    labelling = label_markers(ik.human(), points)
    codes = {truth[f.point]: f.code for f in labelling.fragments}
    assert codes["stray"] == "unlabelled"
    assert sorted([codes["copy"], codes[recording.names[3]]])[0] == "copy"
    names = {truth[f.point]: f.label for f in labelling.fragments if f.label is not None}
    assert all(own in (name, NAMES[3]) for own, name in names.items())


def test_labels_that_cannot_be_told_apart_are_doubtful():
    """Two markers at one place of the figure: which is which, nobody knows."""
    figure, recording = ik.human(), record(gaps=0.0)
    bone, point = figure.marker("LTHI")
    double = figure.with_markers({**figure.markers, "LTHX": (bone, point)})
    beside = recording.marker("LTHI")[:, None] + (0.0, 0.0, 0.04)
    positions = np.concatenate([recording.positions, beside], axis=1)
    both = replace(recording, positions=positions, names=(*recording.names, "LTHX"))
    points, _ = shuffle(both)
    labelling = label_markers(double, points)
    for label in ("LTHI", "LTHX"):
        assert labelling.find_doubtful(label).all()
        assert {f.code for f in labelling.fragments_of(label)} == {"near-tie"}


def test_points_that_change_their_identity_are_followed():
    """Two points that exchange their places from one frame to the next become two fragments."""
    recording = record(gaps=0.0)
    positions = recording.positions.copy()
    a, b = NAMES.index("LKNE"), NAMES.index("RKNE")
    positions[100:, [a, b]] = positions[100:, [b, a]]
    points, truth = shuffle(replace(recording, positions=positions))
    labelling = label_markers(ik.human(), points)
    for label in ("LKNE", "RKNE"):
        fragments = labelling.fragments_of(label)
        assert [(f.first, f.last) for f in fragments] == [(0, 99), (100, len(recording) - 1)]
        assert len({f.point for f in fragments}) == 2


def test_too_few_points_are_refused():
    with pytest.raises(UsageError, match="6 points"):
        label_markers(ik.human(), record(gaps=0.0).chosen(NAMES[:5]))
