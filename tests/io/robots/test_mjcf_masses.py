"""Masses that follow from shapes, and home poses, of MJCF files; MuJoCo is the judge of both."""

from __future__ import annotations

import pickle
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import exactik as ik
from exactik.errors import FileWarning, ModelError
from exactik.io.robots import measure_mesh
from exactik.model import BoneMass
from exactik.studio.viewer.posing import choose_first_pose
from tests.support.mesh_files import write_lump
from tests.support.real_robots import list_robots, make_missing_files
from tests.support.robot_files import mujoco

SHAPES = """<mujoco model="s"><compiler {compiler}/>
<default><geom density="500"/><default class="heavy"><geom density="3000"/></default></default>
<asset><mesh name="m" file="lump.stl" {mesh}/></asset>
<worldbody>
  <geom type="plane" size="1 1 1"/>
  <body name="all" pos="0 0 1"><freejoint/>
    <geom size="0.1" pos="0.1 0 0"/>
    <geom type="capsule" fromto="0 0 0 0.3 0.2 0.1" size="0.04"/>
    <geom type="cylinder" size="0.05 0.2" pos="0 0.3 0" euler="10 20 30" class="heavy"/>
    <geom type="ellipsoid" size="0.1 0.2 0.3" mass="1.5" group="4"/>
    <frame pos="0.5 0 0" euler="0 90 0"><geom type="box" size="0.1 0.2 0.05" pos="0 0 0.2"/></frame>
    <geom type="ellipsoid" size="0.03 0.02 0.01" {shell}/><geom type="box" size="1 1 1" mass="0"/>
    <body name="stated"><joint/><inertial pos="0 0.1 0" mass="3" diaginertia="1 1 1"/>
      <geom size="2"/>
      <body name="hollow" pos="1 0 0"><joint/><geom type="box" size="0.1 0.2 0.3" {shell}/>
        <geom type="cylinder" size="0.1 0.2" pos="0 0 1" {shell}/>
        <geom type="capsule" size="0.1 0.2" pos="0 1 0" {shell}/><geom size="0.2" {shell}/></body>
      {more}
    </body>
  </body>
</worldbody></mujoco>"""
MESHED = (
    '<body name="meshed"><joint/><geom type="mesh" mesh="m" pos="0 1 0" euler="0 0 40"/></body>'
)
COMPILERS = (
    "",
    'inertiafromgeom="true"',
    'inertiagrouprange="0 3"',
    'settotalmass="7"',
    'boundmass="20"',
)


def write(folder: Path, **parts: str) -> Path:
    write_lump(folder / "lump.stl")
    path = folder / "s.xml"
    empty = dict.fromkeys(("compiler", "mesh", "shell", "more"), "")
    path.write_text(SHAPES.format(**{**empty, **parts}), encoding="utf-8")
    return path


def assert_masses_are_mujocos(path: Path, tolerance: float = 1e-9) -> None:
    """Mass and centre of every body."""
    compare_masses(ik.load_skeleton(path), mujoco().MjModel.from_xml_path(str(path)), tolerance)


def compare_masses(robot: ik.Skeleton, model: Any, tolerance: float) -> None:
    assert robot.masses_note == ""
    for k in range(1, model.nbody):
        mass, center = robot.masses.get(model.body(k).name or f"body{k}", BoneMass(0.0))
        assert mass == pytest.approx(model.body_mass[k], rel=tolerance, abs=1e-12)
        if mass > 1e-9:
            np.testing.assert_allclose(center, model.body_ipos[k], atol=tolerance)


@pytest.mark.parametrize("compiler", COMPILERS)
def test_masses_of_shapes_are_mujocos(tmp_path: Path, compiler: str):
    assert_masses_are_mujocos(write(tmp_path, compiler=compiler))


def test_masses_of_shells_are_mujocos(tmp_path: Path):
    assert_masses_are_mujocos(write(tmp_path, shell='shellinertia="true"'))


