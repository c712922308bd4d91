"""BVH, ASF and AMC files that are wrong: one clear line, or what is left of them with a warning."""

from __future__ import annotations

import re
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_asf_amc import AMC, ASF
from test_bvh import SMALL

from exactik.errors import ExactikError, FileError, FileWarning
from exactik.io import load_motion, load_skeleton
from exactik.model.motion import Motion

SECOND = SMALL[SMALL.index("ROOT") : SMALL.index("MOTION")].replace("hips", "two")
ROW = "1 2 3 10 20 30 40 50 60\n"


def bvh(path: Path, strict: bool = False) -> Motion:
    return load_motion(path, length_unit="cm", strict=strict)


def refused(path: Path, message: str, strict: bool = False) -> None:
    """One line that names the file and says this."""
    with pytest.raises(FileError, match=message) as caught, warnings.catch_warnings():
        warnings.simplefilter("ignore", FileWarning)
        if path.suffix == ".asf":
            load_skeleton(path, strict=strict)
        elif path.suffix == ".amc":
            load_motion(path, load_skeleton(path.with_name("x.asf")), strict=strict)
        else:
            bvh(path, strict)
    text = str(caught.value)
    assert text.startswith(f"{path}: ") and "\n" not in text and len(text) < len(str(path)) + 300


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_bytes(text.encode())
    return path


# --- the shared collection: what each row asks for

REFUSED = {
    "generated/bvh_channel_count_lie.bvh": "line 10: CHANNELS of 'Chest' says 6, 'JOINT' follows",
    "generated/bvh_comma_decimal.bvh": "line 139: Frame Time '0,008333'; expected a number, or",
    "generated/bvh_long_row.bvh": "line 178: 74 values; expected 72, one a channel",
    "generated/bvh_missing_brace.bvh": "ends inside 'Hips', which begins at line 2; expected 1",
    "generated/bvh_no_motion.bvh": "no MOTION section, only a skeleton, which load_skeleton reads",
    "generated/bvh_short_row.bvh": "line 177: 68 values; expected 72, one a channel",
    "generated/bvh_truncated_hierarchy.bvh": "line 63: CHANNELS of 'LeftCollar' says 3, there",
    "generated/bvh_two_roots.bvh": "line 883: 228 values; expected 456, one a channel",
    "generated/bvh_unknown_channel.bvh": "line 5: CHANNELS of 'Hips' says 6, 'Wrotation' follows",
    "real/kick.bvh": "line 35: found 'z'; expected JOINT, End Site, OFFSET, CHANNELS or }",
    "generated/asf_no_hierarchy.asf": "no :hierarchy; an ASF file has",
    "generated/asf_unknown_parent.asf": "line 323: no bone named 'lowerback_x'",
}
# File: frames, and what the warning says.
WARNED = {
    "bvh_duplicate_names": (40, "line 18: a second joint named 'Chest2', now called 'Chest2_2'"),
    "bvh_frames_too_few": (40, "'Frames: 35', but there are 40; all of them are used"),
    "bvh_frames_too_many": (40, "'Frames: 90', but there are 40; all of them are used"),
    "bvh_nan_row": (40, "values in frame 39 are not finite; all of such a frame is missing"),
    "bvh_truncated_row": (39, "the last row has 37 of 72 values and was dropped"),
    "bvh_zero_frametime": (40, "Frame Time is 0; 30 Hz assumed, or give rate"),
}
FINE = ("blank_lines", "bom", "cr_only", "lowercase", "sjis_names", "utf8_names")


@pytest.mark.parametrize("name", REFUSED)
def test_files_of_the_collection_that_cannot_be_read(shared_data: Path, name: str):
    refused(shared_data / "data/malformed" / name, REFUSED[name])


@pytest.mark.parametrize("name", WARNED)
def test_files_of_the_collection_with_a_warning(shared_data: Path, name: str):
    path, (frames, message) = shared_data / f"data/malformed/generated/{name}.bvh", WARNED[name]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        motion = bvh(path)
    assert any(f"{path}: {message}" == str(w.message) for w in caught)
    assert message in motion.notes
    assert motion.q.shape == (frames, 72)
    assert motion.rate == (30.0 if "zero" in name else 120.0)
    missing = np.flatnonzero(np.isnan(motion.q).any(axis=1)).tolist()
    assert missing == ([38] if "nan" in name else [])
    assert np.isnan(motion.q[missing]).all()
    refused(path, re.escape(message.removeprefix("line 18: ")), strict=True)


