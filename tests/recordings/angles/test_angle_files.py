"""Joint angles in CSV and MOT: what is first, what is asked for, what can be read again."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import exactik as ik
from exactik.errors import FileError, UsageError
from exactik.io import load_motion
from exactik.model import Bone, Joint, Skeleton
from exactik.model.motion import Motion
from exactik.recordings.angles import compute_joint_angles
from exactik.recordings.pipeline import write_motion

HUMAN = ik.human()


@pytest.fixture(scope="module")
def motion() -> Motion:
    rng = np.random.default_rng(0)
    lower = np.where(np.isfinite(HUMAN.lower), HUMAN.lower, -3.0)
    upper = np.where(np.isfinite(HUMAN.upper), HUMAN.upper, 3.0)
    ends = rng.uniform(lower, upper, (2, HUMAN.nv))
    q = ends[0] + np.linspace(0.0, 1.0, 9)[:, None] * (ends[1] - ends[0])
    q[4] = np.nan
    return Motion(HUMAN, q, 50.0, first_frame=7)


def read_csv(path: Path) -> dict[str, np.ndarray]:
    with open(path, newline="", encoding="utf-8") as file:
        head, *rows = csv.reader(file)
    values = np.array([[float(cell or "nan") for cell in row] for row in rows])
    return {name: values[:, k] for k, name in enumerate(head)}


def test_joint_angles_come_first_in_a_csv_and_coordinates_after_them(motion: Motion, tmp_path):
    motion.save(tmp_path / "x.csv")
    columns = read_csv(tmp_path / "x.csv")
    angles = compute_joint_angles(motion)
    names = list(columns)
    assert names[:2] == ["frame", "time [s]"] and columns["frame"][0] == 7
    assert names[2 : 2 + len(angles.names)] == [f"{name} [deg]" for name in angles.names]
    assert names[2 + len(angles.names)] == "pelvis.tx [m]"
    np.testing.assert_allclose(
        columns["knee_flexion_r [deg]"], np.degrees(angles.angle("knee_flexion_r"))
    )
    np.testing.assert_allclose(
        columns["r_shin.ry [rad]"], motion.q[:, HUMAN.dof_names.index("r_shin.ry")]
    )


def test_either_kind_can_be_had_alone(motion: Motion, tmp_path):
    motion.save(tmp_path / "a.csv", angles="clinical")
    motion.save(tmp_path / "b.csv", angles="joints")
    clinical, joints = read_csv(tmp_path / "a.csv"), read_csv(tmp_path / "b.csv")
    assert len(clinical) == 2 + len(compute_joint_angles(motion).names)
    assert len(joints) == 2 + HUMAN.nq
    with pytest.raises(
        UsageError, match="angles is 'euler'; expected 'clinical', 'joints' or 'both'"
    ):
        motion.save(tmp_path / "c.csv", angles="euler")


@pytest.mark.parametrize("in_degrees", [True, False])
def test_a_mot_has_both_and_is_read_again_without_a_word(motion: Motion, tmp_path, in_degrees):
    path = tmp_path / "x.mot"
    motion.save(path, in_degrees=in_degrees)
    new = load_motion(path, HUMAN)
    np.testing.assert_allclose(new.q, motion.q, atol=1e-9)
    assert new.notes == ()
    lines = path.read_text(encoding="utf-8").splitlines()
    names, first = lines[6].split("\t"), [float(x) for x in lines[7].split("\t")]
    assert names[1] == "pelvis_rotation" and "r_shin.ry" in names
    angle = compute_joint_angles(motion).angle("hip_flexion_l")[0]
    expected = np.degrees(angle) if in_degrees else angle
    assert first[names.index("hip_flexion_l")] == pytest.approx(expected)


def test_a_mot_of_joint_angles_alone_may_turn_by_quaternions(tmp_path):
    bones = [Bone("hips", joint=Joint.free("ZXY"))]
    for side, y in (("left", 0.1), ("right", -0.1)):
        for name, parent, offset in (
            (f"{side}_thigh", "hips", (0, y, 0)),
            (f"{side}_shin", f"{side}_thigh", (0, 0, -0.4)),
        ):
            bones.append(Bone(name, parent=parent, offset=offset, joint=Joint.quaternion()))
    skeleton = Skeleton.build("legs", bones)
    still = Motion(skeleton, skeleton.neutral()[None], 10.0)
    with pytest.raises(FileError, match="turns by a quaternion"):
        still.save(tmp_path / "x.mot")
    still.save(tmp_path / "x.mot", angles="clinical")
    assert "knee_rotation_l" in (tmp_path / "x.mot").read_text(encoding="utf-8")


def test_a_figure_that_is_no_body_is_written_as_before(tmp_path):
    arm = Skeleton.build("arm", [Bone("a", joint=Joint.revolute("x")), Bone("b", parent="a")])
    bend = Motion(arm, np.array([[0.5]]), 10.0)
    bend.save(tmp_path / "x.csv")
    assert list(read_csv(tmp_path / "x.csv")) == ["frame", "time [s]", "a.rx [rad]"]
    with pytest.raises(UsageError, match="no body is known in the skeleton 'arm'"):
        bend.save(tmp_path / "y.csv", angles="clinical")
    assert not (tmp_path / "y.csv").exists()


def test_rotations_are_written_as_quaternions_that_do_not_change_sign(motion: Motion, tmp_path):
    motion.save(tmp_path / "x.csv", angles="joints", rotations="wxyz")
    columns = read_csv(tmp_path / "x.csv")
    assert "pelvis.tx [m]" in columns and "r_thigh.ry [rad]" not in columns
    wxyz = np.stack([columns[f"r_thigh.{c}"] for c in "wxyz"], axis=1)
    first = HUMAN.dof_names.index("r_thigh.ry")
    there = np.isfinite(motion.q[:, 0])
    expected = Rotation.from_euler("YXZ", motion.q[there, first : first + 3])
    off = expected.inv() * Rotation.from_quat(wxyz[there], scalar_first=True)
    assert off.magnitude().max() < 1e-9
    assert np.isnan(wxyz[4]).all()
    steps = np.sum(wxyz[there][1:] * wxyz[there][:-1], axis=1)
    assert (steps > 0.0).all()


def test_rotations_are_written_as_swing_and_twist_about_the_long_axis(motion: Motion, tmp_path):
    motion.save(tmp_path / "x.csv", angles="joints", rotations="swing-twist")
    columns = read_csv(tmp_path / "x.csv")
    swing = np.stack([columns[f"r_thigh.swing_{c} [rad]"] for c in "xyz"], axis=1)
    twist = columns["r_thigh.twist [rad]"]
    there = np.isfinite(twist)
    axis = np.array([0.0, 0.0, -1.0])  # from hip to knee
    assert np.abs(swing[there] @ axis).max() < 1e-9
    first = HUMAN.dof_names.index("r_thigh.ry")
    expected = Rotation.from_euler("YXZ", motion.q[there, first : first + 3])
    both = Rotation.from_rotvec(swing[there]) * Rotation.from_rotvec(twist[there, None] * axis)
    assert (expected.inv() * both).magnitude().max() < 1e-9
    with pytest.raises(UsageError, match="rotations is 'euler'"):
        motion.save(tmp_path / "y.csv", rotations="euler")


def test_angles_with_their_deviations_are_saved(motion: Motion, tmp_path):
    angles = compute_joint_angles(motion)
    sd = np.full(angles.values.shape, np.radians(2.0))
    angles.with_sd(sd).save(tmp_path / "angles.csv")
    columns = read_csv(tmp_path / "angles.csv")
    assert columns["sd hip_flexion_r [deg]"] == pytest.approx(2.0)
    assert angles.with_sd(sd).table()["sd_hip_flexion_r"] == pytest.approx(2.0)
    with pytest.raises(UsageError, match="csv"):
        angles.save(tmp_path / "angles.xlsx")


def test_the_command_writes_joint_angles_alone_to_csv_and_both_to_mot(motion: Motion, tmp_path):
    write_motion(motion, tmp_path / "x.csv")
    assert "r_shin.ry [rad]" not in read_csv(tmp_path / "x.csv")
    write_motion(motion, tmp_path / "x.csv", angles="both")
    assert {"r_shin.ry [rad]", "knee_flexion_r [deg]"} <= set(read_csv(tmp_path / "x.csv"))
    write_motion(motion, tmp_path / "x.csv", rotations="wxyz")
    assert {"r_shin.w", "knee_flexion_r [deg]"} <= set(read_csv(tmp_path / "x.csv"))
    write_motion(motion, tmp_path / "x.mot")
    np.testing.assert_allclose(load_motion(tmp_path / "x.mot", HUMAN).q, motion.q, atol=1e-9)
