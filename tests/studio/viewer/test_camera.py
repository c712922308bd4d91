"""The camera of a page: all is in the free part of the window, and nothing could be nearer."""

from __future__ import annotations

import asyncio
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import exactik as ik
from exactik.model.motion import Motion
from exactik.studio.viewer import MotionViewer, PlaybackData, PoseViewer
from exactik.studio.viewer.page.camera import (
    AZIMUTH,
    ELEVATION,
    FIELD_OF_VIEW,
    MARGIN,
    MAX_BOX_POINTS,
    CameraPlace,
    Framing,
    WindowSize,
    fit_camera,
    keep_in_view,
    measure_box,
)
from exactik.typing import Array
from tests.support.visuals import make_boxed_arm

pytestmark = pytest.mark.viewer
pytest.importorskip("viser")

WINDOW = WindowSize(1000.0, 800.0)


def project(points: Array, place: CameraPlace, window: WindowSize = WINDOW) -> Array:
    """Where points are in a window, as shares of its width and height from the bottom left."""
    ahead = place.look_at - place.position
    ahead /= np.linalg.norm(ahead)
    right = np.cross(ahead, (0.0, 0.0, 1.0))
    right /= np.linalg.norm(right)
    x, y, z = np.stack([right, np.cross(right, ahead), ahead]) @ (points - place.position).T
    slope = np.tan(0.5 * FIELD_OF_VIEW)
    aspect = window.width / window.height
    return 0.5 + 0.5 * np.stack([x / (slope * aspect * z), y / (slope * z)], axis=1)


@pytest.mark.parametrize(("left", "bottom"), [(0.0, 0.0), (0.3, 0.0), (0.0, 0.4), (0.6, 0.1)])
@pytest.mark.parametrize("size", [(0.4, 0.5, 1.8), (3.0, 1.0, 0.3), (1e-3, 1e-3, 1e-3)])
def test_all_is_seen_and_nothing_could_be_nearer(
    left: float, bottom: float, size: tuple[float, float, float]
):
    points = np.random.default_rng(1).uniform(-0.5, 0.5, (200, 3)) * size + (4.0, -2.0, 1.0)
    place = fit_camera(points, (0.7, ELEVATION), WINDOW, FIELD_OF_VIEW, left=left, bottom=bottom)
    x, y = project(points, place).T
    low, high = np.array([left, bottom]) + MARGIN, 1.0 - MARGIN
    assert x.min() >= low[0] - 1e-9 and y.min() >= low[1] - 1e-9
    assert x.max() <= high + 1e-9 and y.max() <= high + 1e-9
    assert [x.min() - low[0], y.min() - low[1]] == pytest.approx(
        [high - x.max(), high - y.max()], abs=1e-6
    )
    fills = np.array([np.ptp(x), np.ptp(y)]) / (high - low)
    if size[0] > 0.1:
        assert fills.max() == pytest.approx(1.0, abs=1e-9)


def test_a_single_point_is_before_the_camera():
    place = fit_camera(np.zeros((1, 3)), (0.0, ELEVATION), WINDOW, FIELD_OF_VIEW)
    assert 1e-4 < np.linalg.norm(place.position) < 1e-2


def test_a_figure_is_seen_from_its_front_right_and_a_little_from_above():
    human = ik.human()
    points = measure_box(human.forward(human.neutral())).points
    for heading in (0.0, 2.0):
        view = Framing(points, heading=heading, covered=WindowSize(0.0, 0.0)).place()
        way = view.position - view.look_at
        azimuth = np.arctan2(way[1], way[0])
        assert np.cos(azimuth - heading - AZIMUTH) == pytest.approx(1.0)
        assert -0.9 < AZIMUTH < -0.3  # from the right, nearer to the front than to the side
        assert 0.15 < way[2] / np.linalg.norm(way) < 0.35
    assert np.linalg.norm(way) < 3.5  # of somebody who is 1.8 m tall
    assert 0.02 < MARGIN < 0.1


def test_what_is_covered_is_avoided_above_it_or_beside_it():
    tall, wide = np.array([1.0, 1.0, 4.0]), np.array([4.0, 4.0, 0.5])
    corners = np.array(np.meshgrid(*([(-0.5, 0.5)] * 3))).reshape(3, -1).T
    covered = WindowSize(400.0, 400.0)
    for size, beside in ((tall, True), (wide, False)):
        points = corners * size
        x, y = project(points, Framing(points, covered=covered).place(WINDOW)).T
        assert (bool(x.min() >= 0.4), bool(y.min() >= 0.5)) == (beside, not beside)
    # Of a narrow window what is left beside is not enough; of a low one half is left in any case.
    points = corners * tall
    for window, beside in ((WindowSize(680.0, 800.0), True), (WindowSize(650.0, 800.0), False)):
        x, _ = project(points, Framing(points, covered=covered).place(window), window).T
        assert bool(x.min() >= covered.width / window.width) is beside
    low = WindowSize(500.0, 500.0)
    place = Framing(points, covered=covered).place(low)
    assert 0.5 < project(points, place, low)[:, 1].min() < 0.56
    framing = Framing(points, covered=covered)
    framing.covered_when_low = WindowSize(400.0, 100.0)
    assert 0.2 < project(points, framing.place(low), low)[:, 1].min() < 0.35
    # A bar of all the width leaves what is above it.
    y = project(corners, Framing(corners, covered=WindowSize(np.inf, 76.0)).place(WINDOW))[:, 1]
    assert y.min() >= 76.0 / 800.0