@pytest.mark.parametrize("name", FINE)
def test_files_of_the_collection_that_are_merely_odd(shared_data: Path, name: str):
    motion = bvh(shared_data / f"data/malformed/generated/bvh_{name}.bvh", strict=True)
    whole = bvh(shared_data / "data/bvh/pybvh/bvh_test2.bvh")
    assert np.array_equal(motion.q, whole.q[:40])
    names = {
        "sjis_names": ("センター", "上半身", "頭"),
        "utf8_names": ("センター", "Hüfte links", "Рука", "脚.001", "épaule"),
        "lowercase": whole.skeleton.bone_names,
    }.get(name, whole.skeleton.bone_names)
    bone_names = [bone.casefold() for bone in motion.skeleton.bone_names[: len(names)]]
    if name != "sjis_names":
        assert bone_names == [bone.casefold() for bone in names]
    assert len(motion.notes) == (name == "sjis_names")
    assert motion.metadata["encoding"] == ("shift_jis" if name == "sjis_names" else "utf-8")


def test_named_end_sites_and_wrapped_rows(shared_data: Path):
    folder = shared_data / "data/malformed/generated"
    whole = shared_data / "data/bvh/blender_makehuman/walk1.bvh"
    motion = load_motion(whole, length_unit="dm", positions="add")
    named = load_motion(folder / "bvh_named_endsite.bvh", length_unit="dm", positions="add")
    wrapped = load_motion(folder / "bvh_wrapped_rows.bvh", length_unit="dm", positions="add")
    assert np.array_equal(named.q, motion.q) and np.array_equal(wrapped.q, motion.q)
    new = set(named.skeleton.bone_names) - set(motion.skeleton.bone_names)
    assert new == {"LeftToe_Nub"}
    assert wrapped.notes == ("frames and lines do not agree, but the number of values is right",)


def test_a_skeleton_without_motion(shared_data: Path):
    path = shared_data / "data/malformed/generated/bvh_no_motion.bvh"
    whole = load_skeleton(shared_data / "data/bvh/pybvh/bvh_test2.bvh", length_unit="cm")
    assert load_skeleton(path, length_unit="cm").bones == whole.bones


@pytest.mark.parametrize(
    ("name", "missing", "message"),
    [
        ("amc_frame_gap", [3, 4, 5], "frames 4 to 6 are left out; there the motion is missing"),
        ("amc_missing_bone", [2], "frame 3 lacks bone 'lowerback'; all of such a frame is missing"),
        ("amc_trunc", None, "frame 25, the last, is cut off and was dropped"),
    ],
)
def test_amc_files_of_the_collection(
    shared_data: Path, name: str, missing: list[int] | None, message: str
):
    """What is missing is not a number, so that every other frame keeps its time."""
    folder = shared_data / "data/asf_amc/cmu_backflip"
    skeleton = load_skeleton(folder / "backflip.asf")
    whole = load_motion(folder / "backflip.amc", skeleton).q
    path = shared_data / f"data/malformed/generated/{name}.amc"
    with pytest.warns(FileWarning, match=message):
        motion = load_motion(path, skeleton)
    assert len(motion) == (24 if missing is None else 40)
    assert np.flatnonzero(np.isnan(motion.q).any(axis=1)).tolist() == (missing or [])
    kept = np.isfinite(motion.q).all(axis=1)
    assert np.array_equal(motion.q[kept], whole[: len(motion)][kept])
    assert message in motion.notes
    with pytest.raises(FileError, match=message):
        load_motion(path, skeleton, strict=True)


def test_other_acclaim_files_of_the_collection(shared_data: Path):
    folder = shared_data / "data/malformed/generated"
    flip = load_skeleton(shared_data / "data/asf_amc/cmu_backflip/backflip.asf")
    with pytest.raises(FileError, match="line 37: bone 'upperback' has 4 values; expected 3"):
        load_motion(folder / "amc_extra_value.amc", flip)
    radians = load_motion(folder / "amc_radians.amc", flip)
    degrees = load_motion(shared_data / "data/asf_amc/cmu_backflip/backflip.amc", flip)
    assert np.allclose(np.deg2rad(radians.q[:, 3:]), degrees.q[:40, 3:])
    bk = load_skeleton(shared_data / "data/asf_amc/hdm05_bk/HDM_bk.asf")
    with pytest.warns(FileWarning, match="no length in :units; 1.0, which makes the unit an inch"):
        inches = load_skeleton(folder / "asf_no_length_unit.asf")
    assert np.allclose(np.array(inches.bones[2].offset) / 0.45, bk.bones[2].offset)
    in_radians = load_skeleton(folder / "asf_radians.asf")
    assert np.allclose(in_radians.upper * np.pi / 180, bk.upper)


