"""The viewer in a real browser, and its server seen from outside."""

from __future__ import annotations

import http.client
import socket
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from browser import chromium, open_page, requests_elsewhere, wait_for
from numpy.typing import NDArray

import exactik as ik
from exactik.viewer import MotionViewer, PoseViewer
from exactik.viewer._panel_compare import curves
from exactik.viewer._server import allowed_request, guarded_server

pytestmark = pytest.mark.viewer
pytest.importorskip("viser")

Array = NDArray[np.float64]


@pytest.fixture(scope="module")
def viewer() -> Iterator[PoseViewer]:
    with PoseViewer(ik.human()) as running:
        yield running


# --- the server


def answer(viewer: PoseViewer, headers: dict[str, str]) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", viewer.server.get_port(), timeout=10)
    connection.putrequest("GET", "/", skip_host=True)
    for name, value in headers.items():
        connection.putheader(name, value)
    connection.endheaders()
    status = connection.getresponse().status
    connection.close()
    return status


def test_the_server_answers_its_own_page_only(viewer: PoseViewer):
    own = f"127.0.0.1:{viewer.server.get_port()}"
    assert answer(viewer, {"Host": own}) == 200
    assert answer(viewer, {"Host": own, "Origin": f"http://{own}"}) == 200
    assert answer(viewer, {"Host": own, "Origin": "http://evil.example"}) == 403
    assert answer(viewer, {"Host": own, "Origin": "null"}) == 403
    assert answer(viewer, {"Host": "evil.example"}) == 403
    socket_of_another = {"Host": own, "Origin": "http://evil.example", "Connection": "Upgrade"}
    more = {"Upgrade": "websocket", "Sec-WebSocket-Version": "13"}
    key = {"Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="}
    assert answer(viewer, {**socket_of_another, **more, **key}) == 403


def test_the_server_listens_on_this_machine_only_and_opens_no_tunnel(viewer: PoseViewer):
    assert viewer.url.startswith("http://127.0.0.1:")
    assert viewer.server.request_share_url() is None
    with pytest.raises(ik.ModelError, match="expose"):
        guarded_server("0.0.0.0")
    with pytest.raises(ik.ModelError, match="cannot listen"):
        guarded_server("nowhere.invalid", expose=True)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(ik.ModelError, match="cannot listen"):
            guarded_server(port=taken.getsockname()[1])


@pytest.mark.parametrize(
    ("host", "origins", "allowed"),
    [
        ("127.0.0.1:80", [], True),
        ("localhost:80", ["http://localhost:80"], True),
        ("[::1]:80", ["http://[::1]:80"], True),
        ("127.0.0.1:80", ["http://localhost:80"], False),
        ("127.0.0.1:80", ["http://127.0.0.1:81"], False),
        ("127.0.0.1:80", ["http://127.0.0.1:80", "http://evil.example"], False),
        ("127.0.0.1.evil.example:80", [], False),
        ("evil.example", ["https://hub.example"], True),
        (None, [], False),
    ],
)
def test_which_requests_are_answered(host: str | None, origins: list[str], allowed: bool):
    names = ("127.0.0.1", "localhost", "[::1]")
    assert allowed_request(host, origins, names, ("https://hub.example",)) is allowed


# --- the page


@pytest.fixture(scope="module")
def page(viewer: PoseViewer) -> Iterator[Any]:
    with chromium() as browser:
        page = open_page(browser, viewer)
        page.wait_for_timeout(1500)
        yield page


def pixel(viewer: PoseViewer, place: Array) -> tuple[float, float]:
    """Where a point of the world is on the page."""
    camera = next(iter(viewer.server.get_clients().values())).camera
    w, x, y, z = camera.wxyz
    turn = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )
    right, down, ahead = turn.T @ (place - camera.position)
    focal = 0.5 * camera.image_height / np.tan(0.5 * camera.fov)
    return 0.5 * camera.image_width + focal * right / ahead, (
        0.5 * camera.image_height + focal * down / ahead
    )


def go_home(viewer: PoseViewer, page: Any) -> None:
    """Begin as if nothing had been done, with a page that shows it."""
    page.mouse.up()
    viewer.worker.post(lambda session: session.release())
    viewer.worker.post(lambda session: session.reset())
    neutral = viewer.session.skeleton.neutral()
    assert wait_for(lambda: viewer.session.resting and np.allclose(viewer.session.q, neutral))
    assert wait_for(lambda: len(viewer.server.get_clients()) == 1)
    page.wait_for_timeout(700)


def pull(page: Any, start: tuple[float, float], by: tuple[float, float]) -> None:
    page.mouse.move(*start)
    page.mouse.down()
    for k in range(1, 13):
        page.mouse.move(start[0] + by[0] * k / 12, start[1] + by[1] * k / 12)
        page.wait_for_timeout(60)
    page.wait_for_timeout(200)


@pytest.mark.slow
def test_a_bone_is_pulled_with_the_mouse_and_the_pull_is_undone(viewer: PoseViewer, page: Any):
    go_home(viewer, page)
    session = viewer.session
    first = session.q
    middle = session.pose().point("l_forearm", (0.0, 0.08, 0.0))
    pull(page, pixel(viewer, middle), (-40.0, -60.0))
    assert wait_for(lambda: len(session.dragged) == 1)
    assert session.handles[next(iter(session.dragged))].bone == "l_forearm"
    page.mouse.up()
    assert wait_for(lambda: len(session.dragged) == 0)
    moved = session.pose().point("l_forearm", (0.0, 0.08, 0.0)) - middle
    assert moved[2] > 0.05
    feet = [session.pose().point(b) - session.skeleton.forward(first).point(b) for b in ("l_foot",)]
    assert np.abs(feet).max() < 2e-3
    page.mouse.click(150, 420)
    page.keyboard.press("z")
    assert wait_for(lambda: bool(np.allclose(session.q, first, atol=1e-6)))
    assert requests_elsewhere(page) == []


