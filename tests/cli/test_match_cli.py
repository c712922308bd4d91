"""`exactik match` and `exactik inspect human`."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import exactik as ik
from exactik import cli
from exactik.anatomy.marker_sets import list_landmarks, list_marker_sets
from exactik.cli import parse_mapping
from exactik.lab.synthetic import simulate_performance
from exactik.recordings.calibration import propose_mapping

Run = Callable[..., str]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """Call the command line in this process, in a folder of its own; return what it says."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> str:
        monkeypatch.setattr(sys, "argv", ["exactik", *arguments])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        assert ended.value.code in (None, 0)
        return capsys.readouterr().out

    return call


@pytest.fixture
def gait(tmp_path: Path) -> ik.Markers:
    """gait.c3d: two seconds of walking with Plug-in Gait's names, joint centres and a thing."""
    motion = simulate_performance(2.0, 10.0)
    pose = motion.forward()
    names = {
        **{"LASI": "l_asis", "RASI": "r_asis", "LPSI": "l_psis", "RPSI": "r_psis", "C7": "c7"},
        **{"LKNE": "l_knee_lateral", "RKNE": "r_knee_lateral", "LHEE": "l_heel", "RHEE": "r_heel"},
        **{"LANK": "l_ankle_lateral", "RANK": "r_ankle_lateral", "LTOE": "l_metatarsal_2"},
        **{"LHJC": "l_hip_joint", "Center": "pelvis_joint"},
    }
    points = [
        pose.point(list_landmarks()[i].bone, list_landmarks()[i].point) for i in names.values()
    ]
    ball = np.cumsum(np.random.default_rng(0).normal(0.0, 0.1, (len(motion), 3)), axis=0) + 1.0
    markers = ik.Markers(
        np.stack([*points, ball], axis=1),
        (*names, "Ball1"),
        motion.rate,
        up_axis="z",
        computed=("Center",),
    )
    markers.save(tmp_path / "gait.c3d")
    return markers


def test_the_table_and_the_file_that_mapping_reads(run: Run, gait: ik.Markers):
    said = run("match", "gait.c3d", "-o", "gait.csv")
    rows = {line.split()[0]: line for line in said.splitlines() if line.strip() != ""}
    assert "l_metatarsal_2" in rows["LTOE"] and "l_foot" in rows["LTOE"]
    assert "[computed]" in rows["LHJC"] and "[computed]" in rows["Center"]
    assert "[object]" in rows["Ball1"] and "not used" in rows["Ball1"]
    assert " mm " in rows["LKNE"] and "[same-name]" in rows["LKNE"]
    assert "12 of" in said and "the names are those of Plug-in Gait" in said
    # What is written means the same as what was said.
    proposed = propose_mapping(ik.human(), gait, geometry=False)
    by_hand = parse_mapping("gait.csv")
    again = propose_mapping(ik.human(), gait.chosen(list(by_hand)), by_hand, geometry=False)
    for match in again:
        before = proposed[match.recorded]
        assert (match.bone, match.marker, match.point) == (before.bone, before.marker, before.point)
    assert set(by_hand) == set(gait.names) - {"Ball1"}


def test_json_and_computed(run: Run, gait: ik.Markers):
    told = json.loads(run("match", "gait.c3d", "--json", "--computed", "-o", "gait.json"))[0]
    matches = {match["recorded"]: match for match in told["matches"]}
    assert told["marker_set"] == "plug_in_gait"
    assert matches["LHJC"]["code"] == "joint-centre" and matches["LHJC"]["distance"] < 0.03
    assert parse_mapping("gait.json")["LHJC"] == "l_hip_joint"


def test_places_in_a_mapping_file(tmp_path: Path):
    """A bone with a place, in CSV as in JSON; remarks are left out."""
    path = tmp_path / "m.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(
            [("A", "l_shin 0.03 0.04 -0.2", "# moved"), ("B", ""), ("C", "l_knee_medial")]
        )
    assert parse_mapping(str(path)) == {
        "A": ("l_shin", (0.03, 0.04, -0.2)),
        "B": None,
        "C": "l_knee_medial",
    }


def test_what_the_human_accepts(run: Run):
    short, whole = run("inspect", "human"), run("inspect", "human", "--all")
    for marker_set in list_marker_sets():
        assert marker_set.id in short and marker_set.title in short
    for landmark in list_landmarks().values():
        assert (landmark.id in whole) == (landmark.side != "r")
    assert "Skeleton_Hip1" not in short and len(whole) > 1.5 * len(short)
    told = json.loads(run("inspect", "human", "--json"))
    assert len(told["landmarks"]) == len(list_landmarks())
