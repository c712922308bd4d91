"""Read, write, read: every sample and any figure, in every format that we write."""

from __future__ import annotations

import csv
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exactik.errors import FileError, FileWarning
from exactik.io import (
    load_markers,
    load_motion,
    load_skeleton,
    save_markers,
    save_motion,
    save_skeleton,
)
from exactik.model import Bone, Joint, Skeleton
from exactik.model.motion import Markers, Motion
from tests.support.checkout import DATA
from tests.support.models import EVERY_JOINT, configuration, skeletons


def samples(*suffixes: str) -> list[str]:
    found = [p for p in sorted(DATA.rglob("*")) if p.suffix.lower() in suffixes]
    return [p.relative_to(DATA).as_posix() for p in found if "malformed" not in p.parts]


MOTIONS = [
    name for name in samples(".bvh", ".amc", ".glb", ".gltf") if "blender_simple" not in name
]
MARKERS = samples(".c3d", ".trc", ".tsv")
UNITS = {"bvh/odd/sinusoidal.bvh": "cm", "endorphin": "m"}


@pytest.fixture(autouse=True)
def quiet():
    """What is odd about the samples is the business of other tests."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FileWarning)
        yield


def read(name: str) -> Motion:
    path = DATA / name
    unit = next((unit for part, unit in UNITS.items() if part in name), None)
    if path.suffix.lower() != ".amc":
        return load_motion(path, length_unit=unit or ("auto" if path.suffix == ".bvh" else None))
    folder = path.parent.parent / "cmu_backflip" if "dm_control" in name else path.parent
    return load_motion(path, load_skeleton(next(folder.glob("*.asf")), unit))


def again(motion: Motion, path: Path) -> Motion:
    """The motion after it was written and read."""
    if path.suffix == ".amc":
        save_skeleton(motion.skeleton, path.with_suffix(".asf"))
    save_motion(motion, path)
    if path.suffix == ".amc":
        return load_motion(path, load_skeleton(path.with_suffix(".asf")))
    if path.suffix == ".mot":
        return load_motion(path, motion.skeleton)
    return load_motion(path, length_unit="cm" if path.suffix == ".bvh" else None)


def assert_same(new: Motion, old: Motion, tolerance: float = 1e-6) -> None:
    """Every bone is found by its name and is where it was; what is missing stays missing."""
    there = np.isfinite(old.q).all(axis=1)
    np.testing.assert_array_equal(np.isfinite(new.q).all(axis=1), there)
    if len(old) > 1:  # the times of one frame tell no rate
        assert new.rate == pytest.approx(old.rate, rel=1e-9)
    bones = [new.skeleton.bone_index(name) for name in old.skeleton.bone_names]
    one = new.skeleton.forward(new.q[there]).positions[:, bones]
    other = old.skeleton.forward(old.q[there]).positions
    np.testing.assert_allclose(one, other, rtol=0, atol=tolerance)


# --- samples


@pytest.mark.full
@pytest.mark.parametrize("suffix", [".bvh", ".amc", ".glb", ".npz", ".mot"])
@pytest.mark.parametrize("name", MOTIONS)
def test_every_sample_of_a_motion_comes_back(
    shared_data: Path, tmp_path: Path, name: str, suffix: str
):
    """The first two seconds; what is far away or large has its millionth in single precision."""
    motion = read(name).between(0.0, 2.0)
    if suffix == ".mot" and len(motion.skeleton.quaternions) > 0:
        with pytest.raises(FileError, match=r"turns by a quaternion, no column of \.mot"):
            save_motion(motion, tmp_path / "again.mot")
        return
    if suffix == ".mot":
        motion = motion.between(0.0, 0.2)
    reach = float(np.nanmax(np.abs(motion.forward().positions)))
    assert_same(again(motion, tmp_path / f"again{suffix}"), motion, 1e-6 * max(1.0, 0.3 * reach))


@pytest.mark.full
@pytest.mark.parametrize("name", MARKERS)
def test_every_sample_of_markers_comes_back(shared_data: Path, tmp_path: Path, name: str):
    markers = load_markers(DATA / name)
    for suffix, digits in ((".c3d", 2e-7), (".trc", 1e-8), (".npz", 0.0)):
        save_markers(markers, tmp_path / f"again{suffix}")
        new = load_markers(tmp_path / f"again{suffix}")
        assert new.names == markers.names
        assert new.rate == pytest.approx(markers.rate, rel=1e-6)
        assert new.first_frame == markers.first_frame or len(markers) == 0
        np.testing.assert_array_equal(new.missing, markers.missing)
        np.testing.assert_allclose(new.positions, markers.positions, rtol=digits, atol=digits)


# --- any figure, any motion


@given(
    skeletons(joints=tuple(EVERY_JOINT), roots=tuple(EVERY_JOINT), max_bones=7),
    st.integers(0, 10**6),
    st.sampled_from([".npz", ".amc", ".glb", ".mot", ".bvh"]),
    st.sets(st.integers(1, 4), max_size=3),
)
@settings(max_examples=60)
def test_any_motion_comes_back_with_its_gaps(
    tmp_path_factory: pytest.TempPathFactory,
    skeleton: Skeleton,
    seed: int,
    suffix: str,
    gaps: set[int],
):
    q = np.array([configuration(skeleton, seed + k) for k in range(6)])
    q[list(gaps)] = np.nan
    motion = Motion(skeleton, q, 59.94, first_frame=5)
    path = tmp_path_factory.mktemp("any") / f"x{suffix}"
    moves = skeleton.nq > 0
    if suffix == ".bvh" and len(gaps) > 0 and moves:
        with pytest.raises(FileError, match=rf"frame {5 + min(gaps)} is missing, and BVH needs"):
            save_motion(motion, path)
        return
    if suffix == ".mot" and (len(skeleton.quaternions) > 0 or not moves):
        return
    new = again(motion, path)
    assert_same(new, motion, 3e-6 if suffix == ".glb" else 1e-7)
    if suffix == ".npz":
        np.testing.assert_array_equal(new.q, motion.q)
        assert new.skeleton == skeleton and new.first_frame == 5


# --- names

NAMES = ["Hüfte links", "mixamorig:Hips", "脚.001", "左\u3000手", "a  b", "Ω°:ё (L)", "100%", "é"]


@pytest.mark.parametrize("suffix", [".bvh", ".amc", ".glb", ".npz", ".mot"])
def test_names_of_bones_survive(tmp_path: Path, suffix: str):
    """Letters of all scripts, colons, blanks of all kinds and several of them."""
    bones = [Bone("the: Wurzel", joint=Joint.free("ZYX"))]
    for name in NAMES:
        joint = Joint.revolute("x")
        bones.append(Bone(name, parent=bones[-1].name, offset=(0, 0.1, 0), joint=joint))
    skeleton = Skeleton.build("Ä b:c", bones)
    motion = Motion(skeleton, np.array([configuration(skeleton, k) for k in range(3)]), 50.0)
    new = again(motion, tmp_path / f"x{suffix}")
    assert set(skeleton.bone_names) <= set(new.skeleton.bone_names)
    assert_same(new, motion)
    save_motion(motion, tmp_path / "x.csv")
    with open(tmp_path / "x.csv", newline="", encoding="utf-8") as file:
        head = next(csv.reader(file))
    assert [title.rpartition(".")[0] for title in head[8:]] == NAMES


@pytest.mark.parametrize("suffix", [".c3d", ".trc", ".npz"])
def test_names_of_markers_survive(tmp_path: Path, suffix: str):
    markers = Markers(np.ones((2, len(NAMES), 3)), tuple(NAMES), 100.0)
    save_markers(markers, tmp_path / f"x{suffix}")
    assert load_markers(tmp_path / f"x{suffix}").names == tuple(NAMES)
    save_markers(markers, tmp_path / "x.csv")
    with open(tmp_path / "x.csv", newline="", encoding="utf-8") as file:
        head = next(csv.reader(file))
    assert head[2::3] == [f"{name} x [m]" for name in NAMES]


def test_cells_of_trc_and_mot_cannot_hold_tabs(tmp_path: Path):
    markers = Markers(np.ones((1, 3, 3)), ("a\tb", "a b", " c\n"), 100.0)
    save_markers(markers, tmp_path / "x.trc")
    assert load_markers(tmp_path / "x.trc").names == ("a b", "a b#2", "c")
    skeleton = Skeleton.build("x", [Bone("a\tb", joint=Joint.revolute("x"))])
    with pytest.raises(FileError, match=r"bone 'a\\tb' must be renamed, for in .mot a name has no"):
        save_motion(Motion(skeleton, np.zeros((1, 1)), 1.0), tmp_path / "x.mot")
    assert not (tmp_path / "x.mot").exists()


@pytest.mark.parametrize("suffix", [".c3d", ".trc", ".csv"])
def test_units_that_a_file_has_to_name(tmp_path: Path, suffix: str):
    """By name or by the metres in it; others are refused, and nothing is written."""
    markers = Markers(np.full((1, 1, 3), 0.254), ("a",), 100.0)
    save_markers(markers, tmp_path / f"x{suffix}", length_unit=0.01)
    if suffix != ".csv":
        new = load_markers(tmp_path / f"x{suffix}")
        assert new.units_in_file == "cm"
        np.testing.assert_allclose(new.positions, markers.positions, rtol=1e-7)
    with pytest.raises(FileError, match=r"length unit is 0\.02; expected one of m dm cm"):
        save_markers(markers, tmp_path / f"y{suffix}", length_unit=0.02)
    assert not (tmp_path / f"y{suffix}").exists()


# --- turned and resampled


@pytest.mark.parametrize("axes", ["X-ZY", "YZX", "-ZYX", "Y-XZ", "XYZ"])
@pytest.mark.parametrize("root", EVERY_JOINT)
def test_turned_motions_are_the_same_seen_from_other_axes(tmp_path: Path, root: str, axes: str):
    """Whatever the root is; as BVH and AMC too, and for skeletons at rest."""
    bones = [
        Bone("a", offset=(0.1, 0.2, 0.3), joint=EVERY_JOINT[root]),
        Bone("b", parent="a", offset=(0, 0.4, 0), joint=Joint.euler("ZXY")),
        Bone("c", parent="b", offset=(0.5, 0, 0), joint=Joint.euler("X")),
        Bone("d", parent="c", offset=(0, 0, 0.2)),
    ]
    skeleton = Skeleton.build("x", bones, {"M": ("c", (0.1, 0.2, 0.3))})
    q = np.array([configuration(skeleton, k) for k in range(4)])
    motion = Motion(skeleton, q, 50.0, up_axis="y")
    turned = motion.turned(axes)
    expected = Markers(motion.forward().positions, skeleton.bone_names, 50.0, up_axis="y")
    expected = expected.turned(axes)
    assert turned.up_axis == expected.up_axis
    np.testing.assert_allclose(turned.forward().positions, expected.positions, atol=1e-12)
    np.testing.assert_array_equal(turned.q, motion.q)
    assert turned.skeleton.dof_names == skeleton.dof_names
    for suffix in (".bvh", ".amc"):
        assert_same(again(turned, tmp_path / f"x{suffix}"), turned, 1e-9)
    new = again(turned, tmp_path / "x.bvh").skeleton
    kinds = {name: len(new.bones[new.bone_index(name)].joint.dof_names) for name in "bc"}
    assert kinds == {"b": 3, "c": 3}


def test_a_turned_bvh_keeps_its_own_angles(tmp_path: Path):
    """Another letter, another sign, but the same numbers: no gimbal lock is met on the way."""
    bones = [Bone("a", joint=Joint.free("ZXY")), Bone("b", parent="a", joint=Joint.euler("ZXY"))]
    motion = Motion(Skeleton.build("x", bones), np.linspace(-3, 3, 45).reshape(5, 9), 50.0)
    save_motion(motion.turned("X-ZY"), tmp_path / "x.bvh", length_unit="m")
    new = load_motion(tmp_path / "x.bvh", length_unit="m")
    assert str(new.skeleton.bones[1].joint) == "euler YXZ"
    np.testing.assert_allclose(new.q[:, 6:], motion.q[:, 6:] * (-1, 1, 1), atol=1e-10)


def test_resampling_keeps_gaps_and_bridges_none():
    skeleton = Skeleton.build("x", [Bone("a", joint=Joint.free("quaternion"))])
    q = np.array([configuration(skeleton, k) for k in range(6)])
    whole = Motion(skeleton, q, 10.0)
    q[2] = np.nan
    motion = Motion(skeleton, q, 10.0)
    finer = motion.resampled(20.0)
    missing = np.isnan(finer.q).any(axis=1)
    assert np.flatnonzero(missing).tolist() == [3, 4, 5]
    np.testing.assert_array_equal(finer.q[~missing], whole.resampled(20.0).q[~missing])
    np.testing.assert_allclose(finer.q[[0, 2, 6, 8, 10]], q[[0, 1, 3, 4, 5]], atol=1e-15)
    assert len(replace(motion, q=q[:0]).resampled(20.0)) == 0
