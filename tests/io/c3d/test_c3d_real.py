"""C3D files of many makers are read as their own makers meant them."""

from __future__ import annotations

import csv
import re
import warnings
from pathlib import Path

import numpy as np
import pytest

from exactik.errors import FileWarning
from exactik.io import load_markers
from exactik.model.motion import Markers
from tests.support.checkout import DATA

CONTENT = re.compile(
    r"(?P<encoding>Intel|DEC|MIPS) (?P<numbers>int|float); (?P<frames>\d+) frames @ "
    r"(?P<rate>[\d.]+) Hz, first (?P<first>\d+); (?P<points>\d+) points \((?P<unit>\w+)\); "
    r"(?P<channels>\d+) analog x(?P<samples>\d+)"
)


def rows() -> dict[str, str]:
    """File → what is known of it, from the list beside the real files."""
    readme = DATA / "README.md"
    lines = readme.read_text(encoding="utf-8").splitlines() if readme.is_file() else []
    cells = [line.split(" | ") for line in lines if CONTENT.search(line) is not None]
    return {row[0].strip("| `"): " | ".join(row[4:]) for row in cells}


ROWS = rows()


def quietly(path: Path, **options) -> Markers:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FileWarning)
        return load_markers(path, **options)


def test_every_real_file_is_listed(shared_data):
    paths = [p for p in (shared_data / "data").rglob("*") if p.suffix.lower() == ".c3d"]
    real = {p.relative_to(DATA).as_posix() for p in paths if "malformed" not in p.parts}
    assert real == set(ROWS)


@pytest.mark.parametrize("name", ROWS)
def test_real_file_has_what_is_known_of_it(name, shared_data):
    match = CONTENT.search(ROWS[name])
    assert match is not None
    markers = quietly(DATA / name)
    held = re.search(r"file holds (\d+) frames", ROWS[name])
    frames = min(int(match["frames"]), int(held[1]) if held is not None else 1 << 32)
    units = {"mete": "m", "None": "mm"}
    assert len(markers) == frames
    assert markers.rate == pytest.approx(float(match["rate"]), rel=1e-4)
    assert markers.first_frame == int(match["first"])
    assert len(markers.names) + len(markers.others) == int(match["points"])
    assert markers.units_in_file == units.get(match["unit"], match["unit"])
    assert markers.metadata["encoding"] == match["encoding"]
    assert markers.metadata["numbers"] == {"int": "int16", "float": "float32"}[match["numbers"]]
    assert (markers.analog is not None) == (int(match["channels"]) > 0)
    if markers.analog is not None:
        assert len(markers.analog.labels) == int(match["channels"])
        ratio = markers.analog.rate / markers.rate
        assert ratio == pytest.approx(int(match["samples"]), rel=1e-3)
    labels = re.search(r"labels ([^,]+),(.+?)\.\. \(", ROWS[name])
    if labels is not None:
        assert {labels[1], labels[2]} <= {*markers.names, *markers.others}


@pytest.mark.parametrize("name", ROWS)
def test_real_file_has_the_known_share_of_gaps(name, shared_data):
    """The list counts all points, markers or not, and zeros only where they are called valid."""
    markers = quietly(DATA / name)
    counts = dict(markers.metadata["missing"])
    assert markers.missing.sum() == sum(counts.values())
    for series in markers.others.values():
        counts["flagged"] += int(np.isnan(series.values).any(axis=1).sum())
        counts["at_origin"] += int((series.values == 0.0).all(axis=1).sum())
    every = max(len(markers) * (len(markers.names) + len(markers.others)), 1)
    wordings = {"flagged": "resid<0", "at_origin": "zero but 'valid'", "not_a_number": "NaN"}
    for reason, wording in wordings.items():
        known = re.search(rf"{wording} ([\d.]+)%", ROWS[name])
        share = float(known[1]) if known is not None else 0.0
        assert 100.0 * counts[reason] / every == pytest.approx(share, abs=0.06)


NOTED = {
    "bts/dynamic.C3D": "length unit is not given; mm is assumed",
    "c3dorg_sample01/Eb015pi.c3d": "48 labels for 26 points",
    "motion_analysis/MACsample.c3d": "POINT:SCALE is 0.0215412, the header has 0.0551136",
    "odd/badParameterOffset.c3d": "ANALOG:UNITS takes 128 bytes and has 4",
    "odd/bad_parameter_section.c3d": "LABELS points to byte 5771, after the parameters",
    "odd/parameterOverflow.c3d": "10706 times a marker is at (0, 0, 0)",
    "optitrack/walkingOptiTrack.c3d": "POINT:DATA_START says block 0, the header 4",
    "optotrak/Optotrak.c3d": "cut short: 29 of 1149 frames are there",
    "phasespace/phasespace_sample.c3d": "0 labels for 40 points",
    "phoenix/Dance.c3d": "POINT:FRAMES says 500 frames; 499 are read",
    "qualisys/Qualisys.c3d": "POINT:Y_SCREEN is '-Z'",
    "theia/C3DRotationExample.c3d": "rotations of the group ROTATION are not read",
}


