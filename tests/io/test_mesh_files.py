"""STL, OBJ, COLLADA and VTP against trimesh, faults in one sentence, nothing opened elsewhere."""

from __future__ import annotations

import os
import struct
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from exactik.errors import FileError
from exactik.io.meshes import (
    MAX_MESH_BYTES,
    MAX_TEXTURE_BYTES,
    MeshFinder,
    MeshLibrary,
    MeshPart,
    read_mesh_file,
    read_texture,
    shade,
)
from exactik.model.visuals import Material, make_cylinder, make_sphere
from tests.support.mesh_files import DAE, MTL, OBJ, VTP, write_stl
from tests.support.visuals import make_png


def read(path: Path) -> list[MeshPart]:
    return read_mesh_file(str(path), MeshFinder(str(path.parent / "robot.urdf")))


def area(part: MeshPart) -> float:
    corners = (part.mesh.vertices @ part.T_file_mesh[:3, :3].T)[part.mesh.faces]
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    return float(0.5 * np.linalg.norm(across, axis=1).sum())


@pytest.mark.parametrize("text", [False, True])
def test_stl_is_read_binary_or_as_text(tmp_path: Path, text: bool):
    write_stl(tmp_path / "a.stl", text)
    (part,) = read(tmp_path / "a.stl")
    assert len(part.mesh.faces) == 12
    assert len(part.mesh.vertices) == 24  # edges of a box stay edges
    assert area(part) == pytest.approx(22.0)


def test_round_surfaces_are_shaded_smoothly_and_edges_are_kept():
    for source, corners in ((make_sphere(1.0), 1), (make_cylinder(0.5, 1.0), 2)):
        mesh = shade(source.vertices, source.faces)
        assert mesh.normals is not None
        places = np.unique(mesh.vertices, axis=0)
        assert len(mesh.vertices) == corners * len(places)
    flat = shade(np.zeros((3, 3)), np.array([(0, 1, 2)]))
    assert len(flat.faces) == 0


def test_the_angle_of_an_edge_is_between_that_of_a_prism_and_of_a_box():
    """Sides of 12 meet at 30° and are smooth, sides of 6 at 60° and are not."""
    for sides, split in ((12, False), (6, True)):
        angles = 2.0 * np.pi * np.arange(sides) / sides
        ring = np.stack([np.cos(angles), np.sin(angles)], axis=1)
        low, high = np.c_[ring, np.zeros(sides)], np.c_[ring, np.ones(sides)]
        k, n = np.arange(sides), (np.arange(sides) + 1) % sides
        faces = np.concatenate([np.c_[k, n, sides + n], np.c_[k, sides + n, sides + k]])
        count = len(shade(np.concatenate([low, high]), faces).vertices)
        assert (count > 2 * sides) == split


def test_obj_has_a_surface_for_each_material(tmp_path: Path):
    (tmp_path / "a.obj").write_text(OBJ)
    (tmp_path / "box.mtl").write_text(MTL)
    (tmp_path / "box.png").write_bytes(make_png(2, 2))
    red, bare = read(tmp_path / "a.obj")
    assert red.material is not None
    assert red.material.base_colour == (1.0, 0.0, 0.0, 0.5)
    assert bare.material is None
    assert (area(red), area(bare)) == (1.0, 0.5)
    assert red.mesh.uv is not None
    np.testing.assert_array_equal(red.mesh.uv[:, 1], 1.0 - red.mesh.vertices[:, 1])
    (tmp_path / "a.obj").write_text(OBJ.replace("usemtl red", "usemtl painted"))
    painted = read(tmp_path / "a.obj")[0].material
    assert painted is not None
    assert painted.textures["base_colour"].image_type == "image/png"
    assert painted.base_colour == (1.0, 1.0, 1.0, 1.0)


def test_collada_has_units_transforms_colours_and_textures(tmp_path: Path):
    (tmp_path / "a.dae").write_text(DAE)
    (tmp_path / "box.png").write_bytes(make_png(2, 2))
    polygon, triangle = read(tmp_path / "a.dae")
    assert (area(polygon), area(triangle)) == (pytest.approx(1.0), pytest.approx(0.5))
    placed = polygon.mesh.vertices @ polygon.T_file_mesh[:3, :3].T + polygon.T_file_mesh[:3, 3]
    np.testing.assert_allclose(placed.min(axis=0), (-1.0, 0.0, 0.5), atol=1e-6)
    assert triangle.material == Material.of_srgb((0, 1, 0), "green")
    assert polygon.material is not None
    assert list(polygon.material.textures) == ["base_colour"]


def test_vtp_polygons_are_triangles(tmp_path: Path):
    (tmp_path / "a.vtp").write_text(VTP)
    (part,) = read(tmp_path / "a.vtp")
    assert len(part.mesh.faces) == 2
    assert area(part) == pytest.approx(1.0)


