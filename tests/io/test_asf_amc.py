"""ASF and AMC: what real files hold, their twins in BVH and C3D, and that all comes back."""

from __future__ import annotations

import math
import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exactik import Bone, Joint, Skeleton, human
from exactik.errors import FileError, FileWarning, UsageError
from exactik.io import load_motion, load_skeleton, save_motion, save_skeleton
from exactik.io.acclaim import AcclaimSkeleton, encode_name
from exactik.model.motion import Motion
from exactik.spatial import axis_rotation
from exactik.typing import Array
from tests.support.models import EVERY_JOINT, chain_of, configuration, skeletons

CMU = 0.0254 / 0.45  # [m] in one unit of those files

# AMC: its ASF, and the number of frames.
TAKES = {
    "cmu02/02_01.amc": ("02.asf", 343),
    "cmu11/11_01.amc": ("11.asf", 597),
    "cmu_backflip/backflip.amc": ("backflip.asf", 247),
    "dm_control/zeros.amc": ("../cmu_backflip/backflip.asf", 7),
    "endorphin/walking.amc": ("skeleton.asf", 300),
    "hdm05_bk/HDM_bk_elbowToKnee1RepsLelbowStart_007_120.amc": ("HDM_bk.asf", 187),
    "hdm05_bk/HDM_bk_sneak2StepsLStart_006_120.AMC": ("HDM_bk.asf", 290),
    "hdm05_dg/HDM_dg_01-03_01_120.amc": ("HDM_dg.asf", 3498),
    "hdm05_dg/HDM_dg_03-05_02_120.amc": ("HDM_dg.asf", 3866),
    "hdm05_dg_crlf/HDM_dg_06-03_03_120.amc": ("HDM_dg.asf", 202),
    "hdm05_mm/HDM_mm_lieDownFloor_017_120.amc": ("HDM_mm.asf", 301),
}

ASF = """# a comment
:version 1.10
:name two words
:units
  mass 1.0
  length 0.0254   # a metre
  angle deg
:root
  order TX TY TZ RX RY RZ
  axis XYZ
  position 0 0 0
  orientation 0 0 0
:bonedata
  begin
    id 1
    name arm
    direction 0 1 0
    length 2
    axis 10 20 30 XYZ
    dof rx ry rz
    limits (-160.0 20.0)
           (-inf, inf)
           ( -60.0  70.0 )
  end
  begin
    id 2
    name hand
    direction 1 0 0
    length 2
    axis 40 50 60 ZXY
    dof rz rx
  end
:hierarchy
  begin
    root arm
    arm hand
  end
"""
AMC = """#!OML:ASF H:\\some\\path.ASF
:FULLY-SPECIFIED
:DEGREES
1
root 1 2 3 10 20 30
arm 5 6 7
hand 8 9
2
root 1 2 3 11 21 31
arm 15 16 17
hand 18 19
"""


def folder(shared_data: Path) -> Path:
    return shared_data / "data/asf_amc"


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8", newline="")
    return path


def pair(tmp_path: Path, asf: str = ASF, amc: str = AMC, **options: Any) -> Motion:
    skeleton = load_skeleton(write(tmp_path / "x.asf", asf))
    return load_motion(write(tmp_path / "x.amc", amc), skeleton, **options)


def furthest(one: Motion, other: Motion) -> float:
    """The largest distance between bones of the same name [m]."""
    bones = [other.skeleton.bone_index(name) for name in one.skeleton.bone_names]
    gap = one.forward().positions - other.forward().positions[:, bones]
    return float(np.nanmax(np.abs(gap)))


def turned(letters: str, *degrees: float) -> Array:
    """The product of turns of which the first acts first."""
    matrix = np.eye(3)
    for letter, angle in zip(letters, degrees, strict=True):
        matrix = axis_rotation(letter, math.radians(angle)) @ matrix
    return matrix


# --- real files


