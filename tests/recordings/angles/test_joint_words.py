"""Joints and dofs in the words of people."""

from __future__ import annotations

from pathlib import Path

import exactik as ik
from exactik.recordings.angles import JointWords, join_sides, name_angle_for_people


def test_bones_joints_limbs_and_dofs_of_our_human():
    words = JointWords(ik.human())
    assert words.bones["l_shin"] == "left shin" and words.joints["l_shin"] == "left knee"
    assert words.joints["r_hand"] == "right wrist" and words.joints["lower_back"] == "lower back"
    assert words.limbs["l_thigh"] == "left leg"
    assert words.dofs["l_shin.ry"] == "left knee flexion"
    assert words.dofs["r_foot.ry"] == "right ankle dorsiflexion"
    assert words.dofs["r_wrist.ry"] == "right forearm pronation"
    assert words.dofs["lower_back.rx"] == "trunk bending"
    assert words.dofs["pelvis.tx"] == "pelvis tx" and words.dofs["pelvis.ry"] == "pelvis tilt"


def test_a_figure_of_another_naming_has_the_same_words(shared_data: Path):
    path = shared_data / "data" / "opensim" / "gait2354" / "subject01_simbody.osim"
    words = JointWords(ik.load_skeleton(str(path)))
    assert words.dofs["tibia_r.knee_angle_r"] == "right knee flexion"
    assert words.joints["talus_l"] == "left ankle"


def test_what_is_no_body_keeps_its_names():
    words = JointWords(ik.hand())
    assert set(words.joints) == set(words.bones) and len(words.dofs) > 0
    assert all("knee" not in word and "hip" not in word for word in words.joints.values())


def test_two_sides_are_one_word():
    assert join_sides(["left hand", "head", "right hand", "left foot"]) == [
        "both hands",
        "head",
        "left foot",
    ]
    assert join_sides(["right foot", "left foot"]) == ["both feet"]
    assert name_angle_for_people("knee_flexion_l") == "left knee flexion"
