"""C3D files made for the purpose are read number by number, name by name."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from exactik.errors import FileError, FileWarning
from exactik.io import load_markers
from exactik.io.c3d import ENCODINGS
from exactik.model.motion import Markers
from tests.support.c3d_files import make_c3d


def load(tmp_path: Path, data: bytes, **options) -> Markers:
    path = tmp_path / "file.c3d"
    path.write_bytes(data)
    return load_markers(path, **options)


@pytest.mark.parametrize("encoding", ["Intel", "DEC", "MIPS"])
@pytest.mark.parametrize("scale", [-0.5, 0.5])
def test_numbers_of_every_encoding(encoding, scale, tmp_path):
    stored = np.array([[[1, -2, 3], [30000, 4, -5]], [[0, 0, 0], [7, 8, 9]]], dtype=float)
    fourth = [[0.0, -1.0], [0.0, 258.0]]
    data = make_c3d(stored, status=fourth, encoding=encoding, scale=scale, analog=[[5, 6], [7, 8]])
    markers = load(tmp_path, data, zeros_are_missing=False)
    wanted = stored * (scale if scale > 0 else 1.0) / 1000.0
    wanted[0, 1] = np.nan
    np.testing.assert_allclose(markers.positions, wanted, rtol=1e-7)
    assert markers.metadata["encoding"] == encoding
    assert markers.analog is not None
    assert markers.analog.rate == 100.0
    np.testing.assert_array_equal(markers.analog.values, [[5, 6], [7, 8]])
    assert markers.metadata["mean_residual"] == pytest.approx(2 * 0.5e-3 / 3)  # cameras left out


def test_floats_of_a_vax():
    words = bytes.fromhex("80400000 80c00000 4941db0f 00000000 0000ffff 00800000 80000000")
    wanted = [1.0, -1.0, np.pi, 0.0, 0.0, np.nan, 2.0**-128]
    np.testing.assert_allclose(ENCODINGS[85].decode_floats(words), wanted, rtol=1e-7)


def test_four_ways_to_be_missing(tmp_path):
    values = [[[1.0, 2, 3], [0, 0, 0], [4, 5, 6], [0, 0, 0], [np.nan, 1, 2], [1, np.inf, 2]]]
    data = make_c3d(values, status=[[0, -1, -1, 0, 0, 0]])
    markers = load(tmp_path, data)
    assert markers.missing.tolist() == [[False, True, True, True, True, True]]
    assert markers.metadata["missing"] == {"flagged": 2, "not_a_number": 2, "at_origin": 1}
    kept = load(tmp_path, data, zeros_are_missing=False)
    assert kept.missing.tolist() == [[False, True, True, False, True, True]]


def test_labels_become_unique_names(tmp_path):
    labels = ["RTHI", "RTHI", "", "Anna:RTHI ", "RTHI#2", "RTHI", "*0", "", "été\0\0junk"]
    markers = load(tmp_path, make_c3d(np.ones((1, 9, 3)), groups={"POINT": {"LABELS": labels}}))
    wanted = ("RTHI", "RTHI#3", "*1", "Anna:RTHI", "RTHI#2", "RTHI#4", "*0", "*2", "été")
    assert markers.names == wanted
    assert any("more than once get a number: 'RTHI'" in note for note in markers.notes)


def test_labels_continue_in_further_parameters(tmp_path):
    names = [f"p{k}" for k in range(300)]
    point = {"LABELS": names[:255], "LABELS2": names[255:]}
    markers = load(tmp_path, make_c3d(np.ones((1, 300, 3)), groups={"POINT": point}))
    assert markers.names == tuple(names)


def test_labels_of_another_code_page(tmp_path):
    point = {"LABELS": bytes([255, 2, 4, 1]) + b"Fu\xdf " + b"\0"}
    assert load(tmp_path, make_c3d(groups={"POINT": point})).names == ("Fuß",)


def test_points_that_are_no_markers_are_others(tmp_path):
    point = {"LABELS": ["A:C7", "A:LHip", "A:GRF", "A:Work", "A:Step"]}
    point |= {"ANGLES": ["LHip"], "ANGLE_UNITS": "deg", "FORCES": ["A:GRF"], "FORCE_UNITS": "N"}
    point |= {"SCALARS": ["A:Work", "A:Step"], "SCALAR_UNITS": ["J", "mm"]}
    values = np.arange(15.0).reshape(1, 5, 3) - 3.0  # the second is at (0, 1, 2)
    markers = load(tmp_path, make_c3d(values, status=[[0, 0, -1, 0, 0]], groups={"POINT": point}))
    assert markers.names == ("A:C7",)
    assert {k: (s.kind, s.unit) for k, s in markers.others.items()} == {
        "A:LHip": ("angle", "deg"),
        "A:GRF": ("force", "N"),
        "A:Work": ("scalar", "J"),
        "A:Step": ("scalar", "mm"),
    }
    assert markers.others["A:LHip"].values.tolist() == [[0.0, 1.0, 2.0]]
    assert np.isnan(markers.others["A:GRF"].values).all()


def test_points_that_the_file_says_are_computed(tmp_path):
    """By POINT:MODELED_MARKERS, and by groups of lengths in TYPE_GROUPS; they stay points."""
    point = {"LABELS": ["A:C7", "A:LHJC", "A:LKJC", "A:Angle", "A:Joint", "A:Other"]}
    point |= {"MODELED_MARKERS": ["LHJC", "A:LKJC"], "JOINTS": ["A:Joint"], "ODD": ["A:Other"]}
    point |= {"ANGLES": ["A:Angle"]}
    point |= {"TYPE_GROUPS": ["ANGLES", "ANGLE", "JOINTS", "LENGTH", "ODD", "VOLTAGE"]}
    values = np.arange(18.0).reshape(1, 6, 3) + 1.0
    markers = load(tmp_path, make_c3d(values, groups={"POINT": point}))
    assert markers.computed == ("A:LHJC", "A:LKJC", "A:Joint")
    assert "A:Angle" in markers.others and "A:Other" in markers.names
    for name in ("again.c3d", "again.npz"):
        markers.save(tmp_path / name)
        assert load_markers(tmp_path / name).computed == markers.computed


@pytest.mark.parametrize(
    ("unit", "metres"),
    [
        ("mm", 1e-3),
        ("m", 1.0),
        ("mete", 1.0),
        ("cm  ", 0.01),
        ("Millimeters", 1e-3),
        ("inch", 0.0254),
    ],
)
def test_units_are_recognised_by_their_first_letters(unit, metres, tmp_path):
    markers = load(tmp_path, make_c3d([[[100.0, 0, 0]]], groups={"POINT": {"UNITS": unit}}))
    assert markers.positions[0, 0, 0] == pytest.approx(100.0 * metres)


@pytest.mark.parametrize(("reach", "unit"), [(1700.0, "mm"), (1.7, "m")])
@pytest.mark.parametrize("stated", [None, "parsec"])
def test_unknown_unit_is_guessed_with_a_warning(stated, reach, unit, tmp_path):
    data = make_c3d([[[0.1, 0.2, reach]]], groups={"POINT": {"UNITS": stated}})
    with pytest.warns(FileWarning, match=f"{unit} is assumed as coordinates reach {reach:g}"):
        assert load(tmp_path, data).units_in_file == unit
    assert load(tmp_path, data, length_unit="cm").positions[0, 0, 2] == pytest.approx(reach / 100)
    assert load(tmp_path, data, length_unit=0.5).units_in_file == "0.5 m"


def test_rate_of_the_parameters_before_the_header(tmp_path):
    point = {"RATE": 69.993}
    markers = load(tmp_path, make_c3d(groups={"POINT": point}, header={"rate": 70.5}))
    assert markers.rate == 69.993
    assert "POINT:RATE is 69.993 Hz, which is used; the header says 70.5 Hz" in markers.notes
    assert load(tmp_path, make_c3d(groups={"POINT": {"RATE": None}})).rate == 100.0
    nothing = make_c3d(groups={"POINT": {"RATE": 0.0}}, header={"rate": np.nan})
    assert load(tmp_path, nothing, rate=50).rate == 50.0
    with pytest.raises(FileError, match="byte 20: frame rate is nan; give the rate"):
        load(tmp_path, nothing)


def test_rate_that_contradicts_the_analog_rate_is_noted(tmp_path):
    groups = {"ANALOG": {"USED": 2, "RATE": 2000.0}}
    data = make_c3d(analog=np.ones((1, 20)), groups=groups, header={"samples": 10})
    assert any("make 200 frames a second, but" in note for note in load(tmp_path, data).notes)


@pytest.mark.parametrize(("stated", "up"), [("+Z", "z"), ("+Y", "y"), ("-Z", "z"), ("", None)])
def test_up_axis_is_that_of_the_screen(stated, up, tmp_path):
    markers = load(tmp_path, make_c3d(groups={"POINT": {"Y_SCREEN": stated}}))
    assert markers.up_axis == up
    assert any("points down" in note for note in markers.notes) == stated.startswith("-")


def test_metadata_names_makers_subjects_and_events(tmp_path):
    event = {"USED": 2, "LABELS": ["Foot Strike", "Foot Off"], "CONTEXTS": ["Left", "Right"]}
    groups = {
        "manufacturer": {"Company": "Acme", "software": "Cap", "VERSION_LABEL": "1.2"},
        "SUBJECTS": {"NAMES": ["Anna", "Bea"]},
        "EVENT": {**event, "TIMES": [0.0, 1.5, 1.0, 2.25]},
    }
    metadata = load(tmp_path, make_c3d(groups=groups)).metadata
    assert (metadata["maker"], metadata["software"]) == ("Acme", "Cap 1.2")
    assert metadata["subjects"] == ("Anna", "Bea")
    assert metadata["events"] == (("Foot Strike", "Left", 1.5), ("Foot Off", "Right", 62.25))
