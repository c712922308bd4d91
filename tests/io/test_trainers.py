"""Files for trainers of robots, replayed in MuJoCo: every body of every frame is where ours is.

The robot floats, branches on several levels, so that breadth and depth first differ, and has a body
with three hinges, one that is fixed, and a hinge that is apart from its body's origin.
"""

from __future__ import annotations

import io
import pickle
import zipfile
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import exactik as ik
from exactik.errors import FileError
from exactik.io import find_robot, list_robots
from exactik.io.formats import TRAINERS
from exactik.model.motion import Motion
from exactik.typing import Array

mujoco = pytest.importorskip("mujoco", reason="MuJoCo is the judge here")

LEGS = "".join(
    f"""<body name="{s}_hip" pos="0.02 {y} -0.1" euler="{e} 0.1 0"><inertial pos="0.01 0.02 -0.1"
 mass="2" diaginertia="1 1 1"/><joint name="{s}_hip_pitch" axis="0 1 0" range="-1.5 1.5"/>
<body name="{s}_thigh" pos="0 0 -0.05"><inertial pos="0 0 -0.2" mass="3" diaginertia="1 1 1"/>
<joint name="{s}_hip_roll" axis="1 0 0.2" pos="0 0.03 0" range="-1 1"/>
<body name="{s}_shin" pos="0 0 -0.3" quat="0.9 0.1 0 0.2"><inertial pos="0 0.01 -0.1" mass="1"
 diaginertia="1 1 1"/><joint name="{s}_knee" axis="0 1 0" range="-0.2 2"/></body></body></body>"""
    for s, y, e in (("left", 0.1, 0.2), ("right", -0.1, -0.3))
)
ROBOT = f"""<mujoco model="small"><compiler angle="radian"/><worldbody>
<body name="pelvis" pos="0 0 0.9"><freejoint name="base"/>
<inertial pos="0.03 0 0.05" mass="8" diaginertia="1 1 1"/>{LEGS}
<body name="torso" pos="0 0 0.2"><inertial pos="0 0 0.1" mass="9" diaginertia="1 1 1"/>
<joint name="waist_z" axis="0 0 1"/><joint name="waist_y" axis="0 1 0"/>
<joint name="waist_x" axis="1 0 0"/>
<body name="camera" pos="0.1 0 0.3" euler="0 0.4 0"><inertial pos="0 0 0" mass="0.1"
 diaginertia="1 1 1"/></body>
<body name="arm" pos="0 0.2 0.3"><inertial pos="0 0.1 0" mass="1" diaginertia="1 1 1"/>
<joint name="elbow" axis="0.6 0.8 0" range="-1 1"/></body></body></body></worldbody></mujoco>"""
SLIDE = '<joint name="elbow" type="slide" axis="0 1 0" range="-0.1 0.1"/>'
TWO_HINGES = '<joint name="elbow" axis="0 1 0"/><joint name="wrist" axis="1 0 0"/>'
ELBOW = '<joint name="elbow" axis="0.6 0.8 0" range="-1 1"/>'
RATE, FRAMES = 50.0, 40


def make_motion(path: Path) -> Motion:
    """A smooth motion of all dofs inside the limits, far from the origin."""
    skeleton = ik.load_skeleton(path, floating=True)
    rng, times = np.random.default_rng(3), np.arange(FRAMES) / RATE
    lower, upper = np.maximum(skeleton.lower, -1.0), np.minimum(skeleton.upper, 1.0)
    phases = rng.uniform(0.0, 6.0, skeleton.nv)
    speeds = rng.uniform(1.0, 4.0, skeleton.nv)
    waves = np.sin(speeds * times[:, None] + phases)
    v = 0.5 * (lower + upper) + 0.45 * (upper - lower) * waves
    start = skeleton.neutral()
    q = np.array([skeleton.integrate(start, row) for row in v])
    return Motion(skeleton, q, RATE, up_axis="z")


