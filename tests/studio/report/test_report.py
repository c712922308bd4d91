"""The report on a solved recording: true, whole, safe to open, small."""

from __future__ import annotations

import base64
import json
import math
import re
import zlib
from dataclasses import replace
from html.parser import HTMLParser
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from exactik import Track, human, track
from exactik._text import drop_folders
from exactik.anatomy.marker_sets import list_landmarks
from exactik.errors import FileError, UsageError
from exactik.lab.synthetic import SyntheticRecording, simulate_performance, simulate_recording
from exactik.model import Skeleton
from exactik.model.motion import Markers, Motion
from exactik.recordings.diagnosis import MarkerUse, RecordingContext, UpAxis
from exactik.recordings.tracking import Quality
from exactik.studio.plots.axes import Bins, round_axis_end
from exactik.studio.plots.colours import encode_png, error_colours
from exactik.studio.report import (
    collect_versions,
    headline_of,
    make_angle_curves,
    render_report,
    summary_of,
)

# `Track.attention` takes means over markers that are missing in a whole stretch, which warn.
VOID = {"meta", "br", "image", "path", "img", "link", "hr", "input"}
EVIL = '<script>alert("x")</script>&'


class Walk(HTMLParser):
    """Opens and closes every element; keeps ids, attributes and what scripts hold."""

    def __init__(self, text: str):
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.ids: list[str] = []
        self.tags: list[str] = []
        self.addresses: list[str] = []
        self.words: list[str] = []
        self.data = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value or "")
            if name in ("href", "src", "srcset", "action", "data", "poster", "xlink:href"):
                self.addresses.append(value or "")
            assert not name.startswith("on"), f"{name} on {tag}"
            if name in ("d", "style", "viewbox", "width", "height"):
                assert re.search("nan|inf|None", value or "") is None, value
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] == ["script"] and data.startswith("{"):
            self.data += data
        elif self.open[-1:] not in (["script"], ["style"]):
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def check_report(text: str) -> Walk:
    """Walk through a report that must be well formed and need nothing else."""
    walk = Walk(text)
    assert walk.open == []
    assert len(set(walk.ids)) == len(walk.ids)
    assert walk.tags.count("script") == 2
    assert "link" not in walk.tags and "iframe" not in walk.tags
    for address in walk.addresses:
        assert address.startswith(("#", "data:image/png;base64,"))
        assert not address.startswith("#") or address[1:] in walk.ids
    assert re.search(r"https?://|url\(|@import", text) is None
    assert re.search(r"\b(nan|inf)\b", walk.text) is None
    return walk


def decode(entry: dict[str, Any]) -> np.ndarray:
    raw = np.frombuffer(base64.b64decode(entry["data"]), dtype=f"<u{entry['bits'] // 8}")
    return np.where(raw == 65535, np.nan, entry["scale"] * raw)


@pytest.fixture(scope="module")
def faulty() -> tuple[Track, SyntheticRecording]:
    """20 s with gaps, noise, sliding skin and two markers that exchange their names."""
    motion = simulate_performance(20.0)
    record = simulate_recording(motion, tissue=0.004)
    return track(motion.skeleton, record.markers, robust=None), record


@pytest.fixture(scope="module")
def short() -> SyntheticRecording:
    return simulate_recording(simulate_performance(2.0, 60.0), swap=False, gaps=0.0)


def strict(summary: dict[str, Any]) -> dict[str, Any]:
    return json.loads(json.dumps(summary, allow_nan=False))


def test_a_report_names_files_and_no_folders(short: SyntheticRecording):
    """It is made to be shared: whose machine it was, and where, is nobody's business."""
    recorded = replace(short.markers, source="/home/anna-b/in-patients/walk.c3d").between(0.0, 0.3)
    finger = recorded.names[-1]
    solved = track(short.truth.skeleton, recorded.renamed({finger: "*9"}))
    command = (
        "exactik solve /home/anna-b/in-patients/walk.c3d --report=/srv/anna-b/walk.html --map L/R"
    )
    text = render_report(solved, command)
    assert "anna-b" not in text and "in-patients" not in text  # base64 has no hyphens
    assert "exactik solve walk.c3d --report=walk.html --map L/R" in text
    player = json.loads(text.partition('id="data">')[2].partition("</script>")[0])["player"]
    assert player["markers"]["names"] == [*solved.names, "*9"]  # in grey
    assert player["markers"]["bones"][-1] == -1
    assert drop_folders("no 'command") == "no 'command"
    assert drop_folders(r"exactik play C:\\takes\\a.c3d") == "exactik play a.c3d"


