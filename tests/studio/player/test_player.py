"""The player's data: true to its resolution, bounded, safe; pictures that hold what there is."""

from __future__ import annotations

import base64
import json
import re
import zlib
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

from exactik import Bone, Joint, Skeleton, human
from exactik.errors import UsageError
from exactik.model.motion import Markers, Motion
from exactik.model.visuals import Material, Mesh, Texture, Visual, Visuals, make_box, make_sphere
from exactik.spatial import matrix_from_wxyz
from exactik.studio.player.data import encode_normals, encode_scene
from exactik.studio.player.page import render_player_frame, render_player_page
from exactik.studio.player.scene import Ghost, PlayerScene, choose_frames, compose_scene
from exactik.studio.player.still import render_still
from exactik.studio.player.surface import make_skin_parts, make_stick_part, simplify_part

EVIL = "</script><script>alert('x')</script>\"&"


@pytest.fixture(scope="module")
def motion() -> Motion:
    """A second of a human that turns over its root and bends everything a little."""
    figure = human()
    t = np.linspace(0.0, 1.0, 61)[:, None]
    q = figure.neutral() + 0.3 * np.sin(3.0 * t + np.arange(figure.nq))
    q[:, :3] = np.hstack([2.0 * t, 0.5 * t, 0.0 * t])
    return Motion(figure, q, 60.0)


@pytest.fixture(scope="module")
def scene(motion: Motion) -> PlayerScene:
    places = motion.forward().markers + 0.01
    places[10:20, 3] = np.nan
    markers = Markers(places, tuple(motion.skeleton.markers), 60.0)
    return compose_scene(motion, markers=markers, first=30)


def read(data: dict[str, Any], place: dict[str, Any]) -> np.ndarray:
    raw = zlib.decompress(base64.b64decode(data["block"]))
    kinds = {"u8": "u1", "i8": "i1", "u16": "<u2", "u32": "<u4", "f32": "<f4"}
    return np.frombuffer(raw, kinds[place["type"]], place["count"], place["at"])


def read_over_time(data: dict[str, Any], place: dict[str, Any], rows: int) -> np.ndarray:
    """What the script does: unfold the differences of each column and add them up."""
    low, high = read(data, place).astype(np.int64).reshape(2, -1)
    folded = low | (high << 8)
    steps = (folded >> 1) ^ -(folded & 1)
    return (np.cumsum(steps.reshape(-1, rows), axis=1) & 65535).T


def test_poses_and_markers_are_true_to_a_quarter_of_a_millimetre(scene: PlayerScene):
    data = encode_scene(scene)
    figure, rows = data["figure"], len(scene.frames)
    assert scene.pose is not None and data["step"] == 2.5e-4
    assert figure["free"] == [0]  # only the root shifts: the others follow from rotations
    wxyz = read_over_time(data, figure["rotations"], rows).astype(np.int16)
    wxyz = wxyz.reshape(rows, -1, 4) / figure["rotation_steps"]
    R = matrix_from_wxyz(wxyz / np.linalg.norm(wxyz, axis=2, keepdims=True))
    np.testing.assert_allclose(R, scene.pose.rotations, atol=1.5e-4)
    p = np.zeros((rows, len(figure["bones"]), 3))
    for bone, parent in enumerate(figure["parents"]):
        if bone in figure["free"]:
            p[:, bone] = data["low"] + data["step"] * read_over_time(data, figure["places"], rows)
        else:
            p[:, bone] = p[:, parent] + R[:, parent] @ figure["offsets"][bone]
    np.testing.assert_allclose(p, scene.pose.positions, atol=4e-4)
    measured = data["markers"]["measured"]
    seen = read(data, measured["seen"]).reshape(-1, rows).T.astype(bool)
    np.testing.assert_array_equal(seen, np.isfinite(scene.measured[:, :, 0]))
    places = read_over_time(data, measured["places"], rows).reshape(rows, -1, 3)
    places = np.array(data["low"]) + data["step"] * places
    np.testing.assert_allclose(places[seen], scene.measured[seen], atol=1.3e-4)


def test_a_wide_room_is_rounded_more_and_that_is_said(motion: Motion):
    far = Markers(np.array([[[0.0, 0.0, 0.0]], [[650.0, 0.0, 1.0]]]), ("A",), 10.0)
    data = encode_scene(compose_scene(far))
    assert data["step"] == pytest.approx(0.01) and "drawn to 10 mm" in data["notes"]


