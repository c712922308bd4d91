"""Analog channels and force plates of C3D files are what they measured, and cheap unasked."""

from __future__ import annotations

import os
import pickle
import warnings
from pathlib import Path

import numpy as np
import pytest

import exactik as ik
from exactik.errors import FileError, FileWarning, UsageError
from exactik.io import inspect_file
from exactik.model.motion import ForcePlate
from tests.support.c3d_files import encode_array, make_c3d

FRAMES, SAMPLES = 6, 4
COUNT = FRAMES * SAMPLES
DEPTH = 0.05  # [m] from the surface down to the sensors
SIDES = (0.12, 0.2)  # [m] from the middle to the sensors of type 3
KINDS = (1, 2, 3, 4)

# Corners of C3D: (+x, +y), (−x, +y), (−x, −y), (+x, −y) of a plate with z down, somewhere askew.
_Z = np.array([0.02, -0.03, -1.0]) / np.linalg.norm([0.02, -0.03, -1.0])
_X = np.cross([0.3, 0.9, 0.0], _Z) / np.linalg.norm(np.cross([0.3, 0.9, 0.0], _Z))
R_WORLD_PLATE = np.stack([_X, np.cross(_Z, _X), _Z], axis=1)
MIDDLE = np.array([0.4, -0.7, 0.01])
HALF = np.array([[0.3, 0.25], [-0.3, 0.25], [-0.3, -0.25], [0.3, -0.25]])
CORNERS = MIDDLE + HALF @ R_WORLD_PLATE[:, :2].T


class Load:
    """Somebody's foot: ground reaction, where it goes through the surface, and a free moment."""

    def __init__(self, seed: int = 0):
        rng = np.random.default_rng(seed)
        self.force = rng.normal((0.0, 0.0, -700.0), 80.0, (COUNT, 3))  # plate frame, z down
        self.place = np.zeros((COUNT, 3))
        self.place[:, :2] = rng.uniform(-0.2, 0.2, (COUNT, 2))
        self.twist = np.zeros((COUNT, 3))
        self.twist[:, 2] = rng.normal(0.0, 5.0, COUNT)
        self.moment = np.cross(self.place, self.force) + self.twist  # about the middle


def make_channels(kind: int, load: Load, origin: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """What a plate of a type measures under a load, by mechanics [N, N mm, mm], (COUNT, n)."""
    if kind == 1:
        place, twist = 1e3 * load.place[:, :2], 1e3 * load.twist[:, 2:]
        return np.concatenate([load.force, place, twist], axis=1)
    from_sensor = load.place + origin  # the sensor is o before the middle
    about_sensor = np.cross(from_sensor, load.force) + load.twist
    channels = np.concatenate([load.force, 1e3 * about_sensor], axis=1)
    return channels if kind == 2 else np.linalg.solve(matrix, channels.T).T


def make_sensor_load(seed: int = 1) -> tuple[np.ndarray, Load]:
    """Eight readings of type 3, and the load that they are: forces at the places of sensors."""
    rng, (a, b) = np.random.default_rng(seed), SIDES
    readings = rng.normal(0.0, 30.0, (COUNT, 8)) - np.repeat([0.0, 180.0], 4)
    x, y, z = np.eye(3)
    places = [(0, b), (0, -b), (a, 0), (-a, 0), (a, b), (-a, b), (-a, -b), (a, -b)]
    directions = [x, x, y, y, z, z, z, z]
    load = Load()
    load.force, load.moment = np.zeros((COUNT, 3)), np.zeros((COUNT, 3))
    for k, ((px, py), direction) in enumerate(zip(places, directions, strict=True)):
        part = readings[:, k, None] * direction
        load.force += part
        load.moment += np.cross([px, py, DEPTH], part)
    return readings, load


def make_plate_file(
    path: Path, channels: np.ndarray, kind: int, origin, matrix=None, **platform
) -> Path:
    count = channels.shape[1]
    numbers = [*range(1, count + 1)]
    group = {
        "USED": 1,
        "TYPE": [kind],
        "CORNERS": encode_array(1e3 * CORNERS, (3, 4, 1)),
        "ORIGIN": encode_array(1e3 * np.asarray(origin), (3, 1)),
        "CHANNEL": encode_array(numbers, (count, 1)),
        "ZERO": [1, 0],
        "CAL_MATRIX": None if matrix is None else encode_array(matrix.T, (6, 6, 1)),
        **platform,
    }
    analog = {
        "USED": count,
        "LABELS": [f"C{k}" for k in numbers],
        "UNITS": ["N"] * 3 + ["Nmm"] * (count - 3),
        "SCALE": [1.0] * count,
        "OFFSET": [0] * count,
        "GEN_SCALE": 1.0,
        "RATE": 100.0 * SAMPLES,
    }
    path.write_bytes(
        make_c3d(
            np.ones((FRAMES, 2, 3)) * [[[100.0, 200.0, 300.0]]],
            analog=channels.reshape(FRAMES, -1),
            groups={"ANALOG": analog, "FORCE_PLATFORM": group},
            header={"samples": SAMPLES},
        )
    )
    return path


def make_file(folder: Path, kind: int = 2, **platform) -> tuple[Path, Load]:
    """A file with a plate of a type, and what stood on it."""
    origin, matrix = (
        np.array([0.004, -0.003, -DEPTH]),
        np.diag([2.0, 2.5, 8.0, 900.0, 800.0, 400.0]),
    )
    matrix += np.random.default_rng(3).normal(0.0, 0.2, (6, 6))
    if kind == 3:
        channels, load = make_sensor_load()
        origin = np.array([*SIDES, -DEPTH])
    else:
        load = Load()
        channels = make_channels(kind, load, origin, matrix)
    given = matrix if kind == 4 else None
    return make_plate_file(folder / "p.c3d", channels, kind, origin, given, **platform), load


def quietly(path: Path, **options) -> ik.Markers:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FileWarning)
        return ik.load_markers(path, **options)


