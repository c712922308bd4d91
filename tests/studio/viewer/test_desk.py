"""The animator's desk without a window: gizmos, bones turned directly, robots opened, undo."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

import exactik as ik
from exactik.spatial import axis_rotation, log_rotation, wxyz_from_matrix
from exactik.studio.viewer import (
    AT_LIMIT,
    NEAR_LIMIT,
    PosingSession,
    PosingWorker,
    UndoHistory,
    UndoOrder,
    compute_limit_state,
)
from exactik.studio.viewer._limits import INSIDE
from exactik.studio.viewer.page.channel import PREFIX, parse_events
from exactik.studio.viewer.page.skin import find_bone_on_ray
from exactik.studio.viewer.posing import (
    BEND_RAD,
    GIZMO_AXES,
    MAX_FINGER_DOFS,
    SINGULAR,
    CameraView,
    Gizmo,
    bend_arm,
    choose_first_pose,
    find_active_axes,
    find_tools,
    limit_target_move,
    measure_dexterity,
    release_walker,
)
from exactik.studio.viewer.posing._gizmo import WORLD
from exactik.studio.viewer.posing.panel import find_arrival, format_table
from exactik.typing import Array


def arm(axes: str = "zyzyzyz", limits: tuple[float, float] = (-2.6, 2.6)) -> ik.Skeleton:
    """An arm of hinges on a fixed base, straight up, with a gripper of two fingers."""
    bones = []
    for k, axis in enumerate(axes):
        joint = ik.Joint.revolute(axis, limits=limits)
        parent = None if k == 0 else f"link{k - 1}"
        bones.append(ik.Bone(f"link{k}", parent=parent, offset=(0, 0, 0.15), joint=joint))
    palm = f"link{len(axes) - 1}"
    for side in (-1, 1):
        slide = ik.Joint.prismatic("y", limits=(0.0, 0.04))
        bones.append(
            ik.Bone(f"finger{side}", parent=palm, offset=(0, 0.02 * side, 0.1), joint=slide)
        )
    return ik.Skeleton.build("arm", bones)


# --- robots


def test_an_arm_opens_bent_with_its_tool_free_to_move_and_its_fingers_half_open():
    figure = arm()
    assert measure_dexterity(figure, figure.neutral(), "link6") < 1e-9
    session = PosingSession(figure)
    assert session.q.tolist() == [0, 0, 0, 0.8, 0, -0.8, 0, 0.02, 0.02]  # elbow and wrist
    assert measure_dexterity(figure, session.q, "link6") == pytest.approx(0.095, abs=0.001)
    assert list(session.handles) == ["link6"]
    assert session.handles["link6"].oriented
    assert session.limits().bones.max() == INSIDE


def test_a_dof_without_zero_begins_in_the_middle_and_people_begin_as_they_are():
    figure = arm(limits=(0.5, 2.5))
    assert choose_first_pose(figure)[0] in (1.5, 1.5 - BEND_RAD, 1.5 + BEND_RAD)
    human = ik.human()
    np.testing.assert_array_equal(choose_first_pose(human), human.neutral())


def test_long_fingers_are_limbs_and_short_ones_a_gripper():
    def with_fingers(joints: int) -> ik.Skeleton:
        bones = list(arm().bones[:7])
        for side in ("a", "b"):
            for k in range(joints):
                parent = "link6" if k == 0 else f"{side}{k - 1}"
                hinge = ik.Joint.revolute("x", limits=(-1, 1))
                bones.append(ik.Bone(f"{side}{k}", parent=parent, offset=(0, 0, 0.1), joint=hinge))
        return ik.Skeleton.build("arm", bones)

    assert set(find_tools(with_fingers(MAX_FINGER_DOFS)).values()) == {"link6"}
    assert find_tools(with_fingers(MAX_FINGER_DOFS + 1)) == {}


@pytest.mark.parametrize(
    ("file", "tool"),
    [
        ("urdf/panda.urdf", "panda_hand_tcp"),
        ("mjcf/franka_emika_panda__panda.xml", "hand"),
        ("urdf/ur5_robot.urdf", "ee_link"),
        ("urdf/iiwa14.urdf", "ee_link"),
    ],
)
def test_real_arms_open_where_their_tools_can_move(shared_data: Path, file: str, tool: str):
    path = shared_data / "data" / "robots" / file
    if not path.exists():
        pytest.skip("no such file")
    figure = ik.load_skeleton(path)
    session = PosingSession(figure)
    assert list(session.handles) == [tool]
    assert session.handles[tool].oriented
    assert measure_dexterity(figure, session.q, tool) > SINGULAR
    assert session.limits().bones.max() == INSIDE
    if figure.home is None:  # at home a gripper may be open as far as it goes
        assert session.limits().level.max() == INSIDE


def test_an_arm_that_can_move_is_left_alone_and_one_that_hardly_can_is_bent():
    figure = arm()
    q = figure.neutral()
    q[[3, 5]] = 0.8, -0.8
    assert bend_arm(figure, q, "link6") is q
    q = figure.neutral()
    q[[3, 5]] = 0.05, 0.05  # 0.006 of the 0.02 below which it is bent
    assert bend_arm(figure, q, "link6") is not q


def test_a_dof_near_its_limit_begins_in_the_middle_and_another_at_zero():
    def first(low: float, high: float) -> float:
        bones = list(arm().bones)
        joint = ik.Joint.revolute("z", limits=(low, high))
        bones[0] = ik.Bone("link0", offset=(0, 0, 0.15), joint=joint)
        return float(choose_first_pose(ik.Skeleton.build("arm", bones))[0])

    assert first(-0.08, 2.0) == pytest.approx(0.96)  # 4 % of its range
    assert first(-0.3, 2.0) == 0.0  # 13 %


def make_legged_robot(knee: str = "y", shank: float = 0.2) -> ik.Skeleton:
    """A trunk on two legs that cannot be straight, as Unitree's dogs have four."""
    bones = [ik.Bone("trunk", joint=ik.Joint.free())]
    for side, y in (("l", 0.1), ("r", -0.1)):
        joints = {
            "hip": ik.Joint.revolute("x", limits=(-0.8, 0.8)),
            "thigh": ik.Joint.revolute("y", limits=(-1.0, 4.0)),
            "calf": ik.Joint.revolute(knee, limits=(-2.7, -0.9)),
            "foot": ik.Joint.fixed(),
        }
        parent = "trunk"
        offsets = ((0.0, y, 0.0), (0.0, 0.3 * y, 0.0), (0.0, 0.0, -0.2), (0.0, 0.0, -shank))
        for (name, joint), offset in zip(joints.items(), offsets, strict=True):
            bones.append(ik.Bone(f"{side}_{name}", parent=parent, offset=offset, joint=joint))
            parent = f"{side}_{name}"
    return ik.Skeleton.build("legs", bones)


