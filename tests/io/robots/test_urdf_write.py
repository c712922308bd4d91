"""URDF written: the same poses by our reader, by pinocchio and by MuJoCo; what is lost is said."""

from __future__ import annotations

import math
import warnings
from pathlib import Path

import numpy as np
import pytest

import exactik as ik
from exactik.errors import FileError, FileWarning
from exactik.io import load_joint_names
from exactik.io.robots.writing import compute_joint_values, make_urdf_tree
from exactik.model.functions import Constant, CubicSpline, Linear, Polynomial, Product, Scaled
from exactik.typing import Array
from tests.support.mechanisms import gripper, legs
from tests.support.models import EVERY_JOINT, ROOT_JOINTS, random_rotation
from tests.support.real_robots import Judge
from tests.support.robot_files import FramePose, largest_error, pinocchio, pinocchio_poses

CUSTOM = {
    "screw": ik.Joint.screw((0.0, 0.6, 0.8), 0.3),
    "scaled and shifted": ik.Joint.custom(
        turns=[("x", Linear(-2.0, 0.3), "a"), ("z", 0.4), ((0.6, 0.0, 0.8), None, "b")],
        shifts=[("y", Scaled(Linear(0.2, 0.1), 3.0), "a"), ("x", 0.5), ("z", None, "c")],
        coordinates=("b", "a", "c"),
        limits=[(-1.0, 2.0), (-0.5, 0.25), (-math.inf, 3.0)],
    ),
    "lines of other kinds": ik.Joint.custom(
        turns=[("x", Polynomial((0.2, -1.5)), "a")],
        shifts=[("x", CubicSpline((0.0, 1.0, 3.0), (0.0, 0.1, 0.3)), "a")],
    ),
    "constant": ik.Joint.custom(turns=[("y", 0.7)], shifts=[("z", -0.2)]),
}


def branch_of(joint: ik.Joint, seed: int = 0) -> ik.Skeleton:
    """Bones before, on and behind a joint, none of them straight."""
    rng = np.random.default_rng(seed)

    def bone(name: str, parent: str | None, joint: ik.Joint) -> ik.Bone:
        return ik.Bone(
            name,
            parent=parent,
            offset=rng.normal(size=3),
            pre=random_rotation(rng),
            joint=joint,
            post=random_rotation(rng),
        )

    bones = [
        bone("base", None, ik.Joint.fixed()),
        bone("middle", "base", joint),
        bone("tip", "middle", ik.Joint.revolute("x", limits=(-1.0, 2.0))),
    ]
    return ik.Skeleton.build("branch", bones, {"M": ("tip", (0.1, 0.2, 0.3))})


def read_back(skeleton: ik.Skeleton, path: Path, poses: int = 5) -> float:
    """Write and read; the largest difference of positions [m] and rotations over random poses."""
    ik.save_skeleton(skeleton, path)
    again, rng, worst = ik.load_skeleton(path), np.random.default_rng(1), 0.0
    for _ in range(poses):
        q = skeleton.clip(skeleton.normalised(rng.normal(size=skeleton.nq)))
        worst = max(
            worst, largest_error(again, place(again, skeleton, q, path), frames(skeleton, q))
        )
    return worst


def place(again: ik.Skeleton, skeleton: ik.Skeleton, q: Array, path: Path) -> Array:
    """The coordinates of what was read in the pose of the skeleton at q."""
    there = again.neutral()
    joints = load_joint_names(path)
    values = compute_joint_values(make_urdf_tree(skeleton), skeleton, q)
    assert values.keys() == joints.keys()
    for name, value in values.items():
        there[joints[name].q : joints[name].q + joints[name].nq] = value
    return there


def frames(skeleton: ik.Skeleton, q: Array) -> dict[str, FramePose]:
    pose = skeleton.forward(q)
    return {
        name: FramePose(pose.positions[k], pose.rotations[k])
        for k, name in enumerate(skeleton.bone_names)
    }


@pytest.mark.parametrize("suffix", [".urdf", ".xml"])
@pytest.mark.parametrize("kind", [*EVERY_JOINT, *CUSTOM])
def test_every_joint_is_read_back_where_it_was(tmp_path: Path, kind: str, suffix: str):
    path, branch = tmp_path / f"out{suffix}", branch_of((EVERY_JOINT | CUSTOM)[kind])
    if suffix == ".xml" and kind in ("free quaternion", "free exp_map", "free swing_twist"):
        with pytest.raises(FileError, match="floats on 'base'"):
            ik.save_skeleton(branch, path)
        return
    assert read_back(branch, path) < 1e-12


