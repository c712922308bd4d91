"""BVH: what real files hold, what their channels mean, and that all we write is read back."""

from __future__ import annotations

import csv
import warnings
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exactik import Bone, Joint, Skeleton, human
from exactik.errors import FileError, FileWarning
from exactik.io import load_motion, load_skeleton, save_motion, save_skeleton
from exactik.io.bvh import infer_rate
from exactik.model.motion import Motion
from exactik.spatial import axis_rotation, euler_angles
from exactik.typing import Array
from tests.support.models import EVERY_JOINT, chain_of, configuration, skeletons

CMU = 0.0254 / 0.45  # [m] in one unit of those files

# File: joints, End Sites, frames, rate, channels, what 'auto' takes for the length unit.
FACTS: dict[str, tuple[int, int, int, float, int, float | None]] = {
    "bandai_namco/dataset-1_bow_active_001": (22, 5, 128, 30.0, 132, 0.01),
    "blender_makehuman/tpose": (173, 49, 1, 24.0, 951, 0.1),
    "blender_makehuman/walk1": (75, 16, 14, 24.0, 228, 0.1),
    "bvh_toolbox/walk01": (19, 5, 101, 24.0, 60, 0.01),
    "cmu_3dsmax/131_01": (31, 7, 250, 120.0, 96, CMU),
    "cmu_cgspeed/02_01": (31, 7, 344, 120.0, 96, CMU),
    "cmu_cgspeed/11_01": (31, 7, 598, 120.0, 96, CMU),
    "cmu_daz/pirouette": (43, 14, 592, 120.0, 132, 0.01),
    "dog_tencent/dog_walk": (61, 15, 195, 30.0, 366, 0.01),
    "eyes_japan/sample": (19, 5, 743, 30.0, 114, 0.0254),
    "mixamo/test_freebvh": (55, 15, 69, 30.0, 168, 0.01),
    "motionbuilder/AV_8Walk_Meredith_HVHA_Rep1": (23, 7, 1064, 120.0, 72, 0.0254),
    "odd/custom_skeleton_walk_example": (78, 17, 47, 72.0, 237, 0.01),
    "odd/simple": (4, 2, 3, 30.0, 15, 0.1),
    "odd/sinusoidal": (4, 0, 120, 60.0, 15, None),
    "perception_neuron/test": (59, 13, 300, 125.0, 180, 0.01),
    "pybvh/bvh_example": (24, 5, 75, 30.0, 75, 0.0254),
    "pybvh/bvh_test2": (23, 5, 61, 120.0, 72, 0.01),
    "pybvh/rotation_first_root": (4, 2, 4, 25.0, 15, CMU),
    "xia/example": (31, 7, 278, 120.0, 96, CMU),
}
POSITIONS_LOOK_ADDED = (
    "blender_makehuman/tpose",
    "blender_makehuman/walk1",
    "odd/custom_skeleton_walk_example",
)

HEAD = """HIERARCHY
ROOT hips
{
  OFFSET 0 0 0
  CHANNELS 6 Xposition Yposition Zposition Zrotation Yrotation Xrotation
"""
SMALL = f"""{HEAD}  JOINT chest
  {{
    OFFSET 0 5 0
    CHANNELS 3 Zrotation Xrotation Yrotation
    End Site
    {{
      OFFSET 0 0 3
    }}
  }}
}}
MOTION
Frames: 2
Frame Time: 0.04
1 2 3 0 0 0 0 0 0
1 2 3 10 20 30 40 50 60
"""