@pytest.mark.parametrize("how", ["", "legacy", "exact", "convex", "shell"])
def test_masses_of_meshes_are_mujocos(tmp_path: Path, how: str):
    mesh = 'scale="1 -2 0.5" refpos="0.1 0 0" refquat="0.9 0.1 0 0.3"'
    mesh += f' inertia="{how}"' if how != "" else ""
    path = write(tmp_path, mesh=mesh, more=MESHED)
    # STL has single precision, and so do MuJoCo's vertices after they were scaled.
    assert_masses_are_mujocos(path, 2e-7)


def test_meshes_are_measured_when_somebody_asks(tmp_path: Path):
    path = write(tmp_path, more=MESHED)
    robot = ik.load_skeleton(path)
    sent = pickle.loads(pickle.dumps(robot))
    (tmp_path / "lump.stl").rename(tmp_path / "away.stl")
    assert robot.masses == {} and robot.masses_note.endswith("mesh 'lump.stl' is not there")
    with pytest.raises(ModelError, match=r"has no masses \(.*lump.stl"):
        _ = robot.forward(robot.neutral()).center_of_mass
    assert robot.reroot("meshed").masses_note == robot.masses_note
    (tmp_path / "away.stl").rename(tmp_path / "lump.stl")
    assert set(sent.masses) == {"all", "stated", "hollow", "meshed"}
    assert set(sent.with_bones(sent.bones[:2]).masses) == {"all", "stated"}


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        (MESHED.replace('type="mesh"', 'type="box"'), "a box is fitted to a mesh"),
        (MESHED.replace('mesh="m"', 'mesh="n"'), "mesh 'n' is no asset"),
        ('<body><joint/><replicate count="3"><geom size="1"/></replicate></body>', "replicated"),
    ],
)
def test_masses_that_are_not_known_are_not_half_known(tmp_path: Path, more: str, reason: str):
    robot = ik.load_skeleton(write(tmp_path, more=more))
    assert robot.masses == {} and reason in robot.masses_note