def test_a_legged_robot_without_a_home_stands_with_its_feet_below_its_hips():
    figure = make_legged_robot()
    pose = figure.forward(choose_first_pose(figure))
    for side in ("l", "r"):
        hip, foot = pose.point(f"{side}_thigh"), pose.point(f"{side}_foot")
        np.testing.assert_allclose(foot[:2], hip[:2], atol=1e-12)
        assert foot[2] == pytest.approx(-0.4 * np.cos(0.9))  # the calf is in its middle, at -1.8


@pytest.mark.parametrize("figure", [make_legged_robot(knee="z"), make_legged_robot(shank=0.0)])
def test_only_knees_with_a_foot_below_swing_their_legs(figure: ik.Skeleton):
    q = choose_first_pose(figure)
    names = figure.dof_names
    for dof, value in zip(names, q[figure.plain_q], strict=True):
        if "thigh" in dof:
            assert value == 0.0
        if "calf" in dof:
            assert value == pytest.approx(-1.8)


def make_four_legged_robot() -> ik.Skeleton:
    """A trunk on a fixed base with four legs of three hinges, a frame on each hip and a sensor."""
    bones = [ik.Bone("trunk"), ik.Bone("imu", parent="trunk", offset=(0.0, 0.0, 0.05))]
    for name, x, y in (("FL", 1, 1), ("FR", 1, -1), ("RL", -1, 1), ("RR", -1, -1)):
        parent, offset = "trunk", (0.2 * x, 0.1 * y, 0.0)
        for part, axis in (("hip", "x"), ("thigh", "y"), ("calf", "y")):
            joint = ik.Joint.revolute(axis, limits=(-2.0, 2.0))
            bones.append(ik.Bone(f"{name}_{part}", parent=parent, offset=offset, joint=joint))
            parent = f"{name}_{part}"
            offset = (0.0, 0.05 * y, 0.0) if part == "hip" else (0.0, 0.0, -0.2)
        bones.append(ik.Bone(f"{name}_foot", parent=parent, offset=offset))
        bones.append(ik.Bone(f"{name}_motor", parent=f"{name}_hip", offset=(0.0, 0.06 * y, 0.0)))
    return ik.Skeleton.build("dog", bones)


