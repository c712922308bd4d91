"""Which bones are the parts of a body, its limbs, and what is measured of it at rest."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import exactik as ik
from exactik.retargeting import BodyFigure, find_anatomy
from exactik.retargeting.body import Limb, find_bones_below, find_limb, make_body_figure
from exactik.retargeting.body._bone_names import read_bone_name
from exactik.retargeting.body._figure import make_unit, rotation_between
from exactik.spatial import axis_rotation
from tests.support.retargeting_figures import make_character, make_robot


def change_bone(skeleton: ik.Skeleton, changed: str, **changes: Any) -> ik.Skeleton:
    """Return a skeleton with one bone changed."""
    bones = [replace(bone, **changes) if bone.name == changed else bone for bone in skeleton.bones]
    return ik.Skeleton.build("changed", bones)


def measure_figure(skeleton: ik.Skeleton) -> BodyFigure:
    """Return the figure of a skeleton at its neutral pose."""
    return make_body_figure(find_anatomy(skeleton, skeleton.neutral()), skeleton.neutral())


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
        ("Tail1", "", ""),
        ("LeftHandIndex1", "left", ""),
        ("left_femurrz", "left", "thigh"),
        ("lfingers", "left", ""),
        ("leftupleg", "left", "thigh"),
        ("rightforearm", "right", "forearm"),
    ],
)
def test_names_of_bones(name: str, side: str, part: str):
    read = read_bone_name(name)
    assert (read.side, read.part) == (side, part)


@pytest.mark.parametrize(
    "figure", [ik.human(), make_character(), make_robot()], ids=lambda s: s.name
)
def test_all_parts_are_found(figure: ik.Skeleton):
    parts = find_anatomy(figure, figure.neutral()).parts
    assert len(parts) == 23
    assert "hand" in parts["left_hand"].bone.lower()
    assert parts["left_shin"].bone != parts["right_shin"].bone


def test_a_wrist_in_the_forearm_and_hinges_of_a_hip():
    human = find_anatomy(ik.human(), ik.human().neutral()).parts
    assert (human["left_forearm"].start, human["left_forearm"].bone) == ("l_forearm", "l_wrist")
    robot = make_robot()
    thigh = find_anatomy(robot, robot.neutral()).parts["left_thigh"]
    assert thigh.bone == "left_thigh_yaw_link"


def test_a_wrist_is_where_its_forearm_ends():
    """Of two hinges that are 4 cm apart the first, whose distance to the elbow stays.

    Of two that are 1 cm apart the last, which is as good.
    """
    for gap, start in ((0.04, "left_hand_roll_link"), (0.01, "left_hand_yaw_link")):
        robot = make_robot(wrist_gap=gap)
        hand = find_anatomy(robot, robot.neutral()).parts["left_hand"]
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
    thigh = find_anatomy(with_dummy, with_dummy.neutral()).parts["left_thigh"]
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
    parts = find_anatomy(figure, figure.neutral()).parts
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
    parts = find_anatomy(figure, figure.neutral()).parts
    assert (parts["left_thigh"].start, parts["left_shin"].start) == ("l_leg_1", "l_leg_2")
    assert (parts["left_foot"].start, parts["left_foot"].bone) == ("l_leg_4", "l_leg_4")
    assert parts["left_toes"].bone == "l_leg_5"


def test_bones_that_are_no_part_are_told_by_names_that_occur_once():
    assert find_anatomy(ik.human(), ik.human().neutral()).others == {
        "left_fingers": "l_fingers",
        "right_fingers": "r_fingers",
    }
    tails = [ik.Bone(f"tail_{a}", parent="pelvis", joint=ik.Joint.revolute(a)) for a in "xy"]
    figure = ik.Skeleton.build("tails", [*ik.human().bones, *tails])
    others = find_anatomy(figure, figure.neutral()).others
    assert sorted(others) == ["left_fingers", "right_fingers"]


def test_hinges_inside_a_limb_are_no_bones_of_their_own():
    robot = make_robot()
    assert find_anatomy(robot, robot.neutral()).others == {
        "left_fingers": "left_fingers_roll_link",
        "right_fingers": "right_fingers_roll_link",
    }


def test_parts_that_are_given_replace_those_that_are_found():
    human = ik.human()
    anatomy = find_anatomy(human, human.neutral(), {"head": "upper_neck", "hat": "head"})
    assert anatomy.parts["head"].bone == "upper_neck"
    assert anatomy.others["hat"] == "head"


def test_an_antenna_is_no_head():
    """Of a robot without neck and head."""
    trunk = [b for b in ik.human().bones if not b.name.endswith(("neck", "head"))]
    antenna = ik.Bone("antenna", parent="thorax", joint=ik.Joint.revolute("z"))
    robot = ik.Skeleton.build("robot", [*trunk, antenna])
    parts = find_anatomy(robot, robot.neutral()).parts
    assert not {"head", "neck_1"} & set(parts)


def test_toes_of_another_name_are_the_only_bone_of_a_foot():
    human = ik.human()
    flap = change_bone(human, "l_toes", name="l_flap")
    two = ik.Skeleton.build("two", [*flap.bones, ik.Bone("l_sole", parent="l_foot")])
    assert find_anatomy(flap, flap.neutral()).parts["left_toes"].bone == "l_flap"
    assert "left_toes" not in find_anatomy(two, two.neutral()).parts


def test_a_bone_between_foot_and_toes_is_neither():
    sole = ik.Bone("l_sole", parent="l_foot", offset=(0.05, 0.0, -0.05))
    bones = list(ik.human().bones)
    at = [bone.name for bone in bones].index("l_toes")
    bones[at : at + 1] = [sole, replace(bones[at], parent="l_sole", offset=(0.08, 0.0, 0.0))]
    figure = ik.Skeleton.build("soles", bones)
    parts = find_anatomy(figure, figure.neutral()).parts
    assert (parts["left_foot"].bone, parts["left_toes"].bone) == ("l_foot", "l_toes")


def test_what_a_limb_is_and_what_carries_it():
    figure = measure_figure(ik.human())
    leg = ("l_thigh", "l_shin", "l_foot")
    assert find_limb(figure, "left_leg") == Limb(leg, "pelvis", leg[::-1])
    moving = ("l_hand", "l_wrist", "l_forearm", "l_upper_arm")
    arm = ("l_upper_arm", "l_wrist", "l_hand")
    assert find_limb(figure, "left_arm") == Limb(arm, "l_clavicle", moving)
    below = find_bones_below(figure.skeleton, ["l_shin"])
    assert below == {"l_shin", "l_foot", "l_toes"}


# --- at rest


def test_lengths_of_a_figure_at_rest():
    """Legs, arms and ankles of the human; the ball of a robot's foot, which has no toes."""
    figure = measure_figure(ik.human())
    assert figure.leg_length == pytest.approx(1.75 * (0.245 + 0.246))
    assert figure.arm_lengths["left"] == pytest.approx(1.75 * (0.186 + 0.110 + 0.036))
    assert figure.ankle_height == pytest.approx(1.75 * 0.039)
    np.testing.assert_allclose(figure.toe_points["left"], (1.75 * 0.075, 0.0, -1.75 * 0.029))
    figure = measure_figure(make_robot(toes=False))
    ball = figure.toe_points["left"]
    np.testing.assert_allclose(ball, (0.16 * figure.leg_length, 0.0, -0.8 * 1.75 * 0.039))


