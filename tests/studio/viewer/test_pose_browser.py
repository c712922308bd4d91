"""Posing with a real mouse in a real browser."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import exactik as ik
from exactik.studio.viewer import PoseViewer, Update
from exactik.studio.viewer.posing import REACHED
from exactik.typing import Array
from tests.support.browser import chromium, close_notices, open_page, requests_elsewhere, wait_for
from tests.support.browser import find_pixel as pixel
from tests.support.browser import pull_mouse as pull

pytestmark = [pytest.mark.viewer, pytest.mark.browser]
pytest.importorskip("viser")


@pytest.fixture(scope="module")
def viewer() -> Iterator[PoseViewer]:
    with PoseViewer(ik.human()) as running:
        yield running


@pytest.fixture(scope="module")
def page(viewer: PoseViewer) -> Iterator[Any]:
    with chromium() as browser:
        page = open_page(browser, viewer)
        page.wait_for_timeout(1500)
        close_notices(page)
        yield page


@pytest.fixture(autouse=True)
def home(viewer: PoseViewer, page: Any) -> None:
    """Begin as if nothing had been done, with a page that shows it."""
    page.mouse.up()
    viewer.worker.post(lambda session: session.release())
    viewer.worker.post(lambda session: session.reset())
    neutral = viewer.session.skeleton.neutral()
    assert wait_for(lambda: viewer.session.resting and np.allclose(viewer.session.q, neutral))
    assert wait_for(lambda: len(viewer.server.get_clients()) == 1)
    page.wait_for_timeout(500)


def place_of(viewer: PoseViewer, name: str) -> Array:
    handle = viewer.session.handles[name]
    return viewer.session.pose().point(handle.bone, handle.point)


def take_arrow(viewer: PoseViewer, page: Any, name: str) -> tuple[Array, Array]:
    """Select a handle; return a place on an arrow of its gizmo, and which way it points."""
    viewer.handles.select(name)
    page.wait_for_timeout(500)
    place = place_of(viewer, name)
    bone = viewer.session.skeleton.bone_index(viewer.session.handles[name].bone)
    axes = viewer.session.pose().rotations[bone].T
    middle = pixel(viewer, place)
    arrows = [pixel(viewer, place + 0.1 * axis) - middle for axis in axes]
    longest = max(arrows, key=lambda arrow: float(np.linalg.norm(arrow)))
    return middle, longest / np.linalg.norm(longest)


def held_still(viewer: PoseViewer, name: str) -> bool:
    return name in viewer.session.dragged and viewer.session.resting


def test_nothing_is_selected_at_first(viewer: PoseViewer, page: Any):
    assert viewer.handles.selected == "" and not viewer.handles.gizmo._node.visible
    assert viewer.panel.handle.value == "none"
    shown = page.get_by_role("tab")
    assert shown.all_inner_texts() == ["Pose", "Joints", "Keys", "Library", "Advanced"]
    first = page.locator("body").inner_text().lower()
    for word in ("method", "glide", "convergence", "solver", "starts", "weight"):
        assert word not in first


def test_the_gizmo_takes_the_hand_where_it_can_be(viewer: PoseViewer, page: Any):
    middle, way = take_arrow(viewer, page, "r_hand")
    before = place_of(viewer, "r_hand")
    pull(page, middle + 50.0 * way, 40.0 * way)
    assert wait_for(lambda: held_still(viewer, "r_hand"))
    target = viewer.session.handles["r_hand"].position
    assert np.linalg.norm(target - before) > 0.05
    assert np.linalg.norm(place_of(viewer, "r_hand") - target) < 5e-3
    assert wait_for(lambda: viewer.panel.status.content == REACHED)
    page.mouse.up()
    assert wait_for(lambda: len(viewer.session.dragged) == 0)
    assert requests_elsewhere(page) == []


def test_what_is_out_of_reach_is_approached_with_a_straight_arm_and_without_shaking(
    viewer: PoseViewer, page: Any
):
    session = viewer.session
    for name in ("pelvis", "head"):
        viewer.worker.post(lambda s, name=name: s.pin(name))
    viewer.handles.select("pelvis")  # the ball of the hand itself is pulled
    page.wait_for_timeout(300)
    start = pixel(viewer, place_of(viewer, "r_hand"))
    poses: list[Array] = []
    shoulder = session.pose().point("r_upper_arm")
    pull(page, start, np.array([-start[0] + 10.0, -start[1] + 60.0]))
    assert wait_for(lambda: "r_hand" in session.dragged)
    show = viewer.worker._on_update

    def listening(update: Update) -> None:
        poses.append(update.q)
        show(update)

    viewer.worker._on_update = listening
    try:
        for k in range(90):  # the hand of the user is not quite still, by less than a pixel
            viewer.worker.drag("r_hand", session.handles["r_hand"].position + 1e-7 * (k % 2))
            page.wait_for_timeout(20)
        assert wait_for(lambda: held_still(viewer, "r_hand"))
    finally:
        viewer.worker._on_update = show
    assert len(poses) >= 60
    assert float(np.ptp(np.array(poses[-60:]), axis=0).max()) < 0.01
    pose, target = session.pose(), session.handles["r_hand"].position
    elbow = session.skeleton.dof_names.index("r_forearm.rz")
    assert np.linalg.norm(place_of(viewer, "r_hand") - target) > 0.1
    assert abs(session.q[elbow]) < np.radians(25.0), np.degrees(session.q[elbow])
    arm, way = pose.point("r_hand") - pose.point("r_upper_arm"), target - pose.point("r_upper_arm")
    cosine = float(arm @ way / np.linalg.norm(arm) / np.linalg.norm(way))
    assert cosine > 0.97, (cosine, shoulder)
    assert wait_for(lambda: "short" in viewer.panel.status.content)
    assert viewer.panel.status.content != REACHED


def test_a_bone_is_pulled_and_the_pull_is_undone(viewer: PoseViewer, page: Any):
    session = viewer.session
    first = session.q
    middle = session.pose().point("l_forearm", (0.0, 0.08, 0.0))
    pull(page, pixel(viewer, middle), np.array([-40.0, -60.0]))
    assert wait_for(lambda: len(session.dragged) == 1)
    assert session.handles[next(iter(session.dragged))].bone == "l_forearm"
    page.mouse.up()
    assert wait_for(lambda: len(session.dragged) == 0)
    moved = session.pose().point("l_forearm", (0.0, 0.08, 0.0)) - middle
    assert moved[2] > 0.05
    foot = session.pose().point("l_foot") - session.skeleton.forward(first).point("l_foot")
    assert np.abs(foot).max() < 2e-3
    page.mouse.click(60, 440)
    page.keyboard.press("Control+z")
    assert wait_for(lambda: bool(np.allclose(session.q, first, atol=1e-6)))
    page.keyboard.press("Control+Shift+z")
    assert wait_for(lambda: not np.allclose(session.q, first, atol=1e-3))


def test_a_lost_page_lets_go_and_comes_back(viewer: PoseViewer, page: Any):
    session = viewer.session
    start = pixel(viewer, session.pose().point("l_forearm", (0.0, 0.08, 0.0)))
    pull(page, start, np.array([-20.0, -30.0]))
    assert wait_for(lambda: len(session.dragged) == 1)
    before = set(viewer.server.get_clients())
    viewer.server._websock_server.disconnect_all_clients()
    assert wait_for(lambda: len(session.dragged) == 0)
    assert wait_for(lambda: len(set(viewer.server.get_clients()) - before) == 1)
    page.mouse.up()
    page.wait_for_timeout(1500)
    head = pixel(viewer, place_of(viewer, "head"))
    pull(page, head, np.array([30.0, 20.0]))  # the page that came back works
    assert wait_for(lambda: "head" in session.dragged)
    assert viewer.handles.selected == "head"


def test_two_hands_are_held_together_in_balance_and_seen_from_all_sides(
    viewer: PoseViewer, page: Any
):
    session = viewer.session
    camera = next(iter(viewer.server.get_clients().values())).camera
    for name in ("l_hand", "r_hand"):
        page.mouse.click(*pixel(viewer, place_of(viewer, name)))
        assert wait_for(lambda n=name: viewer.handles.selected == n)
    page.keyboard.press("j")
    assert wait_for(lambda: [join.pair for join in session.state.joins] == [{"l_hand", "r_hand"}])
    page.get_by_text("Held together: left hand and right hand.").wait_for(timeout=10_000)
    page.get_by_label("keep balance").click()
    assert wait_for(lambda: session.state.balanced and viewer.balance.visible)
    page.get_by_text("in balance").wait_for(timeout=10_000)

    def look_from() -> Array:
        way = np.array(camera.position) - np.array(camera.look_at)
        return way / np.linalg.norm(way)

    for view, way in (("front", (1.0, 0.0, 0.0)), ("side", (0.0, -1.0, 0.0)), ("top", (0, 0, 1))):
        page.get_by_role("button", name=view, exact=True).click()
        assert wait_for(lambda w=way: float(look_from() @ w) > 0.98), view
    page.get_by_role("button", name="home", exact=True).click()
    assert wait_for(lambda: 0.1 < float(look_from()[2]) < 0.4)
    pull(page, np.array([60.0, 300.0]), np.array([0.0, -290.0]))  # would go below the floor
    page.mouse.up()
    page.wait_for_timeout(300)
    assert camera.position[2] > 0.0
    page.get_by_role("button", name="home", exact=True).click()
    viewer.panel.balance_switch.value = False
    play = page.locator("#exactik-timeline button").first
    play.evaluate("(button) => { button.textContent = '❚❚ pause'; }")  # which fits
    assert play.evaluate("(b) => [b.scrollWidth - b.clientWidth, b.offsetHeight]") == [0, 22]
    play.evaluate("(button) => { button.textContent = '▶ play'; }")


def test_two_pages_see_the_same(viewer: PoseViewer, page: Any):
    other = page.context.browser.new_page(viewport={"width": 800, "height": 500})
    other.goto(viewer.url)
    assert wait_for(lambda: len(viewer.server.get_clients()) == 2)
    try:
        other.get_by_role("tab", name="Joints").click()
        box = other.locator("input[type=text]").first
        assert box.input_value() != ""
        viewer.worker.post(lambda session: session.set_dof("l_shin.ry", 0.8))
        assert wait_for(lambda: float(viewer.session.q.max()) > 0.7)
        sizes = []
        for one in (page, other):
            one.wait_for_timeout(1000)
            sizes.append(len(one.locator("canvas").first.screenshot()))
        assert min(sizes) > 5_000  # neither is blank
    finally:
        other.close()
    assert wait_for(lambda: len(viewer.server.get_clients()) == 1)


def test_keys_are_added_moved_played_saved_and_brought_back(
    viewer: PoseViewer, page: Any, tmp_path: Path
):
    keys = viewer.panel.keys
    page.get_by_role("tab", name="Keys").click()

    def press(name: str) -> None:
        page.get_by_role("button", name=name, exact=True).last.click()

    press("add")
    assert wait_for(lambda: len(keys.keys) == 1)
    box = page.locator("input[inputmode]:visible").first
    box.fill("0.5")
    box.press("Enter")
    assert wait_for(lambda: keys.clock.time == 0.5)
    viewer.worker.post(lambda session: session.set_dof("l_upper_arm.rx", 1.0))
    press("add")
    assert wait_for(lambda: keys.keys.times.tolist() == [0.0, 0.5])
    press("play or pause")
    assert wait_for(lambda: keys.clock.playing and keys.clock.time < 0.4)  # it loops
    press("play or pause")
    assert wait_for(lambda: not keys.clock.playing)
    keys.run_command(viewer.session, "scrub", 0.5)
    with page.expect_download() as download:
        press("download")
    path = tmp_path / "keys.json"
    download.value.save_as(path)
    assert len(json.loads(path.read_text())["keys"]) == 2
    press("delete")
    assert wait_for(lambda: len(keys.keys) == 1)
    with page.expect_file_chooser() as chooser:
        page.get_by_text("load keys").click()
    chooser.value.set_files(path)
    assert wait_for(lambda: len(keys.keys) == 2)
    tweened = keys.keys.tween(0.25)[0]
    assert 0.2 < tweened[viewer.session.skeleton.dof_names.index("l_upper_arm.rx")] < 0.8
    page.get_by_role("tab", name="Pose").click()


def test_limits_hold_in_a_minute_of_wild_dragging(viewer: PoseViewer, page: Any):
    session, skeleton = viewer.session, viewer.session.skeleton
    worst, count, bad = 0.0, 0, 0
    show = viewer.worker._on_update

    def judging(update: Update) -> None:
        nonlocal worst, count, bad
        bad += not np.isfinite(update.q).all()
        values = update.q[skeleton.plain_q]
        below, above = skeleton.lower - values, values - skeleton.upper
        worst = max(worst, float(np.max([below, above])))
        count += 1
        show(update)

    random = np.random.default_rng(5)
    viewer.worker._on_update = judging
    try:
        end = time.perf_counter() + 60.0
        while time.perf_counter() < end:
            name = random.choice(list(viewer.handles.names))
            page.mouse.move(*pixel(viewer, place_of(viewer, name)))
            page.mouse.down()
            for _ in range(int(random.integers(3, 12))):
                page.mouse.move(*(random.random(2) * (500.0, 500.0)))
                page.wait_for_timeout(float(random.uniform(10.0, 80.0)))
            page.mouse.up()
    finally:
        viewer.worker._on_update = show
    assert count > 600
    assert bad == 0
    assert worst <= 1e-12
    assert wait_for(lambda: session.resting)