def test_a_robot_on_legs_can_squat():
    """Files fix its base. Its feet stay, and what is rigid with a link in a chain is no end."""
    fixed = make_four_legged_robot()
    figure = release_walker(fixed)
    assert figure.nv == fixed.nv + 6
    session = PosingSession(figure)
    feet = {f"{leg}_foot" for leg in ("FL", "FR", "RL", "RR")}
    assert set(session.handles) == {"trunk", *feet}
    assert {name for name, handle in session.handles.items() if handle.pinned} == feet
    session.drag("trunk", (0.0, 0.0, -0.08))
    for _ in range(200):
        session.advance(1 / 60)
    pose = session.pose()
    assert pose.point("trunk")[2] == pytest.approx(-0.08, abs=5e-3)
    assert abs(pose.point("FL_foot")[2] + 0.4) < 5e-3


def test_what_does_not_stand_on_legs_keeps_its_base():
    for figure in (arm(), ik.human(), make_legged_robot(shank=0.0)):
        assert release_walker(figure) is figure
    home = np.full(make_four_legged_robot().nq, 0.1)
    free = release_walker(make_four_legged_robot().with_home(home))
    assert free.home is not None
    np.testing.assert_array_equal(free.home, [0, 0, 0, 1, 0, 0, 0, *home])


# --- the gizmo


class FakeGizmo:
    """What viser makes of a gizmo, and of its server's scene."""

    def __init__(self) -> None:
        self.scene, self.callback = self, None

    def add_transform_controls(self, name: str, **options: object) -> FakeGizmo:
        return self

    def on_update(self, callback: Any) -> None:
        self.callback = callback

    def drag(self, phase: str, position: Array, rotation: Array) -> None:
        target = SimpleNamespace(position=position, wxyz=wxyz_from_matrix(rotation))
        event = SimpleNamespace(phase=phase, target=target, client=None)
        assert self.callback is not None
        asyncio.run(self.callback(event))


@pytest.mark.parametrize("axes", GIZMO_AXES)
@pytest.mark.parametrize("bone", [None, "l_upper_arm"])
def test_a_gizmo_turns_about_its_own_axes_or_the_worlds(axes: str, bone: str | None):
    session, node = PosingSession(ik.human()), FakeGizmo()
    worker = SimpleNamespace(post=lambda command: command(session), drag=session.drag)
    gizmo = Gizmo(node, session, cast(PosingWorker, worker), "pelvis")
    gizmo.bone, gizmo.axes = bone, axes
    k = session.skeleton.bone_index(bone or "pelvis")
    pose = session.pose()
    gizmo.draw(pose)
    shown = np.eye(3) if axes == WORLD else pose.rotations[k]
    turn = axis_rotation("z", 0.2)  # about z of the gizmo
    for phase in ("start", "update", "end"):
        if phase == "end":
            session.settle()
        node.drag(phase, pose.positions[k], shown @ turn)
    wanted = turn @ pose.rotations[k] if axes == WORLD else pose.rotations[k] @ turn
    turned = session.pose().rotations[k]
    assert np.linalg.norm(log_rotation(turned @ wanted.T)) < 5e-3


def test_a_hinge_has_one_ring_and_others_have_three():
    hinge = ik.Bone("a", joint=ik.Joint.revolute("y"))
    assert find_active_axes(hinge) == (True, False, True)
    slanted = ik.Bone("a", joint=ik.Joint.revolute((0.6, 0.8, 0.0)))
    assert find_active_axes(slanted) == (True, True, True)
    assert find_active_axes(ik.human().bones[0]) == (True, True, True)