def test_long_recordings_show_fewer_frames_but_those_that_are_wanted():
    frames = choose_frames(100_000, 450.0, wanted=(77_777, 12_345, -4, 200_000))
    assert {0, 12_345, 77_777, 99_999} <= set(frames.tolist())
    assert 3000 < len(frames) < 4000  # 1.6 MB
    assert (np.diff(frames) > 0).all()
    np.testing.assert_array_equal(choose_frames(3000, 450.0), np.arange(3000))


def test_a_minute_stays_within_its_share_of_a_report(motion: Motion):
    rng = np.random.default_rng(1)
    long = replace(motion, q=np.tile(motion.q, (118, 1)), rate=120.0)
    places = long.forward().markers + rng.normal(0.0, 0.002, (len(long), 41, 3))
    markers = Markers(places, tuple(motion.skeleton.markers), 120.0)
    data = encode_scene(compose_scene(long, markers=markers))
    assert any("of 7198 frames" in note for note in data["notes"])
    assert 0.3e6 < len(json.dumps(data)) < 1.2e6


def test_markers_of_the_figure_may_move_on_their_bones(motion: Motion):
    points = np.tile([p for _, p in motion.skeleton.markers.values()], (61, 1, 1)).reshape(
        61, -1, 3
    )
    points[:, 0] += np.linspace(0.0, 0.1, 61)[:, None]
    markers = Markers(motion.forward().markers, tuple(motion.skeleton.markers), 60.0)
    scene = compose_scene(motion, markers=markers, marker_points=points)
    data = encode_scene(scene)
    places = read_over_time(data, data["markers"]["model"]["places"], 61).reshape(61, -1, 3)
    places = np.array(data["low"]) + data["step"] * places
    np.testing.assert_allclose(places, scene.model_markers, atol=1.3e-4)
    off = np.linalg.norm(scene.model_markers - scene.measured, axis=2)
    assert off[60, 0] == pytest.approx(0.1 * np.sqrt(3.0)) and off[:, 1].max() < 1e-9


def test_another_axis_up_is_turned(motion: Motion):
    places = np.zeros((1, 1, 3))
    places[0, 0] = (1.0, 2.0, 3.0)
    scene = compose_scene(Markers(places, ("A",), 1.0, up_axis="y"))
    np.testing.assert_allclose(scene.measured[0, 0], (3.0, 1.0, 2.0))
    turned = compose_scene(replace(motion, up_axis="y"))
    plain = compose_scene(motion)
    assert turned.pose is not None and plain.pose is not None
    np.testing.assert_allclose(turned.pose.positions[..., 2], plain.pose.positions[..., 1])


def test_a_frame_without_a_pose_shows_the_last_one(motion: Motion):
    q = np.array(motion.q)
    q[:5], q[20:25] = np.nan, np.nan
    scene = compose_scene(replace(motion, q=q))
    assert scene.pose is not None
    assert np.isfinite(scene.pose.positions).all()
    np.testing.assert_array_equal(scene.pose.positions[24], scene.pose.positions[19])
    with pytest.raises(UsageError, match="no frame to show"):
        compose_scene(replace(motion, q=np.full_like(q, np.nan)))


def test_a_skin_and_sticks_follow_the_bones(scene: PlayerScene):
    data = encode_scene(scene)
    kinds = [part["kind"] for part in data["figure"]["parts"]]
    assert kinds == ["sticks", "skin"]
    assert [p["kind"] for p in encode_scene(scene, with_skin=False)["figure"]["parts"]] == [
        "sticks"
    ]
    assert scene.pose is not None
    (skin,) = make_skin_parts(scene.pose.skeleton)
    T = np.zeros((len(skin.bones), 3, 4))
    pose = scene.pose
    T[:, :, :3] = pose.rotations[30, skin.bones] @ skin.maps[:, :, :3]
    arms = np.einsum("nij,nj->ni", pose.rotations[30, skin.bones], skin.maps[:, :, 3])
    T[:, :, 3] = arms + pose.positions[30, skin.bones]
    assert skin.weights is not None
    blended = np.einsum("nk,nkij->nij", skin.weights, T[skin.joints])
    places = np.einsum("nij,nj->ni", blended[:, :, :3], skin.mesh.vertices) + blended[:, :, 3]
    (expected,) = pose.skeleton.visuals.compute_vertices(
        pose.skeleton.bone_names, pose.positions[30], pose.rotations[30]
    )
    np.testing.assert_allclose(places, expected, atol=1e-5)