def test_the_report_is_one_whole_file(faulty: tuple[Track, SyntheticRecording], tmp_path: Path):
    path, command = tmp_path / "walk.html", "exactik track 'a b.c3d' --report walk.html"
    faulty[0].report(path, command=command)
    walk = check_report(path.read_text(encoding="utf-8"))
    for name in ("gait", "attention", "angles", "quality", "markers", "solved", "heat"):
        assert name in walk.ids
    assert command in walk.text
    assert "player" in walk.ids
    assert list(tmp_path.iterdir()) == [path]


def test_the_report_has_the_numbers_of_the_track(faulty: tuple[Track, SyntheticRecording]):
    solved, _ = faulty
    walk = check_report(render_report(solved))
    data = json.loads(walk.data)
    errors = 1e3 * solved.marker_errors
    np.testing.assert_allclose(
        decode(data["series"]["mean"]), np.nanmean(errors, axis=1), atol=0.01
    )
    np.testing.assert_allclose(decode(data["series"]["most"]), np.nanmax(errors, axis=1), atol=0.01)
    np.testing.assert_array_equal(decode(data["series"]["iterations"]), solved.iterations)
    missing = np.isnan(solved.marker_errors).sum(axis=1)
    np.testing.assert_array_equal(decode(data["series"]["missing"]), missing)
    level = np.frombuffer(base64.b64decode(data["heat"]["data"]), dtype=np.uint8)
    level = level.reshape(len(solved), -1).astype(float)
    shown = np.where(level == 0, np.nan, data["heat"]["most"] * ((level - 1) / 254) ** 2)
    np.testing.assert_array_equal(np.isnan(shown), np.isnan(errors))
    np.testing.assert_allclose(
        np.sqrt(shown), np.sqrt(errors), atol=np.sqrt(data["heat"]["most"]) / 500
    )


def test_the_report_has_the_angles_and_their_error_bars(faulty: tuple[Track, SyntheticRecording]):
    solved, _ = faulty
    angles = json.loads(check_report(render_report(solved)).data)["angles"]
    assert angles["bins"] == len(solved)
    coordinates = [joint for joint in angles["joints"] if joint["group"] == "coordinates"]
    assert sum(len(joint["dofs"]) for joint in coordinates) == solved.skeleton.nv
    shin = next(joint for joint in angles["joints"] if joint["name"] == "l_shin")
    k = solved.skeleton.dof_names.index("l_shin.ry")
    (dof,) = shin["dofs"]
    raw = np.frombuffer(base64.b64decode(dof["a"]), dtype="<u2")
    q = np.degrees(solved.motion.q[:, solved.skeleton.plain_q[k]])
    np.testing.assert_allclose(dof["low"] + dof["step"] * raw, q, atol=0.01)
    sd = np.frombuffer(base64.b64decode(dof["sd"]), dtype=np.uint8).astype(float)
    np.testing.assert_allclose(
        np.sqrt(dof["wide"]) * sd / 255, np.sqrt(np.degrees(solved.sd[:, k])), atol=0.02
    )


def test_the_report_has_joint_angles_of_both_sides_first(
    faulty: tuple[Track, SyntheticRecording],
):
    solved, _ = faulty
    walk = check_report(render_report(solved))
    data = json.loads(walk.data)["angles"]
    assert data["joints"][0]["group"] == "clinical"
    hip = next(joint for joint in data["joints"] if joint["name"] == "Hip flexion")
    assert [side["name"] for side in hip["dofs"]] == ["right", "left"]
    right = hip["dofs"][0]
    raw = np.frombuffer(base64.b64decode(right["a"]), dtype="<u2")
    angles = solved.angles()
    k = angles.names.index("hip_flexion_r")
    np.testing.assert_allclose(right["low"] + right["step"] * raw, angles.degrees[:, k], atol=0.01)
    assert angles.sd is not None
    sd = np.frombuffer(base64.b64decode(right["sd"]), dtype=np.uint8).astype(float)
    np.testing.assert_allclose(
        np.sqrt(right["wide"]) * sd / 255, np.sqrt(np.degrees(angles.sd[:, k])), atol=0.02
    )
    assert walk.text.index("Hip flexion") < walk.text.index("Coordinates of the joints")


