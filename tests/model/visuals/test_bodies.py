"""The bodies of the built-in figures: closed, symmetric, around their bones, and compact."""

from __future__ import annotations

from collections import Counter
from importlib.resources import files

import numpy as np
import pytest

import exactik as ik
from exactik.model import Skeleton

FIGURES = {"human": ik.human, "quadruped": ik.quadruped, "hand": ik.hand}


@pytest.fixture(params=FIGURES)
def figure(request: pytest.FixtureRequest) -> Skeleton:
    return FIGURES[request.param]()


def test_bodies_are_closed_surfaces_that_face_outwards(figure: Skeleton):
    (skin,) = figure.visuals.skins
    faces = skin.mesh.faces.astype(int)
    edges = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    count = Counter(map(tuple, np.sort(edges, axis=1).tolist()))
    open_edges = sum(n != 2 for n in count.values())
    assert open_edges < 1e-3 * len(count)  # surface nets pinch where two sheets share a cell
    a, b, c = skin.mesh.vertices[faces].astype(float).swapaxes(0, 1)
    volume = np.einsum("ni,ni->", a, np.cross(b, c)) / 6.0
    litres = {"human": (45, 80), "quadruped": (15, 35), "right hand": (0.25, 0.5)}[figure.name]
    assert litres[0] < 1e3 * volume < litres[1]


def test_bodies_are_bound_in_the_neutral_pose(figure: Skeleton):
    (skin,) = figure.visuals.skins
    assert skin.bones == figure.bone_names
    pose = figure.forward(figure.neutral())
    (vertices,) = figure.visuals.compute_vertices(skin.bones, pose.positions, pose.rotations)
    np.testing.assert_allclose(vertices, skin.mesh.vertices, atol=1e-5)


def test_every_bone_carries_a_part_of_the_body_around_it(figure: Skeleton):
    (skin,) = figure.visuals.skins
    pose = figure.forward(figure.neutral())
    size = float(np.ptp(skin.mesh.vertices, axis=0).max())
    (carriers,) = figure.visuals.find_vertex_bones(figure.bone_names)
    for k, name in enumerate(figure.bone_names):
        part = skin.mesh.vertices[carriers == k]
        assert len(part) > 5, name
        away = np.linalg.norm(part - pose.positions[k], axis=1)
        assert away.max() < 0.45 * size, name
    assert (skin.weights.max(axis=1) < 0.95).mean() > 0.15  # it bends where bones meet


def test_left_and_right_are_alike():
    for figure in (ik.human(), ik.quadruped()):
        vertices = figure.visuals.skins[0].mesh.vertices
        mirrored = vertices * np.array([1.0, -1.0, 1.0])
        for sample in mirrored[::97]:
            assert np.linalg.norm(vertices - sample, axis=1).min() < 0.005
    right, left = ik.hand().visuals.skins[0], ik.hand("left").visuals.skins[0]
    np.testing.assert_allclose(left.mesh.vertices, right.mesh.vertices * [1, -1, 1])
    pose = ik.hand("left").forward(ik.hand("left").neutral())
    (vertices,) = ik.hand("left").visuals.compute_vertices(
        left.bones, pose.positions, pose.rotations
    )
    np.testing.assert_allclose(vertices, left.mesh.vertices, atol=1e-5)


def test_the_human_stands_on_the_floor_and_is_as_tall_as_it_says():
    low, high = (f(ik.human().visuals.skins[0].mesh.vertices, axis=0) for f in (np.min, np.max))
    assert low[2] == pytest.approx(0.0, abs=0.01)
    assert high[2] == pytest.approx(1.75, abs=0.03)


def test_markers_are_on_the_skin():
    """The markers of the human lie within 3 cm of its surface, most of them within 2."""
    human = ik.human()
    vertices = human.visuals.skins[0].mesh.vertices
    pose = human.forward(human.neutral())
    off = [np.linalg.norm(vertices - place, axis=1).min() for place in pose.markers]
    assert np.median(off) < 0.02
    assert max(off) < 0.045


def test_bodies_take_little_room_in_the_package():
    folder = files("exactik.model.figures").joinpath("bodies")
    assert sum(len(path.read_bytes()) for path in folder.iterdir()) < 300_000


def scaled_human(factor: float, thigh: float = 1.0) -> Skeleton:
    """The human with bones of other lengths."""
    bones = []
    for bone in ik.human().bones:
        more = thigh if bone.name in ("l_shin", "r_shin") else 1.0
        offset = factor * more * np.array(bone.offset)
        options = {"pre": bone.pre, "post": bone.post, "joint": bone.joint}
        bones.append(ik.Bone(bone.name, parent=bone.parent, offset=offset, **options))
    return ik.human().with_bones(bones)


def vertices_of(skeleton: Skeleton) -> np.ndarray:
    pose = skeleton.forward(skeleton.neutral())
    names = skeleton.bone_names
    return skeleton.visuals.compute_vertices(names, pose.positions, pose.rotations)[0]


def test_a_body_grows_with_its_bones():
    human = ik.human()
    assert human.visuals.skins[0].T_bone_mesh is not None
    np.testing.assert_allclose(vertices_of(scaled_human(1.1)), 1.1 * vertices_of(human), atol=2e-3)
    longer = vertices_of(scaled_human(1.0, thigh=1.2))
    pose = scaled_human(1.0, thigh=1.2)
    (carriers,) = pose.visuals.find_vertex_bones(human.bone_names)
    thigh, before = carriers == human.bone_index("l_thigh"), vertices_of(human)
    ratio = np.ptp(longer[thigh], axis=0) / np.ptp(before[thigh], axis=0)
    assert ratio[2] == pytest.approx(1.2, abs=0.06)
    np.testing.assert_allclose(ratio[:2], 1.0, atol=0.06)  # no thicker


def test_the_body_comes_with_a_saved_figure(tmp_path):
    figure = scaled_human(0.9)
    ik.save_skeleton(figure, tmp_path / "a.npz")
    loaded = ik.load_skeleton(tmp_path / "a.npz")
    np.testing.assert_allclose(vertices_of(loaded), vertices_of(figure), atol=1e-9)
    ik.save_skeleton(ik.octopus(), tmp_path / "b.npz")
    assert not ik.load_skeleton(tmp_path / "b.npz").visuals
