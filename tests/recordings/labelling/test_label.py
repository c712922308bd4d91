"""Points without names are labelled by shape; what may be wrong is marked doubtful."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest

import exactik as ik
from exactik.errors import UnknownNameError, UsageError
from exactik.lab.synthetic import simulate_performance, simulate_recording
from exactik.model.motion import Markers, turn_to_up
from exactik.recordings.labelling import (
    Labelling,
    label_markers,
    label_recording,
    make_set_template,
)

NAMES = tuple(ik.human().markers)
LEGS = tuple(name for name in NAMES if name[1:] in "FWT BWT THI KNE SHN ANK HEE MT5 TOE".split())
SWAP_FRAME = 100


def record(gaps: float = 0.0) -> Markers:
    """Our human, 2 s, 1.9 m tall, facing somewhere."""
    motion = simulate_performance(2.0)
    markers = simulate_recording(motion, noise=0.001, swap=False, gaps=gaps).markers
    R_world = np.array([[0.6, 0.8, 0.0], [-0.8, 0.6, 0.0], [0.0, 0.0, 1.0]])
    return replace(markers, positions=1.09 * markers.positions @ R_world.T + np.array([2, -1, 0]))


def add_points(markers: Markers, paths: dict[str, np.ndarray]) -> Markers:
    columns = [np.broadcast_to(path, (len(markers), 3))[:, None] for path in paths.values()]
    positions = np.concatenate([markers.positions, *columns], axis=1)
    return replace(markers, positions=positions, names=(*markers.names, *paths))


def shuffle(markers: Markers) -> tuple[Markers, dict[str, str]]:
    """The same points in another order, without names; and what they are."""
    order = np.random.default_rng(0).permutation(len(markers.names))
    names = tuple(f"*{k}" for k in range(len(order)))
    shuffled = replace(markers, positions=markers.positions[:, order], names=names)
    return shuffled, {names[k]: markers.names[i] for k, i in enumerate(order)}


class Shuffled(NamedTuple):
    """A labelled recording and the truth."""

    labelling: Labelling
    truth: dict[str, str]
    recording: Markers


@pytest.fixture(scope="module")
def shuffled() -> Shuffled:
    """Names removed; gaps, a stray point, a copy, and two points that exchange their identity."""
    recording = record(gaps=0.05)
    positions = recording.positions.copy()
    a, b = NAMES.index("LKNE"), NAMES.index("RKNE")
    positions[SWAP_FRAME:, [a, b]] = positions[SWAP_FRAME:, [b, a]]
    extra = {"stray": np.array([8.0, 8.0, 0.5]), "copy": positions[:, 3]}
    points, truth = shuffle(add_points(replace(recording, positions=positions), extra))
    return Shuffled(label_markers(ik.human(), points), truth, recording)


def test_names_come_back_and_what_is_wrong_is_doubtful(shuffled: Shuffled):
    right = wrong = silently_wrong = 0
    for fragment in shuffled.labelling.fragments:
        true = shuffled.truth[fragment.point]
        if true in ("LKNE", "RKNE", "stray", "copy", NAMES[3]):
            continue
        right += fragment.frame_count * (fragment.label == true)
        wrong += fragment.frame_count * (fragment.label != true)
        is_sure = fragment.label is not None and not fragment.doubtful
        silently_wrong += fragment.frame_count * (fragment.label != true and is_sure)
    assert wrong <= 0.01 * right
    assert silently_wrong == 0
    assert shuffled.labelling.doubtful_share < 0.1
    assert shuffled.labelling.mirror_margin > 20.0


def test_fragments_of_a_label_are_joined_across_gaps_and_exchanges(shuffled: Shuffled):
    """The two knees come back as they were, although each has its frames from two points."""
    named, recording = shuffled.labelling.markers.chosen(NAMES), shuffled.recording
    same = np.isclose(named.positions, recording.positions, atol=1e-12, equal_nan=True).all(axis=2)
    assert same.mean() > 0.99
    for label in ("LKNE", "RKNE"):
        fragments = shuffled.labelling.fragments_of(label)
        assert len({fragment.point for fragment in fragments}) == 2
        assert any(fragment.first == SWAP_FRAME for fragment in fragments)


def test_strays_get_no_label_and_copies_are_left_out(shuffled: Shuffled):
    codes = {shuffled.truth[f.point]: f.code for f in shuffled.labelling.fragments}
    assert codes["stray"] == "unlabelled"
    assert [codes["copy"], codes[NAMES[3]]].count("copy") == 1
    assert len(shuffled.labelling.markers.names) == 42  # the stray point keeps its name
    assert len(shuffled.labelling.found_labels) == 41


def test_the_table_and_the_data_tell_every_label(shuffled: Shuffled):
    labelling = shuffled.labelling
    table = str(labelling)
    assert all(name in table for name in NAMES)
    data = labelling.to_dict()
    assert set(data["labels"]) == set(labelling.found_labels)
    assert len(data["fragments"]) == len(labelling.fragments)
    assert repr(labelling).startswith("<Labelling: 41 of 41 labels found")
    with pytest.raises(UnknownNameError):
        labelling.find_doubtful("XXX")


def test_wrong_names_are_found_known_ones_kept_and_twins_doubtful():
    """Legs only: RTHI and LKNE are exchanged, RTOE is given, and LTHX is where LTHI is."""
    figure, recording = ik.human(), record().chosen(LEGS)
    bone, point = figure.marker("LTHI")
    twins = figure.with_markers({**figure.markers, "LTHX": (bone, point)})
    beside = recording.marker("LTHI") + np.array([0.0, 0.0, 0.04])
    points = add_points(recording, {"LTHX": beside}).renamed({"RTHI": "LKNE", "LKNE": "RTHI"})
    labelling = label_markers(twins, points, known=("RTOE",), marker_set=(*LEGS, "LTHX"))
    assert labelling.wrong_names == {"RTHI": "LKNE", "LKNE": "RTHI"}
    assert {f.code for f in labelling.fragments_of("RTOE")} == {"known"}
    for label in ("LTHI", "LTHX"):
        assert labelling.find_doubtful(label).all()
        assert {f.code for f in labelling.fragments_of(label)} == {"near-tie"}


def test_the_up_axis_is_found_where_nobody_says_it():
    """A file with y up that does not say so."""
    recording = record().chosen(LEGS)
    figure = ik.human().with_markers({name: ik.human().markers[name] for name in LEGS})
    y_up = turn_to_up(replace(recording, up_axis="z"), "y")
    points, truth = shuffle(replace(y_up, up_axis=None))
    labelling = label_recording(figure, points, marker_set="own")
    assert labelling.up == "y"
    assert (labelling.markers.chosen(LEGS).positions == y_up.positions).all()
    assert {f.point: f.label for f in labelling.fragments} == truth


def test_misuse_is_told():
    recording = record()
    with pytest.raises(UsageError, match="6 points"):
        label_markers(ik.human(), recording.chosen(NAMES[:5]))
    with pytest.raises(UsageError, match="none of the labels"):
        label_markers(ik.human(), recording.renamed({"C7": "*1"}), known=("*1",))
    with pytest.raises(UnknownNameError):
        make_set_template(ik.human(), "no_such_set")
    with pytest.raises(UsageError, match="too few"):
        label_markers(ik.human(), recording, marker_set=("C7", "T10"))