def test_ghosts_are_shown_where_they_have_a_pose(scene: PlayerScene):
    assert scene.pose is not None
    present = np.arange(61) < 40
    moved = replace(scene.pose, positions=scene.pose.positions + np.array([0.0, 5.0, 0.0]))
    data = encode_scene(replace(scene, ghosts=(Ghost(moved, present),)))
    (ghost,) = data["ghosts"]
    np.testing.assert_array_equal(read(data, ghost["present"]), present)
    places = read_over_time(data, ghost["places"], 61)
    root = np.array(data["low"]) + data["step"] * places
    np.testing.assert_allclose(root, moved.positions[:, 0], atol=1.3e-4)
    assert [part["kind"] for part in ghost["parts"]] == ["sticks"]


def test_large_surfaces_are_simplified_and_large_images_left_out(motion: Motion):
    figure = motion.skeleton
    (skin,) = make_skin_parts(figure)
    small = simplify_part(skin, 2000)
    assert 1000 < len(small.mesh.vertices) <= 2000 and len(small.mesh.faces) > 2000
    assert np.ptp(small.mesh.vertices, axis=0) == pytest.approx(
        np.ptp(skin.mesh.vertices, axis=0), rel=0.05
    )
    box = Visual("box", figure.bone_names[0], make_box((0.1, 0.2, 0.3)))
    image = Texture(b"\x89PNG" + bytes(700_000), "image/png")
    pictured = replace(box, material=Material(textures={"base_colour": image}))
    look = figure.with_visuals(Visuals(rigid=(box, pictured)))
    data = encode_scene(compose_scene(replace(motion, skeleton=look)))
    assert any("0.7 MB left out" in note for note in data["notes"])
    assert all("image" not in part for part in data["figure"]["parts"])
    small_image = Texture(b"\x89PNG" + bytes(100_000), "image/png")
    pictured = replace(box, material=Material(textures={"base_colour": small_image}))
    pictured = replace(pictured, mesh=replace(box.mesh, uv=np.zeros((len(box.mesh.vertices), 2))))
    look = figure.with_visuals(Visuals(rigid=(pictured,)))
    data = encode_scene(compose_scene(replace(motion, skeleton=look)))
    assert [("image" in part, part["bones"]) for part in data["figure"]["parts"][1:]] == [
        (True, [0])
    ]


def test_normals_of_any_length_are_shown():
    normals = np.array([[0, 0, 0], [3e38, 3e38, 0], [0, 0, -1e-40]], dtype=np.float32)
    assert encode_normals(normals).tolist() == [[0, 0], [64, 64], [127, 127]]


@pytest.mark.parametrize("most", [0, 1, 3])
def test_a_surface_of_few_vertices_keeps_one_on_each_bone(motion: Motion, most: int):
    """A small textured mesh beside large ones is allowed less than a vertex."""
    (skin,) = make_skin_parts(motion.skeleton)
    left = simplify_part(skin, most)
    assert len(left.mesh.vertices) == len(np.unique(skin.joints[:, 0]))


