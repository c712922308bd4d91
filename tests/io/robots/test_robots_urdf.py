"""URDF: the same poses as pinocchio, and the rest of what a file says."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from exactik.errors import FileWarning, UnknownNameError
from exactik.io import load_joint_names, load_skeleton
from tests.support.checkout import DATA
from tests.support.real_robots import Judge
from tests.support.robot_files import (
    largest_error,
    pinocchio,
    pinocchio_poses,
    random_q,
    random_urdf,
    write,
)

URDF = DATA / "robots" / "urdf"
FILES = sorted(path.name for path in URDF.glob("*.urdf")) or ["none"]

ARM = """<?xml version="1.0"?>
<robot name="arm">
  <link name="base"/>
  <link name="upper"><visual><geometry><mesh filename="package://a/b.dae"/></geometry></visual></link>
  <link name="rod"/> <link name="wheel"/> <link name="tool"/>
  <joint name="lift" type="prismatic">
    <parent link="upper"/><child link="rod"/><axis xyz="0 0 2"/><limit lower="-0.1" upper="0.4"/>
    <origin xyz="1 0 0" rpy="0 0 1.5707963267948966"/>
  </joint>
  <joint name="shoulder" type="revolute">
    <parent link="base"/><child link="upper"/><axis xyz="0 1 0"/>
    <limit lower="-2" upper="3" effort="1" velocity="1"/><origin xyz="0 0 0.5"/>
  </joint>
  <joint name="spin" type="continuous">
    <parent link="rod"/><child link="wheel"/><limit lower="-1" upper="1"/>
  </joint>
  <joint name="weld" type="fixed"><parent link="wheel"/><child link="tool"/></joint>