def test_a_walk_has_its_strides_in_the_report(faulty: tuple[Track, SyntheticRecording]):
    solved, _ = faulty
    summary = strict(summary_of(solved))
    assert summary["gait"]["code"] == "gait" and summary["gait"]["strides"] > 0
    cadence = next(p for p in summary["gait"]["parameters"] if p["name"] == "cadence")
    assert cadence["mean"] == pytest.approx(113.0, abs=5.0)  # a step every 0.53 s
    walk = check_report(render_report(solved))
    assert "gait" in walk.ids and "stride length" in walk.text


def test_what_is_no_gait_is_said(short: SyntheticRecording):
    squats = simulate_recording(simulate_performance(2.0, 60.0, acts=("squat",)), swap=False)
    solved = track(human(), squats.markers, branches=False)
    walk = check_report(render_report(solved))
    assert "gait" not in walk.ids
    assert "No gait: No foot swings past the body as in walking." in walk.text
    assert strict(summary_of(solved))["gait"]["code"] == "no-steps"


def test_the_verdict_and_its_reasons_come_first(short: SyntheticRecording):
    places = np.array(short.markers.positions)
    places[:, :30] = np.nan
    solved = track(human(), replace(short.markers, positions=places), branches=False)
    walk = check_report(render_report(solved))
    assert solved.verdict.grade != "good"
    assert walk.text.index(solved.verdict.words) < walk.text.index("mean marker error")
    for reason in solved.verdict.reasons:
        assert reason.text[1:] in walk.text


def test_it_is_said_what_each_marker_was_taken_for(short: SyntheticRecording):
    names = ("LFHD", "LASI", "*7", "HEDO")
    used = MarkerUse(
        name="LASI",
        marker="LFWT",
        bone="pelvis",
        code="landmark",
        confidence=1.0,
        landmark=next(iter(list_landmarks())),
    )
    uses = (
        MarkerUse(name="LFHD", marker="LFHD", bone="head", code="same-name", confidence=1.0),
        used,
        MarkerUse(name="*7", marker=None, bone=None, code="unnamed", confidence=0.0),
        MarkerUse(name="HEDO", marker=None, bone=None, code="computed", confidence=1.0),
    )
    up = UpAxis(axis="y", origin="figure", custom="y", cosine=0.99)
    context = RecordingContext(
        uses=uses,
        up=up,
        unit_factor=0.001,
        marker_set="Plug-in Gait",
        set_missing=("sacrum",),
        scales={"l_thigh": 1.1, "r_thigh": 1.1, "pelvis": 1.0},
        scale_sds={"l_thigh": 0.02},
    )
    solved = replace(track(human(), short.markers.between(0.0, 0.1)), context=context)
    walk = check_report(render_report(solved))
    assert "reading" in walk.ids
    assert "2 markers of 4 used" in walk.text and "2 not used" in walk.text
    assert list_landmarks()[used.landmark].text in walk.text
    assert "computed, not measured 1 HEDO" in walk.text and "without a name 1 *7" in walk.text
    assert "y, along which the figure stands" in walk.text and "lengths × 0.001" in walk.text
    assert "thigh 110 % ± 2" in walk.text and "pelvis 100" not in walk.text
    reading = strict(summary_of(solved))["reading"]
    assert [use["name"] for use in reading["uses"]] == list(names)


def test_a_few_markers_have_a_heat_map_as_high_as_its_scale(short: SyntheticRecording):
    few = short.markers.chosen(("LFHD", "RFHD", "LBHD"))
    text = render_report(track(human(), few, branches=False))
    heights = re.findall(r'class="row heat" style="height:(\d+)px"', text)
    assert heights[-1] == "120"
    many = render_report(track(human(), short.markers.between(0.0, 0.1)))
    assert re.findall(r'class="row heat" style="height:(\d+)px"', many)[-1] == str(15 * 41)


