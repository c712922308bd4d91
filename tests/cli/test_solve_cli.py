"""`exactik solve` and `exactik calibrate`: what they write, say and end with."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import exactik as ik
from exactik import cli
from exactik.cli import _outputs
from exactik.cli.solve import _solve_all
from exactik.lab.synthetic import simulate_performance, simulate_recording
from exactik.model.motion import axes_matrix, heading_axes
from exactik.studio import report
from tests.support.gait import walk_evenly


class Ended(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def flat(self) -> str:
        """What was said, without line ends."""
        return " ".join(self.out.split())


Run = Callable[..., Ended]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """Call the command line in this process, in a folder of its own."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> Ended:
        monkeypatch.setattr(sys, "argv", ["exactik", *arguments])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        code = ended.value.code
        assert code is None or isinstance(code, int)
        printed = capsys.readouterr()
        return Ended(code or 0, printed.out, printed.err)

    return call


FIGURE = ("--skeleton", "human", "--no-calibrate")
MOTION = simulate_performance(2.0, 30.0)


@pytest.fixture
def clean(tmp_path: Path) -> ik.Markers:
    """walk.c3d: a recording without faults; returned as made."""
    markers = simulate_recording(MOTION, noise=0.0005, gaps=0.0, swap=False).markers
    markers.save(tmp_path / "walk.c3d")
    return markers


def heads(path: Path) -> np.ndarray:
    """Places of the head in a BVH file, in the axes of our human, (T, 3)."""
    motion = ik.load_motion(path, length_unit="cm")
    return motion.forward().positions[:, motion.skeleton.bone_index("head")][:, [2, 0, 1]]


def true_heads() -> np.ndarray:
    return MOTION.forward().positions[:, MOTION.skeleton.bone_index("head")]


# --- what it writes


def test_page_and_screen_say_the_same_summary_computed_once(
    run: Run, clean: ik.Markers, monkeypatch: pytest.MonkeyPatch
):
    summarise, calls = report.summary_of, []

    def count(*arguments: Any, **options: Any) -> dict[str, Any]:
        calls.append(arguments)
        return summarise(*arguments, **options)

    for module in (_outputs, sys.modules["exactik.studio.report._page"]):
        monkeypatch.setattr(module, "summary_of", count)
    ended = run("solve", "walk.c3d", *FIGURE, "--report", "walk.html")
    assert ended.code == 0, ended.out + ended.err
    assert len(calls) == 1
    assert Path("walk.html").exists()


def test_a_clean_recording_becomes_a_motion_and_ends_with_nought(run: Run, clean: ik.Markers):
    ended = run("solve", "walk.c3d", *FIGURE, "-o", "walk.bvh", "--report", "walk.html")
    assert ended.code == 0, ended.out + ended.err
    lines = ended.out.splitlines()
    heads_of_lines = ["verdict  Good.", "error    ", "look at  nothing", "written  walk.bvh, walk"]
    assert all(map(str.startswith, lines, heads_of_lines)) and lines[4].startswith("Took ")
    assert len(lines) == 5 and max(map(len, lines)) <= 80
    np.testing.assert_allclose(heads(Path("walk.bvh")), true_heads(), atol=0.02)
    page = Path("walk.html").read_text("utf-8")
    assert "exactik solve walk.c3d --skeleton human" in page
    assert sorted(p.name for p in Path().iterdir()) == ["walk.bvh", "walk.c3d", "walk.html"]


def test_all_that_was_read_and_found_is_said_when_asked(run: Run, clean: ik.Markers):
    ended = run("solve", "walk.c3d", *FIGURE, "-v")
    assert ended.out.startswith("read     walk.c3d: 61 frames at 30 Hz (2.00 s), 41 markers")
    assert "Nothing needs a look" in ended.flat and "95 % within" in ended.flat
    assert max(map(len, ended.out.splitlines())) <= 80


def test_without_outputs_the_verdict_is_printed(run: Run, clean: ik.Markers):
    ended = run("solve", "walk.c3d", *FIGURE)
    assert ended.code == 0 and "Good." in ended.out and "written" not in ended.out


@pytest.mark.parametrize("suffix", ["bvh", "amc", "glb", "npz", "mot", "csv"])
def test_every_format_can_be_written(run: Run, clean: ik.Markers, suffix: str):
    ended = run("solve", "walk.c3d", *FIGURE, "-o", f"out/walk.{suffix}")
    assert ended.code == 0, ended.err
    names = {p.name for p in Path("out").iterdir()}
    beside = {"amc": {"walk.asf"}, "mot": {"walk-quality.mot"}}
    assert names == {f"walk.{suffix}"} | beside.get(suffix, set())


