"""Figures whose coordinates drive several dofs, in all that solves: methods, batches, tracks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import exactik as ik
from exactik.model.functions import Constant, Linear
from tests.support.mechanisms import gripper, legs, random_pose
from tests.support.robot_files import mujoco, write


def marker_problem(skeleton: ik.Skeleton, q: np.ndarray) -> ik.Problem:
    places = skeleton.forward(q).markers
    names = zip(skeleton.markers, places, strict=True)
    return ik.Problem(skeleton, [ik.MarkerGoal(name, place) for name, place in names])


SLOW = ("projected-gradient", "jacobian-transpose", "ccd")  # methods that take thousands of steps


@pytest.mark.parametrize("solver", [name for name in ik.list_solvers() if name not in SLOW])
def test_every_method_finds_the_pose(solver: str):
    skeleton = legs()
    q = random_pose(skeleton, 1)
    result = ik.solve(marker_problem(skeleton, q), q0=random_pose(skeleton, 2, 0.2), solver=solver)
    assert result.reached
    np.testing.assert_allclose(result.q, q, atol=1e-5)


def test_newton_converges_quadratically():
    """Two steps from 1e-3 away are enough: the second derivatives are right, functions' too."""
    skeleton = legs()
    q = random_pose(skeleton, 3)
    problem = marker_problem(skeleton, q)
    start = skeleton.clip(q + 1e-3 * np.random.default_rng(0).normal(size=skeleton.nq))
    x = start
    for _ in range(3):
        _, g, H = problem.evaluate(x)
        x = skeleton.integrate(x, -np.linalg.solve(H, g))
    assert np.abs(x - q).max() < 1e-11


def test_a_batch_is_its_single_solves():
    skeleton = legs()
    poses = np.array([random_pose(skeleton, seed, 0.2) for seed in range(4)])
    places = skeleton.forward(poses).markers
    problem = marker_problem(skeleton, poses[0])
    targets = {name: places[:, m] for m, name in enumerate(skeleton.markers)}
    batch = ik.solve_batch(problem, targets, q0=skeleton.neutral())
    for b, pose in enumerate(poses):
        one = {name: place[b] for name, place in targets.items()}
        alone = ik.solve(problem.with_targets(one), q0=skeleton.neutral())
        np.testing.assert_array_equal(batch.q[b], alone.q)
        np.testing.assert_allclose(batch.q[b], pose, atol=1e-6)


def test_error_bars_are_those_of_repeated_solves():
    """Of coordinates, from the exact Hessian: 400 solves with noise of 1 mm agree within 15 %."""
    skeleton, rng = legs(), np.random.default_rng(5)
    q = random_pose(skeleton, 1, 0.15)
    problem = marker_problem(skeleton, q)
    places = skeleton.forward(q).markers
    noisy = places + rng.normal(scale=1e-3, size=(400, *places.shape))
    targets = {name: noisy[:, m] for m, name in enumerate(skeleton.markers)}
    found = ik.solve_batch(problem, targets, q0=q).q
    sd = ik.solve(problem, q0=q).covariance(1e-3).sd
    inside = (q > skeleton.lower + 0.05) & (q < skeleton.upper - 0.05)
    ratio = found.std(axis=0)[inside] / sd[inside]
    assert np.abs(ratio - 1.0).max() < 0.15


def test_sensitivity_is_that_of_solving_again():
    skeleton = legs()
    q = random_pose(skeleton, 1, 0.15)
    problem = marker_problem(skeleton, q)
    result = ik.solve(problem, q0=q)
    place, h = skeleton.forward(q).markers[list(skeleton.markers).index("RTOE")], 1e-5
    for axis in range(3):
        moved = problem.with_targets({"RTOE": place + h * np.eye(3)[axis]})
        again = ik.solve(moved, q0=result.q, solver=ik.Newton(tolerance=1e-12))
        change = skeleton.difference(again.q, result.q) / h
        np.testing.assert_allclose(result.sensitivity()["RTOE"][:, axis], change, atol=2e-3)


