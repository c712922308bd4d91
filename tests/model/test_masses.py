"""Masses of bones: the centre of mass of a pose, what files state, MuJoCo as the judge."""

from __future__ import annotations

import pickle
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import exactik as ik
from exactik.errors import FileWarning, ModelError, UnknownNameError
from exactik.model import BoneMass, Pose
from exactik.recordings.calibration.fitting import make_scaled_skeleton
from tests.support.real_robots import find_robot
from tests.support.visuals import make_boxed_arm

URDF = """<robot name="r">
  <link name="base"><inertial><mass value="2"/><origin xyz="0 0 0.1"/></inertial></link>
  <link name="arm"><inertial><origin xyz="0.5 0 0" rpy="1 0 0"/><mass value="1"/></inertial></link>
  <link name="tool"/>
  <joint name="a" type="revolute"><parent link="base"/><child link="arm"/>
    <origin xyz="0 0 0.2"/><axis xyz="0 0 1"/><limit lower="-2" upper="2" effort="1" velocity="1"/>
  </joint>
  <joint name="t" type="fixed"><parent link="arm"/><child link="tool"/><origin xyz="1 0 0"/></joint>
</robot>"""
MJCF = """<mujoco model="m"><worldbody>
  <body name="base" pos="0.1 0.2 0.3">
    <inertial pos="0 0.05 0.1" mass="2" diaginertia="1 1 1"/>
    <body name="arm" pos="0 0 0.2" quat="0.9 0.1 0.3 0.2">
      <inertial pos="0.5 0 0.02" mass="1" diaginertia="1 1 1"/>
      <joint name="a" axis="0 0 1" pos="0.1 0 0"/><joint name="b" axis="0 1 0"/>
      <body name="tip" pos="1 0 0"><joint name="c" type="slide" axis="1 0 0"/>
        <inertial pos="0 0 0" mass="0.5" diaginertia="1 1 1"/></body>
    </body>
  </body>
</worldbody></mujoco>"""


def test_the_human_weighs_what_its_table_says_and_stands_over_its_feet():
    human = ik.human()
    assert sum(entry.mass for entry in human.masses.values()) == pytest.approx(73.0, abs=1e-9)
    center = human.forward(human.neutral()).center_of_mass
    assert center[1] == pytest.approx(0.0, abs=1e-12)
    # Of men who stand: 0.55 to 0.58 of the stature, arms at 45° lift it; a little before the ankle.
    assert 0.55 < center[2] / 1.75 < 0.58
    assert -0.03 < center[0] < 0.06
    thigh = human.masses["l_thigh"]
    assert thigh.mass == pytest.approx(0.1416 * 73.0)
    assert human.masses["r_hand"].center[1] == -human.masses["l_hand"].center[1]


def test_masses_go_where_a_skeleton_goes(tmp_path: Path):
    human = ik.human()
    assert pickle.loads(pickle.dumps(human)).masses == human.masses
    assert human.with_markers({}).masses == human.masses
    assert human.with_bones(human.bones).masses == human.masses
    assert human.with_masses(None).masses == {}
    ik.save_skeleton(human, tmp_path / "human.npz")
    assert ik.load_skeleton(tmp_path / "human.npz").masses == human.masses
    q = human.neutral()[None] + np.array([[0.0], [0.1]])
    assert human.forward(q).center_of_mass.shape == (2, 3)


def test_what_makes_no_sense_is_refused():
    figure = ik.hand()
    with pytest.raises(ModelError, match="no masses"):
        _ = figure.forward(figure.neutral()).center_of_mass
    for bad in (-1.0, float("nan"), float("inf")):
        with pytest.raises(ModelError, match="mass of bone"):
            figure.with_masses({"palm": BoneMass(bad)})
    with pytest.raises(UnknownNameError, match="nose"):
        figure.with_masses({"nose": BoneMass(1.0)})
    assert figure.with_masses({"palm": BoneMass(0.0)}).masses == {}