# --- faults of our own making

BVH_FAULTS = {
    "empty": ("", "no ROOT; expected a BVH file"),
    "another format": ("%PDF-1.7", "line 1: found '%PDF-1.7'; expected HIERARCHY and ROOT"),
    "no root": ("HIERARCHY\nMOTION\nFrames: 0\nFrame Time: 1\n", "no ROOT"),
    "no name": (SMALL.replace("JOINT chest", "JOINT"), "line 6: JOINT without a name"),
    "no brace": (SMALL.replace("ROOT hips\n{", "ROOT hips\n"), "no { after ROOT hips"),
    "brace too many": (SMALL.replace("}\nMOTION", "}}\nMOTION"), "found } with no joint left"),
    "words after": (SMALL.replace("MOTION", "x\nMOTION"), "found 'x'; expected ROOT or MOTION"),
    "no offset": (SMALL.replace("OFFSET 0 5 0", ""), "line 14: 'chest' ends without an OFFSET"),
    "no end offset": (SMALL.replace("OFFSET 0 0 3", ""), "'End Site' ends without an OFFSET"),
    "two offsets": (SMALL.replace("OFFSET 0 5 0", "OFFSET 0 5 0 OFFSET 0 5 0"), "a second OFFSET"),
    "short offset": (SMALL.replace("OFFSET 0 5 0", "OFFSET 0 5"), "'0 5 CHANNELS'; expected three"),
    "bad offset": (SMALL.replace("0 5 0", "0 5,0 0"), "line 8: OFFSET '0 5,0 0'; expected three"),
    "nan offset": (SMALL.replace("0 5 0", "0 nan 0"), "OFFSET '0 nan 0'; expected three numbers"),
    "endless offset": (SMALL.replace("0 5 0", "0 1e999 0"), "OFFSET '0 1e999 0'; expected three"),
    "end": (SMALL.replace("End Site", "End"), "End without Site"),
    "joint in end": (SMALL.replace("OFFSET 0 0 3", "OFFSET 0 0 3 JOINT x {"), "inside an End Site"),
    "channels in end": (
        SMALL.replace("0 0 3", "0 0 3 CHANNELS 1 Xrotation"),
        "unexpected CHANNELS",
    ),
    "no count": (SMALL.replace("CHANNELS 3", "CHANNELS"), "CHANNELS 'Zrotation'; expected their n"),
    "small count": (SMALL.replace("CHANNELS 3", "CHANNELS 2"), "says 2, but 'Yrotation' follows"),
    "position twice": (SMALL.replace("Zposition", "Xposition"), "'hips' names a position twice"),
    "same turn": (SMALL.replace("Zrotation Xrotation", "Xrotation Xrotation"), "Euler order 'XXY'"),
    "four turns": (
        SMALL.replace("CHANNELS 3", "CHANNELS 4 Xrotation"),
        "CHANNELS of 'chest' has more than three rotations",
    ),
    "no frames": (SMALL.replace("Frames: 2\n", ""), "line 16: MOTION without 'Frames:'"),
    "frames in words": (SMALL.replace("Frames: 2", "Frames: two"), "MOTION without 'Frames:'"),
    "negative frames": (SMALL.replace("Frames: 2", "Frames: -2"), "MOTION without 'Frames:'"),
    "no time": (SMALL.replace("Frame Time: 0.04\n", ""), "no 'Frame Time:' after 'Frames:'"),
    "motion only": (SMALL[: SMALL.index("Frames")], "line 16: MOTION without 'Frames:'"),
    "word in row": (SMALL.replace("40 50", "40 x50"), "line 20: 'x50' is no number$"),
    "comma in row": (SMALL.replace("40 50", "40,5 50"), r"'40,5' is no number \(a decimal comma\?"),
    "comma in time": (
        SMALL.replace("0.04", "0,04"),
        "line 18: Frame Time '0,04'; expected a number",
    ),
    "underscore": (SMALL.replace("40 50", "40 5_0"), "line 20: '5_0' is no number"),
    "short": (SMALL.replace("1 2 3 0 0 0", "1 2 3 0 0"), "line 19: 8 values; expected 9"),
    "long": (SMALL.replace("40 50 60", "40 50 60 70"), "line 20: 10 values; expected 9"),
    "one short row": (
        SMALL.replace("1 2 3 0 0 0 0 0 0\n", "").replace("40 50 60", "40"),
        "line 19: 7 values; expected 9",
    ),
    "rows of another figure": (SMALL + ROW.replace("60", "") * 5, "line 21: 8 values; expected 9"),
    "nothing moves": (
        re.sub(r"CHANNELS [36].*", "CHANNELS 0", SMALL),
        "line 19: 9 values; expected 0, one a channel",
    ),
    "half of two figures": (SMALL.replace("MOTION", SECOND + "MOTION"), "9 values; expected 18"),
}