def test_a_click_finds_the_bone_whose_skin_is_in_front():
    figure = ik.human()
    q = figure.neutral()
    q[figure.dof_names.index("l_upper_arm.rz")] = -1.9  # the arm before the chest
    pose = figure.forward(q)
    eyes = {"l_forearm": (1.5, 3.0, 1.4), "l_shin": (3.0, 0.8, 1.0), "r_thigh": (3.0, -0.5, 1.2)}
    for bone, eye in eyes.items():
        child = figure.bones[figure.bone_index(bone) + 1].name
        place = pose.point(bone) + 0.3 * (pose.point(child) - pose.point(bone))
        assert find_bone_on_ray(pose, np.array(eye), place - eye) == bone
    # From behind the same forearm is hidden by the back.
    place = 0.5 * (pose.point("l_forearm") + pose.point("l_wrist"))
    behind = find_bone_on_ray(pose, place + np.array([-3.0, 0.0, 0.0]), np.array([1.0, 0.0, 0.0]))
    assert behind != "l_forearm"


def test_an_arrow_across_the_view_is_followed_and_one_along_it_is_slowed():
    view = CameraView(position=np.array([3.0, 0.0, 1.0]), forward=np.array([-1.0, 0.0, 0.0]))
    start = np.array([0.0, 0.0, 1.0])
    across = np.array([0.0, 0.4, 1.1])
    followed = limit_target_move(view, start, across)
    assert followed is not None
    np.testing.assert_allclose(followed, across)
    # An arrow at 5° from the line of sight: 10 pixels ask for metres.
    arrow = np.array([np.cos(np.radians(5.0)), np.sin(np.radians(5.0)), 0.0])
    thrown = limit_target_move(view, start, start - 20.0 * arrow)
    assert thrown is not None
    assert 0.5 < np.linalg.norm(thrown - start) < 0.75  # 3 × 0.227 m, by which the pointer moved
    assert limit_target_move(view, start, np.array([4.0, 0.1, 1.0])) is None  # behind the camera
    assert limit_target_move(view, start, np.array([np.nan, 0.0, 0.0])) is None


@pytest.mark.parametrize("angle", [0.5, 1.0])
def test_a_bone_turns_by_its_own_joint_alone(angle: float):
    session = PosingSession(ik.human())
    figure, k = session.skeleton, session.skeleton.bone_index("r_upper_arm")
    before = session.q
    wanted = axis_rotation("y", -angle) @ session.pose().rotations[k]
    session.turn_bone("r_upper_arm", wanted)
    turned = session.pose().rotations[k]
    assert np.linalg.norm(log_rotation(turned @ wanted.T)) < 1e-6
    changed = {figure.dof_bones[i] for i in np.flatnonzero(session.q != before)}
    assert changed == {k}
    session.settle()
    assert np.linalg.norm(log_rotation(session.pose().rotations[k] @ wanted.T)) < 1e-6
    session.release()
    session.undo()
    np.testing.assert_array_equal(session.q, before)


def test_a_bone_turns_no_farther_than_its_limits():
    session = PosingSession(ik.human())
    k = session.skeleton.bone_index("l_shin")
    rotation = axis_rotation("y", -1.0) @ session.pose().rotations[k]  # the knee does not go there
    session.turn_bone("l_shin", rotation)
    np.testing.assert_array_equal(session.skeleton.clip(session.q), session.q)
    assert np.linalg.norm(log_rotation(session.pose().rotations[k] @ rotation.T)) > 0.9


def test_a_rigid_bone_turns_the_one_that_carries_it():
    bones = [
        ik.Bone("arm", joint=ik.Joint.revolute("z", limits=(-2, 2))),
        ik.Bone("tool", parent="arm", offset=(1, 0, 0)),
    ]
    session = PosingSession(ik.Skeleton.build("door", bones), [0.0])
    session.turn_bone("tool", axis_rotation("z", 0.7))
    assert session.q[0] == pytest.approx(0.7)
    rigid = PosingSession(ik.Skeleton.build("stone", [ik.Bone("stone")]))
    with pytest.raises(ik.UsageError, match="no joint above it moves"):
        rigid.turn_bone("stone", np.eye(3))


