"""The verdict: what is measured, where good ends, and in which order reasons come."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import exactik as ik
from exactik.motion import Swap
from exactik.synthetic import simulate_performance, simulate_recording
from exactik.verdict import (
    THRESHOLDS,
    FarStretch,
    LimbFacts,
    MarkerJump,
    MarkerUse,
    PlaceDifference,
    RecordingContext,
    RecordingFacts,
    SegmentDeviation,
    UpAxis,
    collect_facts,
    find_body_parts,
    judge_facts,
)
from exactik.verdict._facts import measure_swap

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


@pytest.fixture(scope="module")
def facts(solved: ik.Track) -> RecordingFacts:
    return collect_facts(solved)


def judge(track: ik.Track) -> tuple[str, list[str]]:
    verdict = track.verdict
    return verdict.grade, [reason.code for reason in verdict.reasons]


# --- what is measured


def test_a_clean_recording_is_good(solved: ik.Track, facts: RecordingFacts):
    assert judge(solved) == ("good", [])
    assert str(solved.verdict) == "Good." and solved.verdict.exit_code == 0
    assert facts.used == facts.recorded == 41 and facts.unused == {}
    assert facts.mean_error < 0.002 and 1.6 < facts.stature < 1.9
    assert facts.poses > 5 and facts.redundancy > 0.3
    assert facts.uninstrumented == () and facts.instrumented_dofs == 58
    assert len(facts.unpaired) <= 1 and facts.paired >= 30  # RBAC has no partner
    assert facts.gap_share == facts.blind_share == facts.missing_share == 0.0


def test_it_costs_next_to_nothing(solved: ik.Track):
    """Beyond the error bars of 24 frames, which `never_determined` computes anyway."""
    assert len(solved.never_determined) < 10 and solved.attention is not None
    begin = time.process_time()
    for _ in range(3):
        judge_facts(collect_facts(solved))
    assert (time.process_time() - begin) / 3 < 0.1


def test_parts_of_the_body_end_where_it_forks():
    parts = find_body_parts(ik.human())
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
    assert "held at rest" in str(verdict)


def test_one_bad_leg_does_not_hide_in_a_good_mean(markers: ik.Markers):
    places = markers.positions.copy()
    for name in ("LTHI", "LKNE", "LSHN", "LANK", "LHEE", "LTOE", "LMT5"):
        k = markers.names.index(name)
        places[:, k] = np.roll(places[:, k], 15, axis=0)
    grade, codes = judge(ik.track(ik.human(), replace(markers, positions=places)))
    assert grade != "good" and "limb-error" in codes


def test_no_evidence_where_nothing_moves(markers: ik.Markers):
    """A figure fitted to one pose has no error; that proves nothing."""
    still = replace(markers, positions=np.repeat(markers.positions[:1], 30, axis=0))
    uses = tuple(
        MarkerUse(name=n, marker=n, bone="", code="same-name", confidence=1.0) for n in still.names
    )
    up = UpAxis(axis="z", origin="file", custom="z", cosine=1.0)
    context = RecordingContext(uses=uses, up=up, is_fitted=True, settled=True, parameters=140)
    track = replace(ik.track(ik.human(), still), context=context)
    facts = collect_facts(track)
    assert facts.poses == 1
    assert facts.redundancy == pytest.approx(1.0 - (58 + 140) / 123)
    assert judge(track) == ("care", ["redundancy"])
    assert "no evidence" in str(track.verdict)


def test_markers_without_partners(markers: ik.Markers):
    """A third of one side is gone."""
    gone = {"LFHD", "LBHD", "LSHO", "LELB", "LWRA", "LFIN", "LFWT", "LKNE", "LANK", "LTOE"}
    rest = markers.chosen([name for name in markers.names if name not in gone])
    track = ik.track(ik.human(), rest)
    facts = collect_facts(track)
    assert {"RELB", "RWRA", "RKNE", "RFWT"} <= set(facts.unpaired)
    assert "unpaired" in judge(track)[1]


def test_nothing_seen_is_nothing_to_use(markers: ik.Markers):
    nothing = replace(markers, positions=np.full_like(markers.positions, np.nan))
    verdict = ik.track(ik.human(), nothing).verdict
    assert verdict.grade == "reject" and [r.code for r in verdict.reasons] == ["used"]
    json.dumps(verdict.to_dict(), allow_nan=False)


# --- where good ends: the numbers are those of docs/verdict.md, written again

ADULT = 1.7  # [m]


def limb(error: float, name: str = "l_thigh", mirrored: str = "r_thigh") -> LimbFacts:
    return LimbFacts(
        bones=(name,),
        mirrored=mirrored,
        markers=("A",),
        mean_error=error,
        p95_error=2.0 * error,
        gap_share=0.0,
        dofs=3,
        open_dofs=(),
    )


def apart(*zs: float) -> tuple[PlaceDifference, ...]:
    return tuple(PlaceDifference(f"L{k}", f"R{k}", 0.02 * z, z) for k, z in enumerate(zs))


def up(cosine: float | None, origin: str = "file") -> UpAxis:
    return UpAxis(axis="z", origin=origin, custom="z", cosine=cosine)


def exchanged(share: float) -> dict[str, Any]:
    swap = Swap(names=("A", "B"), first=1, last=5, distance=0.06)
    return {"swaps": (swap,), "swap_share": share}


CASES: list[tuple[str, dict[str, Any], dict[str, Any], dict[str, Any] | None]] = [
    ("stature-short", {"stature": 0.9}, {"stature": 0.6}, {"stature": 0.2}),
    ("stature-tall", {"stature": 2.1}, {"stature": 2.3}, {"stature": 4.0}),
    (
        "size",
        {"is_person": False, "size": 1.7},
        {"is_person": False, "size": 0.4},
        None,
    ),
    ("unit", {"unit_factor": 1.0}, {"unit_factor": 1e-3}, None),
    ("error", {"mean_error": 0.012}, {"mean_error": 0.020}, {"mean_error": 0.06}),
    ("limb-error", {"limbs": (limb(0.018),)}, {"limbs": (limb(0.03),)}, {"limbs": (limb(0.09),)}),
    ("marker-error", {"marker_errors": {"A": 0.025}}, {"marker_errors": {"A": 0.05}}, None),
    (
        "marker-stretch",
        {"far_stretches": (FarStretch("A", 10, 30, error=0.038, largest=0.09),)},
        {"far_stretches": (FarStretch("A", 10, 30, error=0.044, largest=0.09),)},
        None,
    ),
    (
        "marker-jump",
        {"marker_jumps": (MarkerJump("A", 10, 0.024),)},
        {"marker_jumps": (MarkerJump("A", 10, 0.027),)},
        None,
    ),
    ("handedness", {"handedness": 0.35}, {"handedness": 0.0}, {"handedness": -0.5}),
    ("backwards", {"heading": 0.0}, {"heading": -0.9}, None),
    ("redundancy", {"redundancy": 0.2}, {"redundancy": -0.2}, None),
    ("used", {"used": 8, "recorded": 10}, {"used": 5, "recorded": 10}, {"used": 1, "recorded": 10}),
    ("unpaired", {"unpaired": ("A",)}, {"unpaired": ("A",) * 3}, None),
    ("up-axis", {"up": up(0.8)}, {"up": up(0.3)}, None),
    ("up-guess", {"up": up(0.9, "figure")}, {"up": up(None, "spread")}, None),
    ("labels", {"label_doubt": 0.02}, {"label_doubt": 0.3}, {"label_doubt": 0.9}),
    ("matches", {"guessed": ("A",)}, {"guessed": tuple("ABC")}, {"guessed": tuple("ABCDEFGH")}),
    ("limits", {"limit_shares": {"a.rx": 0.7}}, {"limit_shares": {"a.rx": 1.0}}, None),
    (
        "places",
        {"place_differences": apart(4.5, 0.5, 0.0, 0.0)},
        {"place_differences": apart(5.0, 2.0, 0.5)},
        None,
    ),
    (
        "sides",
        {"limbs": (limb(0.015), limb(0.009, "r_thigh", "l_thigh"))},
        {"limbs": (limb(0.015), limb(0.002, "r_thigh", "l_thigh"))},
        None,
    ),
    ("blind", {"blind_share": 0.02}, {"blind_share": 0.2}, {"blind_share": 0.8}),
    ("gaps", {"gap_share": 0.03}, {"gap_share": 0.3}, {"gap_share": 0.9}),
    (
        "not-converged",
        {"not_converged_share": 0.01},
        {"not_converged_share": 0.1},
        {"not_converged_share": 0.5},
    ),
    ("swaps", exchanged(0.004), exchanged(0.006), None),
    ("poor-frames", {"poor_share": 0.05}, {"poor_share": 0.3}, None),
    ("calibration", {"settled": True}, {"settled": False}, None),
]


@pytest.fixture
def adult(facts: RecordingFacts) -> RecordingFacts:
    """Good facts of round numbers."""
    return replace(
        facts,
        stature=ADULT,
        used=10,
        recorded=10,
        paired=10,
        unpaired=(),
        limbs=(limb(0.005), limb(0.005, "r_thigh", "l_thigh")),
        up=up(1.0),
        settled=True,
    )


@pytest.mark.parametrize(("code", "fine", "doubtful", "bad"), CASES, ids=[c[0] for c in CASES])
def test_where_good_ends_and_where_use_ends(
    adult: RecordingFacts,
    code: str,
    fine: dict[str, Any],
    doubtful: dict[str, Any],
    bad: dict[str, Any] | None,
):
    assert judge_facts(replace(adult, **fine)).grade == "good"
    for changes, severity in ((doubtful, "care"), *([(bad, "reject")] if bad is not None else [])):
        verdict = judge_facts(replace(adult, **changes))
        assert verdict.grade == severity
        (reason,) = [reason for reason in verdict.reasons if reason.code == code]
        assert reason.severity == severity and reason.threshold != reason.value
        assert reason.text != "" and "nan" not in reason.text


def test_every_threshold_has_a_case_here():
    elsewhere = {"proportions", "open-dofs", "marker-set", "jumps"}
    assert set(THRESHOLDS) == {case[0] for case in CASES} | elsewhere
    assert all(threshold.reason != "" for threshold in THRESHOLDS.values())


def test_a_hand_is_not_measured_by_peoples_heights(adult: RecordingFacts):
    hand = replace(adult, stature=0.19, is_person=False, size=1.0, mean_error=0.0004)
    quiet = replace(hand, marker_errors={"A": 0.001}, limbs=())
    assert judge_facts(quiet).grade == "good"
    assert judge_facts(replace(quiet, is_person=True)).grade == "reject"
    for size, factor, grade in ((0.55, 1.0, "good"), (2.3, 1.0, "care"), (1000.0, 1e-3, "care")):
        verdict = judge_facts(replace(quiet, size=size, unit_factor=factor))
        assert verdict.grade == grade
        assert ("size" in [r.code for r in verdict.reasons]) == (size == 2.3)


def test_two_markers_of_a_wrist_that_exchange_names_are_named(markers: ik.Markers):
    """The wrist turns over and the markers fit: only their paths tell."""
    one, other = markers.names.index("LWRA"), markers.names.index("LWRB")
    position = markers.positions.copy()
    position[20:40, [one, other]] = position[20:40, [other, one]]
    swapped = replace(markers, positions=position)
    track = ik.track(ik.human(), swapped)
    assert track.verdict.grade == "care"
    (reason,) = [r for r in track.verdict.reasons if r.code == "swaps"]
    assert set(reason.names) == {"LWRA", "LWRB"} and reason.value == 20 / len(markers)
    assert ik.track(ik.human(), swapped, robust="huber").verdict.grade == "good"


def test_a_single_exchange_is_as_long_as_the_shorter_side():
    single = Swap(names=("A", "B"), first=20, last=99, distance=0.06)
    assert measure_swap(single, 100) == 0.2
    assert measure_swap(single._replace(first=70), 100) == 0.3
    assert measure_swap(single._replace(last=29), 100) == 0.1


def test_proportions_of_people(adult: RecordingFacts):
    def judge_z(z: float) -> str:
        deviation = SegmentDeviation("left thigh", 1.0 + 0.035 * z, z)
        return judge_facts(replace(adult, deviations=(deviation,))).grade

    assert judge_z(4.0) == judge_z(-4.0) == "good"
    assert judge_z(9.0) == judge_z(-9.0) == "care" and judge_z(30.0) == "reject"


def test_open_dofs_within_what_has_markers(adult: RecordingFacts):
    def judge_open(count: int) -> str:
        changed = replace(adult, instrumented_dofs=50, open_dofs=("a.rx",) * count)
        return judge_facts(changed).grade

    assert judge_open(10) == "good" and judge_open(25) == "care" and judge_open(45) == "reject"


def test_half_of_a_known_set_is_not_all_of_it(adult: RecordingFacts):
    known = replace(adult, marker_set="Plug-in Gait", set_size=40)
    assert judge_facts(replace(known, set_missing=("A",) * 16)).grade == "good"
    verdict = judge_facts(replace(known, set_missing=("A",) * 28))
    assert verdict.grade == "care" and verdict.reasons[0].code == "marker-set"


def test_reasons_come_in_order_of_weight(adult: RecordingFacts):
    many = replace(adult, settled=False, mean_error=0.06, poor_share=0.5, unit_factor=1e3)
    verdict = judge_facts(many)
    codes = [reason.code for reason in verdict.reasons]
    assert codes == ["error", "unit", "poor-frames", "calibration"]
    assert str(verdict).startswith("Do not use: markers are off by 60 mm on average; ")
    assert "and 1 more" in str(verdict)
    assert verdict.exit_code == 3


def test_json_has_code_value_and_threshold(adult: RecordingFacts):
    data = judge_facts(replace(adult, mean_error=0.034)).to_dict()
    assert data["verdict"] == "care"
    (reason,) = data["reasons"]
    assert reason["code"] == "error" and reason["value"] == pytest.approx(0.02)
    assert reason["threshold"] == THRESHOLDS["error"].care and reason["severity"] == "care"
    json.dumps(data, allow_nan=False)


def test_the_page_has_the_thresholds():
    page = (Path(__file__).parents[2] / "docs" / "verdict.md").read_text("utf-8")
    rows = [line for line in page.splitlines() if line.startswith("| `")]
    assert [row.split("`")[1] for row in rows] == list(THRESHOLDS)
    for row, threshold in zip(rows, THRESHOLDS.values(), strict=True):
        care, reject, unit = (cell.strip() for cell in row.split("|")[2:5])
        assert float(care) == threshold.care and unit == threshold.unit
        assert reject == ("" if threshold.reject is None else f"{threshold.reject:g}")