def read(path: Path, **options: Any) -> Motion:
    """The motion, in whatever unit, without the warnings that the test is not about."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FileWarning)
        return load_motion(path, **{"length_unit": "cm", **options})


def write(folder: Path, text: str) -> Path:
    path = folder / "some.bvh"
    path.write_text(text, encoding="utf-8", newline="")
    return path


def furthest(one: Motion, other: Motion) -> float:
    """The largest distance between bones of the same name [m]."""
    bones = [other.skeleton.bone_index(name) for name in one.skeleton.bone_names]
    gap = one.forward().positions - other.forward().positions[:, bones]
    return float(np.abs(gap).max())


# --- real files


@pytest.mark.parametrize("name", FACTS)
def test_facts_of_real_files(shared_data: Path, name: str):
    joints, ends, frames, rate, channels, _ = FACTS[name]
    motion = read(shared_data / f"data/bvh/{name}.bvh")
    bones = motion.skeleton.bones
    assert sum(bone.joint.kind == "fixed" for bone in bones) == ends
    assert len(bones) == joints + ends
    assert motion.skeleton.nv == motion.skeleton.nq == channels
    assert motion.q.shape == (frames, channels)
    assert np.isfinite(motion.q).all()
    assert motion.rate == rate
    assert motion.metadata["length_unit"] == 0.01
    assert abs(motion.metadata["frame_time"] * rate - 1.0) < 1e-4
    assert motion.source.endswith(f"{name}.bvh")
    added = any("positions='add'" in note for note in motion.notes)
    assert added == (name in POSITIONS_LOOK_ADDED)
    assert len(motion.notes) == added
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert load_skeleton(motion.source, length_unit="cm") == motion.skeleton


@pytest.mark.parametrize("name", FACTS)
def test_units_are_guessed_from_the_height_and_announced(shared_data: Path, name: str):
    path, unit = shared_data / f"data/bvh/{name}.bvh", FACTS[name][-1]
    if unit is None:
        with pytest.raises(FileError, match=r"8 units, a human in none of .*length_unit"):
            load_skeleton(path, length_unit="auto")
        return
    with pytest.warns(FileWarning, match=r"is taken, in which the figure is [12]\.\d\d m tall"):
        guessed = load_skeleton(path, length_unit="auto")
    given_unit = load_skeleton(path, length_unit=unit)
    assert guessed == given_unit


def test_forward_kinematics_agrees_with_another_program(shared_data: Path):
    """The reference has five decimals."""
    folder = shared_data / "data/bvh/bvh_toolbox"
    motion = load_motion(folder / "walk01.bvh", length_unit=1.0)
    pose = motion.forward()
    with open(folder / "walk01_pos.csv", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    values = np.array(rows[1:], dtype=float)
    for column, title in enumerate(rows[0][1:], start=1):
        bone, axis = title.replace("_End", "_end").split(".")
        positions = pose.positions[:, motion.skeleton.bone_index(bone), "xyz".index(axis)]
        assert np.abs(positions - values[:, column]).max() < 1e-5
    with open(folder / "walk01_rot.csv", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    values = np.array(rows[1:], dtype=float)
    for bone in ("Hips", "LeftFoot", "RightHand"):
        index = motion.skeleton.bone_index(bone)
        columns = [rows[0].index(f"{bone}.{axis}") for axis in "zxy"]
        rotations = [
            axis_rotation(a, np.deg2rad(values[:, c])) for a, c in zip("ZXY", columns, strict=True)
        ]
        parent = motion.skeleton.parents[index]
        local = pose.rotations[:, index]
        if parent >= 0:
            local = np.swapaxes(pose.rotations[:, parent], -1, -2) @ local
        assert np.abs(rotations[0] @ rotations[1] @ rotations[2] - local).max() < 1e-5


@pytest.mark.full
@pytest.mark.parametrize("name", FACTS)
@pytest.mark.parametrize("positions", ["replace", "add"])
def test_real_files_come_back_the_same(
    shared_data: Path, tmp_path: Path, name: str, positions: str
):
    motion = read(shared_data / f"data/bvh/{name}.bvh", positions=positions)
    motion.save(tmp_path / "again.bvh", length_unit="in")
    again = read(tmp_path / "again.bvh", length_unit="in")
    assert again.rate == motion.rate
    assert again.skeleton.bone_names == motion.skeleton.bone_names
    assert again.skeleton.dof_names == motion.skeleton.dof_names
    assert np.abs(again.q - motion.q).max() < 1e-10
    assert furthest(motion, again) < 1e-10


# --- what channels mean


def test_channels_multiply_in_their_order(tmp_path: Path):
    motion = load_motion(write(tmp_path, SMALL), length_unit="m")
    assert motion.skeleton.dof_names[3:] == (
        "hips.rz",
        "hips.ry",
        "hips.rx",
        "chest.rz",
        "chest.rx",
        "chest.ry",
    )
    assert np.allclose(motion.q[1], [1, 2, 3, *np.deg2rad([10, 20, 30, 40, 50, 60])])

    def turned(letters: str, degrees: list[float]) -> Array:
        a, b, c = (axis_rotation(x, np.deg2rad(d)) for x, d in zip(letters, degrees, strict=True))
        return a @ b @ c

    hips, chest = turned("ZYX", [10, 20, 30]), turned("ZXY", [40, 50, 60])
    pose = motion.forward()
    assert np.allclose(pose.rotations[1, 1], hips @ chest)
    assert np.allclose(pose.positions[1, 1], [1, 2, 3] + hips @ [0, 5, 0])
    end = [1, 2, 3] + hips @ ([0, 5, 0] + chest @ [0, 0, 3])
    assert np.allclose(pose.positions[1, motion.skeleton.bone_index("chest_end")], end)


def test_positions_after_rotations_still_come_first(shared_data: Path, tmp_path: Path):
    motion = read(shared_data / "data/bvh/pybvh/rotation_first_root.bvh", length_unit="m")
    assert str(motion.skeleton.bones[0].joint) == "free euler ZXY"
    assert np.allclose(
        motion.forward().positions[:, 0], [[10 + k, 50 + k, k - 20] for k in range(4)]
    )
    assert np.allclose(motion.q[0, 3:6], np.deg2rad([5, -3, 0]))


def inner_positions(channels: str, row: str) -> str:
    rest = SMALL.replace("CHANNELS 3 Zrotation Xrotation Yrotation", channels)
    rest = rest.replace("ROOT hips\n{\n  OFFSET 0 0 0", "ROOT hips\n{\n  OFFSET 7 8 9")
    return rest[: rest.index("Frames:")] + f"Frames: 1\nFrame Time: 0.04\n1 2 3 0 0 90 {row}\n"


@pytest.mark.parametrize(
    ("channels", "row", "place", "kind"),
    [
        (
            "CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation",
            "4 5 6 0 0 90",
            (4, 5, 6),
            "free euler ZXY",
        ),
        ("CHANNELS 3 Zposition Yposition Xposition", "6 5 4", (4, 5, 6), "translation"),
        ("CHANNELS 2 Zposition Xrotation", "6 30", (0, 5, 6), "free euler X"),
        ("CHANNELS 1 Yposition", "7", (0, 7, 0), "prismatic y"),
        ("CHANNELS 2 Yposition Xposition", "7 1", (1, 7, 0), "translation"),
        ("CHANNELS 1 Yrotation", "30", (0, 5, 0), "euler Y"),
        ("CHANNELS 2 Yrotation Xrotation", "30 40", (0, 5, 0), "euler YX"),
        ("CHANNELS 3 Zrotation Xrotation Zrotation", "1 2 3", (0, 5, 0), "euler ZXZ"),
        ("CHANNELS 0", "", (0, 5, 0), "fixed"),
        ("", "", (0, 5, 0), "fixed"),
    ],
)
def test_any_joint_may_have_any_channels(
    tmp_path: Path, channels: str, row: str, place: tuple[float, ...], kind: str
):
    """And where positions are missing the offset stays."""
    path = write(tmp_path, inner_positions(channels, row))
    motion = load_motion(path, length_unit="m")
    chest = motion.skeleton.bones[1]
    assert str(chest.joint) == kind
    assert chest.offset == (0.0, 5.0, 0.0)  # the rest pose is the one that the offsets draw
    assert np.allclose(motion.forward().positions[0, 0], [1, 2, 3])
    turned = axis_rotation("x", np.pi / 2)
    assert np.allclose(motion.forward().positions[0, 1], [1, 2, 3] + turned @ place)
    added = load_motion(path, length_unit="m", positions="add")
    assert added.skeleton == motion.skeleton
    assert np.allclose(added.forward().positions[0, 0], [8, 10, 12])
    offset = np.array([0, 5, 0])
    shift = np.array(place) - offset
    names = [c for c in channels.split() if c.endswith("position")]
    for axis in range(3):  # the offset is replaced, or not, only where there is a channel
        if f"{'XYZ'[axis]}position" in names:
            shift[axis] = place[axis]
    expected = np.array([8, 10, 12]) + turned @ (offset + shift)
    assert np.allclose(added.forward().positions[0, 1], expected)


def test_added_positions_stand_where_they_should(shared_data: Path):
    """MakeHuman's feet are on the ground, and its root is not at the origin."""
    path = shared_data / "data/bvh/blender_makehuman/walk1.bvh"
    added = load_motion(path, length_unit="dm", positions="add")
    assert np.allclose(added.forward().positions[0, 0], [0, 0.123529, 0.955688])
    lowest = added.forward().positions[..., 2].min(axis=1)
    assert np.abs(lowest).max() < 0.1
    assert added.notes == ()


