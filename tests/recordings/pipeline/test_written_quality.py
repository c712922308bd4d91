"""Tables and archives carry what values are worth, and leave out what nothing determines."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import exactik as ik
from exactik.lab.synthetic import simulate_performance, simulate_recording
from exactik.recordings.pipeline import rate_columns, write_motion
from exactik.recordings.tracking import Quality

LEGS = ("FWT", "BWT", "THI", "KNE", "SHN", "ANK", "HEE", "TOE", "MT5")
STRAY = slice(20, 40)


@pytest.fixture(scope="module")
def track() -> ik.Track:
    """Two seconds of legs; a knee's marker is 15 cm off for a while."""
    motion = simulate_performance(2.0, 50.0)
    markers = simulate_recording(motion, noise=0.001, gaps=0.0, swap=False).markers
    legs = markers.chosen([name for name in markers.names if name[1:] in LEGS])
    positions = np.array(legs.positions)
    positions[STRAY, legs.names.index("LKNE"), 1] += 0.15
    return ik.track(ik.human(), replace(legs, positions=positions), robust=None)


def read_csv(path: Path) -> dict[str, list[str]]:
    with path.open(encoding="utf-8") as file:
        head, *rows = csv.reader(file)
    return dict(zip(head, map(list, zip(*rows, strict=True)), strict=True))


def write(track: ik.Track, path: Path, *blank: Quality, angles: str | None = None) -> None:
    write_motion(track.motion, path, angles, quality=rate_columns(track, blank))


def test_a_table_has_words_and_no_values_that_nothing_determines(track: ik.Track, tmp_path: Path):
    write(track, tmp_path / "legs.csv", Quality.OPEN, angles="both")
    table = read_csv(tmp_path / "legs.csv")
    count = len(track)
    assert table["elbow_flexion_l [deg]"] == [""] * count
    assert table["elbow_flexion_l quality"] == ["open"] * count
    words = np.array(table["knee_flexion_l quality"])
    assert (words[25:35] == "doubtful").all() and (words[60:] != "doubtful").all()
    assert "" not in table["knee_flexion_l [deg]"]
    dof = track.skeleton.dof_names.index("l_shin.ry")
    own = [Quality(code).name.lower() for code in track.quality[:, dof]]
    assert table["l_shin.ry quality"] == own


def test_what_is_doubtful_can_be_left_out_and_what_is_open_written(track: ik.Track, tmp_path: Path):
    write(track, tmp_path / "masked.csv", Quality.DOUBTFUL, Quality.OPEN)
    write(track, tmp_path / "filled.csv")
    masked, filled = read_csv(tmp_path / "masked.csv"), read_csv(tmp_path / "filled.csv")
    knee = np.array(masked["knee_flexion_l [deg]"])
    assert (knee[25:35] == "").all() and (knee[60:] != "").all()
    assert "" not in filled["elbow_flexion_l [deg]"] + filled["knee_flexion_l [deg]"]


def test_a_motion_file_has_a_second_one_and_can_be_read_again(track: ik.Track, tmp_path: Path):
    path = tmp_path / "legs.mot"
    write(track, path, Quality.OPEN)
    beside = (tmp_path / "legs-quality.mot").read_text("utf-8")
    assert beside.startswith("Quality: 0 measured, 1 inferred, 2 doubtful, 3 open, 4 bound\n")
    assert "nan" in path.read_text("utf-8")
    again = ik.load_motion(path, track.skeleton)
    held = track.quality == Quality.OPEN
    rest = np.broadcast_to(track.skeleton.neutral(), again.q.shape)
    columns = track.skeleton.plain_q
    assert again.q[:, columns][held] == pytest.approx(rest[:, columns][held])
    assert again.q[:, columns][~held] == pytest.approx(track.motion.q[:, columns][~held])


def test_an_archive_has_the_codes_of_all_dofs(track: ik.Track, tmp_path: Path):
    write(track, tmp_path / "legs.npz")
    with np.load(tmp_path / "legs.npz") as arrays:
        assert (arrays["quality"] == track.quality).all()
    assert len(ik.load_motion(tmp_path / "legs.npz")) == len(track)