@pytest.mark.parametrize("take", TAKES)
def test_facts_of_real_files(shared_data: Path, take: str):
    asf, frames = TAKES[take]
    own_unit = "m" if take.startswith("endorphin") else None
    skeleton = load_skeleton((folder(shared_data) / take).parent / asf, length_unit=own_unit)
    motion = load_motion(folder(shared_data) / take, skeleton)
    bones, dofs = (33, 81) if take.startswith("endorphin") else (30, 56)
    ends = [bone.name for bone in skeleton.bones if bone.name.endswith("_end")]
    assert len(skeleton.bones) == 1 + bones + len(ends)
    assert len(ends) == len(skeleton.chains())  # every chain ends where its last bone does
    assert skeleton.nv == skeleton.nq == dofs + 6
    assert motion.q.shape == (frames, dofs + 6)
    assert np.isfinite(motion.q).all()
    assert (motion.rate, motion.first_frame, motion.up_axis) == (120.0, 1, "y")
    assert motion.notes == ("AMC states no rate; 120 Hz assumed",)
    assert motion.metadata["length_unit"] == (1.0 if own_unit == "m" else CMU)
    assert motion.metadata["angle_unit"] == "deg"
    assert skeleton.dof_names[:6] == tuple(
        f"root.{d}" for d in ("tx", "ty", "tz", "rz", "ry", "rx")
    )
    neutral = skeleton.forward(np.zeros(skeleton.nq))
    assert np.abs(neutral.rotations - np.eye(3)).max() < 1e-12
    assert 1.3 < np.ptp(neutral.positions, axis=0)[1] < 1.9


def test_limits_of_a_cmu_skeleton(shared_data: Path):
    skeleton = load_skeleton(folder(shared_data) / "cmu02/02.asf")
    assert skeleton.name == "VICON"
    first = skeleton.dof_names.index("lfemur.rz")
    assert skeleton.dof_names[first : first + 3] == ("lfemur.rz", "lfemur.ry", "lfemur.rx")
    assert np.allclose(np.rad2deg(skeleton.lower[first : first + 3]), [-60, -70, -160])
    assert np.allclose(np.rad2deg(skeleton.upper[first : first + 3]), [70, 70, 20])
    assert np.isinf(skeleton.lower[:6]).all()


def test_lengths_that_are_metres_already_are_pointed_out(shared_data: Path):
    path = folder(shared_data) / "endorphin/skeleton.asf"
    with pytest.warns(
        FileWarning, match=r"line 5: length 0.01 makes the figure measure 4.75 m \(in m"
    ):
        tall = load_skeleton(path)
    with pytest.warns(FileWarning, match="m is taken, in which the figure is 1.87 m tall"):
        guessed = load_skeleton(path, length_unit="auto")
    assert guessed == load_skeleton(path, length_unit="m")
    assert np.allclose(2.54 * np.array(guessed.bones[3].offset), tall.bones[3].offset)
    assert np.isinf(guessed.lower).all()


@pytest.mark.parametrize("number", ["02", "11"])
def test_the_same_take_as_bvh(shared_data: Path, number: str):
    """That conversion has a first row more, six decimals, and no length between thorax and neck."""
    skeleton = load_skeleton(folder(shared_data) / f"cmu{number}/{number}.asf")
    amc = load_motion(folder(shared_data) / f"cmu{number}/{number}_01.amc", skeleton)
    bvh = load_motion(
        shared_data / f"data/bvh/cmu_cgspeed/{number}_01.bvh", length_unit=CMU, up_axis="y"
    )
    assert len(bvh) == len(amc) + 1
    amc_positions, bvh_positions = amc.forward().positions, bvh.forward().positions[1:]

    def gap(bone: str, joint: str, base: str = "", other: str = "") -> float:
        one, two = (
            amc_positions[:, skeleton.bone_index(bone)],
            bvh_positions[:, bvh.skeleton.bone_index(joint)],
        )
        if base != "":
            one = one - amc_positions[:, skeleton.bone_index(base)]
            two = two - bvh_positions[:, bvh.skeleton.bone_index(other)]
        return float(np.abs(one - two).max())

    assert gap("root", "Hips") < 1e-5
    legs = ("femur", "UpLeg"), ("tibia", "Leg"), ("foot", "Foot"), ("toes", "ToeBase")
    for side, name in (("l", "Left"), ("r", "Right")):
        for bone, joint in legs:
            assert gap(f"{side}{bone}", f"{name}{joint}") < 1e-5
        assert gap(f"{side}toes_end", f"{name}ToeBase_end") < 1e-5
        base = f"{side}clavicle", f"{name}Shoulder"
        for bone, joint in (("humerus", "Arm"), ("radius", "ForeArm"), ("wrist", "Hand")):
            assert gap(f"{side}{bone}", f"{name}{joint}", *base) < 1e-5
    for bone, joint in (("upperback", "Spine"), ("thorax", "Spine1")):
        assert gap(bone, joint) < 1e-5


