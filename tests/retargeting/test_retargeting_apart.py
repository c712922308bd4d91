"""Robots whose limbs keep off their bodies, and arms without hands."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import exactik as ik
from exactik.errors import ModelError
from exactik.lab.synthetic import simulate_performance
from exactik.model import Skeleton
from exactik.model.shapes import Capsule, Shapes
from exactik.retargeting import Retargeting, measure_crossings, measure_quality, retarget
from tests.support.retargeting_figures import make_robot

HIPS = (0.0, -0.08, 0.0), (0.0, 0.08, 0.0)  # ends of their capsule [m]
HAND_RADIUS, HIP_RADIUS = 0.05, 0.16


def make_broad_robot() -> Skeleton:
    """The robot of hinges with hips so broad that hanging hands are inside of them."""
    robot = make_robot()
    names = [name for name in robot.bone_names if "hand_yaw" in name]
    hips = Capsule(robot.bones[0].name, *HIPS, HIP_RADIUS)
    hands = [Capsule(name, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), HAND_RADIUS) for name in names]
    return robot.with_shapes(Shapes((hips, *hands), source="file"))


def walk(seconds: float = 2.0) -> ik.Motion:
    return simulate_performance(seconds, rate=30.0, acts=("walk",))


@pytest.fixture(scope="module")
def apart() -> Retargeting:
    return retarget(walk(), make_broad_robot())


def measure_depth(result: Retargeting) -> float:
    """How deep a hand is inside the hips at most [m], by their places alone."""
    skeleton = result.motion.skeleton
    pose, deepest = result.motion.forward(), -np.inf
    shapes = skeleton.shapes.shapes
    for hand in shapes[1:]:
        at = pose.positions[:, skeleton.bone_index(hand.bone or "")]
        R = pose.rotations[:, 0]
        seen = np.einsum("tji,tj->ti", R, at - pose.positions[:, 0])
        seen[:, 1] -= np.clip(seen[:, 1], HIPS[0][1], HIPS[1][1])
        depth = HIP_RADIUS + HAND_RADIUS - np.linalg.norm(seen, axis=1)
        deepest = max(deepest, float(depth.max()))
    return deepest


def test_hands_keep_off_the_hips_and_feet_where_they_stand(apart: Retargeting):
    without = retarget(walk(), make_broad_robot(), self_collision=False)
    assert measure_depth(without) > 0.02 and without.held_off == {}
    assert any("cross by" in problem for problem in without.problems)
    assert measure_depth(apart) < 0.001
    quality = measure_quality(apart)
    assert (quality.cross_mm, quality.jumps) == (0.0, 0) and quality.slide_mm < 0.1
    assert apart.limit_excess == 0.0


def test_what_the_body_is_in_the_way_is_said_and_is_no_fault(apart: Retargeting):
    assert max(held.max() for held in apart.held_off.values()) > 0.02
    assert any("the body keeps the" in note for note in apart.notes)
    assert not any("wrist" in problem for problem in apart.problems)
    for side, errors in apart.hand_errors.items():
        away = apart.held_off[side] / apart.target_figure.arm_lengths[side]
        np.testing.assert_allclose(apart.hand_misses[side], np.maximum(errors - away, 0.0))


def test_depth_and_names_of_what_crosses():
    robot = make_broad_robot()
    result = retarget(walk(), robot, self_collision=False)
    depth = -float(result.crossings.gaps.min())
    assert depth == pytest.approx(measure_depth(result), abs=1e-12)
    named = result.crossings.pairs[int(np.argmin(result.crossings.gaps))]
    assert robot.bones[0].name in named and any("hand" in name for name in named)
    nothing = measure_crossings(result.motion.skeleton, result.motion.q, ())
    assert np.isinf(nothing.gaps).all()


def test_nothing_changes_where_nothing_is_in_the_way():
    slim = [Capsule(make_robot().bones[0].name, (0, 0, 0.3), (0, 0, 0.31), 0.01)]
    hand = next(name for name in make_robot().bone_names if "hand_yaw" in name)
    slim.append(Capsule(hand, (0, 0, 0), (0, 0, 0), 0.01))
    robot = make_robot().with_shapes(Shapes(tuple(slim), source="file"))
    apart, without = (retarget(walk(), robot, self_collision=on) for on in (True, False))
    assert np.array_equal(apart.motion.q, without.motion.q)


def make_robot_without_hands() -> Skeleton:
    """The robot of hinges, its arms four of them: three of the shoulder and one of the elbow."""
    robot = make_robot()
    at = robot.forward(robot.neutral())
    gone = {n for n in robot.bone_names if any(p in n for p in ("wrist", "hand", "fingers"))}
    bones, shapes = [], []
    for bone in robot.bones:
        if bone.name in gone or "clavicle" in bone.name:
            continue
        if bone.parent is not None and "clavicle" in bone.parent:
            assert bone.parent.endswith("yaw_link")
            place = at.point(bone.name) - at.point("thorax_yaw_link")
            bone = replace(bone, parent="thorax_yaw_link", offset=place)
        bones.append(bone)
        if "forearm" in bone.name:
            k = robot.bone_index(bone.name)
            hand = bone.name.replace("forearm_yaw", "hand_roll")
            end = at.rotations[k].T @ (at.point(hand) - at.point(bone.name))
            shapes.append(Capsule(bone.name, (0, 0, 0), end, 0.03))
    return Skeleton.build("handless", bones).with_shapes(Shapes(tuple(shapes), source="file"))


def test_an_arm_that_ends_at_its_elbow_has_the_end_of_its_link_for_a_hand():
    robot = make_robot_without_hands()
    result = retarget(walk(), robot)
    assert result.motion.skeleton.bone_names == robot.bone_names
    assert sum("stands for the hand" in note for note in result.notes) == 2
    assert measure_quality(result).wrist_percent < 2.0
    with pytest.raises(ModelError, match="too few bones"):
        retarget(walk(), robot.with_shapes(Shapes((), source="file")))
