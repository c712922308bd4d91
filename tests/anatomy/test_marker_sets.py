"""Every data file of marker sets is right, and sets are recognised by the names of a recording."""

from __future__ import annotations

import numpy as np
import pytest

import exactik as ik
from exactik.anatomy.marker_sets import (
    MarkerSet,
    find_computed_points,
    list_landmarks,
    list_marker_sets,
    read_marker_names,
    recognise_marker_set,
)
from tests.support.checkout import DOCS

SETS = list_marker_sets()


def make_markers(*names: str, computed: tuple[str, ...] = ()) -> ik.Markers:
    return ik.Markers(np.zeros((2, len(names), 3)), names, 100.0, computed=computed)


def test_landmarks_are_on_the_human():
    """Each is near its bone, has a plausible uncertainty, and no bone has its name."""
    human = ik.human()
    at = human.forward(human.neutral())
    for landmark in list_landmarks().values():
        assert landmark.bone in human.bone_names
        assert landmark.id not in human.bone_names and landmark.id not in human.markers
        assert landmark.kind in ("skin", "joint")
        assert 0.005 <= landmark.sd <= 0.12 and (landmark.sd >= 0.05) >= landmark.is_cluster
        height = float(at.point(landmark.bone, landmark.point)[2])
        assert -0.01 < height < 1.77, landmark
        assert np.linalg.norm(landmark.point) < 0.45


def test_left_and_right_mirror():
    human = ik.human()
    at = human.forward(human.neutral())
    for landmark in list_landmarks().values():
        if landmark.side == "l":
            right = list_landmarks()["r" + landmark.id[1:]]
            mirrored = at.point(right.bone, right.point) * (1, -1, 1)
            assert np.allclose(at.point(landmark.bone, landmark.point), mirrored, atol=1e-12)
            assert landmark.text.removeprefix("left") == right.text.removeprefix("right")
            # Wide limbs cross no middle: what is left of the body stays there, but for inner sides.
            assert at.point(landmark.bone, landmark.point)[1] > 0.0


def test_landmarks_of_the_figures_markers_are_where_these_are():
    human = ik.human()
    reading = read_marker_names(human.markers)
    assert reading.marker_set is not None and reading.marker_set.id == "vicon_41"
    for name, (bone, point) in human.markers.items():
        assert reading.landmarks[name].bone == bone
        assert np.allclose(reading.landmarks[name].point, point)


@pytest.mark.parametrize("marker_set", SETS, ids=lambda s: s.id)
def test_a_set(marker_set: MarkerSet):
    """Landmarks exist, pairs mirror, both sides are there, and the set is known by its names."""
    landmarks = list_landmarks()
    assert marker_set.title != "" and marker_set.source != ""
    assert marker_set.up in (None, "x", "y", "z")
    assert set(marker_set.markers.values()) <= set(landmarks)
    assert set(marker_set.computed.values()) <= {*landmarks, ""}
    left = {i[1:] for i in marker_set.markers.values() if landmarks[i].side == "l"}
    right = {i[1:] for i in marker_set.markers.values() if landmarks[i].side == "r"}
    assert left == right
    names = tuple(marker_set.markers)
    found = recognise_marker_set(names)
    assert found is not None and found.share == 1.0
    assert {n: marker_set.markers[n] for n in names} == {
        n: found.marker_set.markers.get(own) for n, own in found.names.items()
    }


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ("LASI RASI SACR LTHI LKNE LTIB LANK LHEE LTOE", "plug_in_gait"),
        ("S:LFWT S:RFWT S:LBWT S:LTHI S:LSHN S:LMT5 *1 *2 *3 *4", "vicon_41"),
        ("RHip LHip RKnee LKnee RAnkle LAnkle Neck Head RBigToe LBigToe", "halpe_26"),
        ("RHip LHip RKnee LKnee RAnkle LAnkle Neck MidHip REye LEye", "openpose_body_25"),
        ("left_hip right_hip left_knee right_knee left_ear left_eye nose", "coco_17"),
        ("Skeleton_Hip1 Skeleton_Hip2 Skeleton_LThigh1 Skeleton_RShin2", "optitrack_numbered"),
        ("RTH1 RTH2 RTH3 RSK1 RSK2 RSK3 PV1 PV2", "rizzoli_clusters"),
        ("r should,l should,r asis,l asis,r bar 1,r knee 1,r knee 2,r mall,r met", "bts_davis"),
        ("L.PSIS L.ASIS L.Sac.Wand L.Post.Fem. L.Ant.Fem. L.Knee", "codamotion"),
        ("A B C D LKNE", None),
        ("LKNE RKNE", None),
        ("A B C D E LASI RASI SACR LKNE", None),  # four of nine
        ("A B C D LASI RASI SACR LKNE", "plug_in_gait"),  # half
    ],
)
def test_sets_are_recognised(names: str, expected: str | None):
    found = recognise_marker_set(names.split("," if "," in names else None))
    assert (None if found is None else found.marker_set.id) == expected


