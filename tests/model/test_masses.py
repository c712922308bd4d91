"""Masses of bones: the centre of mass of a pose, what files state, MuJoCo as the judge."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

import exactik as ik
from exactik.model import BoneMass

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
    with pytest.raises(ik.ModelError, match="no masses"):
        _ = figure.forward(figure.neutral()).center_of_mass
    for bad in (-1.0, float("nan"), float("inf")):
        with pytest.raises(ik.ModelError, match="mass of bone"):
            figure.with_masses({"palm": BoneMass(bad)})
    with pytest.raises(ik.UnknownNameError, match="nose"):
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
    # Where MuJoCo would take a mass from a shape nothing is said rather than half of it.
    path.write_text(MJCF.replace("<joint name=", '<geom size="0.1"/><joint name=', 1), "utf-8")
    assert len(ik.load_skeleton(path).masses) == 3
    shaped = MJCF.replace(
        '<inertial pos="0 0 0" mass="0.5" diaginertia="1 1 1"/>', '<geom size="1"/>'
    )
    path.write_text(shaped, encoding="utf-8")
    assert ik.load_skeleton(path).masses == {}


def test_an_opensim_model_states_masses(shared_data: Path):
    path = shared_data / "data/opensim/gait2354/gait2354_simbody_generic.osim"
    if not path.exists():
        found = sorted((shared_data / "data/opensim").rglob("gait2354_simbody_generic.osim"))
        if len(found) == 0:
            pytest.skip("no such file")
        path = found[0]
    model = ik.load_skeleton(path)
    assert sum(entry.mass for entry in model.masses.values()) == pytest.approx(75.1646, abs=1e-3)