def assert_measures(plate: ForcePlate, load: Load, atol: float = 1e-2) -> None:
    np.testing.assert_allclose(plate.force, load.force @ R_WORLD_PLATE.T, atol=atol)
    np.testing.assert_allclose(plate.moment, load.moment @ R_WORLD_PLATE.T, atol=atol)


# --- plates


@pytest.mark.parametrize("kind", KINDS)
def test_plate_of_each_type_tells_the_load_that_stood_on_it(kind, tmp_path):
    path, load = make_file(tmp_path, kind)
    (plate,) = ik.load_markers(path).force_plates
    assert (plate.type, plate.rate, len(plate)) == (kind, 400.0, COUNT)
    np.testing.assert_allclose(plate.corners, CORNERS, atol=1e-7)
    assert_measures(plate, load)
    assert (plate.force[:, 2] > 0.0).all()  # the ground reaction is up
    x, y = -load.moment[:, 1] / load.force[:, 2], load.moment[:, 0] / load.force[:, 2]
    places = MIDDLE + np.stack([x, y, 0 * x], axis=1) @ R_WORLD_PLATE.T
    np.testing.assert_allclose(plate.centre_of_pressure, places, atol=1e-5)
    if kind == 1:
        np.testing.assert_allclose(places, MIDDLE + load.place @ R_WORLD_PLATE.T, atol=1e-5)


@pytest.mark.parametrize("kind", (2, 3))
def test_origin_that_points_down_means_the_same(kind, tmp_path):
    _, load = make_file(tmp_path, kind)
    origin = np.array([-0.004, 0.003, DEPTH] if kind == 2 else [*SIDES, DEPTH])
    turned, _ = make_file(tmp_path, kind, ORIGIN=encode_array(1e3 * origin, (3, 1)))
    assert_measures(ik.load_markers(turned).force_plates[0], load)


def test_moments_in_another_unit_than_lengths(tmp_path):
    load = Load()
    channels = make_channels(2, load, np.zeros(3), np.eye(6)) * np.repeat([1.0, 1e-3], 3)
    path = make_plate_file(tmp_path / "m.c3d", channels, 2, np.zeros(3))
    data = path.read_bytes().replace(b"Nmm", b"Nm ")
    path.write_bytes(data)
    markers = ik.load_markers(path)
    assert markers.analog is not None and markers.analog.units[3] == "Nm"
    assert_measures(markers.force_plates[0], load)


