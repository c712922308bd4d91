"""Loops that equalities of MJCF close, beside MuJoCo, which measures their gaps itself."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import exactik as ik
from exactik.errors import FileError, FileWarning
from exactik.io import inspect_file, load_joint_names, load_skeleton
from exactik.io.robots.writing import compute_joint_values, make_urdf_tree
from exactik.typing import Array
from tests.support.robot_files import mujoco, write

FOUR_BAR = """<mujoco model="four-bar"><compiler angle="radian"/><worldbody><body name="crank">
  <joint name="a" axis="0 0 1" ref="0.3"/><geom size="0.1"/>
  <body name="coupler" pos="0.1 0 0"><joint name="b" axis="0 0 1"/><geom size="0.1"/></body></body>
  <body name="rocker" pos="0.3 0 0" euler="0 0 0.5"><joint name="c" axis="0 0 1"/>
  <geom size="0.1"/></body></worldbody>
<equality><connect name="pin" body1="coupler" body2="rocker" anchor="0.35 0 0"/></equality></mujoco>
"""
# Two fingers that stay parallel, and a bar welded across; by bodies, by sites and to the world.
GRIPPER = """<mujoco model="gripper"><compiler angle="degree"/>
<default><equality solref="0.01 1"/><default class="pad"><site euler="0 90 0"/></default></default>
<worldbody><site name="anchor" pos="0 0.2 0.1" euler="20 0 0"/>
<body name="base" pos="0 0 0.1" euler="0 0 30"><freejoint/><geom size="0.1"/>
  <body name="left" pos="0.03 0 0"><joint name="l" axis="0 1 0" range="-60 60"/><geom size="0.1"/>
    <body name="left_tip" pos="0 0 0.1"><joint name="lt" axis="0 1 0.2"/><geom size="0.1"/>
      <site name="l_pad" class="pad" pos="0 0 0.02"/>
    </body></body>
  <body name="right" pos="-0.03 0 0"><joint name="r" axis="0 1 0" range="-60 60" ref="15"/>
    <geom size="0.1"/>
    <body name="right_tip" pos="0 0 0.1"><joint name="rt" type="ball"/><geom size="0.1"/>
      <site name="r_pad" pos="0.01 0.01 0" quat="1 0.2 0 0"/></body></body></body>
<body name="bar" pos="0.1 0 0.4" euler="10 20 0"><freejoint/><geom size="0.1"/>
  <frame pos="0.01 0 0" euler="0 0 10"><site name="grip" class="pad" pos="0 0 0.02"/></frame></body>
</worldbody><equality>{}</equality></mujoco>"""
EQUALITIES = {
    "connect": '<connect body1="left_tip" body2="bar" anchor="0 0.01 0.02"/>',
    "connect to the world": '<connect body1="right_tip" anchor="0 0 0.05"/>',
    "connect of sites": '<connect site1="l_pad" site2="anchor"/>',
    "connect from the world": '<connect body1="world" body2="bar" anchor="0 0.1 0.3"/>',
    "weld": '<weld body1="left_tip" body2="bar" anchor="0.02 0 0.01"/>',
    "weld with a pose": '<weld body1="bar" body2="right_tip" anchor="0.01 0.02 0" '
    'relpose="0.1 0 0.05 1 0.3 0 0.2"/>',
    "weld of sites": '<weld site1="r_pad" site2="grip"/>',
    "weld to the world": '<weld body1="bar" relpose="0 0 0 0 0 0 0"/>',
}


class Judge:
    """MuJoCo's measure of the equalities of a file at our coordinates."""

    def __init__(self, path: Path):
        self.mj, self.joints = mujoco(), load_joint_names(path)
        self.model = self.mj.MjModel.from_xml_path(str(path))
        self.data = self.mj.MjData(self.model)

    def measure(self, q: Array) -> Array:
        """Its residuals: of a connect three distances [m], of a weld three turns as well."""
        for name, place in self.joints.items():
            first = int(self.model.joint(name).qposadr[0])
            self.data.qpos[first : first + place.nq] = q[place.q : place.q + place.nq]
        self.mj.mj_fwdPosition(self.model, self.data)
        return self.data.efc_pos[: self.data.ne].copy()


