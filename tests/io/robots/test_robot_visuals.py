"""What robots look like: placed as their files say, MJCF as MuJoCo places it; OpenSim's bodies."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import exactik as ik
from exactik.io.opensim import read_opensim_visuals
from exactik.model import Skeleton
from exactik.model.visuals import Material
from tests.support.mesh_files import MJCF, URDF, VTP, write_stl

XYZ = np.array([1.0, 2.0, 3.0])  # lengths of the box in the STL file


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "meshes").mkdir()
    write_stl(tmp_path / "meshes" / "own.stl")
    return tmp_path


def boxes_of(skeleton: Skeleton, q: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Middle and extent of each visual in the world."""
    pose = skeleton.forward(q)
    names = skeleton.bone_names
    placed = skeleton.visuals.compute_vertices(names, pose.positions, pose.rotations)
    return [(0.5 * (x.min(axis=0) + x.max(axis=0)), np.ptp(x, axis=0)) for x in placed]


def test_urdf_visuals_are_where_the_file_has_them(folder: Path):
    (folder / "r.urdf").write_text(URDF.format(folder="meshes"))
    robot = ik.load_skeleton(folder / "r.urdf")
    visuals = robot.visuals
    assert [v.bone for v in visuals.rigid] == ["a", "a", "b", "b"]
    (note,) = visuals.notes
    assert str(note) == "mesh 'meshes/absent.stl' is not there"
    (mesh, can, box, ball) = boxes_of(robot, np.zeros(1))
    turn = np.abs([[np.cos(1.5), np.sin(1.5)], [np.sin(1.5), np.cos(1.5)]])
    np.testing.assert_allclose(mesh[0], (0, 0, 1), atol=1e-6)
    np.testing.assert_allclose(mesh[1], [*(turn @ (2 * XYZ[:2])), 6.0], atol=1e-5)
    np.testing.assert_allclose(can[1], (0.2, 0.2, 1.0), atol=1e-6)
    np.testing.assert_allclose(box[1], (1, 2, 3), atol=1e-6)
    np.testing.assert_allclose(ball[1], 1.0, atol=1e-6)
    colours = [v.material.base_colour for v in visuals.rigid]
    assert colours[0] == (1.0, 0.0, 0.0, 0.5)
    assert colours[2] == Material.of_srgb((0, 1, 0)).base_colour
    assert colours[1] == colours[3] != colours[0]


def test_urdf_in_other_units_is_scaled(folder: Path):
    (folder / "r.urdf").write_text(URDF.format(folder="meshes"))
    robot = ik.load_skeleton(folder / "r.urdf", "cm")
    np.testing.assert_allclose(boxes_of(robot, np.zeros(1))[2][1], (0.01, 0.02, 0.03), atol=1e-8)


def test_mjcf_geoms_are_where_mujoco_has_them(folder: Path):
    mujoco = pytest.importorskip("mujoco")
    text = MJCF.format(folder="meshes").replace('<mesh file="absent.stl"/>', "")
    text = text.replace('<geom type="mesh" mesh="absent"/>', "")
    (folder / "r.xml").write_text(text)
    model = mujoco.MjModel.from_xml_path(str(folder / "r.xml"))
    data = mujoco.MjData(model)
    data.qpos[:] = (0.4, -0.7)
    mujoco.mj_forward(model, data)
    robot = ik.load_skeleton(folder / "r.xml")
    shown = [g for g in range(model.ngeom) if model.geom_group[g] <= 2 and model.geom_bodyid[g] > 0]
    found = boxes_of(robot, np.array(data.qpos))
    assert len(shown) == len(found) == 6
    for geom, (middle, extent) in zip(shown, found, strict=True):
        np.testing.assert_allclose(middle, data.geom_xpos[geom], atol=1e-5)
        # MuJoCo's box around a geom, in its own axes; along the world's it is |R| times that.
        R_world_geom = np.abs(data.geom_xmat[geom].reshape(3, 3))
        is_round = model.geom_type[geom] != mujoco.mjtGeom.mjGEOM_BOX
        half = R_world_geom @ model.geom_aabb[geom, 3:]
        assert (0.5 * extent <= half + 1e-5).all()
        if not is_round:
            np.testing.assert_allclose(0.5 * extent, half, atol=1e-5)


def test_mjcf_notes_what_is_missing_and_leaves_out_what_collides(folder: Path):
    (folder / "r.xml").write_text(MJCF.format(folder="meshes"))
    visuals = ik.load_skeleton(folder / "r.xml").visuals
    assert [v.bone for v in visuals.rigid] == ["a", "a", "a", "b", "b", "b"]
    assert [note.code for note in visuals.notes] == ["mesh-missing"]
    red, blue = visuals.rigid[0].material, visuals.rigid[1].material
    assert (red.base_colour, blue.base_colour) == ((0, 0, 1, 1), (0, 0, 1, 1))  # rgba wins