def test_zero_is_subtracted_where_the_file_asks_for_it(tmp_path):
    load, offset = Load(), np.array([30.0, -20.0, 11.0, 4000.0, 9000.0, -800.0])
    load.force[:SAMPLES] = load.moment[:SAMPLES] = load.twist[:SAMPLES] = 0.0
    channels = make_channels(2, load, np.zeros(3), np.eye(6)) + offset
    path = make_plate_file(tmp_path / "z.c3d", channels, 2, np.zeros(3), ZERO=[1, 1])
    assert_measures(ik.load_markers(path).force_plates[0], load)
    for zero in ([1, 0], [0, 1], [7, 8], [2, 1]):
        make_plate_file(path, channels, 2, np.zeros(3), ZERO=zero)
        (plate,) = ik.load_markers(path).force_plates
        np.testing.assert_allclose(plate.wrench[0, :3], offset[:3])


def test_no_centre_of_pressure_without_a_load():
    wrench = np.zeros((3, 6))
    wrench[:, 2] = -9.0, -11.0, 0.0
    plate = ForcePlate(wrench, type=2, corners=CORNERS, origin=np.zeros(3), rate=10.0)
    assert np.isnan(plate.centre_of_pressure).all(axis=1).tolist() == [True, False, True]
    with pytest.raises(UsageError, match="on a line"):
        ForcePlate(wrench, type=2, corners=np.zeros((4, 3)), origin=np.zeros(3), rate=10.0)


@pytest.mark.parametrize(
    ("changes", "note", "plates"),
    [
        ({"TYPE": [5]}, "force plate 1 is of type 5; forces are read of types 1 to 4", 1),
        ({"TYPE": None}, "of type 0", 1),
        ({"CHANNEL": encode_array([1, 2, 3, 4, 5, 7], (6, 1))}, "CHANNEL names others", 1),
        ({"CHANNEL": encode_array([1, 2], (2, 1))}, "CHANNEL has 0 of 6 channels", 1),
        ({"CHANNEL": None}, "CHANNEL has 0 of 6 channels", 1),
        ({"CORNERS": None}, "CORNERS has 0 of 1 plate", 0),
        ({"CORNERS": encode_array(np.full(12, np.nan), (3, 4, 1))}, "CORNERS has 0 of 1", 0),
        ({"CORNERS": encode_array(np.zeros(12), (3, 4, 1))}, "has no area", 0),
        ({"USED": 60000}, "CORNERS has 1 of 60000 plates", 1),
    ],
)
def test_damaged_plates_are_noted_and_markers_load(changes, note, plates, tmp_path):
    path, _ = make_file(tmp_path, **changes)
    markers = ik.load_markers(path)  # no warning either
    assert len(markers) == FRAMES
    assert any(note in text for text in markers.notes), markers.notes
    assert len(markers.force_plates) == plates
    for plate in markers.force_plates:
        assert np.isnan(plate.force).all() == ("USED" not in changes)
        assert plate.force.shape == (COUNT, 3)


@pytest.mark.parametrize("matrix", [None, np.zeros((6, 6))])
def test_type_4_without_a_matrix_is_type_2(matrix, tmp_path):
    load, origin = Load(), np.array([0.0, 0.0, -DEPTH])
    channels = make_channels(2, load, origin, np.eye(6))
    path = make_plate_file(tmp_path / "p.c3d", channels, 4, origin, matrix)
    markers = ik.load_markers(path)
    assert any("CAL_MATRIX has no matrix for plate 1" in note for note in markers.notes)
    assert_measures(markers.force_plates[0], load)


# --- channels