@pytest.mark.full
@pytest.mark.parametrize("take", TAKES)
def test_real_files_come_back_the_same(shared_data: Path, tmp_path: Path, take: str):
    """Dofs, limits, units and coordinates; and as BVH every bone is where it was."""
    asf, _ = TAKES[take]
    own_unit = "m" if take.startswith("endorphin") else None
    skeleton = load_skeleton((folder(shared_data) / take).parent / asf, length_unit=own_unit)
    motion = load_motion(folder(shared_data) / take, skeleton).between(0, 5)
    save_skeleton(skeleton, tmp_path / "x.asf")
    motion.save(tmp_path / "x.amc")
    same = load_skeleton(tmp_path / "x.asf")
    again = load_motion(tmp_path / "x.amc", same)
    assert isinstance(same, AcclaimSkeleton) and isinstance(skeleton, AcclaimSkeleton)
    assert math.isclose(same.acclaim.metres, skeleton.acclaim.metres)
    assert same.dof_names == skeleton.dof_names
    assert same.bone_names == skeleton.bone_names
    assert np.allclose(same.lower, skeleton.lower) and np.allclose(same.upper, skeleton.upper)
    assert np.abs(again.q - motion.q).max() < 1e-10
    assert again.rate == motion.rate
    assert furthest(motion, again) < 1e-10
    motion.save(tmp_path / "x.bvh")
    bvh = load_motion(tmp_path / "x.bvh", length_unit="cm")
    assert bvh.skeleton.bone_names == skeleton.bone_names
    assert furthest(motion, bvh) < 1e-9


# --- what the words mean


def test_a_bone_turns_by_axis_and_dofs(tmp_path: Path):
    motion = pair(tmp_path)
    assert motion.skeleton.name == "two words"
    assert motion.skeleton.bone_names == ("root", "arm", "hand", "hand_end")
    root, arm_axis, hand_axis = turned("xyz", 10, 20, 30), turned("xyz", 10, 20, 30), None
    hand_axis = turned("zxy", 40, 50, 60)
    arm = root @ arm_axis @ turned("xyz", 5, 6, 7) @ arm_axis.T
    hand = arm @ hand_axis @ turned("zx", 8, 9) @ hand_axis.T
    pose = motion.forward()
    assert np.allclose(pose.rotations[0], [root, arm, hand, hand])
    expected = [[1, 2, 3], [1, 2, 3], [1, 2, 3] + arm @ [0, 2, 0]]
    assert np.allclose(pose.positions[0, :3], expected)
    assert np.allclose(pose.positions[0, 3], expected[2] + hand @ [2, 0, 0])
    lower = np.rad2deg(motion.skeleton.lower[6:])
    assert np.allclose(lower, [-60, -np.inf, -160, -np.inf, -np.inf])


def test_a_root_in_any_order_with_an_orientation(tmp_path: Path):
    asf = ASF.replace("TX TY TZ RX RY RZ", "rz TY rx TX ry tz")
    asf = asf.replace("position 0 0 0", "position 7 8 9")
    asf = asf.replace("orientation 0 0 0", "orientation 30 40 50").replace("axis XYZ", "axis ZYX")
    amc = AMC.replace("root 1 2 3 10 20 30", "root 30 2 10 1 20 3")
    motion = pair(tmp_path, asf, amc)
    axis, turn = turned("zyx", 30, 40, 50), turned("zxy", 30, 10, 20)
    pose = motion.forward()
    assert np.allclose(pose.positions[0, 0], [8, 10, 12])
    assert np.allclose(pose.rotations[0, 0], axis @ turn @ axis.T)
    save_skeleton(motion.skeleton, tmp_path / "y.asf")
    motion.save(tmp_path / "y.amc")
    again = load_motion(tmp_path / "y.amc", load_skeleton(tmp_path / "y.asf"))
    assert furthest(motion, again) < 1e-10


