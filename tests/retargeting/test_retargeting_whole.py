"""A figure takes over a motion: feet stand, hands reach, limits hold, nothing jumps."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import exactik as ik
from exactik.errors import ModelError, UsageError
from exactik.lab.synthetic import simulate_performance
from exactik.model.motion import Motion
from exactik.retargeting import Arms, Retargeting, load_mapping, retarget, save_mapping
from exactik.spatial import axis_rotation
from tests.support.retargeting_figures import make_character, make_robot
from tests.support.retargeting_judge import measure, share_of_stances_held


@pytest.fixture(scope="module")
def walk() -> Motion:
    """Two and a half seconds of our own person who walks, slowly sampled."""
    return simulate_performance(2.5, rate=30.0, acts=("walk",))


@pytest.fixture(scope="module")
def by_character(walk: Motion) -> Retargeting:
    return retarget(walk, make_character())


def test_a_character_of_other_proportions_and_rest_pose(by_character: Retargeting):
    judged = measure(by_character)
    assert judged.good, judged
    assert judged.stances >= 2
    assert share_of_stances_held(by_character) == 1.0
    assert not by_character.needs_look
    assert by_character.motion.up_axis == "y"
    assert by_character.scale == pytest.approx(0.8, abs=0.01)


def test_what_the_result_says_is_what_is_measured(by_character: Retargeting):
    judged = measure(by_character)
    worst = max(float(errors.max()) for errors in by_character.hand_errors.values())
    assert 100.0 * worst == pytest.approx(judged.hand, abs=1e-6)
    assert by_character.limit_excess == judged.limit == 0.0
    assert by_character.jumps == dict.fromkeys(by_character.jumps, ())
    assert by_character.foot_slides.max() < 5e-6  # [m]; the weight of places decides it
    assert "no limit left, no jump" in str(by_character)


def test_a_robot_of_hinges_with_a_fixed_root(walk: Motion):
    robot = make_robot()
    result = retarget(walk, robot)
    judged = measure(result)
    assert judged.good, judged
    assert result.root_was_freed
    assert result.motion.skeleton.bones[0].joint.kind == "free"
    assert result.motion.skeleton.dof_names[6:] == robot.dof_names


def test_closed_loops_of_the_target_are_closed(walk: Motion):
    """A piston from thigh to shin follows the knee, and nothing else moves for it."""
    robot = make_robot()
    thigh = next(b.parent for b in robot.bones if b.name == "left_shin_pitch_link")
    assert thigh is not None
    above, below = np.array([-0.05, 0.0, -0.1]), np.array([-0.04, 0.0, -0.08])
    hinge, slide = ik.Joint.revolute("y"), ik.Joint.prismatic("z", limits=(-0.5, 0.0))
    piston = ik.Bone("piston", parent=thigh, offset=above, joint=hinge)
    rod = ik.Bone("rod", parent="piston", joint=slide)
    robot = robot.with_bones([*robot.bones, piston, rod])
    pin = ik.Loop("rod", "left_shin_pitch_link", points=(np.zeros(3), below), name="pin")
    result, opened = retarget(walk, robot.with_loops(pin)), retarget(walk, robot)
    motion = result.motion
    assert motion.skeleton.loops == (pin,)
    pose, before = motion.forward(), opened.motion.forward()
    assert pin.measure_gap(pose).max() <= 1e-8
    length = np.linalg.norm(
        pose.point("left_shin_pitch_link", below) - pose.point(thigh, above), axis=1
    )
    np.testing.assert_allclose(motion.q[:, -1], -length, atol=1e-7)
    assert np.ptp(length) > 0.01
    assert np.abs(pose.positions[:, :-2] - before.positions[:, :-2]).max() < 1e-5
    assert result.limit_excess == 0.0 and result.foot_slides.max() < 1e-4
    with pytest.raises(UsageError, match="beside closed loops"):
        retarget(walk, robot.with_loops(pin), max_speed=9.0)
    with pytest.raises(ModelError, match="to the world"):
        retarget(walk, robot.with_loops(ik.Loop("rod", None)))


def test_a_wrist_that_was_let_go_is_placed_again_within_a_moment(by_character: Retargeting):
    """A quarter of a second before and after it, and nothing else."""
    source, target = by_character.source_body, by_character.target_figure
    arms, good = Arms(source, target, 1), by_character.motion.q
    v = np.zeros((len(good), target.skeleton.nv))
    forearm = target.skeleton.bone_index(target.bone_of("left_forearm"))
    v[40, target.skeleton.dof_bones == forearm] = 0.3
    off = target.skeleton.clip(target.skeleton.integrate(good, v))
    assert arms.measure_misses(off, "left")[40] > 0.03
    placed = arms.mend(off, good, "left")
    assert arms.measure_misses(placed, "left").max() < 0.01
    assert all(len(frames) == 0 for frames in arms.find_jumps(placed).values())
    changed = np.flatnonzero((placed != off).any(axis=1))
    # It jumps after frame 39 and is off in 40; 0.25 s are 8 frames, of which the ends stay.
    assert (changed.min(), changed.max()) == (39 - 7, 40 + 7)
    np.testing.assert_array_equal(arms.mend(good, good, "left"), good)


def test_the_same_figure_does_the_same(walk: Motion):
    """But for knees that are never quite straight, and ankles that roll over a standing foot."""
    result = retarget(walk, ik.human())
    off = np.linalg.norm(result.motion.forward().positions - walk.forward().positions, axis=2)
    assert off.max() < 0.04
    assert np.median(off) < 0.004
    assert measure(result).good


def test_a_squat():
    """Knees bent far, arms stretched out."""
    motion = simulate_performance(3.0, rate=20.0, acts=("squat",))
    judged = measure(retarget(motion, make_character(legs=1.2, arms=1.1)))
    assert judged.good, judged


def test_units_and_axes_do_not_matter(walk: Motion, by_character: Retargeting):
    """The same motion y up, without being told, in an upright character's own axes."""
    told_nothing = Motion(walk.turned("YZX").skeleton, walk.q, walk.rate)
    result = retarget(told_nothing, make_character())
    assert result.source.up_axis == "y"
    body = result.source_body
    np.testing.assert_allclose(body.figure.skeleton.forward(walk.q).positions, body.positions)
    assert (body.positions[:, body.figure.index_of("head"), 2] > 1.2).all()
    np.testing.assert_allclose(
        result.motion.forward().positions, by_character.motion.forward().positions, atol=1e-6
    )