@pytest.mark.parametrize("name", BVH_FAULTS)
def test_bvh_faults(tmp_path: Path, name: str):
    text, message = BVH_FAULTS[name]
    refused(write(tmp_path, "x.bvh", text), message)


@pytest.mark.full
def test_many_joints_of_one_name_are_quick(tmp_path: Path):
    """And so are many bones: nothing grows with the square of the file."""
    joint = SMALL[SMALL.index("  JOINT") : SMALL.index("MOTION")].rstrip().removesuffix("}")
    path = write(tmp_path, "x.bvh", SMALL.replace(joint, joint * 5000))
    begin, end = ASF.index("  begin\n    id 2"), ASF.index(":hierarchy")
    bones = "".join(ASF[begin:end].replace("name hand", f"name hand{k}") for k in range(5000))
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FileWarning)
        assert len(load_skeleton(path, length_unit="cm").bones) > 10_000
        load_skeleton(write(tmp_path, "x.asf", ASF[:end] + bones + ASF[end:]))
    assert time.process_time() - start < 4.0


def test_bvh_that_is_cut_off_anywhere(tmp_path: Path):
    """Never anything but a clear error, or the frames that are whole."""
    data = (SMALL + ROW * 2).replace("Frames: 2", "Frames: 4")
    whole = bvh(write(tmp_path, "x.bvh", data)).q
    for end in range(len(data)):
        path = write(tmp_path, "x.bvh", data[:end])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FileWarning)
            try:
                q = bvh(path).q
            except FileError:
                assert end < data.index("1 2 3 0") + len(ROW)
            else:
                # The last number may have lost its last digit, and nobody can tell.
                assert len(q) <= 4 and np.array_equal(q[:-1], whole[: max(len(q) - 1, 0)])


def test_wrapped_rows_that_are_cut_off(tmp_path: Path):
    head, numbers = SMALL[: SMALL.index("1 2 3 0")], (SMALL[SMALL.index("1 2 3 0") :]).split()
    lines = [" ".join(numbers[k : k + 3]) for k in range(0, 15, 3)] + [numbers[15]]
    with pytest.warns(FileWarning, match="the last row has 7 of 9 values and was dropped"):
        motion = bvh(write(tmp_path, "x.bvh", head + "\n".join(lines)))
    assert len(motion) == 1


ASF_FAULTS = {
    "empty": ("", "no :root; an ASF file has :root, :bonedata and :hierarchy"),
    "angle": (ASF.replace("angle deg", "angle gon"), "line 7: 'angle gon'; expected deg or rad"),
    "length": (ASF.replace("length 0.0254", "length x"), "line 6: 'length x'; expected 1 numbers"),
    "no length": (
        ASF.replace("length 0.0254", "length 0"),
        "line 6: length 0 in :units; expected m",
    ),
    "direction": (
        ASF.replace("direction 0 1 0", "direction 0 1"),
        "'direction 0 1'; expected 3 num",
    ),
    "axis": (ASF.replace("10 20 30 XYZ", "10 20 30 XYX"), "axis order 'XYX'; expected XYZ, ZYX"),
    "dof": (ASF.replace("dof rz rx", "dof rz rw"), "'dof rz rw'; expected rx ry rz tx ty tz, each"),
    "stretch": (
        ASF.replace("dof rz rx", "dof rz l"),
        r"'dof rz l'; .*\(l, a stretch, is not read\)",
    ),
    "dof twice": (ASF.replace("dof rz rx", "dof rz rz"), "'dof rz rz'; expected rx ry rz"),
    "root order": (ASF.replace("order TX", "order QX"), "'order QX TY TZ RX RY RZ'; expected rx"),
    "limits": (ASF.replace("-160.0 20.0", "-160.0 x"), r"line 21: limits '\(-160.0 x\)'; expected"),
    "long limits": (
        ASF.replace("-160.0 20.0", f"-160.0 {'x' * 3000}"),
        r"limits '\(-160.0 x{52}'; expected numbers",
    ),
    "overflow": (ASF.replace("direction 0 1 0", "direction 0 1e308 0"), "must be finite"),
    "no room": (ASF.replace("(-inf, inf)", "(inf, inf)"), "leave no room"),
    "same name": (ASF.replace("name hand", "name arm"), "line 25: no name, or a second 'arm'"),
    "no name": (ASF.replace("name hand", ""), "line 25: no name, or a second ''"),
    "named root": (ASF.replace("name hand", "name root"), "no name, or a second 'root'"),
    "no end": (ASF.replace("  end\n:hierarchy", ":hierarchy"), "bone 'hand' has no end"),
    "no begin": (ASF.replace("  begin\n    id 1", "    id 1"), "line 14: 'id'; expected begin"),
    "unknown": (ASF.replace("arm hand\n", "arm foot\n"), "line 36: no bone named 'foot'; expected"),
    "two parents": (ASF.replace("root arm", "root arm hand"), "bone 'hand' has a second parent"),
    "root below": (ASF.replace("arm hand\n", "arm root\n"), "bone 'root' has a second parent"),
    "position": (
        ASF.replace("position 0 0 0", "position 0 nan 0"),
        "'position 0 nan 0'; expected 3",
    ),
}