def test_a_recording_is_tracked_and_smoothed():
    skeleton, rng = legs(), np.random.default_rng(0)
    t = np.linspace(0.0, 1.0, 60)[:, None]
    swing = rng.uniform(0.1, 0.3, skeleton.nq) * np.sin(2 * np.pi * (t + rng.random(skeleton.nq)))
    bent = np.array([0.5 * name.endswith("flexion") for name in skeleton.dof_names])
    q = skeleton.clip(skeleton.neutral() + swing - bent)
    places = skeleton.forward(q).markers
    places = places + rng.normal(scale=1e-3, size=places.shape)
    markers = ik.Markers(positions=places, names=tuple(skeleton.markers), rate=60.0)
    errors = []
    for smooth in (None, "auto"):
        track = ik.track(skeleton, markers, smooth=smooth)
        errors.append(np.sqrt(np.mean((track.motion.q - q) ** 2)))
        assert track.motion.skeleton.couplings == skeleton.couplings
        assert (np.abs(track.motion.q - q) / track.sd < 5.0).all()
    assert errors[1] < errors[0] < 6e-3


def test_a_subject_is_calibrated():
    """Scales of bones, the shifts inside a knee among them, from a recording of another size."""
    skeleton, rng = legs(), np.random.default_rng(2)
    q = np.array([random_pose(skeleton, seed, 0.25) for seed in range(12)])
    femur = {f"femur_{side}": 1.1 for side in "rl"}
    bones = [
        ik.Bone(
            bone.name,
            parent=bone.parent,
            offset=femur.get(bone.parent or "", 1.0) * np.array(bone.offset),
            joint=bone.joint.with_scaled_shifts(femur.get(bone.parent or "", 1.0)),
        )
        for bone in skeleton.bones
    ]
    marks = {
        name: (bone, femur.get(bone, 1.0) * np.array(point))
        for name, (bone, point) in skeleton.markers.items()
    }
    subject = skeleton.with_bones(bones, marks)
    places = subject.forward(q).markers + rng.normal(scale=1e-4, size=(12, len(marks), 3))
    markers = ik.Markers(positions=places, names=tuple(marks), rate=60.0)
    fit = ik.calibrate(skeleton, markers, offsets=False)
    assert fit.scales["femur_r"] == pytest.approx(1.1, abs=2e-3)
    assert fit.scales["tibia_r"] == pytest.approx(1.0, abs=2e-3)
    assert fit.skeleton.couplings == skeleton.couplings


def test_a_mechanism_survives_its_file(tmp_path: Path):
    skeleton = legs()
    held = ik.Coupling("foot_r.rz", None, Constant(0.2))
    other = [c for c in skeleton.couplings if c.driver != "foot_r.rz"]
    skeleton = ik.Skeleton.build(skeleton.name, skeleton.bones, skeleton.markers, [*other, held])
    screw = ik.Bone("bolt", joint=ik.Joint.screw((0.6, 0.8, 0.0), 0.01, limits=(-1, 30)))
    skeleton = skeleton.with_bones([*skeleton.bones, screw])
    ik.save_skeleton(skeleton, tmp_path / "legs.npz")
    assert ik.load_skeleton(tmp_path / "legs.npz") == skeleton


# --- grippers and hands beside MuJoCo


GRIPPER = """<mujoco><compiler angle="radian"/><worldbody>
<body name="base"><joint name="j0" axis="0 0 1"/><geom size=".1"/>
<body name="upper" pos="0 0 .3"><joint name="j1" axis="0 1 0"/><geom size=".1"/>
<body name="lower" pos=".4 0 0"><joint name="j2" axis="0 1 0"/><geom size=".1"/>
<body name="left_finger" pos=".3 .03 0"><geom size=".1"/><joint name="lf" range="0 .8"/>
<body name="left_tip" pos=".05 0 0"><joint name="lt" axis="0 0 1"/><geom size=".1"/></body></body>
<body name="right_finger" pos=".3 -.03 0"><joint name="rf" axis="0 0 1"/><geom size=".1"/>
<body name="right_tip" pos=".05 0 0"><joint name="rt" axis="0 0 1"/><geom size=".1"/></body></body>
</body></body></body></worldbody><equality>
<joint joint1="lt" joint2="lf" polycoef="0 -1"/><joint joint1="rt" joint2="rf" polycoef="0 -1"/>
<joint joint1="rf" joint2="lf" polycoef="0 -1"/></equality></mujoco>"""
CURVED = GRIPPER.replace(
    'joint1="rf" joint2="lf" polycoef="0 -1"', 'joint1="rf" joint2="lf" polycoef="0 -.8 -.3 .1 0"'
)
TENDON = GRIPPER.replace(
    '<joint joint1="rf" joint2="lf" polycoef="0 -1"/></equality>',
    '<tendon tendon1="t"/></equality>'
    '<tendon><fixed name="t"><joint joint="rf" coef="2"/><joint joint="lf" coef="1"/></fixed>'
    "</tendon>",
)