def test_the_summary_has_the_numbers_of_the_track(faulty: tuple[Track, SyntheticRecording]):
    solved, record = faulty
    summary = strict(summary_of(solved, "again", per_frame=True))
    errors = 1e3 * solved.marker_errors
    seen = errors[np.isfinite(errors)]
    assert summary["frames"] == len(solved) == len(summary["per_frame"]["mean_mm"])
    assert summary["command"] == "again"
    assert summary["error"]["mean_mm"] == pytest.approx(1e3 * solved.mean_error)
    assert summary["error"]["p95_mm"] == pytest.approx(np.percentile(seen, 95))
    assert summary["error"]["max_mm"] == pytest.approx(seen.max())
    worst = solved.names.index(summary["error"]["worst_marker"])
    assert errors[summary["error"]["worst_frame"], worst] == pytest.approx(seen.max())
    assert summary["missing_share"] == pytest.approx(record.missing.mean())
    assert sum(gap["frames"] for gap in summary["gaps"]) == record.missing.sum()
    assert [m["name"] for m in summary["error_per_marker"]] == list(solved.names)
    assert len(summary["attention"]) == len(solved.attention)
    for mine, own in zip(summary["attention"], solved.attention, strict=True):
        assert (mine["kind"], mine["first"], mine["last"], mine["text"]) == (
            own.kind,
            own.first,
            own.last,
            own.text,
        )
        assert mine["start_s"] == pytest.approx(own.first / 120.0, abs=1e-5)
    touched = {limit["dof"]: limit["share"] for limit in summary["limits"]}
    for name, share in zip(solved.skeleton.dof_names, solved.at_limits.mean(axis=0), strict=True):
        assert touched.get(name, 0.0) == pytest.approx(share)
    assert summary["iterations"]["max"] == solved.iterations.max()
    assert sum(summary["status"].values()) == len(solved)
    assert {"exactik", "numpy", "numba", "scipy", "python"} <= summary["versions"].keys()


def test_a_swap_is_named_with_its_frames(faulty: tuple[Track, SyntheticRecording]):
    solved, record = faulty
    summary = summary_of(solved)
    (swap,) = summary["swaps"]
    frames = np.flatnonzero(record.swapped_frames)
    assert record.swapped is not None and set(swap["names"]) == set(record.swapped)
    assert (swap["first"], swap["last"]) == (frames[0], frames[-1])
    assert swap["verdict"] == "likely" and swap["found_by"] == "paths and pose"
    assert swap["exchanged_mm"] < 0.2 * swap["error_mm"]
    assert f"{swap['names'][0]} and {swap['names'][1]} seem to have" in headline_of(summary)
    walk = check_report(render_report(solved))
    assert " and ".join(swap["names"]) in walk.text


def test_a_swap_that_the_pose_follows_is_found_by_solving_again():
    """Two markers of a wrist: it turns over, and errors at the solved pose are small."""
    motion = simulate_performance(20.0)
    record = simulate_recording(motion, swap=("LWRA", "LWRB"))
    (swap,) = summary_of(track(motion.skeleton, record.markers, robust=None))["swaps"]
    assert set(swap["names"]) == {"LWRA", "LWRB"} and swap["verdict"] == "likely"
    assert swap["exchanged_mm"] > swap["error_mm"]
    assert swap["squares_ratio"] < 0.5


def test_markers_with_each_others_names_all_along_are_found(short: SyntheticRecording):
    """No path jumps; only the pose can tell."""
    markers = short.markers.renamed({"LANK": "LHEE", "LHEE": "LANK"})
    (swap,) = summary_of(track(human(), markers))["swaps"]
    assert set(swap["names"]) == {"LANK", "LHEE"} and swap["found_by"] == "pose"
    assert swap["verdict"] == "likely" and swap["frames"] > 0.9 * len(markers)