@pytest.mark.parametrize("name", ASF_FAULTS)
def test_asf_faults(tmp_path: Path, name: str):
    text, message = ASF_FAULTS[name]
    refused(write(tmp_path, "x.asf", text), message)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            ASF.replace("           (-inf, inf)\n", ""),
            "'arm' has 2 limits for 3 dofs; they are ign",
        ),
        (ASF.replace("-160.0 20.0", "20.0 -160.0"), "limits of bone 'arm' were swapped"),
        (ASF.replace("    arm hand\n", ""), "bones not below the root were dropped: hand"),
        (ASF.replace("    root arm\n", "    hand arm\n"), "dropped: arm, hand"),
    ],
)
def test_asf_that_contradicts_itself(tmp_path: Path, text: str, message: str):
    path = write(tmp_path, "x.asf", text.replace("length 0.0254 ", "length 0.0254 "))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        skeleton = load_skeleton(path)
    assert any(message in str(w.message) for w in caught)
    if "arm" in skeleton.bone_names and "limits" in message:
        upper = np.rad2deg(skeleton.upper[8])
        assert np.isinf(upper) if "2 limits" in message else np.isclose(upper, 20.0)
    refused(path, message, strict=True)


AMC_FAULTS = {
    "empty": ("", "no frames; expected a frame number after the head"),
    "head only": (":FULLY-SPECIFIED\n:DEGREES\n", "no frames; expected a frame number"),
    "no number": (AMC.replace("DEGREES\n1\n", "DEGREES\n"), "line 4: 'root'; expected the number"),
    "odd number": (
        AMC.replace("\n2\n", "\n2.5\n"),
        "line 8: '2.5'; expected the number of a frame",
    ),
    "number and more": (
        AMC.replace("\n2\n", "\n2 3\n"),
        "line 8: '2'; expected the number of a fr",
    ),
    "unknown bone": (AMC.replace("arm 5", "leg 5"), "line 6: no bone named 'leg' in the skeleton"),
    "other case": (AMC.replace("arm 5", "Arm 5"), "line 6: no bone named 'Arm' in the skeleton"),
    "short": (AMC.replace("arm 5 6 7", "arm 5 6"), "line 6: bone 'arm' has 2 values; expected 3"),
    "long": (AMC.replace("18 19", "18 19 20"), "line 11: bone 'hand' has 3 values; expected 2"),
    "word": (
        AMC.replace("arm 5 6 7", "arm 5 x 7"),
        "line 6: values '5 x 7' of bone 'arm'; expected",
    ),
    "name as value": (AMC.replace("arm 5 6 7", "arm 5 arm 7"), "line 6: values '5 arm 7' of bone"),
    "comma": (AMC.replace("arm 5 6 7", "arm 5 6,5 7"), "line 6: values '5 6,5 7' of bone 'arm'"),
    "twice": (
        AMC.replace("hand 8 9\n", "arm 5 6 7\nhand 8 9\n"),
        "line 7: bone 'arm' a second time",
    ),
    "no such bone": (
        AMC.replace("arm 5 6 7\n", "").replace("arm 15 16 17\n", "") + "3\nroot 1 1 1 1 1 1\n",
        "bone 'arm' of the skeleton is in no frame",
    ),
    "far gap": (
        AMC.replace("\n2\n", "\n2000000\n"),
        "frames 2 to 1999999 are left out; expected f",
    ),
    "rigid bone": (
        AMC.replace("hand 8 9\n", "hand 8 9\nhand_end 1\n"),
        "'hand_end' has 1 values; ex",
    ),
}