@pytest.mark.parametrize("encoding", ["Intel", "DEC", "MIPS"])
@pytest.mark.parametrize("scale", [-1.0, 0.5])
@pytest.mark.parametrize(
    ("form", "offset", "counts"),
    [
        ("SIGNED", -7, [-20000, -7, 20000]),
        ("SIGNED", -10000, [-20000, -7, 20000]),
        ("UNSIGNED", 2048, [0, 2048, 60000]),
        ("UNSIGNED", 32768, [0, 32768, 65535]),
        ("SIGNED", 32768, [0, 32768, 65535]),  # says one thing and holds the other
        (None, 45536, [0, 32768, 65535]),
    ],
)
def test_scaling(encoding, scale, form, offset, counts, tmp_path):
    analog = {"USED": 1, "SCALE": [0.25], "OFFSET": [offset], "GEN_SCALE": 0.5, "FORMAT": form}
    data = make_c3d(
        np.ones((3, 1, 3)),
        scale=scale,
        encoding=encoding,
        analog=np.array(counts)[:, None],
        groups={"ANALOG": {**analog, "LABELS": ["EMG"], "UNITS": ["mV"]}},
    )
    (tmp_path / "a.c3d").write_bytes(data)
    channels = ik.load_markers(tmp_path / "a.c3d").analog
    assert channels is not None and channels.units == ("mV",)
    np.testing.assert_array_equal(channels.channel("EMG"), (np.array(counts) - offset) * 0.125)
    np.testing.assert_allclose(channels.times, [0.0, 0.01, 0.02])


def test_damaged_channels_are_noted_and_markers_load(tmp_path):
    def load(analog, header=None, **parameters) -> ik.Markers:
        data = make_c3d(
            np.ones((2, 1, 3)), analog=analog, groups={"ANALOG": parameters}, header=header
        )
        (tmp_path / "a.c3d").write_bytes(data)
        return ik.load_markers(tmp_path / "a.c3d")

    markers = load(np.ones((2, 6)), {"samples": 4})
    assert markers.analog is None
    assert any("no whole number of channels" in note for note in markers.notes)
    channels = load(np.ones((2, 6)), {"samples": 4}, USED=3).analog
    assert channels is not None and (len(channels), len(channels.labels)) == (4, 3)
    markers = load(np.ones((2, 2)), SCALE=[2.0], OFFSET=[0, 0], LABELS=["A", "A"], GEN_SCALE=0.0)
    assert markers.analog is not None and markers.analog.labels == ("A", "A#2")
    np.testing.assert_array_equal(markers.analog.values, [[2.0, 1.0]] * 2)
    assert any("ANALOG:SCALE has numbers for 1 of 2 channels" in note for note in markers.notes)
    assert any("GEN_SCALE is missing or 0" in note for note in markers.notes)


def test_nothing_is_read_before_it_is_asked_for(tmp_path, monkeypatch):
    path, load = make_file(tmp_path)
    markers = ik.load_markers(path)
    assert len(pickle.dumps(markers)) < 3 * markers.positions.nbytes + 3000
    path.unlink()
    assert markers.analog is not None and len(markers.analog) == COUNT
    with pytest.raises(FileError, match="cannot be read"):
        _ = markers.analog.values
    make_file(tmp_path)
    os.utime(path, ns=(1, 1))
    with pytest.raises(FileError, match="has changed since its markers were read"):
        _ = markers.force_plates[0].force
    again = ik.load_markers(path)
    values = again.between(0.01, 0.02).analog
    assert again.analog is not None and values is not None
    rows = again.analog.values
    path.unlink()  # what was read is shared with what comes from it
    np.testing.assert_array_equal(values.values, rows[SAMPLES : 3 * SAMPLES])
    assert_measures(again.force_plates[0], load)


def test_what_becomes_of_a_recording_becomes_of_its_plates(tmp_path):
    path, _ = make_file(tmp_path)
    markers = ik.load_markers(path)
    (plate,) = markers.force_plates
    (part,) = markers.between(0.02, 0.03).force_plates
    np.testing.assert_array_equal(part.force, plate.force[2 * SAMPLES : 4 * SAMPLES])
    assert len(markers.between(9.0).force_plates[0].force) == 0
    (turned,) = markers.turned("YZX").force_plates
    for name in ("corners", "force", "moment", "centre_of_pressure"):
        expected = getattr(plate, name) @ np.eye(3)[[1, 2, 0]].T
        np.testing.assert_allclose(getattr(turned, name), expected, atol=1e-9)
    (large,) = markers.scaled(10.0).force_plates
    np.testing.assert_allclose(large.force, plate.force)
    np.testing.assert_allclose(large.centre_of_pressure, 10.0 * plate.centre_of_pressure)
    for other in (markers.chosen(["M1"]), markers.resampled(50.0), markers.renamed({"M0": "A"})):
        assert other.force_plates == markers.force_plates and other.analog is markers.analog
    again = pickle.loads(pickle.dumps(markers))
    np.testing.assert_array_equal(again.force_plates[0].wrench, plate.wrench)