@pytest.mark.parametrize("text", [GRIPPER, CURVED, TENDON], ids=["linear", "curved", "tendon"])
def test_grippers_are_solved_where_mujoco_holds_its_constraints(tmp_path: Path, text: str):
    """Both tips to places of a pose that MuJoCo's equalities allow; ours holds them exactly."""
    mj = mujoco()
    skeleton = ik.load_skeleton(write(tmp_path, "gripper.xml", text))
    assert skeleton.dof_names == ("base.rz", "upper.ry", "lower.ry", "left_finger.rz")
    model = mj.MjModel.from_xml_string(text)
    data = mj.MjData(model)
    for x in (0.1, 0.5, 0.75):
        q = np.array([0.3, -0.4, 0.6, x])
        data.qpos[:] = skeleton.joint_coordinates(q)
        mj.mj_forward(model, data)
        assert np.abs(data.efc_pos[: data.ne]).max() < 1e-13
        goals = [
            ik.PositionGoal(f"{side}_tip", data.body(f"{side}_tip").xpos.copy())
            for side in ("left", "right")
        ]
        result = ik.solve(skeleton, goals, q0=[0.0, -0.2, 0.3, 0.4])
        assert result.reached
        np.testing.assert_allclose(result.q, q, atol=1e-6)
        data.qpos[:] = skeleton.joint_coordinates(result.q)
        mj.mj_forward(model, data)
        assert np.abs(data.efc_pos[: data.ne]).max() < 1e-13
        for side in ("left", "right"):
            tip = skeleton.forward(result.q).positions[skeleton.bone_index(f"{side}_tip")]
            np.testing.assert_allclose(data.body(f"{side}_tip").xpos, tip, atol=1e-12)


def test_a_mimic_never_leaves_its_ratio():
    """Whatever is asked of it, at its limits too, and in between as the solver goes."""
    skeleton, rng = gripper(), np.random.default_rng(3)
    names = [f"{b.name}.{dof}" for b in skeleton.bones for dof in b.joint.dof_names]
    for _ in range(10):
        goals = [
            ik.PositionGoal("left_tip", rng.normal(scale=0.5, size=3)),
            ik.PositionGoal("right_tip", rng.normal(scale=0.5, size=3)),
        ]
        result = ik.solve(skeleton, goals, history=True)
        assert 0.0 <= result.q[3] <= 0.8
        everything = dict(zip(names, skeleton.joint_coordinates(result.q), strict=True))
        assert everything["right_finger.rz"] == -everything["left_finger.rz"]
        assert everything["left_tip.rz"] == -everything["left_finger.rz"]
        assert everything["right_tip.rz"] == -everything["right_finger.rz"]


def test_real_grippers_keep_their_ratio(shared_data: Path):
    """A parallel gripper and one of four hinges, from URDF."""
    robots = shared_data / "data" / "robots" / "urdf"
    panda = ik.load_skeleton(robots / "panda.urdf")
    q = panda.clip(np.random.default_rng(0).normal(scale=0.3, size=panda.nq) + 0.02)
    q[-1] = 0.03
    pose = panda.forward(q)
    goals = [
        ik.PositionGoal(bone, pose.positions[panda.bone_index(bone)])
        for bone in ("panda_leftfinger", "panda_rightfinger")
    ]
    result = ik.solve(panda, goals, q0=panda.neutral())
    assert result.reached
    left, right = panda.joint_coordinates(result.q)[-2:]
    assert left == right and 0.0 <= left <= 0.04
    four = ik.load_skeleton(robots / "simple_mimic_gripper.urdf")
    assert [c.function for c in four.couplings] == [
        Linear(-1.0, 0.5),
        Linear(-1.0, 0.0),
        Linear(1.0, -0.5),
    ]