def draw_pose(skeleton: ik.Skeleton, seed: int) -> Array:
    rng = np.random.default_rng(seed)
    assert skeleton.home is not None
    return skeleton.clip(skeleton.integrate(skeleton.home, rng.normal(scale=0.3, size=skeleton.nv)))


@pytest.mark.parametrize("name", EQUALITIES)
def test_mujoco_measures_the_same_gap_and_has_the_loop_closed(name: str, tmp_path: Path) -> None:
    text = GRIPPER.format(EQUALITIES[name]).replace("<freejoint/>", '<freejoint name="?"/>', 1)
    text = text.replace("?", "base").replace("<freejoint/>", '<freejoint name="bar"/>')
    path = write(tmp_path, "gripper.xml", text)
    skeleton, judge = load_skeleton(path), Judge(path)
    (loop,) = skeleton.loops
    assert loop.kind == name.split()[0].replace("connect", "point")
    for seed in range(3):
        q = draw_pose(skeleton, seed)
        apart = judge.measure(q)[:3]
        if loop.kind == "point":
            gap = loop.measure_gap(skeleton.forward(q))
            assert gap == pytest.approx(np.linalg.norm(apart), abs=1e-12)
        result = ik.solve(skeleton, ik.PostureGoal(q, weight=1e-2), q0=q)
        assert result.status != "loop-open", result.why
        assert np.abs(judge.measure(result.q)).max() < 2e-7  # turns of some 1e-8 m over 0.1 m
        assert np.linalg.norm(apart) > 1e-3


def test_a_four_bar_linkage_of_a_file_is_closed(tmp_path: Path) -> None:
    """It is closed where the file has it, whose crank is at 0.3 rad there."""
    path = write(tmp_path, "four_bar.xml", FOUR_BAR)
    figure = load_skeleton(path)
    (pin,) = figure.loops
    assert (pin.name, pin.kind, pin.a, pin.b) == ("pin", "point", "coupler", "rocker")
    rest = np.array([0.3, 0.0, 0.0])
    assert pin.measure_gap(figure.forward(rest)) < 1e-15
    crank = ik.PostureGoal(np.array([0.9, 0.0, 0.0]), weight=(1.0, 0.0, 0.0))
    result = ik.solve(figure, crank, q0=rest)
    assert result.reached and result.q[0] == pytest.approx(0.9, abs=1e-6)
    pose = figure.forward(result.q)
    length = np.linalg.norm(pose.positions[1] + 0.35 * pose.rotations[1][:, 0] - (0.3, 0, 0))
    assert length == pytest.approx(np.linalg.norm(np.asarray(pin.points)[1]), abs=1e-8)
    in_millimetres = load_skeleton(path, length_unit="mm").loops[0]
    assert np.asarray(in_millimetres.points)[0] == pytest.approx((0.35e-3, 0.0, 0.0))


def test_loops_are_counted_kept_and_missed(tmp_path: Path) -> None:
    path = write(tmp_path, "four_bar.xml", FOUR_BAR)
    figure, facts = load_skeleton(path), inspect_file(path)
    assert facts.skeleton is not None and facts.skeleton.loops == 1 and facts.oddities == ()
    ik.Motion(figure, figure.neutral()[None], 1.0).save(tmp_path / "x.npz")
    assert ik.load_motion(tmp_path / "x.npz").skeleton.loops == figure.loops
    lost = ik.convert(path, tmp_path / "four_bar.urdf").lost
    assert "1 closed loop: the figure moves as if open" in lost


