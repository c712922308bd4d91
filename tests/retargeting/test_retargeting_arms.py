"""Arms that limits keep from their places, the way of the elbow, and what the result says of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import exactik as ik
from exactik.lab.synthetic import simulate_performance
from exactik.model import Joint
from exactik.model.motion import Motion
from exactik.retargeting import (
    OTHER_WEIGHT,
    PART_WEIGHTS,
    SWIVEL_ANGLES,
    TWIST_WEIGHT,
    Arms,
    Retargeting,
    find_elbow_path,
    find_hand_reach,
    measure_hand_places,
    place_elbows,
    retarget,
)
from exactik.retargeting.body import find_limb
from exactik.spatial import angle_between
from tests.support.retargeting_figures import make_character, make_robot
from tests.support.retargeting_judge import measure


def whirl(frames: int = 30) -> Motion:
    """Return a human who turns the left arm once round in a second, as no shoulder can."""
    human = ik.human()
    q = np.tile(human.neutral(), (frames, 1))
    index = {name: human.plain_q[k] for k, name in enumerate(human.dof_names)}
    q[:, index["l_upper_arm.rz"]] = np.linspace(0.0, -2.0 * np.pi, frames)
    q[:, index["l_forearm.rz"]] = -0.6
    return Motion(human, q, float(frames))


@pytest.fixture(scope="module")
def whirled() -> Retargeting:
    return retarget(whirl(), ik.human())


@pytest.fixture(scope="module")
def walked() -> Retargeting:
    """Two seconds of walking, taken over by a robot of hinges."""
    return retarget(simulate_performance(2.0, rate=30.0, acts=("walk",)), make_robot())


# --- what limits forbid


def test_an_arm_that_cannot_go_round_changes_over_without_a_jump(whirled: Retargeting):
    judged = measure(whirled)
    assert (judged.jumps, judged.limit) == (0, 0.0)
    assert 0.5 < judged.hand_frames < 0.9
    assert whirled.hand_errors["right"].max() < 0.006


def test_trunk_and_clavicles_do_not_jump_with_an_arm(whirled: Retargeting):
    figure = whirled.target_figure
    rotations = figure.skeleton.forward(whirled.motion.q).rotations
    for part in ("chest", "left_clavicle", "head"):
        turned = rotations[:, figure.index_of(part)]
        assert angle_between(turned[:-1], turned[1:]).max() < 0.002


def test_it_says_in_which_frames_which_limits_hold_a_wrist(whirled: Retargeting):
    (problem,) = whirled.problems
    assert problem.startswith("the left wrist is up to ")
    assert "out of reach in " in problem
    assert "l_upper_arm.ry at -90°" in problem


def test_an_arm_without_limits_goes_round():
    result = retarget(whirl(), make_character())
    assert measure(result).good
    assert result.problems == ()


def test_places_that_an_elbow_forbids_are_out_of_reach():
    """An elbow that bends by 10° at most, where walking needs 25°."""
    bones = [
        replace(bone, joint=Joint.revolute("z", limits=(-np.radians(10.0), 0.1)))
        if bone.name == "l_forearm"
        else bone
        for bone in ik.human().bones
    ]
    walk = simulate_performance(2.0, rate=15.0, acts=("walk",))
    result = retarget(walk, ik.Skeleton.build("stiff", bones))
    frames = np.arange(len(walk))
    arguments = (result.source_body, result.target_figure, result.motion.q)
    stiff, free = (find_hand_reach(*arguments, side, frames) for side in ("left", "right"))
    assert stiff.distances.max() > 0.02
    assert free.distances.max() < 1e-6
    assert stiff.limits[0] == ("l_forearm.rz", pytest.approx(-np.radians(10.0)))
    (problem,) = result.problems
    assert "out of reach" in problem and "l_forearm.rz at -10°" in problem
    assert measure(result).jumps == 0


def test_wrists_that_were_not_placed_are_not_said_to_be_out_of_reach():
    walk = simulate_performance(2.0, rate=15.0, acts=("walk",))
    result = retarget(walk, make_character(arms=1.4), hands=False)
    words = [problem for problem in result.problems if "wrist" in problem]
    assert all(problem.endswith("for wrists were not placed") for problem in words)


# --- the way of the elbow


def test_elbows_all_round_have_the_lengths_of_the_arm():
    shoulders = np.zeros((20, 3))
    angle = np.linspace(0.0, 3.0, 20)
    wrists = 0.5 * np.stack([np.cos(angle), np.sin(angle), 0.3 * np.sin(3.0 * angle)], axis=1)
    elbows = place_elbows(shoulders, wrists, 0.3, 0.25)
    assert elbows.shape == (20, SWIVEL_ANGLES, 3)
    np.testing.assert_allclose(np.linalg.norm(elbows, axis=2), 0.3)
    np.testing.assert_allclose(np.linalg.norm(elbows - wrists[:, None], axis=2), 0.25)
    # An angle means the same from frame to frame, and 15° are between neighbours.
    assert np.linalg.norm(np.diff(elbows, axis=0), axis=2).max() < 0.1
    from_axis = elbows - elbows.mean(axis=1, keepdims=True)
    cosine = np.einsum("tki,tki->tk", from_axis[:, 1:], from_axis[:, :-1])
    cosine /= (from_axis[:, :1] ** 2).sum(axis=2)
    np.testing.assert_allclose(cosine, np.cos(np.radians(15.0)), atol=1e-9)


def test_an_elbow_of_a_wrist_that_is_too_far_is_on_the_way_to_it():
    elbows = place_elbows(np.zeros((1, 3)), np.array([(2.0, 0.0, 0.0)]), 0.3, 0.25)
    np.testing.assert_allclose(elbows, np.broadcast_to((0.3, 0.0, 0.0), elbows.shape), atol=1e-12)


@pytest.mark.parametrize("fixed", [True, False])
def test_an_elbow_comes_back_to_the_copied_arm(walked: Retargeting, fixed: bool):
    """From poses with the elbow far out; the ends stay if they are to."""
    figure, good = walked.target_figure, walked.motion.q
    skeleton, limb = figure.skeleton, find_limb(figure, "left_arm")
    places = measure_hand_places(walked.source_body, figure, skeleton.forward(good))["left"].target
    off = good.copy()
    elbow = skeleton.dof_names.index("left_upper_arm_yaw_link.rz")
    off[:, skeleton.plain_q[elbow]] -= 0.8
    length = figure.arm_lengths["left"]
    found = find_elbow_path(
        figure,
        "left",
        off,
        places,
        0.01 * length,
        good,
        fix_first=fixed,
        fix_last=fixed,
        threads=1,
    )
    pose, wrist = skeleton.forward(found), figure.anatomy.parts["left_hand"].start
    inner = slice(1, -1) if fixed else slice(None)
    misses = np.linalg.norm(pose.point(wrist) - places, axis=1) / length
    assert misses[inner].max() < 0.01
    assert np.array_equal(found[0], off[0]) is fixed
    assert np.array_equal(found[-1], off[-1]) is fixed
    bones = [skeleton.bone_index(bone) for bone in limb.bones]
    turns = angle_between(pose.rotations[:, bones], skeleton.forward(good).rotations[:, bones])
    assert np.median(turns[inner]) < 0.1
    others = ~np.isin(np.array(skeleton.bone_names)[skeleton.dof_bones], limb.moving)
    free = skeleton.difference(found, off)[:, others]
    assert np.abs(free).max() < 1e-12


def test_an_arm_that_is_spread_leaves_the_other_as_it_is(whirled: Retargeting):
    """Both are off their places here, and only one of them jumps."""
    figure, good = whirled.target_figure, whirled.motion.q
    skeleton, arms = figure.skeleton, Arms(whirled.source_body, figure, 1)
    q = good.copy()
    column = {name: int(skeleton.plain_q[k]) for k, name in enumerate(skeleton.dof_names)}
    q[:, column["r_forearm.rz"]] += 0.3
    q[15:, column["l_forearm.rz"]] -= 1.0
    assert len(arms.find_jumps(q)["left"]) > 0
    left, right = arms.find_coordinates("left"), arms.find_coordinates("right")
    for way in (arms.spread(q, "left"), arms.fall_back(q, good, "left")):
        assert len(arms.find_jumps(way)["left"]) == 0
        assert (way[:, right] == q[:, right]).all()
        assert (way[:, left] != q[:, left]).any()


# --- what the result says


def with_change(result: Retargeting, dof: str, frame: int, change: float) -> Retargeting:
    """Return the result with one coordinate of one frame changed."""
    q, skeleton = result.motion.q.copy(), result.motion.skeleton
    q[frame, skeleton.plain_q[skeleton.dof_names.index(dof)]] += change
    return replace(result, motion=replace(result.motion, q=q))


@pytest.mark.parametrize(("step", "noted"), [(0.8, False), (1.2, True)])
def test_a_hinge_that_no_motor_can_follow_is_told(walked: Retargeting, step: float, noted: bool):
    """24 and 36 rad/s at 30 Hz."""
    q, skeleton = walked.motion.q.copy(), walked.motion.skeleton
    column = skeleton.plain_q[skeleton.dof_names.index("left_hand_yaw_link.rz")]
    q[:, column] = np.where(np.arange(len(q)) < 10, 0.0, step)
    changed = replace(walked, motion=replace(walked.motion, q=q))
    assert any("left_hand_yaw_link.rz turns at" in text for text in changed.problems) is noted


@pytest.mark.parametrize(("share", "told"), [(0.012, False), (0.03, True)])
def test_how_far_a_wrist_may_be_off(walked: Retargeting, share: float, told: bool):
    """A forearm turned at the elbow."""
    figure = walked.target_figure
    forearm = 0.4 * figure.arm_lengths["right"]
    angle = share * figure.arm_lengths["right"] / forearm
    changed = with_change(walked, "right_forearm_yaw_link.rz", 12, -angle)
    assert changed.hand_errors["right"][12] == pytest.approx(share, rel=0.4)
    assert any("right wrist" in problem for problem in changed.problems) is told


@pytest.mark.parametrize(("shift", "told"), [(0.0007, False), (0.002, True)])
def test_how_far_a_foot_may_slide(walked: Retargeting, shift: float, told: bool):
    first, last = next(c.frames for c in walked.contacts if c.frames.frame_count > 3)
    changed = with_change(walked, walked.motion.skeleton.dof_names[0], (first + last) // 2, shift)
    assert changed.foot_slides.max() == pytest.approx(shift, rel=0.05)
    assert any("slide" in problem for problem in changed.problems) is told


@pytest.mark.parametrize(("step", "told"), [(0.1, False), (0.5, True)])
def test_a_trunk_that_jumps_is_told(walked: Retargeting, step: float, told: bool):
    """3 and 15 rad/s at 30 Hz, of a waist that stays as it is."""
    q, skeleton = walked.motion.q.copy(), walked.motion.skeleton
    waist = skeleton.dof_names.index("upper_back_yaw_link.rz")
    q[:, skeleton.plain_q[waist]] = np.where(np.arange(len(q)) < 10, 0.0, step)
    changed = replace(walked, motion=replace(walked.motion, q=q))
    assert (9 in changed.jumps["trunk"]) is told
    assert any("the trunk jumps" in problem for problem in changed.problems) is told


def test_where_limits_allow_not_all_the_trunk_goes_first():
    weights = PART_WEIGHTS
    assert weights["pelvis"] > weights["chest"] > weights["head"] == weights["clavicle"]
    assert weights["clavicle"] == 1.0 > weights["foot"] > weights["spine"] == weights["neck"]
    assert weights["neck"] > TWIST_WEIGHT == weights["hand"] == weights["toes"] > OTHER_WEIGHT
