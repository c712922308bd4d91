"""FBX: files made record by record, with an oracle of their own; damaged files; whole commands."""

from __future__ import annotations

import tracemalloc
import warnings
from pathlib import Path
from random import Random

import numpy as np
import pytest
from scipy.interpolate import CubicHermiteSpline

from exactik.errors import FileError, FileWarning
from exactik.io import convert, find_up_axis, inspect_file, load_motion, load_skeleton
from tests.support.fbx_files import Made, Node, make_figure, write_fbx
from tests.support.fuzzing import mutant

TOLERANCE = 1e-6  # [m] keys are in single precision
MEMORY = 20 << 20  # [bytes] for a file of 10 kB


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("version", [7400, 7700])
def test_bones_and_skin_are_where_the_format_says(tmp_path: Path, seed: int, version: int):
    unit = (1.0, 0.1, 2.54)[seed % 3]
    made = make_figure(seed, skin=True, settings={"UnitScaleFactor": unit, "TimeMode": 6})
    motion = load_motion(write_fbx(tmp_path / "a.fbx", made, version=version))
    assert len(motion) == 12 and motion.rate == 30.0 and motion.notes == ()
    names, pose, metres = motion.skeleton.bone_names, motion.forward(), 0.01 * unit
    assert set(names) == {node.name for node in made.nodes if node.subtype == "LimbNode"}
    vertices, weights = made.surface()
    geometry = made.place_geometry()
    rest = made.place(None)
    for frame in range(12):
        placed = made.place(frame)
        for node, T in zip(made.nodes, placed, strict=True):
            if node.name in names:
                ours = pose.positions[frame, names.index(node.name)]
                np.testing.assert_allclose(ours, metres * T[:3, 3], atol=metres * 100 * TOLERANCE)
        maps = [T @ np.linalg.inv(R) @ rest[made.mesh] for T, R in zip(placed, rest, strict=True)]
        whole = np.column_stack([vertices, np.ones(len(vertices))]) @ geometry.T
        expected = metres * np.einsum("vk,kij,vj->vi", weights, np.array(maps), whole)[:, :3]
        found = motion.skeleton.visuals.compute_vertices(
            names, pose.positions[frame], pose.rotations[frame]
        )
        distances = np.linalg.norm(np.concatenate(found)[:, None] - expected, axis=-1)
        assert distances.min(axis=1).max() < metres * 300 * TOLERANCE
    colours = [skin.material.base_colour[:3] for skin in motion.skeleton.visuals.skins]
    np.testing.assert_allclose(colours, [(0.9, 0.1, 0.2), (0.1, 0.2, 0.7)])
    assert motion.skeleton.visuals.vertex_count == len(vertices)


def one_bone(times: np.ndarray, values: np.ndarray, kind: int, **settings: float) -> Made:
    moved = {"Lcl Translation": (times, np.stack([values] * 3, axis=1))}
    nodes = [Node("root", moved=moved), Node("tip", 0, props={"Lcl Translation": (0.0, 9.0, 0.0)})]
    return Made(nodes, kind=kind, settings=settings)


@pytest.mark.parametrize("kind", [2, 4, 8])
def test_keys_that_are_no_frames_are_sampled_at_the_rate_of_the_file(tmp_path: Path, kind: int):
    times, values = np.array([0.5, 0.7, 1.4, 2.0]), np.array([1.0, 4.0, 2.0, 7.0])
    path = write_fbx(tmp_path / "a.fbx", one_bone(times, values, kind, TimeMode=10))  # 25 Hz
    motion = load_motion(path)
    assert motion.rate == 25.0 and len(motion) == 38 and motion.first_frame == 13
    frames = 0.5 + np.arange(38) / 25.0
    steps = values[np.searchsorted(times, frames + 1e-9, side="right") - 1]
    slopes = np.gradient(values, times).astype(np.float32)
    expected = {
        2: steps,
        4: np.interp(frames, times, values),
        8: CubicHermiteSpline(times, values, slopes)(frames),
    }
    found = 100.0 * motion.forward().positions[:, 0, 0]
    np.testing.assert_allclose(found, expected[kind], atol=1e-6)
    assert len(load_motion(path, rate=50.0)) == 75


def test_unit_axis_and_content_are_those_of_the_file(tmp_path: Path):
    still = [Node("root", props={"Lcl Translation": (1.0, 2.0, 3.0)})]
    axes = {"UpAxis": 2, "FrontAxis": 1, "FrontAxisSign": -1, "CoordAxis": 0}
    path = write_fbx(tmp_path / "a.fbx", Made(still, settings=axes | {"UnitScaleFactor": 100.0}))
    skeleton = load_skeleton(path)
    place = skeleton.forward(skeleton.neutral()).positions[0]
    np.testing.assert_allclose(place, (1.0, 2.0, 3.0))
    assert find_up_axis(str(path)) == "z"
    in_mm = load_skeleton(path, length_unit="mm")
    np.testing.assert_allclose(in_mm.forward(in_mm.neutral()).positions[0], (1e-3, 2e-3, 3e-3))
    with pytest.raises(FileError, match="motion"):
        load_motion(path)


