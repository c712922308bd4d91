"""Contacts, plans of feet, bends of limbs, jumps and mappings, each by itself."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import exactik as ik
from exactik.anatomy import find_body_up
from exactik.errors import ModelError
from exactik.model.motion import Motion, Segment
from exactik.retargeting import (
    MAX_EXTENSION,
    ContactOptions,
    bend_at_least,
    find_contacts,
    find_ground_level,
    find_jump_frames,
    find_limb_jumps,
    find_restarts,
    limit_extension,
    load_mapping,
    lower_hips,
    make_target_figure,
    measure_trunk_steps,
    plan_foot,
    prepare_source,
    prepare_target,
    spread_jumps,
    spread_limb_jumps,
    trim_pivots,
)
from exactik.retargeting.body import Limb
from exactik.spatial import axis_rotation
from tests.support.retargeting_figures import make_robot

# --- contacts


def stand(speed: float, height: float, leg: float = 0.8) -> np.ndarray:
    """A point at 100 Hz: swings, stands for a second at a speed and a height, in legs; swings."""
    t = np.arange(300) / 100.0
    x = np.where(t < 1.0, 3.0 * t, np.where(t < 2.0, 3.0 + speed * (t - 1.0), 3.0 * t - 3.0))
    z = np.where((t >= 1.0) & (t < 2.0), height, 0.3)
    z[:5], z[-5:] = 0.0, 0.0  # the ground is where it is slow at both ends
    x[:5], x[-5:] = x[4], x[-5]
    return leg * np.stack([x, 0.0 * t, z], axis=1)


def find_long(places: np.ndarray, options: ContactOptions | None = None) -> list[Segment]:
    found = find_contacts(places, 100.0, 0.8, options or ContactOptions(min_duration=0.5))
    return [s for s in found if s.frame_count > 50]


@pytest.mark.parametrize(("speed", "stands"), [(0.2, True), (0.3, False)])
def test_how_slow_a_foot_stands(speed: float, stands: bool):
    assert (len(find_long(stand(speed, 0.0))) == 1) is stands


@pytest.mark.parametrize(("height", "stands"), [(0.04, True), (0.07, False), (0.12, False)])
def test_how_low_a_foot_stands(height: float, stands: bool):
    """Against a ground on which it stood for a long time before."""
    places = np.concatenate([np.zeros((200, 3)), stand(0.0, height)])
    found = [s for s in find_long(places) if s.first > 210]
    assert (len(found) == 1) is stands


def test_a_stance_goes_on_faster_and_higher_than_it_begins():
    places = stand(0.0, 0.0)
    faster, higher = places.copy(), places.copy()
    lift = np.minimum(np.arange(50) / 30.0, 1.0)
    faster[150:200, 0] += 0.8 * 0.4 * np.arange(50) / 100.0
    higher[150:200, 2] += 0.8 * 0.07 * lift
    for kept in (faster, higher):
        assert find_long(kept)[0].last >= 190
    faster[150:200, 0] += 0.8 * 0.2 * np.arange(50) / 100.0
    higher[150:200, 2] += 0.8 * 0.05 * lift
    options = ContactOptions(min_duration=0.3)
    for ended in (faster, higher):
        found = [s for s in find_contacts(ended, 100.0, 0.8, options) if s.first < 110]
        assert all(s.last < 180 for s in found)


@pytest.mark.parametrize(("duration", "count"), [(0.03, 0), (0.1, 1)])
def test_how_short_a_stance_may_be(duration: float, count: int):
    t = np.arange(100) / 100.0
    x = np.where(t < 0.5, 3.0 * t, 1.5 + 3.0 * np.maximum(t - 0.5 - duration - 0.04, 0.0))
    places = np.stack([x, 0 * t, 0 * t], axis=1)
    assert len(find_contacts(places, 100.0, 1.0, ContactOptions())) == count


def test_the_ground_of_a_few_frames():
    """Of which none is near the lowest decile."""
    places = np.zeros((4, 3))
    places[:, 2] = (0.0, 1.0, 2.0, 3.0)
    level = find_ground_level(places, 1.0, 1.0, ContactOptions())
    assert 0.0 <= level <= 1.0


@pytest.mark.parametrize(("angle", "trimmed"), [(0.1, False), (0.4, True)])
def test_a_pivot_on_the_ball_lets_the_heel_go(angle: float, trimmed: bool):
    turn = axis_rotation("z", np.linspace(-angle, angle, 41))
    stances = trim_pivots(
        [Segment(0, 40)], [Segment(0, 40)], turn[:, :, 0], ContactOptions().max_pivot
    )
    assert (stances != [Segment(0, 40)]) is trimmed
    assert stances[0].first <= 20 <= stances[0].last
    # Without its ball on the ground a foot does not pivot on it.
    assert trim_pivots([Segment(3, 30)], [], turn[:, :, 0], 0.15) == [Segment(3, 30)]


@pytest.mark.parametrize(("step", "restarts"), [(0.2, []), (0.4, [6])])
def test_frames_after_a_cut_are_begun_anew(step: float, restarts: list[int]):
    turned = axis_rotation("x", np.where(np.arange(10) < 6, 0.0, step))
    still = np.broadcast_to(np.eye(3), (10, 3, 3))
    assert np.flatnonzero(find_restarts([still, turned])).tolist() == [0, *restarts]


# --- feet, limbs, jumps


def test_a_planned_foot_stands_and_moves_on_smoothly():
    """Ankle 20–50, ball 30–70 of a foot that drifts and turns by 6° meanwhile."""
    t = np.linspace(0.0, 1.0, 100)
    ankle = np.stack([0.05 * t, 0.02 * t, 0.08 + 0.0 * t], axis=1)
    rotations = axis_rotation("z", 0.1 * t)
    point = np.array([0.15, 0.0, -0.05])
    plan = plan_foot(ankle, ankle, rotations, point, [Segment(20, 50)], [Segment(30, 70)], 100.0)
    assert np.ptp(plan.ankle[20:51], axis=0).max() < 1e-12
    assert np.ptp(plan.ball[30:71], axis=0).max() < 1e-12
    length = np.linalg.norm(plan.ball - plan.ankle, axis=1)
    np.testing.assert_allclose(length, np.linalg.norm(point), rtol=1e-12)
    for places in (plan.ankle, plan.ball):
        assert np.linalg.norm(np.diff(places, axis=0), axis=1).max() < 0.004
    np.testing.assert_allclose(plan.ankle[-1], ankle[-1], atol=1e-12)
    assert np.linalg.norm(plan.ankle[80] - ankle[80]) > 1e-4  # 0.1 s after: not faded yet


@pytest.mark.parametrize("flexion", [1.0, -1.0])
def test_limbs_keep_a_bend(flexion: float):
    """A limb that goes through straight to 3° beyond stays bent by 6° and more, its own way."""
    bends = np.radians(np.linspace(-3.0, 60.0, 64))
    lower = np.stack([np.cos(bends), flexion * np.sin(bends), 0.0 * bends], axis=1)
    upper = np.broadcast_to(np.eye(3), (64, 3, 3))
    bent = bend_at_least(upper, lower, flexion)
    angles = np.degrees(np.arcsin(flexion * bent[:, 1]))
    assert 6.0 < angles.min() < 10.0
    assert (np.diff(angles) > -1e-9).all()
    np.testing.assert_allclose(bent[-10:], lower[-10:], atol=1e-12)


def test_limbs_that_are_folded_stay_so():
    bends = np.radians(np.linspace(95.0, 170.0, 16))
    lower = np.stack([np.cos(bends), np.sin(bends), 0.0 * bends], axis=1)
    upper = np.broadcast_to(np.eye(3), (16, 3, 3))
    np.testing.assert_allclose(bend_at_least(upper, lower, 1.0), lower, atol=1e-12)


def test_arms_do_not_reach_their_full_length():
    vectors = np.linspace(0.5, 1.2, 50)[:, None] * np.array([0.0, 0.6, -0.8])
    limited = np.linalg.norm(limit_extension(vectors, 1.0), axis=1)
    assert limited.max() < MAX_EXTENSION
    assert pytest.approx(0.9976, abs=1e-4) == MAX_EXTENSION  # an elbow bent by 8°
    assert limited.max() > 0.99
    assert (np.diff(limited) > 0.0).all()
    np.testing.assert_allclose(limited[:30], np.linalg.norm(vectors[:30], axis=1))


def test_hips_come_down_for_a_foot_that_is_too_far():
    hips = np.zeros((60, 1, 3))
    ankles = np.tile((0.0, 0.0, -0.9), (60, 1, 1))
    ankles[30, 0, 2] = -1.01
    lowered = lower_hips(hips, ankles, 1.0, 60.0)
    assert lowered[30] == pytest.approx(1.01 - MAX_EXTENSION, rel=1e-9)
    assert (lowered >= 0.0).all() and lowered[10] == 0.0 and lowered[34] > 0.0
    assert np.abs(np.diff(lowered)).max() < 0.004
    ankles[30, 0, 2] = -3.0
    assert lower_hips(hips, ankles, 1.0, 60.0).max() == pytest.approx(0.2)


@pytest.mark.parametrize(("speed", "jumps"), [(4.0, 0), (8.0, 1)])
def test_how_fast_a_limb_jumps(speed: float, jumps: int):
    steps = np.zeros(50)
    steps[20] = 2.0 * 0.01 + speed / 100.0
    assert len(find_jump_frames(steps, np.full(50, 0.01), 100.0)) == jumps


@pytest.mark.parametrize(("away", "jumps"), [(-2, 0), (2, 0), (-3, 1), (3, 1)])
def test_a_jump_that_the_source_makes_within_two_frames_is_none(away: int, jumps: int):
    steps, source = np.zeros(50), np.zeros(50)
    steps[20], source[20 + away] = 0.5, 0.4
    assert len(find_jump_frames(steps, source, 100.0)) == jumps


def test_limbs_that_jump_where_the_source_does_not_change_over_in_a_moment():
    human = ik.human()
    still = Motion(human, np.tile(human.neutral(), (40, 1)), 60.0)
    source, _, _ = prepare_source(still, {}, None)
    figure, q = make_target_figure(human, {}, "z"), still.q.copy()
    q[20:, human.plain_q[human.dof_names.index("l_shin.ry")]] = 1.0
    assert find_limb_jumps(source, figure, human.forward(q), "left_leg").tolist() == [19]
    spread = spread_limb_jumps(source, figure, q)
    assert len(find_limb_jumps(source, figure, human.forward(spread), "left_leg")) == 0
    np.testing.assert_array_equal(spread[[0, -1]], q[[0, -1]])


def test_trunks_are_compared_by_the_parts_that_both_have():
    human = ik.human()
    bones = [b for b in human.bones if not b.name.endswith(("head", "neck"))]
    headless = ik.Skeleton.build("headless", bones)
    q = np.tile(human.neutral(), (3, 1))
    q[1:, human.plain_q[human.dof_names.index("head.ry")]] = 0.5
    source, _, _ = prepare_source(Motion(human, q, 60.0), {}, None)
    still = np.tile(headless.neutral(), (3, 1))
    figure = make_target_figure(headless, {}, "z")
    steps = measure_trunk_steps(source, figure, headless.forward(still))
    assert steps is not None and max(steps[0].max(), steps[1].max()) < 1e-6
    figure = make_target_figure(human, {}, "z")
    steps = measure_trunk_steps(source, figure, human.forward(q))
    assert steps is not None and steps[0][0] == pytest.approx(0.5) == steps[1][0]


def test_a_jump_is_spread_over_two_fifths_of_a_second():
    figure = ik.human()
    q = np.tile(figure.neutral(), (100, 1))
    dof = figure.dof_names.index("l_shin.ry")
    q[50:, figure.plain_q[dof]] = 1.5
    limb = Limb(("l_shin",), "pelvis", ("l_shin",))
    spread, near = spread_jumps(figure, q, limb, np.array([49]), 100.0)
    angle = spread[:, figure.plain_q[dof]]
    assert np.abs(np.diff(angle)).max() < 0.08
    assert angle[25] == 0.0 and angle[75] == 1.5
    assert 0.0 < angle[40] < angle[60] < 1.5
    assert near[49] == 1.0 and near[20] == 0.0


@pytest.mark.parametrize(("lean", "up"), [(20.0, "z"), (30.0, None)])
def test_how_upright_a_body_tells_which_axis_is_up(lean: float, up: str | None):
    root, *others = ik.human().bones
    leaning = replace(root, pre=axis_rotation("x", np.radians(lean)))
    figure = ik.Skeleton.build("leaning", [leaning, *others])
    assert find_body_up(Motion(figure, figure.neutral()[None], 30.0)) == up


def test_a_fixed_root_becomes_free_and_no_other():
    robot = make_robot()
    freed, up = prepare_target(robot, {}, None)
    assert (freed.bones[0].joint.kind, up) == ("free", "z")
    assert prepare_target(ik.human(), {}, None)[0] == ik.human()
    hinge = replace(robot.bones[0], joint=ik.Joint.revolute("z"))
    with pytest.raises(ModelError, match="moves, but not freely"):
        prepare_target(robot.with_bones([hinge, *robot.bones[1:]]), {}, None)
    with pytest.raises(ModelError, match="several roots"):
        prepare_target(robot.with_bones([*robot.bones, ik.Bone("ball")]), {}, None)


def test_which_axis_is_up_for_legs_alone():
    """Of a body that has no arms, from its legs; of one without legs nothing is known."""
    bones = [b for b in ik.human().bones if b.name.endswith(("pelvis", "thigh", "shin", "foot"))]
    legs = ik.Skeleton.build("legs", bones)
    trunk = ik.Skeleton.build("trunk", ik.human().bones[:4])
    for skeleton, up in ((legs, "z"), (trunk, None)):
        assert find_body_up(Motion(skeleton, skeleton.neutral()[None], 30.0)) == up


def test_which_axis_is_up_where_the_rest_pose_is_no_figure():
    """Legs that point up at rest; of 81 frames it lies in every twentieth."""
    turn = axis_rotation("y", np.pi)
    human = ik.human()
    bones = [replace(b, pre=turn) if b.name.endswith("thigh") else b for b in human.bones]
    folded = ik.Skeleton.build("folded", bones)
    q = np.tile(folded.neutral(), (81, 1))
    column = {name: int(folded.plain_q[k]) for k, name in enumerate(folded.dof_names)}
    for side in ("l", "r"):
        q[:, column[f"{side}_thigh.ry"]] = np.pi
    q[::20, column["pelvis.rx"]] = 0.5 * np.pi
    assert find_body_up(Motion(folded, q, 30.0)) == "z"
    assert find_body_up(Motion(folded, q[::20], 30.0)) == "y"


@pytest.mark.parametrize("text", ["[]", "{", '{"left_hand": "a"}', '{"left_hand": ["a", 3]}'])
def test_mappings_that_are_none(tmp_path: Path, text: str):
    path = tmp_path / "map.json"
    path.write_text(text)
    with pytest.raises(ik.FileError, match=r"map\.json"):
        load_mapping(path)