def test_a_surface_of_a_report_has_thirty_thousand_vertices_at_most(motion: Motion):
    figure = motion.skeleton
    balls = [Visual("", figure.bone_names[k], make_sphere(0.1)) for k in range(3)]
    count = len(balls[0].mesh.vertices)
    for total, simplified in ((20_000, False), (60_000, True)):
        rigid = tuple(balls[n % 3] for n in range(total // count))
        data = encode_scene(
            compose_scene(replace(motion, skeleton=figure.with_visuals(Visuals(rigid=rigid))))
        )
        vertices = sum(part["count"] for part in data["figure"]["parts"][1:])
        assert any("simplified" in note for note in data["notes"]) is simplified
        assert vertices <= 30_000


def test_the_floor_is_at_zero_or_below_what_is_far_from_it():
    def floor(low: float, high: float) -> float:
        places = np.array([[[0.0, 0.0, low], [0.0, 0.0, high]]])
        return encode_scene(compose_scene(Markers(places, ("A", "B"), 1.0)))["floor"]

    assert floor(0.05, 1.8) == 0.0 and floor(-0.4, 1.4) == 0.0
    assert floor(0.9, 1.8) == 0.9 and floor(-5.0, -3.0) == -5.0


def test_the_floor_is_under_the_soles_of_a_figure_whose_origin_is_in_its_hips():
    figure = human()
    q = figure.neutral()
    q[2] -= 0.95
    pose = figure.forward(q)
    data = encode_scene(compose_scene(Motion(figure, q[None], 1.0)))
    places = figure.visuals.compute_vertices(figure.bone_names, pose.positions, pose.rotations)
    low, high = (np.concatenate(places).min(axis=0), np.concatenate(places).max(axis=0))
    assert data["floor"] == pytest.approx(low[2], abs=0.005)
    corners = []
    for k, box in enumerate(data["figure"]["boxes"]):
        ends = np.array(box).reshape(2, 3)
        corners += [pose.positions[k] + pose.rotations[k] @ end for end in ends]
    assert min(corner[2] for corner in corners) == pytest.approx(low[2], abs=0.02)
    assert max(corner[2] for corner in corners) == pytest.approx(high[2], abs=0.03)


def test_sticks_are_about_the_joints(motion: Motion):
    part = make_stick_part(motion.skeleton)
    joints = part.joints[:, 0]
    assert set(joints.tolist()) <= set(range(len(motion.skeleton.bones)))
    assert part.mesh.normals is not None
    length = np.linalg.norm(part.mesh.normals, axis=1)
    assert (length > 0).all() and np.abs(part.mesh.vertices).max() < 0.8


class Names(HTMLParser):
    """Elements and the attributes of them that run something."""

    def __init__(self, text: str):
        super().__init__()
        self.tags: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        assert not any(name.startswith("on") for name, _ in attrs)


def test_names_are_shown_and_never_run():
    bones = [
        Bone(EVIL, joint=Joint.free()),
        Bone("b", parent=EVIL, offset=(0, 0, 1.0), joint=Joint.free()),
    ]
    figure = Skeleton.build(EVIL, bones, {EVIL: ("b", (0.0, 0.1, 0.5))})
    motion = Motion(figure, figure.neutral()[None], 1.0)
    markers = Markers(np.ones((1, 1, 3)), (EVIL,), 1.0)
    scene = compose_scene(motion, markers=markers)
    page = render_player_page(scene)
    assert Names(page).tags.count("script") == 2
    assert "alert(" not in page.replace("&lt;script&gt;alert(", "").replace(
        "\\u003cscript>alert(", ""
    )
    frame = render_player_frame(scene)
    assert Names(frame).tags == ["iframe"] and "https:" not in page
    assert len(page) < 120_000


def test_a_still_shows_limbs_markers_and_errors(scene: PlayerScene):
    svg = render_still(scene)
    assert svg.count("<circle") >= 2 * 41 and svg.count("<path") > 41
    assert "nan" not in svg
    few = render_still(replace(scene, first=15))
    assert few.count("<circle") == svg.count("<circle") - 1  # one marker is missing there
    nothing = compose_scene(Markers(np.full((2, 1, 3), np.nan), ("A",), 1.0))
    assert "<circle" not in render_still(nothing)
    json.dumps(encode_scene(nothing), allow_nan=False)


def _measure_contrast(mesh: Mesh) -> int:
    """Return by how much the brightness of a still's two faces differs, of 255."""
    figure = Skeleton("fold", [Bone("b", joint=Joint.free())])
    visual = Visual(name="fold", bone="b", mesh=mesh, material=Material("grey", (0.5, 0.5, 0.5, 1)))
    figure = figure.with_visuals(Visuals(rigid=(visual,)))
    motion = Motion(figure, figure.neutral()[None], 1.0)
    svg = render_still(compose_scene(motion), with_skin=True)
    one, other = (int(grey, 16) for grey in re.findall(r'color="#(..)', svg))
    return abs(one - other)


def test_faces_of_a_still_that_share_corners_look_round():
    # Like a book with its back to the reader, who stands at azimuth -0.9.
    across, back = np.array([0.78, 0.62, 0.0]), np.array([0.62, -0.78, 0.0])
    top, bottom = np.array([0.0, 0.0, 1.0]) - 0.3 * back, np.array([0.0, 0.0, -1.0]) - 0.3 * back
    book = 0.1 * np.array([across, -across, top, bottom])
    faces = np.array([[0, 2, 1], [0, 1, 3]])
    apart = Mesh(book[faces.ravel()], np.arange(6).reshape(2, 3))
    assert 0 < _measure_contrast(Mesh(book, faces)) < 0.5 * _measure_contrast(apart)