def test_bones_may_slide(tmp_path: Path):
    asf = ASF.replace("dof rz rx\n", "dof ty rz tx\n limits (-1 2) (-90 90) (-inf 5)\n")
    motion = pair(
        tmp_path, asf, AMC.replace("hand 8 9", "hand 0.5 8 0.25").replace("18 19", "0 0 0")
    )
    hand = motion.skeleton.bones[2]
    assert str(hand.joint) == "free euler Z"
    assert np.allclose(hand.joint.limits[:3], [(-math.inf, 5), (-1, 2), (0, 0)])
    pose = motion.forward()
    expected = pose.positions[0, 1] + pose.rotations[0, 1] @ (
        [0, 2, 0] + turned("zxy", 40, 50, 60) @ [0.25, 0.5, 0]
    )
    assert np.allclose(pose.positions[0, 2], expected)


@pytest.mark.parametrize(
    ("asf", "amc", "unit"),
    [
        ("deg", ":DEGREES", math.pi / 180),
        ("deg", ":RADIANS", 1.0),
        ("rad", ":DEGREES", math.pi / 180),
        ("radians", ":Radians", 1.0),
        ("rad", "", 1.0),
        ("deg", "", math.pi / 180),
    ],
)
def test_angles_are_in_the_unit_of_the_amc_file_first(
    tmp_path: Path, asf: str, amc: str, unit: float
):
    motion = pair(tmp_path, ASF.replace("angle deg", f"angle {asf}"), AMC.replace(":DEGREES", amc))
    assert np.allclose(motion.q[0, 3:6], unit * np.array([30, 20, 10]))
    assert any("neither" in note for note in motion.notes) == (amc == "")
    limit = 20.0 if asf.startswith("rad") else math.radians(20.0)
    assert math.isclose(motion.skeleton.bones[1].joint.limits[2][1], limit)


def test_lengths_are_in_the_unit_of_the_asf_file_unless_given(tmp_path: Path):
    asf = ASF.replace("length 0.0254 ", "length 0.02 ")
    motion = pair(tmp_path, asf)
    assert math.isclose(motion.skeleton.bones[2].offset[1], 2 * 1.27)
    assert np.allclose(motion.q[0, :3], 1.27 * np.array([1, 2, 3]))
    in_cm = load_skeleton(tmp_path / "x.asf", length_unit="cm")
    assert in_cm.bones[2].offset[1] == 0.02
    assert np.allclose(load_motion(tmp_path / "x.amc", in_cm).q[0, :3], [0.01, 0.02, 0.03])
    in_dm = load_motion(tmp_path / "x.amc", in_cm, length_unit="dm")
    assert np.allclose(in_dm.q[0, :3], [0.1, 0.2, 0.3])


def test_units_survive_markers_and_pickling(tmp_path: Path):
    motion = pair(tmp_path)
    marked = motion.skeleton.with_markers({"M": ("arm", (0, 0, 0))})
    for skeleton in (marked, pickle.loads(pickle.dumps(marked))):
        assert skeleton == marked
        again = load_motion(tmp_path / "x.amc", skeleton)
        assert np.array_equal(again.q, motion.q)
    plain = Skeleton.build("plain", motion.skeleton.bones)
    assert plain == Skeleton.build("plain", motion.skeleton.bones)
    with pytest.warns(FileWarning, match="not from an ASF file: 1/0.45 inch assumed"):
        guessed = load_motion(tmp_path / "x.amc", plain)
    assert np.allclose(guessed.q[:, :3], CMU * motion.q[:, :3])
    assert np.array_equal(guessed.q[:, 3:], motion.q[:, 3:])


def test_order_of_bones_and_layout_of_lines_do_not_matter(tmp_path: Path):
    motion = pair(tmp_path)
    lines = AMC.split("\n")
    swapped = [*lines[:4], lines[6], "", "# note", " hand\t8  9 # last", lines[5]]
    swapped[4:] = [lines[5], "", "  # note", " hand\t8  9e0 # last", lines[4], *lines[7:]]
    for text in ("\n".join(swapped), "\ufeff" + AMC, AMC.replace("\n", "\r\n"), AMC[:-1]):
        assert np.array_equal(pair(tmp_path, ASF, text).q, motion.q)
    for text in (ASF.replace("\n", "\r"), ASF.replace(":b", ":B").replace("order", "ORDER")):
        assert pair(tmp_path, text).skeleton == motion.skeleton