def test_the_set_settles_what_a_short_name_means():
    """The same "Hip" is a joint for a camera and a trochanter beside iliac spines."""
    video = read_marker_names(["RHip", "LHip", "Neck", "Nose", "RBigToe", "LBigToe"])
    skin = read_marker_names(["R.Hip", "L.Hip", "V.Sacral", "R.ASIS", "L.ASIS", "R.Thigh"])
    assert video.landmarks["RHip"].id == "r_hip_joint"
    assert skin.landmarks["R.Hip"].id == "r_trochanter"


def test_computed_points():
    """By the file's groups, by the set, and by name; one point alone of a bone's frame is none."""
    markers = make_markers(
        *("LASI", "RASI", "SACR", "LKNE", "LWJC", "LFEP", "LFEO", "LFEA", "LFEL", "LFOO"),
        *("CentreOfMass", "LHipAngles", "Thing"),
        computed=("Thing",),
    )
    found = find_computed_points(markers)
    assert found["Thing"] == "file-group"
    assert found["LWJC"] == "joint-centre"
    assert found["LFEP"] == "marker-set" and found["LFEA"] == "bone-frame"
    assert found["LHipAngles"] == "quantity"
    assert "CentreOfMass" in found
    assert not {"LASI", "LKNE", "LFOO", "SACR"} & set(found)


def test_a_beginning_of_all_names_is_a_prefix_but_not_of_two():
    """ "knee_" is no prefix of "knee_l" and "knee_r"; a side never is."""
    assert {n: m.id for n, m in read_marker_names(["knee_l", "knee_r"]).landmarks.items()} == {
        "knee_l": "l_knee_lateral",
        "knee_r": "r_knee_lateral",
    }
    reading = read_marker_names(["Bob_knee_l", "Bob_knee_r", "Bob_heel_l"])
    assert reading.landmarks["Bob_heel_l"].id == "l_heel"
    left = read_marker_names(["l_knee", "l_heel", "l_hip", "l_toe"])
    assert left.landmarks["l_knee"].side == "l"


def test_names_without_prefix_are_none_of_the_subjects():
    reading = read_marker_names(["S:LASI", "S:RASI", "S:LKNE", "S:RKNE", "LANK"])
    assert "LANK" not in reading.landmarks or "LANK" in reading.from_set
    assert reading.landmarks["S:LASI"].id == "l_asis"


def test_computed_points_follow_their_names():
    markers = make_markers("S:A", "S:B", computed=("S:B", "gone"))
    assert markers.computed == ("S:B",)
    assert markers.without_prefix().computed == ("B",)
    assert markers.renamed({"S:B": "C"}).computed == ("C",)
    assert markers.chosen(["S:A"]).computed == ()


def test_the_page_lists_every_set():
    page = (DOCS / "marker-sets.md").read_text("utf-8")
    for marker_set in SETS:
        assert f"| `{marker_set.id}` | {marker_set.title} |" in page