@pytest.mark.parametrize("suffix", [".urdf", ".xml"])
def test_couplings_and_limits_are_read_back(tmp_path: Path, suffix: str):
    skeleton, path = gripper(), tmp_path / f"gripper{suffix}"
    assert read_back(skeleton, path) < 1e-12
    again = ik.load_skeleton(path)
    assert again.dof_names == skeleton.dof_names
    np.testing.assert_allclose(again.lower, skeleton.lower)
    np.testing.assert_allclose(again.upper, skeleton.upper)
    assert {c.driven: c.function(1.0) for c in again.couplings} == {
        "left_tip.rz": -1.0,
        "right_finger.rz": -1.0,
        "right_tip.rz": 1.0,  # it follows the one that is free, through the other
    }


def test_coordinates_keep_their_names_and_limits(tmp_path: Path):
    """Names of a custom joint's coordinates are those of joints; a scaled one has scaled limits."""
    path = tmp_path / "out.urdf"
    skeleton = branch_of(CUSTOM["scaled and shifted"])
    ik.save_skeleton(skeleton, path)
    joints, again = load_joint_names(path), ik.load_skeleton(path)
    assert set(joints) == {"a", "b", "c", "tip_rx"}
    limits = {name: (again.lower[j.v], again.upper[j.v]) for name, j in joints.items()}
    assert limits == {
        "a": (-1.0, 0.5),  # turned the other way round, twice as far
        "b": (-1.0, 2.0),
        "c": (-math.inf, 3.0),
        "tip_rx": (-1.0, 2.0),
    }


def test_a_held_dof_and_one_without_room(tmp_path: Path):
    bones = [
        ik.Bone("a", joint=ik.Joint.revolute("z", limits=(0.5, 0.5))),
        ik.Bone("b", parent="a", offset=(1, 0, 0), joint=ik.Joint.revolute("x")),
    ]
    held = ik.Skeleton("held", bones, couplings=[ik.Coupling("b.rx", None, Constant(0.3))])
    assert read_back(held, tmp_path / "out.urdf") < 1e-12
    again = ik.load_skeleton(tmp_path / "out.urdf")
    assert again.dof_names == ("a.rz",) and again.lower[0] == again.upper[0] == 0.5


def chain_of(joints: list[ik.Joint]) -> ik.Skeleton:
    """One bone for each joint, a random one below each."""
    rng = np.random.default_rng(3)
    bones = [
        ik.Bone(
            f"bone{k}",
            parent=None if k == 0 else f"bone{rng.integers(k)}",
            offset=rng.normal(size=3),
            pre=random_rotation(rng),
            joint=joint,
            post=random_rotation(rng),
        )
        for k, joint in enumerate(joints)
    ]
    return ik.Skeleton.build("chain", bones)


def test_pinocchio_reads_the_same(tmp_path: Path):
    """All joints that need no mimic, on a root that floats."""
    pin, path = pinocchio(), tmp_path / "out.urdf"
    skeleton = chain_of([ik.Joint.free(), *EVERY_JOINT.values()])
    ik.save_skeleton(skeleton, path)
    model = pin.buildModelFromUrdf(str(path))
    q = skeleton.normalised(np.random.default_rng(2).normal(size=skeleton.nq))
    there = place(ik.load_skeleton(path), skeleton, q, path)
    poses = pinocchio_poses(model, load_joint_names(path), there)
    assert largest_error(skeleton, q, {name: poses[name] for name in skeleton.bone_names}) < 1e-12


def test_mujoco_reads_the_same(tmp_path: Path):
    """All joints that do not float, with its own equalities for those that follow others."""
    path = tmp_path / "out.urdf"
    joints = [joint for kind, joint in EVERY_JOINT.items() if kind not in ROOT_JOINTS]
    skeleton = chain_of([*joints, *CUSTOM.values()])
    ik.save_skeleton(skeleton, path)
    judge, again = Judge(path), ik.load_skeleton(path)
    assert len(judge.equalities) == len(again.couplings) == 3
    q = skeleton.normalised(np.random.default_rng(2).normal(size=skeleton.nq))
    poses = judge.pose(place(again, skeleton, skeleton.clip(q), path))
    poses = {name: poses[name] for name in skeleton.bone_names}
    assert largest_error(skeleton, skeleton.clip(q), poses) < 1e-12


def test_markers_become_links_if_asked_for(tmp_path: Path):
    skeleton = branch_of(ik.Joint.revolute("x"))
    ik.save_skeleton(skeleton, tmp_path / "out.urdf", markers=True)
    again = ik.load_skeleton(tmp_path / "out.urdf")
    pose, q = skeleton.forward([0.3, 0.4]), [0.3, 0.4]
    place_again = again.forward(q).positions[again.bone_index("M")]
    np.testing.assert_allclose(place_again, pose.markers[0], atol=1e-12)


