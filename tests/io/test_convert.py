"""`exactik convert`: every pair that makes sense, what it keeps, and what it says it loses."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from exactik import cli
from exactik.errors import ExactikError, FileError, FileWarning, UnknownNameError
from exactik.io import (
    Conversion,
    convert,
    find_up_axis,
    load_markers,
    load_motion,
    load_skeleton,
    save_markers,
    save_motion,
    save_skeleton,
    target_suffixes,
)
from exactik.model import Bone, Joint, Skeleton, human
from exactik.model.motion import Markers, Motion, Series
from tests.support.models import configuration
from tests.support.selection import first_quick

LIMITED = Joint.euler("ZXY", [(-1, 1), (-1, 1), (-1, 1)])


def figure() -> Skeleton:
    """Of human height, no quaternions, limits, markers, a name with a blank and a colon."""
    bones = [
        Bone("hips", joint=Joint.free("ZYX")),
        Bone("thigh: left", parent="hips", offset=(0.1, 0, 0), joint=LIMITED),
        Bone("shin", parent="thigh: left", offset=(0, -0.8, 0), joint=Joint.revolute("x", (0, 2))),
        Bone("shin_end", parent="shin", offset=(0, -0.9, 0)),
    ]
    markers = {"KNEE": ("shin", (0.05, 0, 0)), "FOOT": ("shin", (0, -0.9, 0.1))}
    return Skeleton.build("leg", bones, markers)


def motion(frames: int = 8, gaps: tuple[int, ...] = (), **more: Any) -> Motion:
    skeleton = figure()
    q = np.array([skeleton.clip(configuration(skeleton, k)) for k in range(frames)])
    q[list(gaps)] = np.nan
    return Motion(skeleton, q, more.pop("rate", 50.0), **more)


def markers(**more: Any) -> Markers:
    rng = np.random.default_rng(0)
    positions = rng.normal(size=(9, 3, 3))
    positions[4, 1] = positions[5, 0] = np.nan
    return Markers(positions, ("Anna: Knee", "踵", "C7"), more.pop("rate", 100.0), **more)


def written(thing: Motion, folder: Path, suffix: str) -> tuple[Path, dict[str, Any]]:
    """A file with this motion, and what it takes to read it."""
    path = folder / f"in{suffix}"
    if suffix == ".amc":
        save_skeleton(thing.skeleton, folder / "in.asf")
    save_motion(thing, path)
    if suffix == ".mot":
        save_skeleton(thing.skeleton, folder / "skeleton.npz")
        return path, {"skeleton": folder / "skeleton.npz"}
    return path, {"input_unit": "cm"} if suffix == ".bvh" else {}


def read(path: Path, skeleton: Skeleton | None = None) -> Motion:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FileWarning)
        if path.suffix == ".amc":
            skeleton = load_skeleton(path.with_suffix(".asf"))
        return load_motion(path, skeleton, length_unit="cm" if path.suffix == ".bvh" else None)


def furthest(one: Motion, other: Motion) -> float:
    """The largest distance between bones of the same name [m]; gaps must be the same."""
    bones = [other.skeleton.bone_index(name) for name in one.skeleton.bone_names]
    a, b = one.forward().positions, other.forward().positions[:, bones]
    np.testing.assert_array_equal(np.isnan(a), np.isnan(b))
    return float(np.nanmax(np.abs(a - b)))


def lost(done: Conversion, start: str) -> str:
    """The one loss that begins so."""
    (found,) = [text for text in done.lost if text.startswith(start)]
    return found


# --- pairs

MOTIONS = (".amc", ".bvh", ".glb", ".npz", ".mot")
SKELETONS = (".asf", ".bvh", ".glb", ".npz")


@pytest.mark.parametrize("target", MOTIONS)
@pytest.mark.parametrize("source", MOTIONS)
def test_motions_become_motions(tmp_path: Path, source: str, target: str):
    path, options = written(motion(), tmp_path, source)
    goal = tmp_path / f"out{target}"
    if (source, target) == (".glb", ".mot"):
        with pytest.raises(FileError, match="bone 'hips' turns by a quaternion"):
            convert(path, goal, **options)
        return
    done = convert(path, goal, **options)
    assert done.kind == "motion" and done.targets[0] == str(goal)
    twin = read(path, figure() if source == ".mot" else None)
    new = read(goal, twin.skeleton if target == ".mot" else None)
    assert furthest(motion(), new) < 1e-6
    assert new.rate == 50.0
    if source == target and source in (".npz", ".bvh"):
        np.testing.assert_allclose(new.q, twin.q, atol=1e-12)


@pytest.mark.parametrize("target", [".amc", ".glb", ".npz", ".mot", ".bvh"])
@pytest.mark.parametrize("source", [".amc", ".glb", ".npz", ".mot"])
def test_gaps_stay_gaps(tmp_path: Path, source: str, target: str):
    whole = motion(gaps=(2, 3, 6))
    path, options = written(whole, tmp_path, source)
    goal = tmp_path / f"out{target}"
    if target == ".bvh":
        with pytest.raises(FileError, match="frame 3 is missing, and BVH needs them all"):
            convert(path, goal, **options)
        assert not goal.exists()
        part = convert(path, goal, start=0.08, end=0.1, **options)
        assert "2 frames" in part.written
        return
    if (source, target) == (".glb", ".mot"):
        return
    done = convert(path, goal, **options)
    assert "3 frames missing" in done.read and "3 frames missing" in done.written
    assert furthest(whole, read(goal, figure() if target == ".mot" else None)) < 1e-6


@pytest.mark.parametrize("target", [*SKELETONS, ".urdf"])
@pytest.mark.parametrize("source", [*SKELETONS, ".urdf", ".xml"])
def test_skeletons_become_skeletons(tmp_path: Path, source: str, target: str):
    path = tmp_path / f"in{source}"
    robots = {
        ".urdf": '<robot name="r"><link name="a"/><link name="b"/><joint name="j" type="revolute">'
        '<parent link="a"/><child link="b"/><origin xyz="0 0 1.5"/><axis xyz="0 1 0"/>'
        '<limit lower="-1" upper="1" effort="1" velocity="1"/></joint></robot>',
        ".xml": '<mujoco><worldbody><body name="a"><joint axis="0 1 0"/>'
        '<body name="b" pos="0 0 1.5"/></body></worldbody></mujoco>',
    }
    if source in robots:
        path.write_text(robots[source], encoding="utf-8")
    else:
        save_skeleton(figure(), path)
    if source == ".bvh":  # our own writer adds a frame, others need not
        text = path.read_text(encoding="utf-8")
        path.write_text(text[: text.index("MOTION")], encoding="utf-8")
    done = convert(path, tmp_path / f"out{target}")
    assert done.kind == "skeleton" and done.read.startswith("skeleton, ")
    old = load_skeleton(path, "cm" if source == ".bvh" else None)
    new = load_skeleton(tmp_path / f"out{target}", "cm" if target == ".bvh" else None)
    at = [new.bone_index(name) for name in old.bone_names]
    places = new.forward(new.neutral()).positions[at]
    np.testing.assert_allclose(places, old.forward(old.neutral()).positions, atol=1e-6)


@pytest.mark.parametrize("target", [".c3d", ".trc", ".npz", ".csv"])
@pytest.mark.parametrize("source", [".c3d", ".trc", ".npz", ".tsv"])
def test_markers_become_markers(tmp_path: Path, source: str, target: str):
    path, goal = tmp_path / f"in{source}", tmp_path / f"out{target}"
    if source == ".tsv":
        rows = np.nan_to_num(1000.0 * markers().positions).reshape(9, 9).tolist()
        head = ["NO_OF_FRAMES\t9", "NO_OF_MARKERS\t3", "FREQUENCY\t100"]
        head.append("\t".join(("MARKER_NAMES", *markers().names)))
        lines = [*head, *("\t".join(map(repr, row)) for row in rows)]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    else:
        save_markers(markers(), path)
    done = convert(path, goal)
    assert done.kind == "markers"
    assert "9 frames at 100 Hz (0.08 s), 3 markers, 7.4 % missing" in done.read
    if target == ".csv":
        assert lost(done, "the way back") == (
            "the way back: CSV is for other programs, exactik does not read it"
        )
        return
    new = load_markers(goal)
    assert new.names == markers().names
    np.testing.assert_array_equal(new.missing, markers().missing)
    np.testing.assert_allclose(new.positions, markers().positions, atol=1e-6)


@pytest.mark.parametrize("target", [".c3d", ".trc"])
def test_motions_become_the_paths_of_their_markers(tmp_path: Path, target: str):
    whole = motion(gaps=(3,), up_axis="y", first_frame=7)
    save_motion(whole, tmp_path / "in.npz")
    done = convert(tmp_path / "in.npz", tmp_path / f"out{target}")
    new = load_markers(tmp_path / f"out{target}")
    assert (new.names, new.rate, new.first_frame) == (("KNEE", "FOOT"), 50.0, 7)
    np.testing.assert_allclose(new.positions, whole.forward().markers, atol=1e-6)
    assert done.kind == "markers"
    assert lost(done, "the skeleton and") == (
        f"the skeleton and its coordinates: {target} holds the paths of its 2 markers alone"
    )
    bare = replace(whole, skeleton=whole.skeleton.with_markers({}))
    save_motion(bare, tmp_path / "bare.npz")
    with pytest.raises(FileError, match=r"skeleton 'leg' has no markers, and \.\w+ holds nothing"):
        convert(tmp_path / "bare.npz", tmp_path / f"out{target}")
    # With the markers of another file of the same skeleton.
    save_skeleton(whole.skeleton, tmp_path / "marked.npz")
    marked = tmp_path / "marked.npz"
    done = convert(tmp_path / "bare.npz", tmp_path / f"out{target}", skeleton=marked)
    assert "2 markers" in done.written


def test_a_motion_becomes_its_skeleton_as_asf(tmp_path: Path):
    path, options = written(motion(), tmp_path, ".bvh")
    done = convert(path, tmp_path / "out.asf", **options)
    assert done.kind == "skeleton"
    assert lost(done, "the motion").startswith("the motion, 8 frames: .asf holds a skeleton alone")
    assert set(figure().bone_names) <= set(load_skeleton(tmp_path / "out.asf").bone_names)


def test_real_files_of_every_kind(shared_data: Path, tmp_path: Path):
    data = shared_data / "data"
    done = convert(data / "asf_amc/cmu02/02_01.amc", tmp_path / "a.bvh", end=1.0)
    assert "the skeleton is that of 02.asf, beside it" in done.notes
    assert "AMC states no rate; 120 Hz assumed" in done.notes
    assert lost(done, "limits") == "limits of 56 dofs, all that had some"
    assert not any(text.startswith("digits") for text in done.lost)
    trial = data / "c3d/vicon_pig/PiG_Motion3_FF.c3d"
    done = convert(trial, tmp_path / "a.trc")
    assert lost(done, "34 analog") == "34 analog channels at 1000 Hz: TRC is written without"
    assert lost(done, "36 other").startswith("36 other series (12 angle, 6 power, 10 force,")
    assert lost(done, "12 events") == "12 events: TRC is written without"
    done = convert(data / "gltf/khronos/CesiumMan.glb", tmp_path / "b.bvh")
    assert lost(done, "the kind").startswith("the kind of joint of 19 bones: quaternion → euler")
    done = convert(data / "gltf/momentum/blender_simple_armature.glb", tmp_path / "c.bvh")
    assert done.kind == "skeleton"
    done = convert(data / "robots/urdf/panda.urdf", tmp_path / "p.glb")
    assert load_motion_up(tmp_path / "p.glb") == "z"


def load_motion_up(path: Path) -> str | None:
    return find_up_axis(str(path))


# --- what is lost


def test_npz_loses_nothing(tmp_path: Path):
    save_motion(motion(gaps=(0, 7), up_axis="z", first_frame=9), tmp_path / "in.npz")
    assert convert(tmp_path / "in.npz", tmp_path / "out.npz").lost == ()
    others = {"Knee": Series("angle", np.ones((9, 3)), "deg")}
    save_markers(markers(others=others, up_axis="z"), tmp_path / "in.npz")
    assert convert(tmp_path / "in.npz", tmp_path / "out.npz").lost == ()
    save_skeleton(human(), tmp_path / "in.npz")
    assert convert(tmp_path / "in.npz", tmp_path / "out.npz").lost == ()


def test_what_a_motion_loses_is_what_it_had(tmp_path: Path):
    save_motion(motion(up_axis="z", first_frame=5), tmp_path / "in.npz")
    done = convert(tmp_path / "in.npz", tmp_path / "a.bvh", output_unit="in")
    assert done.lost == (
        "the length unit, in: BVH does not state it",
        "which axis is up, z: BVH does not say",
        "the kind of joint of 1 bone: revolute x → euler XZY (1)",
        "limits of 4 dofs, all that had some",
        "2 markers of the skeleton: 'KNEE', 'FOOT'",
        "the number of the first frame, 5: now 1",
    )
    done = convert(tmp_path / "in.npz", tmp_path / "a.amc")
    assert done.lost == (
        "the rate for other programs, 50 Hz: AMC states none, and ours is in a comment",
        "which axis is up, z: AMC does not say, and y is the custom",
        "the number of bones: ASF needs 1 bone more, 'thigh: left_base'",
        "2 markers of the skeleton: 'KNEE', 'FOOT'",
    )
    done = convert(tmp_path / "in.npz", tmp_path / "a.mot")
    assert done.lost == (
        "the skeleton: MOT has coordinates alone, keep the file of the skeleton",
        "which axis is up, z: MOT does not say",
        "the number of the first frame, 5: now 1",
    )
    done = convert(tmp_path / "in.npz", tmp_path / "a.glb")
    kinds, limits, digits = done.lost
    assert kinds.startswith("the kind of joint of 4 bones: ") and "euler ZXY → quaternion" in kinds
    assert limits == "limits of 4 dofs, all that had some"
    assert digits.startswith("digits: bones are up to ") and digits.endswith(" m from their places")
    # The same without limits, markers and so on has less to lose.
    bones = [Bone("a", joint=Joint.free("ZYX")), Bone("a_end", parent="a", offset=(0, 1.7, 0))]
    bare = Motion(Skeleton.build("bare", bones), np.zeros((3, 6)), 30.0)
    save_motion(bare, tmp_path / "bare.npz")
    done = convert(tmp_path / "bare.npz", tmp_path / "b.bvh")
    assert done.lost == ("the length unit, cm: BVH does not state it",)


def test_frames_that_are_missing_at_the_ends(tmp_path: Path):
    """AMC shows gaps by the numbers of the frames around them."""
    save_motion(motion(gaps=(0, 1, 4, 7)), tmp_path / "in.npz")
    done = convert(tmp_path / "in.npz", tmp_path / "out.amc")
    assert lost(done, "3 missing") == (
        "3 missing frames at the ends: AMC only shows those between others"
    )
    assert not any(text.startswith("digits") for text in done.lost)
    save_motion(motion(gaps=tuple(range(8))), tmp_path / "in.npz")
    done = convert(tmp_path / "in.npz", tmp_path / "out.glb")
    assert lost(done, "all of it").startswith("all of it, for exactik itself cannot read it back")


def test_what_markers_lose(tmp_path: Path):
    others = {
        "A": Series("angle", np.ones((9, 3)), "deg"),
        "F": Series("force", np.ones((9, 3)), "N"),
    }
    whole = markers(others=others, up_axis="z", first_frame=5)
    whole = whole.renamed({"C7": "C\t7"})
    positions = whole.positions.copy()
    positions[0, 0] = 0.0
    save_markers(replace(whole, positions=positions), tmp_path / "in.npz")
    done = convert(tmp_path / "in.npz", tmp_path / "a.trc")
    assert lost(done, "2 other") == "2 other series (1 angle, 1 force): TRC has no place for them"
    assert lost(done, "which axis") == "which axis is up, z: TRC does not say"
    assert lost(done, "names") == r"names of 1 marker: 'C\t7', now 'C 7'"
    assert lost(done, "1 times") == (
        "1 times a marker is exactly at (0, 0, 0), which readers take for missing"
    )
    assert "other series" in done.read and "other series" not in done.written
    done = convert(tmp_path / "in.npz", tmp_path / "a.c3d")
    assert [text.partition(":")[0] for text in done.lost] == [
        "1 times a marker is exactly at (0, 0, 0), which readers take for missing",
        "digits",
    ]
    done = convert(tmp_path / "in.npz", tmp_path / "a.csv")
    assert lost(done, "2 other") == "2 other series (1 angle, 1 force): CSV has the markers alone"


# --- times, axes, units


@pytest.mark.parametrize("suffix", [".npz", ".bvh", ".glb"])
def test_a_part_at_another_rate(tmp_path: Path, suffix: str):
    path, options = written(motion(), tmp_path, suffix)
    done = convert(path, tmp_path / "out.npz", start=0.04, end=0.12, output_rate=25.0, **options)
    new = read(tmp_path / "out.npz")
    assert (len(new), new.rate, new.first_frame) == (3, 25.0, 3)
    assert "8 frames at 50 Hz" in done.read and "3 frames at 25 Hz (0.08 s)" in done.written
    every = replace(motion(), q=motion().q[2:7:2])
    assert furthest(every, new) < 1e-6
    save_markers(markers(), tmp_path / "m.npz")
    convert(tmp_path / "m.npz", tmp_path / "m.trc", start=0.02, end=0.06, output_rate=50.0)
    np.testing.assert_allclose(
        load_markers(tmp_path / "m.trc").positions, markers().positions[2:7:2], atol=1e-8
    )


def test_the_rate_of_a_file_that_states_none(tmp_path: Path):
    path, _ = written(motion(), tmp_path, ".amc")
    text = path.read_text(encoding="utf-8")
    path.write_text(text.partition("\n")[2], encoding="utf-8")  # without our comment
    done = convert(path, tmp_path / "a.npz")
    assert "AMC states no rate; 120 Hz assumed" in done.notes and "120 Hz" in done.read
    done = convert(path, tmp_path / "a.npz", input_rate=60.0, output_rate=30.0)
    assert "8 frames at 60 Hz" in done.read and "4 frames at 30 Hz" in done.written
    assert not any("assumed" in note for note in done.notes)


@pytest.mark.parametrize("target", [".npz", ".bvh", ".amc", ".glb"])
@pytest.mark.parametrize(("was", "up"), ["yz", "zy", "xy", "yx", "xz", "zx", "yy"])
def test_up_turns_everything(tmp_path: Path, was: str, up: str, target: str):
    whole = motion(up_axis=was)
    save_motion(whole, tmp_path / "in.npz")
    done = convert(tmp_path / "in.npz", tmp_path / f"out{target}", output_up=up)
    new = read(tmp_path / f"out{target}")
    a, b = "xyz".index(was), "xyz".index(up)
    bones = [new.skeleton.bone_index(name) for name in whole.skeleton.bone_names]
    old, places = whole.forward().positions, new.forward().positions[:, bones]
    np.testing.assert_allclose(places[..., b], old[..., a], atol=1e-6)
    if was == up:
        assert not any(note.startswith("turned") for note in done.notes)
    else:
        np.testing.assert_allclose(places, np.roll(old, b - a, axis=-1), atol=1e-6)
        assert f"turned from {was} up to {up} up (axes " in done.notes[-1]
    assert new.up_axis == {".npz": up, ".glb": up, ".amc": "y"}.get(target)


def test_up_of_files_that_do_not_say(tmp_path: Path):
    path, options = written(motion(), tmp_path, ".bvh")
    done = convert(path, tmp_path / "a.npz", output_up="z", **options)
    assert "y is taken for up, as in most such files; input_up says otherwise" in done.notes
    done = convert(path, tmp_path / "a.npz", output_up="z", input_up="z", **options)
    assert not any("turned" in note or "taken" in note for note in done.notes)
    assert furthest(motion(), read(tmp_path / "a.npz")) < 1e-9
    save_markers(markers(), tmp_path / "m.trc")
    with pytest.raises(FileError, match=r"m\.trc: which axis is up is not known; give input_up"):
        convert(tmp_path / "m.trc", tmp_path / "m.c3d", output_up="z")
    others = {"A": Series("force", np.ones((9, 3)), "N")}
    save_markers(markers(others=others), tmp_path / "m.c3d")
    done = convert(tmp_path / "m.c3d", tmp_path / "n.c3d", output_up="y")
    assert done.notes[-1] == "1 other series are not turned"
    new, old = load_markers(tmp_path / "n.c3d"), markers()
    assert new.up_axis == "y"
    np.testing.assert_allclose(new.positions[..., 1], old.positions[..., 2], atol=1e-6)


def test_skeletons_are_turned_as_well(tmp_path: Path):
    save_skeleton(figure(), tmp_path / "in.asf")
    convert(tmp_path / "in.asf", tmp_path / "out.bvh", output_up="z")
    new = load_skeleton(tmp_path / "out.bvh", "cm")
    places = new.forward(new.neutral()).positions
    assert np.ptp(places[:, 2]) == pytest.approx(1.7) and np.ptp(places[:, 0]) < 1e-12


def test_length_units(tmp_path: Path):
    save_motion(motion(), tmp_path / "in.npz")
    convert(tmp_path / "in.npz", tmp_path / "a.bvh", output_unit="mm")
    text = (tmp_path / "a.bvh").read_text(encoding="utf-8")
    assert "OFFSET 0 -800 0" in text
    # BVH to BVH keeps the unit; others are in centimetres.
    convert(tmp_path / "a.bvh", tmp_path / "b.bvh", input_unit="mm")
    assert "OFFSET 0 -800 0" in (tmp_path / "b.bvh").read_text(encoding="utf-8")
    done = convert(tmp_path / "a.bvh", tmp_path / "b.npz")
    assert any("mm is taken, in which the figure is 1.70 m tall" in note for note in done.notes)
    convert(tmp_path / "in.npz", tmp_path / "a.amc", output_unit=0.1)
    assert "length 0.254" in (tmp_path / "a.asf").read_text(encoding="utf-8")
    assert furthest(motion(), read(tmp_path / "a.amc")) < 1e-9
    convert(tmp_path / "a.amc", tmp_path / "c.amc")
    assert "length 0.254" in (tmp_path / "c.asf").read_text(encoding="utf-8")
    save_markers(markers(), tmp_path / "m.npz")
    convert(tmp_path / "m.npz", tmp_path / "m.trc", output_unit="m")
    assert load_markers(tmp_path / "m.trc").units_in_file == "m"
    for suffix in (".glb", ".npz", ".mot", ".csv"):
        convert(tmp_path / "in.npz", tmp_path / f"z{suffix}", output_unit="m")
        with pytest.raises(FileError, match=rf"\{suffix} is in metres; output_unit cannot change"):
            convert(tmp_path / "in.npz", tmp_path / f"z{suffix}", output_unit="cm")
    with pytest.raises(UnknownNameError, match="no length unit named 'ell'"):
        convert(tmp_path / "in.npz", tmp_path / "z.bvh", output_unit="ell")


# --- misuse


def test_what_is_read_is_never_written(tmp_path: Path):
    path, _ = written(motion(), tmp_path, ".amc")
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    os.link(path, tmp_path / "link.amc")
    with pytest.raises(FileError, match=r"in\.amc: is read; expected another name to write to$"):
        convert(path, path)
    with pytest.raises(FileError, match=r"link\.amc: is read"):
        convert(path, tmp_path / "link.amc", skeleton=tmp_path / "in.asf")
    os.rename(path, tmp_path / "take.amc")
    with pytest.raises(FileError, match=r"in\.asf: is read; .* with an \.asf beside it"):
        convert(tmp_path / "take.amc", tmp_path / "in.amc")
    assert (tmp_path / "in.asf").read_bytes() == before["in.asf"]


def test_an_asf_of_others_is_not_replaced(tmp_path: Path):
    save_motion(motion(), tmp_path / "in.npz")
    (tmp_path / "out.asf").write_text(":version 1.10\n", encoding="utf-8")
    with pytest.raises(FileError, match=r"out\.asf: would be replaced .* exactik did not write it"):
        convert(tmp_path / "in.npz", tmp_path / "out.amc")
    assert not (tmp_path / "out.amc").exists()
    for _ in range(2):  # one of ours may be
        convert(tmp_path / "in.npz", tmp_path / "other.amc")


FAULTS: dict[str, tuple[str, str, dict[str, Any], str]] = {
    "no file": ("none.bvh", "a.npz", {}, r"none\.bvh: cannot be read: No such file"),
    "no amc": ("none.amc", "a.npz", {}, r"none\.amc: cannot be read: No such file"),
    "source": ("in.doc", "a.npz", {}, r"in\.doc: no reader for \.doc; expected one of \.amc"),
    "target": ("in.npz", "a.doc", {}, r"a\.doc: nothing can be written as \.doc; expected one of"),
    "no suffix": ("in.npz", "a", {}, r"a: nothing can be written as a name without suffix"),
    "markers": ("m.npz", "a.bvh", {}, r"m\.npz holds markers and \.bvh a motion and a skeleton; "),
    "skeleton": ("s.npz", "a.mot", {}, r"s\.npz holds a skeleton and \.mot a motion; expected"),
    "time": ("s.npz", "a.npz", {"start": 1.0}, "holds a skeleton; start, end and rate are for"),
    "late": ("in.npz", "a.npz", {"start": 9.0}, r"no frame between 9 and 0\.14 s; .* 0\.14 s"),
    "swapped": ("in.npz", "a.npz", {"start": 0.1, "end": 0.0}, "no frame between 0.1 and 0 s"),
    "mot": ("in.mot", "a.npz", {}, r"in\.mot: holds no skeleton; give skeleton"),
    "folder": ("in.npz", "none/a.npz", {}, r"a\.npz: cannot be written: No such file"),
    "unit": ("tiny.bvh", "a.npz", {}, r"measures \S+ units, .*; give input_unit"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_misuse_is_one_sentence(tmp_path: Path, fault: str):
    source, target, options, words = FAULTS[fault]
    save_motion(motion(), tmp_path / "in.npz")
    save_motion(motion(), tmp_path / "in.mot")
    save_markers(markers(), tmp_path / "m.npz")
    save_skeleton(figure(), tmp_path / "s.npz")
    save_skeleton(figure(), tmp_path / "tiny.bvh", length_unit=0.3)
    before = sorted(p.name for p in tmp_path.iterdir())
    with pytest.raises(FileError, match=words) as caught:
        convert(tmp_path / source, tmp_path / target, **options)
    assert "\n" not in str(caught.value)
    assert sorted(p.name for p in tmp_path.iterdir()) == before


def test_axes_and_rates_are_checked(tmp_path: Path):
    save_motion(motion(), tmp_path / "in.npz")
    cases: list[tuple[dict[str, Any], str]] = [
        ({"output_up": "w"}, "up_axis is 'w'"),
        ({"input_up": "up"}, "up_axis is 'up'"),
        ({"output_rate": 0.0}, r"rate is 0\.0"),
    ]
    for options, words in cases:
        with pytest.raises(ExactikError, match=words):
            convert(tmp_path / "in.npz", tmp_path / "a.npz", **options)


def test_an_amc_needs_one_asf(tmp_path: Path):
    path, _ = written(motion(), tmp_path, ".amc")
    os.rename(path, tmp_path / "take.amc")
    assert convert(tmp_path / "take.amc", tmp_path / "a.npz").notes[0].endswith("in.asf, beside it")
    save_skeleton(figure(), tmp_path / "other.ASF")
    with pytest.raises(FileError, match=r"give skeleton, or one \.asf .* \(there are 2\)"):
        convert(tmp_path / "take.amc", tmp_path / "a.npz")
    convert(tmp_path / "take.amc", tmp_path / "a.npz", skeleton=tmp_path / "in.asf")
    os.rename(tmp_path / "other.ASF", tmp_path / "take.asf")
    assert "take.asf" in convert(tmp_path / "take.amc", tmp_path / "a.npz").notes[0]
    (tmp_path / "take.asf").unlink()
    (tmp_path / "in.asf").unlink()
    with pytest.raises(FileError, match=r"\(there is none\)"):
        convert(tmp_path / "take.amc", tmp_path / "a.npz")


def test_strict_and_zeros(tmp_path: Path):
    positions = np.ones((3, 1, 3))
    positions[1] = 0.0
    save_markers(Markers(positions, ("a",), 10.0), tmp_path / "in.trc")
    assert "33.3 % missing" in convert(tmp_path / "in.trc", tmp_path / "a.npz").read
    done = convert(tmp_path / "in.trc", tmp_path / "a.npz", zeros_are_missing=False)
    assert "0.0 % missing" in done.read
    text = (tmp_path / "in.trc").read_text(encoding="utf-8")
    (tmp_path / "in.trc").write_text(text.replace("\t3\t1\tmm", "\t4\t1\tmm"), encoding="utf-8")
    assert convert(tmp_path / "in.trc", tmp_path / "a.npz").notes != ()
    with pytest.raises(FileError, match="states 4 frames, the file has 3"):
        convert(tmp_path / "in.trc", tmp_path / "a.npz", strict=True)


def test_what_can_become_what():
    assert set(target_suffixes("a.C3D")) == {".c3d", ".trc", ".csv", ".npz"}
    robot = {".asf", ".bvh", ".glb", ".npz", ".urdf", ".xml", ".mjcf"}
    assert set(target_suffixes("a.urdf")) == robot
    assert {".bvh", ".amc", ".asf", ".trc", ".csv"} <= set(target_suffixes("a.amc"))
    assert target_suffixes("a.doc") == ()


# --- whole or not at all

KILLED = """
import os, sys, time
real = os.fsync
def fsync(handle):  # everything is written but not yet in its place
    real(handle)
    print("now", flush=True)
    time.sleep(60)