# --- limits, comparison


def test_a_neutral_pose_warns_of_nothing_and_a_pushed_limit_does():
    figure = ik.human()
    state = compute_limit_state(figure, figure.neutral())
    assert state.level.max() == NEAR_LIMIT  # of straight knees and elbows, which is true
    assert state.bones.max() == INSIDE  # but nobody pushed them there
    i, shin = figure.dof_names.index("l_shin.ry"), figure.bone_index("l_shin")
    span = figure.upper[i] - figure.lower[i]
    q = figure.neutral()
    q[i] -= 0.005 * span
    assert compute_limit_state(figure, q).bones[shin] == INSIDE
    q[i] = figure.lower[i]  # which is 3 % away: it has been moved there
    assert compute_limit_state(figure, q).bones[shin] == AT_LIMIT
    rest = figure.neutral()
    rest[i] = figure.lower[i] + 0.005 * span  # it rests there
    assert compute_limit_state(figure, q, rest).bones[shin] == INSIDE


def test_a_solver_is_there_when_a_thousandth_is_missing():
    cost = np.array([1.0, 0.1, 0.005, 0.0005, 0.00005, 0.0])
    result = cast(ik.Result, SimpleNamespace(history=SimpleNamespace(cost=cost)))
    assert find_arrival(result, 0.0) == 3
    assert find_arrival(result, -1.0) is None
    assert find_arrival(cast(ik.Result, SimpleNamespace(history=None)), 0.0) is None


def test_an_easy_drag_takes_auto_few_steps():
    session = PosingSession(ik.human())
    session.drag("r_hand", session.handles["r_hand"].position + np.array([0.1, 0.0, 0.1]))
    session.settle()
    results = session.compare(["auto", "gauss-newton"], seconds=5.0)
    best = min(result.cost for result in results.values())
    steps = {name: find_arrival(result, best) for name, result in results.items()}
    assert steps["auto"] is not None
    assert steps["auto"] <= 4
    assert results["auto"].cost == pytest.approx(best, rel=1e-6)
    table = format_table(results).splitlines()
    assert table[0] == "| solver | steps | ms | cost |"
    assert len(table) == 4


# --- undo over pose and keys, events of the page


def test_the_latest_change_is_undone_first_whatever_it_changed():
    class Counter:
        def __init__(self) -> None:
            self.value, self.history = 0, UndoHistory[int]()

        def count(self) -> None:
            self.history.record(self.value)
            self.value += 1

        def undo(self) -> bool:
            before, self.value = self.value, self.history.undo(self.value)
            return before != self.value

        def redo(self) -> bool:
            before, self.value = self.value, self.history.redo(self.value)
            return before != self.value

    pose, keys = Counter(), Counter()
    order = UndoOrder({"pose": pose, "keys": keys})
    pose.history.on_step = lambda: order.note("pose")
    keys.history.on_step = lambda: order.note("keys")
    for counter in (pose, keys, keys, pose):
        counter.count()
    assert [order.undo() for _ in range(5)] == ["pose", "keys", "keys", "pose", None]
    assert [order.redo() for _ in range(5)] == ["pose", "keys", "keys", "pose", None]
    assert (pose.value, keys.value) == (2, 2)


def test_events_of_the_page_are_heard_once_and_nonsense_never():
    events = [{"number": n, "kind": "tab", "name": "x"} for n in (3, 1, 2)]
    text = PREFIX + json.dumps(events)
    assert [event["number"] for event in parse_events(text, 1)] == [2, 3]
    assert parse_events(text, 3) == []
    for nonsense in ("", "{", "3", '[1, {"kind": 4, "number": 1}]', "[" * 5000):
        assert parse_events(PREFIX + nonsense, 0) == []
    # Sixteen events of a kilobyte are read, a hundred kilobytes are not.
    long = [{"number": n, "kind": "tab", "name": "x" * 1000} for n in range(1, 17)]
    assert len(parse_events(PREFIX + json.dumps(long), 0)) == 16
    assert parse_events(PREFIX + json.dumps(long) + " " * 100_000, 0) == []
