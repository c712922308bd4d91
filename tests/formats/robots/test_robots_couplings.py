"""Joints that follow others: as data, in both formats."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from exactik.errors import ModelError, UnknownNameError
from exactik.io import Coupling, apply_couplings, load_couplings, load_joint_names, load_skeleton
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


def test_mimic_joints(tmp_path: Path):
    path = write(tmp_path, "hand.urdf", URDF)
    couplings = load_couplings(path)
    assert couplings == {"b.tx": Coupling("a.rz", -0.5, 0.25), "c.ry": Coupling("a.rz", 1.0, 0.0)}
    skeleton = load_skeleton(path)
    assert skeleton.nv == 3  # dependent dofs are dofs
    q = apply_couplings(skeleton, couplings, [[0.5, 9, 9], [1.0, 9, 9]])
    np.testing.assert_array_equal(q, [[0.5, 0.0, 0.5], [1.0, -0.25, 1.0]])


def test_mimic_in_another_unit(tmp_path: Path):
    """A dependent length is scaled, and so is what it follows."""
    path = write(tmp_path, "hand.urdf", URDF)
    assert load_couplings(path, "cm")["b.tx"] == Coupling("a.rz", -0.005, 0.0025)
    swapped = URDF.replace('"revolute"><parent link="palm"', '"prismatic"><parent link="palm"')
    path = write(tmp_path, "hand.urdf", swapped)
    assert load_couplings(path, 0.5)["c.ry"] == Coupling("a.tz", 2.0, 0.0)
    assert load_couplings(path, 0.5)["b.tx"] == Coupling("a.tz", -0.5, 0.125)


def test_mimic_against_pinocchio(tmp_path: Path):
    """Its model with mimic joints has only the independent coordinates."""
    pin = pinocchio()
    path = write(tmp_path, "hand.urdf", URDF)
    skeleton = load_skeleton(path)
    reduced = pin.buildModelFromUrdf(str(path), mimic=True)
    assert reduced.nv == 1
    full = pin.buildModelFromUrdf(str(path))
    q = apply_couplings(skeleton, load_couplings(path), [0.7, 0, 0])
    poses = pinocchio_poses(full, load_joint_names(path), q)
    assert largest_error(skeleton, q, poses) < 1e-12
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
    assert couplings["c.ry"] == Coupling(None, 0.0, 0.5)


CONNECT = '<connect body1="a" body2="b" anchor="0 0 0"/>'
MJCF = f"""<mujoco><worldbody>
<body name="a"><joint name="x" ref="30"/><geom size=".1"/></body>
<body name="b"><joint name="y" type="slide" ref=".5"/><geom size=".1"/></body>
<body name="c"><joint name="z" axis="1 0 0" ref="10"/><geom size=".1"/></body>
<body name="d"><joint name="w"/><geom size=".1"/></body>
</worldbody><equality>
<joint joint1="y" joint2="x" polycoef=".1 .2 .3 .4 .5"/>
<joint joint1="z" joint2="y" polycoef="1"/>
<joint joint1="w" polycoef=".7"/>
<joint joint1="x" joint2="w" active="false"/>
{CONNECT}
</equality></mujoco>"""


def test_equalities_of_joints_against_mujoco(tmp_path: Path):
    """What MuJoCo holds for a violated equality vanishes at the coordinates set by ours."""
    mj = mujoco()
    path = write(tmp_path, "hand.xml", MJCF)
    skeleton, couplings = load_skeleton(path), load_couplings(path)
    assert set(couplings) == {"b.tz", "c.rx", "d.rz"}
    assert (couplings["c.rx"].source, couplings["c.rx"].higher) == ("b.tz", ())
    assert couplings["d.rz"] == Coupling(None, 0.0, 0.7)
    model = mj.MjModel.from_xml_string(MJCF.replace(CONNECT, ""))
    data = mj.MjData(model)
    for x in (-1.0, 0.0, 0.4, 2.0):
        data.qpos[:] = apply_couplings(skeleton, couplings, [x, 0.0, 0.0, 0.0])
        mj.mj_forward(model, data)
        assert data.ne == 3
        np.testing.assert_allclose(data.efc_pos[:3], 0.0, atol=1e-13)


def test_equalities_by_hand(tmp_path: Path):
    coupling = load_couplings(write(tmp_path, "hand.xml", MJCF))["b.tz"]
    assert coupling.source == "a.rz"
    assert len(coupling.coefficients) == 5
    x, x0 = 0.9, math.radians(30)
    d = x - x0
    assert coupling.value(x) == pytest.approx(
        0.5 + 0.1 + 0.2 * d + 0.3 * d**2 + 0.4 * d**3 + 0.5 * d**4
    )
    assert coupling.slope(x) == pytest.approx(0.2 + 0.6 * d + 1.2 * d**2 + 2.0 * d**3)
    halved = load_couplings(tmp_path / "hand.xml", length_unit=0.5)["b.tz"]
    assert halved.value(x) == pytest.approx(0.5 * coupling.value(x))
    linear = load_couplings(tmp_path / "hand.xml")["c.rx"]
    assert linear.value(0.5) == pytest.approx(math.radians(10) + 1.0)
    assert linear.multiplier == 1.0
    halved = load_couplings(tmp_path / "hand.xml", length_unit=0.5)["c.rx"]
    assert halved.value(0.25) == pytest.approx(linear.value(0.5))


def test_chains_are_followed_in_any_order(tmp_path: Path):
    skeleton = load_skeleton(write(tmp_path, "hand.urdf", URDF))
    couplings = {"c.ry": Coupling("b.tx", 2.0), "b.tx": Coupling("a.rz", 3.0, 1.0)}
    assert apply_couplings(skeleton, couplings, [1.0, 0, 0]).tolist() == [1.0, 4.0, 8.0]


def test_impossible_couplings(tmp_path: Path):
    skeleton = load_skeleton(write(tmp_path, "hand.urdf", URDF), floating=True)
    q = skeleton.neutral()
    with pytest.raises(UnknownNameError, match="did you mean"):
        apply_couplings(skeleton, {"a.rx": Coupling("b.tx")}, q)
    with pytest.raises(UnknownNameError):  # one coordinate of a quaternion is no dof
        apply_couplings(skeleton, {"a.rz": Coupling("palm.wx")}, q)
    ring = {"a.rz": Coupling("b.tx"), "b.tx": Coupling("c.ry"), "c.ry": Coupling("a.rz")}
    with pytest.raises(ModelError, match=r"ring: a.rz → b.tx → c.ry → a.rz"):
        apply_couplings(skeleton, ring, q)


def test_real_couplings(shared_data: Path):
    robots = shared_data / "data" / "robots"
    assert load_couplings(robots / "urdf" / "panda.urdf") == {
        "panda_rightfinger.t": Coupling("panda_leftfinger.ty")
    }
    assert load_couplings(robots / "mjcf" / "franka_emika_panda__panda.xml") == {
        "left_finger.ty": Coupling("right_finger.ty")
    }
    assert len(load_couplings(robots / "urdf" / "simple_mimic_gripper.urdf")) == 3
    assert load_couplings(robots / "urdf" / "talos_reduced.urdf") == {}  # they are on fixed joints