def test_several_outputs_and_formats(run: Run, clean: ik.Markers):
    ended = run("solve", "walk.c3d", *FIGURE, "-o", "one.npz", "-o", "two", "--format", "bvh,glb")
    assert ended.code == 0, ended.err
    assert Path("one.npz").is_file()
    assert {p.name for p in Path("two").iterdir()} == {"walk.bvh", "walk.glb"}
    assert len(ik.load_motion("one.npz")) == 61


def test_many_recordings_by_pattern_go_to_a_folder(run: Run, clean: ik.Markers):
    clean.between(0.0, 1.0).save("short.c3d")
    ended = run("solve", "*.c3d", *FIGURE, "-o", "out/", "--report", "pages")
    assert ended.code == 0, ended.err
    assert {p.name for p in Path("out").iterdir()} == {"short.bvh", "walk.bvh"}
    assert {p.name for p in Path("pages").iterdir()} == {"short.html", "walk.html"}
    assert "2 of 2 recordings solved" in ended.out


def test_one_bad_file_of_many_is_named_and_the_others_are_solved(run: Run, clean: ik.Markers):
    Path("bad.c3d").write_bytes(b"nothing")
    ended = run("solve", "bad.c3d", "walk.c3d", *FIGURE, "-o", "out")
    assert ended.code == 2
    assert ended.err.startswith("exactik: bad.c3d: ") and "Traceback" not in ended.err
    assert {p.name for p in Path("out").iterdir()} == {"walk.bvh"}


def test_start_and_end(run: Run, clean: ik.Markers):
    ended = run("solve", "walk.c3d", *FIGURE, "-o", "a.npz", "--start", "0.5", "--end", "1")
    assert ended.code == 0, ended.err
    motion = ik.load_motion("a.npz")
    assert len(motion) == 16 and motion.first_frame == clean.first_frame + 15


def test_it_is_what_track_finds(run: Run, clean: ik.Markers):
    assert run("solve", "walk.c3d", *FIGURE, "-o", "a.npz", "--sigma", "2").code == 0
    track = ik.track(ik.human(), ik.load_markers("walk.c3d"), sigma=2e-3)
    np.testing.assert_array_equal(ik.load_motion("a.npz").q, track.motion.q)


def test_it_can_be_repeated_over_what_it_wrote(run: Run, clean: ik.Markers):
    given = ("solve", "walk.c3d", *FIGURE, "-o", "a.bvh", "-o", "a.amc", "--report", "a.html")
    assert run(*given).code == 0
    before = Path("a.bvh").read_bytes()
    assert run(*given).code == 0
    assert Path("a.bvh").read_bytes() == before


# --- what it says


def test_frames_that_need_attention_are_listed(run: Run, clean: ik.Markers):
    places = clean.positions.copy()
    lost = ("LFIN", "LWRA", "LWRB", "LFRM", "LELB", "LUPA")
    places[20:40, [clean.names.index(name) for name in lost]] = np.nan
    replace(clean, positions=places).save("gaps.c3d")
    ended = run("solve", "gaps.c3d", *FIGURE, "-o", "gaps.bvh")
    assert ended.code == 0, ended.err
    assert "look at  frames 21–40: markers are missing for left" in ended.out
    ended = run("solve", "gaps.c3d", *FIGURE, "-o", "gaps.bvh", "--all")
    assert "Frames that need attention, the worst first:" in ended.out
    assert "0.67–1.30 s  markers are missing for left" in ended.out
    assert np.isfinite(ik.load_motion("gaps.bvh", length_unit="cm").q).all()


def test_the_gravest_verdict_of_several_is_the_exit_code(run: Run, clean: ik.Markers):
    names = list(clean.names)
    shuffled = clean.renamed(dict(zip(names, [*names[9:], *names[:9]], strict=True)))
    shuffled.between(0.0, 0.5).save("mixed.c3d")
    ended = run("solve", "mixed.c3d", "walk.c3d", *FIGURE, "--json")
    assert ended.code == 3
    first, second = json.loads(ended.out)["solved"]
    assert (first["verdict"], second["verdict"]) == ("reject", "good")
    worst = first["reasons"][0]
    assert worst["code"] == "error" and worst["value"] > worst["threshold"] == 0.024
    assert second["reasons"] == []
    Path("bad.c3d").write_bytes(b"nothing")
    assert run("solve", "bad.c3d", "mixed.c3d", *FIGURE, "--json").code == 2