@pytest.mark.parametrize("name", NOTED)
def test_contradictions_in_real_files_are_noted(name, shared_data):
    markers = quietly(DATA / "c3d" / name)
    assert any(NOTED[name] in note for note in markers.notes), markers.notes


def test_six_encodings_of_a_trial_agree_to_a_unit_of_scale(shared_data):
    folder = DATA / "c3d" / "c3dorg_sample01"
    first, *others = [load_markers(folder / f"Eb015{k}.c3d") for k in "pr pi sr si vr vi".split()]
    for other in others:
        assert other.names == first.names
        np.testing.assert_array_equal(other.missing, first.missing)
        difference = np.abs(other.positions - first.positions)
        assert np.nanmax(difference) <= 1.01e-3 / 12.0  # the scale is 1/12 mm


@pytest.mark.parametrize("name", ["TESTBPI", "TESTCPI"])
def test_pointers_of_the_header_are_honoured(name, shared_data):
    moved = load_markers(DATA / "c3d" / "c3dorg_sample08" / f"{name}.c3d")
    plain = load_markers(DATA / "c3d" / "c3dorg_sample01" / "Eb015pi.c3d")
    np.testing.assert_array_equal(moved.positions, plain.positions)


def test_csv_twin_has_the_same_numbers(shared_data):
    folder = DATA / "c3d" / "vicon_pycgm"
    markers = load_markers(folder / "Sample_Static.c3d")
    with open(folder / "Sample_Static.csv", newline="", encoding="utf-8") as file:
        lines = list(csv.reader(file))
    names = [name for name in lines[9] if name != ""]
    table = [row for row in lines[11:] if len(row) > 3 and row[0].isdigit()]
    width = 3 * len(names)
    twin = np.array([[float(c or "nan") for c in row[1 : width + 1]] for row in table])
    assert len(names) == len(markers.names) + len(markers.others) == 141
    for k, name in enumerate(names):
        values = (
            1000.0 * markers.marker(name) if name in markers.names else markers.others[name].values
        )
        np.testing.assert_allclose(values, twin[:, 3 * k : 3 * k + 3], rtol=1e-5, atol=1e-4)


def test_trc_twin_has_the_same_numbers(shared_data):
    markers = load_markers(DATA / "c3d" / "vicon" / "walking5.c3d")
    path = DATA / "trc" / "opensim" / "std_walking5_markers.trc"
    lines = path.read_text(encoding="utf-8").splitlines()
    table = [line.split("\t") for line in lines[5:] if line.strip() != ""]
    twin = np.array([[float(c) for c in row[2:122]] for row in table]).reshape(-1, 40, 3)
    every_tenth = 1000.0 * markers.positions[::10]
    digits = 5.1e-5  # it has five of them
    np.testing.assert_allclose(every_tenth, twin[: len(every_tenth)], rtol=digits, atol=1e-4)


# It takes frames of BTS for shorter than they are, as there is no ANALOG:RATE, and reads a mixture.
READ_BY_EZC3D = [name for name, row in ROWS.items() if "ezc3d ok" in row and "bts" not in name]


@pytest.mark.full
@pytest.mark.parametrize("name", READ_BY_EZC3D)
def test_ezc3d_agrees_where_it_reads_a_file(name, shared_data):
    ezc3d = pytest.importorskip("ezc3d")
    twin = ezc3d.c3d(str(DATA / name))
    markers = quietly(DATA / name, zeros_are_missing=False)
    metres = {"mm": 1e-3, "m": 1.0}[markers.units_in_file]
    points = np.moveaxis(twin["data"]["points"][:3], 0, 2)
    labels = twin["parameters"]["POINT"].get("LABELS", {"value": []})["value"]
    for k, label in enumerate(labels[: len(points)]):
        if labels.index(label) == k and label in markers.names:  # it does not tell twins apart
            values = markers.marker(label) / metres
            np.testing.assert_allclose(values, points[k][: len(values)], rtol=1e-6, atol=1e-6)
    if markers.first_frame > 0:
        assert twin["header"]["points"]["first_frame"] == markers.first_frame - 1


def test_events_of_the_header_where_there_are_no_others(shared_data):
    markers = load_markers(DATA / "c3d" / "c3dorg_sample01" / "Eb015vr.c3d")
    assert markers.metadata["events"] == (("RIC", "", 2.72), ("RHS", "", 5.4), ("RTO", "", 7.32))
