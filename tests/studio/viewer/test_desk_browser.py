"""The animator's desk with a real mouse: bones turned, keys dragged on the timeline, mirror."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import exactik as ik
from exactik.lab.synthetic import simulate_performance
from exactik.spatial import axis_rotation, log_rotation
from exactik.studio.viewer import PoseViewer
from exactik.typing import Array
from tests.support.browser import (
    choose_file,
    chromium,
    close_notices,
    drop_file,
    find_pixel,
    open_page,
    pull_mouse,
    wait_for,
    wait_on_page,
)

pytestmark = [pytest.mark.viewer, pytest.mark.browser]
pytest.importorskip("viser")

ARC_PIXELS = 52.0  # radius of the rings of a gizmo of 80 pixels
OPEN = "open a figure…"
AWAY = (420, 30)  # a place of the scene where nothing is

LAST_KEY = """() => {
    const keys = [...document.querySelectorAll("#exactik-timeline path")];
    const box = keys.at(-1).getBoundingClientRect();
    return [box.x + box.width / 2, box.y + box.height / 2];
}"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as running:
        yield running


def make_figure(kind: str, folder: Path) -> ik.Skeleton:
    """The human, the same from a glTF file, or an arm from a URDF file."""
    if kind == "human":
        return ik.human()
    if kind == "gltf":
        ik.save_skeleton(ik.human(), folder / "human.glb")
        return ik.load_skeleton(folder / "human.glb")
    bones = []
    for k, axis in enumerate("zyzyzyz"):
        joint = ik.Joint.revolute(axis, limits=(-2.6, 2.6))
        parent = None if k == 0 else f"link{k - 1}"
        bones.append(ik.Bone(f"link{k}", parent=parent, offset=(0, 0, 0.15), joint=joint))
    ik.save_skeleton(ik.Skeleton.build("arm", bones), folder / "arm.urdf")
    return ik.load_skeleton(folder / "arm.urdf")


def find_ring(viewer: PoseViewer, bone: str, axis: int) -> tuple[Array, Array]:
    """A place on the gizmo's ring about an axis of a bone, and which way the ring goes there."""
    pose, k = viewer.session.pose(), viewer.session.skeleton.bone_index(bone)
    place, R_world_bone = pose.positions[k], pose.rotations[k]
    camera = next(iter(viewer.server.get_clients().values())).camera
    depth = np.linalg.norm(place - camera.position)
    small = 0.01 * depth
    middle = find_pixel(viewer, place)
    focal = 0.5 * camera.image_height / np.tan(0.5 * camera.fov)
    first, second = (
        (find_pixel(viewer, place + small * R_world_bone[:, i % 3]) - middle) / (focal * 0.01)
        for i in (axis + 1, axis + 2)
    )
    way = second - first
    return middle + ARC_PIXELS * (first + second) / np.sqrt(2.0), way / np.linalg.norm(way)


def choose_ring(viewer: PoseViewer, bone: str, hinge: bool) -> tuple[Array, Array]:
    """The ring that is seen best; that of the axis itself for a hinge."""
    skeleton = viewer.session.skeleton
    if hinge:
        joint = skeleton.bones[skeleton.bone_index(bone)].joint
        return find_ring(viewer, bone, int(np.argmax(np.abs(np.array(joint.axis)))))
    camera = next(iter(viewer.server.get_clients().values())).camera
    k, pose = skeleton.bone_index(bone), viewer.session.pose()
    view = camera.position - pose.positions[k]
    return find_ring(viewer, bone, int(np.argmax(np.abs(view @ pose.rotations[k]))))