@pytest.mark.parametrize("name", AMC_FAULTS)
def test_amc_faults(tmp_path: Path, name: str):
    text, message = AMC_FAULTS[name]
    write(tmp_path, "x.asf", ASF)
    refused(write(tmp_path, "x.amc", text), message)


@pytest.mark.parametrize(
    ("text", "missing", "message"),
    [
        (AMC.replace("\n2\n", "\n4\n"), [1, 2], "frames 2 to 3 are left out; there the motion"),
        (AMC.replace("\n2\n", "\n3\n"), [1], "frame 2 is left out; there the motion is missing"),
        (AMC.replace("\n2\n", "\n1\n"), [], "frame 1 comes after 1; frames are taken in the order"),
        (AMC.replace("\n2\n", "\n0\n"), [], "frame 0 comes after 1"),
        (AMC.replace("arm 5 6 7", "arm 5 nan 7"), [0], "values in frame 1 are not finite"),
        (AMC.replace("arm 5 6 7", "arm 5 1e999 7"), [0], "values in frame 1 are not finite"),
        (AMC.replace("arm 5 6 7\n", ""), [0], "frame 1 lacks bone 'arm'; all of such a frame"),
        (AMC + "3\nroot 1 1", [], "frame 3, the last, is cut off and was dropped"),
        (AMC + "3\nroot 1 1 1 1 1 1\nar", [], "frame 3, the last, is cut off and was dropped"),
        (AMC + "3\n", [], "frame 3, the last, is cut off and was dropped"),
    ],
)
def test_amc_that_is_damaged(tmp_path: Path, text: str, missing: list[int], message: str):
    skeleton = load_skeleton(write(tmp_path, "x.asf", ASF))
    whole = load_motion(write(tmp_path, "x.amc", AMC), skeleton).q
    path = write(tmp_path, "x.amc", text)
    with pytest.warns(FileWarning, match=message):
        motion = load_motion(path, skeleton)
    assert np.flatnonzero(np.isnan(motion.q).any(axis=1)).tolist() == missing
    assert np.isnan(motion.q[missing]).all()
    assert np.array_equal(motion.q[-1], whole[-1])
    refused(path, message, strict=True)


def test_amc_that_is_cut_off_anywhere(tmp_path: Path):
    skeleton = load_skeleton(write(tmp_path, "x.asf", ASF))
    whole = load_motion(write(tmp_path, "x.amc", AMC), skeleton).q
    for end in range(len(AMC)):
        path = write(tmp_path, "x.amc", AMC[:end])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FileWarning)
            try:
                q = load_motion(path, skeleton).q
            except FileError:
                assert end <= AMC.index("\n1\n") + 1
            else:
                assert len(q) < 2 or np.array_equal(q[0], whole[0])


# --- noise

PIECES = st.sampled_from(
    [
        b"",
        b" ",
        b"\n",
        b"{",
        b"}",
        b"-",
        b"1e999",
        b"nan",
        b"0",
        b"\xff",
        b"\x00",
        b"#",
        b":",
        b"(",
        b"end",
    ]
)


@given(st.lists(st.tuples(st.floats(0, 1), st.integers(0, 12), PIECES), min_size=1, max_size=4))
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_noise_ends_in_a_result_or_a_clear_error(
    tmp_path: Path, edits: list[tuple[float, int, bytes]]
):
    """Bytes are lost and replaced anywhere; nothing but our own errors comes out."""
    texts = {"x.bvh": SMALL.encode(), "x.asf": ASF.encode(), "x.amc": AMC.encode()}
    skeleton = load_skeleton(write(tmp_path, "y.asf", ASF))
    for name, text in texts.items():
        for where, length, piece in edits:
            start = int(where * len(text))
            text = text[:start] + piece + text[start + length :]
        path = tmp_path / name
        path.write_bytes(text)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FileWarning)
            try:
                if name == "x.asf":
                    load_skeleton(path)
                else:
                    load_motion(path, skeleton if name == "x.amc" else None, length_unit="m")
            except FileError as error:
                assert isinstance(error, ExactikError)
                assert "\n" not in str(error)
