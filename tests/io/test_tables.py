"""Tables of numbers: TRC, Qualisys TSV, OpenSim's MOT, CSV and our own NPZ."""

from __future__ import annotations

import csv
import dataclasses
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import exactik as ik
from exactik.io import Notes
from exactik.io.tables import load_coordinate_table
from exactik.model.motion import Series
from tests.support.models import EVERY_JOINT, chain_of, configuration, gantry, planar_arm

# file, frames, markers, rate, unit, share missing, something its notes must say
TRC = [
    ("trc/btk/10002-20130626160334-Unnamed.trc", 882, 10, 400.0, "mm", None, "states 0 markers"),
    ("trc/btk/Gait.trc", 487, 33, 100.0, "mm", 0.455, "states 66 markers, the file has 33"),
    ("trc/btk/UpperLimbStatic.trc", 146, 34, 100.0, "mm", None, "2 points have no name"),
    ("trc/btk/ballet_reduced.trc", 100, 41, 30.0, "mm", None, ""),
    ("trc/nimble_weird/markers.trc", 281, 61, 100.0, "m", None, ""),
    ("trc/opensim/dataWithBlanksForMissingMarkers.trc", 464, 40, 250.0, "mm", 0.808, ""),
    ("trc/opensim/dataWithEformat.trc", 5, 14, 119.88012, "m", 0.0, ""),
    ("trc/opensim/dataWithNaNsOfDifferentCases.trc", 5, 14, 250.0, "mm", 5 / 70, ""),
    ("trc/opensim/exampleFormat.trc", 5, 3, 100.0, "m", 2 / 15, ""),
    ("trc/opensim/gait10dof18musc_walk_CRLF_line_ending.trc", 10, 41, 60.0, "mm", 0.0, ""),
    ("trc/opensim/std_walking5_markers.trc", 112, 40, 25.0, "mm", None, "states 250 Hz"),
    ("opensim/arm26/arm26_elbow_flex.trc", 121, 3, 120.0, "mm", 0.0, ""),
    ("opensim/gait2354/subject01_walk1.trc", 151, 41, 60.0, "mm", 0.0, ""),
    ("opensim/laiarnold_s5_dropjump/DJ1.trc", 289, 51, 100.0, "mm", None, ""),
    ("opensim/pose2sim/Pose2Sim_markers.trc", 100, 21, 60.0, "m", 0.0, ""),
    ("tsv_qualisys/Measurement1.tsv", 2000, 15, 100.0, "mm", 0.0, ""),
    ("malformed/generated/trc_blank_and_nan.trc", 10, 41, 60.0, "mm", 2 / 410, ""),
    ("malformed/generated/trc_frame_count_wrong.trc", 10, 41, 60.0, "mm", 0.0, "states 20 frames"),
    ("malformed/generated/trc_marker_count_wrong.trc", 10, 41, 60.0, "mm", 0.0, "states 42"),
    ("malformed/generated/trc_spaces_not_tabs.trc", 10, 41, 60.0, "mm", 0.0, "blanks in place"),
    ("malformed/generated/trc_truncated.trc", 6, 41, 60.0, "mm", 0.0, "last row is cut off"),
]


def test_a_header_whose_values_have_doubled_tabs_is_read(tmp_path: Path):
    """As OpenSim's own recordings for the Rajagopal model have it."""
    path = tmp_path / "walk.trc"
    ik.Markers(np.ones((3, 2, 3)), ("A", "B"), 100.0).save(path)
    lines = path.read_text().split("\n")
    lines[2] = "  100.0\t\t  100.0\t\t      3\t\t      2\t\t mm\t  100.0\t      1\t      3"
    path.write_text("\n".join(lines))
    read = ik.load_markers(path)
    assert read.units_in_file == "mm" and read.metadata["OrigDataStartFrame"] == "1"
    assert read.positions == pytest.approx(1.0) and read.notes == ()


