"""Posing without a window: the body follows, never leaves its limits, never shakes."""

from __future__ import annotations

import gc
import threading
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import exactik as ik
from exactik.errors import GoalError, UnknownNameError
from exactik.studio.player.proportions import compute_reach
from exactik.studio.viewer import (
    AT_LIMIT,
    NEAR_LIMIT,
    Handle,
    PosingSession,
    PosingWorker,
    UndoHistory,
    Update,
)
from exactik.studio.viewer._limits import INSIDE
from exactik.typing import Array
from tests.support.browser import wait_for


def robot() -> ik.Skeleton:
    """An arm of seven hinges on a fixed base, 1.1 m long."""
    bones: list[ik.Bone] = []
    for k, axis in enumerate("zyzyzyz"):
        joint = ik.Joint.revolute(axis, limits=(-2.6, 2.6) if axis == "z" else (-2.0, 2.0))
        parent = None if k == 0 else f"link{k - 1}"
        bones.append(ik.Bone(f"link{k}", parent=parent, offset=(0, 0, 0.15), joint=joint))
    return ik.Skeleton.build("robot", bones, {"TOOL": ("link6", (0, 0, 0.1))})


FIGURES: dict[str, Callable[[], ik.Skeleton]] = {
    "human": ik.human,
    "quadruped": ik.quadruped,
    "hand": ik.hand,
    "octopus": ik.octopus,
    "robot": robot,
}
# A handle each, and how far it is dragged in vain, in units of the figure's reach.
TIPS = {
    "human": "r_hand",
    "quadruped": "head",
    "hand": "index_3",
    "octopus": "arm1_7",
    "robot": "link6",
}
every_figure = pytest.mark.parametrize("name", FIGURES)


def place(session: PosingSession, handle: Handle) -> Array:
    return session.pose().point(handle.bone, handle.point)


def inside(skeleton: ik.Skeleton, q: Array) -> bool:
    return bool(np.isfinite(q).all() and np.array_equal(skeleton.clip(q), q))


# --- handles


def test_a_human_is_held_by_hands_feet_head_and_pelvis_and_stands_on_its_feet():
    handles = PosingSession(ik.human()).handles
    assert set(handles) == {"pelvis", "head", "l_hand", "r_hand", "l_foot", "r_foot"}
    assert {name for name, handle in handles.items() if handle.pinned} == {"l_foot", "r_foot"}
    assert handles["l_foot"].oriented
    assert handles["pelvis"].kind == "root"


def test_other_figures_are_held_by_their_tips():
    hand = PosingSession(ik.hand()).handles
    assert len(hand) == 6
    assert [name for name, handle in hand.items() if handle.pinned] == ["palm"]
    octopus = PosingSession(ik.octopus()).handles
    assert sum(handle.pinned for handle in octopus.values()) == 8
    assert set(PosingSession(robot()).handles) == {"link6"}
    assert not PosingSession(robot()).handles["link6"].pinned


def test_fingers_and_faces_are_held_by_the_hand_and_the_head():
    def ball(name: str, parent: str, *offset: float) -> ik.Bone:
        return ik.Bone(name, parent=parent, offset=offset, joint=ik.Joint.euler("ZXY"))

    bones = [
        ik.Bone("Hips", offset=(0, 0, 1.0), joint=ik.Joint.free("ZXY")),
        ball("Spine", "Hips", 0, 0, 0.5),
        ball("Head", "Spine", 0, 0, 0.2),
        ball("Jaw", "Head", 0.1, 0, 0),
        ball("LeftEye", "Head", 0.1, 0.05, 0.1),
        ball("LeftWrist", "Spine", 0, 0.6, 0),
        ball("LeftHand", "LeftWrist", 0, 0.05, 0),
        ball("LeftHandIndex1", "LeftHand", 0, 0.1, 0),
        ball("LeftThumb", "LeftWrist", 0.05, 0, 0),
        ball("LeftHandRing1", "LeftHand", 0, 0.1, 0),
        ball("LeftFoot", "Hips", 0, 0.1, -0.9),
        ball("LeftToe", "LeftFoot", 0.2, 0, -0.1),
        ball("RightFoot", "Hips", 0, -0.1, -0.9),
        ik.Bone("Nub", parent="RightFoot", offset=(0.2, 0, -0.1)),
    ]
    handles = PosingSession(ik.Skeleton.build("file", bones)).handles
    assert set(handles) == {"Hips", "Head", "LeftHand", "LeftFoot", "Nub"}
    assert {name for name, handle in handles.items() if handle.pinned} == {"LeftFoot", "Nub"}


