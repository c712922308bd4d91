"""Mirrored poses and keys, the library of poses, locks over time."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import exactik as ik
from exactik.errors import UnknownNameError
from exactik.spatial import axis_rotation, log_rotation
from exactik.studio.viewer import Keyframes, Mirror, PosingSession
from exactik.studio.viewer.keyframes import PlayClock
from exactik.studio.viewer.posing.panel import (
    TO_LAST,
    TO_NEXT,
    choose_keys,
    describe_timeline,
    find_lock_span,
    read_time,
)
from exactik.studio.viewer.posing.panel._timeline import ALL, NEIGHBOURS, NONE
from exactik.typing import Array


def random_pose(figure: ik.Skeleton, seed: int) -> Array:
    rng = np.random.default_rng(seed)
    low = np.where(np.isfinite(figure.lower), figure.lower, -2.5)
    high = np.where(np.isfinite(figure.upper), figure.upper, 2.5)
    return figure.integrate(figure.neutral(), rng.uniform(low, high))


# --- mirror


@pytest.mark.parametrize("make", [ik.human, ik.quadruped, ik.octopus])
@pytest.mark.parametrize("in_place", [False, True])
def test_a_symmetric_figure_is_mirrored_exactly(make, in_place: bool):
    figure = make()
    mirror, q = Mirror(figure), random_pose(figure, 4)
    mirrored = mirror.pose(q, in_place=in_place)
    np.testing.assert_array_equal(figure.clip(mirrored), mirrored)
    before, after = figure.forward(q), figure.forward(mirrored)
    again = figure.forward(mirror.pose(mirrored, in_place=in_place))
    np.testing.assert_allclose(again.positions, before.positions, atol=1e-12)
    np.testing.assert_allclose(again.rotations, before.rotations, atol=1e-12)
    if in_place:
        np.testing.assert_allclose(after.positions[0], before.positions[0], atol=1e-12)
    else:
        np.testing.assert_allclose(
            after.positions[mirror.partners], before.positions * (1.0, -1.0, 1.0), atol=1e-12
        )


def test_a_turned_figure_mirrored_in_place_keeps_its_heading():
    figure = ik.human()
    q = figure.neutral()
    q[figure.dof_names.index("pelvis.rz")] = 1.2
    q[figure.dof_names.index("l_upper_arm.rx")] += 0.4
    mirrored = Mirror(figure).pose(q, in_place=True)
    assert mirrored[figure.dof_names.index("pelvis.rz")] == pytest.approx(1.2, abs=1e-12)
    moved = np.abs(mirrored - figure.neutral()) > 1e-9
    arms = {name for name, at in zip(figure.dof_names, moved, strict=True) if at}
    assert arms == {"pelvis.rz", "r_upper_arm.rx"}


def test_an_arm_has_no_two_sides():
    bones = [ik.Bone("a", joint=ik.Joint.revolute("y"))]
    bones.append(ik.Bone("b", parent="a", offset=(0.3, 0.1, 1.0), joint=ik.Joint.revolute("y")))
    with pytest.raises(ik.UsageError, match="no bones on two sides"):
        Mirror(ik.Skeleton.build("arm", bones))


def test_where_limits_differ_the_mirrored_pose_is_as_near_as_they_allow():
    def side(name: str, y: float, most: float) -> ik.Bone:
        joint = ik.Joint.revolute("x", limits=(-most, most))
        return ik.Bone(name, parent="body", offset=(0, y, 0), joint=joint)

    body = ik.Bone("body", joint=ik.Joint.revolute("z", limits=(-1, 1)))
    figure = ik.Skeleton.build("wings", [body, side("l_wing", 1, 2.0), side("r_wing", -1, 0.5)])
    q = np.array([0.3, 1.5, 0.2])
    assert Mirror(figure).pose(q) == pytest.approx([-0.3, -0.2, -0.5], abs=1e-6)


def make_odd_figure(longer: float = 0.0) -> ik.Skeleton:
    """A trunk with two arms: the left one is held out at rest, the right one hangs.

    The frames of the two differ as well, and the bones of the right arm have each other's numbers.
    """
    joint = ik.Joint.quaternion()
    quarter = axis_rotation("x", np.pi / 2)
    bones = [
        ik.Bone("trunk", joint=ik.Joint.free()),
        ik.Bone("arm_L_1", parent="trunk", offset=(0.1, 0.2, 0.5), joint=joint),
        ik.Bone("arm_L_2", parent="arm_L_1", offset=(0.0, 0.3, 0.0), joint=joint),
        ik.Bone("arm_L_3", parent="arm_L_2", offset=(0.0, 0.25, 0.0), joint=joint),
        ik.Bone("arm_R_1", parent="trunk", offset=(0.1, -0.2, 0.5), pre=quarter, joint=joint),
        ik.Bone("arm_R_3", parent="arm_R_1", offset=(0.0, -0.3, 0.0), joint=joint),
        ik.Bone("arm_R_2", parent="arm_R_3", offset=(0.0, -0.25 - longer, 0.0), joint=joint),
    ]
    return ik.Skeleton.build("odd", bones)


def test_a_figure_that_does_not_rest_symmetrically_is_mirrored_in_the_world():
    figure = make_odd_figure()
    mirror = Mirror(figure)
    names = [figure.bone_names[j] for j in mirror.partners]
    assert names[1:] == ["arm_R_1", "arm_R_3", "arm_R_2", "arm_L_1", "arm_L_2", "arm_L_3"]
    assert mirror.asymmetry < 1e-12
    rest = figure.forward(figure.neutral())
    assert rest.point("arm_L_3")[2] == pytest.approx(0.5)
    assert rest.point("arm_R_2")[2] == pytest.approx(-0.05)
    for q in (figure.neutral(), random_pose(figure, 3)):
        before, after = figure.forward(q), figure.forward(mirror.pose(q))
        np.testing.assert_allclose(
            after.positions[mirror.partners], before.positions * (1.0, -1.0, 1.0), atol=1e-9
        )
        again = figure.forward(mirror.pose(mirror.pose(q)))
        np.testing.assert_allclose(again.rotations, before.rotations, atol=1e-9)


def test_mirrored_in_place_twice_a_figure_with_one_hip_higher_heads_where_it_did():
    human = ik.human()
    x, y, z = human.bones[human.bone_index("l_thigh")].offset
    figure = human.with_bones(
        [
            replace(bone, offset=(x, y, z + 0.03)) if bone.name == "l_thigh" else bone
            for bone in human.bones
        ]
    )
    mirror, q = Mirror(figure), figure.neutral()
    q[figure.dof_names.index("l_upper_arm.rx")] += 0.4
    before = figure.forward(q)
    again = figure.forward(mirror.pose(mirror.pose(q, in_place=True), in_place=True))
    np.testing.assert_allclose(again.positions, before.positions, atol=1e-9)


def test_sides_of_different_lengths_are_not_mirrored():
    assert Mirror(make_odd_figure(0.04)).asymmetry == pytest.approx(0.04, abs=1e-6)
    with pytest.raises(ik.UsageError, match=r"differ in length by 0\.2 m, see arm_L_3 and arm_R_2"):
        Mirror(make_odd_figure(0.2))


def test_a_key_is_mirrored_with_what_it_pins():
    session = PosingSession(ik.human())
    session.pin("l_foot", False)
    keys = Keyframes(session.skeleton)
    session.drag("l_hand", (0.4, 0.4, 1.4))
    session.settle()
    session.release()
    keys.add_from(session, 1.0)
    assert list(keys.keys[0].holds) == ["r_foot"]
    right = session.skeleton.forward(keys.keys[0].q).point("l_hand") * (1, -1, 1)
    key = keys.mirror(1.0)
    np.testing.assert_allclose(session.skeleton.forward(key.q).point("r_hand"), right, atol=1e-12)
    assert list(key.holds) == ["l_foot"]
    pin = key.holds["l_foot"]
    np.testing.assert_allclose(
        session.skeleton.forward(key.q).point(pin.bone, pin.point), pin.position
    )
    assert keys.undo()
    assert list(keys.keys[0].holds) == ["r_foot"]


# --- library and file


def test_poses_are_kept_applied_deleted_and_written(tmp_path: Path):
    figure = ik.hand()
    keys, q = Keyframes(figure), random_pose(ik.hand(), 2)
    keys.save_pose(" fist ", q)
    keys.save_pose("flat", figure.neutral())
    assert list(keys.poses) == ["fist", "flat"]
    with pytest.raises(ik.UsageError, match="needs a name"):
        keys.save_pose("  ", q)
    keys.add(0.0, q)
    keys.add(1.0, figure.neutral())
    keys.lock("index_3", 0.0, 1.0, oriented=False)
    keys.save(tmp_path / "project.json")
    again = Keyframes.load(tmp_path / "project.json", figure)
    np.testing.assert_array_equal(again.poses["fist"], keys.poses["fist"])
    assert again.locks == keys.locks
    keys.delete_pose("fist")
    assert list(keys.poses) == ["flat"]
    with pytest.raises(UnknownNameError, match="fist"):
        keys.delete_pose("fist")
    keys.undo()
    np.testing.assert_array_equal(keys.poses["fist"], again.poses["fist"])
    # Files of the first version had keys alone.
    document = json.loads((tmp_path / "project.json").read_text(encoding="utf-8"))
    old = {k: v for k, v in document.items() if k not in ("poses", "locks")} | {"version": 1}
    (tmp_path / "old.json").write_text(json.dumps(old), encoding="utf-8")
    assert len(Keyframes.load(tmp_path / "old.json", figure)) == 2
    for broken in (
        {"poses": {"fist": [1.0]}},
        {"locks": [{"bone": "index_3"}]},
        {"locks": [{**document["locks"][0], "last": -1.0}]},
        {"locks": [{**document["locks"][0], "bone": "nose"}]},
        {"poses": 3},
    ):
        (tmp_path / "bad.json").write_text(json.dumps({**document, **broken}), encoding="utf-8")
        with pytest.raises(ik.ExactikError):
            Keyframes.load(tmp_path / "bad.json", figure)


# --- locks


def stepping() -> Keyframes:
    """A human that sways and turns over four keys, with nothing pinned."""
    figure = ik.human()
    keys = Keyframes(figure)
    for k in range(4):
        q = figure.neutral()
        q[figure.dof_names.index("pelvis.tx")] += 0.05 * k
        q[figure.dof_names.index("pelvis.tz")] -= 0.08 * (k % 2) + 0.05
        q[figure.dof_names.index("pelvis.rz")] = 0.1 * k
        q[figure.dof_names.index("r_upper_arm.rx")] += 0.2 * k
        keys.add(0.5 * k, q)
    return keys


@pytest.mark.parametrize("bone", ["l_foot", "r_hand"])
def test_a_locked_bone_does_not_slide(bone: str):
    keys = stepping()
    figure, k = keys.skeleton, keys.skeleton.bone_index(bone)
    loose = keys.bake(30.0).forward().positions[:, k]
    assert np.linalg.norm(loose[15:46] - loose[15], axis=1).max() > 0.05
    keys.lock(bone, 0.5, 1.5)
    motion = keys.bake(30.0)
    pose = motion.forward()
    held = slice(15, 46)
    slide = np.linalg.norm(pose.positions[held, k] - pose.positions[15, k], axis=1)
    assert slide.max() < 1e-5  # a tenth of a tenth of a millimetre
    turn = log_rotation(pose.rotations[held, k] @ pose.rotations[15, k].T)
    assert np.linalg.norm(turn, axis=1).max() < 1e-3
    np.testing.assert_array_equal(figure.clip(motion.q), motion.q)
    # Where the lock begins the pose is the key's, and nothing jumps where it begins or ends.
    np.testing.assert_array_equal(motion.q[15], keys.keys[1].q)
    steps = np.abs(np.diff(motion.q, axis=0)).max(axis=1)
    assert steps.max() < 0.12
    np.testing.assert_array_equal(keys.keys[2].q, stepping().keys[2].q)  # keys stay as they were


def test_locks_move_with_their_keys_and_are_undone():
    keys = stepping()
    keys.lock("l_foot", 0.5, 1.5)
    keys.move(1.5, 2.0)
    assert (keys.locks[0].first, keys.locks[0].last) == (0.5, 2.0)
    keys.lock("l_foot", 0.0, 1.0)  # in place of the one that it overlaps
    assert [(lock.first, lock.last) for lock in keys.locks] == [(0.0, 1.0)]
    keys.undo()
    assert [(lock.first, lock.last) for lock in keys.locks] == [(0.5, 2.0)]
    keys.move(2.0, 0.5)  # the lock has no length any more
    assert keys.locks == ()
    keys.undo()
    assert keys.unlock("l_foot", 1.0)
    assert not keys.unlock("l_foot", 1.0)
    with pytest.raises(ik.UsageError, match=r"no key at 0\.7"):
        keys.lock("l_foot", 0.5, 0.7)
    with pytest.raises(ik.UsageError, match="ends after it begins"):
        keys.lock("l_foot", 1.0, 0.5)


def test_a_lock_whose_keys_are_gone_holds_between_those_that_are_left():
    keys = stepping()
    keys.lock("l_foot", 0.0, 1.5)
    keys.delete(1.5)
    place = keys.bake(30.0).forward().point("l_foot")
    assert np.linalg.norm(place - place[0], axis=1).max() < 1e-5
    keys.delete(0.0)
    keys.delete(1.0)
    np.testing.assert_array_equal(keys.tween(0.2)[0], keys.keys[0].q)


# --- the timeline


def test_the_clock_loops_or_stops_at_the_end():
    clock = PlayClock()
    clock.play(0.5, 2.0)
    assert clock.time == 0.5
    assert clock.advance(1.0, 0.5, 2.0) == 1.5
    assert clock.advance(0.75, 0.5, 2.0) == 0.75  # a loop
    clock.loop = False
    assert clock.advance(3.0, 0.5, 2.0) == 2.0
    assert not clock.playing
    assert clock.advance(1.0, 0.5, 2.0) == 2.0
    clock.play(0.5, 2.0)  # from the beginning
    assert clock.time == 0.5
    clock.play(1.0, 1.0)
    assert not clock.playing


def test_onion_skins_are_the_keys_next_to_the_playhead():
    keys = stepping().keys

    def shown(time: float, choice: str) -> list[tuple[float, bool]]:
        return [(key.time, before) for key, before in choose_keys(keys, time, choice)]

    assert shown(0.7, NEIGHBOURS) == [(0.5, True), (1.0, False)]
    assert shown(0.5, NEIGHBOURS) == [(0.0, True), (1.0, False)]  # the key itself is the pose
    assert shown(9.0, NEIGHBOURS) == [(1.5, True)]
    assert len(shown(0.7, ALL)) == 4
    assert shown(0.7, NONE) == []
    assert choose_keys(keys * 8, 0.7, ALL) == []  # 32 would hide each other


def test_a_lock_goes_from_the_key_before_the_playhead():
    times = [0.0, 0.5, 1.0]
    assert find_lock_span(times, 0.5, TO_NEXT) == (0.5, 1.0)
    assert find_lock_span(times, 0.2, TO_LAST) == (0.0, 1.0)
    for now in (1.0, 3.0):
        with pytest.raises(ik.UsageError, match="between two keys"):
            find_lock_span(times, now, TO_NEXT)


def test_the_timeline_is_described_and_its_events_are_checked():
    keys, clock = stepping(), PlayClock()
    keys.lock("l_foot", 0.5, 1.5)
    clock.time = 0.25
    told = json.loads(json.dumps(describe_timeline(keys, clock)))
    assert told["keys"] == [0.0, 0.5, 1.0, 1.5]
    assert told["locks"] == [{"bone": "l_foot", "first": 0.5, "last": 1.5}]
    assert (told["now"], told["playing"], told["loop"]) == (0.25, False, True)
    assert read_time({"time": 86400.0}, "time") == 86400.0  # a day is a time, a week is none
    for nonsense in (-1.0, float("nan"), 6e5, "soon", None):
        with pytest.raises((ValueError, TypeError)):
            read_time({"time": nonsense}, "time")
