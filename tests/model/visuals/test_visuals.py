"""Meshes and skins: checked, placed by the pose, read when they are looked at."""

from __future__ import annotations

import pickle
import struct

import numpy as np
import pytest

import exactik as ik
from exactik.errors import FileError, ModelError
from exactik.model.visuals import (
    MAX_PIXELS,
    MAX_VERTICES,
    LazyVisuals,
    Material,
    Mesh,
    Skin,
    Visual,
    Visuals,
    compute_normals,
    find_image_type,
    join_meshes,
    make_box,
    make_capsule,
    make_cylinder,
    make_sphere,
    measure_image,
    srgb_to_linear,
)
from tests.support.models import planar_arm
from tests.support.visuals import make_png, make_skinned_arm

TRIANGLE = np.eye(3), np.array([(0, 1, 2)])


@pytest.mark.parametrize(
    ("mesh", "volume", "area"),
    [
        (make_box((1.0, 2.0, 3.0)), 6.0, 22.0),
        (make_cylinder(0.5, 2.0), np.pi * 0.5, 2.5 * np.pi),
        (make_sphere(0.5), np.pi / 6.0, np.pi),
        (make_capsule(0.5, 1.0), np.pi * (0.25 + 1.0 / 6.0), 2.0 * np.pi),
    ],
)
def test_shapes_are_closed_and_face_outwards(mesh: Mesh, volume: float, area: float):
    corners = mesh.vertices[mesh.faces].astype(float)
    a, b, c = corners.swapaxes(0, 1)
    across = np.cross(b - a, c - a)
    assert np.einsum("ni,ni->", a, np.cross(b, c)) / 6.0 == pytest.approx(volume, rel=0.02)
    assert 0.5 * np.linalg.norm(across, axis=1).sum() == pytest.approx(area, rel=0.02)
    assert mesh.normals is not None
    outwards = np.einsum("ni,nki->nk", across, mesh.normals[mesh.faces])
    assert (outwards[np.linalg.norm(across, axis=1) > 1e-9] > 0.0).all()


def test_normals_point_away_from_a_sphere():
    sphere = make_sphere(1.0)
    normals = compute_normals(sphere.vertices, sphere.faces)
    np.testing.assert_allclose(np.linalg.norm(normals, axis=1), 1.0)
    away = np.einsum("ni,ni->n", normals, sphere.vertices)
    assert np.median(away) > 0.99
    assert compute_normals(np.zeros((2, 3)), np.empty((0, 3), int)).tolist() == [[0, 0, 1]] * 2


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"faces": [(0, 1, 3)]}, "vertex 3, and there are 3"),
        ({"vertices": np.full((3, 3), np.nan)}, "not finite"),
        ({"uv": np.zeros((2, 2))}, "3 vertices has 2 uv"),
        ({"vertices": np.zeros((MAX_VERTICES + 1, 3), np.float32)}, f"{MAX_VERTICES + 1} vertices"),
    ],
)
def test_what_is_no_mesh_is_refused(change: dict, fault: str):
    with pytest.raises(ModelError, match=fault):
        Mesh(**{"vertices": TRIANGLE[0], "faces": TRIANGLE[1], **change})


def test_a_mesh_may_have_as_many_vertices_as_a_detailed_robot():
    assert 10**6 < MAX_VERTICES < 10**7
    assert 4096**2 < MAX_PIXELS < 16384**2


def test_meshes_are_joined():
    box, sphere = make_box((1, 1, 1)), make_sphere(1.0)
    joined = join_meshes([box, sphere])
    assert len(joined.vertices) == len(box.vertices) + len(sphere.vertices)
    np.testing.assert_array_equal(
        joined.vertices[joined.faces[len(box.faces) :]], sphere.vertices[sphere.faces]
    )


def test_a_skin_is_the_mean_of_what_its_bones_make_of_it():
    arm = make_skinned_arm()
    q = arm.neutral() + 0.3
    pose = arm.forward(q)
    (vertices,) = arm.visuals.compute_vertices(arm.bone_names, pose.positions, pose.rotations)
    (skin,) = arm.visuals.skins
    for k in (0, 7, len(vertices) - 1):
        point = np.append(skin.mesh.vertices[k], 1.0)
        expected = np.zeros(3)
        for joint, weight in zip(skin.joints[k], skin.weights[k], strict=True):
            bone = arm.bone_index(skin.bones[joint])
            local = (skin.T_bone_mesh[joint] @ point)[:3]
            expected += weight * (pose.positions[bone] + pose.rotations[bone] @ local)
        np.testing.assert_allclose(vertices[k], expected, atol=1e-7)
    rest = arm.forward(arm.neutral())
    (at_rest,) = arm.visuals.compute_vertices(arm.bone_names, rest.positions, rest.rotations)
    np.testing.assert_allclose(at_rest, skin.mesh.vertices, atol=1e-6)


