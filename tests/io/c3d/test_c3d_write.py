"""What is written as C3D comes back, to us and to others."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from exactik.errors import FileError, FileWarning, UnknownNameError
from exactik.io import load_markers, save_markers
from exactik.model.motion import Markers, Series
from tests.support.checkout import DATA

SAMPLES = [
    path.relative_to(DATA).as_posix()
    for path in sorted(DATA.rglob("*"))
    if path.suffix.lower() == ".c3d" and "malformed" not in path.parts
]


def some(frames: int = 4, count: int = 3, **options) -> Markers:
    rng = np.random.default_rng(frames + count)
    positions = rng.normal(size=(frames, count, 3))
    positions[rng.random((frames, count)) < 0.2] = np.nan
    names = options.pop("names", tuple(f"M{k}" for k in range(count)))
    return Markers(positions, names, options.pop("rate", 120.0), **options)


def again(markers: Markers, path: Path, **options) -> Markers:
    """The same after it was written and read."""
    save_markers(markers, path, **options)
    return load_markers(path, zeros_are_missing=False)


def assert_same(new: Markers, old: Markers) -> None:
    assert new.names == old.names
    # Rounded to a float32, then to the shortest decimal that it stands for: half a spacing each.
    assert new.rate == pytest.approx(old.rate, rel=2.0**-23)
    assert new.first_frame == old.first_frame or len(old) == 0
    assert new.up_axis == old.up_axis
    np.testing.assert_array_equal(new.missing, old.missing)
    np.testing.assert_allclose(new.positions, old.positions, rtol=2e-7, atol=1e-40)
    assert list(new.others) == list(old.others)
    for name, series in old.others.items():
        assert new.others[name][::2] == series[::2]  # kind and unit
        np.testing.assert_allclose(new.others[name].values, series.values, rtol=2e-7, atol=1e-40)


@pytest.mark.full
@pytest.mark.parametrize("name", SAMPLES)
def test_real_files_come_back(name, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FileWarning)
        markers = load_markers(DATA / name)
    for unit in ("mm", "in"):
        new = again(markers, tmp_path / "new.c3d", length_unit=unit)
        assert_same(new, markers)
        assert new.units_in_file == unit
        assert not any("says" in note for note in new.notes)


letters = st.characters(exclude_categories=["Cc", "Cs"])
texts = st.text(letters, max_size=40).map(lambda text: text.strip(" "))
units = st.sampled_from(["deg", "N", "Nmm/kg", "", "°"])
kinds = st.sampled_from(["angle", "force", "moment", "power", "scalar", "other"])
values = st.floats(-1e4, 1e4, allow_subnormal=False) | st.just(float("nan"))


@st.composite
def recordings(draw: st.DrawFn) -> Markers:
    names = draw(st.lists(texts.filter(len), max_size=6, unique=True))
    frames, marker_count = draw(st.integers(0, 3)), draw(st.integers(0, len(names)))
    flat = draw(st.lists(values, min_size=9, max_size=9))
    every = np.resize(np.array(flat), (frames, len(names), 3))
    every[np.isnan(every).any(axis=2)] = np.nan
    others = {
        name: Series(draw(kinds), every[:, marker_count + k], draw(units))
        for k, name in enumerate(names[marker_count:])
    }
    return Markers(
        every[:, :marker_count],
        tuple(names[:marker_count]),
        draw(st.floats(0.5, 5000.0)),
        first_frame=draw(st.integers(0, 70000) | st.just(1 << 30)),
        up_axis=draw(st.sampled_from(["x", "y", "z", None])),
        others=others,
    )


@given(recordings())
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_made_up_recordings_come_back(tmp_path, markers):
    with warnings.catch_warnings():  # coordinates of no human size
        warnings.simplefilter("ignore", FileWarning)
        new = again(markers, tmp_path / "new.c3d")
    assert_same(new, markers)


@pytest.mark.parametrize(
    ("frames", "count", "first"),
    [(0, 3, 1), (5, 0, 1), (0, 0, 0), (3, 300, 1), (3, 700, 9), (70000, 1, 1), (3, 2, 65534)],
)
def test_counts_beyond_their_usual_size_come_back(frames, count, first, tmp_path):
    markers = some(frames, count, first_frame=first)
    new = again(markers, tmp_path / "new.c3d")
    assert_same(new, markers)
    assert new.notes == ()


def test_long_names_take_several_parameters(tmp_path):
    markers = some(2, 200, names=tuple(f"{k}".rjust(250, "é"[: k % 2] or "x") for k in range(200)))
    with pytest.raises(FileError, match=r"is no name for C3D: up to 255 bytes"):
        save_markers(markers, tmp_path / "new.c3d")
    markers = some(2, 200, names=tuple(f"{k}".rjust(250, "x") for k in range(200)))
    assert_same(again(markers, tmp_path / "new.c3d"), markers)


@pytest.mark.parametrize(("frames", "count"), [(4, 3), (0, 3), (3, 300), (70000, 1)])
def test_ezc3d_reads_what_is_written(frames, count, tmp_path):
    ezc3d = pytest.importorskip("ezc3d")
    angle = Series("angle", np.arange(3.0 * frames).reshape(frames, 3), "deg")
    names = tuple(f"Anna:M {k}" for k in range(count))
    markers = some(frames, count, names=names, first_frame=7, others={"Knee": angle})
    save_markers(markers, tmp_path / "new.c3d")
    twin = ezc3d.c3d(str(tmp_path / "new.c3d"))
    point = twin["parameters"]["POINT"]
    points = np.moveaxis(twin["data"]["points"][:3], 0, 2)
    assert points.shape == (count + 1, frames, 3)
    np.testing.assert_allclose(np.swapaxes(points[:-1], 0, 1), 1000.0 * markers.positions, 1e-6)
    np.testing.assert_allclose(points[-1], angle.values)
    labels = point["LABELS"]["value"] + point.get("LABELS2", {"value": []})["value"]
    assert labels == [*names, "Knee"]
    assert point["RATE"]["value"][0] == 120.0
    assert point["UNITS"]["value"] == ["mm"]
    assert point["ANGLES"]["value"] == ["Knee"]
    if frames > 0:
        assert twin["header"]["points"]["first_frame"] == 6  # it counts from zero
        assert twin["header"]["points"]["last_frame"] == 5 + frames


def test_missing_markers_are_flagged_at_the_origin(tmp_path):
    markers = Markers(np.array([[[1.0, 2.0, 3.0], [np.nan, 5.0, 6.0]]]), ("a", "b"), 100.0)
    save_markers(markers, tmp_path / "new.c3d")
    words = np.frombuffer((tmp_path / "new.c3d").read_bytes()[-512:], "<f4")
    assert words[:8].tolist() == [1000.0, 2000.0, 3000.0, 0.0, 0.0, 0.0, 0.0, -1.0]


def test_units_of_one_kind_may_differ(tmp_path):
    numbers = np.ones((2, 3))
    others = {"a": Series("scalar", numbers, "J"), "b": Series("scalar", numbers, "kg")}
    markers = some(2, 1, others=others)
    assert_same(again(markers, tmp_path / "new.c3d"), markers)


def test_what_is_called_like_a_marker_gets_a_number(tmp_path):
    markers = some(2, 1, names=("Knee",), others={"Knee": Series("angle", np.ones((2, 3)), "deg")})
    new = again(markers, tmp_path / "new.c3d")
    assert (new.names, list(new.others)) == (("Knee",), ["Knee#2"])


FAULTS = {
    "null": (some(1, 1, names=("a\0b",)), "is no name for C3D"),
    "surrogate": (some(1, 1, names=("\ud800",)), "no text that can be written"),
    "negative": (some(1, 1, first_frame=-1), "the first frame is -1; C3D counts from 0"),
    "huge": (Markers(np.full((1, 1, 3), 1e38), ("a",), 100.0), "too large for the 32 bits"),
    "many": (Markers(np.empty((0, 65536, 3)), tuple(map(str, range(65536))), 1.0), "65536 points"),
    "names": (some(1, 999, names=tuple(f"{k:0>200}" for k in range(999))), "C3D has room for"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_what_does_not_fit_is_refused_and_the_old_file_stays(fault, tmp_path):
    markers, message = FAULTS[fault]
    path = tmp_path / "new.c3d"
    path.write_bytes(b"old")
    with pytest.raises(FileError, match=message):
        save_markers(markers, path)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_unit_must_have_a_name(tmp_path):
    assert again(some(), tmp_path / "new.c3d", length_unit=0.01).units_in_file == "cm"
    with pytest.raises(FileError, match=r"length unit is 0\.02; expected one of m dm cm mm in ft"):
        save_markers(some(), tmp_path / "new.c3d", length_unit=0.02)
    with pytest.raises(UnknownNameError, match="no length unit named 'ell'"):
        save_markers(some(), tmp_path / "new.c3d", length_unit="ell")