def test_one_of_two_subjects_is_solved_or_both(run: Run, clean: ik.Markers):
    short = clean.between(0.0, 0.5)
    beside = np.add(short.positions, [0.0, 3.0, 0.0])
    names = (*(f"Ann:{n}" for n in short.names), *(f"Bob:{n}" for n in short.names))
    both = np.concatenate([short.positions, beside], axis=1)
    replace(short, positions=both, names=names).save("two.c3d")
    ended = run("solve", "two.c3d", *FIGURE, "-o", "a.npz", "--report", "a.html", "-v")
    assert ended.code in (0, 1) and "this is Ann, beside Bob. --subject says" in ended.flat
    given = ("-o", "b.npz", "--subject", "all", "--json")
    ended = run("solve", "two.c3d", *FIGURE, *given)
    assert [one["subject"] for one in json.loads(ended.out)["solved"]] == ["Ann", "Bob"]
    assert {p.name for p in Path().glob("*.npz")} == {"a.npz", "b-Ann.npz", "b-Bob.npz"}
    ended = run("solve", "two.c3d", *FIGURE, "-o", "c.npz", "--subject", "Carl")
    assert ended.code == 2 and "Ann" in ended.err


def test_json_is_strict_and_alone(run: Run, clean: ik.Markers):
    ended = run("solve", "walk.c3d", *FIGURE, "-o", "a.bvh", "--json")
    assert ended.code == 0
    answer = json.loads(ended.out, parse_constant=pytest.fail)
    (one,) = answer["solved"]
    assert answer["failed"] == [] and one["written"] == ["a.bvh"]
    assert one["frames"] == 61 and one["error"]["mean_mm"] < 2.0 and one["attention"] == []
    stages = ["starting", "reading", "preparing", "solving", "writing", "judging"]
    assert sorted(answer["seconds"]) == sorted(stages)
    assert all(seconds >= 0.0 for seconds in answer["seconds"].values())


def test_the_last_line_says_where_the_time_went(run: Run, clean: ik.Markers):
    ended = run("solve", "walk.c3d", *FIGURE, "--report", "walk.html", "-v")
    said = "Took " + ended.flat.rpartition("Took ")[2]
    total, *stages = re.findall(r"(\d+\.\d)", said)
    assert re.fullmatch(r"Took \d+\.\d s: starting \d+\.\d(, \w+ \d+\.\d)*\.", said)
    # Parts of the whole, each rounded.
    assert 0.0 < sum(map(float, stages)) <= float(total) + 0.05 * (len(stages) + 1) + 1e-9


@pytest.mark.parametrize("up", ["y", "x"])
def test_a_known_difference_of_up_axes_is_aligned_and_said(run: Run, clean: ik.Markers, up: str):
    clean.turned("YZX" if up == "y" else "ZXY").save("other.c3d")
    assert ik.load_markers("other.c3d").up_axis == up
    ended = run("solve", "other.c3d", *FIGURE, "-o", "other.bvh", "-v")
    assert ended.code == 0, ended.err
    assert f"The recording has {up} up and the skeleton z: the recording was turned" in ended.flat
    np.testing.assert_allclose(heads(Path("other.bvh")), true_heads(), atol=0.02)


def test_an_unknown_up_axis_is_seen_or_given(run: Run, clean: ik.Markers):
    replace(clean.turned("YZX"), up_axis=None).save("mute.trc")
    ended = run("solve", "mute.trc", *FIGURE, "-o", "a.bvh", "-v")
    assert ended.code == 0, ended.err
    assert "y is taken for up in the recording" in ended.flat
    ended = run("solve", "mute.trc", *FIGURE, "-o", "b.bvh", "--up", "y", "-v")
    assert "is taken for up" not in ended.flat and "was turned" in ended.flat
    ended = run("solve", "mute.trc", *FIGURE, "-o", "c.bvh", "--axes", "ZXY", "-v")
    assert "turned (" not in ended.flat
    for name in "abc":
        np.testing.assert_allclose(heads(Path(f"{name}.bvh")), true_heads(), atol=0.02)


