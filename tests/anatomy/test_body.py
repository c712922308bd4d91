"""Names of bones and their partners; the parts of a body, its limbs and its sides."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import exactik as ik
from exactik.anatomy import (
    LIKELY,
    describe_body,
    describe_whole_body,
    find_mirrored_name,
    find_partners,
    is_side_word,
    read_bone_name,
)
from exactik.errors import ModelError
from tests.support.retargeting_figures import make_character, make_robot


def change_bone(skeleton: ik.Skeleton, changed: str, **changes: Any) -> ik.Skeleton:
    """Return a skeleton with one bone changed."""
    bones = [replace(bone, **changes) if bone.name == changed else bone for bone in skeleton.bones]
    return ik.Skeleton.build("changed", bones)


# --- names and parts


@pytest.mark.parametrize(
    ("name", "side", "part"),
    [
        ("mixamorig:LeftUpLeg", "left", "thigh"),
        ("LeftLeg", "left", "leg"),
        ("rtibia", "right", "shin"),
        ("lhumerus", "left", "upper_arm"),
        ("calf_l", "left", "shin"),
        ("Bip01 R UpperArm", "right", "upper_arm"),
        ("lShldr", "left", "upper_arm"),
        ("left_hip_pitch_link", "left", "thigh"),
        ("Skeleton_arm_joint_L__4_", "left", "arm"),
        ("J_Bip_R_LowerLeg", "right", "shin"),
        ("lfemurrz", "left", "thigh"),
        ("hip", "", "pelvis"),
        ("R_lowArm_jnt", "right", "forearm"),
        ("Chest2", "", "spine"),
        ("Tail1", "", "tail"),
        ("LeftHandIndex1", "left", "fingers"),
        ("left_femurrz", "left", "thigh"),
        ("lfingers", "left", "fingers"),
        ("leftupleg", "left", "thigh"),
        ("rightforearm", "right", "forearm"),
        ("calcn_r", "right", "foot"),
        ("walker_knee_l", "left", "shin"),
        ("LThighToPelvis", "left", "thigh"),
        ("imu_in_torso", "", ""),
        ("L4_L5_IVDjnt", "", "spine"),
        ("arm_L1", "left", "arm"),
        ("fl_lleg", "left", "shin"),
        ("rh_palm", "right", "hand"),
        ("rfknuckle", "", ""),
        ("RightForearmTwistJoint", "right", ""),
        ("panda_leftfinger", "left", "fingers"),
    ],
)
def test_names_of_bones(name: str, side: str, part: str):
    read = read_bone_name(name)
    assert (read.side, read.part) == (side, part)


@pytest.mark.parametrize(
    "figure", [ik.human(), make_character(), make_robot()], ids=lambda s: s.name
)
def test_all_parts_are_found(figure: ik.Skeleton):
    parts = describe_body(figure, figure.neutral()).parts
    assert len(parts) == 23
    assert "hand" in parts["left_hand"].bone.lower()
    assert parts["left_shin"].bone != parts["right_shin"].bone


def test_a_wrist_in_the_forearm_and_hinges_of_a_hip():
    human = describe_body(ik.human(), ik.human().neutral()).parts
    assert (human["left_forearm"].start, human["left_forearm"].bone) == ("l_forearm", "l_wrist")
    robot = make_robot()
    thigh = describe_body(robot, robot.neutral()).parts["left_thigh"]
    assert thigh.bone == "left_thigh_yaw_link"


def test_a_wrist_is_where_its_forearm_ends():
    """Of two hinges that are 4 cm apart the first, whose distance to the elbow stays.

    Of two that are 1 cm apart the last, which is as good.
    """
    for gap, start in ((0.04, "left_hand_roll_link"), (0.01, "left_hand_yaw_link")):
        robot = make_robot(wrist_gap=gap)
        hand = describe_body(robot, robot.neutral()).parts["left_hand"]
        assert (hand.start, hand.bone) == (start, "left_hand_yaw_link")


def test_a_dummy_in_the_middle_is_no_hip():
    """CMU's "LHipJoint" begins at the pelvis; the thigh begins where it ends."""
    figure = make_character()
    bones = []
    for bone in figure.bones:
        parent = bone.parent
        if bone.name == "mixamorig:LeftUpLeg":
            bones.append(ik.Bone("LHipJoint", parent=parent, joint=ik.Joint.quaternion()))
            parent = "LHipJoint"
        bones.append(
            ik.Bone(bone.name, parent=parent, offset=bone.offset, pre=bone.pre, joint=bone.joint)
        )
    with_dummy = ik.Skeleton.build("dummy", bones)
    thigh = describe_body(with_dummy, with_dummy.neutral()).parts["left_thigh"]
    assert thigh.start == "mixamorig:LeftUpLeg"


