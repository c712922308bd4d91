"""What recorded markers are: by hand, by name, by where they rest."""

from __future__ import annotations

import numpy as np
import pytest

import exactik as ik
from exactik.anatomy.marker_sets import read_marker_names
from exactik.errors import UnknownNameError
from exactik.recordings.calibration import calibrate, propose_mapping
from exactik.recordings.calibration.mapping import Match, Proposal
from tests.support.subjects import Subject, make_subject


@pytest.fixture(scope="module")
def somebody() -> Subject:
    return make_subject(ik.human(), 4, frames=300, away=0.02)


def test_by_name(somebody: Subject):
    names = {"LFWT": "S:L.ASIS", "LKNE": "S:L_Knee_Lateral", "C7": "S:C7", "T10": "t10"}
    mapping = propose_mapping(ik.human(), somebody.markers.renamed(names), geometry=False)
    assert mapping["S:L.ASIS"].marker == "LFWT" and mapping["S:L.ASIS"].confidence < 0.9
    assert mapping["S:L_Knee_Lateral"].reason == "both names mean the left outer knee"
    assert mapping["S:C7"].reason == "same name after a prefix"
    assert mapping["t10"].reason == "same name in other case"
    assert mapping["RKNE"].reason == "same name" and mapping["RKNE"].confidence == 1.0
    named = mapping.applied()
    assert set(named.markers) == set(ik.human().markers) - {"LFWT", "LKNE"} | {
        "L.ASIS",
        "L_Knee_Lateral",
    }
    assert named.markers["L.ASIS"] == ik.human().markers["LFWT"]


@pytest.mark.parametrize("geometry", [True, False])
def test_a_marker_given_by_hand_and_never_seen_is_not_used(geometry: bool):
    markers = ik.Markers(np.full((30, 5, 3), np.nan), tuple("abcde"), 120.0)
    bones = {"a": "head", "b": "l_thigh", "c": "r_thigh", "d": "LKNE", "e": None}
    mapping = propose_mapping(ik.human(), markers, bones, geometry=geometry)
    assert [match.code for match in mapping] == ["never-seen"] * 4 + ["by-hand"]
    assert mapping["a"].reason == "given by hand, but in no frame"
    with pytest.raises(ik.UsageError, match="no recorded marker can be used"):
        calibrate(ik.human(), markers, bones=bones)


def test_by_geometry(somebody: Subject):
    """Five markers that lost their names are found again; one that is on nothing is not."""
    lost = {"LTHI": "A", "RUPA": "B", "LBHD": "m3", "RHEE": "*4", "LFRM": "E"}
    places = somebody.markers.positions
    rng = np.random.default_rng(0)
    ghost = places[:, :1] + rng.normal(0.0, 0.3, (len(places), 1, 3))
    markers = ik.Markers(
        np.concatenate([places, ghost], axis=1), (*somebody.markers.names, "ghost"), 120.0
    ).renamed(lost)
    mapping = propose_mapping(ik.human(), markers)
    for old, new in lost.items():
        assert mapping[new].bone == ik.human().markers[old][0]
        assert mapping[new].marker == old
        assert 0.2 < mapping[new].confidence < 0.95
        assert "mm on" in mapping[new].reason
    assert mapping["ghost"].bone is None
    assert "on no bone at rest" in mapping["ghost"].reason


@pytest.mark.full
def test_a_marker_that_the_skeleton_lacks(somebody: Subject):
    """An extra marker on the left shin, of another name: it gets a place there."""
    point = np.array([0.05, -0.03, -0.12])
    extra = somebody.skeleton.forward(somebody.q).point("l_shin", point)[:, None]
    markers = ik.Markers(
        np.concatenate([somebody.markers.positions, extra], axis=1),
        (*somebody.markers.names, "extra"),
        120.0,
    )
    fit = calibrate(ik.human(), markers, frames=40)
    match = fit.mapping["extra"]
    assert (match.bone, match.marker) == ("l_shin", None)
    assert np.linalg.norm(fit.offsets["extra"] - point) < 0.01
    assert fit.skeleton.markers["extra"][0] == "l_shin"


def test_by_hand(somebody: Subject):
    markers = somebody.markers.renamed({"LTHI": "A", "LKNE": "B", "LSHN": "C"})
    by_hand = {"A": "LTHI", "B": "l_thigh", "C": ("l_shin", (0.03, 0.04, -0.2)), "C7": None}
    by_hand |= {"RKNE": "r_thigh", "RSHN": "r_thigh"}
    mapping = propose_mapping(ik.human(), markers, by_hand, geometry=False)
    assert (mapping["A"].marker, mapping["A"].bone) == ("LTHI", "l_thigh")
    assert (mapping["B"].marker, mapping["B"].bone, mapping["B"].point) == (None, "l_thigh", None)
    assert mapping["C"].point == (0.03, 0.04, -0.2)
    # The figure's own marker of that name, where that is on the bone.
    assert (mapping["RKNE"].marker, mapping["RSHN"].marker) == ("RKNE", None)
    assert mapping["C7"].bone is None and "C7" not in {m.recorded for m in mapping.used}
    middle = 0.5 * np.array(ik.human().bones[ik.human().bone_index("l_shin")].offset)
    assert np.allclose(mapping.applied().markers["B"][1], middle)
    with pytest.raises(UnknownNameError, match="no bone or marker named 'thig'"):
        propose_mapping(ik.human(), markers, {"A": "thig"})
    with pytest.raises(UnknownNameError, match="no bone named 'thig'"):
        propose_mapping(ik.human(), markers, {"A": ("thig", (0.0, 0.0, 0.0))})
    with pytest.raises(ik.UsageError, match="cannot both be 'LTHI'"):
        propose_mapping(ik.human(), markers, {"A": "LTHI", "B": "LTHI"}, geometry=False)


def test_what_is_known_so_far_are_markers_on_a_bone():
    markers = ik.Markers(np.zeros((1, 3, 3)), ("A", "B", "C"), 60.0)
    nothing = read_marker_names(())
    matches = {
        "A": Match("A", marker="LKNE", bone="l_thigh"),
        "B": Match("B", reason="no name that is known"),
        "C": Match("C", marker="RKNE", bone="r_thigh"),
    }
    proposal = Proposal(ik.human(), markers, nothing, nothing, matches)
    assert [match.recorded for match in proposal.known_mapping()] == ["A", "C"]
    assert [match.recorded for match in proposal.known_mapping(frozenset("C"))] == ["A"]


def test_the_table(somebody: Subject):
    mapping = propose_mapping(ik.human(), somebody.markers.renamed({"LTHI": "?"}), geometry=False)
    lines = str(mapping).splitlines()
    assert lines[0].split() == ["recorded", "marker", "bone", "sure", "why"]
    assert len(lines) == 1 + len(mapping)
    assert any("not used" in line and "no name that is known" in line for line in lines)