def test_a_file_upside_down_is_turned(tmp_path: Path):
    still = [Node("root", props={"Lcl Translation": (1.0, 2.0, 3.0)})]
    axes = {"UpAxisSign": -1, "FrontAxisSign": -1, "UnitScaleFactor": 100.0}
    skeleton = load_skeleton(write_fbx(tmp_path / "a.fbx", Made(still, settings=axes)))
    place = skeleton.forward(skeleton.neutral()).positions[0]
    np.testing.assert_allclose(place, (1.0, -2.0, -3.0), atol=1e-15)


def test_without_limbs_bones_are_what_moves_and_all_below(tmp_path: Path):
    made = one_bone(np.arange(4) / 30.0, np.arange(4.0), 4)
    made.nodes += [Node("beside"), Node("camera", 1)]
    for node in made.nodes:
        node.subtype = "Camera" if node.name == "camera" else "Null"
    motion = load_motion(write_fbx(tmp_path / "a.fbx", made))
    assert motion.skeleton.bone_names == ("root", "tip", "camera")
    made.nodes[0].moved = {}
    skeleton = load_skeleton(write_fbx(tmp_path / "b.fbx", made))
    assert set(skeleton.bone_names) == {"root", "tip", "beside"}


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"; FBX 7.4.0 project file\nFBXHeaderExtension:  {\n", "FBX as text; expected binary"),
        (b"\x89PNG", "expected binary FBX"),
        (Made([Node("a")]).encode(version=6100), r"FBX 6\.1; expected 7\.0 or later"),
        (Made([]).encode(), "no Model in Objects"),
        (Made([Node("a", 1), Node("b", 0)]).encode(), "hangs in a cycle of nodes"),
        (Made([Node("a", props={"Lcl Scaling": (1.0, 2.0)})]).encode(), "3 finite numbers"),
        (one_bone(np.array([0.0, 9e6]), np.zeros(2), 4).encode(), "expected .* frames"),
        (one_bone(np.array([1.0, 0.0]), np.zeros(2), 4).encode(), "increasing"),
    ],
)
def test_what_cannot_be_read_is_one_sentence(tmp_path: Path, data: bytes, text: str):
    path = tmp_path / "a.fbx"
    path.write_bytes(data)
    with pytest.raises(FileError, match=text) as caught:
        load_skeleton(path)
    assert "\n" not in str(caught.value)


def test_an_array_that_claims_too_much_is_not_unpacked(tmp_path: Path):
    data = one_bone(np.arange(300) / 30.0, np.zeros(300), 4).encode()
    path, count = tmp_path / "a.fbx", (300).to_bytes(4, "little")
    path.write_bytes(data.replace(b"l" + count, b"l" + (1 << 31).to_bytes(4, "little")))
    with pytest.raises(FileError, match="expected less"):
        load_motion(path)


@pytest.mark.parametrize("runs", [60, pytest.param(900, marks=pytest.mark.full)])
def test_damaged_files_end_in_a_result_or_a_sentence(tmp_path: Path, runs: int):
    rng, path = Random(34), tmp_path / "a.fbx"
    sound = [
        make_figure(k, 5, limbs=3, skin=True).encode(deflate=k == 2, version=7400 + 100 * k)
        for k in range(3)
    ]
    refused = 0
    tracemalloc.start()
    for k in range(runs):
        path.write_bytes(mutant(sound[k % 3], ".fbx", rng, sound))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FileWarning)
            try:
                found = load_motion(path).skeleton if k % 2 else load_skeleton(path)
                assert found.visuals is not None
            except FileError as error:
                refused += 1
                assert "\n" not in str(error) and str(error).startswith(str(path))
    assert tracemalloc.get_traced_memory()[1] < MEMORY
    tracemalloc.stop()
    assert runs // 10 < refused < runs


def test_it_is_inspected_and_converted(tmp_path: Path):
    path = write_fbx(tmp_path / "a.fbx", make_figure(1, skin=True))
    facts = inspect_file(path)
    assert facts.kind == "motion" and facts.length_unit == "m"
    convert(path, tmp_path / "a.glb")
    before, after = load_motion(path), load_motion(tmp_path / "a.glb")
    np.testing.assert_allclose(
        before.forward().positions, after.forward().positions, atol=10 * TOLERANCE
    )
    assert after.skeleton.visuals.vertex_count == before.skeleton.visuals.vertex_count