@pytest.mark.parametrize(
    "file", ["peers/panda.urdf", "data/bvh/cmu_cgspeed/02_01.bvh", "data/asf_amc/cmu02/02.asf"]
)
def test_figures_of_files_are_posed(shared_data: Path, file: str):
    path = shared_data / file
    if not path.exists():
        pytest.skip("no such file")
    figure = ik.load_skeleton(path, 0.0254 / 0.45 if path.suffix == ".bvh" else None)
    session, rng = PosingSession(figure), np.random.default_rng(0)
    for name, handle in list(session.handles.items()):
        session.drag(name, handle.position + rng.normal(0.0, 0.2 * compute_reach(figure), 3))
        for _ in range(60):
            assert inside(figure, session.advance().q)
        session.release()


# --- the body follows


@every_figure
def test_a_handle_follows_to_within_5_mm_where_a_pose_has_it(name: str):
    figure = FIGURES[name]()
    session = PosingSession(figure)
    handle, rng = session.handles[TIPS[name]], np.random.default_rng(3)
    held = [h for h in session.handles.values() if h.pinned]
    where = {h.name: place(session, h) for h in held}
    # A pose that keeps what is pinned has the handle there, by construction.
    away = place(session, handle) + 0.12 * compute_reach(figure) * rng.uniform(-1, 1, 3)
    goals: list[ik.Goal] = [ik.PositionGoal(handle.bone, away, point=handle.point, weight=1e-2)]
    for h in held:
        goals.append(ik.PositionGoal(h.bone, where[h.name], point=h.point, name=h.name))
        if h.oriented:
            goals.append(ik.OrientationGoal(h.bone, h.rotation))
    target = figure.forward(ik.solve(figure, goals).q).point(handle.bone, handle.point)
    session.drag(handle.name, target)
    update = session.settle()
    assert update.resting
    assert max(update.handle_errors.values()) < 0.005
    assert np.linalg.norm(place(session, handle) - target) < 0.005
    assert inside(figure, update.q)


def test_a_bone_that_is_grabbed_anywhere_is_pulled_and_let_go():
    session = PosingSession(ik.human())
    pose = session.pose()
    spot = pose.point("l_forearm", (0.0, 0.1, 0.02))
    name = session.grab("l_forearm", spot)
    assert session.handles[name].kind == "grab"
    session.drag(name, spot + np.array([0.15, 0.05, 0.2]))
    session.settle()
    moved = session.pose().point("l_forearm", (0.0, 0.1, 0.02)) - spot
    np.testing.assert_allclose(moved, (0.15, 0.05, 0.2), atol=0.005)
    feet = [session.pose().point(foot) - pose.point(foot) for foot in ("l_foot", "r_foot")]
    assert np.abs(feet).max() < 1e-3
    session.release(name)
    assert name not in session.handles
    q = session.q
    session.settle()
    np.testing.assert_allclose(session.q, q, atol=1e-3)


def test_straight_knees_and_fingers_buckle_the_way_they_can():
    """Pushed along itself a straight limb is at a saddle, which must not hold it."""
    human = PosingSession(ik.human())
    human.drag("pelvis", human.handles["pelvis"].position - np.array([0, 0, 0.05]))
    assert human.settle().handle_errors["pelvis"] < 0.005
    knees = [human.skeleton.dof_names.index(f"{side}_shin.ry") for side in "lr"]
    assert (human.q[knees] > 0.2).all()
    hand = PosingSession(ik.hand())
    hand.drag("index_3", hand.handles["index_3"].position - np.array([0, 0, 0.02]))
    assert hand.settle().handle_errors["index_3"] < 0.002
    arm = PosingSession(robot(), robot().neutral())
    arm.pin("link6", False, oriented=False)
    arm.drag("link6", arm.handles["link6"].position - np.array([0, 0, 0.3]))
    assert arm.settle().handle_errors["link6"] < 0.005


def test_orientation_is_followed_where_it_is_asked_for():
    session = PosingSession(ik.human())
    session.pin("r_hand", oriented=True)
    pose = session.pose()
    k = session.skeleton.bone_index("r_hand")
    turn = pose.rotations[k] @ np.array([[0, 0, 1.0], [0, 1, 0], [-1, 0, 0]])
    session.drag("r_hand", pose.positions[k] + np.array([0.2, 0.1, 0.1]), turn)
    session.settle()
    reached = session.pose().rotations[k]
    assert np.arccos(np.clip((np.trace(reached @ turn.T) - 1) / 2, -1, 1)) < 0.02
    with pytest.raises(GoalError):
        session.drag("r_hand", rotation=np.ones((3, 3)))