def test_bones_without_markers_are_named(run: Run, clean: ik.Markers):
    legs = [name for name in clean.names if name[1:] in ("FWT", "BWT", "THI", "KNE", "SHN", "ANK")]
    clean.chosen(legs).save("legs.c3d")
    ended = run("solve", "legs.c3d", *FIGURE, "-o", "a.bvh", "-v")
    assert ended.code in (0, 1), ended.err
    assert "Not measured: lower back, upper back" in ended.flat


def test_markers_without_known_names_are_listed(run: Run, clean: ik.Markers):
    odd = clean.renamed({name: f"point {n}" for n, name in enumerate(clean.names)})
    odd.chosen(odd.names[:5]).save("odd.c3d")
    ended = run("solve", "odd.c3d", "--skeleton", "human", "-o", "a.bvh")
    assert ended.code == 2 and len(ended.err.splitlines()) == 1
    assert "odd.c3d: no marker can be used" in ended.err and "--mapping" in ended.err


def test_headings_are_the_four_turns_about_an_axis():
    for up in "xyz":
        turns = [axes_matrix(axes) for axes in heading_axes(up)]
        axis = np.eye(3)["xyz".index(up)]
        assert all(np.array_equal(turn @ axis, axis) for turn in turns)
        assert len({turn.tobytes() for turn in turns}) == 4


# --- options


@pytest.mark.parametrize("kind", ["text", "json", "csv"])
def test_weights_from_text_and_files(run: Run, clean: ik.Markers, kind: str):
    given = "LFHD=2,R*=0.5"
    if kind == "json":
        Path(given := "w.json").write_text('{"LFHD": 2, "R*": 0.5}')
    elif kind == "csv":
        Path(given := "w.csv").write_text("# marker, weight\nLFHD, 2\nR*, 0.5\n")
    ended = run("solve", "walk.c3d", *FIGURE, "-o", "a.npz", "--weights", given, "--json")
    assert ended.code == 0, ended.err
    weights = json.loads(ended.out)["solved"][0]["settings"]["weights"]
    assert weights["LFHD"] == 2.0 and weights["RTOE"] == 0.5 and "LTOE" not in weights


def test_options_reach_the_solver(run: Run, clean: ik.Markers):
    given = ["--robust", "huber", "--limits", "soft", "--lock", "l_fingers", "--sigma", "1"]
    given += ["--threads", "1", "--no-branches", "--smooth", "8"]
    ended = run("solve", "walk.c3d", *FIGURE, "-o", "a.npz", *given, "--json")
    assert ended.code in (0, 1), ended.err
    summary = json.loads(ended.out)["solved"][0]
    settings = summary["settings"]
    assert (settings["limits"], settings["robust"]) == ("soft", "huber")
    assert settings["locked"] == ["l_fingers.rx"] and settings["threads"] == 1
    assert summary["sigma_mm"] == 1.0


def test_other_names_by_mapping(run: Run, clean: ik.Markers):
    clean.renamed({"LFHD": "A", "RFHD": "B", "C7": "junk"}).save("named.c3d")
    given = ("--mapping", "A=LFHD,B=RFHD,junk=")
    ended = run("solve", "named.c3d", *FIGURE, "-o", "a.npz", *given, "--json")
    assert ended.code == 0, ended.err
    used = json.loads(ended.out)["solved"][0]["markers"]["used"]
    assert {"A", "B"} <= set(used) and not {"C7", "junk"} & set(used)


# --- skeletons without markers


def bare_files() -> None:
    """bare.asf, bare.amc: the performance without markers, in the axes of such files."""
    motion = MOTION.turned("YZX")
    bare = ik.Motion(motion.skeleton.with_markers({}), motion.q, motion.rate, up_axis="y")
    ik.save_skeleton(bare.skeleton, "bare.asf")
    bare.save("bare.amc")


def test_markers_from_a_take(run: Run, clean: ik.Markers):
    bare_files()
    given = ("--skeleton", "bare.asf", "--take", "bare.amc", "--limits", "off")
    ended = run("solve", "walk.c3d", *given, "-o", "a.bvh", "--start", "0.5", "-v")
    assert ended.code in (0, 1), ended.err
    assert "41 markers were put on the skeleton where bare.amc has them" in ended.flat
    assert "has z up and the skeleton y" in ended.flat
    np.testing.assert_allclose(heads(Path("a.bvh")), true_heads()[15:], atol=0.03)