@pytest.mark.parametrize("figure", [ik.human(), make_robot()], ids=lambda s: s.name)
def test_parts_of_limbs_have_their_first_axis_along_them(figure: ik.Skeleton):
    body = measure_figure(figure)
    pose = figure.forward(figure.neutral())
    for upper, lower in (("upper_arm", "forearm"), ("thigh", "shin"), ("shin", "foot")):
        for side in ("left", "right"):
            start, end = (pose.positions[body.start_of(f"{side}_{p}")] for p in (upper, lower))
            bone = pose.rotations[body.index_of(f"{side}_{upper}")]
            along = (bone @ body.part_frames[f"{side}_{upper}"])[:, 0]
            np.testing.assert_allclose(along, (end - start) / np.linalg.norm(end - start))


def test_hands_point_to_their_fingers_else_along_the_forearm():
    human = ik.human()
    bent = change_bone(human, "l_fingers", offset=(0.09, 0.0, 0.0))
    bare = ik.Skeleton.build("bare", [b for b in human.bones if b.name != "l_fingers"])
    stub = change_bone(human, "l_fingers", offset=(0.001, 0.0, 0.0))
    for figure, turn in ((human, 0.0), (bent, 90.0), (bare, 0.0), (stub, 0.0)):
        frames = measure_figure(figure).part_frames
        angle = np.degrees(np.arccos(frames["left_hand"][:, 0] @ frames["left_forearm"][:, 0]))
        assert angle == pytest.approx(turn, abs=1e-4)


