"""`exactik inspect`: the facts of files, the note, the table, JSON and exit codes."""

from __future__ import annotations

import json
import math
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from rich.cells import cell_len

from exactik import cli
from exactik.cli.inspect import (
    draw_tree,
    format_facts,
    format_headline,
    format_limits,
    format_seconds,
    format_table,
)
from exactik.cli.inspect._command import HEADINGS, Row
from exactik.errors import FileError, Note
from exactik.io import READABLE, DofFacts, Facts, Notes, inspect_file, save_markers, save_skeleton
from exactik.io.inspection import describe_skeleton
from exactik.io.tables import estimate_rate
from exactik.model import Bone, Coupling, Joint, Skeleton, human
from exactik.model.functions import Constant
from exactik.model.motion import Markers, Motion

SECRET = "[bold]"  # a name that must not be taken for markup


class Ended(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """Call the command line in this process, as the installed script does."""

    def call(*arguments: object) -> Ended:
        monkeypatch.setattr(sys, "argv", ["exactik", "inspect", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        assert ended.value.code is None or isinstance(ended.value.code, int)
        printed = capsys.readouterr()
        return Ended(ended.value.code or 0, printed.out, printed.err)

    return call


def strict_json(text: str) -> Any:
    """Parse JSON as others do, who know no NaN and no Infinity."""

    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is no JSON")

    return json.loads(text, parse_constant=refuse)


def recording() -> Markers:
    """A figure that stands and sways: gaps in one marker, one swap, one frozen, one never seen."""
    rng = np.random.default_rng(3)
    t = np.arange(200)[:, None, None] / 100.0
    rest = np.array([[0.1 * np.cos(k), 0.1 * np.sin(k), 0.2 * k] for k in range(8)])
    x = rest + np.array([0.3, 0.2, 0.0]) * np.sin(3.0 * t) + 1e-4 * rng.normal(size=(200, 8, 3))
    x[10:20, 0] = x[50:51, 0] = np.nan
    x[120:140, [1, 2]] = x[120:140, [2, 1]]
    x[60:100, 3] = x[60, 3]
    x[:, 4] = np.nan
    names = ("Ann:HEAD", "Ann:LEFT", "Ann:RIGHT", "Ann:FOOT", SECRET, "A", "B", "C")
    return Markers(x, names, 100.0, first_frame=5)


@pytest.fixture
def c3d(tmp_path: Path) -> Path:
    path = tmp_path / "walk.c3d"
    save_markers(recording(), path)
    return path


# --- facts


def test_facts_of_markers(c3d: Path):
    facts = inspect_file(c3d)
    assert (facts.kind, facts.format, facts.frames, facts.rate) == ("markers", "C3D", 200, 100.0)
    assert (facts.duration, facts.first_frame, facts.tallest_axis) == (2.0, 5, "z")
    assert facts.prefixes == {"Ann": 4}
    by_name = {marker.name: marker for marker in facts.markers}
    assert by_name["Ann:HEAD"].gaps == ((15, 24), (55, 55)) and by_name["Ann:HEAD"].missing == 11
    assert by_name["A"].gaps == () and by_name[SECRET].gaps == ((5, 204),)
    assert facts.missing == pytest.approx((11 + 200) / 1600)
    assert facts.complete == (56, 204)
    assert [(s.names, s.first, s.last) for s in facts.swaps] == [
        (("Ann:LEFT", "Ann:RIGHT"), 125, 144)
    ]
    assert [tuple(f) for f in facts.frozen] == [("Ann:FOOT", 65, 104)]
    text = " ".join(facts.oddities)
    assert "Ann:LEFT and Ann:RIGHT" in text and "swapped in frames 125 to 144" in text
    assert "Ann:FOOT is frozen in frames 65 to 104" in text
    assert "1 marker is never seen: [bold]." in text


def test_facts_are_strict_json(c3d: Path):
    plain = asdict(inspect_file(c3d))
    assert strict_json(json.dumps(plain, allow_nan=False))["frames"] == 200


def test_facts_of_a_skeleton_and_its_limits(tmp_path: Path):
    save_skeleton(human(), tmp_path / "human.npz")
    facts = inspect_file(tmp_path / "human.npz")
    assert facts.kind == "skeleton" and facts.frames is None and facts.skeleton is not None
    assert (len(facts.skeleton.bones), facts.skeleton.dofs) == (27, 58)
    assert facts.skeleton.limited == 52  # all but the root
    assert max(facts.skeleton.size) == pytest.approx(1.584, abs=1e-3)  # to the base of the head


def one_bone(limits: tuple[float, float]) -> Skeleton:
    arm = Bone("arm", parent="root", offset=(0, 0, 1), joint=Joint.revolute("x", limits))
    return Skeleton.build("arm", [Bone("root"), arm])


def test_a_motion_that_leaves_its_limits_or_turns_round_and_round(tmp_path: Path):
    skeleton = one_bone((-1.0, 1.0))
    q = np.linspace(0.0, 1.5, 50)[:, None]
    Motion(skeleton, q, 50.0).save(tmp_path / "out.npz")
    Motion(skeleton, q / 3.0 + 4.0 * np.pi, 50.0).save(tmp_path / "round.npz")
    assert inspect_file(tmp_path / "out.npz").oddities == (
        "1 dof leaves its limits at times, most of all arm.rx by 29°.",
    )
    assert inspect_file(tmp_path / "round.npz").oddities == (
        "1 dof counts whole turns: arm.rx gets to 749°.",
    )


def test_a_rest_pose_in_front_is_noticed(tmp_path: Path):
    q = np.full((50, 1), 0.5) + np.linspace(0.0, 0.1, 50)[:, None]
    q[0] = -0.8
    Motion(one_bone((-1.0, 1.0)), q, 50.0).save(tmp_path / "rest.npz")
    (text,) = inspect_file(tmp_path / "rest.npz").oddities
    assert text.startswith("The first frame is a pose of its own, 75° from the second")


ASF = """:version 1.10
:name VICON
:units
  mass 1.0
  length 0.45
  angle deg
:root
  order TX TY TZ RX RY RZ
  axis XYZ
  position 0 0 0
  orientation 0 0 0
:bonedata
  begin
    id 1
    name leg
    direction 0 -1 0
    length 18
    axis 0 0 0 XYZ
    dof rx
    limits (-20 90)
  end
:hierarchy
  begin
    root leg
  end
"""
AMC = ":FULLY-SPECIFIED\n:DEGREES\n" + "".join(
    f"{k}\nroot 0 0 {k} 0 0 0\nleg {k}\n" for k in range(1, 9)
)


def test_an_amc_file_finds_its_skeleton(tmp_path: Path):
    path = tmp_path / "07_walk.amc"
    path.write_text(AMC)
    alone = inspect_file(path)
    assert (alone.kind, alone.frames, alone.columns) == ("coordinates", 8, ("root", "leg"))
    assert "--skeleton" in alone.oddities[0]
    (tmp_path / "07.asf").write_text(ASF)
    facts = inspect_file(path)
    assert facts.kind == "motion" and Path(facts.skeleton_path).name == "07.asf"
    assert facts.skeleton is not None and facts.skeleton.limited == 1
    assert facts.assumed == ("AMC states no rate; 120 Hz assumed.",)
    (tmp_path / "08.asf").write_text("not the one")
    assert inspect_file(path).kind == "motion"
    (tmp_path / "walk.amc").write_text(AMC)
    assert inspect_file(tmp_path / "walk.amc").kind == "coordinates"  # two could be meant
    assert inspect_file(tmp_path / "walk.amc", skeleton=tmp_path / "07.asf").kind == "motion"
    path.write_text(AMC.replace("leg 3", "arm 3"))
    with pytest.raises(FileError, match=r"no bone named 'arm'.*\(with the skeleton 07.asf beside"):
        inspect_file(path)


BVH = """HIERARCHY
ROOT hips
{
  OFFSET 0 0 0
  CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation
  End Site
  {
    OFFSET 0 HEIGHT 0
  }
}
"""


@pytest.mark.parametrize(("height", "unit"), [("170", "cm"), ("1.7", "m"), ("9", "")])
def test_the_unit_of_a_bvh_file_is_guessed_or_unknown(tmp_path: Path, height: str, unit: str):
    path = tmp_path / "a.bvh"
    motion = "MOTION\nFrames: 2\nFrame Time: 0.01\n0 0 0 0 0 0\n0 0 0 0 0 0\n"
    path.write_text(BVH.replace("HEIGHT", height) + motion)
    facts = inspect_file(path)
    assert facts.length_unit == unit
    assert (len(facts.assumed), len(facts.oddities)) == ((0, 1) if unit == "" else (1, 0))
    assert inspect_file(path, length_unit="in").length_unit == "in"
    path.write_text(BVH.replace("HEIGHT", height))
    facts = inspect_file(path)
    assert (facts.kind, facts.length_unit) == ("skeleton", unit)


def test_what_is_warned_of_and_noted_is_told_once(tmp_path: Path):
    path = tmp_path / "a.trc"
    save_markers(recording().chosen(("A", "B", "C")), path)
    path.write_text(path.read_text().replace("\t200\t3\tmm", "\t999\t3\tmm", 1))
    facts = inspect_file(path)
    assert [t for t in facts.oddities if "999" in t] == [
        "The header states 999 frames, the file has 200."
    ]


@pytest.mark.parametrize(
    ("place", "text", "expected"),
    [
        (
            "byte 12",
            "the header has 3, which is used",
            "The header has 3, which is used (byte 12).",
        ),
        ("", "POINT:SCALE is 0", "POINT:SCALE is 0."),
        ("animations[0]", "keys are far apart", "Keys are far apart (animations[0])."),
        ("", "is it the metre?", "Is it the metre?"),
    ],
)
def test_notes_become_sentences(place: str, text: str, expected: str):
    note = Note("rate", "remark", place, text)
    assert note == (f"{place}: {text}" if place != "" else text)
    assert note.as_sentence() == expected
    assert (note.as_sentence().place, note.as_sentence().text) == (place, text)


@pytest.mark.parametrize("rate", [24.0, 30.0, 60.0, 120.0, 119.88])
def test_times_rounded_to_a_millisecond_give_the_rate(rate: float):
    """60 Hz are steps of 16 and 17 ms; neither of them is the rate."""
    times = (np.arange(400) / rate).round(3)
    assert estimate_rate(times, None, Notes("a.mot")) == pytest.approx(rate, rel=2e-3)
    times = np.arange(400) / rate + np.where(np.arange(400) < 200, 0.0, 10.0)
    assert estimate_rate(times, None, Notes("a.mot")) == pytest.approx(rate, rel=2e-3)  # a gap


# --- the screen


def lines_of(facts: Facts, width: int = 80, everything: bool = False) -> list[str]:
    return format_facts(facts, width, everything).plain.split("\n")


@pytest.mark.parametrize("width", [40, 60, 80, 100])
def test_the_note_fits_the_terminal(c3d: Path, width: int):
    lines = lines_of(inspect_file(c3d), width)
    assert max(map(cell_len, lines)) <= width
    assert len(lines) < 50


def test_the_note_shows_where_the_gaps_are(c3d: Path):
    (line,) = (text for text in lines_of(inspect_file(c3d)) if text.startswith("Ann:HEAD "))
    bar = line.split()[1]
    assert len(bar) == 50 and line.endswith("6 %  2 gaps")
    assert [k for k, c in enumerate(bar) if c != "·"] == [2, 3, 4, 12]  # 4 frames a column
    assert bar[3] == "█" and bar[12] == "▃"


def test_many_gappy_markers_are_abbreviated(tmp_path: Path):
    x = np.random.default_rng(0).normal(size=(100, 45, 3))
    for m in range(45):
        x[m + 1 : 2 * m + 2, m] = np.nan
    Markers(x, tuple(f"M{m}" for m in range(45)), 100.0).save(tmp_path / "a.npz")
    facts = inspect_file(tmp_path / "a.npz")
    short, full = lines_of(facts), lines_of(facts, everything=True)
    assert sum(" gap" in line and line.startswith("M") for line in short) == 24
    assert "… and 21 more with fewer gaps; --all shows them" in short
    assert sum(" gap" in line and line.startswith("M") for line in full) == 45


def test_markers_with_the_same_gaps_share_a_line(tmp_path: Path):
    x = np.random.default_rng(0).normal(size=(100, 5, 3))
    x[:50, :4] = np.nan
    Markers(x, tuple("ABCDE"), 100.0).save(tmp_path / "a.npz")
    lines = lines_of(inspect_file(tmp_path / "a.npz"))
    assert sum(line.startswith("A and 3 others ") for line in lines) == 1
    assert "Without gaps, 1: E." in lines


def test_the_tree_shows_limits_in_degrees_and_shortens_chains(tmp_path: Path):
    save_skeleton(human(), tmp_path / "human.npz")
    figure = inspect_file(tmp_path / "human.npz").skeleton
    assert figure is not None
    full = [line.plain for line in draw_tree(figure, 200, everything=True)]
    assert len(full) == 28 and sum("°" in line for line in full) > 15
    short = [line.plain for line in draw_tree(figure, 80)]
    assert len(short) < 20 and any(" › " in line for line in short)
    assert max(map(cell_len, short)) <= 80


def test_the_tree_tells_which_dofs_follow_others():
    bones = [
        Bone("a", joint=Joint.revolute("z")),
        Bone("b", parent="a", joint=Joint.euler("XY")),
        Bone("c", parent="b", joint=Joint.revolute("x")),
        Bone("d", parent="c", joint=Joint.euler("XYZ")),
    ]
    couplings = [
        Coupling("b.rx", "a.rz"),
        Coupling("b.ry", "a.rz"),
        Coupling("c.rx", None, Constant(0.1)),
        Coupling("d.ry", "a.rz"),
    ]
    facts = describe_skeleton(Skeleton("s", bones, couplings=couplings))
    lines = [str(line).split("  ")[-1] for line in draw_tree(facts, 80)[1:]]
    assert lines == ["rz", "rx ry follow a.rz", "rx held", "rx, rz, ry follows a.rz"]


def test_limits_in_words():
    dofs = [
        DofFacts("rx", "rad", -math.pi / 2, math.pi / 2),
        DofFacts("ry", "rad", math.radians(-20), math.radians(45)),
        DofFacts("tz", "m", 0.0, 0.04),
        DofFacts("rz", "rad", None, None),
        DofFacts("rz2", "rad", None, 1.0),
    ]
    assert format_limits(dofs) == "rx ±90°, ry −20…45°, tz 0…0.04 m, rz, rz2 ≤ 57°"
    free = [DofFacts(name, "rad", None, None) for name in ("wx", "wy", "wz")]
    assert format_limits(free) == "turns freely"


def test_durations_in_words():
    assert [format_seconds(t) for t in (0.02, 2.858, 59.0, 125.4)] == [
        "20 ms",
        "2.86 s",
        "59 s",
        "2 min 5 s",
    ]


# --- the command


def test_one_note_after_another(run, c3d: Path, tmp_path: Path):
    save_skeleton(human(), tmp_path / "human.npz")
    ended = run(c3d, tmp_path / "human.npz")
    assert (ended.code, ended.err) == (0, "")
    assert "walk.c3d: C3D recording" in ended.out and "human.npz: exactik NPZ skeleton" in ended.out
    assert "\x1b" not in ended.out  # no colours in a pipe
    assert SECRET in ended.out
    assert max(map(len, ended.out.splitlines())) <= 80


def test_an_unreadable_file_is_one_line_and_ends_with_two(run, tmp_path: Path):
    broken = tmp_path / "broken.c3d"
    broken.write_bytes(b"\0" * 40)
    ended = run(broken)
    assert ended.code == 2 and ended.out == ""
    assert len(ended.err.splitlines()) == 1 and "broken.c3d" in ended.err
    for name in ("absent.bvh", "notes.docx"):
        ended = run(tmp_path / name)
        assert ended.code == 2 and name in ended.err and "Traceback" not in ended.err


def test_the_others_are_told_where_one_cannot_be_read(run, c3d: Path, tmp_path: Path):
    broken = tmp_path / "broken.bvh"
    broken.write_text("nothing")
    ended = run(broken, c3d)
    assert ended.code == 2
    assert "walk.c3d: C3D recording" in ended.out and "broken.bvh" in ended.err
    ended = run("--table", tmp_path)
    assert ended.code == 2
    head, first, second = ended.out.splitlines()
    assert head.split() == list(HEADINGS)
    assert first.startswith("broken.bvh  cannot be read: ")
    assert second.split()[:4] == ["walk.c3d", "C3D", "markers", "exactik"]
    answer = strict_json(run("--json", broken, c3d).out)
    assert set(answer[0]) == {"path", "error"} and answer[1]["kind"] == "markers"
    assert answer[1]["swaps"] == [
        {"names": ["Ann:LEFT", "Ann:RIGHT"], "first": 125, "last": 144,
         "distance": pytest.approx(0.24, abs=0.02)}
    ]  # fmt: skip


def test_an_empty_folder_is_misuse(run, tmp_path: Path):
    ended = run(tmp_path)
    assert ended.code == 2 and "no file to read" in ended.err and ended.out == ""


def test_a_table_fits_a_narrow_terminal(c3d: Path):
    rows = [Row("some/long/folder/" * 4 + "walk.c3d", inspect_file(c3d))]
    for width in (80, 100, 120):
        head, line = format_table(rows, width)
        assert max(len(head), len(line)) <= width
        assert "walk.c3d" in line and "200" in line


# --- real files


@pytest.fixture(scope="module")
def real(shared_data: Path) -> dict[str, Facts | str]:
    """Facts of all real files, or why there are none."""
    found: dict[str, Facts | str] = {}
    folder = shared_data / "data"
    for path in sorted(folder.rglob("*")):
        if path.suffix.lower() in READABLE:
            try:
                found[path.relative_to(folder).as_posix()] = inspect_file(path)
            except FileError as error:
                found[path.relative_to(folder).as_posix()] = str(error)
    return found


ROWS = {
    "asf_amc/cmu02/02_01.amc": (
        "AMC motion Vicon 343 120 Hz 2.86 s 38 bones, 62 dofs 1/0.45 in 0.0 % 1"
    ),
    "asf_amc/cmu02/02_01.c3d": ("C3D markers – 343 120 Hz 2.86 s 41 markers mm 0.0 % 0"),
    "bvh/cmu_cgspeed/02_01.bvh": (
        "BVH motion – 344 120 Hz 2.87 s 38 bones, 96 dofs 1/0.45 in 0.0 % 1"
    ),
    "c3d/qualisys/Qualisys.c3d": (
        "C3D markers Qualisys Track Manager 340 200 Hz 1.7 s 55 markers mm 0.0 % 1"
    ),
    "c3d/vicon/walking5.c3d": (
        "C3D markers Vicon Nexus 1.8.2.49787h 1103 250 Hz 4.41 s 34 markers, 6 computed points mm "
        "45.5 % 0"
    ),
    "c3d/optitrack/walkingOptiTrack.c3d": ("C3D markers – 3361 160 Hz 21 s 12 markers mm 7.4 % 2"),
    "gltf/khronos/CesiumMan.glb": (
        "GLB motion COLLADA2GLTF 48 24 Hz 2 s 19 bones, 75 dofs m 0.0 % 0"
    ),
    "robots/urdf/panda.urdf": ("URDF skeleton – – – – 13 bones, 8 dofs m – 0"),
    "trc/opensim/std_walking5_markers.trc": (
        "TRC markers – 112 25 Hz 4.48 s 34 markers, 6 computed points mm 46.4 % 2"
    ),
    "malformed/real/Empty.c3d": (
        "cannot be read: byte 0: the file ends here; expected a header of 512 bytes"
    ),
}


@pytest.mark.full
def test_the_table_of_all_real_files(run, shared_data: Path, real: dict[str, Facts | str]):
    ended = run("--table", shared_data / "data")
    assert ended.code == 2  # some are damaged
    lines = ended.out.splitlines()
    assert lines[0].split() == list(HEADINGS) and len(lines) == len(real) + 1
    for line, (name, facts) in zip(lines[1:], real.items(), strict=True):
        assert line.startswith(f"{name} ")
        assert ("cannot be read: " in line) is isinstance(facts, str)
    shown = {
        name: " ".join(line[len(name) :].split())
        for name, line in zip(real, lines[1:], strict=True)
    }
    assert {name: shown[name] for name in ROWS} == ROWS
    assert ".srdf" in ended.err  # what has no reader is counted


def test_facts_of_all_real_files_are_sound(real: dict[str, Facts | str]):
    for name, facts in real.items():
        if isinstance(facts, str):
            assert name.startswith(("malformed/", "opensim/")), facts  # damaged, or no robot
            assert "\n" not in facts
            continue
        json.dumps(asdict(facts), allow_nan=False)
        assert 0.0 <= facts.missing <= 1.0, name
        if facts.rate is not None and facts.frames is not None and facts.duration is not None:
            assert facts.duration == pytest.approx(facts.frames / facts.rate), name
        assert all(text[-1] in ".?…" for text in facts.oddities), name
        assert len(set(facts.oddities)) == len(facts.oddities), name
        assert sum(m.missing for m in facts.markers) == sum(
            last - first + 1 for m in facts.markers for first, last in m.gaps
        ), name
        lines = format_facts(facts, 80).plain.split("\n")
        assert max(map(cell_len, lines)) <= 80, name
        assert len(lines) <= 55, name
        assert format_headline(facts).endswith("."), name


def test_real_oddities(real: dict[str, Facts | str]):
    def told(name: str) -> str:
        facts = real[name]
        assert isinstance(facts, Facts)
        return " ".join(facts.oddities)

    assert "swapped in frame 1952 alone" in told("c3d/optitrack/walkingOptiTrack.c3d")
    assert "The header has z up, but the markers spread most along x" in told(
        "c3d/phoenix/Dance.c3d"
    )
    assert "29 of 1149 frames" in told("c3d/optotrak/Optotrak.c3d")
    assert "perhaps a rest pose put in front" in told("bvh/cmu_cgspeed/02_01.bvh")
    assert "6 dofs count whole turns" in told("asf_amc/hdm05_mm/HDM_mm_lieDownFloor_017_120.amc")
    assert "the times of the frames give 25 Hz" in told("trc/opensim/std_walking5_markers.trc")