@pytest.mark.slow
def test_what_a_lost_page_held_is_let_go_and_the_page_comes_back(viewer: PoseViewer, page: Any):
    go_home(viewer, page)
    session = viewer.session
    pull(page, pixel(viewer, session.pose().point("l_forearm", (0.0, 0.08, 0.0))), (-20.0, -30.0))
    assert wait_for(lambda: len(session.dragged) == 1)
    before = set(viewer.server.get_clients())
    viewer.server._websock_server.disconnect_all_clients()
    assert wait_for(lambda: len(session.dragged) == 0)
    assert wait_for(lambda: len(set(viewer.server.get_clients()) - before) == 1)
    page.mouse.up()


@pytest.mark.slow
def test_a_handle_is_dragged_with_the_mouse(viewer: PoseViewer, page: Any):
    go_home(viewer, page)
    session = viewer.session
    head = session.handles["head"]
    before = session.pose().point(head.bone, head.point)
    pull(page, pixel(viewer, before), (50.0, 30.0))
    assert wait_for(lambda: "head" in session.dragged)
    page.mouse.up()
    assert wait_for(lambda: len(session.dragged) == 0)
    assert np.linalg.norm(session.pose().point(head.bone, head.point) - before) > 0.03
    assert viewer.handles.selected == "head"


# --- a motion, and what else can be shown


def test_a_motion_plays_pauses_and_is_scrubbed():
    figure = ik.human()
    q = np.tile(figure.neutral(), (50, 1))
    q[:, figure.dof_names.index("l_shin.ry")] = np.linspace(0.0, 1.0, 50)
    q[20:25] = np.nan
    with MotionViewer(ik.Motion(figure, q, 100.0)) as shown:
        shown.seek(40)
        assert shown.frame == 40
        shown.seek(22)  # missing: what was there last is shown
        place = shown.scene.figure.bones.batched_positions[figure.bone_index("l_foot")]
        assert np.isfinite(place).all()
        shown.seek(0)
        shown.play()
        assert wait_for(lambda: shown.frame > 10)
        shown.play(False)
        frame = shown.frame
        time.sleep(0.1)
        assert shown.frame == frame
    with pytest.raises(ik.ModelError, match="no frame"):
        MotionViewer(ik.Motion(figure, np.full((3, 58), np.nan), 100.0))


def test_view_shows_what_can_be_shown(capsys: pytest.CaptureFixture[str]):
    figure = ik.hand()
    result = ik.solve(figure, [ik.MarkerGoal("INDEX", (0.05, 0.03, 0.15))], lock="palm")
    for thing in (figure, result, ik.PosingSession(figure)):
        shown = ik.view(thing, block=False, browser=False)
        assert isinstance(shown, PoseViewer)
        assert shown.session.skeleton == figure
        shown.close()
    assert "http://127.0.0.1:" in capsys.readouterr().out
    keys = ik.Keyframes(figure)
    keys.add(0.0, figure.neutral())
    shown = ik.view(keys, block=False, browser=False)
    assert isinstance(shown, MotionViewer)
    shown.close()
    with pytest.raises(ik.ModelError, match="show a int"):
        ik.view(3)


def test_the_panel_keeps_keys_and_compares_solvers(viewer: PoseViewer):
    panel, session = viewer.panel, viewer.session
    panel.keys.act(session, "add", 0.0)
    viewer.worker.drag("l_hand", (0.4, 0.3, 1.3))
    assert wait_for(lambda: session.resting and "l_hand" in session.dragged)
    panel.keys.act(session, "add", 0.2)
    assert "0, 0.2 s" in panel.keys.listed.content
    panel.keys.play()
    panel.keys.close()
    found = panel.compare.run()
    assert set(found) == set(ik.solvers())
    assert "| auto |" in panel.compare._text.content
    assert len(curves(found)) == len(found) + 1
    viewer.worker.post(lambda s: s.reset())
    assert wait_for(lambda: len(session.dragged) == 0)
    panel.keys.act(session, "go there", 0.1)
    assert session.q[6:].any()
    viewer.worker.post(lambda s: s.reset())
    assert wait_for(lambda: not session.q[6:].any())


@pytest.mark.slow
def test_the_gizmo_moves_the_selected_handle(viewer: PoseViewer, page: Any):
    go_home(viewer, page)
    session = viewer.session
    viewer.handles.select("pelvis")
    page.wait_for_timeout(500)
    before = session.pose().point("pelvis")
    x, y = pixel(viewer, before)
    pull(page, (x, y - 60.0), (0.0, 40.0))  # its arrow along z, pushed down
    assert wait_for(lambda: "pelvis" in session.dragged)
    page.mouse.up()
    assert wait_for(lambda: len(session.dragged) == 0)
    moved = session.pose().point("pelvis") - before
    assert moved[2] < -0.02
    assert abs(moved[1]) < 0.01  # forwards and back it may have to, to keep the feet where they are