@pytest.mark.parametrize(("lean", "straightened"), [(20.0, True), (45.0, False)])
def test_a_rest_pose_that_leans_a_little_is_not_meant_to(lean: float, straightened: bool):
    turn = axis_rotation("y", np.radians(lean))
    root = ik.human().bones[0]
    figure = measure_figure(change_bone(ik.human(), root.name, pre=turn))
    expected = turn.T if straightened else np.eye(3)
    np.testing.assert_allclose(figure.part_frames["pelvis"], expected, atol=0.06)


def test_a_figure_in_the_air_stands_on_its_toes():
    root = ik.human().bones[0]
    floating = change_bone(ik.human(), root.name, offset=(0.0, 0.0, 2.0))
    figure = measure_figure(floating)
    assert figure.ankle_height == pytest.approx(1.75 * 0.029)


def test_toes_below_the_ankle_are_no_ball_of_the_foot():
    """3 cm before the ankle, where a ball is 14 cm."""
    figure = measure_figure(change_bone(ik.human(), "l_toes", offset=(0.03, 0.0, -0.05)))
    assert figure.toe_points["left"][0] == pytest.approx(0.16 * figure.leg_length)
    assert figure.toe_points["right"][0] == pytest.approx(1.75 * 0.075)


def test_a_heel_before_the_toes_is_no_ball_of_the_foot():
    bones = list(ik.human().bones)
    at = [bone.name for bone in bones].index("l_toes")
    bones.insert(at, ik.Bone("l_spur", parent="l_foot", offset=(-0.1, 0.0, -0.05)))
    figure = measure_figure(ik.Skeleton.build("spur", bones))
    assert figure.toe_points["left"][0] == pytest.approx(1.75 * 0.075)


def test_the_shortest_rotation_between_directions():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 20, 3))
    a, b = (v / np.linalg.norm(v, axis=1, keepdims=True) for v in (a, b))
    R = rotation_between(a, b)
    np.testing.assert_allclose(np.einsum("nij,nj->ni", R, a), b, atol=1e-12)
    cosine = 0.5 * (np.trace(R, axis1=1, axis2=2) - 1.0)
    np.testing.assert_allclose(cosine, np.einsum("ni,ni->n", a, b), atol=1e-12)
    np.testing.assert_allclose(rotation_between(a, -a) @ a[..., None], -a[..., None], atol=1e-12)
    np.testing.assert_allclose(rotation_between(a[0], b), rotation_between(a[:1].repeat(20, 0), b))


def test_a_direction_without_length_is_refused():
    with pytest.raises(ik.ModelError, match="no length"):
        make_unit(np.zeros(3), "it has no length")
    np.testing.assert_array_equal(make_unit(np.array((0.0, 0.0, 2.0)), ""), (0.0, 0.0, 1.0))