def quiet(path: Path, **options: object) -> ik.Markers:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ik.FileWarning)
        return ik.load_markers(path, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(("name", "frames", "count", "rate", "unit", "share", "note"), TRC)
def test_real_tables_give_the_facts_that_are_known_of_them(
    shared_data: Path,
    name: str,
    frames: int,
    count: int,
    rate: float,
    unit: str,
    share: float | None,
    note: str,
):
    markers = quiet(shared_data / "data" / name)
    assert (len(markers), len(markers.names), markers.units_in_file) == (frames, count, unit)
    assert markers.rate == pytest.approx(rate)
    if share is not None:
        assert markers.missing.mean() == pytest.approx(share, abs=6e-4)
    assert any(note in text for text in markers.notes) if note != "" else markers.notes == ()
    if note.startswith(("states", "last", "blanks")):
        with pytest.raises(ik.FileError), warnings.catch_warnings():
            warnings.simplefilter("ignore", ik.FileWarning)
            ik.load_markers(shared_data / "data" / name, strict=True)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("generated/trc_bad_units.trc", "unknown length unit 'furlongs'; expected mm"),
        ("real/Truncated.trc", "no line that starts with DataRate"),
    ],
)
def test_tables_that_cannot_be_used(shared_data: Path, name: str, words: str):
    with pytest.raises(ik.FileError, match=words):
        ik.load_markers(shared_data / "data" / "malformed" / name)


@pytest.mark.parametrize(
    ("name", "shape", "degrees"),
    [
        ("opensim/arm26/arm26_InverseKinematics.mot", (121, 2), True),
        ("opensim/core_ik_synthetic/std_markers_coords_ik.sto", (10, 164), True),
        ("opensim/core_ik_synthetic/std_subject01_walk1_ik.mot", (73, 23), True),
        ("opensim/gait10dof/subject01_walk_IK.mot", (151, 10), True),
        ("opensim/gait2354/subject01_static_output.mot", (1, 301), False),
        ("opensim/gait2354/subject01_walk1_ik.mot", (73, 23), True),
        ("opensim/laiarnold_s5_dropjump/DJ1.mot", (111, 35), True),
        ("opensim/pose2sim/Pose2Sim_motion.mot", (100, 62), True),
        ("trc/opensim/gait10dof18musc_ik_CRLF_line_ending.mot", (15, 10), True),
    ],
)
def test_motions_of_opensim(shared_data: Path, name: str, shape: tuple[int, int], degrees: bool):
    path = str(shared_data / "data" / name)
    table = load_coordinate_table(path, Notes(path))
    assert table.values.shape == shape and table.in_degrees is degrees
    assert np.isfinite(table.values).all() and len(table.names) == shape[1]


NAMES = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=9)


@st.composite
def recordings(draw: st.DrawFn) -> ik.Markers:
    """Any markers: gaps, names of any letters, with colons and blanks inside."""
    names = draw(st.lists(NAMES, max_size=5, unique=True))
    names = [f"{name} a:{k}" for k, name in enumerate(names)]
    frames = draw(st.integers(0, 6))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    positions = rng.normal(size=(frames, len(names), 3))
    positions[rng.random((frames, len(names))) < 0.3] = np.nan
    rate = draw(st.sampled_from([24.0, 60.0, 119.88, 1000.0]))
    first, start = draw(st.integers(1, 900)), draw(st.sampled_from([0.0, 0.4, 725.0]))
    return ik.Markers(positions, tuple(names), rate, first_frame=first, start_time=start)


@given(recordings())
def test_markers_come_back_from_trc(tmp_path_factory: pytest.TempPathFactory, markers: ik.Markers):
    path = tmp_path_factory.mktemp("trc") / "take.trc"
    markers.save(path)
    again = quiet(path, rate=markers.rate)
    assert again.names == markers.names
    np.testing.assert_allclose(again.positions, markers.positions, rtol=1e-8, atol=1e-12)
    if len(markers) > 0:
        assert again.first_frame == markers.first_frame
        np.testing.assert_allclose(again.times, markers.times, rtol=1e-8)