def test_a_urdf_states_masses_and_a_link_without_weighs_nothing(tmp_path: Path):
    path = tmp_path / "r.urdf"
    path.write_text(URDF, encoding="utf-8")
    robot = ik.load_skeleton(path)
    assert set(robot.masses) == {"base", "arm"}
    center = robot.forward([np.pi / 2]).center_of_mass
    np.testing.assert_allclose(center, (0.0, 0.5 / 3, (2 * 0.1 + 0.2) / 3), atol=1e-12)


def test_an_mjcf_agrees_with_mujoco(tmp_path: Path):
    mujoco = pytest.importorskip("mujoco")
    path = tmp_path / "m.xml"
    path.write_text(MJCF, encoding="utf-8")
    robot = ik.load_skeleton(path)
    model = mujoco.MjModel.from_xml_string(MJCF)
    data = mujoco.MjData(model)
    rng = np.random.default_rng(0)
    for _ in range(3):
        data.qpos[:] = rng.normal(0.0, 0.7, 3)
        mujoco.mj_forward(model, data)
        center = robot.forward(np.array(data.qpos)).center_of_mass
        np.testing.assert_allclose(center, data.subtree_com[0], atol=1e-12)


def test_re_rooting_keeps_the_centre_of_mass_and_the_look():
    """Of a body that is stretched to its bones as well, which is then stretched no more."""
    slim = [
        replace(b, offset=tuple(1.3 * np.array(b.offset))) if b.name.endswith("shin") else b
        for b in ik.human().bones
    ]
    for figure, fits in ((ik.human(), True), (ik.human().with_bones(slim), False)):
        q = figure.integrate(figure.neutral(), np.random.default_rng(0).normal(0, 0.4, figure.nv))
        moved, q_moved = figure.reroot("r_foot"), figure.reroot_coordinates("r_foot", q)
        before, after = figure.forward(q), moved.forward(q_moved)
        np.testing.assert_allclose(after.center_of_mass, before.center_of_mass, atol=1e-12)
        for one, other in zip(see(before), see(after), strict=True):
            np.testing.assert_allclose(other, one, atol=1e-6)  # weights have single precision
        assert [skin.fits for skin in moved.visuals.skins] == [fits]
        assert pickle.loads(pickle.dumps(moved)).visuals.vertex_count == moved.visuals.vertex_count


def see(pose: Pose) -> list[np.ndarray]:
    return pose.skeleton.visuals.compute_vertices(
        pose.skeleton.bone_names, pose.positions, pose.rotations
    )


ROBOTS = {
    "example-robot-data": (
        "robots/talos_data/robots/talos_full_v2.urdf",
        "robots/panda_description/urdf/panda.urdf",
        "robots/solo_description/robots/solo12.urdf",
    ),
    "mujoco_menagerie": ("unitree_g1/g1.xml", "skydio_x2/x2.xml", "unitree_go2/go2.xml"),
}


@pytest.mark.parametrize(
    ("repository", "file"), [(r, file) for r, files in ROBOTS.items() for file in files]
)
def test_real_robots_keep_masses_and_meshes_when_re_rooted_and_written(
    tmp_path: Path, repository: str, file: str
):
    robot = ik.load_skeleton(find_robot(repository, file), floating=True)
    assert len(robot.masses) > 0
    rng = np.random.default_rng(1)
    q = robot.integrate(robot.neutral(), rng.normal(0.0, 0.5, (3, robot.nv)))
    coupled = {
        dof.rpartition(".")[0] for c in robot.couplings for dof in (c.driven, c.driver or "")
    }
    tip = next(
        (chain[-1] for chain in robot.chains() if coupled.isdisjoint(chain)), robot.bones[0].name
    )
    moved = robot.reroot(tip)
    before, after = robot.forward(q), moved.forward(robot.reroot_coordinates(tip, q))
    np.testing.assert_allclose(after.center_of_mass, before.center_of_mass, atol=1e-12)
    first = [type(p)(p.skeleton, p.positions[0], p.rotations[0]) for p in (before, after)]
    assert len(see(first[0])) == len(robot.visuals.rigid)
    for one, other in zip(*map(see, first), strict=True):
        np.testing.assert_allclose(other, one, atol=2e-12)
    ik.save_skeleton(robot, tmp_path / "r.urdf")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FileWarning)
        assert ik.load_skeleton(tmp_path / "r.urdf").masses == robot.masses


