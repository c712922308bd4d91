"""What single names of markers mean."""

from __future__ import annotations

import pytest

import exactik as ik
from exactik.anatomy.marker_sets import (
    find_landmark,
    find_landmarks,
    find_unnamed,
    is_object_name,
    is_unnamed,
)


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("RASI", "right front of the pelvis"),
        ("R.ASIS", "right front of the pelvis"),
        ("rASIS", "right front of the pelvis"),
        ("Daniel:RFWT", "right front of the pelvis"),
        ("L_IPS", "left back of the pelvis"),
        ("LPSI", "left back of the pelvis"),
        ("L_Ankle_Lateral", "left outer ankle"),
        ("L.Ankle.Lat", "left outer ankle"),
        ("LANK", "left outer ankle"),
        ("R_FAL", "right outer ankle"),
        ("R.MedialAnkle", "right inner ankle"),
        ("L_FLE", "left outer knee"),
        ("L.Knee", "left outer knee"),
        ("latKnee", None),
        ("r_calc", "right heel"),
        ("R.Heel", "right heel"),
        ("r_5meta", "right outer edge of the foot"),
        ("RSmallToe", "right small toe"),
        ("LTIB", "left shin"),
        ("RBAK", "right shoulder blade"),
        ("R_SCAP", "right shoulder blade"),
        ("CV7", "7th neck vertebra"),
        ("C7", "7th neck vertebra"),
        ("IJ", "notch of the collar bones"),
        ("Sternum", "breast bone"),
        ("R.Acromium", "right shoulder"),
        ("LShoulder", "left shoulder"),
        ("R_wrist_radius", "right wrist, thumb's side"),
        ("LWRB", "left wrist, small finger's side"),
        ("V.Sacral", "sacrum"),
        ("L_HDF", "left front of the head"),
        ("R.Offset", None),
        ("foo", None),
        ("RKNE#2", None),
    ],
)
def test_names_of_common_marker_sets(name: str, place: str | None):
    landmark = find_landmark(name)
    assert (None if landmark is None else landmark.text) == place


def test_every_marker_of_the_human_is_a_landmark_of_its_own():
    places = [find_landmark(name) for name in ik.human().markers]
    assert None not in places
    assert len(set(places)) == len(places)


def test_names_that_say_nothing():
    assert all(map(is_unnamed, ("*0", "New 0012", "Marker_7", "S:*3", "unlabeled 4", "M12")))
    assert not any(map(is_unnamed, ("LKNE", "C7", "T10", "MT5")))


@pytest.mark.parametrize(
    ("name", "landmark"),
    [
        ("SACR", "sacrum"),
        ("LWR", "l_wrist_back"),
        ("LHEL", "l_heel"),
        ("LIWR", "l_wrist_radial"),
        ("ROWR", "r_wrist_ulnar"),
        ("r should", "r_acromion"),
        ("Knie_re_lat", "r_knee_lateral"),
        ("GenouG", "l_knee_lateral"),
        ("malléole_droite", "r_ankle_lateral"),
        ("Rodilla izq", "l_knee_lateral"),
        ("tallone_dx", "r_heel"),
        ("L5", "l5"),
        ("RTH3", "r_thigh_cluster"),
        ("LateralEpicondyleL", "l_elbow_lateral"),
        ("r_mknee_study", "r_knee_medial"),
    ],
)
def test_words_of_several_languages(name: str, landmark: str):
    found = find_landmark(name)
    assert found is not None and found.id == landmark


def test_names_that_leave_something_open():
    """A side, or which of several landmarks: all that may be meant are told, likeliest first."""
    assert find_landmark("heel") is None
    assert [landmark.id for landmark in find_landmarks("heel")] == ["l_heel", "r_heel"]
    assert [m.id for m in find_landmarks("LSH")] == ["l_acromion", "l_shin_side"]
    assert [m.id for m in find_landmarks("LLEPI")] == ["l_elbow_lateral", "l_knee_lateral"]


def test_things():
    assert all(map(is_object_name, ("WheelchairRearL", "R.Roue", "Racket3", "S:Ball_1")))
    assert not any(map(is_object_name, ("LKNE", "R.Biceps", "Ballfuss", "LBHD")))


def test_names_that_say_nothing_beside_the_others():
    empty = ["*0", "Channel101", "Point    7", "P12", "New 0012", "Subject:*3", "PT00", "Marker_7"]
    assert find_unnamed(empty).all()
    assert not find_unnamed(
        ["LFHD", "C7", "T10", "r bar 1", "RTH1", "L_FM5", "Skeleton_Hip1"]
    ).any()
    assert find_unnamed([f"LED {k}" for k in range(8)]).all()
    assert not find_unnamed([f"LTH{k}" for k in range(7)]).any()