def test_weights_have_the_sum_one_and_joints_exist():
    mesh, maps = Mesh(*TRIANGLE), np.tile(np.eye(4), (2, 1, 1))
    joints, weights = np.zeros((3, 4), dtype=np.int64), np.zeros((3, 4))
    weights[0, :2], joints[0, 1] = (1.0, 3.0), 1
    skin = Skin("s", mesh, ("a", "b"), maps, joints, weights)
    np.testing.assert_allclose(skin.weights, [(0.25, 0.75, 0, 0), (1, 0, 0, 0), (1, 0, 0, 0)])
    huge = Skin("s", mesh, ("a", "b"), maps, joints, np.full((3, 4), 3e38, dtype=np.float32))
    np.testing.assert_array_equal(huge.weights, 0.25)
    found = Visuals(skins=(skin,)).find_vertex_bones(("x", "b", "a"))
    np.testing.assert_array_equal(found[0], [1, 2, 2])
    with pytest.raises(ModelError, match="2 bones names joint 2"):
        Skin("s", mesh, ("a", "b"), maps, joints + 1, weights)
    with pytest.raises(ModelError, match="not finite"):
        Skin("s", mesh, ("a", "b"), maps, joints, weights + np.nan)
    with pytest.raises(ModelError, match="as many 4×4 maps"):
        Skin("s", mesh, ("a",), maps, joints, weights)


def test_visuals_are_read_once_and_when_asked_for():
    calls = []

    def make() -> Visuals:
        calls.append(1)
        return Visuals(rigid=(Visual("box", "upper", make_box((1, 1, 1))),))

    arm = planar_arm()
    arm = arm.with_visuals(LazyVisuals(make))
    bone = arm.bone_names[0]
    other = arm.with_markers({"M": (bone, (0.0, 0.0, 0.0))})
    assert calls == []
    assert arm == planar_arm()
    assert other.visuals is not None
    assert arm.visuals.vertex_count in (0, 24)  # it has, or has no, bone of that name
    assert calls == [1]
    assert not arm.with_visuals(None).visuals


def test_what_cannot_be_read_is_a_note():
    def fail() -> Visuals:
        raise FileError("a.glb", "cannot be read", "meshes[0]")

    arm = planar_arm().with_visuals(LazyVisuals(fail))
    assert not arm.visuals
    (note,) = arm.visuals.notes
    assert (note.code, note.place) == ("visuals-not-read", "meshes[0]")


def test_a_look_survives_pickling():
    arm = pickle.loads(pickle.dumps(make_skinned_arm()))
    assert arm.visuals.skins[0].bones == make_skinned_arm().visuals.skins[0].bones


def test_visuals_follow_only_bones_that_exist():
    visuals = Visuals(rigid=(Visual("a", "nowhere", make_box((1, 1, 1))),))
    assert not planar_arm().with_visuals(visuals).visuals


def test_images_are_measured_without_decoding_them():
    assert measure_image(make_png(3, 2)) == (3, 2)
    assert find_image_type(make_png(3, 2)) == "image/png"
    jpeg = b"\xff\xd8\xff\xe0" + struct.pack(">H", 4) + b"ab"
    jpeg += b"\xff\xc0" + struct.pack(">HBHH", 11, 8, 480, 640) + bytes(6)
    assert measure_image(jpeg) == (640, 480)
    assert find_image_type(jpeg) == "image/jpeg"
    assert measure_image(b"\xff\xd8\xff\xe0\xff") is None
    assert (find_image_type(b"GIF89a"), measure_image(b"GIF89a")) == ("", None)


def test_colours_of_robots_are_made_linear():
    np.testing.assert_allclose(srgb_to_linear([0.0, 0.5, 1.0, 7.0]), [0, 0.214041, 1, 1], atol=1e-6)
    assert Material.of_srgb((1.0, 0.0, 0.0)).base_colour == (1.0, 0.0, 0.0, 1.0)
    glass = Material.of_srgb((0.0, 0.0, 0.0, 0.25))
    assert (glass.base_colour[3], glass.alpha_mode) == (0.25, "BLEND")


def test_a_figure_is_loaded_without_its_look(tmp_path):
    """Only the first look at it reads meshes."""
    path = tmp_path / "arm.glb"
    ik.save_skeleton(make_skinned_arm(), path)
    loaded = ik.load_skeleton(path)
    path.unlink()
    (note,) = loaded.visuals.notes
    assert "cannot be read" in note.text