def test_going_back_and_forth_comes_back_to_the_same_pose():
    session = PosingSession(ik.human())
    first, start = session.q, session.handles["l_hand"].position
    session.drag("l_hand", start + np.array([0.3, 0.1, 0.4]))
    session.settle()
    assert np.abs(session.q - first).max() > 0.15
    session.drag("l_hand", start)
    session.settle()
    np.testing.assert_allclose(session.q, first, atol=0.02)


@pytest.mark.full
@pytest.mark.parametrize("solver", ik.list_solvers())
def test_every_solver_can_be_chosen(solver: str):
    session = PosingSession(ik.human(), solver=solver, budget=0.02)
    target = session.handles["r_hand"].position + np.array([0.2, 0.1, 0.1])
    session.drag("r_hand", target)
    update = session.advance()
    for _ in range(60):
        update = session.advance()
        assert inside(session.skeleton, update.q)
    first = np.linalg.norm(np.array((0.2, 0.1, 0.1)))
    assert update.handle_errors["r_hand"] < (0.005 if solver == "auto" else 0.8 * first)


# --- stability


@every_figure
@pytest.mark.parametrize("way", [(1, 0.3, 0.6), (0, 0, 1), (0, 0, -1), (-0.7, -0.7, 0.2)])
def test_nothing_shakes_where_a_goal_is_out_of_reach(name: str, way: tuple[float, float, float]):
    session = PosingSession(FIGURES[name]())
    handle = session.handles[TIPS[name]]
    session.drag(
        handle.name, handle.position + 3.0 * compute_reach(session.skeleton) * np.array(way)
    )
    for _ in range(150):  # a tool that is also turned creeps to its rest for two seconds
        session.advance()
    poses = np.array([session.advance().q for _ in range(60)])
    assert np.ptp(poses, axis=0).max() < 0.01
    held = {k: miss for k, miss in session.advance().handle_errors.items() if k != handle.name}
    assert max(held.values(), default=0.0) < 0.002 * max(1.0, compute_reach(session.skeleton))
    assert inside(session.skeleton, session.q)


@pytest.mark.full
@every_figure
@pytest.mark.parametrize("seconds", [15, pytest.param(60, marks=pytest.mark.slow)])
def test_wild_dragging(name: str, seconds: int):
    """At 60 Hz, with jumps, spins, NaN, several handles at once: all poses are inside."""
    figure = FIGURES[name]()
    session, rng = PosingSession(figure), np.random.default_rng(7)
    names, reach = list(session.handles), compute_reach(figure)
    centre = session.pose().positions.mean(axis=0)
    wrong, steps = 0, []
    for frame in range(60 * seconds):
        if frame % 90 == 0:
            session.release()
            for one in rng.choice(names, size=min(len(names), int(rng.integers(1, 4)))):
                session.begin(str(one))
            if rng.uniform() < 0.3:
                bone = str(rng.choice(figure.bone_names))
                session.grab(bone)
        for one in session.dragged:
            wild = centre + rng.normal(0.0, reach, 3) * (3.0 if frame % 7 == 0 else 0.5)
            if frame % 50 == 1:
                wild[0] = np.nan
            matrix, _ = np.linalg.qr(rng.normal(size=(3, 3)))
            session.drag(one, wild, matrix * np.linalg.det(matrix))
        update = session.advance(1 / 60)
        wrong += not inside(figure, update.q)
        steps.append(update.moved)
    assert wrong == 0
    assert max(steps) <= 0.5 + 1e-9


def test_what_is_not_finite_is_ignored():
    session = PosingSession(ik.human())
    before = session.q
    session.drag("r_hand", (np.nan, 0, 0))
    session.drag("r_hand", (np.inf, 0, 0))
    session.settle()
    np.testing.assert_allclose(session.q, before, atol=1e-6)


# --- settings


def test_locked_joints_stay_and_weak_ones_move_less():
    session = PosingSession(ik.human())
    session.lock("r_upper_arm")
    session.drag("r_hand", session.handles["r_hand"].position + np.array([0.15, 0.1, 0.1]))
    session.settle()
    arm_dofs = [
        i for i, dof in enumerate(session.skeleton.dof_names) if dof.startswith("r_upper_arm")
    ]
    np.testing.assert_array_equal(session.q[arm_dofs], 0.0)
    with pytest.raises(UnknownNameError):
        session.lock("nobody")
    session.lock("r_upper_arm", False)
    assert session.state.locked == ()

    def turned(strength: float) -> float:
        other = PosingSession(ik.human(), glide=0.0)
        other.strengthen("r_upper_arm", strength)
        other.drag("r_hand", other.handles["r_hand"].position + np.array([0.05, 0.05, 0.05]))
        return float(np.abs(other.advance().q[arm_dofs]).max())

    assert turned(0.1) < 0.5 * turned(1.0)


