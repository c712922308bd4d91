"""The up axis by the figure that stands in a recording; the unit by its size."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import exactik as ik
from exactik.lab.synthetic import simulate_performance, simulate_recording
from exactik.recordings.pipeline import (
    align_up_axis,
    correct_unit,
    find_upright,
    find_upright_person,
)

FIGURE = ik.human()
NAMES = {name: name for name in FIGURE.markers}


@pytest.fixture(scope="module")
def walk() -> ik.Markers:
    motion = simulate_performance(2.0, 15.0)
    return simulate_recording(motion, noise=0.0005, gaps=0.0, swap=False).markers


def t_pose(arms: float = 1.0) -> ik.Markers:
    """The figure at rest, its arms as wide as asked for; nothing says what is up."""
    places = FIGURE.forward(FIGURE.neutral()).markers
    places = np.repeat(places[None] * [1.0, arms, 1.0], 5, axis=0)
    return ik.Markers(places, tuple(FIGURE.markers), 30.0, source="t.trc")


@pytest.mark.parametrize(("axes", "up"), [("XYZ", "z"), ("YZX", "y"), ("ZXY", "x")])
def test_a_t_pose_stands_on_its_feet_whatever_spreads_most(axes: str, up: str):
    """Arms twice as long as legs: spread alone would lay the figure on its side."""
    turned = replace(t_pose(2.5).turned(axes), up_axis=None)
    aligned = align_up_axis(turned, "z", find_upright_person(turned))
    assert (aligned.up.axis, aligned.up.origin) == (up, "figure")
    assert aligned.up.cosine == pytest.approx(1.0, abs=0.02)
    head = aligned.markers.marker("LFHD")[0]
    foot = aligned.markers.marker("LTOE")[0]
    assert head[2] - foot[2] > 1.3 and aligned.markers.up_axis == "z"


def test_the_word_of_the_file_counts_and_the_figure_may_contradict_it(walk: ik.Markers):
    wrong = replace(walk, up_axis="y")
    aligned = align_up_axis(wrong, "z", find_upright_person(wrong))
    assert (aligned.up.axis, aligned.up.origin) == ("y", "file")
    assert aligned.up.cosine is not None and abs(aligned.up.cosine) < 0.3
    given = align_up_axis(walk, "z", find_upright_person(walk), is_given=True)
    assert given.up.origin == "user" and given.notes == []


def test_upside_down_is_seen(walk: ik.Markers):
    hanging = replace(walk.turned("X-Y-Z"), up_axis=None)
    upright = find_upright_person(hanging)
    assert upright is not None and upright.axis == "z" and upright.cosine < -0.9


def test_legs_show_what_is_up_and_a_hand_does_not(walk: ik.Markers):
    legs = walk.chosen([name for name in walk.names if name[1:] in ("FWT", "KNE", "ANK", "TOE")])
    upright = find_upright(legs, FIGURE, "z", NAMES)
    assert upright is not None and upright.cosine > 0.95
    hand = walk.chosen(["LWRA", "LWRB", "LFIN", "LFRM"])
    assert find_upright(hand, FIGURE, "z", NAMES) is None
    feet = walk.chosen(["LANK", "LTOE", "LMT5", "LHEE"])
    assert find_upright(feet, FIGURE, "z", NAMES) is None


def test_somebody_who_bends_over_does_not_choose_an_axis(walk: ik.Markers):
    """Half-way between two axes neither is up by the figure: the custom of the format counts."""
    angle = np.pi / 4
    turn = np.array(
        [[np.cos(angle), 0, np.sin(angle)], [0, 1, 0], [-np.sin(angle), 0, np.cos(angle)]]
    )
    bent = replace(walk, positions=walk.positions @ turn.T, up_axis=None, source="a.c3d")
    upright = find_upright_person(bent)
    aligned = align_up_axis(bent, "z", upright)
    assert upright is not None and upright.cosine == pytest.approx(0.7, abs=0.1)
    assert (aligned.up.axis, aligned.up.origin) == ("z", "custom")


@pytest.mark.parametrize("factor", [1e3, 1e-3, 1e2, 1e-1])
def test_a_unit_that_makes_a_giant_is_replaced(walk: ik.Markers, factor: float):
    sized = correct_unit(replace(walk, positions=walk.positions * factor), FIGURE, NAMES)
    assert sized.factor == pytest.approx(1.0 / factor)
    np.testing.assert_allclose(sized.markers.positions, walk.positions, rtol=1e-9)
    assert len(sized.notes) == 1 and sized.size == pytest.approx(factor, rel=0.4)


@pytest.mark.parametrize("factor", [0.3, 1.0, 1.4, 2.54])
def test_children_and_giants_are_left_alone(walk: ik.Markers, factor: float):
    sized = correct_unit(replace(walk, positions=walk.positions * factor), FIGURE, NAMES)
    assert sized.factor == 1.0 and sized.notes == []


def test_shuffled_names_are_no_other_unit(walk: ik.Markers):
    names = list(walk.names)
    shuffled = walk.renamed(dict(zip(names, [*names[7:], *names[:7]], strict=True)))
    assert correct_unit(shuffled, FIGURE, NAMES).factor == 1.0


def test_two_markers_tell_neither(walk: ik.Markers):
    two = walk.chosen(["LANK", "LFHD"])
    sized = correct_unit(two, FIGURE, NAMES)
    assert sized.size is None and find_upright(two, FIGURE, "z", NAMES) is None