@pytest.fixture(scope="module")
def robot(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("robot") / "small.xml"
    path.write_text(ROBOT)
    return path


class Judge:
    """A robot in MuJoCo, whose joints and bodies are asked for by name."""

    def __init__(self, path: Path):
        spec = mujoco.MjSpec.from_file(str(path))
        if not any(joint.type == mujoco.mjtJoint.mjJNT_FREE for joint in spec.joints):
            spec.worldbody.first_body().add_freejoint()
        for geom in list(spec.geoms):  # its meshes may not be here
            spec.delete(geom)
        self.model = spec.compile()
        self.data = mujoco.MjData(self.model)

    def names(self, kind: str) -> list[str]:
        """Names of "body" or "joint" in MuJoCo's order; without the world and the free joint."""
        count = self.model.nbody if kind == "body" else self.model.njnt
        return [getattr(self.model, kind)(k).name for k in range(1, count)]

    def play(self, root: Array, wxyz: Array, joints: dict[str, float]) -> None:
        """Take a pose of the root and of joints by name."""
        self.data.qpos[:7] = [*root, *wxyz]
        for name, value in joints.items():
            self.data.qpos[self.model.joint(name).qposadr[0]] = value
        mujoco.mj_forward(self.model, self.data)

    def move(self, linear: Array, angular: Array, joints: dict[str, float]) -> None:
        """Take velocities of the root, angular in world axes, and of joints by name."""
        R_world_root = self.data.body(1).xmat.reshape(3, 3)
        self.data.qvel[:6] = [*linear, *(R_world_root.T @ angular)]
        for name, value in joints.items():
            self.data.qvel[self.model.joint(name).dofadr[0]] = value
        mujoco.mj_forward(self.model, self.data)

    def velocity(self, body: str, *, at_centre: bool) -> tuple[Array, Array]:
        """Linear and angular velocity of a body in world axes."""
        kind = mujoco.mjtObj.mjOBJ_BODY if at_centre else mujoco.mjtObj.mjOBJ_XBODY
        twist = np.zeros(6)
        number = self.model.body(body).id
        mujoco.mj_objectVelocity(self.model, self.data, kind, number, twist, 0)
        return twist[3:], twist[:3]

    def agrees(self, bodies: dict[str, tuple[Array, Array]]) -> float:
        """Return the largest difference of places [m] and rotations to those given."""
        errors = [0.0]
        for name, (place, rotation) in bodies.items():
            own = self.data.body(name)
            errors.append(np.abs(own.xpos - place).max())
            errors.append(np.abs(own.xmat.reshape(3, 3) - rotation).max())
        return max(errors)


def poses_of(motion: Motion, frame: int) -> dict[str, tuple[Array, Array]]:
    """Return where we have the bodies in a frame."""
    pose, bones = motion.forward(), motion.skeleton.bones
    return {
        bone.name: (pose.positions[frame, k], pose.rotations[frame, k])
        for k, bone in enumerate(bones)
        if bone.is_body
    }


def matrix(wxyz: Array) -> Array:
    R = np.zeros(9)
    mujoco.mju_quat2Mat(R, np.asarray(wxyz, dtype=float))
    return R.reshape(3, 3)


def to_wxyz(xyzw: Array) -> Array:
    return np.asarray(xyzw, dtype=float)[..., [3, 0, 1, 2]]


def quaternion_of(rotation_vector: Array) -> Array:
    wxyz, angle = np.zeros(4), float(np.linalg.norm(rotation_vector))
    mujoco.mju_axisAngle2Quat(wxyz, np.asarray(rotation_vector, float) / max(angle, 1e-300), angle)
    return wxyz


def replays(judge: Judge, motion: Motion, roots: Array, wxyz: Array, joints: list[dict]) -> float:
    """Return the largest error of all bodies in all frames of a file as MuJoCo plays it."""
    errors = []
    for t in range(len(motion)):
        judge.play(roots[t], wxyz[t], joints[t])
        errors.append(judge.agrees(poses_of(motion, t)))
    return max(errors)


def as_dicts(names: Any, values: Array) -> list[dict[str, float]]:
    return [dict(zip(map(str, names), row, strict=True)) for row in np.asarray(values, float)]


# --- one test a format


def check_unitree(path: Path, folder: Path, tolerance: float = 1e-6) -> None:
    judge, motion = Judge(path), make_motion(path)
    file = folder / "walk.unitree.csv"
    motion.save(file)
    rows = np.loadtxt(file, delimiter=",")  # as trainers do
    columns = file.read_text().splitlines()[0].partition(": ")[2].split(",")
    assert columns[7:] == judge.names("joint") and columns[6].endswith(".qw")
    joints = as_dicts(columns[7:], rows[:, 7:])
    assert replays(judge, motion, rows[:, :3], to_wxyz(rows[:, 3:7]), joints) < tolerance


def test_unitree_csv(robot: Path, tmp_path: Path):
    check_unitree(robot, tmp_path)


@pytest.mark.parametrize(
    ("suffix", "at_centre"), [(".mjlab.npz", False), (".beyondmimic.npz", True)]
)
def test_npz_of_mjlab_and_beyondmimic(robot: Path, tmp_path: Path, suffix: str, at_centre: bool):
    judge, motion = Judge(robot), make_motion(robot)
    file = tmp_path / f"walk{suffix}"
    motion.save(file)
    data = np.load(file)
    bodies, names = data["body_names"].tolist(), data["joint_names"].tolist()
    assert data["fps"].tolist() == [50]
    if at_centre:
        firsts = ["pelvis", "left_hip", "right_hip", "torso", "left_thigh", "right_thigh"]
        assert bodies == [*firsts, "camera", "arm", "left_shin", "right_shin"]
        assert names[:2] == ["left_hip_pitch", "right_hip_pitch"] and names[-1] == "right_knee"
    else:
        assert bodies == judge.names("body") and names == judge.names("joint")
    joints = as_dicts(names, data["joint_pos"])
    roots, wxyz = data["body_pos_w"][:, 0], data["body_quat_w"][:, 0]
    assert replays(judge, motion, roots, wxyz, joints) < 1e-6
    for t in (0, 17, FRAMES - 1):
        ours = poses_of(motion, t)
        for b, body in enumerate(bodies):
            assert np.abs(data["body_pos_w"][t, b] - ours[body][0]).max() < 1e-6
            assert np.abs(matrix(data["body_quat_w"][t, b]) - ours[body][1]).max() < 1e-6
        judge.play(roots[t], wxyz[t], joints[t])
        root = data["body_lin_vel_w"][t, 0].astype(float)
        if at_centre:
            arm = judge.data.body(1).xipos - judge.data.body(1).xpos
            root = root - np.cross(data["body_ang_vel_w"][t, 0], arm)
        speeds = as_dicts(names, data["joint_vel"])[t]
        judge.move(root, data["body_ang_vel_w"][t, 0], speeds)
        for b, body in enumerate(bodies):
            linear, angular = judge.velocity(body, at_centre=at_centre)
            assert np.abs(data["body_lin_vel_w"][t, b] - linear).max() < 3e-6
            assert np.abs(data["body_ang_vel_w"][t, b] - angular).max() < 3e-6


def test_velocities_are_central_differences(robot: Path, tmp_path: Path):
    motion = make_motion(robot)
    motion.save(tmp_path / "walk.mjlab.npz")
    data = np.load(tmp_path / "walk.mjlab.npz")
    slopes = np.gradient(data["joint_pos"].astype(float), 1.0 / RATE, axis=0)
    assert np.abs(data["joint_vel"] - slopes).max() < 1e-4
    slopes = np.gradient(data["body_pos_w"].astype(float), 1.0 / RATE, axis=0)[1:-1]
    largest = np.abs(slopes).max()
    assert np.abs(data["body_lin_vel_w"][1:-1] - slopes).max() < 0.01 * largest


def test_gmr_pickle(robot: Path, tmp_path: Path):
    judge, motion = Judge(robot), make_motion(robot)
    file = tmp_path / "walk.gmr.pkl"
    motion.save(file)
    data = pickle.loads(file.read_bytes())  # ours, and in a test
    assert data["link_body_list"] == judge.names("body") and data["fps"] == 50
    assert data["joint_names"] == judge.names("joint")
    joints = as_dicts(data["joint_names"], data["dof_pos"])
    wxyz = to_wxyz(data["root_rot"])
    assert replays(judge, motion, data["root_pos"], wxyz, joints) < 1e-6
    for t in (0, FRAMES - 1):
        judge.play(np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0]), joints[t])
        for b, body in enumerate(data["link_body_list"]):
            assert np.abs(judge.data.body(body).xpos - data["local_body_pos"][t, b]).max() < 1e-6


