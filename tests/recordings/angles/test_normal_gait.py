"""The normal range of a laboratory: its file, and what is wrong with it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from exactik.errors import FileError
from exactik.recordings.angles import read_normal_gait

HEAD = "angle,percent,mean,sd\n"


def write(folder: Path, text: str) -> Path:
    path = folder / "lab.csv"
    path.write_text(text, "utf-8")
    return path


def test_bands_pass_through_the_points_of_the_file(tmp_path: Path):
    rows = "knee_flexion,100,5,4\nknee_flexion,0,5,4\nknee_flexion,70,61,6\npelvis_tilt,0,11,5\n"
    normal = read_normal_gait(write(tmp_path, HEAD + rows))
    assert normal.source == "lab.csv" and set(normal.bands) == {"knee_flexion", "pelvis_tilt"}
    knee = normal.bands["knee_flexion"]
    assert np.degrees(knee.mean[[0, 35, 70, 100]]) == pytest.approx([5.0, 33.0, 61.0, 5.0])
    assert np.degrees(knee.sd[[0, 35, 70]]) == pytest.approx([4.0, 5.0, 6.0])
    assert np.degrees(normal.bands["pelvis_tilt"].mean) == pytest.approx(11.0)  # a single point


@pytest.mark.parametrize(
    ("text", "place", "expected"),
    [
        ("knee,0,5,4\n", "line 1", "expected a first line angle,percent,mean,sd"),
        (HEAD, "", "no angle in it"),
        (HEAD + "knee_flexion_r,0,5,4\n", "line 2", "no angle is called 'knee_flexion_r'"),
        (HEAD + "knee_flexion,0,five,4\n", "line 2", "expected three numbers"),
        (HEAD + "knee_flexion,0,5\n", "line 2", "expected three numbers"),
        (HEAD + "knee_flexion,101,5,4\n", "line 2", "0 to 100 per cent"),
        (HEAD + "knee_flexion,0,5,-4\n", "line 2", "standard deviation of 0 to 180"),
        (HEAD + "knee_flexion,nan,5,4\n", "line 2", "0 to 100 per cent"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(tmp_path: Path, text: str, place: str, expected: str):
    with pytest.raises(FileError, match=expected) as caught:
        read_normal_gait(write(tmp_path, text))
    assert caught.value.place == place


def test_a_file_that_is_not_there_is_named(tmp_path: Path):
    with pytest.raises(FileError, match=r"none\.csv.*cannot be read"):
        read_normal_gait(tmp_path / "none.csv")