@given(recordings())
def test_markers_come_back_from_npz_bit_for_bit(
    tmp_path_factory: pytest.TempPathFactory, markers: ik.Markers
):
    force = Series("force", np.ones((len(markers), 3)), "N")
    markers = dataclasses.replace(markers, others={"FP1": force}, notes=("odd",), up_axis="y")
    path = tmp_path_factory.mktemp("npz") / "take.npz"
    markers.save(path)
    again = ik.load_markers(path)
    np.testing.assert_array_equal(again.positions, markers.positions)
    assert (again.names, again.rate, again.notes) == (markers.names, markers.rate, markers.notes)
    assert again.start_time == markers.start_time
    assert again.others["FP1"].kind == "force" and again.up_axis == "y"


@pytest.mark.parametrize("kind", EVERY_JOINT)
def test_skeletons_and_motions_come_back_from_npz(tmp_path: Path, kind: str):
    skeleton = chain_of([EVERY_JOINT[kind], EVERY_JOINT["euler ZYX"]])
    q = np.stack([configuration(skeleton, seed) for seed in range(4)])
    ik.Motion(skeleton, q, 50.0).save(tmp_path / "m.npz")
    again = ik.load_motion(tmp_path / "m.npz")
    assert again.skeleton == skeleton and again.rate == 50.0
    np.testing.assert_array_equal(again.q, q)
    assert ik.load_skeleton(tmp_path / "m.npz") == skeleton


def test_coordinates_come_back_from_mot_and_can_be_read_as_csv(tmp_path: Path):
    for skeleton in (gantry(), planar_arm()):
        q = np.stack([configuration(skeleton, seed) for seed in range(5)])
        motion = ik.Motion(skeleton, q, 60.0)
        motion.save(tmp_path / "m.mot")
        again = ik.load_motion(tmp_path / "m.mot", skeleton)
        np.testing.assert_allclose(again.q, q, rtol=1e-10, atol=1e-12)
        assert again.rate == pytest.approx(60.0)
        motion.save(tmp_path / "m.csv")
        text = (tmp_path / "m.csv").read_text(encoding="utf-8")
        rows = list(csv.reader(text.splitlines()))
        assert len(rows) == 6 and len(rows[0]) == 2 + skeleton.nq
        np.testing.assert_array_equal(np.array(rows[1:], float)[:, 2:], q)


def test_files_that_are_not_ours_are_refused(tmp_path: Path):
    np.savez(tmp_path / "other.npz", a=np.zeros(3))
    (tmp_path / "junk.npz").write_bytes(b"PK\x03\x04 no zip at all")
    for name in ("other.npz", "junk.npz"):
        with pytest.raises(ik.FileError, match="not a file that exactik wrote"):
            ik.load_markers(tmp_path / name)
    gantry_motion = ik.Motion(gantry(), np.zeros((1, 3)), 1.0)
    gantry_motion.save(tmp_path / "m.npz")
    with pytest.raises(ik.FileError, match="holds 'motion'; expected markers"):
        ik.load_markers(tmp_path / "m.npz")


def test_an_interrupted_write_leaves_the_old_file(tmp_path: Path):
    path = tmp_path / "take.trc"
    markers = ik.Markers(np.zeros((2, 1, 3)) + 0.5, ("A",), 10.0)
    markers.save(path)
    before = path.read_bytes()

    class Broken(ik.Markers):
        @property
        def times(self):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Broken(markers.positions, ("A",), 10.0).save(tmp_path / "take.csv")
    with pytest.raises(ik.FileError, match="cannot be written"):
        markers.save(tmp_path / "no folder" / "take.trc")
    assert path.read_bytes() == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["take.trc"]


@pytest.mark.parametrize("suffix", [".c3d", ".trc", ".csv", ".npz"])
def test_recordings_without_frames_are_written(tmp_path: Path, suffix: str) -> None:
    """With their names, by every format; CSV alone is not read again."""
    path = tmp_path / f"empty{suffix}"
    ik.Markers(np.zeros((0, 2, 3)), ("A", "B"), 100.0).save(path)
    if suffix == ".csv":
        assert path.read_text(encoding="utf-8").count("\n") == 1
    else:
        markers = ik.load_markers(path)
        assert markers.positions.shape == (0, 2, 3) and markers.names == ("A", "B")
