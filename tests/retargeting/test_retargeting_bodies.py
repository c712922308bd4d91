"""Which bones are the parts of a body, its limbs, and what is measured of it at rest."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import exactik as ik
from exactik.anatomy import describe_body, make_unit
from exactik.errors import ModelError
from exactik.retargeting import BodyFigure
from exactik.retargeting.body import (
    Limb,
    find_bones_below,
    find_limb,
    make_body_figure,
    rotation_between,
)
from exactik.spatial import axis_rotation
from tests.support.retargeting_figures import make_robot


def change_bone(skeleton: ik.Skeleton, changed: str, **changes: Any) -> ik.Skeleton:
    """Return a skeleton with one bone changed."""
    bones = [replace(bone, **changes) if bone.name == changed else bone for bone in skeleton.bones]
    return ik.Skeleton.build("changed", bones)


def measure_figure(skeleton: ik.Skeleton) -> BodyFigure:
    """Return the figure of a skeleton at its neutral pose."""
    return make_body_figure(describe_body(skeleton, skeleton.neutral()), skeleton.neutral())


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
    with pytest.raises(ModelError, match="no length"):
        make_unit(np.zeros(3), "it has no length")
    np.testing.assert_array_equal(make_unit(np.array((0.0, 0.0, 2.0)), ""), (0.0, 0.0, 1.0))