def test_names_may_be_anything_on_a_line(tmp_path: Path):
    names = ["mixamorig:Hips", "Hüfte links", "脚.001", "a b  c"]
    text = SMALL.replace("ROOT hips", f"ROOT {names[0]}").replace(
        "JOINT chest", f"JOINT {names[1]}"
    )
    motion = load_motion(write(tmp_path, text), length_unit="cm")
    assert motion.skeleton.bone_names == (names[0], names[1], f"{names[1]}_end")
    bones = [Bone(names[0], joint=Joint.free("ZYX"))]
    bones += [Bone(b, parent=a) for a, b in pairwise(names)]
    save_skeleton(Skeleton.build("x", bones), tmp_path / "names.bvh")
    assert load_skeleton(tmp_path / "names.bvh", "cm").bone_names == tuple(names)


@pytest.mark.parametrize("text", [
    SMALL.lower().replace("position", "POSITION"),
    SMALL.replace("\n", "\r\n"),
    SMALL.replace("\n", "\r"),
    SMALL.replace("\n", "\n\n"),
    SMALL.replace("\n", " \n\t"),
    "\ufeff" + SMALL,
    SMALL.replace("\n  {", " {").replace("\n    {", " {"),
    SMALL.replace("\n", " "),
    SMALL.replace("1 2 3 10 20 30 40 50 60", "+1.e0 2E-0\t.3e1 1e+001 20. 30.0 40 \n\n 50 60"),
    SMALL.replace("Frames: 2", "Frames:\t2 ").replace("Frame Time: 0.04", "\nFrame Time:\t4e-2"),
])  # fmt: skip
def test_layout_of_the_text_does_not_matter(tmp_path: Path, text: str):
    motion = load_motion(write(tmp_path, text), length_unit="cm")
    expected = load_motion(write(tmp_path, SMALL), length_unit="cm")
    assert np.array_equal(motion.q, expected.q)
    assert motion.skeleton == expected.skeleton
    assert motion.rate == expected.rate == 25.0


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        (".0083333", 120),
        ("0.008333", 120),
        ("0.00833333", 120),
        ("0.0083", 120),
        ("0.0333333", 30),
        ("0.033333", 30),
        ("0.033", 30),
        ("0.0333", 30),
        ("3.33333e-02", 30),
        ("0.041667", 24),
        ("0.0417", 24),
        ("0.0416", 24),
        ("0.041666", 24),
        ("0.04", 25),
        ("0.0166667", 60),
        ("0.016666", 60),
        ("0.017", 60),
        ("0.016666666666666666", 60),
        ("0.0333667", 30000 / 1001),
        ("0.03337", 30000 / 1001),
        ("0.041708", 24000 / 1001),
        ("0.013888888888888888", 72),
        ("0.01", 100),
        ("0.008", 125),
        ("0.005", 200),
        ("1.0", 1),
        ("0.1", 10),
        ("0.002", 500),
        ("0.001", 1000),
        ("0.00390625", 256),
        ("0.08", 12.5),
        (repr(1 / 119.88), 119.88),
        (repr(1 / 37.5), 37.5),
        ("0.03", 1 / 0.03),
        ("2.5", 0.4),
    ],
)
def test_frame_times_are_rates_that_files_have_rounded(text: str, rate: float):
    assert infer_rate(text) == rate