</robot>"""


def test_numbers_by_hand(tmp_path: Path):
    skeleton = load_skeleton(write(tmp_path, "arm.urdf", ARM))
    assert skeleton.name == "arm"
    assert skeleton.bone_names == ("base", "upper", "rod", "wheel", "tool")
    assert skeleton.dof_names == ("upper.ry", "rod.tz", "wheel.rx")
    assert skeleton.lower.tolist() == [-2.0, -0.1, -math.inf]
    assert skeleton.upper.tolist() == [3.0, 0.4, math.inf]
    pose = skeleton.forward([math.pi / 2, 0.25, math.pi / 2])
    # Down the rod: the shoulder turns x to −z and z to x.
    assert pose.positions[-1] == pytest.approx([0.25, 0.0, -0.5], abs=1e-15)
    turned = [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, -1.0]]
    assert pose.rotations[-1] == pytest.approx(np.array(turned), abs=1e-15)


def test_joint_names_lead_to_coordinates(tmp_path: Path):
    path = write(tmp_path, "arm.urdf", ARM)
    joints = load_joint_names(path)
    assert list(joints) == ["shoulder", "lift", "spin"]  # in the order of the dofs; none is fixed
    assert joints["lift"] == ("rod", 1, 1, 1, 1)
    assert load_joint_names(path, floating=True)["lift"] == ("rod", 8, 7, 1, 1)


def test_floating_frees_the_root(tmp_path: Path):
    path = write(tmp_path, "arm.urdf", ARM)
    skeleton = load_skeleton(path, floating=True)
    assert (skeleton.nq, skeleton.nv) == (10, 9)
    assert skeleton.bones[0].joint.kind == "free"
    q = skeleton.neutral()
    fixed = load_skeleton(path)
    np.testing.assert_array_equal(
        skeleton.forward(q).positions, fixed.forward(fixed.neutral()).positions
    )


def test_lengths_in_another_unit(tmp_path: Path):
    path = write(tmp_path, "arm.urdf", ARM)
    metres, inches = load_skeleton(path), load_skeleton(path, length_unit="in")
    assert load_skeleton(path, length_unit=0.0254) == inches
    assert load_skeleton(path, "m") == load_skeleton(path, "auto") == metres
    q = np.array([0.3, 0.2, 0.1])
    scaled = inches.forward(q * [1, 0.0254, 1])
    np.testing.assert_allclose(
        scaled.positions, 0.0254 * metres.forward(q).positions, rtol=0, atol=1e-15
    )
    np.testing.assert_allclose(inches.upper, metres.upper * [1, 0.0254, 1])
    for unit in ("furlong", -1.0, math.nan):
        with pytest.raises(UnknownNameError, match="length unit"):
            load_skeleton(path, length_unit=unit)


def test_limits_that_are_not_stated(tmp_path: Path):
    """Without both ends there is no limit; a single missing end is zero, as the format says."""

    def limits(text: str) -> tuple[float, float]:
        joint = '<joint name="j" type="revolute"><parent link="a"/><child link="b"/>'
        links = '<link name="a"/><link name="b"/>'
        path = write(tmp_path, "a.urdf", f"<robot>{links}{joint}{text}</joint></robot>")
        skeleton = load_skeleton(path)
        assert skeleton.name == "a"
        return float(skeleton.lower[0]), float(skeleton.upper[0])

    free = (-math.inf, math.inf)
    assert limits("") == free
    assert limits('<limit effort="3" velocity="1"/>') == free
    assert limits('<limit lower="-inf" upper="inf"/>') == free
    assert limits('<limit lower="-1"/>') == (-1.0, 0.0)
    assert limits('<limit upper="1"/>') == (0.0, 1.0)
    assert limits('<limit lower="0" upper="0"/>') == (0.0, 0.0)


@pytest.mark.parametrize(
    ("axis", "names"),
    [
        ("0 0 3", ("b_planar1.tx", "b_planar2.ty", "b.rz")),
        ("1 0 0", ("b_planar1.ty", "b_planar2.tz", "b.rx")),
        ("1 1 0", ("b_planar1.t", "b_planar2.t", "b.r")),
    ],
)
def test_planar_joints_stay_in_their_plane(tmp_path: Path, axis: str, names: tuple[str, ...]):
    text = (
        '<robot><link name="a"/><link name="b"/><joint name="j" type="planar"><parent link="a"/>'
        f'<child link="b"/><origin xyz="1 2 3" rpy="1 2 3"/><axis xyz="{axis}"/></joint></robot>'
    )
    path = write(tmp_path, "planar.urdf", text)
    skeleton = load_skeleton(path)
    assert skeleton.dof_names == names
    assert load_joint_names(path) == {"j": ("b", 0, 0, 3, 3)}
    q = np.array([0.3, -0.4, 0.5])
    rest, moved = skeleton.forward(np.zeros(3)), skeleton.forward(q)
    normal = rest.rotations[-1] @ np.array(axis.split(), dtype=float)
    shift = moved.positions[-1] - rest.positions[-1]
    assert float(shift @ normal) == pytest.approx(0.0, abs=1e-14)
    assert float(np.linalg.norm(shift)) == pytest.approx(0.5)
    turn = moved.rotations[-1] @ rest.rotations[-1].T
    np.testing.assert_allclose(turn @ normal, normal, atol=1e-14)
    assert (np.trace(turn) - 1) / 2 == pytest.approx(math.cos(0.5))


def test_quaternions_for_origins(tmp_path: Path):
    half = math.sqrt(0.5)
    text = (
        '<robot><link name="a"/><link name="b"/><joint name="j" type="fixed"><parent link="a"/>'
        f'<child link="b"/><origin quat_xyzw="0 0 {half} {half}"/></joint></robot>'
    )
    skeleton = load_skeleton(write(tmp_path, "a.urdf", text))
    turned = [[0, -1, 0], [1, 0, 0], [0, 0, 1]]
    np.testing.assert_allclose(skeleton.forward([]).rotations[1], turned, atol=1e-15)


def test_what_simulators_add_is_skipped(tmp_path: Path):
    """Also prefixes that nobody declared, and elements elsewhere that are called joint or link."""
    more = """<transmission name="t"><joint name="shoulder"/></transmission>
        <gazebo reference="upper"><link name="upper"/><sensor:camera/></gazebo>
        <drake:joint name="shoulder"/><mujoco><compiler meshdir="x"/></mujoco></robot>"""
    plain = load_skeleton(write(tmp_path, "plain.urdf", ARM))
    rich = load_skeleton(write(tmp_path, "rich.urdf", ARM.replace("</robot>", more)))
    assert rich == plain
    named = ARM.replace('<robot name="arm"', '<robot xmlns="http://drake.mit.edu" name="arm"')
    assert load_skeleton(write(tmp_path, "spaced.urdf", named)) == plain


def test_the_root_element_decides_and_not_the_suffix(tmp_path: Path):
    plain = load_skeleton(write(tmp_path, "arm.urdf", ARM))
    assert load_skeleton(write(tmp_path, "arm.xml", ARM)) == plain
    assert load_skeleton(str(write(tmp_path, "ARM.URDF", ARM))) == plain


def test_a_long_chain_needs_no_stack(tmp_path: Path):
    n = 3000
    links = "".join(f'<link name="l{k}"/>' for k in range(n + 1))
    joints = "".join(
        f'<joint name="j{k}" type="revolute"><parent link="l{k}"/><child link="l{k + 1}"/></joint>'
        for k in range(n)
    )
    path = write(tmp_path, "long.urdf", f"<robot>{links}{joints}</robot>")
    assert load_skeleton(path).nv == n


@pytest.mark.parametrize("seed", range(10))
def test_random_trees_against_pinocchio(tmp_path: Path, seed: int):
    pin = pinocchio()
    rng = np.random.default_rng(seed)
    path = write(tmp_path, "random.urdf", random_urdf(rng))
    model = pin.buildModelFromUrdf(str(path))
    skeleton, joints = load_skeleton(path), load_joint_names(path)
    assert skeleton.nv == model.nv
    for _ in range(5):
        q = random_q(skeleton, rng)
        poses = pinocchio_poses(model, joints, q)
        assert sorted(poses) == sorted(n for n in skeleton.bone_names if "_planar" not in n)
        assert largest_error(skeleton, q, poses) < 1e-12


@pytest.mark.full
@pytest.mark.parametrize("floating", [False, True])
@pytest.mark.parametrize("name", FILES)
def test_real_robots_against_pinocchio(shared_data: Path, name: str, floating: bool):
    """Every link at random configurations, and the limits of every joint."""
    pin = pinocchio()
    path = shared_data / "data" / "robots" / "urdf" / name
    base = (pin.JointModelFreeFlyer(),) if floating else ()
    model = pin.buildModelFromUrdf(str(path), *base, mimic=True)
    skeleton, joints = load_skeleton(path, floating=floating), load_joint_names(path, floating)
    assert skeleton.nv == model.nv
    rng = np.random.default_rng(7)
    for _ in range(20):
        q = random_q(skeleton, rng)
        poses = pinocchio_poses(model, joints, q, root=0)
        assert sorted(poses) == sorted(skeleton.bone_names)
        assert largest_error(skeleton, q, poses) < 1e-12
    for k in range(1, model.njoints):
        joint = model.joints[k]
        if joint.nq == 1 and len(skeleton.couplings) == 0:
            dof = joints[model.names[k]].v
            assert skeleton.lower[dof] == model.lowerPositionLimit[joint.idx_q]
            assert skeleton.upper[dof] == model.upperPositionLimit[joint.idx_q]


def test_a_ball_that_bullet_and_mujoco_have(tmp_path: Path):
    text = """<robot name="r"><link name="base"/><link name="ball"/>
    <joint name="j" type="spherical"><parent link="base"/><child link="ball"/>
    <origin xyz="1 2 3" rpy="0.1 0.2 0.3"/></joint></robot>"""
    path = write(tmp_path, "ball.urdf", text)
    skeleton = load_skeleton(path)
    assert skeleton.dof_names == ("ball.wx", "ball.wy", "ball.wz")
    q = skeleton.normalised([0.5, -0.3, 0.7, 0.1])
    assert largest_error(skeleton, q, Judge(path).pose(q)) < 1e-15
    limited = text.replace("</joint>", '<limit lower="-1" upper="1"/></joint>')
    with pytest.warns(FileWarning, match="the limit of a ball joint is not kept"):
        load_skeleton(write(tmp_path, "ball.urdf", limited))