def test_mimickit_pickle(robot: Path, tmp_path: Path):
    judge, motion = Judge(robot), make_motion(robot)
    file = tmp_path / "walk.mimickit.pkl"
    motion.save(file)
    data = pickle.loads(file.read_bytes())
    frames, names = np.array(data["frames"]), data["joint_names"]
    assert data["loop_mode"] == 0 and data["fps"] == 50 and frames.shape == (FRAMES, 6 + len(names))
    assert names[6:] == ["torso.x", "torso.y", "torso.z", "elbow"]
    assert data["body_names"] == judge.names("body")
    skeleton = motion.skeleton
    waist = [skeleton.dof_names.index(f"{b}.{d}") for b, d in waist_dofs(skeleton)]
    for t in range(FRAMES):
        values = dict(zip(names, frames[t, 6:], strict=True))
        hinges = {name: value for name, value in values.items() if "." not in name}
        at = skeleton.plain_q[waist]
        hinges |= dict(zip(("waist_z", "waist_y", "waist_x"), motion.q[t, at], strict=True))
        judge.play(frames[t, :3], quaternion_of(frames[t, 3:6]), hinges)
        assert judge.agrees(poses_of(motion, t)) < 1e-6
        own, above = (judge.data.body(b).xmat.reshape(3, 3) for b in ("torso", "pelvis"))
        vector = [values[f"torso.{axis}"] for axis in "xyz"]
        assert np.abs(matrix(quaternion_of(np.array(vector))) - above.T @ own).max() < 1e-6


