"""What robots collide with: URDF's <collision>, MJCF's geoms, SRDF's pairs."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import exactik as ik
from exactik.model.shapes import Capsule, CollisionShape

URDF = """<robot name="r">
<link name="base"><collision><origin xyz="0 0 1"/><geometry><sphere radius="0.2"/></geometry>
</collision></link>
<link name="arm">
  <collision><origin rpy="0 1.5707963267948966 0" xyz="0.5 0 0"/>
    <geometry><cylinder radius="0.05" length="0.6"/></geometry></collision>
  <collision><geometry><box size="0.1 0.1 0.4"/></geometry></collision>
  <collision><geometry><mesh filename="tetra.obj" scale="2 2 2"/></geometry></collision>
  <collision><geometry><mesh filename="gone.stl"/></geometry></collision>
</link>
<joint name="j" type="revolute"><parent link="base"/><child link="arm"/>
  <limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
</robot>"""
TETRA = "v 0 0 0\nv 0.1 0 0\nv 0 0.1 0\nv 0 0 0.3\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n"
SRDF = '<robot name="r"><disable_collisions link1="base" link2="arm" reason="Adjacent"/></robot>'
MJCF = """<mujoco>
<default><default class="see"><geom contype="0" conaffinity="0"/></default></default>
<worldbody><geom type="plane" size="1 1 1"/>
<body name="a" pos="0 0 1"><joint/>
  <geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.04"/><geom class="see" size="0.5"/>
  <body name="b" pos="0.3 0 0"><joint axis="0 1 0"/><geom type="sphere" size="0.06" pos="0.1 0 0"/>
  </body></body></worldbody>
<contact><exclude body1="a" body2="b"/></contact></mujoco>"""


def capsule(shape: CollisionShape) -> Capsule:
    assert isinstance(shape, Capsule)
    return shape


def test_shapes_of_a_urdf(tmp_path: Path) -> None:
    file = tmp_path / "r.urdf"
    file.write_text(URDF, "utf-8")
    (tmp_path / "tetra.obj").write_text(TETRA, "utf-8")
    shapes = ik.load_skeleton(str(file)).shapes
    assert shapes.source == "file"
    assert shapes.left_out == frozenset()
    assert [shape.bone for shape in shapes.shapes] == ["base", *["arm"] * 3]
    sphere, cylinder, box, mesh = map(capsule, shapes.shapes)
    np.testing.assert_allclose(sphere.ends, [[0, 0, 1]] * 2)
    assert sphere.radius == 0.2
    np.testing.assert_allclose(cylinder.ends, [[0.25, 0, 0], [0.75, 0, 0]], atol=1e-12)
    np.testing.assert_allclose(box.ends, [[0, 0, -0.15], [0, 0, 0.15]], atol=1e-12)
    assert box.radius == 0.05
    assert mesh.radius >= 0.1
    assert any("gone.stl" in note for note in shapes.notes)
    assert "as capsules, their edges rounded off: cylinder, box, mesh" in shapes.notes


def test_an_srdf_beside_it_is_read(tmp_path: Path) -> None:
    file = tmp_path / "r.urdf"
    file.write_text(URDF, "utf-8")
    (tmp_path / "r.srdf").write_text(SRDF, "utf-8")
    assert ik.load_skeleton(str(file)).shapes.left_out == {frozenset(("base", "arm"))}


def test_shapes_of_an_mjcf(tmp_path: Path) -> None:
    file = tmp_path / "r.xml"
    file.write_text(MJCF, "utf-8")
    shapes = ik.load_skeleton(str(file)).shapes
    own, sphere = map(capsule, shapes.shapes)
    np.testing.assert_allclose(sorted(own.ends[:, 0]), [0, 0.3], atol=1e-12)
    assert own.radius == 0.04
    np.testing.assert_allclose(sphere.ends, [[0.1, 0, 0]] * 2)
    assert shapes.left_out == {frozenset(("a", "b"))}


def test_a_robot_whose_file_says_nothing_has_fitted_ones(tmp_path: Path) -> None:
    file = tmp_path / "r.urdf"
    plain = '<robot name="r"><link name="a"/><link name="b"/><joint name="j" type="fixed">'
    plain += '<parent link="a"/><child link="b"/><origin xyz="0 0 0.5"/></joint></robot>'
    file.write_text(plain, "utf-8")
    shapes = ik.load_skeleton(str(file)).shapes
    assert shapes.source == "bones"
    assert [shape.bone for shape in shapes.shapes] == ["a"]
