"""Joints that follow others, in both formats: couplings of the skeleton."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from exactik.errors import FileError, FileWarning
from exactik.io import load_joint_names, load_skeleton
from exactik.io.robots import JointPlace
from exactik.model import Coupling
from exactik.model.functions import Constant, Linear
from tests.support.robot_files import largest_error, mujoco, pinocchio, pinocchio_poses, write

URDF = """<robot name="hand">
<link name="palm"/><link name="a"/><link name="b"/><link name="c"/><link name="d"/>
<joint name="j1" type="revolute"><parent link="palm"/><child link="a"/><axis xyz="0 0 1"/>
  <limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
<joint name="j2" type="prismatic"><parent link="a"/><child link="b"/><axis xyz="1 0 0"/>
  <limit lower="-1" upper="1" effort="1" velocity="1"/>
  <mimic joint="j1" multiplier="-0.5" offset="0.25"/></joint>
<joint name="j3" type="revolute"><parent link="b"/><child link="c"/><axis xyz="0 1 0"/>
  <limit lower="-1" upper="1" effort="1" velocity="1"/><mimic joint="j1"/></joint>
<joint name="weld" type="fixed"><parent link="c"/><child link="d"/>
  <mimic joint="j1"/></joint></robot>"""


def load_couplings(path: Path, length_unit: float | str | None = None) -> dict[str, Coupling]:
    return {c.driven: c for c in load_skeleton(path, length_unit=length_unit).couplings}


def test_mimic_joints(tmp_path: Path):
    path = write(tmp_path, "hand.urdf", URDF)
    skeleton = load_skeleton(path)
    assert set(skeleton.couplings) == {
        Coupling("b.tx", "a.rz", Linear(-0.5, 0.25)),
        Coupling("c.ry", "a.rz", Linear(1.0, 0.0)),
    }
    assert skeleton.dof_names == ("a.rz",)  # what follows is no dof
    q = skeleton.joint_coordinates([[0.5], [1.0]])
    np.testing.assert_array_equal(q, [[0.5, 0.0, 0.5], [1.0, -0.25, 1.0]])
    assert list(load_joint_names(path)) == ["j1"]


def test_limits_of_what_follows_are_kept(tmp_path: Path):
    """The slider within ±1 would let the hinge go to −1.5 and 2.5: its own limits are narrower."""
    skeleton = load_skeleton(write(tmp_path, "hand.urdf", URDF))
    assert (skeleton.lower.tolist(), skeleton.upper.tolist()) == ([-1.0], [1.0])
    narrow = URDF.replace('multiplier="-0.5"', 'multiplier="-5"')
    skeleton = load_skeleton(write(tmp_path, "hand.urdf", narrow))
    np.testing.assert_allclose([skeleton.lower[0], skeleton.upper[0]], [-0.15, 0.25])


def test_limits_that_leave_no_room_are_said(tmp_path: Path):
    """As in the files of two real hands: what follows goes where its own limits are not."""
    text = URDF.replace(
        '<limit lower="-1" upper="1" effort="1"', '<limit lower="1" upper="3" effort="1"', 1
    )
    with pytest.warns(FileWarning, match="1 joint that follows another leaves its limits: c.ry$"):
        skeleton = load_skeleton(write(tmp_path, "hand.urdf", text))
    assert (skeleton.lower.tolist(), skeleton.upper.tolist()) == ([1.0], [2.5])


@pytest.mark.parametrize(("range_of_y", "kept"), [("-.05 .25", True), ("-.04 .25", False)])
def test_limits_beside_a_polynomial_are_said(tmp_path: Path, range_of_y: str, kept: bool):
    """y = x² − 0.05 of x within ±0.5: least between the ends, greatest at both."""
    text = f"""<mujoco><compiler angle="radian"/><worldbody>
    <body name="a"><joint name="x" range="-.5 .5"/></body>
    <body name="b"><joint name="y" range="{range_of_y}"/></body></worldbody>
    <equality><joint joint1="y" joint2="x" polycoef="-.05 0 1"/></equality></mujoco>"""
    path = write(tmp_path, "parabola.xml", text)
    if kept:
        load_skeleton(path)
        return
    with pytest.warns(FileWarning, match="1 joint that follows another leaves its limits: b.rz$"):
        load_skeleton(path)


def test_mimic_in_another_unit(tmp_path: Path):
    """A driven length is scaled, and so is what it follows."""
    path = write(tmp_path, "hand.urdf", URDF)
    assert load_couplings(path, "cm")["b.tx"].function == Linear(-0.005, 0.0025)
    swapped = URDF.replace('"revolute"><parent link="palm"', '"prismatic"><parent link="palm"')
    path = write(tmp_path, "hand.urdf", swapped)
    assert load_couplings(path, 0.5)["c.ry"] == Coupling("c.ry", "a.tz", Linear(2.0, 0.0))
    assert load_couplings(path, 0.5)["b.tx"] == Coupling("b.tx", "a.tz", Linear(-0.5, 0.125))


EVERY_JOINT = {f"j{k + 1}": JointPlace("abc"[k], k, k, 1, 1) for k in range(3)}


def test_mimic_against_pinocchio(tmp_path: Path):
    """Its model with mimic joints has only the independent coordinates."""
    pin = pinocchio()
    path = write(tmp_path, "hand.urdf", URDF)
    skeleton = load_skeleton(path)
    reduced = pin.buildModelFromUrdf(str(path), mimic=True)
    assert reduced.nv == 1
    full = pin.buildModelFromUrdf(str(path))
    poses = pinocchio_poses(full, EVERY_JOINT, skeleton.joint_coordinates([0.7]))
    assert largest_error(skeleton, np.array([0.7]), poses) < 1e-12
    data = reduced.createData()
    pin.framesForwardKinematics(reduced, data, np.array([0.7]))
    for link, (position, rotation) in poses.items():
        frame = data.oMf[reduced.getFrameId(link, pin.FrameType.BODY)]
        np.testing.assert_allclose(frame.translation, position, atol=1e-12)
        np.testing.assert_allclose(frame.rotation, rotation, atol=1e-12)


def test_following_a_joint_that_does_not_move(tmp_path: Path):
    text = URDF.replace(
        '<mimic joint="j1"/></joint>\n', '<mimic joint="weld" offset="0.5"/></joint>\n'
    )
    couplings = load_couplings(write(tmp_path, "hand.urdf", text))
    assert couplings["c.ry"] == Coupling("c.ry", None, Constant(0.5))


def test_following_a_joint_that_is_not_there(tmp_path: Path):
    """It stays free, as in the file of a real humanoid, and a warning says so."""
    text = URDF.replace('<mimic joint="j1"/></joint>\n', '<mimic joint="none"/></joint>\n')
    with pytest.warns(FileWarning, match="mimics 'none', and there is no such joint"):
        skeleton = load_skeleton(write(tmp_path, "hand.urdf", text))
    assert skeleton.dof_names == ("a.rz", "c.ry")


MJCF = """<mujoco><worldbody>
<body name="a"><joint name="x" ref="30"/><geom size=".1"/></body>
<body name="b"><joint name="y" type="slide" ref=".5"/><geom size=".1"/></body>
<body name="c"><joint name="z" axis="1 0 0" ref="10"/><geom size=".1"/></body>
<body name="d"><joint name="w"/><geom size=".1"/></body>
</worldbody><equality>
<joint joint1="y" joint2="x" polycoef=".1 .2 .3 .4 .5"/>
<joint joint1="z" joint2="y" polycoef="1"/>
<joint joint1="w" polycoef=".7"/>
<joint joint1="x" joint2="w" active="false"/>
</equality></mujoco>"""


def test_equalities_of_joints_against_mujoco(tmp_path: Path):
    """What MuJoCo holds for a violated equality vanishes at the coordinates of the joints."""
    mj = mujoco()
    skeleton = load_skeleton(write(tmp_path, "hand.xml", MJCF))
    assert skeleton.dof_names == ("a.rz",)
    model = mj.MjModel.from_xml_string(MJCF)
    data = mj.MjData(model)
    for x in (-1.0, 0.0, 0.4, 2.0):
        data.qpos[:] = skeleton.joint_coordinates([x])
        mj.mj_forward(model, data)
        assert data.ne == 3
        np.testing.assert_allclose(data.efc_pos[:3], 0.0, atol=1e-13)


def test_equalities_by_hand(tmp_path: Path):
    path = write(tmp_path, "hand.xml", MJCF)
    couplings = {c.driven: c for c in load_skeleton(path).couplings}
    halved = {c.driven: c for c in load_skeleton(path, length_unit=0.5).couplings}
    assert couplings["d.rz"] == Coupling("d.rz", None, Constant(0.7))
    x, d = 0.9, 0.9 - math.radians(30)
    assert couplings["b.tz"].driver == "a.rz"
    value = couplings["b.tz"].function(x)
    assert value == pytest.approx(0.5 + 0.1 + 0.2 * d + 0.3 * d**2 + 0.4 * d**3 + 0.5 * d**4)
    assert halved["b.tz"].function(x) == pytest.approx(0.5 * value)
    linear = couplings["c.rx"].function
    assert linear == Linear(1.0, math.radians(10) + 1.0 - 0.5)
    assert halved["c.rx"].function(0.25) == pytest.approx(linear(0.5))


TENDONS = """<mujoco><worldbody>
<body name="a"><joint name="x" ref="30"/><geom size=".1"/></body>
<body name="b"><joint name="y" type="slide" ref=".5"/><geom size=".1"/></body>
<body name="c"><joint name="z" axis="1 0 0" ref="10"/><geom size=".1"/></body>
<body name="d"><joint name="w"/><geom size=".1"/></body>
<body name="e"><joint name="v"/><geom size=".1"/></body>
</worldbody><tendon>
<fixed name="t1"><joint joint="y" coef="2"/></fixed>
<fixed name="t2"><joint joint="x" coef="-3"/></fixed>
<fixed name="t3"><joint joint="z" coef="1"/><joint joint="w" coef="-2"/></fixed>
<fixed name="t4"><joint joint="v" coef=".5"/></fixed>
</tendon><equality>
<tendon tendon1="t1" tendon2="t2" polycoef=".1 .2 .3"/>
<tendon tendon1="t3" polycoef=".4"/><tendon tendon1="t4"/>
</equality></mujoco>"""


def test_equalities_of_tendons_against_mujoco(tmp_path: Path):
    mj = mujoco()
    skeleton = load_skeleton(write(tmp_path, "tendons.xml", TENDONS))
    assert skeleton.dof_names == ("a.rz", "d.rz")
    model = mj.MjModel.from_xml_string(TENDONS)
    data = mj.MjData(model)
    for q in ([0.0, 0.0], [0.7, -0.4]):
        data.qpos[:] = skeleton.joint_coordinates(q)
        mj.mj_forward(model, data)
        assert data.ne == 3
        np.testing.assert_allclose(data.efc_pos[:3], 0.0, atol=1e-13)


def test_impossible_couplings(tmp_path: Path):
    ring = URDF.replace(
        'effort="1" velocity="1"/></joint>',
        'effort="1" velocity="1"/><mimic joint="j3"/></joint>',
        1,
    )
    with pytest.raises(FileError, match=r"ring: (a.rz|b.tx|c.ry) → "):
        load_skeleton(write(tmp_path, "ring.urdf", ring))


def test_real_couplings(shared_data: Path):
    robots = shared_data / "data" / "robots"
    assert load_couplings(robots / "urdf" / "panda.urdf") == {
        "panda_rightfinger.t": Coupling("panda_rightfinger.t", "panda_leftfinger.ty")
    }
    assert load_couplings(robots / "mjcf" / "franka_emika_panda__panda.xml") == {
        "left_finger.ty": Coupling("left_finger.ty", "right_finger.ty")
    }
    assert len(load_couplings(robots / "urdf" / "simple_mimic_gripper.urdf")) == 3
    assert load_couplings(robots / "urdf" / "talos_reduced.urdf") == {}  # they are on fixed joints