os.fsync = fsync
from exactik.io import convert
convert(sys.argv[1], sys.argv[2])
"""


@pytest.mark.full
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL on this system")
@pytest.mark.parametrize("suffix", first_quick([".bvh", ".glb", ".npz", ".amc", ".trc"]))
def test_a_killed_write_leaves_the_old_file(tmp_path: Path, suffix: str):
    save_motion(motion(), tmp_path / "in.npz")
    goal = tmp_path / f"out{suffix}"
    convert(tmp_path / "in.npz", goal, end=0.1)
    before = goal.read_bytes()
    child = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(tmp_path / "in.npz"), str(goal)],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "now\n"
    child.kill()
    child.wait()
    child.stdout.close()
    assert goal.read_bytes() == before
    convert(tmp_path / "in.npz", goal)
    assert goal.read_bytes() != before


# --- the command


class Ended(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Ended]:
    def call(*arguments: object) -> Ended:
        monkeypatch.setattr(sys, "argv", ["exactik", "convert", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        assert isinstance(ended.value.code, int | None)
        printed = capsys.readouterr()
        return Ended(ended.value.code or 0, printed.out, printed.err)

    return call


def test_the_command_says_what_it_did(run, tmp_path: Path):
    save_motion(motion(up_axis="y"), tmp_path / "in [b].npz")
    goal = tmp_path / "out.amc"
    options = ("--output-up", "z", "--output-unit", "0.01", "--end", "0.1", "--output-rate", "10")
    ended = run(tmp_path / "in [b].npz", goal, *options)
    assert (ended.code, ended.err) == (0, "")
    lines = ended.out.splitlines()
    assert lines[0] == (
        f"read     {tmp_path / 'in [b].npz'}: motion, 8 frames at 50 Hz (0.14 s), 4 bones, 10 dofs"
    )
    assert lines[1].startswith(f"written  {goal}: motion, 2 frames at 10 Hz (0.10 s), ")
    assert lines[2] == f"written  {tmp_path / 'out.asf'}: its skeleton"
    assert lines[3] == "note     turned from y up to z up (axes ZXY)"
    assert all(line.startswith("lost     ") for line in lines[4:]) and len(lines) > 5
    assert run(tmp_path / "in [b].npz", tmp_path / "same.npz").out.endswith("\nlost     nothing\n")


def test_the_command_as_json(run, tmp_path: Path):
    path, _ = written(motion(), tmp_path, ".bvh")
    ended = run(path, tmp_path / "out.glb", "--input-unit", "cm", "--input-up", "z", "--json")
    assert (ended.code, ended.err) == (0, "")
    answer = json.loads(ended.out)
    assert answer["targets"] == [str(tmp_path / "out.glb")]
    assert (answer["kind"], answer["notes"]) == ("motion", [])
    assert answer["lost"][0].startswith("the kind of joint")
    assert read(tmp_path / "out.glb").up_axis == "z"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["none.bvh", "a.npz"], "none.bvh: cannot be read: No such file or directory"),
        (["in.npz"], "in.npz: expected a second name, of the file to write"),
        (["in.npz", "in.npz"], "in.npz: is read; expected another name to write to"),
        (["in.npz", "m.npz", "a.bvh"], "a.bvh: expected --format and a folder, for several files"),
        (["in.npz", "m.npz", "--format", "bvh"], "m.npz: is a file; expected a folder"),
        (["in.npz", "a.glb", "--output-unit", "cm"], ".glb is in metres; --output-unit cannot"),
        (["in.npz", "a.npz", "--output-up", "z"], "which axis is up is not known; give --input-up"),
        (["in.npz", "a.bvh", "--output-unit", "ell"], "no length unit named 'ell'"),
        (["in.npz", "a.bvh", "--output-rate", "fast"], "--output-rate"),
        (["in.mot", "a.bvh"], "in.mot: holds no skeleton; give --skeleton"),
        (["tiny.bvh", "a.npz"], "give --input-unit"),
        (["empty", "out", "--format", "bvh"], "empty: nothing in it can become .bvh"),
    ],
)
def test_misuse_of_the_command(
    run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], words: str
):
    monkeypatch.chdir(tmp_path)
    save_motion(motion(), "in.npz")
    save_motion(motion(), "in.mot")
    save_markers(markers(), "m.npz")
    save_skeleton(figure(), "tiny.bvh", length_unit=0.3)
    Path("empty").mkdir()
    ended = run(*arguments)
    assert ended.code == 2 and ended.out == ""
    assert words in " ".join(ended.err.split())
    assert "Traceback" not in ended.err
    if "--output-rate" not in arguments:
        assert len(ended.err.splitlines()) == 1


def test_many_files(run, tmp_path: Path):
    for name in ("a", "b"):
        save_motion(motion(), tmp_path / f"{name}.npz")
    save_markers(markers(), tmp_path / "c.npz")
    (tmp_path / "notes.txt").write_text("", encoding="utf-8")
    ended = run(tmp_path, tmp_path / "out", "--format", "bvh", "--json")
    assert ended.code == 1  # markers cannot become BVH, the others did
    answer = json.loads(ended.out)
    assert [Path(one["source"]).name for one in answer["converted"]] == ["a.npz", "b.npz"]
    assert "holds markers" in answer["failed"][0]["error"]
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["a.bvh", "b.bvh"]
    ended = run(tmp_path / "a.npz", tmp_path / "b.npz", tmp_path / "out", "--format", ".glb")
    assert (ended.code, ended.out.count("written  ")) == (0, 2)
    ended = run(tmp_path / "c.npz", tmp_path / "c2.npz", tmp_path / "out", "--format", "bvh")
    assert ended.code == 2 and len(ended.err.splitlines()) == 2
    save_motion(motion(), tmp_path / "a.bvh")
    ended = run(tmp_path / "a.npz", tmp_path / "a.bvh", tmp_path / "out", "--format", "csv")
    assert ended.code == 2 and "would be written twice" in ended.err