def test_rate_and_first_frame(tmp_path: Path):
    late = AMC.replace("\n1\n", "\n41\n").replace("\n2\n", "\n42\n")
    motion = pair(tmp_path, amc=late, rate=60.0)
    assert (motion.rate, motion.first_frame, motion.notes) == (60.0, 41, ())
    motion.save(tmp_path / "y.amc")
    again = load_motion(tmp_path / "y.amc", motion.skeleton)
    assert (again.rate, again.first_frame, again.notes) == (60.0, 41, ())
    assert load_motion(tmp_path / "y.amc", motion.skeleton, rate=30.0).rate == 30.0
    with pytest.raises(UsageError, match="rate is 0"):
        load_motion(tmp_path / "y.amc", motion.skeleton, rate=0)
    assert pair(tmp_path, amc="# 0 frames a second\n" + AMC).rate == 120.0


# --- writing


@pytest.mark.parametrize("name", EVERY_JOINT)
def test_every_joint_can_be_written(tmp_path: Path, name: str):
    joint = EVERY_JOINT[name]
    skeleton = chain_of([EVERY_JOINT["free quaternion"], joint, joint, Joint.exp_map()])
    motion = Motion(skeleton, np.array([configuration(skeleton, k) for k in range(4)]), 50.0)
    save_skeleton(skeleton, tmp_path / "x.asf")
    save_motion(motion, tmp_path / "x.amc")
    written = load_skeleton(tmp_path / "x.asf")
    again = load_motion(tmp_path / "x.amc", written)
    assert again.rate == 50.0
    assert furthest(motion, again) < 1e-9
    # A bone shifts along three axes, or along one by a joint of its own.
    padded = sum(3 - len(b.joint.shift_axes) for b in skeleton.bones if len(b.joint.shift_axes) > 1)
    assert written.nv == skeleton.nv + padded
    gap = again.forward().rotations[:, written.bone_index("b2")]
    assert np.isfinite(gap).all()


@given(
    skeletons(joints=tuple(EVERY_JOINT), roots=tuple(EVERY_JOINT), max_bones=9),
    st.integers(0, 10**6),
    st.sampled_from([None, "m", "cm", 0.1234]),
)
@settings(max_examples=40)
def test_any_figure_can_be_written(
    tmp_path_factory: pytest.TempPathFactory, skeleton: Skeleton, seed: int, unit: str | float
):
    path = tmp_path_factory.mktemp("asf") / "x.asf"
    motion = Motion(skeleton, np.array([configuration(skeleton, seed + k) for k in range(3)]), 30.0)
    save_skeleton(skeleton, path, length_unit=unit)
    motion.save(path.with_suffix(".amc"), length_unit=unit)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FileWarning)  # not as tall as a human
        again = load_motion(path.with_suffix(".amc"), load_skeleton(path))
    assert furthest(motion, again) < 1e-7


def test_limits_come_back_where_the_dofs_do(tmp_path: Path):
    limits = [(-0.1, 0.2), (-0.3, math.inf), (-0.5, 0.6)]
    bones = [Bone("root", joint=Joint.free("ZYX"))]
    joints = [
        Joint.euler("XZY", limits),
        Joint.revolute((0.6, 0.0, 0.8), (-1, 2)),
        Joint.prismatic("y", (-0.1, 0.3)),
        Joint.free("XY", [(-1, 1), (-2, 2), (-3, 3), (-0.1, 0.1), (-0.2, 0.2)]),
    ]
    bones += [
        Bone(f"b{k}", parent="root", offset=(0, 0, 0.5), pre=turned("xyz", 10, 20, 30), joint=joint)
        for k, joint in enumerate(joints)
    ]
    save_skeleton(Skeleton.build("x", bones), tmp_path / "x.asf")
    again = load_skeleton(tmp_path / "x.asf")
    for k, joint in enumerate(joints):
        assert np.allclose(again.bones[again.bone_index(f"b{k}")].joint.limits, joint.limits)


NAMES = ["Left Arm", "100%", "a#b", "root", "end", "Begin", ":x", "12", "-.5", "(a)", "腕 左", "ä"]