def test_where_nothing_is_swapped_nothing_is_suspected(short: SyntheticRecording):
    summary = summary_of(track(human(), short.markers))
    kinds = {entry["kind"] for entry in summary["attention"]}
    assert summary["swaps"] == [] and not kinds & {"far-marker", "marker-jump", "frozen-marker"}


def test_a_marker_far_off_for_a_while_is_one_of_the_findings(short: SyntheticRecording):
    places = np.array(short.markers.positions)
    m = short.markers.names.index("T10")
    places[40:70, m] += (0.0, 0.15, 0.1)
    summary = summary_of(track(human(), replace(short.markers, positions=places), robust=None))
    far = [entry for entry in summary["attention"] if entry["kind"] == "far-marker"]
    worst = next(entry for entry in far if "T10" in entry["text"])
    assert abs(worst["first"] - 40) <= 1 and abs(worst["last"] - 69) <= 1
    offset = summary["first_frame_in_file"]
    assert worst["first_in_file"] == worst["first"] + offset


def test_the_summary_has_the_quality_of_every_joint(short: SyntheticRecording):
    legs = [name for name in short.markers.names if name[1:] in ("FWT", "BWT", "KNE", "ANK")]
    solved = track(human(), short.markers.chosen(legs))
    quality = strict(summary_of(solved))["quality"]
    assert sum(quality["values"].values()) == solved.quality.size
    assert quality["joints"]["l_forearm"] == [[0, len(solved) - 1, "open"]]
    for name, stretches in quality["joints"].items():
        column = solved.skeleton.bone_index(name)
        for first, last, word in stretches:
            joints = solved.joint_quality[first : last + 1, column]
            assert {Quality(code).name.lower() for code in joints} == {word}
    assert "Quality of each joint and frame" in check_report(render_report(solved)).text


def test_a_robust_solve_tells_what_it_left_out():
    motion = simulate_performance(4.0)
    record = simulate_recording(motion, tissue=0.002, outliers=0.004)
    solved = track(motion.skeleton, record.markers, robust="huber")
    assert solved.marker_weights is not None
    summary = strict(summary_of(solved))
    assert summary["settings"]["robust"] == "huber"
    # A sample without an error that was recorded is no gap.
    assert summary["missing_share"] == pytest.approx(record.missing.mean())
    gone = np.isnan(solved.marker_errors) & ~record.missing
    assert summary["spikes"] == gone.sum()
    assert all("mean_weight" in marker for marker in summary["error_per_marker"])
    walk = check_report(render_report(solved))
    assert gone.sum() == 0 or f"{gone.sum()} samples stood out as spikes" in walk.text


def test_no_gaps_and_no_limits(short: SyntheticRecording):
    solved = track(human(), short.markers, limits="off")
    summary = summary_of(solved)
    assert summary["gaps"] == [] and summary["limits"] == []
    assert summary["missing_share"] == 0.0
    walk = check_report(render_report(solved))
    assert "No marker is ever missing." in walk.text and "Limits were off." in walk.text
    assert "none ever missing" in headline_of(summary)


def test_one_frame(short: SyntheticRecording):
    solved = track(human(), short.markers.between(0.0, 0.0))
    assert len(solved) == 1
    assert strict(summary_of(solved))["frames"] == 1
    walk = check_report(render_report(solved))
    assert "Nothing here moves by more than its error bars" in walk.text  # rather than no charts


def test_frames_without_markers(short: SyntheticRecording):
    places = np.array(short.markers.positions)
    places[20:30], places[:, 3] = np.nan, np.nan
    solved = track(human(), replace(short.markers, positions=places))
    summary = strict(summary_of(solved, per_frame=True))
    assert summary["per_frame"]["mean_mm"][25] is None
    assert summary["markers"]["never_seen"] == [short.markers.names[3]]
    assert any((a["first"], a["last"]) == (20, 29) for a in summary["attention"])
    walk = check_report(render_report(solved))
    assert "never seen" in walk.text