def test_limits_can_be_left_and_come_back():
    session = PosingSession(ik.human())
    session.keep_limits(False)
    session.drag("r_hand", session.handles["head"].position - np.array([0.3, 0, 0]))
    session.settle()
    session.release()
    session.set_dof("l_shin.ry", 4.0)
    assert session.q[session.skeleton.dof_names.index("l_shin.ry")] == 4.0
    session.keep_limits()
    assert inside(session.skeleton, session.q)


def test_limit_levels_are_plain_data():
    session = PosingSession(ik.human())
    i = session.skeleton.dof_names.index("l_shin.ry")
    high = session.skeleton.upper[i]
    for value, level in ((0.5 * high, INSIDE), (high - 0.02, NEAR_LIMIT), (high + 1.0, AT_LIMIT)):
        session.set_dof("l_shin.ry", value)
        limits = session.limits()
        assert limits.level[i] == level
        assert limits.bones[session.skeleton.bone_index("l_shin")] >= level
    assert limits.named(session.skeleton) == ["l_shin.ry"]
    assert limits.above[i] == 0.0
    assert limits.above[0] == np.inf


def test_sliders_are_obeyed_and_nothing_pulls_back():
    session = PosingSession(ik.human())
    session.set_dof("l_thigh.ry", -1.0)
    session.settle()
    assert session.q[session.skeleton.dof_names.index("l_thigh.ry")] == pytest.approx(-1.0)
    with pytest.raises(UnknownNameError):
        session.set_dof("l_thigh.rq", 1.0)
    with pytest.raises(ik.UsageError, match="quaternion"):
        PosingSession(ik.octopus()).set_dof("head.wx", 1.0)


def test_the_verdict_says_why():
    session = PosingSession(ik.human())
    assert session.verdict() is not None
    session.drag("r_hand", session.handles["r_hand"].position + np.array([0.1, 0.0, 0.1]))
    session.settle()
    verdict = session.verdict()
    assert verdict is not None
    assert verdict.status == "reached", verdict.why
    session.drag("r_hand", (5.0, 0.0, 1.0))
    session.settle()
    verdict = session.verdict()
    assert verdict is not None
    assert verdict.status in ("at-limits", "out-of-reach", "local-minimum"), verdict.why
    assert "r_hand" in verdict.why
    assert PosingSession(robot()).verdict() is None  # nothing is asked


def test_the_verdict_of_a_figure_at_rest_names_what_holds_it():
    session = PosingSession(ik.human())
    session.drag("r_hand", (0.85, -0.25, 0.75))
    session.drag("pelvis", (0.12, 0.0, 0.8))
    session.settle()
    verdict = session.verdict()
    assert verdict is not None
    assert verdict.status == "at-limits" and "r_foot.ry" in verdict.why, verdict.why


def test_solvers_are_compared_from_the_same_start():
    session = PosingSession(ik.human())
    session.drag("r_hand", session.handles["r_hand"].position + np.array([0.2, 0.1, 0.2]))
    session.settle()
    results = session.compare(["auto", "levenberg-marquardt", "bfgs"], seconds=2.0)
    assert list(results) == ["auto", "levenberg-marquardt", "bfgs"]
    starts = [result.history.cost[0] for result in results.values() if result.history is not None]
    assert len(starts) == 3
    np.testing.assert_allclose(starts, starts[0], rtol=1e-12)


# --- undo


def test_a_drag_is_one_step_and_comes_back_to_the_bit():
    session = PosingSession(ik.human())
    first = session.q
    for k in range(30):
        session.drag("r_hand", (0.4, -0.3, 1.0 + 0.01 * k))
        session.advance()
    session.release()
    session.settle()
    second = session.q
    session.set_dof("head.rz", 0.1)
    session.set_dof("head.rz", 0.2)
    third = session.q
    assert session.undo()
    np.testing.assert_array_equal(session.q, second)
    assert session.undo()
    np.testing.assert_array_equal(session.q, first)
    assert not session.undo()
    session.settle()
    np.testing.assert_allclose(session.q, first, atol=1e-6)
    assert session.redo()
    assert session.redo()
    assert not session.redo()
    np.testing.assert_allclose(session.q, third, atol=1e-6)
    session.reset()
    np.testing.assert_array_equal(session.q, first)
    assert session.undo()
    np.testing.assert_allclose(session.q, third, atol=1e-6)