@pytest.mark.parametrize(
    ("equality", "said"),
    [
        ('<connect body1="crank" body2="wheel" anchor="0 0 0"/>', "no body is named 'wheel'"),
        ('<connect body2="crank" anchor="0 0 0"/>', "no body1"),
        ('<weld site1="here" site2="there"/>', "no site is named 'here'"),
        ('<weld site1="here"/>', "no site is named 'here'"),
        ('<connect body1="crank" body2="crank" anchor="0 0 0"/>', "to itself"),
    ],
)
def test_what_a_loop_cannot_hold_is_said(equality: str, said: str, tmp_path: Path) -> None:
    text = FOUR_BAR.replace("<equality>", f"<equality>{equality}")
    with pytest.raises(FileError, match=said):
        load_skeleton(write(tmp_path, "four_bar.xml", text))


def test_other_equalities_are_warned_of(tmp_path: Path) -> None:
    text = FOUR_BAR.replace("<equality>", '<equality><flex flex="cloth"/><tendon tendon1="t"/>')
    with pytest.warns(FileWarning, match="not kept of <equality>: 1 flex, 1 tendon"):
        load_skeleton(write(tmp_path, "four_bar.xml", text))


def place_like(new: ik.Skeleton, path: Path, old: ik.Skeleton, q: Array) -> Array:
    """The coordinates of a written file in the pose of the skeleton at q."""
    places, there = load_joint_names(path), new.neutral()
    for name, value in compute_joint_values(make_urdf_tree(old), old, q).items():
        there[places[name].q : places[name].q + places[name].nq] = value
    return there


@pytest.mark.parametrize("name", EQUALITIES)
def test_what_is_written_has_the_same_loops_for_mujoco(name: str, tmp_path: Path) -> None:
    """Closed where they were, and open by as much elsewhere."""
    old = load_skeleton(write(tmp_path, "gripper.xml", GRIPPER.format(EQUALITIES[name])))
    path = tmp_path / "again.xml"
    ik.save_skeleton(old, path)
    new, judge, (loop,) = load_skeleton(path), Judge(path), old.loops
    (again,) = new.loops
    assert (again.a, again.b, again.kind) == (loop.a, loop.b, loop.kind)
    assert np.asarray(again.points) == pytest.approx(np.asarray(loop.points), abs=1e-15)
    index = [new.bone_index(bone) for bone in old.bone_names]
    for seed in range(3):
        q = draw_pose(old, seed)
        closed = ik.solve(old, ik.PostureGoal(q, weight=1e-2), q0=q).q
        for pose, most in ((q, np.inf), (closed, 2e-7)):
            there = place_like(new, path, old, pose)
            np.testing.assert_allclose(
                new.forward(there).positions[index], old.forward(pose).positions, atol=1e-12
            )
            gap = judge.measure(there)
            assert np.abs(gap).max() < most
            assert np.linalg.norm(gap[:3]) == pytest.approx(
                np.linalg.norm(loop.find_gap(old.forward(pose))[:3]), abs=1e-12
            )


def test_followers_speeds_and_lost_loops_of_what_is_written(tmp_path: Path) -> None:
    text = FOUR_BAR.replace("<equality>", '<equality><joint joint1="b" joint2="c" polycoef="0 2"/>')
    figure = load_skeleton(write(tmp_path, "four_bar.xml", text)).with_max_speed({"crank.rz": 1.5})
    rod = ik.Loop("crank", "rocker", kind="distance", distance=0.3)
    figure = figure.with_loops([*figure.loops, rod])
    path = tmp_path / "again.mjcf"
    ik.save_skeleton(figure, tmp_path / "x.npz")
    lost = ik.convert(tmp_path / "x.npz", path).lost
    assert "1 closed loop: the figure moves as if open" in lost
    new = load_skeleton(path)
    assert new.max_speed[new.dof_names.index("crank.rz")] == 1.5
    assert new.couplings == figure.couplings and new.loops == figure.loops[:1]
    named = ik.Skeleton.build("x", [ik.Bone("world", joint=ik.Joint.revolute("x"))])
    with pytest.raises(FileError, match="no name for a bone in MJCF"):
        ik.save_skeleton(named, tmp_path / "x.xml")