def test_without_markers_one_sentence_says_what_to_do(run: Run, clean: ik.Markers):
    bare_files()
    ended = run("solve", "walk.c3d", "--skeleton", "bare.asf", "-o", "a.bvh")
    assert ended.code == 2 and len(ended.err.splitlines()) == 1
    for word in ("bare.asf: has no markers", "--take", "--mapping", "exactik calibrate"):
        assert word in ended.err
    assert not Path("a.bvh").exists()


# --- calibration


def test_calibrate_then_solve(run: Run, clean: ik.Markers):
    given = ("--skeleton", "human", "-o", "subject.npz", "--frames", "20")
    ended = run("calibrate", "walk.c3d", *given)
    assert ended.code == 0, ended.err
    assert "mean distance of a marker" in ended.out and "written  subject.npz" in ended.out
    assert len(ik.load_skeleton("subject.npz").markers) == 41
    ended = run("solve", "walk.c3d", "--skeleton", "subject.npz", "-o", "a.bvh")
    assert ended.code in (0, 1), ended.err
    assert "is not known" not in ended.flat  # the file says which axis is up
    np.testing.assert_allclose(heads(Path("a.bvh")), true_heads(), atol=0.03)


def test_calibrate_on_several_recordings_as_json(run: Run, clean: ik.Markers):
    """A static beside the walk; without --skeleton it is our human that is fitted."""
    replace(clean, positions=np.repeat(clean.positions[:1], 20, axis=0)).save("static.c3d")
    given = ("-o", "subject.npz", "--frames", "10", "--scale", "global", "--json")
    ended = run("calibrate", "static.c3d", "walk.c3d", *given)
    assert ended.code == 0, ended.err
    answer = json.loads(ended.out, parse_constant=pytest.fail)
    assert answer["written"] == ["subject.npz"] and len(answer["markers"]) == 41
    assert [trial["file"] for trial in answer["trials"]] == ["static.c3d", "walk.c3d"]
    assert not answer["static"] and all(len(trial["frames"]) > 0 for trial in answer["trials"])
    ended = run("calibrate", "static.c3d", "-o", "standing.npz", "--frames", "4")
    assert "Fit the figure on a trial that moves as well" in ended.flat
    assert "No marker tells" not in ended.flat


def test_a_figure_of_a_static_that_fits_the_movement_badly_is_said(run: Run, clean: ik.Markers):
    """With the command that mends it."""
    figure = ik.human()
    shifted = {n: (bone, np.add(p, (0.02, 0, 0))) for n, (bone, p) in figure.markers.items()}
    figure = figure.with_markers({n: m for n, m in shifted.items() if n[1] in "KTF"})
    made = {"skeleton": "human", "trials": [{"file": "static.c3d"}], "error_after_mm": 0.4}
    made |= {"static": True, "undetermined_words": []}
    ik.save_skeleton(figure, "subject.npz", up_axis="z", metadata={"calibration": made})
    ended = run("solve", "walk.c3d", "--skeleton", "subject.npz", "-o", "a.bvh")
    command = "exactik calibrate static.c3d walk.c3d --skeleton human -o subject.npz"
    assert "fitted on static.c3d, which holds one pose only" in ended.flat
    assert command in ended.flat


def test_the_human_is_fitted_unless_told_otherwise(run: Run, clean: ik.Markers):
    ended = run("solve", "walk.c3d", "--skeleton", "human", "-o", "a.bvh", "-v")
    assert ended.code in (0, 1), ended.err
    assert "The figure's size and markers were fitted to the subject on walk.c3d" in ended.flat


# --- misuse


