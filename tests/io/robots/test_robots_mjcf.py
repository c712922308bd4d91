"""MJCF: the same poses, velocities and limits as MuJoCo, coordinate by coordinate."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from exactik.errors import FileError, FileWarning
from exactik.io import load_joint_names, load_skeleton
from exactik.model import Skeleton, compute_dof_rates
from exactik.spatial import axis_rotation
from tests.support.checkout import DATA
from tests.support.robot_files import (
    largest_error,
    mujoco,
    mujoco_poses,
    random_mjcf,
    random_q,
    strip_to_kinematics,
    write,
)

MJCF = DATA / "robots" / "mjcf"
FILES = sorted(path.name for path in MJCF.glob("*.xml")) or ["none"]


def load(folder: Path, inside: str, before: str = "", **how: Any) -> Skeleton:
    text = f"<mujoco>{before}<worldbody>{inside}</worldbody></mujoco>"
    return load_skeleton(write(folder, "model.xml", text), **how)


def assert_same_as_mujoco(path: Path, model: Any, rng: np.random.Generator, bound: float):
    """Poses, Jacobians, limits and joints; coordinates of all joints are qpos, dofs qvel."""
    mj = mujoco()
    floating = any(model.jnt_type == mj.mjtJoint.mjJNT_FREE)
    skeleton, joints = load_skeleton(path, floating=floating), load_joint_names(path, floating)
    coupled = len(skeleton.couplings)
    assert (skeleton.nq + coupled, skeleton.nv + coupled) == (model.nq, model.nv)
    q = random_q(skeleton, rng)
    poses = mujoco_poses(model, skeleton.joint_coordinates(q))
    assert set(poses) <= set(skeleton.bone_names)
    for other in (q, *(random_q(skeleton, rng) for _ in range(9))):
        poses = mujoco_poses(model, skeleton.joint_coordinates(other))
        assert largest_error(skeleton, other, poses) < bound
    data = mj.MjData(model)
    data.qpos[:] = skeleton.joint_coordinates(q)
    mj.mj_kinematics(model, data)
    mj.mj_comPos(model, data)
    linear, angular = np.empty((2, 3, model.nv))
    for k, bone in enumerate(poses, start=1):
        mj.mj_jacBody(model, data, linear, angular, k)
        jacobian = skeleton.jacobian(q, bone, rows="both")
        theirs = np.array([*linear, *angular]) @ compute_dof_rates(skeleton, q)[0]
        np.testing.assert_allclose(jacobian, theirs, rtol=0, atol=10 * bound)
    if coupled > 0:
        return
    for k in range(model.njnt):
        joint = model.joint(k)
        if joint.name != "":
            place = joints[joint.name]
            assert (place.q, place.v) == (model.jnt_qposadr[k], model.jnt_dofadr[k])
        if joint.type[0] in (mj.mjtJoint.mjJNT_HINGE, mj.mjtJoint.mjJNT_SLIDE):
            low, high = model.jnt_range[k] if joint.limited[0] else (-math.inf, math.inf)
            dof = model.jnt_dofadr[k]
            assert skeleton.lower[dof] == pytest.approx(low, rel=1e-15)
            assert skeleton.upper[dof] == pytest.approx(high, rel=1e-15)


@pytest.mark.parametrize("seed", range(40))
def test_random_trees_against_mujoco(tmp_path: Path, seed: int):
    rng = np.random.default_rng(seed)
    path = write(tmp_path, "random.xml", random_mjcf(rng))
    model = mujoco().MjModel.from_xml_string(strip_to_kinematics(path))
    assert_same_as_mujoco(path, model, rng, 1e-12)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.filterwarnings("ignore::exactik.errors.FileWarning")  # looks that were not passed on
def test_real_robots_against_mujoco(shared_data: Path, name: str):
    path = shared_data / "data" / "robots" / "mjcf" / name
    model = mujoco().MjModel.from_xml_string(strip_to_kinematics(path))
    assert_same_as_mujoco(path, model, np.random.default_rng(7), 1e-12)


def test_the_same_arm_in_both_formats(shared_data: Path):
    robots = shared_data / "data" / "robots"
    urdf = load_skeleton(robots / "urdf" / "panda.urdf")
    mjcf = load_skeleton(robots / "mjcf" / "franka_emika_panda__panda.xml")
    q = np.random.default_rng(3).uniform(-1, 1, 8)
    for k in range(8):
        index, mjcf_index = urdf.bone_index(f"panda_link{k}"), mjcf.bone_index(f"link{k}")
        a, b = urdf.forward(q), mjcf.forward(q)
        np.testing.assert_allclose(a.positions[index], b.positions[mjcf_index], atol=1e-6)
        np.testing.assert_allclose(a.rotations[index], b.rotations[mjcf_index], atol=1e-6)


# --- joints


def test_a_body_with_one_joint_is_one_bone(tmp_path: Path):
    skeleton = load(
        tmp_path,
        """<body name="a" pos="0 0 1"><joint name="first" axis="0 2 0" range="-90 45"/>
             <body name="b" pos="1 0 0"><body name="c" pos="1 0 0">
               <joint name="second" type="slide" axis="1 0 0" range="-1 1" ref=".25"/>
           </body></body></body>""",
    )
    assert skeleton.name == "model"
    assert skeleton.bone_names == ("a", "b", "c")
    assert skeleton.dof_names == ("a.ry", "c.tx")
    np.testing.assert_allclose(skeleton.lower, [-math.pi / 2, -1])
    np.testing.assert_allclose(skeleton.upper, [math.pi / 4, 1])
    pose = skeleton.forward([-math.pi / 2, 0.75])
    np.testing.assert_allclose(pose.positions, [[0, 0, 1], [0, 0, 2], [0, 0, 3.5]], atol=1e-15)


def test_an_anchor_apart_from_the_origin_makes_a_bone(tmp_path: Path):
    skeleton = load(tmp_path, '<body name="door"><joint name="hinge" pos="0 1 0"/></body>')
    assert skeleton.bone_names == ("hinge", "door")
    assert skeleton.dof_names == ("hinge.rz",)
    pose = skeleton.forward([math.pi / 2])
    np.testing.assert_allclose(pose.positions, [[0, 1, 0], [1, 1, 0]], atol=1e-15)
    np.testing.assert_allclose(pose.rotations[1], axis_rotation("z", math.pi / 2), atol=1e-15)


def test_an_anchor_along_the_axis_does_not_matter(tmp_path: Path):
    skeleton = load(tmp_path, '<body name="a"><joint axis="1 1 0" pos="3 3 0"/></body>')
    assert skeleton.bone_names == ("a",)
    slider = load(tmp_path, '<body name="a"><joint type="slide" pos="3 3 0"/></body>')
    assert slider.bone_names == ("a",)
    two = '<body name="a"><joint name="j" pos="0 0 1"/><joint pos="0 0 1" axis="1 0 0"/></body>'
    skeleton = load(tmp_path, two)
    assert skeleton.bone_names == ("j", "a_joint2", "a")
    # Joints that cross in a point in the file do so in the skeleton.
    np.testing.assert_array_equal(
        skeleton.forward([0, 0]).positions, [[0, 0, 1], [0, 0, 1], [0, 0, 0]]
    )


def test_several_joints_are_a_chain_that_ends_in_the_body(tmp_path: Path):
    skeleton = load(
        tmp_path,
        """<body name="thigh"><joint name="hip_x" axis="1 0 0"/><joint axis="0 0 1"/>
           <joint name="hip_y" axis="0 1 0"/><body name="shin" pos="0 0 -1"/></body>""",
    )
    assert skeleton.bone_names == ("hip_x", "thigh_joint2", "thigh", "shin")
    assert skeleton.dof_names == ("hip_x.rx", "thigh_joint2.rz", "thigh.ry")
    x, z, y = angles = (0.3, -0.4, 0.5)
    expected = axis_rotation("x", x) @ axis_rotation("z", z) @ axis_rotation("y", y)
    np.testing.assert_allclose(skeleton.forward(angles).rotations[2], expected, atol=1e-15)


def test_bones_between_give_way_to_bodies(tmp_path: Path):
    skeleton = load(
        tmp_path,
        """<body name="a"><joint name="b"/><joint name="a" axis="1 0 0"/><body name="b">
           <joint/><joint/></body><body name="b_joint1"/><body/></body>""",
    )
    assert skeleton.bone_names == ("a_b", "a", "b_joint1_2", "b", "b_joint1", "body4")


def test_ref_is_the_coordinate_of_the_pose_in_the_file(tmp_path: Path):
    inside = """<body name="a" euler="10 20 30"><joint ref="40" pos="1 2 3" axis="1 1 1"/>
                <joint type="slide" ref="5" axis="0 1 1"/></body>"""
    skeleton = load(tmp_path, inside)
    drawn = load(tmp_path, inside.replace("ref", "springref"))
    at_ref, at_zero = skeleton.forward([math.radians(40), 5]), drawn.forward([0, 0])
    np.testing.assert_allclose(at_ref.positions[-1], at_zero.positions[-1], atol=1e-14)
    np.testing.assert_allclose(at_ref.rotations[-1], at_zero.rotations[-1], atol=1e-14)


def test_limited_ball_joints_warn(tmp_path: Path):
    inside = '<body name="a"><joint name="j" type="ball" range="0 60"/></body>'
    with pytest.warns(FileWarning, match=r'line 1, <joint name="j">: the limit of a ball'):
        skeleton = load(tmp_path, inside)
    assert skeleton.dof_names == ("a.wx", "a.wy", "a.wz")


@pytest.mark.parametrize(
    ("attributes", "automatic", "limits"),
    [
        ('range="-1 2"', "true", (-1, 2)),
        ('range="-1 2" limited="auto"', "true", (-1, 2)),
        ('range="-1 2" limited="true"', "false", (-1, 2)),
        ('range="-1 2" limited="false"', "false", (-math.inf, math.inf)),
        ('range="2 -1" limited="false"', "true", (-math.inf, math.inf)),
        ('range="0 0"', "true", (-math.inf, math.inf)),
        ('range="0 inf"', "true", (0, math.inf)),
        ("", "false", (-math.inf, math.inf)),
    ],
)
def test_when_a_range_is_a_limit(
    tmp_path: Path, attributes: str, automatic: str, limits: tuple[float, float]
):
    compiler = f'<compiler angle="radian" autolimits="{automatic}"/>'
    skeleton = load(tmp_path, f'<body name="a"><joint {attributes}/></body>', compiler)
    assert (skeleton.lower[0], skeleton.upper[0]) == limits


def test_lengths_in_another_unit(tmp_path: Path):
    inside = """<body name="a" pos="1 2 3"><joint pos="1 0 0" axis="0 1 0"/>
                <joint type="slide" ref="5" range="-1 2" axis="0 0 1"/></body>"""
    metres, inches = load(tmp_path, inside), load(tmp_path, inside, length_unit="in")
    scaled = inches.forward([0.3, 2 * 0.0254])
    expected = 0.0254 * metres.forward([0.3, 2.0]).positions
    np.testing.assert_allclose(scaled.positions, expected, rtol=0, atol=1e-15)
    assert inches.upper.tolist() == [math.inf, 2 * 0.0254]


# --- the root


def test_free_joints_are_the_pose_in_the_world(tmp_path: Path):
    inside = (
        '<body name="a" pos="1 2 3" euler="0 0 90"><freejoint name="f"/><body name="b"/></body>'
    )
    fixed = load(tmp_path, inside, floating=False)
    assert fixed.nv == 0
    np.testing.assert_allclose(fixed.forward([]).positions, [[1, 2, 3], [1, 2, 3]])
    free = load(tmp_path, inside)  # the file decides
    assert free == load(tmp_path, inside, floating=True)
    assert free.home is not None
    pose, in_file = free.forward(free.home), fixed.forward([])
    np.testing.assert_allclose(pose.positions, in_file.positions, atol=1e-15)
    np.testing.assert_allclose(pose.rotations, in_file.rotations, atol=1e-15)
    assert (free.bone_names, free.nq, free.nv) == (("a", "b"), 7, 6)
    pose = free.forward([4, 5, 6, 1, 0, 0, 0])
    np.testing.assert_array_equal(pose.positions[1], [4, 5, 6])
    np.testing.assert_array_equal(pose.rotations[1], np.eye(3))
    assert load_joint_names(tmp_path / "model.xml")["f"] == ("a", 0, 0, 7, 6)
    assert load_joint_names(tmp_path / "model.xml", floating=False) == {}


def test_floating_without_free_joints_frees_what_is_in_the_world(tmp_path: Path):
    still = '<body name="a" pos="1 2 3"><body name="b" pos="0 0 1"/></body>'
    free = load(tmp_path, still, floating=True)
    assert [bone.joint.kind for bone in free.bones] == ["free", "fixed"]
    moving = '<body name="a" pos="1 2 3"><joint name="j"/></body>'
    free = load(tmp_path, moving, floating=True)
    assert free.bone_names == ("a_base", "a")
    assert free.dof_names[6:] == ("a.rz",)
    np.testing.assert_array_equal(free.forward(free.neutral()).positions[1], [1, 2, 3])
    assert load(tmp_path, still).nv == 0 and load(tmp_path, moving).nv == 1
    both = '<body name="table" pos="1 0 0"/><body name="robot"><freejoint/></body>'
    free = load(tmp_path, both, floating=True)
    assert [bone.joint.kind for bone in free.bones] == ["fixed", "free"]


# --- orientations, units, defaults


@pytest.mark.parametrize("sequence", ["xyz", "zyx", "XYZ", "zxz", "XyZ", "Yzy"])
def test_euler_sequences(tmp_path: Path, sequence: str):
    """Small letters turn about axes that move along, capitals about those of the parent."""
    degrees = (20, 30, 40)
    compiler = f'<compiler eulerseq="{sequence}"/>'
    skeleton = load(tmp_path, '<body name="a" euler="20 30 40"/>', compiler)
    expected = np.eye(3)
    for letter, angle in zip(sequence, degrees, strict=True):
        turn = axis_rotation(letter, math.radians(angle))
        expected = expected @ turn if letter.islower() else turn @ expected
    np.testing.assert_allclose(skeleton.forward([]).rotations[0], expected, atol=1e-15)


@pytest.mark.parametrize(
    "same",
    [
        'quat="2 0 0 2"',
        'axisangle="0 0 5 90"',
        'euler="0 0 90"',
        'xyaxes="0 3 0 -2 1 0"',
    ],
)
def test_orientations_that_are_the_same(tmp_path: Path, same: str):
    rotation = load(tmp_path, f'<body name="a" {same}/>').forward([]).rotations[0]
    np.testing.assert_allclose(rotation, axis_rotation("z", math.pi / 2), atol=1e-15)


def test_zaxis_takes_the_shortest_turn(tmp_path: Path):
    for axis in ("1 0 0", "0 -2 0", "1 2 -3", "0 0 -1", "0 0 4"):
        rotation = load(tmp_path, f'<body zaxis="{axis}"/>').forward([]).rotations[0]
        z = np.array(axis.split(), dtype=float)
        z /= np.linalg.norm(z)
        np.testing.assert_allclose(rotation[:, 2], z, atol=1e-15)
        assert (np.trace(rotation) - 1) / 2 == pytest.approx(z[2])


def test_classes_are_inherited_and_overruled(tmp_path: Path):
    defaults = """<default><joint axis="1 0 0" range="-10 10"/>
        <default class="slider"><joint type="slide" range="-1 1"/>
          <default class="tall"><joint axis="0 0 1"/></default></default></default>"""
    inside = """<body name="a"><joint/></body><body name="b" childclass="slider"><joint/>
        <body name="c"><joint/><body name="d"><joint class="tall"/></body>
        <body name="e" childclass="main"><joint axis="0 1 0"/></body>
        <frame childclass="tall"><body name="f"><joint/></body></frame></body></body>"""
    skeleton = load(tmp_path, inside, defaults)
    assert skeleton.dof_names == ("a.rx", "b.tx", "c.tx", "d.tz", "e.ry", "f.tz")
    np.testing.assert_allclose(skeleton.upper[[0, 4]], math.radians(10))
    np.testing.assert_allclose(skeleton.upper[[1, 2, 3, 5]], 1)


def test_what_is_not_kinematics_is_skipped(tmp_path: Path):
    plain = '<body name="a"><joint/></body>'
    rich = """<geom type="plane"/><body name="a"><geom mesh="m"/><joint/><site/><camera/>
        <replicate count="3" euler="0 0 1"><geom size="1"/></replicate></body>"""
    more = """<asset><mesh file="none.stl"/><include file="none.xml"/></asset><actuator/>
        <option/><keyframe><key qpos="1"/></keyframe><sensor/><contact/>"""
    assert load(tmp_path, rich, more) == load(tmp_path, plain)


# --- includes


BODY = '<body name="{}"><joint name="j_{}"/><geom size=".1"/></body>'


def test_includes_are_found_as_mujoco_finds_them(tmp_path: Path):
    """In the folder of the main file, then of the including one, at any place and depth."""
    path = write(
        tmp_path,
        "main.xml",
        """<mujoco><include file="settings.xml"/><worldbody><body name="root"><geom size=".1"/>
             <include file="parts/arm.xml"/></body></worldbody>
             <include file="world.xml"/></mujoco>""",
    )
    write(tmp_path, "settings.xml", '<mujoco><compiler angle="radian"/></mujoco>')
    arm = f'{BODY.format("arm", "arm")}<include file="hand.xml"/><include file="near.xml"/>'
    write(tmp_path, "parts/arm.xml", f"<mujocoinclude>{arm}</mujocoinclude>")
    write(tmp_path, "parts/hand.xml", f"<anything>{BODY.format('far', 'far')}</anything>")
    write(tmp_path, "hand.xml", f"<mujocoinclude>{BODY.format('hand', 'hand')}</mujocoinclude>")
    near = '<body name="near" euler="1 0 0"><joint range="-1 1"/><geom size=".1"/></body>'
    write(tmp_path, "parts/near.xml", f"<mujocoinclude>{near}</mujocoinclude>")
    world = f"<worldbody>{BODY.format('other', 'other')}</worldbody>"
    write(tmp_path, "world.xml", f"<mujocoinclude>{world}</mujocoinclude>")
    skeleton = load_skeleton(path)
    assert skeleton.bone_names == ("root", "arm", "hand", "near", "other")
    assert skeleton.upper[2] == 1.0
    model = mujoco().MjModel.from_xml_path(str(path))
    assert_same_as_mujoco(path, model, np.random.default_rng(1), 1e-12)


def test_an_include_inside_a_folder_may_go_up_again(tmp_path: Path):
    main = '<mujoco><worldbody><include file="sub/a.xml"/></worldbody></mujoco>'
    path = write(tmp_path, "main.xml", main)
    write(tmp_path, "sub/a.xml", '<mujocoinclude><include file="../b.xml"/></mujocoinclude>')
    write(tmp_path, "b.xml", f"<mujocoinclude>{BODY.format('b', 'b')}</mujocoinclude>")
    assert load_skeleton(path).bone_names == ("b",)


def test_includes_stay_inside_the_folder(tmp_path: Path):
    secret = write(tmp_path, "secret.xml", f"<a>{BODY.format('b', 'b')}</a>")
    inside = write(tmp_path, "in/model.xml", "")
    for name in ("../secret.xml", str(secret), "sub/../../secret.xml"):
        text = f'<mujoco>\n<worldbody>\n<include file="{name}"/></worldbody></mujoco>'
        inside.write_text(text)
        with pytest.raises(FileError, match="outside the folder of the main file") as caught:
            load_skeleton(inside)
        assert caught.value.place == "line 3, <include>"


def test_missing_includes(tmp_path: Path):
    body, include = '<body name="a"/>', '<include file="gone.xml"/>'
    with pytest.warns(FileWarning, match=r"line 1, <include>: file 'gone.xml' does not exist"):
        assert len(load(tmp_path, body, before=include).bones) == 1
    for inside, before in ((body + include, ""), (body, f"<default>{include}</default>")):
        with pytest.raises(FileError, match=r"file 'gone.xml' does not exist"):
            load(tmp_path, inside, before)


def test_a_file_is_included_once(tmp_path: Path):
    main = '<mujoco><worldbody><include file="a.xml"/></worldbody></mujoco>'
    for a, b in itertools.product(("a.xml", "b.xml", "main.xml"), repeat=2):
        path = write(tmp_path, "main.xml", main)
        write(tmp_path, "a.xml", f'<a><body/><include file="{a}"/></a>')
        write(tmp_path, "b.xml", f'<b><include file="{b}"/></b>')
        with pytest.raises(FileError, match="second time"):
            load_skeleton(path)


def test_errors_in_an_included_file_name_that_file(tmp_path: Path):
    main = '<mujoco><worldbody><include file="a.xml"/></worldbody></mujoco>'
    path = write(tmp_path, "main.xml", main)
    part = write(tmp_path, "a.xml", '<a>\n<body name="b" pos="1 2"/></a>')
    with pytest.raises(FileError, match="expected 3 numbers, found 2") as caught:
        load_skeleton(path)
    assert caught.value.path == str(part)
    assert caught.value.place == 'line 2, <body name="b">'
