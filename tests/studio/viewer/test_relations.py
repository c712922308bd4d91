"""What holds while a figure is posed, what is said of it, and what is kept of it; no browser."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import numpy as np
import pytest

import exactik as ik
from exactik.errors import UnknownNameError, UsageError
from exactik.goals import Collisions
from exactik.problem import Problem
from exactik.studio.viewer import PoseViewer, PosingSession, compute_balance
from exactik.studio.viewer.page.camera import VIEWS, Framing, WindowSize
from exactik.studio.viewer.posing import REACHED, PoseWords
from exactik.typing import Array
from tests.support.browser import wait_for


def drag_slowly(session: PosingSession, name: str, target: Array, steps: int = 20) -> None:
    """Drag a handle as a hand does, wait until the figure rests, and let go."""
    start = session.handles[name].position
    session.begin(name)
    for share in np.linspace(0.0, 1.0, steps + 1)[1:]:
        session.drag(name, start + share * (target - start))
        for _ in range(3):
            session.advance(1.0 / 60.0)
    session.settle()
    session.release(name)


def hand_in_hand(session: PosingSession) -> tuple[Array, Array]:
    """Where the right hand is in the frame of the left one, and how it is turned there."""
    pose, index = session.pose(), session.skeleton.bone_index
    R_left, R_right = pose.rotations[index("l_hand")], pose.rotations[index("r_hand")]
    return R_left.T @ (pose.point("r_hand") - pose.point("l_hand")), R_left.T @ R_right


# --- joined handles


@pytest.mark.parametrize("oriented", [False, True])
def test_hands_that_are_held_together_stay_so(oriented: bool):
    session = PosingSession(ik.human())
    for name, side in (("l_hand", 0.1), ("r_hand", -0.1)):
        session.pin(name, False, oriented=oriented)
        drag_slowly(session, name, np.array([0.4, side, 1.1]))
    place, turn = hand_in_hand(session)
    session.join("l_hand", "r_hand")
    target = np.array([0.38, -0.18, 1.15])
    drag_slowly(session, "r_hand", target)
    new_place, new_turn = hand_in_hand(session)
    assert np.linalg.norm(new_place - place) < 1e-3
    assert np.linalg.norm(session.pose().point("r_hand") - target) < 5e-3
    assert bool(np.abs(new_turn - turn).max() < 5e-3) is oriented

    session.set_dof("l_upper_arm.rx", 0.4)  # angles that are set move them apart, for good
    place, _ = hand_in_hand(session)
    drag_slowly(session, "l_hand", np.add(session.handles["l_hand"].position, (0.05, 0.0, 0.05)))
    assert np.linalg.norm(hand_in_hand(session)[0] - place) < 1e-3

    session.join("r_hand", "l_hand", False)
    assert session.state.joins == ()
    session.undo()
    assert [join.pair for join in session.state.joins] == [{"l_hand", "r_hand"}]
    with pytest.raises(UsageError, match="expected two"):
        session.join("l_hand", "l_hand")
    with pytest.raises(UnknownNameError):
        session.join("l_hand", "tail")


def test_closed_loops_of_a_figure_stay_closed_while_it_is_dragged():
    """To a tenth of a millimetre on the way; the verdict closes them."""
    bar = ik.Loop("l_hand", "r_hand", kind="distance", distance=0.4, name="bar")
    session = PosingSession(ik.human().with_loops(bar))
    drag_slowly(session, "r_hand", np.array([0.4, -0.2, 1.2]))
    gaps = []
    session.begin("r_hand")
    for k in range(40):
        session.drag("r_hand", (0.4, -0.2 - 0.01 * k, 1.2))
        session.advance(1.0 / 60.0)
        gaps.append(float(bar.measure_gap(session.pose())))
    session.settle()
    session.release()
    assert max(gaps) < 1e-4
    verdict = session.verdict()
    assert verdict is not None and verdict.status != "loop-open"


# --- balance


def test_a_figure_keeps_its_balance_while_it_reaches_too_far():
    margins = {}
    for keep in (False, True):
        session = PosingSession(ik.human())
        session.keep_balance(keep)
        feet = session.pose().point("l_foot")
        session.begin("r_hand")
        for k in range(40):
            session.drag("r_hand", (0.3 + 0.02 * k, -0.3, 0.8 - 0.015 * k))
            session.advance(1.0 / 60.0)
            margin = compute_balance(session.pose())
            assert margin is not None
            assert not keep or margin.margin > 0.0
        session.settle()
        balance = compute_balance(session.pose())
        assert balance is not None
        margins[keep] = balance.margin
        assert np.linalg.norm(session.pose().point("l_foot") - feet) < 5e-3
        session.release()
        before = session.q
        session.settle()
        assert np.array_equal(session.q, before)  # what was let go stays
    assert margins[False] < 0.0 < margins[True]


def test_a_foot_that_is_lifted_supports_nothing():
    session = PosingSession(ik.human())
    session.keep_balance()
    drag_slowly(session, "r_foot", np.add(session.handles["r_foot"].position, (0.0, 0.0, 0.15)))
    balance = compute_balance(session.pose())
    assert balance is not None
    assert balance.margin > 0.0 and balance.support[:, 1].min() > 0.0  # on the left foot alone
    octopus = PosingSession(ik.octopus())
    with pytest.raises(UsageError, match="masses"):
        octopus.keep_balance()


# --- bodies


def test_a_hand_does_not_go_into_the_chest():
    figure, words = ik.human(), PoseWords(ik.human())
    crossing = Problem(figure, [Collisions(figure)])
    costs, said = {}, ""
    for apart in (False, True):
        session = PosingSession(figure)
        session.keep_apart(apart)
        session.pin("pelvis")
        drag_slowly(session, "r_hand", np.array([0.02, 0.0, 1.3]))
        costs[apart] = crossing.cost(session.q)
        verdict = session.verdict()
        assert verdict is not None
        said = words.describe_result(verdict)
    assert costs[True] < 0.02 * costs[False]
    assert said.startswith("Right hand") and " against " in said


# --- knees


def test_knees_bend_wherever_the_pelvis_is_pulled_down():
    """From straight legs, again and again: knees that may go 5° back once stayed there."""
    rng, figure = np.random.default_rng(1), ik.human()
    knees = [figure.plain_q[figure.dof_names.index(f"{side}_shin.ry")] for side in "lr"]
    for _ in range(4):
        session = PosingSession(figure)
        for _ in range(3):
            across, height = rng.uniform(-0.12, 0.12, 2), rng.uniform(0.55, 0.85)
            target = np.array([*across, height])
            drag_slowly(session, "pelvis", target, int(rng.integers(4, 30)))
            assert session.q[knees].min() > np.radians(10.0), target


# --- words


def test_why_a_pose_is_not_reached_is_said_until_the_next_drag():
    session, words, said = PosingSession(ik.human()), PoseWords(ik.human()), ""
    drag_slowly(session, "pelvis", np.array([0.0, 0.0, 0.5]))
    for _ in range(3):  # also after it has been let go
        verdict = session.verdict()
        assert verdict is not None and not verdict.reached
        said = words.describe_result(verdict)
        session.settle()
    assert said.startswith("Pelvis 1") and " mm short. " in said
    assert "ankle dorsiflexion: at its limit (35°)" in said and "_" not in said
    drag_slowly(session, "r_hand", np.add(session.handles["r_hand"].position, (0.0, 0.0, 0.01)))
    verdict = session.verdict()
    assert verdict is not None and words.describe_result(verdict) == REACHED

    errors = {"l_foot": 0.001, "r_hand": 0.157}
    assert words.describe_move(errors, ["l_shin.ry"], session.q).startswith("right hand 157 mm off")
    assert "4 at their limits" in words.describe_move(errors, ["a", "b", "c", "d"], session.q)
    hand = PoseWords(ik.hand())  # which is no body: dofs have their own values
    assert "0°" in hand.describe_limits([ik.hand().dof_names[-1]], ik.hand().neutral())


def test_another_pose_is_searched_for():
    joints = [ik.Joint.revolute("z", limits=limits) for limits in ((-0.3, 2.6), (-2.6, 2.6))]
    bones = [
        ik.Bone("upper", joint=joints[0]),
        ik.Bone("lower", parent="upper", offset=(0.3, 0.0, 0.0), joint=joints[1]),
    ]
    figure = ik.Skeleton.build("arm", bones, {"TIP": ("lower", (0.3, 0.0, 0.0))})
    session = PosingSession(figure, [1.0, 1.2])
    name = next(iter(session.handles))
    target = figure.forward(np.array([1.6, -2.2])).markers[0]
    drag_slowly(session, name, target)
    stuck = session.verdict()
    assert stuck is not None and not stuck.reached
    assert session.search()
    found = session.verdict()
    assert found is not None and found.reached
    assert not session.search()
    session.undo()
    assert np.allclose(session.q, stuck.q, atol=1e-3)


# --- keys and files


def test_a_pose_without_a_key_can_be_kept():
    with PoseViewer(ik.human()) as viewer:
        keys, session = viewer.panel.keys, viewer.session
        keys.run_command(session, "add", 0.0)
        keys.run_command(session, "scrub", 1.0)
        keys.run_command(session, "add", 1.0)
        keys.run_command(session, "scrub", 0.5)
        assert not keys.keep.visible
        session.set_dof("l_upper_arm.rx", 0.3)
        made = session.q
        keys.run_command(session, "scrub", 0.8)
        keys.run_command(session, "scrub", 0.9)
        assert keys.keep.visible and "left at 0.5 s has no key" in keys.text.content
        keys.run_command(session, "keep")
        assert keys.keys.times.tolist() == [0.0, 0.5, 1.0] and keys.clock.time == 0.9
        assert np.allclose(keys.keys.tween(0.5)[0], made)
        assert np.allclose(session.q, keys.keys.tween(0.9)[0], atol=1e-6)
        assert not keys.keep.visible


def test_the_desk_is_kept_and_restored(tmp_path: Path):
    with PoseViewer(ik.human(), autosave=tmp_path) as viewer:
        assert not viewer.panel.restore.visible
    assert list(tmp_path.iterdir()) == []  # nothing was done
    with PoseViewer(ik.human(), autosave=tmp_path) as viewer:
        session, panel = viewer.session, viewer.panel
        session.pin("l_hand")
        session.set_dof("r_upper_arm.rx", 0.3)
        panel.keys.run_command(session, "add", 0.25)
        session.keep_balance()
        session.join("l_hand", "r_hand")
        made = session.q
        assert wait_for(lambda: any(tmp_path.iterdir()))  # before it ends, as it may be killed
    (file,) = tmp_path.iterdir()
    assert len(json.loads(file.read_text())["keys"]) == 1
    with PoseViewer(ik.human(), autosave=tmp_path) as viewer:
        session, panel = viewer.session, viewer.panel
        assert panel.restore.visible and "Unsaved work of" in panel.message.content
        assert viewer.autosave is not None
        panel.keys.post(lambda _: viewer.autosave.restore())  # type: ignore[union-attr]
        assert wait_for(lambda: len(panel.keys.keys) == 1)
        assert np.allclose(session.q, made) and session.handles["l_hand"].pinned
        assert session.state.balanced and not session.state.apart and len(session.state.joins) == 1
    file.write_text(file.read_text().replace('"q"', '"p"'), encoding="utf-8")
    for other in tmp_path.iterdir():
        if other != file:
            other.unlink()
    with PoseViewer(ik.human(), autosave=tmp_path) as viewer:
        viewer.panel.keys.post(lambda _: viewer.autosave.restore())  # type: ignore[union-attr]
        assert wait_for(lambda: "cannot be read" in viewer.panel.keys.text.content)
    with PoseViewer(ik.hand(), autosave=tmp_path) as viewer:
        assert not viewer.panel.restore.visible  # another figure
    assert all(thread.name != "exactik autosave" for thread in threading.enumerate())


# --- handles, camera


def test_a_robot_without_a_head_is_held_by_its_trunk():
    hinge = ik.Joint.revolute("y", limits=(-1.0, 1.0))
    bones = [ik.Bone("base", joint=ik.Joint.free()), ik.Bone("waist", parent="base", joint=hinge)]
    for y in (0.2, -0.2):
        for limb, parent, high in (("arm", "waist", 0.4), ("leg", "base", 0.0)):
            for k in range(6):
                offset = (0.0, y, high) if k == 0 else (0.0, 0.0, -0.1)
                name = f"{limb}{k}{y:+}"
                bones.append(ik.Bone(name, parent=parent, offset=offset, joint=hinge))
                parent = name
    handles = PosingSession(ik.Skeleton.build("robot", bones)).handles
    assert handles["waist"].point == (0.0, 0.0, 0.4)
    assert set(handles) == {"base", "waist", "arm5+0.2", "arm5-0.2", "leg5+0.2", "leg5-0.2"}


def test_views_are_from_the_front_the_side_and_above():
    points = np.array([(x, y, z) for x in (-0.2, 0.2) for y in (-0.4, 0.4) for z in (0.0, 1.8)])
    framing = Framing(points, heading=np.pi / 2, covered=WindowSize(0.0, 0.0))
    ways = {}
    for view in VIEWS:
        place = framing.place(WindowSize(800.0, 600.0), view)
        way = place.position - place.look_at
        ways[view] = way / np.linalg.norm(way)
    assert ways["front"] @ (0.0, 1.0, 0.0) > 0.99  # it faces y
    assert ways["side"] @ (1.0, 0.0, 0.0) > 0.99  # its right
    assert ways["top"] @ (0.0, 0.0, 1.0) > 0.99
    assert ways["home"][2] > 0.1