def test_room_for_a_gizmo_is_kept_as_long_as_the_window_is_large():
    points = np.random.default_rng(1).uniform(-1.0, 1.0, (50, 3))
    framing = Framing(points, covered=WindowSize(0.0, 0.0), around=80.0)
    for window, room in ((WINDOW, 80.0), (WindowSize(300.0, 300.0), 45.0)):
        x, y = project(points, framing.place(window), window).T
        free = [x.min(), 1.0 - x.max(), y.min(), 1.0 - y.max()] * np.repeat(window, 2)
        expected = room + MARGIN * np.repeat(window, 2)
        assert (free >= expected - 1e-6).all() and (free - expected).min() < 1e-6


class FakeClient:
    """A page as viser has it, as far as its camera goes."""

    def __init__(self, window: WindowSize):
        self.camera: Any = SimpleNamespace(
            image_width=int(window.width),
            image_height=int(window.height),
            position=np.zeros(3),
            look_at=np.ones(3),
            on_update=self._listen,
        )
        self.moved = 0

    def _listen(self, callback: Any) -> None:
        self._callback = callback

    def atomic(self) -> Any:
        self.moved += 1
        return nullcontext()

    def tell(self) -> None:
        asyncio.run(self._callback(SimpleNamespace(client=self)))


def test_the_camera_follows_the_window_until_somebody_moves_it():
    points = np.random.default_rng(1).uniform(-1.0, 1.0, (50, 3))
    framing = Framing(points, covered=WindowSize(0.0, 0.0))
    connected: list[Any] = []
    server = SimpleNamespace(on_client_connect=connected.append)
    keep_in_view(server, lambda: framing)
    client = FakeClient(WindowSize(1400.0, 900.0))
    asyncio.run(connected[0](client))
    assert client.moved == 1
    client.tell()
    assert client.moved == 1  # the window is as it was
    client.camera.image_width = 600  # now the panel is there
    client.tell()
    assert client.moved == 2
    place = framing.place(WindowSize(600.0, 900.0))
    assert np.allclose(client.camera.position, place.position)
    client.camera.position = place.position * 1.0001  # as pages round it
    client.camera.image_width = 700
    client.tell()
    assert client.moved == 3
    client.camera.position = client.camera.position * 1.01  # a drag
    client.camera.image_width = 500
    client.tell()
    assert client.moved == 3


def test_pages_stand_on_the_floor_with_the_figure_in_view_all_the_time():
    arm = make_boxed_arm()
    q = np.tile(arm.neutral(), (20, 1))
    q[:, 2] = -1.0  # its origin is above its base, as of robots
    q[:, 0] = np.linspace(0.0, 0.2, 20)
    with MotionViewer(Motion(arm, q, 10.0)) as viewer:
        around = viewer.scene.surroundings
        assert around.floor.position[2] == pytest.approx(-1.0, abs=0.02)
        window = WindowSize(476.0, 600.0)
        place = around.framing.place(window)
        for frame in (0, 10, 19):
            viewer.scene.draw(frame)
            points = measure_box(viewer.data.pose(frame)).points + viewer.scene.shift
            x, y = project(points, place, window).T
            assert x.min() > 0.0 and x.max() < 1.0 and y.min() > 127.0 / 600.0 and y.max() < 1.0
        assert viewer.panel.timeline_size == (435, 127)


def test_the_switch_says_whether_the_page_is_dark():
    with PoseViewer(make_boxed_arm()) as viewer:
        viewer.surroundings.set_dark(True)
        assert viewer.surroundings._switch.value is True


def test_a_ghost_beside_the_figure_is_in_view():
    human = ik.human()
    motion = Motion(human, np.tile(human.neutral(), (3, 1)), 10.0)
    data = PlaybackData.of(motion, references=[motion], aside=3.0)
    with MotionViewer(data) as viewer:
        place = viewer.scene.surroundings.framing.place(WINDOW)
        ghost = data.reference(0, 1)
        assert ghost is not None
        aside = np.array([0.0, 3.0, 0.0])
        x, y = project(measure_box(ghost).points + aside, place).T
        assert x.max() < 1.0 and x.min() > 0.0 and y.min() > 0.0 and y.max() < 1.0


def test_a_figure_is_told_by_some_thousand_points():
    human = ik.human()
    box = measure_box(human.forward(human.neutral()))
    assert 1000 < len(box.points) <= MAX_BOX_POINTS + len(human.bones) < 10_000
    assert box.points[:, 2].max() == pytest.approx(1.75, abs=0.1)