def test_a_figure_of_another_size_is_said_not_to_be_fitted(run: Run, clean: ik.Markers):
    replace(clean, positions=1.2 * clean.positions).save("tall.c3d")
    ended = run("solve", "tall.c3d", *FIGURE, "-o", "a.npz")
    assert ended.code == 3 and "not fitted to the subject: --calibrate" in ended.flat
    assert "not fitted" not in run("solve", "walk.c3d", *FIGURE, "-o", "a.npz").flat


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["none.c3d"], ["none.c3d", "no such file"]),
        (["walk.c3d", "--skeleton", "humn"], ["humn", "did you mean human?", "quadruped"]),
        (["none.c3d", *FIGURE, "-o", "a.bvh"], ["none.c3d", "cannot be read"]),
        (["*.trc", *FIGURE, "-o", "a.bvh"], ["*.trc", "no file fits"]),
        (["walk.c3d", "--skeleton", "nobody", "-o", "a.bvh"], ["nobody", "human", ".asf"]),
        (["walk.c3d", "--skeleton", "no.asf", "-o", "a.bvh"], ["no.asf"]),
        (["walk.c3d", *FIGURE, "-o", "a.fbx"], ["a.fbx", ".bvh"]),
        (["walk.c3d", *FIGURE, "-o", "out", "--format", "fbx"], ["fbx", "bvh"]),
        (["walk.c3d", *FIGURE, "-o", "a.bvh", "--report", "a.pdf"], ["a.pdf", ".html"]),
        (["walk.c3d", "two.c3d", *FIGURE, "-o", "a.bvh"], ["a.bvh", "2 recordings", "folder"]),
        (["walk.c3d", *FIGURE, "-o", "a.bvh", "--robust", "much"], ["--robust", "huber"]),
        (["walk.c3d", *FIGURE, "-o", "a.bvh", "--limits", "few"], ["limits", "few"]),
        (["walk.c3d", *FIGURE, "-o", "a.bvh", "--weights", "LFHD"], ["--weights", "NAME=VALUE"]),
        (["walk.c3d", *FIGURE, "-o", "a.bvh", "--weights", "LFHD=-1"], ["LFHD", "≥ 0"]),
        (["walk.c3d", *FIGURE, "-o", "a.bvh", "--weights", "NOSE=1"], ["NOSE"]),
        (["walk.c3d", *FIGURE, "-o", "a.bvh", "--weights", "no.json"], ["no.json"]),
        (["walk.c3d", *FIGURE, "-o", "a.bvh", "--mapping", "NOSE=LFHD"], ["NOSE"]),
        (["walk.c3d", *FIGURE, "-o", "a.bvh", "--start", "9"], ["walk.c3d", "lasts 2 s"]),
        (["walk.c3d", *FIGURE, "-o", "a.bvh", "--up", "w"], ["--up is 'w'; expected x, y or z"]),
        (["walk.c3d", *FIGURE, "-o", "a.bvh", "--axes", "XYX"], ["axes", "XYX"]),
        (["walk.c3d", *FIGURE, "-o", "a.bvh", "--length-unit", "ell"], ["ell"]),
        (["walk.c3d", *FIGURE, "-o", "a.bvh", "--lock", "tail"], ["tail"]),
        (["walk.c3d", *FIGURE, "-o", "a.bvh", "--threads", "0"], ["--threads"]),
        (["walk.c3d", *FIGURE, "-o", "walk.c3d/a.bvh"], ["walk.c3d/a.bvh", "cannot be written"]),
        (["text.c3d", *FIGURE, "-o", "a.bvh"], ["text.c3d", "expected"]),
        (["scale.xml"], ["scale tool", "`exactik calibrate scale.xml` runs it"]),
        (["model.osim"], ["model.osim", "no reader of markers"]),
    ],
)
def test_misuse_is_one_line_and_ends_with_two(
    run: Run, clean: ik.Markers, arguments: list[str], words: list[str]
):
    Path("text.c3d").write_text("not a recording")
    Path("scale.xml").write_text("<OpenSimDocument><ScaleTool/></OpenSimDocument>")
    ended = run("solve", *arguments)
    assert ended.code == 2, ended.out
    assert "Traceback" not in ended.err and all(word in ended.err for word in words)
    if ended.err.startswith("exactik:"):  # what typer refuses has a frame around it
        assert len(ended.err.splitlines()) == 1
    assert {p.name for p in Path().iterdir()} <= {"walk.c3d", "text.c3d", "scale.xml", "out"}