@pytest.mark.parametrize(
    ("kind", "bone"), [("human", "l_upper_arm"), ("gltf", "l_forearm"), ("urdf", "link3")]
)
def test_a_bone_is_turned_and_a_key_dragged(browser: Any, tmp_path: Path, kind: str, bone: str):
    figure = make_figure(kind, tmp_path)
    with PoseViewer(figure) as viewer:
        page = open_page(browser, viewer)
        page.wait_for_timeout(1500)
        close_notices(page)
        session, panel = viewer.session, viewer.panel
        first, k = session.q, figure.bone_index(bone)

        # Poses of solvers are seen only while their tab is.
        if kind == "human":
            page.get_by_role("tab", name="Advanced").click()
            assert wait_for(lambda: panel.advanced.compare.seen)
            page.get_by_role("tab", name="Pose").click()
            assert wait_for(lambda: not panel.advanced.compare.seen)

        # A click selects the bone; its ring turns it by its own joint alone.
        pose = session.pose()
        child = int(np.flatnonzero(figure.parents == k)[0])
        middle = 0.5 * (pose.positions[k] + pose.positions[child])
        for _ in range(5):  # the page may still be loading meshes
            page.mouse.click(*find_pixel(viewer, middle))
            if wait_for(lambda: viewer.handles.gizmo.bone is not None, 3.0):
                break
        assert viewer.handles.gizmo.bone == bone
        page.wait_for_timeout(600)
        place, way = choose_ring(viewer, bone, hinge=kind == "urdf")
        pull_mouse(page, place, 30.0 * way)
        page.mouse.up()
        page.wait_for_timeout(300)
        assert wait_for(lambda: session.resting)
        turn = log_rotation(session.pose().rotations[k] @ pose.rotations[k].T)
        assert np.linalg.norm(turn) > 0.1
        moved = np.abs(figure.difference(session.q, first)) > 1e-4  # pinned feet give way by less
        assert set(figure.dof_bones[moved]) == {k}
        page.mouse.click(*AWAY)
        page.keyboard.press("Control+z")
        assert wait_for(lambda: np.array_equal(session.q, first))

        # Two keys; the second is dragged on the timeline, and comes back.
        page.keyboard.press("k")
        assert wait_for(lambda: len(panel.keys.keys) == 1)
        bar = page.locator("#exactik-timeline svg")
        box = bar.bounding_box()
        wide = box["width"] - 28.0  # shows two seconds
        page.mouse.click(box["x"] + 14.0 + 0.5 * wide, box["y"] + 60.0)
        assert wait_for(lambda: abs(panel.keys.clock.time - 1.0) < 0.02)
        page.mouse.click(*AWAY)
        page.keyboard.press("k")
        assert wait_for(lambda: len(panel.keys.keys) == 2)
        page.wait_for_function("document.querySelectorAll('#exactik-timeline path').length === 2")
        before = panel.keys.keys.times.copy()
        grip = np.array(page.evaluate(LAST_KEY), dtype=float)
        pull_mouse(page, grip, np.array([-0.2 * wide, 0.0]), steps=6)
        page.mouse.up()
        assert wait_for(lambda: abs(panel.keys.keys.times[-1] - before[-1] + 0.4) < 0.05)
        page.mouse.click(*AWAY)
        page.keyboard.press("Control+z")
        assert wait_for(lambda: np.array_equal(panel.keys.keys.times, before))

        # Ghosts of the keys, in the very same place, do not catch the pointer.
        pull_mouse(page, find_pixel(viewer, middle), np.array([15.0, -25.0]), steps=6)
        assert wait_for(lambda: len(session.dragged) == 1)
        page.mouse.up()
        assert wait_for(lambda: session.resting and len(session.dragged) == 0)

        # Mirror.
        if kind != "urdf":
            session.turn_bone(bone, axis_rotation("y", -0.5) @ pose.rotations[k])
            wanted = panel.keys.keys.mirrored(session.q)
            page.keyboard.press("m")
            assert wait_for(lambda: np.allclose(session.q, wanted))
            assert not np.allclose(wanted, first)
        page.close()


def test_figures_are_opened_from_the_page_and_others_refused(browser: Any, tmp_path: Path):
    """A robot by the button, a character dropped on the page, a file that is none."""
    robot, character = make_figure("urdf", tmp_path), make_figure("gltf", tmp_path)
    simulate_performance(2.0, 30.0).save(tmp_path / "walk.bvh")
    (tmp_path / "broken.urdf").write_text("<robot", encoding="utf-8")
    with PoseViewer(ik.hand()) as viewer:
        page = open_page(browser, viewer)
        page.get_by_role("button", name=OPEN).wait_for()
        viewer.panel.keys.run_command(viewer.session, "add", 0.0)
        viewer.surroundings.set_dark(True)

        choose_file(page, OPEN, tmp_path / "broken.urdf")
        page.get_by_text("broken.urdf").wait_for(timeout=15_000)
        assert str(viewer.uploads.folder) not in page.content()
        assert viewer.session.skeleton.name == ik.hand().name

        choose_file(page, OPEN, tmp_path / "arm.urdf")
        assert wait_on_page(page, lambda: viewer.session.skeleton.dof_names == robot.dof_names)
        assert wait_on_page(page, lambda: page.get_by_text("broken.urdf").count() == 0)
        assert len(viewer.panel.keys.keys) == 0 and viewer.surroundings.dark

        for file in ("walk.bvh", "human.glb"):
            before = viewer.session
            for _ in range(3):  # the page may still be making its panel anew
                drop_file(page, tmp_path / file)
                if wait_on_page(page, lambda b=before: viewer.session is not b, 15.0):
                    break
            assert viewer.session is not before
            page.wait_for_timeout(1000)  # until the page has the new panel, and its button
        assert viewer.session.skeleton.bone_names == character.bone_names
        close_notices(page)
        page.get_by_text("exactik: human").wait_for()
        # It stands, is on the page, and can be pulled by its hand.
        pose = viewer.session.pose()
        assert pose.point("head")[2] > pose.point("l_foot")[2] + 1.0
        for _ in range(5):  # the page may still be loading the skin, or moving its camera
            hand = find_pixel(viewer, viewer.session.pose().point("r_hand"))
            assert (hand > 0).all() and hand[0] < 520 and hand[1] < 420
            pull_mouse(page, hand, np.array([10.0, -20.0]), steps=6)
            if wait_for(lambda: len(viewer.session.dragged) == 1, 3.0):
                break
            page.mouse.up()
            page.wait_for_timeout(500)
        assert len(viewer.session.dragged) == 1
        page.mouse.up()
        assert wait_for(lambda: viewer.session.resting)
        page.close()