def test_a_written_urdf_weighs_the_same_in_mujoco(tmp_path: Path):
    mujoco = pytest.importorskip("mujoco")
    ik.save_skeleton(ik.human(), tmp_path / "h.urdf")
    assert ik.load_skeleton(tmp_path / "h.urdf").masses == ik.human().masses
    spec = mujoco.MjSpec.from_file(str(tmp_path / "h.urdf"))
    thigh = next(body for body in spec.bodies if body.name == "l_thigh")
    assert thigh.mass == ik.human().masses["l_thigh"].mass
    # A ball of water of 10.3 kg has a radius of 135 mm.
    moments = np.array(thigh.fullinertia)[:3]
    np.testing.assert_allclose(moments, 0.4 * thigh.mass * 0.1351**2, rtol=2e-3)


def test_a_calibrated_figure_keeps_its_masses_and_their_places_on_its_bones():
    """As OpenSim does when a mass distribution is kept and no mass is given."""
    human = ik.human()
    names = list(human.markers)
    scaled = make_scaled_skeleton(human, names, "global")
    theta = np.zeros(scaled.parameter_count)
    theta[0] = np.log(1.2)
    grown = scaled.build(theta)
    assert sum(entry.mass for entry in grown.masses.values()) == pytest.approx(73.0)
    for bone, (mass, center) in human.masses.items():
        assert grown.masses[bone].mass == mass
        np.testing.assert_allclose(grown.masses[bone].center, 1.2 * np.array(center), atol=1e-15)
    weighed = grown.with_total_mass(60.0)
    assert sum(entry.mass for entry in weighed.masses.values()) == pytest.approx(60.0)
    assert weighed.masses["l_thigh"].mass == pytest.approx(0.1416 * 60.0)
    for bad in (0.0, -1.0, float("nan")):
        with pytest.raises(ModelError, match="total mass"):
            grown.with_total_mass(bad)
    with pytest.raises(ModelError, match="no masses"):
        ik.hand().with_total_mass(1.0)


def test_meshes_and_masses_at_the_ends_grow_with_what_carries_them():
    robot = make_boxed_arm().with_markers({})
    tip = robot.chains()[0][-1]
    robot = robot.with_masses({tip: BoneMass(1.0, (0.1, 0.0, 0.0))})
    scaled = make_scaled_skeleton(robot, [], "global")
    assert scaled.bone_groups[robot.bone_index(tip)] < 0
    grown = scaled.build(np.full(scaled.parameter_count, np.log(2.0)))
    assert grown.masses[tip].center[0] == pytest.approx(0.2)
    for one, other in zip(robot.visuals.rigid, grown.visuals.rigid, strict=True):
        np.testing.assert_allclose(other.T_bone_mesh[:3], 2.0 * one.T_bone_mesh[:3], atol=1e-15)


def test_an_opensim_model_states_masses(shared_data: Path):
    path = shared_data / "data/opensim/gait2354/gait2354_simbody_generic.osim"
    if not path.exists():
        found = sorted((shared_data / "data/opensim").rglob("gait2354_simbody_generic.osim"))
        if len(found) == 0:
            pytest.skip("no such file")
        path = found[0]
    model = ik.load_skeleton(path)
    assert sum(entry.mass for entry in model.masses.values()) == pytest.approx(75.1646, abs=1e-3)