def test_frame_time_is_kept_and_a_rate_may_be_given(tmp_path: Path):
    path = write(tmp_path, SMALL.replace("0.04", ".0083333"))
    motion = load_motion(path, length_unit="cm")
    assert (motion.rate, motion.metadata["frame_time"]) == (120.0, 0.0083333)
    assert load_motion(path, length_unit="cm", rate=119.9).rate == 119.9


def test_a_unit_must_be_given(tmp_path: Path):
    path = write(tmp_path, SMALL)
    for load in (load_motion, load_skeleton):
        with pytest.raises(
            FileError, match=r"states no length unit; give length_unit='cm', .*auto"
        ):
            load(path)
    assert load_skeleton(path, "in").bones[1].offset[1] == 5 * 0.0254
    assert load_skeleton(path, 2.0).bones[1].offset[1] == 10.0


def test_end_sites_have_names_of_their_own(tmp_path: Path):
    end = "End Site\n    {\n      OFFSET 0 0 3\n    }\n"
    text = SMALL.replace(end, f"{end} {end} End Site tip\n{{ OFFSET 1 1 1 }}\n")
    text = text.replace("JOINT chest\n", "JOINT chest_end2\n  { OFFSET 0 0 0 }\nJOINT chest\n")
    names = load_skeleton(write(tmp_path, text), "cm").bone_names
    assert names == ("hips", "chest_end2", "chest", "chest_end", "chest_end3", "tip")