def test_what_is_lost_is_said(tmp_path: Path):
    """Legs whose knees move on curves; and a joint that has nothing but curves and balls."""
    ik.save_skeleton(legs(), tmp_path / "legs.npz")
    lost = ik.convert(tmp_path / "legs.npz", tmp_path / "legs.urdf").lost
    number, curves, markers = lost
    assert number.startswith("the number of bones: URDF needs 20 bones more, 'world', 'pelvis_tx'")
    assert curves.startswith("curves of 12 motions that follow coordinates: URDF has lines")
    assert float(curves.split("up to ")[1].split(" m")[0]) == pytest.approx(0.018, rel=0.1)
    assert markers.startswith("18 markers as markers: they become bones that do not move, 'SACR'")
    curve = Polynomial((0.0, 0.0, 1.0))
    both = Product(Polynomial((0.5, 1.0)), Polynomial((0.2, 1.0)))
    bones = [
        ik.Bone("a", joint=ik.Joint.custom([("x", curve, "bend")], limits=(-1.0, 1.0))),
        ik.Bone("b", parent="a", joint=ik.Joint.exp_map(limits=[(-1, 1)] * 3)),
        ik.Bone(
            "c",
            parent="b",
            joint=ik.Joint.custom([("x", None, "u"), ("y", None, "v")], [("z", both, ("u", "v"))]),
        ),
    ]
    ik.save_skeleton(ik.Skeleton("odd", bones), tmp_path / "odd.npz")
    lost = ik.convert(tmp_path / "odd.npz", tmp_path / "odd.urdf").lost
    assert [text.split(",")[0].split(":")[0] for text in lost] == [
        "the number of bones",
        "the coordinates of 1 ball joint",
        "1 dof",
        "curves of 2 motions that follow coordinates",
        "limits of 4 dofs",
    ]


def test_a_curve_becomes_the_line_that_fits_best(tmp_path: Path):
    """x² between 0 and 1 is x − 1/6 at best; without limits it is fitted half a turn both ways."""
    square = Polynomial((0.0, 0.0, 1.0))
    for limits, slope, intercept in (((0.0, 1.0), 1.0, -1 / 6), (None, 0.0, math.pi**2 / 3)):
        joint = ik.Joint.custom([("x", None, "a")], [("y", square, "a")], limits=limits)
        ik.save_skeleton(ik.Skeleton("s", [ik.Bone("b", joint=joint)]), tmp_path / "out.urdf")
        y = [ik.load_skeleton(tmp_path / "out.urdf").forward([x]).positions[-1, 1] for x in (0, 1)]
        np.testing.assert_allclose(y, [intercept, intercept + slope], atol=1e-12)


@pytest.mark.parametrize("name", [" a", "a\n", "a\x07b"])
def test_names_that_xml_would_change_are_refused(tmp_path: Path, name: str):
    with pytest.raises(FileError, match="blanks around it or letters that cannot be printed"):
        ik.save_skeleton(ik.Skeleton("s", [ik.Bone(name)]), tmp_path / "out.urdf")
    assert not (tmp_path / "out.urdf").exists()


def test_names_that_xml_quotes(tmp_path: Path):
    names = ['<a & "b">', "ä.δ 'x'"]
    bones = [ik.Bone(names[0]), ik.Bone(names[1], parent=names[0], joint=ik.Joint.euler("XY"))]
    ik.save_skeleton(ik.Skeleton("s & t", bones), tmp_path / "out.urdf")
    again = ik.load_skeleton(tmp_path / "out.urdf")
    assert again.name == "s & t" and set(names) < set(again.bone_names)


def test_names_that_are_taken(tmp_path: Path):
    """A bone that is called like a link between, and one like the world."""
    bones = [
        ik.Bone("world", joint=ik.Joint.euler("XY")),
        ik.Bone("world_rx", parent="world", joint=ik.Joint.revolute("x")),
    ]
    skeleton = ik.Skeleton("s", bones)
    assert read_back(skeleton, tmp_path / "out.urdf") < 1e-12
    assert set(ik.load_skeleton(tmp_path / "out.urdf").bone_names) == {
        "world",
        "world_rx",
        "world_rx_2",
        "world_2",
    }


@pytest.mark.slow
def test_models_of_opensim_are_written(shared_data: Path, tmp_path: Path):
    """All sixteen; those whose joints follow no curves are where they were."""
    models = sorted((shared_data / "data" / "opensim").rglob("*.osim"))
    assert len(models) == 16
    exact = 0
    for model in models:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FileWarning)  # a model has points on lines
            skeleton = ik.load_skeleton(model)
        off = read_back(skeleton, tmp_path / "out.urdf")
        has_curves = make_urdf_tree(skeleton).curves > 0
        exact += not has_curves
        assert off < (0.5 if has_curves else 1e-9)
    assert exact == 5
