"""Analog channels and force plates of real files are what ezc3d finds, and physics allows."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import exactik as ik
from exactik.errors import FileWarning
from tests.support.checkout import DATA

FOLDERS = ("c3d", "asf_amc")
NAMES = sorted(
    path.relative_to(DATA).as_posix()
    for folder in FOLDERS
    for path in (DATA / folder).rglob("*")
    if path.suffix.lower() == ".c3d"
)
QUICK = [
    "c3d/codamotion/ADemo1_rewrite_c3d_pc_float.c3d",  # type 3
    "c3d/motion_analysis/upside_down_trial2.c3d",  # type 4
    "c3d/vicon_pycgm/Sample_Static.c3d",  # type 2
]
# ezc3d takes −32752 for 32752 where 16 bits without a sign make it 32784, and frames of BTS for
# shorter than they are; it needs 40 s to refuse the third.
NOT_COMPARABLE = ("unicode_path", "bts", "bad_parameter_section")


def load(name: str) -> ik.Markers:
    if not (DATA / name).is_file():
        pytest.skip("real files are absent: no folder ../shared beside the checkout")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FileWarning)
        return ik.load_markers(DATA / name)


def compare(name: str) -> None:
    ezc3d = pytest.importorskip("ezc3d")
    markers = load(name)
    if markers.analog is None:
        return
    try:
        twin = ezc3d.c3d(str(DATA / name))
    except (RuntimeError, ValueError, OSError) as error:  # MIPS, parameters slightly wrong
        pytest.skip(f"ezc3d refuses it: {str(error)[:60]}")
    samples = twin["data"]["analogs"][0].T
    largest = np.abs(samples).max(axis=0, initial=1e-12)
    assert (np.abs(markers.analog.values - samples) <= 1e-6 * largest).all()
    if len(markers.force_plates) == 0:
        return
    plates = ezc3d.c3d(str(DATA / name), extract_forceplat_data=True)["data"]["platform"]
    assert len(plates) == len(markers.force_plates)
    zero = twin["parameters"]["FORCE_PLATFORM"]["ZERO"]["value"][:2]
    has_zero = min(zero) > 0  # which ezc3d leaves to its user
    for ours, its in zip(markers.force_plates, plates, strict=True):
        unit = 1e-3 if its["unit_position"].startswith("mm") else 1.0
        np.testing.assert_allclose(ours.corners, its["corners"].T * unit, atol=1e-6)
        force, moment = its["force"].T - ours.force, its["moment"].T * unit - ours.moment
        if has_zero:
            force, moment = force - force[0], moment - moment[0]
        assert np.abs(force).max() < 1e-3 and np.abs(moment).max() < 1e-3
        place = its["center_of_pressure"].T * unit - ours.centre_of_pressure
        assert has_zero or np.nanmax(np.abs(place), initial=0.0) < 1e-5


COMPARED = [name for name in NAMES if not any(part in name for part in NOT_COMPARABLE)]


@pytest.mark.parametrize("name", QUICK)
def test_ezc3d_finds_the_same(name, shared_data):
    compare(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in COMPARED if name not in QUICK])
def test_ezc3d_finds_the_same_in_every_file(name, shared_data):
    compare(name)


@pytest.mark.parametrize(
    ("name", "least"),
    {
        "c3d/bts/dynamic.C3D": 500.0,  # type 1, y up
        "c3d/vicon_pig/PiG_Motion3_FF.c3d": 700.0,
        "c3d/motion_analysis/Gait.c3d": 700.0,
        "c3d/codamotion/ADemo1_rewrite_c3d_pc_integer.c3d": 600.0,
        "c3d/c3dorg_sample01/Eb015si.c3d": 700.0,  # MIPS, which ezc3d refuses
    }.items(),
)
def test_who_walks_over_a_plate_is_pushed_up_and_stays_on_it(name, least, shared_data):
    for plate in load(name).force_plates:
        up = int(np.argmax(np.abs(np.cross(*(plate.corners[:2] - plate.corners[2])))))
        force = plate.force[:, up]
        assert least < force.max() < 1200.0
        assert force.min() > -0.02 * force.max()
        low, high = plate.corners.min(axis=0) - 0.002, plate.corners.max(axis=0) + 0.002
        places = plate.centre_of_pressure[force > 0.1 * force.max()]
        assert ((places >= low) & (places <= high)).all()


def test_ezc3d_reads_what_is_written(shared_data, tmp_path):
    ezc3d = pytest.importorskip("ezc3d")
    markers = load(QUICK[0])
    markers.save(tmp_path / "written.c3d")
    twin = ezc3d.c3d(str(tmp_path / "written.c3d"), extract_forceplat_data=True)["data"]
    assert markers.analog is not None
    ours = markers.analog.values
    np.testing.assert_allclose(twin["analogs"][0].T[:, : ours.shape[1]], ours, rtol=1e-6, atol=1e-5)
    plate, its = markers.force_plates[0], twin["platform"][0]
    np.testing.assert_allclose(its["force"].T, plate.force, atol=1e-3)
    np.testing.assert_allclose(1e-3 * its["moment"].T, plate.moment, atol=1e-3)
    loaded = np.isfinite(plate.centre_of_pressure[:, 0])
    place = 1e-3 * its["center_of_pressure"].T[loaded]
    np.testing.assert_allclose(place, plate.centre_of_pressure[loaded], atol=1e-5)
