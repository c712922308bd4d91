"""Largest speeds of joints: checked, kept, read and written."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

import exactik as ik
from exactik.errors import ExactikError, FileError, UnknownNameError

URDF = """<robot name="r">
<link name="base"/><link name="arm"/><link name="slide"/><link name="finger"/>
<joint name="turn" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/>
  <limit lower="-1" upper="1" effort="3" velocity="{velocity}"/></joint>
<joint name="push" type="prismatic"><parent link="arm"/><child link="slide"/><axis xyz="1 0 0"/>
  <limit lower="0" upper="0.1" effort="3" velocity="0.5"/></joint>
<joint name="follow" type="revolute"><parent link="slide"/><child link="finger"/>
  <axis xyz="0 1 0"/><mimic joint="turn" multiplier="-2"/>
  <limit lower="-9" upper="9" effort="1" velocity="3"/></joint>
</robot>"""


def load(folder: Path, velocity: str = "2") -> ik.Skeleton:
    file = folder / "r.urdf"
    file.write_text(URDF.format(velocity=velocity), "utf-8")
    return ik.load_skeleton(str(file))


def test_speeds_are_read_and_those_of_followers_handed_down(tmp_path: Path) -> None:
    # The finger turns twice as fast as what it follows, and may turn at 3 rad/s.
    assert load(tmp_path).max_speed.tolist() == [1.5, 0.5]
    assert load(tmp_path, "1").max_speed.tolist() == [1.0, 0.5]


def test_none_is_known_of_zero_and_of_endless_speeds(tmp_path: Path) -> None:
    for velocity in ("0", "1e30"):
        assert load(tmp_path, velocity).max_speed.tolist() == [1.5, 0.5]
    plain = ik.human()
    assert np.isinf(plain.max_speed).all()


def test_a_negative_speed_is_refused_with_its_place(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"line 4.*velocity is -2; expected a speed"):
        load(tmp_path, "-2")


@pytest.mark.parametrize("suffix", ["urdf", "npz"])
def test_speeds_are_written(tmp_path: Path, suffix: str) -> None:
    robot = load(tmp_path, "1.25")
    file = str(tmp_path / f"written.{suffix}")
    ik.save_skeleton(robot, file)
    np.testing.assert_allclose(ik.load_skeleton(file).max_speed, robot.max_speed, rtol=1e-15)


MJCF = """<mujoco><default><velocity ctrlrange="-2 3"/>
<default class="slow"><intvelocity ctrlrange="-0.5 0.5" actrange="-9 9"/></default></default>
<worldbody><body name="a"><joint name="turn"/><geom size="0.1"/>
<body name="b"><joint name="push" type="slide"/><geom size="0.1"/>
<body name="c"><joint name="free"/><geom size="0.1"/></body></body></body></worldbody><actuator>
<velocity joint="turn" gear="2"/><intvelocity class="slow" joint="push"/>
<velocity joint="free" ctrllimited="false"/><motor joint="free" ctrlrange="-1 1"/>
</actuator></mujoco>"""


def test_speeds_that_actuators_may_ask_for(tmp_path: Path) -> None:
    file = tmp_path / "r.xml"
    file.write_text(MJCF, "utf-8")
    assert ik.load_skeleton(file).max_speed.tolist() == [1.5, 0.5, np.inf]
    assert ik.load_skeleton(file, "cm").max_speed.tolist() == [1.5, 0.005, np.inf]
    file.write_text(MJCF.replace('joint="turn" gear', 'joint="hip" gear'), "utf-8")
    with pytest.raises(FileError, match="no moving joint is named 'hip'"):
        ik.load_skeleton(file)


def test_speeds_in_centimetres(tmp_path: Path) -> None:
    file = tmp_path / "r.urdf"
    file.write_text(URDF.format(velocity=2), "utf-8")
    assert ik.load_skeleton(str(file), length_unit="cm").max_speed.tolist() == [1.5, 0.005]


def test_speeds_stay_with_a_changed_skeleton() -> None:
    hinge = ik.Joint.revolute
    bones = [ik.Bone("a", joint=hinge("z")), ik.Bone("b", parent="a", joint=hinge("y"))]
    arm = ik.Skeleton.build("arm", bones, max_speed={"b.ry": 2.0})
    assert arm.max_speed.tolist() == [np.inf, 2.0]
    assert pickle.loads(pickle.dumps(arm)).max_speed.tolist() == [np.inf, 2.0]
    assert arm.with_markers({}).max_speed.tolist() == [np.inf, 2.0]
    assert arm.with_bones(bones[:1]).max_speed.tolist() == [np.inf]
    assert arm.with_max_speed({"a.rz": 1.0}).max_speed.tolist() == [1.0, np.inf]
    assert arm.with_max_speed(None).max_speed.tolist() == [np.inf, np.inf]
    with pytest.raises(UnknownNameError):
        arm.with_max_speed({"elbow.rz": 1.0})
    with pytest.raises(ExactikError, match="expected more than zero"):
        arm.with_max_speed({"a.rz": 0.0})
