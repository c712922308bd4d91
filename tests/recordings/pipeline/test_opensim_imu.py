"""Inertial sensors on a leg whose motion is known."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import exactik as ik
from exactik.errors import FileError
from exactik.io import load_opensim_model, load_orientations
from exactik.recordings.pipeline import solve_imu_setup, write_imu_results
from exactik.spatial import axis_rotation, wxyz_from_matrix
from tests.support.opensim_files import make_leg

SENSOR = (
    '<components><PhysicalOffsetFrame name="thigh_imu"><socket_parent>..</socket_parent>'
    "<translation>0 -0.2 0</translation><orientation>0.3 -0.2 1.1</orientation>"
    "</PhysicalOffsetFrame></components>"
)
SETUP = (
    '<OpenSimDocument Version="40000"><IMUInverseKinematicsTool name="imu">'
    "<model_file>leg.osim</model_file><orientations_file>sensors.sto</orientations_file>"
    "<sensor_to_opensim_rotations>-1.5707963267948966 0 0</sensor_to_opensim_rotations>"
    "<output_motion_file>imu.mot</output_motion_file></IMUInverseKinematicsTool></OpenSimDocument>"
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A leg with sensors, and what they say in a world whose z is up."""
    text = make_leg().replace('<Body name="thigh">', f'<Body name="thigh">{SENSOR}')
    (tmp_path / "leg.osim").write_text(text)
    (tmp_path / "setup.xml").write_text(SETUP)
    skeleton = ik.load_skeleton(tmp_path / "leg.osim")
    pose = skeleton.forward(make_truth(skeleton))
    R_thigh_sensor = load_opensim_model(tmp_path / "leg.osim").frames["thigh_imu"].rotation
    to_sensors = axis_rotation("x", np.pi / 2.0)
    columns = {
        name: to_sensors @ pose.rotations[:, skeleton.bone_index(name)]
        for name in ("pelvis", "shank", "foot")
    }
    columns["thigh_imu"] = (
        to_sensors @ pose.rotations[:, skeleton.bone_index("thigh")] @ R_thigh_sensor
    )
    cells = {name: wxyz_from_matrix(R) for name, R in columns.items()}
    rows = [
        "\t".join([f"{0.02 * t}", *(",".join(map(repr, c[t].tolist())) for c in cells.values())])
        for t in range(len(pose.positions))
    ]
    header = "DataRate=50\nDataType=Quaternion\nversion=3\nOpenSimVersion=4.5\nendheader"
    names = "\t".join(["time", *cells])
    (tmp_path / "sensors.sto").write_text("\n".join([header, names, *rows, ""]))
    return tmp_path


def make_truth(skeleton: ik.Skeleton) -> np.ndarray:
    """A motion in place."""
    phase = np.linspace(0.0, 1.0, 9)[:, None] + np.arange(skeleton.nq)
    q = skeleton.clip(-0.3 + 0.3 * np.sin(2.0 * phase))
    q[:, ~skeleton.turns] = 0.0
    return q


def test_a_known_motion_is_found(folder: Path) -> None:
    solved = solve_imu_setup(folder / "setup.xml")
    assert np.abs(solved.motion.q - make_truth(solved.motion.skeleton)).max() < 1e-6
    assert solved.errors.max() < 1e-6
    assert [Path(path).name for path, _ in write_imu_results(solved)] == [
        "imu.mot",
        "imu_orientationErrors.sto",
    ]
    again = ik.load_motion(folder / "imu.mot", solved.motion.skeleton)
    assert np.abs(again.q - solved.motion.q).max() < 1e-9


def test_a_sensor_that_is_missing_does_not_count(folder: Path) -> None:
    text = (folder / "sensors.sto").read_text().split("\n")
    cells = text[8].split("\t")
    cells[3] = "nan,nan,nan,nan"
    text[8] = "\t".join(cells)
    (folder / "sensors.sto").write_text("\n".join(text))
    assert np.isnan(load_orientations(folder / "sensors.sto").rotations).any()
    solved = solve_imu_setup(folder / "setup.xml")
    assert np.isfinite(solved.motion.q).all()
    assert np.isnan(solved.errors).sum() == 1


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("sensors.sto", "gone.sto", "'gone.sto' does not exist"),
        ("<output", "<time_range>5 6</time_range><output", "no row of sensors.sto is in it"),
    ],
)
def test_faults_of_set_up_files(folder: Path, old: str, new: str, expected: str) -> None:
    path = folder / "setup.xml"
    path.write_text(SETUP.replace(old, new))
    with pytest.raises(FileError, match=expected):
        solve_imu_setup(path)


def test_faults_of_tables_have_their_line(folder: Path) -> None:
    path = folder / "sensors.sto"
    path.write_text(path.read_text().replace("0.02\t", "0.02\t1,2,"))
    with pytest.raises(FileError, match="line 8: expected a quaternion w,x,y,z"):
        load_orientations(path)