def test_angles_are_shown_of_a_subject_who_is_seen_for_a_part_of_the_time(
    short: SyntheticRecording,
):
    """Error bars of the rest say nothing about what the markers determine."""
    places = np.array(short.markers.positions)
    places[:80] = np.nan
    solved = track(human(), replace(short.markers, positions=places), branches=False)
    walk = check_report(render_report(solved))
    angles = json.loads(walk.data)["angles"]
    names = [angles["joints"][n]["name"] for n in angles["chosen"]]
    assert "Knee flexion" in names and "Nothing here moves" not in walk.text
    curves = make_angle_curves(solved)
    np.testing.assert_array_equal(curves.seen, np.arange(121) >= 80)
    two = np.array(places)
    two[:80, :2] = short.markers.positions[:80, :2]  # two markers determine no pose
    fewer = track(human(), replace(short.markers, positions=two), branches=False)
    np.testing.assert_array_equal(make_angle_curves(fewer).seen, curves.seen)


def test_nothing_seen_at_all(short: SyntheticRecording):
    places = np.full_like(short.markers.positions, np.nan)
    solved = track(human(), replace(short.markers, positions=places))
    summary = strict(summary_of(solved))
    assert summary["error"]["mean_mm"] is None
    headline = headline_of(summary)
    assert headline.startswith(
        "Do not use: no marker of the figure is ever seen (--mapping). No marker was seen"
    )
    walk = check_report(render_report(solved))
    assert "heat" not in walk.ids and "No marker is seen in any frame." in walk.text


def test_names_are_shown_and_never_run(short: SyntheticRecording, tmp_path: Path):
    names = {"T10": EVIL, "C7": "Müller–骨 ✓", "CLAV": '" onload="x', "STRN": "</script><b>"}
    figure = human()
    marks = {names.get(name, name): place for name, place in figure.markers.items()}
    renamed = Skeleton.build(EVIL, figure.bones, marks)
    markers = replace(short.markers.renamed(names), source=f"/data/{EVIL.replace('/', '')}.c3d")
    path = tmp_path / "é.html"
    track(renamed, markers).report(path, command=f"exactik track '{EVIL}'")
    text = path.read_text(encoding="utf-8")
    walk = check_report(text)
    assert "alert(" not in re.sub(r"&lt;script&gt;alert|\\u003cscript>alert", "", text)
    assert walk.text.count(EVIL) > 2 and "Müller–骨 ✓" in walk.text
    assert json.loads(walk.data)["markers"].count(EVIL) == 1


def test_headline_is_plain_text(faulty: tuple[Track, SyntheticRecording]):
    headline = headline_of(summary_of(faulty[0]))
    assert headline.startswith(str(faulty[0].verdict))
    assert "LANK and LHEE" in headline
    assert headline.endswith(".")
    assert "\n" not in headline and "<" not in headline and "None" not in headline
    assert "need a look" in headline and "95 % within" in headline


def test_only_html_is_written(short: SyntheticRecording, tmp_path: Path):
    solved = track(human(), short.markers.between(0.0, 0.1))
    with pytest.raises(UsageError, match=r"must be an \.html file"):
        solved.report(tmp_path / "walk.pdf")
    with pytest.raises(FileError):
        solved.report(tmp_path / "no such folder" / "walk.html")


def test_twenty_seconds_are_small(faulty: tuple[Track, SyntheticRecording]):
    text = render_report(faulty[0])
    assert len(text.encode()) < 2.6e6  # 44 joint angles, 58 dofs and the playback at 120 Hz


def tiled(solved: Track, times: int) -> Track:
    """The same track so many times in a row, to and fro, so that nothing jumps."""

    def more(array: np.ndarray) -> np.ndarray:
        return np.concatenate([array if k % 2 == 0 else array[::-1] for k in range(times)])

    markers, frames = solved.markers, solved.problem.targets
    return replace(
        solved,
        motion=Motion(solved.skeleton, more(solved.motion.q), solved.motion.rate),
        markers=Markers(more(markers.positions), markers.names, markers.rate),
        problem=solved.problem.with_targets(position=more(frames.position)),
        **{
            name: more(getattr(solved, name))
            for name in ("marker_errors", "cost", "projected_gradient", "ended", "iterations")
        },
        undetermined=more(solved.undetermined),
        excess_cost=more(solved.excess_cost),
    )


