"""Key frames: interpolation, constraints between keys, and files."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import exactik as ik
from exactik.spatial import log_rotation
from exactik.studio.viewer import Keyframes, PosingSession
from exactik.studio.viewer.keyframes import PoseInterpolator
from exactik.typing import Array


def crouching() -> tuple[PosingSession, Keyframes]:
    """A human that stands, crouches with an arm raised, and stands again, on planted feet."""
    session = PosingSession(ik.human())
    keys = Keyframes(session.skeleton)
    keys.add_from(session, 0.0)
    session.drag("pelvis", session.handles["pelvis"].position + np.array([0.05, 0.05, -0.3]))
    session.drag("r_hand", (0.4, -0.3, 1.5))
    session.settle()
    session.release()
    keys.add_from(session, 1.0)
    session.drag("l_hand", (0.3, 0.4, 1.0))
    session.settle()
    session.release()
    keys.add_from(session, 1.5)
    return session, keys


def random_pose(figure: ik.Skeleton, seed: int) -> Array:
    rng = np.random.default_rng(seed)
    low = np.where(np.isfinite(figure.lower), figure.lower, -2.5)
    high = np.where(np.isfinite(figure.upper), figure.upper, 2.5)
    return figure.integrate(figure.neutral(), rng.uniform(low, high))


# --- the way


@pytest.mark.parametrize("make", [ik.human, ik.quadruped, ik.hand, ik.octopus])
def test_the_difference_leads_from_one_pose_to_the_other(make):
    figure = make()
    interpolator, a, b = PoseInterpolator(figure), random_pose(figure, 0), random_pose(figure, 1)
    end = figure.forward(interpolator.integrate(a, interpolator.difference(b, a)))
    np.testing.assert_allclose(end.positions, figure.forward(b).positions, atol=1e-9)
    np.testing.assert_allclose(end.rotations, figure.forward(b).rotations, atol=1e-9)


@pytest.mark.parametrize("rotation", ["ZXY", "exp_map", "quaternion", "ZYZ"])
def test_a_free_body_turns_along_the_shortest_arc(rotation: str):
    body = ik.Skeleton.build("body", [ik.Bone("body", joint=ik.Joint.free(rotation))])
    a, b = random_pose(body, 2), random_pose(body, 3)
    times, at = np.array([0.0, 1.0]), np.linspace(0, 1, 21)
    poses = PoseInterpolator(body).interpolate(times, np.array([a, b]), at, smooth=False)
    R = body.forward(poses).rotations[:, 0]
    steps = np.linalg.norm(log_rotation(R[1:] @ np.swapaxes(R[:-1], 1, 2)), axis=1)
    whole = np.linalg.norm(log_rotation(R[-1] @ R[0].T))
    np.testing.assert_allclose(steps, whole / 20, atol=1e-9)


def test_a_wheel_goes_the_shorter_way_round_and_a_limited_hinge_does_not():
    wheel = ik.Skeleton.build("wheel", [ik.Bone("w", joint=ik.Joint.revolute("z"))])
    hinge = ik.Skeleton.build("hinge", [ik.Bone("w", joint=ik.Joint.revolute("z", (-4, 4)))])
    ends = np.array([[-3.0], [3.0]])
    for figure, middle in ((wheel, -np.pi), (hinge, 0.0)):
        pose = PoseInterpolator(figure).interpolate(
            np.array([0.0, 1.0]), ends, np.array([0.5]), smooth=False
        )
        assert pose[0, 0] == pytest.approx(middle)


@pytest.mark.parametrize("smooth", [True, False])
def test_poses_between_keys_keep_the_limits_and_keys_are_met_exactly(smooth: bool):
    figure = ik.human()
    keys = Keyframes(figure, smooth=smooth)
    for k in range(6):
        keys.add(0.3 * k, random_pose(figure, k))
    motion = keys.bake(100.0)
    assert len(motion) == 151
    np.testing.assert_array_equal(figure.clip(motion.q), motion.q)
    for k in range(6):
        np.testing.assert_array_equal(motion.q[30 * k], keys.keys[k].q)
    speed = np.abs(np.diff(motion.q[:, 6:], axis=0)).max() * 100
    assert speed < 2.0 * np.abs(np.diff([key.q[6:] for key in keys.keys], axis=0)).max() / 0.3


def test_smooth_motion_has_no_corners():
    figure = ik.human()
    keys = Keyframes(figure)
    for k, angle in enumerate((0.0, 0.4, 0.9, 1.0)):
        q = figure.neutral()
        q[figure.dof_names.index("l_shin.ry")] = angle
        keys.add(k * 0.5, q)
    curve = keys.bake(200.0).q[:, figure.dof_names.index("l_shin.ry")]
    bend = np.abs(np.diff(curve, 2)) * 200**2
    assert bend.max() < 12.0  # a corner would be some hundred rad/s²
    assert (np.diff(curve) >= -1e-12).all()


# --- what is held


def test_planted_feet_stay_within_a_millimetre():
    session, keys = crouching()
    motion = keys.bake(60.0)
    pose = motion.forward()
    assert np.ptp(pose.point("pelvis")[:, 2]) > 0.1
    for foot in ("l_foot", "r_foot"):
        slide = np.linalg.norm(pose.point(foot) - pose.point(foot)[0], axis=1)
        assert slide.max() < 1e-3
        k = session.skeleton.bone_index(foot)
        turn = log_rotation(pose.rotations[:, k] @ pose.rotations[0, k].T)
        assert np.linalg.norm(turn, axis=1).max() < 0.01
    bare = Keyframes(session.skeleton)
    for key in keys.keys:
        bare.add(key.time, key.q)
    loose = bare.bake(60.0).forward().point("l_foot")
    assert np.linalg.norm(loose - loose[0], axis=1).max() > 5e-3  # without holding it slides
    np.testing.assert_array_equal(session.skeleton.clip(motion.q), motion.q)
    assert np.abs(np.diff(motion.q, axis=0)).max() < 0.12


# --- changes


def test_keys_are_added_moved_deleted_and_brought_back():
    figure = ik.hand()
    keys = Keyframes(figure)
    with pytest.raises(ik.UsageError, match="no keys"):
        keys.bake()
    for k in range(3):
        keys.add(float(k), random_pose(figure, k))
    keys.move(2.0, 0.5)
    assert keys.times.tolist() == [0.0, 0.5, 1.0]
    keys.move(0.5, 3.0)
    keys.delete(0.0)
    assert keys.times.tolist() == [1.0, 3.0]
    with pytest.raises(ik.UsageError, match=r"no key at 7 s .*1, 3"):
        keys.delete(7.0)
    assert keys.undo()
    assert keys.times.tolist() == [0.0, 1.0, 3.0]
    while keys.undo():
        pass
    assert len(keys) == 0
    while keys.redo():
        pass
    assert keys.times.tolist() == [1.0, 3.0]
    keys.add(3.0, figure.neutral())
    assert len(keys) == 2
    np.testing.assert_array_equal(keys.tween(10.0)[0], figure.neutral())


# --- files


def test_keys_come_back_from_their_file_to_the_bit(tmp_path: Path):
    _, keys = crouching()
    keys.save(tmp_path / "crouch.json")
    again = Keyframes.load(tmp_path / "crouch.json", keys.skeleton)
    assert again.times.tolist() == keys.times.tolist()
    for a, b in zip(keys.keys, again.keys, strict=True):
        np.testing.assert_array_equal(a.q, b.q)
        assert list(a.holds) == list(b.holds)
        np.testing.assert_array_equal(a.holds["l_foot"].position, b.holds["l_foot"].position)
    np.testing.assert_array_equal(keys.tween(0.7), again.tween(0.7))


@pytest.mark.parametrize("ending", ["npz", "bvh", "amc", "glb"])
def test_the_motion_comes_back_from_files(tmp_path: Path, ending: str):
    _, keys = crouching()
    path = tmp_path / f"crouch.{ending}"
    keys.save(path, rate=30.0)
    options: dict = {"length_unit": "cm"} if ending == "bvh" else {}
    if ending == "amc":
        options = {"skeleton": ik.load_skeleton(tmp_path / "crouch.asf")}
    again = ik.load_motion(path, **options)
    motion = keys.bake(30.0)
    assert len(again) == len(motion)
    mine, theirs = motion.forward(), again.forward()
    for bone in ("l_foot", "r_hand", "head"):
        apart = np.linalg.norm(mine.point(bone)[1:] - mine.point(bone)[:1], axis=1)
        theirs_apart = np.linalg.norm(theirs.point(bone)[1:] - theirs.point(bone)[:1], axis=1)
        np.testing.assert_allclose(theirs_apart, apart, atol=1e-4)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "other"}, "holds no keys"),
        ({"version": 9}, "version 9"),
        ({"dofs": ["a"]}, "the dofs are others"),
        ({"keys": [{"time": 0.0, "q": [1.0]}]}, "finite numbers"),
        ({"keys": [{"time": 0.0}]}, "cannot be read"),
        ({"keys": 3}, "cannot be read"),
    ],
)
def test_other_files_are_refused_with_a_reason(tmp_path: Path, change: dict, message: str):
    path = tmp_path / "keys.json"
    keys = Keyframes(ik.hand())
    keys.add(0.0, ik.hand().neutral())
    keys.save(path)
    path.write_text(json.dumps({**json.loads(path.read_text(encoding="utf-8")), **change}))
    with pytest.raises(ik.FileError, match=message):
        Keyframes.load(path, ik.hand())
    path.write_text("{")
    with pytest.raises(ik.FileError, match="no JSON"):
        Keyframes.load(path, ik.hand())