@pytest.mark.parametrize("name", NAMES)
def test_names_survive(tmp_path: Path, name: str):
    assert len(encode_name(name).split()) == 1
    bones = [
        Bone("the pelvis", joint=Joint.free("ZYX")),
        Bone(name, parent="the pelvis", offset=(0, 1, 0), joint=Joint.revolute("x")),
        Bone("hand", parent=name, offset=(0, 1, 0), joint=Joint.revolute("x")),
        Bone("thumb", parent=name, offset=(1, 1, 0), joint=Joint.revolute("z")),
    ]
    skeleton = Skeleton.build("x", bones)
    motion = Motion(skeleton, np.array([configuration(skeleton, 1)]), 120.0)
    save_skeleton(skeleton, tmp_path / "x.asf")
    motion.save(tmp_path / "x.amc")
    again = load_motion(tmp_path / "x.amc", load_skeleton(tmp_path / "x.asf"))
    assert set(skeleton.bone_names) < set(again.skeleton.bone_names)
    assert furthest(motion, again) < 1e-9


def test_names_in_the_encoding_of_the_files(tmp_path: Path):
    (tmp_path / "x.asf").write_bytes(ASF.replace("arm", "腕").encode("shift_jis"))
    (tmp_path / "x.amc").write_bytes(AMC.replace("arm", "腕").encode("shift_jis"))
    motion = load_motion(tmp_path / "x.amc", load_skeleton(tmp_path / "x.asf"))
    assert motion.skeleton.bone_names == ("root", "腕", "hand", "hand_end")
    assert np.array_equal(motion.q, pair(tmp_path).q)


def test_several_roots_hang_from_one(tmp_path: Path):
    bones = [Bone("a", offset=(1, 2, 3), joint=Joint.free()), Bone("b", joint=Joint.exp_map())]
    skeleton = Skeleton.build("x", [*bones, Bone("b_end", parent="b", offset=(0, 0, 1))])
    motion = Motion(skeleton, np.array([configuration(skeleton, k) for k in range(3)]), 120.0)
    save_skeleton(skeleton, tmp_path / "x.asf", length_unit="m")
    motion.save(tmp_path / "x.amc", length_unit="m")
    again = load_motion(tmp_path / "x.amc", load_skeleton(tmp_path / "x.asf"))
    assert furthest(motion, again) < 1e-9


def test_missing_frames_stay_missing(tmp_path: Path):
    skeleton = human()
    q = np.array([configuration(skeleton, k) for k in range(5)])
    q[[1, 2]] = np.nan
    save_skeleton(skeleton, tmp_path / "x.asf")
    motion = Motion(skeleton, q, 120.0, first_frame=7)
    motion.save(tmp_path / "x.amc")
    with pytest.warns(FileWarning, match="frames 8 to 9 are left out; there the motion is missing"):
        again = load_motion(tmp_path / "x.amc", load_skeleton(tmp_path / "x.asf"))
    assert again.first_frame == 7
    assert np.isnan(again.q).all(axis=1).tolist() == [False, True, True, False, False]
    assert furthest(motion, again) < 1e-9


def test_long_motions_are_written_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    skeleton = human()
    motion = Motion(skeleton, np.array([configuration(skeleton, k) for k in range(7)]), 120.0)
    motion.save(tmp_path / "whole.amc")
    monkeypatch.setattr("exactik.io.acclaim._write.CHUNK_ENTRIES", 2 * 9 * len(skeleton.bones))
    motion.save(tmp_path / "parts.amc")
    assert (tmp_path / "whole.amc").read_bytes() == (tmp_path / "parts.amc").read_bytes()


def test_a_skeleton_is_needed_and_must_fit(tmp_path: Path):
    path = write(tmp_path / "x.amc", AMC)
    with pytest.raises(FileError, match=r"AMC holds no skeleton; give skeleton=load_skeleton"):
        load_motion(path)
    with pytest.raises(FileError, match="joint 'free quaternion', which AMC cannot move"):
        load_motion(path, Skeleton.build("x", [Bone("root", joint=Joint.free())]), length_unit="m")
    with pytest.raises(FileError, match="line 6: no bone named 'arm' in the skeleton"):
        load_motion(
            path, Skeleton.build("x", [Bone("a", joint=Joint.free("ZYX"))]), length_unit="m"
        )