def test_deep_hierarchies_need_no_recursion(tmp_path: Path):
    depth = 3000
    lines = [HEAD]
    for k in range(depth):
        lines.append(f"JOINT j{k}\n{{\nOFFSET 0 0.01 0\nCHANNELS 1 Xrotation\n")
    lines += ["}\n" * (depth + 1), "MOTION\nFrames: 1\nFrame Time: 0.01\n", "0 " * (6 + depth)]
    path = write(tmp_path, "".join(lines))
    motion = load_motion(path, length_unit="m")
    assert len(motion.skeleton.bones) == depth + 1
    motion.save(tmp_path / "deep.bvh", length_unit="m")
    assert furthest(motion, load_motion(tmp_path / "deep.bvh", length_unit="m")) < 1e-9


def test_several_roots(tmp_path: Path):
    root = SMALL[SMALL.index("ROOT") : SMALL.index("MOTION")]
    text = SMALL.replace("MOTION", root.replace("hips", "dog").replace("chest", "tail") + "MOTION")
    lines = text.rstrip().split("\n")
    lines[-2:] = [f"{line} {line}" for line in lines[-2:]]
    motion = load_motion(write(tmp_path, "\n".join(lines)), length_unit="m")
    pose = motion.forward()
    assert np.array_equal(pose.positions[:, :3], pose.positions[:, 3:])
    motion.save(tmp_path / "two.bvh", length_unit="m")
    assert furthest(motion, load_motion(tmp_path / "two.bvh", length_unit="m")) < 1e-12


# --- onto a skeleton


def test_a_motion_in_the_coordinates_of_another_skeleton(tmp_path: Path):
    path = write(tmp_path, SMALL)
    original = load_motion(path, length_unit="m")
    hips, chest, end = original.skeleton.bones
    other = Skeleton.build(
        "other",
        [
            Bone("cart"),
            Bone("hips", parent="cart", offset=(1, 0, 0), joint=hips.joint),
            Bone("tail", parent="hips", offset=(1, 1, 1)),
            chest,
            end,
        ],
    )
    motion = load_motion(path, other, length_unit="m")
    assert motion.skeleton == other
    assert furthest(original, motion) < 1e-14


@pytest.mark.parametrize(
    ("bones", "message"),
    [
        ([Bone("hips", joint=Joint.free("ZYX"))], "bones 'chest' move, but the skeleton does not"),
        (
            [Bone("hips"), Bone("chest"), Bone("arm", joint=Joint.exp_map())],
            "'arm' move, but the f",
        ),
        ([Bone("hips"), Bone("chest", joint=Joint.euler("ZXY"))], "'hips' has a joint 'fixed' in"),
        (
            [Bone("hips", joint=Joint.free("ZYX")), Bone("chest", joint=Joint.euler("ZYX"))],
            "'chest' has a joint 'euler ZYX' in the skeleton and 'euler ZXY' in the file",
        ),
        (
            [Bone("hips", joint=Joint.free()), Bone("chest", joint=Joint.euler("ZXY"))],
            "'hips' has a joint 'free quaternion'",
        ),
        (
            [
                Bone("hips", joint=Joint.free("ZYX")),
                Bone("chest", pre=axis_rotation("x", 1.0), joint=Joint.euler("ZXY")),
            ],
            "'chest' of the skeleton has a rotation before or after its joint",
        ),
    ],
)
def test_a_skeleton_that_does_not_fit(tmp_path: Path, bones: list[Bone], message: str):
    with pytest.raises(FileError, match=message):
        load_motion(write(tmp_path, SMALL), Skeleton.build("x", bones), length_unit="m")


# --- writing