def waist_dofs(skeleton: ik.Skeleton) -> list[tuple[str, str]]:
    bones = [bone for bone in skeleton.bones if bone.joint_name.startswith("waist")]
    return [(bone.name, bone.joint.dof_names[0]) for bone in bones]


class PlainUnpickler(pickle.Unpickler):
    """Reads what `torch.save` writes without PyTorch."""

    def __init__(self, archive: zipfile.ZipFile, folder: str):
        super().__init__(io.BytesIO(archive.read(f"{folder}/data.pkl")))
        self.archive, self.folder = archive, folder

    def find_class(self, module: str, name: str) -> Any:
        rebuild = self.rebuild
        return {
            "_rebuild_tensor_v2": rebuild,
            "FloatStorage": np.dtype("<f4"),
            "OrderedDict": OrderedDict,
        }[name]

    def persistent_load(self, pid: Any) -> Array:
        _, kind, key, where, count = pid
        numbers = np.frombuffer(self.archive.read(f"{self.folder}/data/{key}"), kind)
        assert where == "cpu" and len(numbers) == count
        return numbers

    def rebuild(self, storage: Array, first: int, shape: Any, strides: Any, *_: Any) -> Array:
        inner = np.lib.stride_tricks.as_strided(storage[first:], shape, [4 * s for s in strides])
        return inner.copy()


def load_motion_file(file: Path) -> dict[str, Any]:
    with zipfile.ZipFile(file) as archive:
        folder = archive.namelist()[0].partition("/")[0]
        assert archive.read(f"{folder}/version") == b"3\n"
        return PlainUnpickler(archive, folder).load()


def test_protomotions(robot: Path, tmp_path: Path):
    judge, motion = Judge(robot), make_motion(robot)
    file = tmp_path / "walk.motion"
    motion.save(file)
    data = load_motion_file(file)
    assert data["body_names"] == judge.names("body") and data["fps"] == 50.0
    assert data["dof_names"] == judge.names("joint")
    places, wxyz = data["rigid_body_pos"], to_wxyz(data["rigid_body_rot"])
    joints = as_dicts(data["dof_names"], data["dof_pos"])
    assert replays(judge, motion, places[:, 0], wxyz[:, 0], joints) < 1e-6
    for t in (0, 9):
        ours = poses_of(motion, t)
        judge.play(places[t, 0], wxyz[t, 0], joints[t])
        speeds = as_dicts(data["dof_names"], data["dof_vel"])[t]
        judge.move(data["rigid_body_vel"][t, 0], data["rigid_body_ang_vel"][t, 0], speeds)
        for b, body in enumerate(data["body_names"]):
            assert np.abs(places[t, b] - ours[body][0]).max() < 1e-6
            assert np.abs(matrix(wxyz[t, b]) - ours[body][1]).max() < 1e-6
            linear, angular = judge.velocity(body, at_centre=False)
            assert np.abs(data["rigid_body_vel"][t, b] - linear).max() < 3e-6
            assert np.abs(data["rigid_body_ang_vel"][t, b] - angular).max() < 3e-6