def test_npz_keeps_channels_and_plates(tmp_path):
    path, _ = make_file(tmp_path)
    markers = ik.load_markers(path)
    markers.save(tmp_path / "m.npz")
    path.unlink()
    again = ik.load_markers(tmp_path / "m.npz")
    assert again.analog is not None and markers.analog is not None
    assert (again.analog.labels, again.analog.units) == (
        markers.analog.labels,
        markers.analog.units,
    )
    np.testing.assert_array_equal(again.analog.values, markers.analog.values)
    for name in ("type", "rate", "corners", "origin", "wrench"):
        mine, its = (getattr(m.force_plates[0], name) for m in (markers, again))
        np.testing.assert_array_equal(mine, its)


def test_conversion_says_what_is_lost(tmp_path):
    path, _ = make_file(tmp_path)
    for suffix, name in {".trc": "TRC", ".csv": "CSV"}.items():
        lost = ik.convert(path, tmp_path / f"out{suffix}").lost
        assert f"6 analog channels at 400 Hz: {name} is written without" in lost
        assert f"1 force plate: {name} is written without" in lost
    assert ik.convert(path, tmp_path / "out.npz").lost == ()
    assert not any("written without" in text for text in ik.convert(path, tmp_path / "o.c3d").lost)
    lost = ik.convert(path, tmp_path / "slow.c3d", output_rate=33.0).lost  # 12.1 samples a frame
    assert "6 analog channels at 400 Hz: C3D is written without" in lost
    assert "1 force plate: C3D is written without" in lost


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("unit", ["mm", "m"])
def test_c3d_keeps_channels_and_what_plates_measured(kind, unit, tmp_path):
    path, _ = make_file(tmp_path, kind)
    markers = ik.load_markers(path).between(0.01, 0.04).turned("YZX")
    markers.save(tmp_path / "once.c3d", length_unit=unit)
    once = ik.load_markers(tmp_path / "once.c3d")
    once.save(tmp_path / "twice.c3d", length_unit=unit)
    twice = ik.load_markers(tmp_path / "twice.c3d")
    assert markers.analog is not None and once.analog is not None and twice.analog is not None
    assert once.analog.labels[: len(markers.analog.labels)] == markers.analog.labels
    assert twice.analog.labels == once.analog.labels  # none were added
    assert once.analog.rate == markers.analog.rate and not any("CHANNEL" in n for n in once.notes)
    for label in markers.analog.labels:
        expected = markers.analog.channel(label)
        np.testing.assert_allclose(once.analog.channel(label), expected, rtol=1e-6, atol=1e-6)
    for again in (once, twice):
        for name in ("corners", "force", "moment", "centre_of_pressure"):
            mine, its = (getattr(m.force_plates[0], name) for m in (markers, again))
            np.testing.assert_allclose(its, mine, atol=2e-4)


def test_inspection_tells_channels_and_plates(tmp_path):
    path, _ = make_file(tmp_path)
    details = inspect_file(path).details
    assert details["analog"] == "6 channels at 400 Hz: C1, C2, C3, C4 and 2 more"
    assert details["plates"] == "1 of type 2 (600 × 500 mm)"


def test_changed_bytes_never_do_more_than_lose_samples(tmp_path):
    """Parameters with random bytes in them: markers as before, or an error in one sentence."""
    path, _ = make_file(tmp_path, 4)
    sound, rng = path.read_bytes(), np.random.default_rng(7)
    for _ in range(80):
        data = bytearray(sound)
        for place in rng.integers(512, 2048, rng.integers(1, 12)):
            data[place] = rng.integers(256)
        path.write_bytes(data)
        try:
            markers = quietly(path)
            channels = markers.analog
            assert channels is None or channels.values.shape == (
                len(channels),
                len(channels.labels),
            )
            for plate in markers.force_plates:
                assert plate.force.shape == plate.centre_of_pressure.shape == (len(plate), 3)
        except FileError as error:
            assert "\n" not in str(error)