def test_a_hinge_of_the_shoulder_is_no_clavicle():
    """One that is 1 cm above the upper arm, 3 % of its length."""
    bones = []
    for bone in ik.human().bones:
        if bone.name == "l_upper_arm":
            hinge = ik.Joint.revolute("x")
            name = "l_shoulder_roll"
            bones.append(ik.Bone(name, parent=bone.parent, offset=bone.offset, joint=hinge))
            bone = replace(bone, parent=name, offset=(0.0, 0.01, 0.0))
        bones.append(bone)
    figure = ik.Skeleton.build("hinged", bones)
    parts = describe_body(figure, figure.neutral()).parts
    assert parts["left_clavicle"].bone == "l_clavicle"
    assert parts["left_upper_arm"].bone == "l_upper_arm"


def test_names_without_parts_are_told_by_lengths():
    """A left leg "l_leg_1" to "l_leg_5", whose ankle is two hinges at one place."""
    names = {"l_thigh": "l_leg_1", "l_shin": "l_leg_2", "l_foot": "l_leg_3", "l_toes": "l_leg_5"}
    bones = []
    for bone in ik.human().bones:
        parent = names.get(bone.parent or "", bone.parent)
        if bone.name == "l_toes":
            hinge = ik.Joint.revolute("x")
            bones.append(ik.Bone("l_leg_4", parent="l_leg_3", joint=hinge))
            parent = "l_leg_4"
        bones.append(replace(bone, name=names.get(bone.name, bone.name), parent=parent))
    figure = ik.Skeleton.build("numbers", bones)
    parts = describe_body(figure, figure.neutral()).parts
    assert (parts["left_thigh"].start, parts["left_shin"].start) == ("l_leg_1", "l_leg_2")
    assert (parts["left_foot"].start, parts["left_foot"].bone) == ("l_leg_4", "l_leg_4")
    assert parts["left_toes"].bone == "l_leg_5"


def test_bones_that_are_no_part_are_told_by_names_that_occur_once():
    assert describe_body(ik.human(), ik.human().neutral()).others == {
        "left_fingers": "l_fingers",
        "right_fingers": "r_fingers",
    }
    tails = [ik.Bone(f"tail_{a}", parent="pelvis", joint=ik.Joint.revolute(a)) for a in "xy"]
    figure = ik.Skeleton.build("tails", [*ik.human().bones, *tails])
    others = describe_body(figure, figure.neutral()).others
    assert sorted(others) == ["left_fingers", "right_fingers"]


def test_hinges_inside_a_limb_are_no_bones_of_their_own():
    robot = make_robot()
    assert describe_body(robot, robot.neutral()).others == {
        "left_fingers": "left_fingers_roll_link",
        "right_fingers": "right_fingers_roll_link",
    }


def test_parts_that_are_given_replace_those_that_are_found():
    human = ik.human()
    anatomy = describe_body(human, human.neutral(), {"head": "upper_neck", "hat": "head"})
    assert anatomy.parts["head"].bone == "upper_neck"
    assert anatomy.others["hat"] == "head"


def test_an_antenna_is_no_head():
    """Of a robot without neck and head."""
    trunk = [b for b in ik.human().bones if not b.name.endswith(("neck", "head"))]
    antenna = ik.Bone("antenna", parent="thorax", joint=ik.Joint.revolute("z"))
    robot = ik.Skeleton.build("robot", [*trunk, antenna])
    parts = describe_body(robot, robot.neutral()).parts
    assert not {"head", "neck_1"} & set(parts)