def test_files_agree_with_trimesh(tmp_path: Path):
    trimesh = pytest.importorskip("trimesh")
    shape = trimesh.creation.annulus(0.2, 0.5, 1.0)
    for suffix in (".stl", ".obj", ".glb"):
        shape.export(tmp_path / f"a{suffix}")
        parts = read(tmp_path / f"a{suffix}")
        assert sum(map(area, parts)) == pytest.approx(shape.area, rel=1e-5)


# --- damage

FAULTS: dict[str, tuple[str, bytes]] = {
    "empty": ("a.stl", b""),
    "short": ("a.stl", bytes(80) + struct.pack("<I", 10) + bytes(50)),
    "not finite": ("a.stl", bytes(80) + struct.pack("<I", 1) + b"\xff" * 50),
    "no number": ("a.stl", b"solid a\nvertex 1 2 x\nvertex 1 2 3\nvertex 1 2 3"),
    "no face": ("a.obj", b"v 0 0 0\n"),
    "wrong corner": ("a.obj", b"v 0 0 0\nf 1 2 3\n"),
    "word": ("a.obj", b"v 0 0 zero\nv 1 1 1\nv 2 2 2\nf 1 2 3\n"),
    "other xml": ("a.dae", b"<robot/>"),
    "entity": ("a.dae", b'<!DOCTYPE a [<!ENTITY b "c">]><COLLADA>&b;</COLLADA>'),
    "no mesh": ("a.dae", b"<COLLADA/>"),
    "index": ("a.dae", DAE.replace("<p>0 1 2</p>", "<p>0 1 9</p>").encode()),
    "vcount": ("a.dae", DAE.replace("<vcount>4</vcount>", "<vcount>400</vcount>").encode()),
    "offset": ("a.vtp", VTP.replace(">4<", ">400<").encode()),
    "binary": ("a.vtp", VTP.replace('"ascii"', '"appended"').encode()),
    "no vtk": ("a.vtp", b"<VTKFile/>"),
    "glb": ("a.glb", b"glTF"),
    "kind": ("a.fbx", b"Kaydara"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_damaged_mesh_is_one_sentence(tmp_path: Path, name: str):
    file, data = FAULTS[name]
    (tmp_path / file).write_bytes(data)
    with pytest.raises(FileError) as error:
        read(tmp_path / file)
    assert str(error.value).startswith(str(tmp_path / file))
    assert "\n" not in str(error.value)


def test_without_trimesh_a_mesh_is_one_sentence(tmp_path: Path, monkeypatch: Any):
    write_stl(tmp_path / "a.stl")
    for name in [name for name in sys.modules if name.startswith("trimesh")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "trimesh", None)
    with pytest.raises(FileError, match=r"a\.stl: meshes need trimesh; .*pip install"):
        read(tmp_path / "a.stl")


def test_a_mesh_without_an_area_is_none(tmp_path: Path):
    points = "".join(f"v {k} {k} {k}\n" for k in range(3))
    (tmp_path / "line.obj").write_text(f"{points}f 1 2 3\n")
    with pytest.raises(FileError, match=r"line\.obj: no triangle has an area"):
        read_mesh_file(str(tmp_path / "line.obj"), MeshFinder(str(tmp_path / "line.obj")))


def test_large_files_are_refused_unread(tmp_path: Path):
    for name, size in (("a.stl", MAX_MESH_BYTES), ("a.png", MAX_TEXTURE_BYTES)):
        with open(tmp_path / name, "wb") as file:
            file.truncate(size + 1)  # takes no space on the disk
        with pytest.raises(FileError, match="larger than"):
            if name == "a.png":
                read_texture(str(tmp_path / name))
            read(tmp_path / name)
    assert 28_766_640 < MAX_MESH_BYTES < 2**29  # the largest mesh that was seen
    assert 2**24 < MAX_TEXTURE_BYTES < 2**28


def test_images_are_measured_before_they_are_used(tmp_path: Path):
    huge = bytearray(make_png(2, 2))
    struct.pack_into(">II", huge, 16, 40000, 40000)
    (tmp_path / "a.png").write_bytes(huge)
    with pytest.raises(FileError, match="40000 × 40000 pixels"):
        read_texture(str(tmp_path / "a.png"))
    (tmp_path / "a.png").write_bytes(b"BM")
    with pytest.raises(FileError, match="neither PNG nor JPEG"):
        read_texture(str(tmp_path / "a.png"))


# --- where meshes may be


@pytest.fixture
def package(tmp_path: Path) -> Path:
    folder = tmp_path / "work" / "src" / "robot_description"
    for part in ("urdf", "meshes"):
        (folder / part).mkdir(parents=True)
    write_stl(folder / "meshes" / "a.stl")
    write_stl(tmp_path / "work" / "src" / "secret.stl")
    write_stl(tmp_path / "secret.stl")
    return folder


@pytest.mark.parametrize(
    "reference",
    [
        "../meshes/a.stl",
        "..\\meshes\\a.stl",
        "package://robot_description/meshes/a.stl",
        "model://robot_description/meshes/a.stl",
        "package://robot%5Fdescription/meshes/a.stl",
    ],
)
def test_meshes_of_the_package_are_found(package: Path, reference: str):
    finder = MeshFinder(str(package / "urdf" / "robot.urdf"))
    assert finder.find(reference) == os.path.realpath(package / "meshes" / "a.stl")
    absolute = f"file://{package}/meshes/a.stl"
    assert finder.find(absolute) == os.path.realpath(package / "meshes" / "a.stl")


@pytest.mark.parametrize(
    "reference",
    [
        "../../secret.stl",
        "../../../../secret.stl",
        "package://robot_description/../secret.stl",
        "package://robot_description/../../../secret.stl",
        "package://../secret.stl",
        "package:///secret.stl",
        "http://example.org/a.stl",
        "{tmp}/secret.stl",
        "file://{tmp}/secret.stl",
        "link/secret.stl",
        "a\0.stl",
        "",
    ],
)
def test_nothing_outside_is_opened(package: Path, tmp_path: Path, reference: str):
    (package / "urdf" / "link").symlink_to(tmp_path)
    finder = MeshFinder(str(package / "urdf" / "robot.urdf"))
    with pytest.raises(FileError) as error:
        finder.find(reference.replace("{tmp}", str(tmp_path)))
    assert error.value.code in ("mesh-outside", "mesh-missing")


def test_packages_are_found_where_ros_says(package: Path, tmp_path: Path, monkeypatch: Any):
    finder = MeshFinder(str(tmp_path / "elsewhere" / "deep" / "robot.urdf"))
    reference = "package://robot_description/meshes/a.stl"
    with pytest.raises(FileError, match="is not there"):
        finder.find(reference)
    monkeypatch.setenv("ROS_PACKAGE_PATH", f"/nowhere{os.pathsep}{package.parent}")
    assert finder.find(reference) == os.path.realpath(package / "meshes" / "a.stl")


def test_packages_are_looked_for_a_few_folders_up(tmp_path: Path):
    write_stl(tmp_path / "a.stl")
    (tmp_path / "p").mkdir()
    write_stl(tmp_path / "p" / "a.stl")
    for depth, found in ((3, True), (12, False)):
        path = tmp_path.joinpath(*["d"] * depth, "robot.urdf")
        finder = MeshFinder(str(path))
        if found:
            assert finder.find("package://p/a.stl")
        else:
            with pytest.raises(FileError):
                finder.find("package://p/a.stl")


@pytest.mark.parametrize("reference", ["../other/a.stl", "package://other/a.stl"])
def test_a_file_sent_to_a_page_does_not_look_around(
    tmp_path: Path, monkeypatch: Any, reference: str
):
    """It lies in a temporary folder of its own, beside those of others; or in somebody's home."""
    folders = [tmp_path / "other", tmp_path / "mine" / "deep"]
    for folder in folders:
        folder.mkdir(parents=True)
        write_stl(folder / "a.stl")
    model = str(tmp_path / "mine" / "robot.urdf")
    assert MeshFinder(model).find(reference)
    for target, name, value in (
        (tempfile, "gettempdir", lambda: str(tmp_path)),
        (os.path, "expanduser", lambda path: str(tmp_path / "mine")),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(target, name, value)
            with pytest.raises(FileError) as error:
                MeshFinder(model).find(reference)
            assert error.value.code in ("mesh-outside", "mesh-missing")
            assert MeshFinder(model).find("deep/a.stl")


def test_a_hidden_folder_is_no_package(tmp_path: Path):
    (tmp_path / ".ssh").mkdir()
    write_stl(tmp_path / ".ssh" / "a.stl")
    with pytest.raises(FileError, match="is not there"):
        MeshFinder(str(tmp_path / "model" / "robot.urdf")).find("package://.ssh/a.stl")


def test_what_is_missing_is_one_note(package: Path):
    library = MeshLibrary(MeshFinder(str(package / "urdf" / "robot.urdf")))
    for reference in ("../meshes/a.stl", "b.stl", "c.stl", "../../secret.stl", "../meshes/a.stl"):
        library.add_file("n", "bone", reference, np.eye(4), None)
    visuals = library.build()
    assert len(visuals.rigid) == 2
    assert visuals.rigid[0].mesh is visuals.rigid[1].mesh
    assert [note.code for note in visuals.notes] == ["mesh-missing", "mesh-outside"]
    assert str(visuals.notes[0]) == "mesh 'b.stl' is not there; and 1 other"