def test_damaged_visuals_do_not_keep_a_robot_from_being_loaded(folder: Path):
    text = URDF.format(folder="meshes").replace('size="1 2 3"', 'size="1 2"')
    (folder / "r.urdf").write_text(text.replace("meshes/own.stl", "../../../etc/passwd"))
    robot = ik.load_skeleton(folder / "r.urdf")
    assert robot.nv == 1
    codes = sorted(note.code for note in robot.visuals.notes)
    assert codes == ["mesh-missing", "mesh-not-read"]


def test_thousands_of_shapes_are_cut_off(folder: Path):
    many = "".join('<geom size="0.1"/>' for _ in range(3001))
    text = f'<mujoco><worldbody><body name="a"><joint/>{many}</body></worldbody></mujoco>'
    (folder / "r.xml").write_text(text)
    visuals = ik.load_skeleton(folder / "r.xml").visuals
    assert len(visuals.rigid) == 3000
    assert str(visuals.notes[0]) == "the first 3000 shapes are shown alone"


NEW_MODEL = """<OpenSimDocument Version="40000"><Model name="m"><BodySet><objects>
<Body name="b"><mass>1</mass><attached_geometry>
<Mesh name="x"><scale_factors>2 1 1</scale_factors><mesh_file>own.vtp</mesh_file>
<Appearance><color>1 0 0</color></Appearance></Mesh>
<Mesh name="y"><mesh_file>absent.vtp</mesh_file></Mesh>
<Cylinder name="c"><radius>0.1</radius><half_height>0.5</half_height></Cylinder>
</attached_geometry><components><PhysicalOffsetFrame name="f">
<attached_geometry><Brick name="k"><half_lengths>0.5 1 1.5</half_lengths></Brick>
</attached_geometry><socket_parent>..</socket_parent><translation>0 0 7</translation>
</PhysicalOffsetFrame></components></Body></objects></BodySet></Model></OpenSimDocument>"""
OLD_MODEL = """<OpenSimDocument Version="20302"><Model name="m"><BodySet><objects>
<Body name="b"><mass>1</mass><VisibleObject><GeometrySet><objects><DisplayGeometry>
<geometry_file>own.vtp</geometry_file><color>0 1 0</color>
<transform>0 0 1.5707963267948966 5 0 0</transform><scale_factors>1 3 1</scale_factors>
</DisplayGeometry></objects></GeometrySet><scale_factors>1 1 1</scale_factors>
<transform>0 0 0 0 0 0</transform></VisibleObject></Body></objects></BodySet></Model>
</OpenSimDocument>"""


def test_opensim_geometry_of_both_kinds_of_versions(tmp_path: Path):
    (tmp_path / "Geometry").mkdir()
    (tmp_path / "Geometry" / "own.vtp").write_text(VTP)
    (tmp_path / "m.osim").write_text(NEW_MODEL)
    visuals = read_opensim_visuals(str(tmp_path / "m.osim"))
    placed = visuals.compute_vertices(("b",), np.zeros((1, 3)), np.eye(3)[None])
    assert [note.code for note in visuals.notes] == ["mesh-missing"]
    extents = [np.ptp(part, axis=0).round(5).tolist() for part in placed]
    assert extents == [[2, 1, 0], [0.2, 1, 0.2], [1, 2, 3]]
    assert placed[2].mean(axis=0)[2] == pytest.approx(7.0)
    assert visuals.rigid[0].material.base_colour == (1.0, 0.0, 0.0, 1.0)
    (tmp_path / "m.osim").write_text(OLD_MODEL)
    visuals = read_opensim_visuals(str(tmp_path / "m.osim"))
    (part,) = visuals.compute_vertices(("b",), np.zeros((1, 3)), np.eye(3)[None])
    np.testing.assert_allclose(
        [part.min(axis=0), part.max(axis=0)], [(2, 0, 0), (5, 1, 0)], atol=1e-6
    )


@pytest.mark.parametrize("scale", ["1e33 1 1", "1e300 1e300 1e300"])
def test_a_mesh_too_large_for_a_page_is_said_and_the_others_shown(folder: Path, scale: str):
    urdf = URDF.format(folder="meshes").replace('scale="2 2 2"', f'scale="{scale}"')
    (folder / "r.urdf").write_text(urdf)
    visuals = ik.load_skeleton(folder / "r.urdf").visuals
    assert len(visuals.rigid) == 3
    assert any("nothing as far is shown" in note for note in visuals.notes)