def test_feet_and_hands_can_be_left(walk: Motion):
    figure = make_character(legs=0.8)
    copied = retarget(walk, figure, feet=False, hands=False)
    assert copied.foot_slides.max() > 1e-3
    assert copied.needs_look
    assert any("slide" in problem for problem in copied.problems)


def test_a_mapping_overrides_names(walk: Motion, tmp_path: Path, by_character: Retargeting):
    path = tmp_path / "map.json"
    save_mapping(by_character.correspondence, path)
    mapping = load_mapping(path)
    assert mapping["left_hand"] == ("l_hand", "mixamorig:LeftHand")
    again = retarget(walk, make_character(), mapping=mapping)
    np.testing.assert_allclose(again.motion.q, by_character.motion.q, atol=1e-6)
    swapped = retarget(walk, make_character(), mapping={"head": ("upper_neck", None)})
    heads = [pair for pair in swapped.correspondence.pairs if pair.part == "head"]
    assert heads[0].source == "upper_neck"


def test_names_that_say_nothing_need_a_mapping(walk: Motion, by_character: Retargeting):
    figure = make_character()
    numbers = {name: f"b{k}" for k, name in enumerate(figure.bone_names)}
    bones = [
        ik.Bone(
            numbers[bone.name],
            parent=None if bone.parent is None else numbers[bone.parent],
            offset=bone.offset,
            pre=bone.pre,
            joint=bone.joint,
        )
        for bone in figure.bones
    ]
    nameless = ik.Skeleton.build("nameless", bones)
    with pytest.raises(ModelError, match="no left leg, left arm, right leg and right arm found"):
        retarget(walk, nameless)
    pairs = by_character.correspondence.pairs
    mapping = {p.part: (None, numbers[p.target]) for p in pairs if p.part == p.source_part}
    assert measure(retarget(walk, nameless, mapping=mapping)).good


@pytest.mark.parametrize(
    ("figure", "message"),
    [(ik.quadruped(), "too few bones for upper_arm"), (ik.hand(), "no left leg")],
)
def test_figures_without_arms_and_legs_are_refused(walk: Motion, figure: ik.Skeleton, message: str):
    with pytest.raises(ModelError, match=message):
        retarget(walk, figure)


def test_feet_that_hang_on_the_root_are_named(walk: Motion):
    """As in a rig for animators, whose feet are handles."""
    human = ik.human()
    bones = [replace(b, parent="pelvis") if b.name == "l_foot" else b for b in human.bones]
    rig = ik.Skeleton.build("rig", bones)
    with pytest.raises(ModelError, match="l_foot hangs on pelvis, not on l_shin"):
        retarget(walk, rig)
    given = {f"left_{part}": (None, f"l_{part}") for part in ("thigh", "shin", "foot")}
    with pytest.raises(ModelError, match="l_foot of 'rig' does not hang on l_shin"):
        retarget(walk, rig, mapping=given)


@pytest.mark.parametrize(("lean", "stands"), [(45.0, True), (65.0, False)])
def test_bodies_on_all_fours_are_refused(walk: Motion, lean: float, stands: bool):
    """A trunk that leans forward by 45° stands on its legs, one by 65° is across them."""
    turn = axis_rotation("y", np.radians(lean))
    bones = [
        replace(bone, pre=turn if bone.pre is None else turn @ np.array(bone.pre))
        if bone.name == "lower_back"
        else bone
        for bone in ik.human().bones
    ]
    animal = ik.Skeleton.build("animal", bones)
    still = Motion(animal, np.tile(animal.neutral(), (3, 1)), 30.0)
    for motion, figure in ((still, ik.human()), (walk.between(0.0, 0.1), animal)):
        if stands:
            assert len(retarget(motion, figure).motion) > 0
        else:
            with pytest.raises(ModelError, match=r"'animal' .*two legs"):
                retarget(motion, figure)


def test_an_axis_that_is_not_up_is_doubted(walk: Motion):
    short = walk.between(0.0, 0.1)
    assert (
        "x is said to be up, but the body stands along z"
        in retarget(short, ik.human(), up="x").notes
    )
    assert retarget(short, ik.human(), up="z").notes == ()


def test_missing_frames_are_refused(walk: Motion):
    q = walk.q.copy()
    q[3] = np.nan
    with pytest.raises(ik.UsageError, match="all have a pose"):
        retarget(Motion(walk.skeleton, q, walk.rate), ik.human())
    with pytest.raises(ik.UsageError, match="no frame"):
        retarget(Motion(walk.skeleton, q[:0], walk.rate), ik.human())


def test_threads_do_not_matter(walk: Motion, by_character: Retargeting):
    again = retarget(walk, make_character(), threads=2)
    assert (again.motion.q == by_character.motion.q).all()
