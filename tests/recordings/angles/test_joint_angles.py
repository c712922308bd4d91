"""Joint angles: each by what it is named after, signs of both sides, any figure, an oracle."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import exactik as ik
from exactik.errors import UsageError
from exactik.model import Bone, Joint, Skeleton
from exactik.model.motion import Motion
from exactik.recordings.angles import (
    JOINTS,
    SEGMENTS,
    compute_joint_angles,
    describe_angles,
    find_body_segments,
)
from tests.support.checkout import DOCS

HUMAN = ik.human()
ARMS_DOWN = {"l_upper_arm.rx": -45.0, "r_upper_arm.rx": 45.0}


def pose(**degrees: float) -> dict[str, float]:
    """Angles [°] of the human with hanging arms and these dofs moved [°], "_" + dof after a dot."""
    q = np.zeros(HUMAN.nq)
    for name, angle in {
        **ARMS_DOWN,
        **{k.replace("__", "."): a for k, a in degrees.items()},
    }.items():
        q[HUMAN.dof_names.index(name)] = np.radians(angle)
    angles = compute_joint_angles(Motion(HUMAN, q[None], 100.0))
    return dict(zip(angles.names, angles.degrees[0].tolist(), strict=True))


def random_motion(seed: int, frames: int = 20) -> Motion:
    """Poses inside the limits, the root anywhere."""
    rng = np.random.default_rng(seed)
    lower = np.where(np.isfinite(HUMAN.lower), HUMAN.lower, -3.0)
    upper = np.where(np.isfinite(HUMAN.upper), HUMAN.upper, 3.0)
    return Motion(HUMAN, rng.uniform(lower, upper, (frames, HUMAN.nv)), 100.0)


@pytest.mark.parametrize(
    ("dof", "degrees", "angle"),
    [
        ("pelvis.ry", 10.0, "pelvis_tilt"),
        ("pelvis.rx", -7.0, "pelvis_obliquity"),
        ("pelvis.rz", 50.0, "pelvis_rotation"),
        ("upper_back.ry", 20.0, "trunk_flexion"),
        ("upper_back.rx", 15.0, "trunk_bending"),
        ("thorax.rz", 12.0, "trunk_rotation"),
        ("head.ry", 18.0, "neck_flexion"),
        ("head.rx", 8.0, "neck_bending"),
        ("head.rz", 30.0, "neck_rotation"),
        ("r_thigh.ry", -60.0, "hip_flexion_r"),
        ("l_thigh.ry", -60.0, "hip_flexion_l"),
        ("r_thigh.rx", 20.0, "hip_adduction_r"),
        ("l_thigh.rx", -20.0, "hip_adduction_l"),
        ("r_thigh.rz", 25.0, "hip_rotation_r"),
        ("l_thigh.rz", -25.0, "hip_rotation_l"),
        ("r_shin.ry", 100.0, "knee_flexion_r"),
        ("l_shin.ry", 100.0, "knee_flexion_l"),
        ("r_foot.ry", -15.0, "ankle_dorsiflexion_r"),
        ("l_foot.rx", -10.0, "ankle_inversion_l"),
        ("r_foot.rx", 10.0, "ankle_inversion_r"),
        ("l_toes.ry", -30.0, "toe_extension_l"),
        ("l_forearm.rz", -80.0, "elbow_flexion_l"),
        ("r_forearm.rz", 80.0, "elbow_flexion_r"),
        ("l_hand.rx", -40.0, "wrist_flexion_l"),
        ("r_hand.rx", 40.0, "wrist_flexion_r"),
        ("l_hand.rz", 15.0, "wrist_deviation_l"),
        ("r_hand.rz", -15.0, "wrist_deviation_r"),
    ],
)
def test_a_joint_moved_one_way_changes_the_angle_of_that_name_alone(dof, degrees, angle):
    before, after = pose(), pose(**{dof.replace(".", "__"): degrees})
    assert after[angle] - before[angle] == pytest.approx(abs(degrees), abs=1e-9)
    moved = {n for n in after if abs(after[n] - before[n]) > 1e-9}
    with_the_body = {"pelvis": ("thorax",), "trunk": ("thorax",)}.get(angle.split("_")[0], ())
    assert moved == {angle} | {n for n in moved if n.startswith(with_the_body)}


def test_the_wrist_bone_pronates_the_forearm():
    assert pose(r_wrist__ry=50.0)["forearm_pronation_r"] == pytest.approx(50.0)
    assert pose(l_wrist__ry=50.0)["forearm_pronation_l"] == pytest.approx(50.0)


def test_an_arm_raised_sideways_and_forward_has_the_planes_of_the_isb():
    side = pose(r_upper_arm__rx=-20.0, l_upper_arm__rx=20.0)  # 65° from hanging
    for s in "rl":
        assert side[f"shoulder_elevation_{s}"] == pytest.approx(65.0)
        assert side[f"shoulder_plane_{s}"] == pytest.approx(0.0, abs=1e-9)
        assert side[f"shoulder_adduction_{s}"] == pytest.approx(-65.0)
    q = np.zeros((1, HUMAN.nq))
    segments = find_body_segments(HUMAN)
    lift = Rotation.from_rotvec([0.0, -np.radians(70.0), 0.0]).as_matrix()  # about what is right
    for s in "rl":
        bone = HUMAN.bones[HUMAN.bone_index(f"{s}_upper_arm")]
        R_world_arm = lift @ segments.R_world_lab @ segments.R_bone_segment[f"upper_arm_{s}"].T
        first = HUMAN.dof_names.index(f"{s}_upper_arm.rz")
        turn = Rotation.from_matrix(np.array(bone.pre).T @ R_world_arm)
        q[0, first : first + 3] = turn.as_euler("ZXY")
    forward = compute_joint_angles(Motion(HUMAN, q, 100.0))
    for s in "rl":
        for name, expected in (("plane", 90.0), ("elevation", 70.0), ("flexion", 70.0)):
            value = np.degrees(forward.angle(f"shoulder_{name}_{s}")[0])
            assert value == pytest.approx(expected), (name, s)


def test_mirrored_poses_have_mirrored_angles():
    motion = random_motion(1)
    q = np.empty_like(motion.q)
    for k, name in enumerate(HUMAN.dof_names):
        bone, dof = name.split(".")
        twin = {"l_": "r_", "r_": "l_"}.get(bone[:2], bone[:2]) + bone[2:]
        sign = 1.0 if dof in ("ry", "tx", "tz") else -1.0
        q[:, HUMAN.dof_names.index(f"{twin}.{dof}")] = sign * motion.q[:, k]
    ours, mirror = compute_joint_angles(motion), compute_joint_angles(Motion(HUMAN, q, 100.0))
    turns_over = ("rotation", "obliquity", "bending")
    for name in ours.names:
        if name[-2:] in ("_r", "_l"):
            expected = ours.angle(name[:-1] + ("l" if name[-1] == "r" else "r"))
        else:
            expected = ours.angle(name) * (-1.0 if name.endswith(turns_over) else 1.0)
        off = np.remainder(mirror.angle(name) - expected + np.pi, 2 * np.pi) - np.pi
        assert np.abs(off).max() < 1e-9, name


def test_angles_are_the_euler_angles_of_another_library():
    segments = find_body_segments(HUMAN)
    for seed in range(5):
        motion = random_motion(seed, frames=1)
        rotations, angles = motion.forward().rotations, compute_joint_angles(motion)
        for name, proximal, distal, order, k, sign in (
            ("pelvis_tilt", "lab", "pelvis", "YXZ", 2, -1),
            ("hip_flexion_r", "pelvis", "thigh_r", "ZXY", 0, 1),
            ("hip_rotation_l", "pelvis", "thigh_l", "ZXY", 2, -1),
            ("trunk_bending", "pelvis", "thorax", "ZXY", 1, 1),
            ("shoulder_elevation_l", "thorax", "upper_arm_l", "YXY", 1, 1),
            ("wrist_deviation_r", "radius_r", "hand_r", "XZY", 1, -1),
            ("forearm_pronation_l", "upper_arm_l", "radius_l", "ZXY", 2, -1),
        ):
            R = [segments.compute_rotations(s, rotations)[0] for s in (proximal, distal)]
            expected = sign * Rotation.from_matrix(R[0].T @ R[1]).as_euler(order)[k]
            assert angles.angle(name)[0] == pytest.approx(expected, abs=1e-9), name


def test_angles_do_not_depend_on_how_joints_are_made():
    motion = random_motion(3)
    balls = [
        Bone(b.name, parent=b.parent, offset=b.offset, pre=b.pre, joint=Joint.quaternion())
        for b in HUMAN.bones[1:]
    ]
    twin = Skeleton.build("balls", [HUMAN.bones[0], *balls])
    pose, rows = motion.forward(), []
    root = HUMAN.bones[0].joint.nq
    for t in range(len(motion)):
        q = [motion.q[t, :root]]
        for bone in HUMAN.bones[1:]:
            R_parent = pose.rotations[t, HUMAN.bone_index(bone.parent or "")]
            R_base = R_parent if bone.pre is None else R_parent @ np.array(bone.pre)
            turn = R_base.T @ pose.rotations[t, HUMAN.bone_index(bone.name)]
            q.append(Rotation.from_matrix(turn).as_quat(scalar_first=True))
        rows.append(np.concatenate(q))
    other = compute_joint_angles(Motion(twin, np.array(rows), 100.0))
    ours = compute_joint_angles(motion)
    assert set(ours.names) < set(other.names)  # a ball has angles that a hinge has not
    for name in ours.names:
        assert np.allclose(ours.angle(name), other.angle(name), atol=1e-7), name
    assert np.abs(other.angle("knee_rotation_r")).max() < 1e-7


def test_what_a_hinge_cannot_do_is_left_out():
    names = compute_joint_angles(random_motion(4)).names
    assert "knee_flexion_r" in names
    assert not {"knee_adduction_r", "knee_rotation_l", "ankle_rotation_r"} & set(names)


def test_angles_run_on_past_half_a_turn_and_over_gaps():
    q = np.zeros((200, HUMAN.nq))
    q[:, HUMAN.dof_names.index("pelvis.rz")] = np.linspace(0.0, 4 * np.pi, 200)
    q[90:95] = np.nan
    heading = compute_joint_angles(Motion(HUMAN, q, 100.0)).angle("pelvis_rotation")
    assert np.isnan(heading[90:95]).all()
    known = heading[np.isfinite(heading)]
    assert np.abs(np.diff(known)).max() < 0.4
    assert known[-1] - known[0] == pytest.approx(4 * np.pi)
    assert abs(np.median(known)) <= np.pi


def test_a_thigh_lifted_past_gimbal_lock_keeps_its_course():
    q = np.zeros((100, HUMAN.nq))
    q[:, HUMAN.dof_names.index("r_thigh.rx")] = -np.linspace(0.0, np.radians(150.0), 100)
    angles = compute_joint_angles(Motion(HUMAN, q, 100.0))
    assert np.allclose(np.degrees(angles.angle("hip_adduction_r")), np.linspace(0, -150, 100))
    assert np.abs(angles.angle("hip_flexion_r")).max() < 1e-6
    near = angles.near_lock[:, angles.names.index("hip_flexion_r")]
    assert 4 < near.sum() < 16  # 5.7° on both sides of 90°, steps of 1.5°
    assert not angles.near_lock[:, angles.names.index("hip_adduction_r")].any()


def test_a_hanging_arm_is_marked_as_poorly_defined():
    q = np.zeros((2, HUMAN.nq))
    for name, degrees in ARMS_DOWN.items():
        q[1, HUMAN.dof_names.index(name)] = np.radians(degrees)
    angles = compute_joint_angles(Motion(HUMAN, q, 100.0))
    for name in ("shoulder_plane_r", "shoulder_rotation_l"):
        assert angles.near_lock[:, angles.names.index(name)].tolist() == [False, True]
    assert not angles.near_lock[:, angles.names.index("shoulder_elevation_r")].any()


@pytest.mark.parametrize(
    ("names", "forward", "up"),
    [
        ("Hips LeftUpLeg LeftLeg RightUpLeg RightLeg Spine", 2, 1),
        ("root lfemur ltibia rfemur rtibia thorax", 2, 1),
        ("mixamorig:Hips LeftHip LeftKnee RightHip RightKnee Chest", 0, 2),
        ("Bip01 Bip01_L_Thigh Bip01_L_Calf Bip01_R_Thigh Bip01_R_Calf Bip01_Spine", 0, 2),
        ("pelvis thigh.L shin.L thigh.R shin.R spine", 0, 2),
    ],
)
def test_bones_of_other_skeletons_are_known_by_name(names, forward, up):
    root, *others = names.split()
    axes = np.zeros((3, 3))
    axes[:, 0][forward], axes[:, 1][up] = 1.0, 1.0
    left = np.cross(axes[:, 1], axes[:, 0])
    bones = [Bone(root, joint=Joint.free("ZXY"))]
    for thigh, shank, side in ((others[0], others[1], 1.0), (others[2], others[3], -1.0)):
        bones.append(Bone(thigh, parent=root, offset=0.1 * side * left, joint=Joint.quaternion()))
        bones.append(Bone(shank, parent=thigh, offset=-0.4 * axes[:, 1], joint=Joint.quaternion()))
    skeleton = Skeleton.build("x", [*bones, Bone(others[4], parent=root, offset=0.2 * axes[:, 1])])
    segments = find_body_segments(skeleton)
    assert segments.bones["pelvis"] == root
    assert segments.bones["thigh_l"] == others[0] and segments.bones["shank_r"] == others[3]
    assert np.allclose(segments.R_world_lab[:, 0], axes[:, 0])
    assert np.allclose(segments.R_world_lab[:, 1], axes[:, 1])


def test_a_figure_without_a_body_is_refused_with_its_bones():
    chain = Skeleton.build("worm", [Bone("a"), Bone("b", parent="a", offset=(0, 0, 1))])
    with pytest.raises(
        UsageError, match="no body is known in the skeleton 'worm': its bones are a"
    ):
        compute_joint_angles(Motion(chain, np.zeros((1, chain.nq)), 1.0))
    with pytest.raises(ik.ExactikError, match="thigh_right"):
        find_body_segments(HUMAN, {"thigh_right": "r_thigh"})


def test_a_figure_that_lies_at_rest_is_refused():
    bones = [Bone("hips")]
    for side, y in (("left", 0.1), ("right", -0.1)):
        bones.append(
            Bone(f"{side}_thigh", parent="hips", offset=(0, y, 0), joint=Joint.revolute("Y"))
        )
        bones.append(
            Bone(
                f"{side}_shin",
                parent=f"{side}_thigh",
                offset=(0.3, 0, -0.3),
                joint=Joint.revolute("Y"),
            )
        )
    with pytest.raises(UsageError, match="does not stand upright"):
        find_body_segments(Skeleton.build("x", bones))


def test_every_angle_is_described():
    table = describe_angles()
    names = [a.name for joint in JOINTS for a in joint.angles if a is not None]
    assert len(names) == len(set(names))
    assert all(f"`{name}" in table for name in names)
    assert {j.distal for j in JOINTS if not j.paired} <= set(SEGMENTS)
    docs = DOCS / "angles.md"
    assert table in docs.read_text(encoding="utf-8")