def test_a_flat_mesh_weighs_nothing():
    corners = np.array([[[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
    for how in ("legacy", "exact", "convex"):
        assert measure_mesh(corners, how)[0] == 0.0


# --- home

KEYED = """<mujoco><worldbody>
  <body name="base" pos="0 0 1"><freejoint/><geom size="0.1"/>
    <body name="ball" pos="0.1 0 0"><joint type="ball"/><geom size="0.1"/>
      <body name="hinge" pos="0.1 0 0"><joint name="h" axis="0 1 0" range="-90 90"/>
        <geom size="0.1"/><body name="slide" pos="0.1 0 0"><joint name="s" type="slide"/>
        <geom size="0.1"/></body>
        <body name="follows" pos="0 0.1 0"><joint name="f" axis="1 0 0"/><geom size="0.1"/></body>
      </body></body></body></worldbody>
  <equality><joint joint1="f" joint2="h" polycoef="0.2 0.5 0 0 0"/></equality>
  <keyframe>{keys}</keyframe></mujoco>"""
QPOS = "1 2 3 0.6 0 0.8 0 0.8 0.6 0 0 0.5 0.25 0.45"
HOME = f'<key name="home" qpos="{QPOS}"/>'
IN_FILE = 1.0  # [m] the height of the base where the file has it


def load_keyed(folder: Path, keys: str, **options: bool) -> ik.Skeleton:
    path = folder / "k.xml"
    path.write_text(KEYED.format(keys=keys), encoding="utf-8")
    return ik.load_skeleton(path, **options)


def test_a_home_pose_is_mujocos_and_a_robot_opens_in_it(tmp_path: Path):
    robot = load_keyed(tmp_path, HOME, floating=True)
    model = mujoco().MjModel.from_xml_path(str(tmp_path / "k.xml"))
    data = mujoco().MjData(model)
    mujoco().mj_resetDataKeyframe(model, data, 0)
    mujoco().mj_forward(model, data)
    assert robot.home is not None
    pose = robot.forward(robot.home)
    np.testing.assert_allclose(pose.positions, data.xpos[1:], atol=1e-12)
    np.testing.assert_allclose(pose.center_of_mass, data.subtree_com[0], atol=1e-12)
    assert sum(m.mass for m in robot.masses.values()) == pytest.approx(model.body_mass.sum())
    np.testing.assert_array_equal(choose_first_pose(robot), robot.home)
    fixed = load_keyed(tmp_path, HOME, floating=False)
    assert fixed.home is not None
    np.testing.assert_allclose(fixed.home, [0.8, 0.6, 0.0, 0.0, 0.5, 0.25], atol=1e-15)


def test_a_home_pose_goes_where_a_skeleton_goes(tmp_path: Path):
    robot = load_keyed(tmp_path, HOME, floating=True)
    assert robot.home is not None
    ik.save_skeleton(robot, tmp_path / "k.npz")
    kept = (ik.load_skeleton(tmp_path / "k.npz"), pickle.loads(pickle.dumps(robot)))
    for other in (*kept, robot.with_markers({}), robot.with_visuals(None)):
        np.testing.assert_array_equal(other.home, robot.home)
    free = robot.without_couplings()
    assert free.home is not None and free.nq == robot.nq + 1
    np.testing.assert_allclose(
        free.forward(free.home).positions, robot.forward(robot.home).positions, atol=1e-15
    )
    moved = robot.reroot("ball")
    assert moved.home is not None
    before, after = robot.forward(robot.home), moved.forward(moved.home)
    np.testing.assert_allclose(after.center_of_mass, before.center_of_mass, atol=1e-13)
    # Outside its limits a pose is moved inside.
    bent = load_keyed(tmp_path, HOME.replace(" 0.5 0.25", " 2.5 0.25"), floating=True)
    assert bent.home is not None and bent.home[11] == pytest.approx(np.pi / 2)


@pytest.mark.parametrize(
    ("keys", "height"),
    [
        ("", IN_FILE),
        ('<key name="home" ctrl=""/>', IN_FILE),
        (f'<key qpos="{QPOS}"/>', 3.0),
        (f'<key name="grasp" qpos="{QPOS}"/><key name="point" qpos="{QPOS}"/>', IN_FILE),
        (f'<key name="grasp" qpos="{QPOS}"/><key name="Stand_up" qpos="{QPOS}"/>', 3.0),
        (f'<key name="stand" qpos="{QPOS}"/>{HOME.replace("1 2 3", "1 2 4")}', 4.0),
        (HOME.replace("0.6 0 0.8 0", "0 0 0 0"), 3.0),
    ],
)
def test_which_key_is_the_home(tmp_path: Path, keys: str, height: float):
    home = load_keyed(tmp_path, keys).home
    assert home is not None and home[2] == height
    fixed = load_keyed(tmp_path, keys, floating=False).home
    assert (fixed is None) == (height == IN_FILE)


def test_a_home_of_other_joints_is_not_kept(tmp_path: Path):
    with pytest.warns(FileWarning, match=r'<key name="home">: the pose is not kept: .* 14 numbers'):
        assert load_keyed(tmp_path, '<key name="home" qpos="1 2 3"/>').home is None


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::exactik.errors.FileWarning")
def test_every_robot_of_the_menagerie_weighs_what_mujoco_says(tmp_path: Path):
    """Meshes that are not there are made, since MuJoCo reads no model without them."""
    folder = next(p for p in list_robots("mujoco_menagerie")).parents[1]
    shutil.copytree(folder, tmp_path / "m", ignore=shutil.ignore_patterns("ms_human_700", "*.png"))
    compared = 0
    for path in sorted((tmp_path / "m").rglob("*.xml")):
        make_missing_files(path)
        try:
            model = mujoco().MjModel.from_xml_path(str(path))
            robot = ik.load_skeleton(path)
        except (ValueError, ik.FileError):  # one of the two cannot read it
            continue
        if "is fitted to a mesh" not in robot.masses_note:
            # Quads of an .obj may be cut along either diagonal.
            compare_masses(robot, model, 1e-3)
            compared += 1
    assert compared >= 150