def test_settings_are_undone_too_and_the_list_is_bounded():
    session = PosingSession(ik.human())
    session.pin("r_hand")
    session.choose("newton")
    session.lock("head")
    for _ in range(3):
        session.undo()
    assert not session.handles["r_hand"].pinned
    assert (session.state.solver, session.state.locked) == ("auto", ())
    undo: UndoHistory[int] = UndoHistory(depth=5)
    for k in range(50):
        undo.record(k)
    assert undo.undo_count == 5
    assert [undo.undo(99), undo.undo(49)] == [49, 48]


# --- the worker


def test_the_worker_follows_rests_and_stops():
    session = PosingSession(ik.human())
    updates: list[Update] = []
    rested = threading.Event()
    words: list[str] = []

    def at_rest(_: Update, verdict: ik.Result | None) -> None:
        words.append("" if verdict is None else verdict.why)
        rested.set()

    target = session.handles["r_hand"].position + np.array([0.2, 0.1, 0.1])
    with PosingWorker(session, updates.append, at_rest) as worker:
        worker.drag("r_hand", target)
        assert rested.wait(20.0)
        assert words[-1].startswith("reached")
        count = len(updates)
        time.sleep(0.2)
        assert len(updates) == count  # asleep
        rested.clear()
        worker.post(lambda s: s.release())
        worker.post(lambda s: s.set_dof("head.rz", 0.3))
        assert rested.wait(20.0)
    assert worker.stop()
    assert isinstance(updates[-1].q, np.ndarray)
    assert updates[-1].q[session.skeleton.dof_names.index("head.rz")] == pytest.approx(0.3)


def test_the_latest_goal_wins_where_updates_are_slow():
    session = PosingSession(ik.human(), glide=0.0)
    seen: list[Array] = []
    drag = session.drag

    def slow_drag(*arguments: object) -> None:
        seen.append(np.array(arguments[1]))
        time.sleep(0.05)
        drag(*arguments)  # type: ignore[arg-type]

    session.drag = slow_drag  # type: ignore[method-assign]
    start = session.handles["r_hand"].position
    with PosingWorker(session, lambda _: None) as worker:
        for k in range(200):
            worker.drag("r_hand", start + np.array([0.001 * k, 0, 0]))
            time.sleep(0.001)
        last = start + np.array([0.199, 0, 0])
        assert wait_for(lambda: len(seen) > 0 and np.array_equal(seen[-1], last))
        assert len(seen) < 30
        worker.post(lambda s: s.release())
        assert wait_for(lambda: len(session.dragged) == 0)
    place_now = session.pose().point("r_hand")
    assert np.linalg.norm(place_now - last) < 0.1


def test_a_fault_in_a_callback_does_not_end_the_worker(caplog: pytest.LogCaptureFixture):
    session, count = PosingSession(ik.human()), [0]

    def faulty(_: Update) -> None:
        count[0] += 1
        raise RuntimeError("drawn wrongly")

    with PosingWorker(session, faulty) as worker:
        worker.drag("nobody", (0, 0, 0))
        worker.drag("r_hand", (0.4, -0.2, 1.2))
        assert wait_for(lambda: count[0] > 3)
    assert "drawn wrongly" in caplog.text


def test_the_rate_is_bounded():
    session = PosingSession(ik.human())
    times: list[float] = []
    with PosingWorker(session, lambda _: times.append(time.perf_counter()), rate=50.0) as worker:
        k = 0
        while len(times) <= 20:
            worker.drag("r_hand", (0.4, -0.2, 1.0 + 0.0005 * (k := k + 1)))
            time.sleep(0.001)
    assert len(times) <= 4 * 50 * (times[-1] - times[0]) + 3  # asked anew each time, at most
    session.release()
    times.clear()
    with PosingWorker(session, lambda _: times.append(time.perf_counter()), rate=50.0) as worker:
        worker.drag("r_hand", (0.4, 0.3, 1.4))
        assert wait_for(lambda: len(times) > 5 and session.resting)
    assert len(times) <= 50 * (times[-1] - times[0]) + 3  # by itself


@pytest.mark.slow
def test_memory_stays_flat_over_20000_updates():
    session = PosingSession(ik.human())
    start = session.handles["r_hand"].position

    def go(count: int) -> None:
        for k in range(count):
            session.drag("r_hand", start + 0.1 * np.sin([k / 20, k / 30, k / 40]))
            session.advance()
            if k % 100 == 99:
                session.release()

    go(500)
    gc.collect()
    tracemalloc.start()
    go(2500)
    gc.collect()
    early = tracemalloc.get_traced_memory()[0]
    go(17500)
    gc.collect()
    late = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert late - early < 1_000_000  # undo holds at most 200 poses