def test_toes_of_another_name_are_the_only_bone_of_a_foot():
    human = ik.human()
    flap = change_bone(human, "l_toes", name="l_flap")
    two = ik.Skeleton.build("two", [*flap.bones, ik.Bone("l_sole", parent="l_foot")])
    assert describe_body(flap, flap.neutral()).parts["left_toes"].bone == "l_flap"
    assert "left_toes" not in describe_body(two, two.neutral()).parts


def test_a_bone_between_foot_and_toes_is_neither():
    sole = ik.Bone("l_sole", parent="l_foot", offset=(0.05, 0.0, -0.05))
    bones = list(ik.human().bones)
    at = [bone.name for bone in bones].index("l_toes")
    bones[at : at + 1] = [sole, replace(bones[at], parent="l_sole", offset=(0.08, 0.0, 0.0))]
    figure = ik.Skeleton.build("soles", bones)
    parts = describe_body(figure, figure.neutral()).parts
    assert (parts["left_foot"].bone, parts["left_toes"].bone) == ("l_foot", "l_toes")


# --- partners


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("l_hand", "r_hand"),
        ("mixamorig:LeftArm", "mixamorig:RightArm"),
        ("upper_arm.L", "upper_arm.R"),
        ("left_hip_pitch_link", "right_hip_pitch_link"),
        ("LEFT_KNEE", "RIGHT_KNEE"),
        ("lfemur", "rfemur"),
        ("LF_FOOT", "RF_FOOT"),
        ("fl_lleg", "fr_lleg"),
        ("Bip01 L Hand", "Bip01 R Hand"),
    ],
)
def test_sides_are_found_in_names(left: str, right: str):
    assert find_mirrored_name(left, {left, right, "lowerback", "skull"}) == right
    assert find_mirrored_name(right, {left, right}) == left
    assert find_mirrored_name("lowerback", {left, right, "lowerback"}) is None


def test_partners_are_those_whose_names_tell_sides():
    human = ik.human()
    partners = find_partners(human)
    assert partners["l_hand"] == "r_hand" and partners["r_hand"] == "l_hand"
    assert "pelvis" not in partners
    assert find_partners(ik.octopus()) == {}  # mirrored by its shape alone


@pytest.mark.parametrize("text", ["L", "right", "Lt"])
def test_words_that_are_sides(text: str):
    assert is_side_word(text) and not is_side_word(text + "x")


# --- figures that are no whole body


def test_of_two_left_legs_none_is_the_left_leg():
    bones = [ik.Bone("body", joint=ik.Joint.free())]
    for x, end in ((0.3, "f"), (-0.3, "h")):
        for y, side in ((0.1, "l"), (-0.1, "r")):
            thigh = ik.Bone(f"{side}{end}_thigh", parent="body", offset=(x, y, 0.0))
            shin = ik.Bone(f"{side}{end}_shin", parent=thigh.name, offset=(0.0, 0.0, -0.3))
            bones += [thigh, shin]
    body = describe_body(ik.Skeleton.build("dog", bones))
    assert body.parts == {} and body.limbs == {}
    assert body.role_of("lh_thigh") == ("left", "thigh", "", LIKELY)


def test_legs_alone_are_parts_of_a_body_that_is_not_whole():
    bones = [b for b in ik.human().bones if b.name.endswith(("pelvis", "thigh", "shin", "foot"))]
    legs = ik.Skeleton.build("legs", bones)
    body = describe_body(legs)
    assert sorted(body.limbs) == ["left_leg", "right_leg"] and not body.is_whole
    assert body.parts["left_foot"].bone == "l_foot" and "chest" not in body.parts
    with pytest.raises(ModelError, match="no left arm and right arm found in 'legs'"):
        describe_whole_body(legs, legs.neutral())


def test_a_foot_that_hangs_elsewhere_is_named_and_no_leg_is_whole():
    """As animators have handles of feet."""
    human = ik.human()
    apart = change_bone(human, "l_foot", parent="pelvis")
    body = describe_body(apart)
    assert body.parts["left_foot"].bone == "l_foot" and not body.has_whole_limb("left_leg")
    with pytest.raises(ModelError, match="l_foot hangs on pelvis, not on l_shin"):
        describe_whole_body(apart, apart.neutral())