@pytest.mark.parametrize("name", EVERY_JOINT)
def test_every_joint_can_be_written(tmp_path: Path, name: str):
    joint = EVERY_JOINT[name]
    skeleton = chain_of([EVERY_JOINT["free quaternion"], joint, joint, Joint.exp_map()])
    motion = Motion(skeleton, np.array([configuration(skeleton, k) for k in range(4)]), 50.0)
    save_motion(motion, tmp_path / "x.bvh")
    again = load_motion(tmp_path / "x.bvh", length_unit="cm")
    assert again.rate == 50.0
    assert furthest(motion, again) < 1e-9
    kinds = {str(bone.joint) for bone in again.skeleton.bones}
    assert kinds <= {"free euler ZYX", "euler ZYX"}


@given(
    skeletons(joints=tuple(EVERY_JOINT), roots=tuple(EVERY_JOINT), max_bones=9),
    st.integers(0, 10**6),
    st.sampled_from(["m", "cm", "mm", "in", 0.1234]),
)
@settings(max_examples=40)
def test_any_figure_can_be_written(
    tmp_path_factory: pytest.TempPathFactory, skeleton: Skeleton, seed: int, unit: str | float
):
    path = tmp_path_factory.mktemp("bvh") / "x.bvh"
    motion = Motion(skeleton, np.array([configuration(skeleton, seed + k) for k in range(3)]), 30.0)
    motion.save(path, length_unit=unit)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FileWarning)  # small positions may look as if added
        again = load_motion(path, length_unit=unit)
    assert furthest(motion, again) < 1e-7
    save_skeleton(skeleton, path, length_unit=unit)
    at_rest = Motion(skeleton, skeleton.neutral()[None], 30.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FileWarning)
        assert furthest(at_rest, load_motion(path, length_unit=unit)) < 1e-7


def test_angles_go_on_without_jumps(tmp_path: Path):
    """Several turns of a ball joint, through the poles of its Euler angles."""
    skeleton = Skeleton.build(
        "x", [Bone("a", joint=Joint.exp_map()), Bone("b", parent="a", offset=(0, 0, 1))]
    )
    angle = np.linspace(0.0, 20.0, 2001)
    axis = np.array([0.6, 0.64, 0.48])
    motion = Motion(skeleton, angle[:, None] * axis, 100.0)
    motion.save(tmp_path / "x.bvh")
    again = load_motion(tmp_path / "x.bvh", length_unit="cm")
    assert furthest(motion, again) < 1e-9
    assert np.abs(np.diff(again.q[:, 3:], axis=0)).max() < 0.1
    assert np.abs(np.diff(euler_angles("ZYX", motion.forward().rotations[:, 0]), axis=0)).max() > 6


def test_long_motions_are_written_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    skeleton = human()
    q = np.array([configuration(skeleton, k) for k in range(7)])
    motion = Motion(skeleton, q, 120.0)
    motion.save(tmp_path / "whole.bvh")
    monkeypatch.setattr("exactik.io.bvh._write.CHUNK_ENTRIES", 2 * 9 * len(skeleton.bones))
    motion.save(tmp_path / "parts.bvh")
    assert (tmp_path / "whole.bvh").read_bytes() == (tmp_path / "parts.bvh").read_bytes()
    assert furthest(motion, load_motion(tmp_path / "parts.bvh", length_unit="cm")) < 1e-9


def test_what_cannot_be_written_is_refused_and_the_old_file_stays(tmp_path: Path):
    path = tmp_path / "x.bvh"
    motion = Motion(human(), np.array([human().neutral()] * 3), 120.0, first_frame=10)
    motion.save(path)
    before = path.read_bytes()
    gap = np.array(motion.q)
    gap[1] = np.nan
    with pytest.raises(FileError, match="frame 11 is missing"):
        Motion(human(), gap, 120.0, first_frame=10).save(path)
    for name in ("a\nb", " a", "a{", "b}"):
        with pytest.raises(FileError, match="must be renamed"):
            save_skeleton(Skeleton.build("x", [Bone(name)]), path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["x.bvh"]


def test_no_frames_at_all(tmp_path: Path):
    motion = Motion(human(), np.zeros((0, human().nq)), 120.0)
    motion.save(tmp_path / "x.bvh")
    assert len(load_motion(tmp_path / "x.bvh", length_unit="cm")) == 0
