"""What single names of markers mean."""

from __future__ import annotations

import pytest

import exactik as ik
from exactik.marker_sets import find_landmark, is_unlabelled


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
    assert all(map(is_unlabelled, ("*0", "New 0012", "Marker_7", "S:*3", "unlabeled 4", "M12")))
    assert not any(map(is_unlabelled, ("LKNE", "C7", "T10", "MT5")))