def test_misspelt_names_are_refused_before_anything_is_fitted(
    run: Run, clean: ik.Markers, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(_solve_all, "solve_recording", lambda *_, **__: pytest.fail("solved"))
    for option, text, hint in (
        ("--mapping", "LFHDD=head", "'LFHD'"),
        ("--mapping", "LFHD=hed", "'head'"),
        ("--weights", "LFHDD=2", "'LFHD'"),
        ("--lock", "pelvs", "'pelvis'"),
    ):
        ended = run("solve", "walk.c3d", *FIGURE, "-o", "a.bvh", option, text)
        assert ended.code == 2 and f"did you mean {hint}" in ended.err, ended.err


def test_nothing_that_is_read_is_overwritten(run: Run, clean: ik.Markers):
    assert run("solve", "walk.c3d", *FIGURE, "-o", "figure.bvh").code == 0
    before = Path("figure.bvh").read_bytes()
    given = ("--skeleton", "figure.bvh", "--mapping", "LFHD=head")
    ended = run("solve", "walk.c3d", *given, "-o", "figure.bvh")
    assert ended.code == 2 and "is read" in ended.err
    assert Path("figure.bvh").read_bytes() == before


def test_calibrate_misuse(run: Run, clean: ik.Markers):
    for given, word in (
        (["-o", "a.bvh"], ".npz"),
        (["-o", "a.npz", "--scale", "much"], "--scale"),
        (["-o", "walk.c3d"], ".npz"),
    ):
        ended = run("calibrate", "walk.c3d", "--skeleton", "human", *given)
        assert ended.code == 2 and word in ended.err, ended.err
    Path("ik.xml").write_text("<OpenSimDocument><InverseKinematicsTool/></OpenSimDocument>")
    assert "`exactik solve ik.xml` runs it" in run("calibrate", "ik.xml").err
    Path("ik.xml").unlink()
    assert {p.name for p in Path().iterdir()} == {"walk.c3d"}


# --- real files


@pytest.mark.full
def test_a_real_recording_with_an_asf_and_a_take(run: Run, shared_data: Path):
    """Axes, units and bones of HDM05 are found by themselves."""
    folder = shared_data / "data" / "asf_amc" / "hdm05_dg"
    take = str(folder / "HDM_dg_01-03_01_120.amc")
    given = ("--skeleton", str(folder / "HDM_dg.asf"), "--take", take, "--limits", "off")
    recording = str(folder / "HDM_dg_01-03_01_120.c3d")
    ended = run("solve", recording, *given, "-o", "a.bvh", "--end", "3", "--json")
    assert ended.code in (0, 1), ended.err
    (one,) = json.loads(ended.out)["solved"]
    assert len(one["markers"]["used"]) == 41 and one["error"]["mean_mm"] < 15.0
    assert any("41 markers were put on the skeleton" in note for note in one["notes"])
    assert any("has z up and the skeleton y" in note for note in one["notes"])


@pytest.mark.slow
def test_a_real_recording_with_our_human(run: Run, shared_data: Path):
    recording = str(shared_data / "data" / "asf_amc" / "cmu02" / "02_01.c3d")
    ended = run("solve", recording, "--skeleton", "human", "-o", "a.bvh", "--json")
    assert ended.code in (0, 1), ended.err
    (one,) = json.loads(ended.out)["solved"]
    assert one["error"]["mean_mm"] < 4.0 and one["frames"] == 343
    head = heads(Path("a.bvh"))
    assert 1.3 < head[:, 2].mean() < 1.8  # it stands upright on the floor


# --- comparing


def test_two_recordings_are_compared_or_the_sides_of_one(run: Run):
    for name, shifts in (("before", {}), ("after", {"l_shin.ry": 9.0})):
        motion = walk_evenly(len(name), 5, 0.5, shifts)
        record = simulate_recording(motion, noise=0.0005, gaps=0.0, swap=False)
        record.markers.save(f"{name}.c3d")
    given = ("before.c3d", "after.c3d", "--same-markers")
    ended = run("compare", *given, "-o", "ab.html", "-o", "ab.csv")
    assert ended.code == 0, ended.err
    assert "changed  left knee flexion in the second: up to" in ended.out
    assert ended.out.endswith("written  ab.html, ab.csv\n") and len(ended.out.splitlines()) <= 5
    assert "exactik compare before.c3d" in Path("ab.html").read_text("utf-8")
    assert Path("ab.csv").read_text("utf-8").startswith("percent,before.c3d pelvis_tilt_r 1 [deg],")
    sides = json.loads(run("compare", "before.c3d", "--json").out)
    assert sides["curves"] == 8 and sides["written"] == []


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["a.c3d", "b.c3d", "c.c3d"], "two"),
        (["walk.c3d", "-o", "ab.pdf"], ".html"),
        (["none.c3d"], "none.c3d"),
        (["walk.c3d", "walk.c3d", "-o", "walk.csv/x.html"], "walk.csv"),
    ],
)
def test_compare_misuse(run: Run, clean: ik.Markers, arguments: list[str], word: str):
    Path("walk.csv").write_text("")
    ended = run("compare", *arguments)
    assert ended.code == 2 and word in ended.err and "Traceback" not in ended.err
