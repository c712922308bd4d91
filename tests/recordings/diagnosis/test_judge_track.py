"""The verdict: what is measured, where good ends, and in which order reasons come."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import exactik as ik
from exactik.anatomy import find_limbs
from exactik.lab.synthetic import simulate_performance, simulate_recording
from exactik.recordings.diagnosis import (
    THRESHOLDS,
    Finding,
    MarkerUse,
    RecordingContext,
    UpAxis,
    diagnose,
    judge_findings,
    measure,
)
from exactik.recordings.tracking import Quality
from tests.support.checkout import DOCS

RATE = 30.0
LEGS = ("FWT", "BWT", "THI", "KNE", "SHN", "ANK", "HEE", "TOE", "MT5")


@pytest.fixture(scope="module")
def markers() -> ik.Markers:
    """Two seconds of a walk, 0.5 mm of noise."""
    motion = simulate_performance(2.0, RATE)
    return simulate_recording(motion, noise=0.0005, gaps=0.0, swap=False).markers


@pytest.fixture(scope="module")
def solved(markers: ik.Markers) -> ik.Track:
    return ik.track(ik.human(), markers)


def value_of(track: ik.Track, kind: str) -> float:
    return next(found.value for found in track.findings if found.kind == kind)


def judge(track: ik.Track) -> tuple[str, list[str]]:
    verdict = track.verdict
    return verdict.grade, [reason.code for reason in verdict.reasons]


# --- what is measured


def test_a_clean_recording_is_good(solved: ik.Track):
    assert judge(solved) == ("good", [])
    assert str(solved.verdict).startswith("Good. ") and solved.verdict.exit_code == 0
    assert "% of the joint angles are free of faults" in solved.verdict.usable
    assert value_of(solved, "markers-used") == 1.0
    assert 1.6 < value_of(solved, "stature-short") < 1.9
    assert value_of(solved, "error") < 0.002 / 1.6 and value_of(solved, "redundancy") > 0.3
    assert value_of(solved, "unpaired") <= 1 / 30  # RBAC has no partner
    assert value_of(solved, "doubt") == 0.0
    assert solved.verdict.held == () and len(solved.verdict.solved) == len(ik.human().bones)
    assert solved.attention == []


def test_findings_say_what_a_verdict_rests_on(solved: ik.Track):
    """Every kind that can be measured here, with its value and threshold, the good ones too."""
    kinds = {found.kind for found in solved.findings}
    needs_context = {"size", "handedness", "labels", "up-axis", "marker-set", "calibration"}
    needs_fit = {"proportions", "marker-symmetry", "places"}
    needs_cause = {"backwards", "left-out", "closure-gap"}
    assert set(THRESHOLDS) - kinds <= needs_context | needs_fit | needs_cause
    for found in solved.findings:
        assert found.severity in ("good", "look") and found.text != ""
        if found.kind in THRESHOLDS:
            assert found.threshold == THRESHOLDS[found.kind].care
            assert found.unit == THRESHOLDS[found.kind].unit


def test_it_costs_next_to_nothing(solved: ik.Track):
    """Beyond the error bars of 24 frames, which `never_determined` computes anyway."""
    assert len(solved.never_determined) < 10 and solved.attention is not None
    begin = time.process_time()
    for _ in range(3):
        judge_findings(diagnose(solved).findings)
    assert (time.process_time() - begin) / 3 < 0.1


def test_parts_of_the_body_end_where_it_forks():
    parts = find_limbs(ik.human())
    assert ("l_thigh", "l_shin", "l_foot", "l_toes") in parts and ("pelvis",) in parts
    assert ("lower_back", "upper_back", "thorax") in parts
    assert sum(map(len, parts)) == len(ik.human().bones)


def test_legs_alone_are_good_and_the_rest_is_said_to_be_held(markers: ik.Markers):
    legs = markers.chosen([name for name in markers.names if name[1:] in LEGS])
    track = ik.track(ik.human(), legs)
    assert judge(track) == ("good", [])
    verdict = track.verdict
    assert {"pelvis", "l_thigh", "r_toes"} <= set(verdict.solved)
    assert {"head", "l_forearm", "lower_back"} <= set(verdict.held)
    assert verdict.unmeasured.startswith("Not measured: lower back, ")
    assert "(no marker)" in verdict.unmeasured


def test_one_bad_leg_does_not_hide_in_a_good_mean(markers: ik.Markers):
    places = markers.positions.copy()
    for name in ("LTHI", "LKNE", "LSHN", "LANK", "LHEE", "LTOE", "LMT5"):
        k = markers.names.index(name)
        places[:, k] = np.roll(places[:, k], 15, axis=0)
    track = ik.track(ik.human(), replace(markers, positions=places), robust=None)
    grade, codes = judge(track)
    assert grade != "good" and "doubt" in codes
    joints = track.joint_quality == Quality.DOUBTFUL
    index = track.skeleton.bone_index
    assert joints[:, [index("l_thigh"), index("l_shin")]].all()
    assert not joints[:, [index("r_forearm"), index("l_forearm")]].any()


def test_no_evidence_where_nothing_moves(markers: ik.Markers):
    """A figure fitted to one pose has no error; that proves nothing."""
    still = replace(markers, positions=np.repeat(markers.positions[:1], 30, axis=0))
    uses = tuple(
        MarkerUse(name=n, marker=n, bone="", code="same-name", confidence=1.0) for n in still.names
    )
    up = UpAxis(axis="z", origin="file", custom="z", cosine=1.0)
    context = RecordingContext(uses=uses, up=up, is_fitted=True, settled=True, parameters=140)
    track = replace(ik.track(ik.human(), still), context=context)
    assert value_of(track, "redundancy") == pytest.approx(1.0 - (58 + 140) / 123)
    assert judge(track) == ("good", [])
    (remark, *_) = track.verdict.asides
    assert "Hardly anything moves" in remark and "no evidence" in remark
    unsettled = replace(track, context=replace(context, settled=False))
    assert judge(unsettled) == ("good", [])  # there is nothing to settle on


def test_markers_without_partners(markers: ik.Markers):
    """A third of one side is gone."""
    gone = {"LFHD", "LBHD", "LSHO", "LELB", "LWRA", "LFIN", "LFWT", "LKNE", "LANK", "LTOE"}
    rest = markers.chosen([name for name in markers.names if name not in gone])
    track = ik.track(ik.human(), rest)
    (reason,) = [reason for reason in track.verdict.reasons if reason.code == "unpaired"]
    assert {"RELB", "RWRA", "RKNE", "RFWT"} <= set(reason.names)


def test_nothing_seen_is_nothing_to_use(markers: ik.Markers):
    nothing = replace(markers, positions=np.full_like(markers.positions, np.nan))
    verdict = ik.track(ik.human(), nothing).verdict
    assert verdict.grade == "reject" and [r.code for r in verdict.reasons] == ["markers-used"]
    json.dumps(verdict.to_dict(), allow_nan=False)


# --- where good ends: the numbers are those of docs/verdict.md, written again

ADULT = 1.7  # [m]

CASES: list[tuple[str, float, float, float | None]] = [
    ("stature-short", 0.9, 0.6, 0.2),
    ("stature-tall", 2.1, 2.3, 4.0),
    ("size", 1 / 0.55, 2.5, None),
    ("unit", 1.0, 1e3, None),
    ("error", 0.012 / ADULT, 0.020 / ADULT, 0.06 / ADULT),
    ("doubt", 0.01, 0.1, 0.4),
    ("handedness", 0.35, 0.0, -0.5),
    ("backwards", 0.0, -0.9, None),
    ("redundancy", 0.2, -0.2, None),
    ("markers-used", 0.8, 0.5, 0.1),
    ("misnamed", 1.0, 5.0, None),
    ("unpaired", 0.1, 0.3, None),
    ("marker-set", 24 / 40, 12 / 40, None),
    ("up-axis", 0.8, 0.3, None),
    ("up-guess", 0.0, 1.0, None),
    ("labels", 0.02, 0.3, 0.9),
    ("matches", 0.1, 0.3, 0.8),
    ("proportions", 4.0, 9.0, 30.0),
    ("marker-symmetry", 2.26, 3.12, None),
    ("places", 1.9, 2.4, None),
    ("left-out", 0.05, 0.2, 0.7),
    ("closure-gap", 0.002 / ADULT, 0.004 / ADULT, None),
    ("calibration", 0.0, 1.0, None),
]

DETAILS = {
    "samples": "30 samples",
    "mean": 0.004,
    "largest": 0.09,
    "error": 0.02,
    "size": 2.0,
    "factor": 2.0,
    "distance": 0.03,
    "count": 3,
    "measured": 0.9,
    "bar_deg": 8.0,
    "dofs": 58,
    "doubtful": [],
    "open": [],
    "used": 3,
    "recorded": 9,
    "marker_set": "Plug-in Gait",
    "missing": 3,
    "angle": 70.0,
    "axis": "z",
    "ratio": 1.4,
    "pairs": ["A/B"],
}
"""What sentences are made of."""


def found(kind: str, value: float, names: tuple[str, ...] = ("A",), **details: Any) -> Finding:
    return measure(kind, value, names, (10, 30), **{**DETAILS, **details})


@pytest.mark.parametrize(("code", "fine", "doubtful", "bad"), CASES, ids=[c[0] for c in CASES])
def test_where_good_ends_and_where_use_ends(
    code: str, fine: float, doubtful: float, bad: float | None
):
    assert judge_findings([found(code, fine)]).grade == "good"
    for value, severity in ((doubtful, "care"), *([(bad, "reject")] if bad is not None else [])):
        verdict = judge_findings([found(code, value)])
        assert verdict.grade == severity
        (reason,) = verdict.reasons
        assert reason.code == code and reason.value == value and reason.threshold != value
        assert reason.severity == severity
        assert reason.text != "" and "nan" not in reason.text


def test_every_threshold_has_a_case_here():
    assert [case[0] for case in CASES] != [] and set(THRESHOLDS) == {case[0] for case in CASES}


def test_what_is_not_a_number_is_beyond_any_threshold():
    assert judge_findings([found("error", float("nan"))]).grade == "reject"
    assert judge_findings([found("redundancy", float("nan"))]).grade == "care"


def test_findings_of_old_are_judged_by_the_thresholds_of_today():
    """tools/recordings.py keeps findings and judges them again."""
    old = replace(found("error", 0.001), severity="reject", threshold=0.0005)
    assert judge_findings([old]).grade == "good"
    look = replace(found("redundancy", -1.0), severity="look")  # a remark on a static trial
    assert judge_findings([look]).grade == "good"


def test_two_markers_of_a_wrist_that_exchange_names_are_named(markers: ik.Markers):
    """The wrist turns over and the markers fit: only their paths tell."""
    one, other = markers.names.index("LWRA"), markers.names.index("LWRB")
    position = markers.positions.copy()
    position[20:40, [one, other]] = position[20:40, [other, one]]
    swapped = replace(markers, positions=position)
    track = ik.track(ik.human(), swapped, robust=None)
    (swap,) = [found for found in track.attention if found.kind == "swap"]
    assert set(swap.names) == {"LWRA", "LWRB"} and swap.frames == (20, 39)
    wrist = track.skeleton.bone_index("l_wrist")
    assert (track.joint_quality[20:40, wrist] == Quality.DOUBTFUL).all()
    for robust in ("auto", "huber"):
        repaired = ik.track(ik.human(), swapped, robust=robust)
        assert repaired.verdict.grade == "good"
        (swap,) = (found for found in repaired.findings if found.kind == "swap")
        assert swap.details["verdict"] == "repaired" and swap.frames == (20, 39)


def test_reasons_come_in_order_of_weight():
    many = [
        found("calibration", 1.0),
        found("error", 0.06 / ADULT, error=0.06),
        found("doubt", 0.1),
        found("unit", 1e3),
        found("labels", 0.0),
    ]
    verdict = judge_findings(many)
    codes = [reason.code for reason in verdict.reasons]
    assert codes == ["error", "unit", "doubt", "calibration"]
    assert str(verdict).startswith(
        "Do not use: markers are off by 60 mm on average (exactik match); and 3 more. "
    )
    assert verdict.exit_code == 3


def test_json_has_code_value_and_threshold():
    data = judge_findings([found("error", 0.02)]).to_dict()
    assert data["verdict"] == "care"
    (reason,) = data["reasons"]
    assert reason["code"] == "error" and reason["value"] == pytest.approx(0.02)
    assert reason["threshold"] == THRESHOLDS["error"].care and reason["severity"] == "care"
    json.dumps(data, allow_nan=False)


def test_the_page_has_the_thresholds():
    page = (DOCS / "verdict.md").read_text("utf-8")
    rows = [line for line in page.splitlines() if line.startswith("| `")]
    assert [row.split("`")[1] for row in rows] == list(THRESHOLDS)
    for row, threshold in zip(rows, THRESHOLDS.values(), strict=True):
        care, reject, unit = (cell.strip() for cell in row.split("|")[2:5])
        assert float(care) == threshold.care and unit == threshold.unit
        assert reject == ("" if threshold.reject is None else f"{threshold.reject:g}")