def test_protomotions_as_pytorch_loads_it(robot: Path, tmp_path: Path):
    torch = pytest.importorskip("torch")
    file = tmp_path / "walk.motion"
    make_motion(robot).save(file)
    loaded, ours = torch.load(file, weights_only=True), load_motion_file(file)
    assert loaded.keys() == ours.keys() and loaded["body_names"] == ours["body_names"]
    for name in ("dof_pos", "rigid_body_pos", "rigid_body_rot", "rigid_body_ang_vel"):
        assert loaded[name].dtype is torch.float32
        assert np.array_equal(loaded[name].numpy(), ours[name])


# --- robots that others made


@pytest.mark.parametrize("name", ["g1", "talos_reduced"])
def test_a_robot_of_the_world_in_urdf(name: str, tmp_path: Path):
    """Links that are fixed to others are parts of these, as MuJoCo and Isaac Lab have them."""
    if name not in list_robots():
        pytest.skip("example-robot-data is not installed")
    path = find_robot(name)
    judge, motion = Judge(path), make_motion(path)
    motion.save(tmp_path / "walk.mjlab.npz")
    data = np.load(tmp_path / "walk.mjlab.npz")
    assert data["joint_names"].tolist() == judge.names("joint")
    assert data["body_names"].tolist() == judge.names("body")
    joints = as_dicts(data["joint_names"], data["joint_pos"])
    assert (
        replays(judge, motion, data["body_pos_w"][:, 0], data["body_quat_w"][:, 0], joints) < 1e-6
    )


# --- names, bits and what cannot be


def test_our_own_npz_keeps_the_names_of_joints_and_bodies(robot: Path, tmp_path: Path):
    motion = make_motion(robot)
    motion.save(tmp_path / "walk.npz")
    again = ik.load_motion(tmp_path / "walk.npz")
    for form in TRAINERS:
        files = [tmp_path / f"{k}{form.suffix}" for k in range(2)]
        motion.save(files[0])
        again.save(files[1])
        assert files[0].read_bytes() == files[1].read_bytes(), form.full_name


def test_another_axis_that_is_up_is_turned(robot: Path, tmp_path: Path):
    motion = make_motion(robot)
    turned = motion.turned("zxy")
    assert turned.up_axis != "z"
    motion.save(tmp_path / "a.mjlab.npz")
    turned.save(tmp_path / "b.mjlab.npz")
    a, b = (np.load(tmp_path / f"{name}.mjlab.npz") for name in "ab")
    assert np.allclose(a["body_pos_w"], b["body_pos_w"], atol=1e-6)


@pytest.mark.parametrize(
    ("change", "suffix", "what"),
    [
        ((ELBOW, TWO_HINGES), ".mimickit.pkl", "2 dofs"),
        ((ELBOW, SLIDE), ".mimickit.pkl", "one hinge"),
        ((ELBOW, '<joint name="elbow" type="ball"/>'), ".mjlab.npz", "quaternion"),
    ],
)
def test_what_a_trainer_cannot_have_is_one_sentence(
    change: tuple[str, str], suffix: str, what: str, tmp_path: Path
):
    path = tmp_path / "robot.xml"
    path.write_text(ROBOT.replace(*change))
    motion, file = make_motion(path), tmp_path / f"walk{suffix}"
    with pytest.raises(FileError, match=what):
        motion.save(file)
    assert not file.exists()


def test_gaps_are_refused(robot: Path, tmp_path: Path):
    motion = make_motion(robot)
    q = motion.q.copy()
    q[3] = np.nan
    with pytest.raises(FileError, match="1 missing frame"):
        Motion(motion.skeleton, q, RATE).save(tmp_path / "walk.gmr.pkl")
