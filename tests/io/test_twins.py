"""One recording in several files: readers that share no code find the same movement."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

from exactik.errors import FileWarning
from exactik.io import load_markers, load_motion, load_skeleton
from exactik.lab.synthetic import simulate_performance, simulate_recording
from exactik.model.motion import Markers

UNIT = 0.0254 / 0.45  # [m] of CMU and HDM05: 56.444 mm

# AMC with a C3D of the same name, and how far apart their paths are allowed to be [m].
TAKES = {
    "cmu02/02_01": ("02.asf", 2e-3),
    "hdm05_dg/HDM_dg_01-03_01_120": ("HDM_dg.asf", 8e-3),
    "hdm05_dg/HDM_dg_03-05_02_120": ("HDM_dg.asf", 8e-3),
    "hdm05_dg_crlf/HDM_dg_06-03_03_120": ("HDM_dg.asf", 8e-3),
}


def quietly(path: Path) -> Markers:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FileWarning)
        return load_markers(path)


def waist(path: Path) -> np.ndarray:
    """The middle of the four markers around the pelvis [m], (T, 3), in the axes of ASF."""
    markers = quietly(path).without_prefix().turned("YZX")
    return np.mean([markers.marker(name) for name in ("LFWT", "RFWT", "LBWT", "RBWT")], axis=0)


def test_a_made_up_performance_as_two_motions_and_two_recordings(tmp_path: Path):
    """Bones of BVH and glTF, markers of C3D and TRC: the same paths, and the waist on the root."""
    truth = simulate_performance(2.0, 60.0)
    recording = simulate_recording(truth, noise=0.0, gaps=0.0, swap=False).markers
    places, poses = [], []
    for suffix in (".c3d", ".trc"):
        recording.save(tmp_path / f"take{suffix}")
        places.append(quietly(tmp_path / f"take{suffix}").positions)
        np.testing.assert_allclose(places[-1], recording.positions, atol=1e-5)
    for suffix, unit in ((".bvh", "cm"), (".glb", None)):
        truth.save(tmp_path / f"take{suffix}")
        loaded = load_motion(tmp_path / f"take{suffix}", length_unit=unit)
        names = [bone.name for bone in loaded.skeleton.bones]
        order = [names.index(bone.name) for bone in truth.skeleton.bones]
        poses.append(loaded.forward().positions[:, order])
        np.testing.assert_allclose(poses[-1], truth.forward().positions, atol=1e-5)
    waist_places = [recording.names.index(name) for name in ("LFWT", "RFWT", "LBWT", "RBWT")]
    away = places[0][:, waist_places].mean(axis=1) - poses[0][:, 0]
    assert np.linalg.norm(away - away.mean(axis=0), axis=1).max() < 1e-1


@pytest.mark.parametrize("take", TAKES)
def test_the_root_of_amc_goes_where_the_waist_of_c3d_goes(shared_data: Path, take: str):
    """On the ground; upwards the skin moves by some millimetres more than the root."""
    asf, allowed = TAKES[take]
    path = shared_data / "data/asf_amc" / f"{take}.amc"
    motion = load_motion(path, load_skeleton(path.parent / asf))
    assert motion.metadata["length_unit"] == pytest.approx(UNIT, rel=1e-12)
    markers = waist(path.with_suffix(".c3d"))
    assert len(markers) == len(motion)
    seen = np.isfinite(markers).all(axis=1)
    root, markers = motion.forward().positions[seen, 0], markers[seen]
    root, markers = root - root.mean(axis=0), markers - markers.mean(axis=0)
    away = np.sqrt(np.mean((markers - root) ** 2, axis=0))
    assert np.hypot(away[0], away[2]) < allowed
    assert away[1] < 1.2e-2


def test_cmu_02_01_as_amc_bvh_and_c3d(shared_data: Path):
    """Three files, one path; the unit that fits them best is that of the convention."""
    folder = shared_data / "data/asf_amc/cmu02"
    amc = load_motion(folder / "02_01.amc", load_skeleton(folder / "02.asf"))
    bvh = load_motion(shared_data / "data/bvh/cmu_cgspeed/02_01.bvh", length_unit=UNIT)
    root = amc.forward().positions[:, 0]
    np.testing.assert_allclose(bvh.forward().positions[1:, 0], root, atol=1e-5)
    path = waist(folder / "02_01.c3d")
    a, b = root - root.mean(axis=0), path - path.mean(axis=0)
    assert UNIT * (a * b).sum() / (a * a).sum() == pytest.approx(56.444e-3, abs=3e-5)
    for one in (root, bvh.forward().positions[1:, 0]):
        ground = ((one - one.mean(axis=0)) - b)[:, [0, 2]]
        assert np.sqrt((ground**2).sum(axis=1).mean()) < 2e-3


def test_walking5_as_c3d_and_trc(shared_data: Path):
    """OpenSim took every tenth frame, and rounded to five digits."""
    c3d = quietly(shared_data / "data/c3d/vicon/walking5.c3d")
    trc = quietly(shared_data / "data/trc/opensim/std_walking5_markers.trc")
    tenth = c3d.positions[::10][: len(trc)]
    assert trc.rate == pytest.approx(c3d.rate / 10)
    assert [name.lower() for name in trc.names] == [name.lower() for name in c3d.names]
    np.testing.assert_allclose(trc.positions[: len(tenth)], tenth, rtol=5.1e-5, atol=1e-7)
    missing = np.isnan(tenth).any(axis=2)
    np.testing.assert_array_equal(trc.missing[: len(tenth)], missing)


def test_gait_as_c3d_and_trc(shared_data: Path):
    """Two stages of one trial: the C3D was smoothed and cut, so the twin is near, not equal."""
    c3d = quietly(shared_data / "data/c3d/motion_analysis/Gait.c3d")
    trc = quietly(shared_data / "data/trc/btk/Gait.trc")
    assert (len(c3d), len(c3d.names), c3d.rate) == (len(trc), len(trc.names), trc.rate)
    pairs = {"RSHO": "R.Shoulder", "RELB": "R.Elbow", "RASI": "R.ASIS", "VSAC": "V.Sacral"}
    for one, other in pairs.items():
        assert c3d.names.index(one) == trc.names.index(other)
    away = np.linalg.norm(c3d.positions - trc.positions, axis=2)
    assert np.isfinite(away).mean() > 0.3
    assert np.nanmedian(away) < 1e-3 and np.nanmax(away) < 1e-2


def test_codamotion_as_floats_and_integers(shared_data: Path):
    folder = shared_data / "data/c3d/codamotion"
    floats, integers = (
        quietly(folder / f"ADemo1_rewrite_c3d_pc_{kind}.c3d") for kind in ("float", "integer")
    )
    assert floats.names == integers.names
    np.testing.assert_array_equal(floats.missing, integers.missing)
    unit = np.nanmax(np.abs(integers.positions)) / 2**14  # the scale fills the integers by half
    assert np.nanmax(np.abs(floats.positions - integers.positions)) <= 1.01 * unit