@pytest.mark.full
def test_a_minute_with_its_playback_takes_three_megabytes(faulty: tuple[Track, SyntheticRecording]):
    text = render_report(tiled(faulty[0], 3))
    assert 2e6 < len(text.encode()) < 3e6
    notes = json.loads(check_report(text).data)["player"]["notes"]
    assert any(note.endswith("of 7203 frames") for note in notes)


@pytest.mark.full
def test_long_recordings_are_binned(faulty: tuple[Track, SyntheticRecording]):
    """Three minutes: fewer angles than frames, but no peak is lost."""
    solved = tiled(faulty[0], 9)
    text = render_report(solved)
    data = json.loads(check_report(text).data)
    assert len(text.encode()) < 9e6
    assert data["angles"]["bins"] < len(solved) == data["frames"]
    level = np.frombuffer(base64.b64decode(data["heat"]["data"]), dtype=np.uint8)
    assert level.max() == 255
    shin = next(joint for joint in data["angles"]["joints"] if joint["name"] == "l_shin")
    (dof,) = shin["dofs"]
    high = dof["low"] + dof["step"] * np.frombuffer(base64.b64decode(dof["b"]), dtype="<u2")
    k = solved.skeleton.plain_q[solved.skeleton.dof_names.index("l_shin.ry")]
    assert high.max() == pytest.approx(np.degrees(solved.motion.q[:, k].max()), abs=0.01)


@pytest.mark.slow
def test_an_hour_stays_below_fifteen_megabytes(faulty: tuple[Track, SyntheticRecording]):
    solved = tiled(faulty[0], 180)
    assert len(solved) / solved.markers.rate >= 3600.0
    assert len(render_report(solved).encode()) < 15e6


def test_colours_rise_evenly_in_lightness():
    """So they keep their order for readers who see fewer hues, and in print without colours."""
    rgb = error_colours(np.linspace(0.0, 1.0, 256)) / 255.0
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    lightness = np.cbrt(linear @ (0.2126, 0.7152, 0.0722))
    assert (np.diff(lightness) > -1e-3).all()
    assert lightness[-1] - lightness[0] > 0.5


def test_png_is_read_back():
    pixels = np.array([[0, 1, 2], [2, 1, 0]], dtype=np.uint8)
    raw = encode_png(pixels, error_colours(np.linspace(0, 1, 3)))
    assert raw.startswith(b"\x89PNG")
    at, parts = 8, {}
    while at < len(raw):
        size = int.from_bytes(raw[at : at + 4], "big")
        kind, body = raw[at + 4 : at + 8], raw[at + 8 : at + 8 + size]
        assert int.from_bytes(raw[at + 8 + size : at + 12 + size], "big") == zlib.crc32(kind + body)
        parts[kind], at = body, at + 12 + size
    assert parts[b"tRNS"] == b"\x00" and len(parts[b"PLTE"]) == 9
    rows = np.frombuffer(zlib.decompress(parts[b"IDAT"]), dtype=np.uint8).reshape(2, 4)
    np.testing.assert_array_equal(rows[:, 1:], pixels)


def test_bins_keep_peaks_and_gaps():
    values = np.arange(10.0)
    values[3:6] = np.nan
    bins = Bins.of(10, 4)
    np.testing.assert_array_equal(bins.edges, [0, 2, 5, 7])
    np.testing.assert_array_equal(bins.most(values), [1.0, 2.0, 6.0, 9.0])
    np.testing.assert_array_equal(bins.least(values), [0.0, 2.0, 6.0, 7.0])
    assert math.isnan(Bins.of(10, 10).most(values)[4])


@pytest.mark.parametrize(("value", "expected"), [(0.0, 1.0), (87.0, 100.0), (5.2, 6.0), (1.0, 1.0)])
def test_ends_of_axes_are_round(value: float, expected: float):
    assert round_axis_end(value) == pytest.approx(expected)


def test_reports_need_no_numba(monkeypatch: pytest.MonkeyPatch):
    """Where a library of kernels is installed, Numba need not be."""
    there = metadata.version

    def look(name: str) -> str:
        if name == "numba":
            raise metadata.PackageNotFoundError(name)
        return there(name)

    monkeypatch.setattr(metadata, "version", look)
    versions = collect_versions()
    assert "numba" not in versions and versions["numpy"] == there("numpy")
