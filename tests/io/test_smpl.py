"""AMASS, SMPL, SMPL-H and SMPL-X: joints and skin where the models' definition has them."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import exactik as ik
from exactik.errors import FileError, FileWarning
from exactik.io.formats import find_content
from exactik.io.smpl import FAMILY, make_smpl_skeleton, place_average_joints
from tests.support.retargeting_figures import make_robot
from tests.support.smpl_files import PARENTS, judge, make_model, rodrigues, save

FRAMES = 7


def make_amass(rng: np.random.Generator, count: int) -> dict[str, Any]:
    return {
        "poses": 0.6 * rng.normal(size=(FRAMES, 3 * count)),
        "trans": rng.normal(size=(FRAMES, 3)),
        "betas": rng.normal(size=10),
        "gender": np.array(b"neutral"),
        "mocap_framerate": np.array(120.0),
        "latent_labels": np.array(["C7", None], dtype=object),  # never opened
    }


@pytest.mark.parametrize("count", sorted(PARENTS))
def test_joints_and_skin_are_the_models(tmp_path: Path, count: int):
    rng = np.random.default_rng(count)
    model, motion = make_model(count, rng), make_amass(rng, count)
    model_path, path = save(tmp_path / "model.npz", model), save(tmp_path / "a.npz", motion)
    read = ik.load_motion(path, smpl_model=model_path)
    assert (len(read), read.rate, read.skeleton.nv) == (FRAMES, 120.0, 3 + 3 * count)
    assert read.skeleton.parents.tolist() == PARENTS[count]
    pose = read.forward()
    visuals = read.skeleton.visuals
    for t in range(FRAMES):
        joints, vertices = judge(model, motion["betas"], motion["poses"][t], motion["trans"][t])
        np.testing.assert_allclose(pose.positions[t], joints, atol=1e-12)
        (seen,) = visuals.compute_vertices(
            read.skeleton.bone_names, pose.positions[t], pose.rotations[t]
        )
        np.testing.assert_allclose(seen, vertices, atol=2e-6)  # single precision


@pytest.mark.parametrize("count", sorted(PARENTS))
def test_joints_and_skin_are_those_of_smplx(tmp_path: Path, count: int):
    """Its blend skinning, which all models of the package share."""
    torch = pytest.importorskip("torch")
    lbs = pytest.importorskip("smplx.lbs").lbs
    rng = np.random.default_rng(count)
    model, motion = make_model(count, rng), make_amass(rng, count)
    model_path, path = save(tmp_path / "model.npz", model), save(tmp_path / "a.npz", motion)
    read = ik.load_motion(path, smpl_model=model_path)
    parents = torch.tensor(PARENTS[count])
    names = ("v_template", "shapedirs", "J_regressor", "weights")
    template, shapes, regressor, weights = (torch.tensor(model[name]) for name in names)
    poses = torch.tensor(motion["poses"])
    betas = torch.tensor(np.tile(motion["betas"], (FRAMES, 1)))
    no_pose_blend = torch.zeros(9 * (count - 1), 3 * len(template), dtype=torch.float64)
    vertices, joints = lbs(
        betas, poses, template, shapes[:, :, :10], no_pose_blend, regressor, parents, weights
    )
    shift = motion["trans"][:, None]
    pose = read.forward()
    np.testing.assert_allclose(pose.positions, joints.numpy() + shift, atol=1e-6)
    for t in range(FRAMES):
        (seen,) = read.skeleton.visuals.compute_vertices(
            read.skeleton.bone_names, pose.positions[t], pose.rotations[t]
        )
        np.testing.assert_allclose(seen, vertices[t].numpy() + shift[t], atol=4e-6)


def test_parts_in_arrays_of_their_own_are_the_same_motion(tmp_path: Path):
    """As SMPL-X of AMASS, and as estimators write them: GVHMR, WHAM."""
    rng = np.random.default_rng(5)
    whole = make_amass(rng, 55)
    model = save(tmp_path / "model.npz", make_model(55, rng))
    expected = ik.load_motion(save(tmp_path / "a.npz", whole), smpl_model=model)
    pose = whole["poses"]
    kept = {"betas": whole["betas"], "fps": np.array([120])}
    names = ("root_orient", "pose_body", "pose_jaw", "pose_eye", "pose_hand")
    parts = dict(zip(names, np.split(pose, [3, 66, 69, 75], axis=1), strict=True))
    amass = save(tmp_path / "b.npz", {**kept, **parts, "trans": whole["trans"]})
    np.testing.assert_array_equal(ik.load_motion(amass, smpl_model=model).q, expected.q)
    names = ("global_orient", "body_pose", "jaw_pose", "eyes", "left_hand_pose", "right_hand_pose")
    parts = dict(zip(names, np.split(pose, [3, 66, 69, 75, 120], axis=1), strict=True))
    own = {**kept, **parts, "transl": whole["trans"][None]}
    own["pose_eye"] = own.pop("eyes").reshape(FRAMES, 2, 3)
    theirs = save(tmp_path / "c.npz", own)
    np.testing.assert_array_equal(ik.load_motion(theirs, smpl_model=model).q, expected.q)
    body = {name: parts[name] for name in ("global_orient", "body_pose")}
    bare = save(tmp_path / "d.npz", {**kept, **body, "transl": whole["trans"]})
    assert ik.load_motion(bare).skeleton.bone_names == expected.skeleton.bone_names[:22]
    np.testing.assert_array_equal(ik.load_motion(bare).q, expected.q[:, :69])
    posed = ik.load_motion(bare, smpl_model=model)  # hands and face at rest
    np.testing.assert_array_equal(posed.q[:, :69], expected.q[:, :69])
    assert not posed.q[:, 69:].any()


def test_rotation_matrices_are_read(tmp_path: Path):
    rng = np.random.default_rng(8)
    motion = make_amass(rng, 24)
    vectors = ik.load_motion(save(tmp_path / "a.npz", motion))
    shaped = motion["poses"].reshape(-1, 3)
    matrices = np.array([rodrigues(v) for v in shaped]).reshape(FRAMES, 24, 3, 3)
    turned = ik.load_motion(save(tmp_path / "b.npz", {**motion, "poses": matrices}))
    np.testing.assert_allclose(turned.forward().rotations, vectors.forward().rotations, atol=1e-12)


def test_without_a_model_bones_are_average_and_that_is_said(tmp_path: Path):
    path = save(tmp_path / "a.npz", make_amass(np.random.default_rng(1), 52))
    motion = ik.load_motion(path)
    assert motion.notes == ("SMPL-H without its model: bones of average proportions, 1.70 m tall",)
    assert find_content(path) == "motion"


@pytest.mark.parametrize("count", sorted(FAMILY))
def test_average_bones_are_a_person(count: int):
    name, joints = FAMILY[count]
    places = place_average_joints(joints)
    figure = make_smpl_skeleton(name, joints, places)
    pose = figure.forward(figure.neutral())
    np.testing.assert_allclose(pose.positions, places, atol=1e-15)
    place_of = {joint: place for (joint, _), place in zip(joints, places, strict=True)}
    for joint, place in place_of.items():
        if joint.startswith("right_"):
            other = place_of[joint.replace("right_", "left_")]
            np.testing.assert_allclose(place * (-1.0, 1.0, 1.0), other, atol=1e-15)
    soles, top = places[:, 1].min(), places[:, 1].max()
    assert soles == place_of["left_foot"][1] and 1.4 < top - soles < 1.6


def test_a_robot_takes_it_over(tmp_path: Path):
    """Arms down and legs that swing; z up, as AMASS has it."""
    times = np.arange(60) / 60.0
    poses = np.zeros((60, 156))
    poses[:, 0] = np.pi / 2
    poses[:, 3], poses[:, 6] = 0.4 * np.sin(6 * times), -0.4 * np.sin(6 * times)
    poses[:, 50], poses[:, 53] = -1.2, 1.2
    trans = np.stack([0 * times, -1.2 * times, 0.93 + 0 * times], axis=1)
    file = {"poses": poses, "trans": trans, "mocap_framerate": 60.0}
    result = ik.retarget(ik.load_motion(save(tmp_path / "a.npz", file)), make_robot())
    assert result.problems == ()
    pairs = {pair.part: pair.source for pair in result.correspondence.pairs}
    assert pairs["left_foot"] == "left_ankle"
    assert result.source.up_axis == "z"
    assert result.remarks == ()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"poses": np.zeros((7, 71))}, r"poses has shape \(7, 71\); expected \(frames, 3 × joints"),
        ({"poses": np.zeros((7, 90))}, "rotations of 30 joints; expected 22, 24, 52, 55"),
        ({"poses": np.full((7, 72), np.nan)}, "'poses' holds numbers that are not finite"),
        (
            {"poses": np.zeros((0, 72)), "trans": np.zeros((0, 3))},
            "poses has no frame",
        ),
        ({"trans": np.zeros((6, 3))}, r"trans has shape \(6, 3\); expected \(7, 3\)"),
        ({"betas": np.zeros((2, 2, 2))}, "betas has shape"),
        ({"mocap_framerate": 0.0}, r"mocap_framerate is \[0.\]; expected frames a second"),
        ({"poses": np.array(["a"] * 7)}, "'poses' holds no numbers"),
        ({"poses": np.array([{}], dtype=object)}, "no head of a known kind"),
    ],
)
def test_what_is_wrong_is_one_sentence(tmp_path: Path, change: dict[str, Any], message: str):
    file = make_amass(np.random.default_rng(0), 24) | change
    with pytest.raises(FileError, match=message) as caught:
        ik.load_motion(save(tmp_path / "a.npz", file))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"v_template": None}, "v_template is missing"),
        ({"J_regressor": np.zeros((23, 200))}, "expected 22, 24, 52, 55 joints"),
        ({"weights": np.zeros((200, 3))}, r"weights has shape \(200, 3\); expected \(200, 24\)"),
        ({"shapedirs": np.zeros((200, 3))}, r"shapedirs has shape .* expected \(200, 3, …\)"),
        ({"f": np.full((2, 3), 200)}, "f names vertices that are not among the 200"),
        ({"f": np.zeros((0, 3))}, "f has shape"),
        ({"kintree_table": np.zeros((2, 24))}, "other parents than the SMPL family"),
        ({"J_regressor": np.array([[1]], dtype=object)}, "no head of a known kind"),
    ],
)
def test_a_wrong_model_is_one_sentence(tmp_path: Path, change: dict[str, Any], message: str):
    rng = np.random.default_rng(0)
    path = save(tmp_path / "a.npz", make_amass(rng, 24))
    arrays = {k: v for k, v in (make_model(24, rng) | change).items() if v is not None}
    with pytest.raises(FileError, match=message):
        ik.load_motion(path, smpl_model=save(tmp_path / "model.npz", arrays))


def test_a_pickle_is_not_opened(tmp_path: Path):
    class Trap:
        def __reduce__(self):
            return (open, (str(tmp_path / "sprung"), "w"))

    (tmp_path / "SMPL_NEUTRAL.pkl").write_bytes(pickle.dumps(Trap()))
    path = save(tmp_path / "a.npz", make_amass(np.random.default_rng(0), 24))
    with pytest.raises(FileError, match="a pickle runs code when it is opened, so it is not"):
        ik.load_motion(path, smpl_model=tmp_path / "SMPL_NEUTRAL.pkl")
    np.savez(tmp_path / "b.npz", poses=np.array([Trap()], dtype=object))
    with pytest.raises(FileError):
        ik.load_motion(tmp_path / "b.npz")
    assert not (tmp_path / "sprung").exists()


def test_what_had_to_be_guessed_is_said(tmp_path: Path):
    file = make_amass(np.random.default_rng(0), 24)
    file |= {"betas": np.arange(7.0)[:, None] * np.ones(10)}
    del file["mocap_framerate"], file["trans"]
    with pytest.warns(FileWarning) as caught:
        motion = ik.load_motion(save(tmp_path / "a.npz", file))
    codes = {w.message.note.code for w in caught if isinstance(w.message, FileWarning)}
    assert codes == {"betas", "no-place", "rate-not-stated"} and motion.rate == 30.0
    with pytest.warns(FileWarning):
        assert ik.load_motion(tmp_path / "a.npz", rate=60.0).rate == 60.0
