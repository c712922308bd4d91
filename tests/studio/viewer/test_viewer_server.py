"""The server seen from outside, and the viewers without a page."""

from __future__ import annotations

import asyncio
import gc
import http.client
import socket
import time
from collections.abc import Coroutine, Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

import exactik as ik
import exactik.cli._pose as pose_command
from exactik.cli import main
from exactik.model.motion import cyclic_axes, turn_skeleton
from exactik.studio.viewer import MotionViewer, PoseViewer
from exactik.studio.viewer.page.server import is_request_allowed, start_guarded_server
from exactik.studio.viewer.posing.panel import make_cost_curves
from tests.support.browser import wait_for
from tests.support.fuzz_upload import announce, connect, quiet
from tests.support.selection import first_quick

pytestmark = pytest.mark.viewer
pytest.importorskip("viser")


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
    host = f"127.0.0.1:{viewer.server.get_port()}"
    assert answer(viewer, {"Host": host}) == 200
    assert answer(viewer, {"Host": host, "Origin": f"http://{host}"}) == 200
    assert answer(viewer, {"Host": host, "Origin": "http://evil.example"}) == 403
    assert answer(viewer, {"Host": host, "Origin": "null"}) == 403
    assert answer(viewer, {"Host": "evil.example"}) == 403
    socket_of_another = {"Host": host, "Origin": "http://evil.example", "Connection": "Upgrade"}
    more = {"Upgrade": "websocket", "Sec-WebSocket-Version": "13"}
    key = {"Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="}
    assert answer(viewer, {**socket_of_another, **more, **key}) == 403


def test_the_server_listens_on_this_machine_only_and_opens_no_tunnel(viewer: PoseViewer):
    assert viewer.url.startswith("http://127.0.0.1:")
    assert viewer.server.request_share_url() is None
    with pytest.raises(ik.UsageError, match="expose"):
        start_guarded_server("0.0.0.0")
    with pytest.raises(ik.UsageError, match="cannot listen"):
        start_guarded_server("nowhere.invalid", expose=True)
    with pytest.raises(ik.UsageError, match="port is 65536; expected 0"):
        start_guarded_server(port=65536)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(ik.UsageError, match="cannot listen"):
            start_guarded_server(port=taken.getsockname()[1])


@pytest.mark.parametrize(
    "sent",
    first_quick(
        [
            b"",
            b"\xff\x00",
            msgspec.msgpack.encode({"type": "Nothing"}),
            msgspec.msgpack.encode({"type": "GuiUpdateMessage", "uuid": {}, "updates": {}}),
            msgspec.msgpack.encode({"type": "CommandTriggerMessage", "uuid": []}),
            msgspec.msgpack.encode(announce({}, "a.c3d", 3)),  # pyright: ignore[reportArgumentType]
        ]
    ),
)
def test_messages_that_make_no_sense_are_one_line_in_the_log(
    viewer: PoseViewer, caplog: pytest.LogCaptureFixture, sent: bytes
):
    with quiet(), connect(viewer) as page:
        page.send(sent)

        def is_logged() -> bool:
            gc.collect()  # asyncio tells of a task that failed when nobody can ask it any more
            return len(caplog.records) > 0

        assert wait_for(is_logged)
    for record in caplog.records:
        assert record.name == "exactik.studio.viewer.server"
        assert record.exc_info is None
        assert record.getMessage().isprintable()


def test_faults_of_our_own_keep_their_traceback(
    viewer: PoseViewer, caplog: pytest.LogCaptureFixture
):
    async def fail() -> None:
        is_request_allowed(3, [], None)  # pyright: ignore[reportArgumentType]

    asyncio.run_coroutine_threadsafe(_start_task(fail()), viewer.server.get_event_loop()).result()

    def is_logged() -> bool:
        gc.collect()
        return len(caplog.records) > 0

    assert wait_for(is_logged)
    assert caplog.records[0].exc_info is not None


async def _start_task(coroutine: Coroutine[Any, Any, None]) -> None:
    asyncio.get_running_loop().create_task(coroutine)


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
    assert is_request_allowed(host, origins, names, ("https://hub.example",)) is allowed


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
        assert shown.scene.figure is not None
        place = shown.scene.figure.bones.batched_positions[figure.bone_index("l_foot")]
        assert np.isfinite(place).all()
        shown.seek(0)
        shown.play()
        assert wait_for(lambda: shown.frame > 10)
        shown.play(False)
        frame = shown.frame
        time.sleep(0.1)
        assert shown.frame == frame
    with pytest.raises(ik.UsageError, match="no frame"):
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
    with pytest.raises(ik.UsageError, match="show a int"):
        ik.view(3)


def test_keys_that_cannot_be_read_are_called_what_the_user_calls_them(viewer: PoseViewer):
    keys = viewer.panel.keys
    keys._post_errors(lambda: keys._load("crouch.json", b"no keys at all"))
    assert wait_for(lambda: keys.text.content.startswith("crouch"))
    assert "/tmp" not in keys.text.content and "keys.json" not in keys.text.content


def test_keys_reach_the_panel_by_its_worker_and_none_that_is_gone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    figure = ik.hand()
    made = ik.Keyframes(figure)
    made.add(0.5, figure.neutral())
    made.save(tmp_path / "keys.json")
    content = (tmp_path / "keys.json").read_bytes()
    ik.save_skeleton(figure, tmp_path / "hand.npz")
    with PoseViewer(figure) as shown:
        panel = shown.panel.keys
        panel._post_errors(lambda: panel._load("a.json", content))
        assert wait_for(lambda: panel.text.content == "keys at 0.5 s")
        shown.open_file(tmp_path / "hand.npz")
        for late in (content, b"no keys at all"):  # whose panel was replaced meanwhile
            panel._post_errors(lambda late=late: panel._load("a.json", late))
        assert shown.panel.keys.text.content == "no keys"
    assert caplog.records == []


@pytest.mark.full
def test_the_panel_keeps_keys_and_compares_solvers(viewer: PoseViewer):
    panel, session = viewer.panel, viewer.session
    panel.keys.run_command(session, "add", 0.0)
    viewer.worker.drag("l_hand", (0.4, 0.3, 1.3))
    assert wait_for(lambda: session.resting and "l_hand" in session.dragged)
    panel.keys.run_command(session, "add", 0.2)
    assert "0, 0.2 s" in panel.keys.text.content
    panel.keys.play()
    panel.keys.close()
    results = panel.advanced.compare.run()
    assert set(results) == set(ik.list_solvers())
    assert "| auto |" in panel.advanced.compare._text.content
    assert len(make_cost_curves(results)) == len(results) + 1
    viewer.worker.post(lambda s: s.reset())
    assert wait_for(lambda: len(session.dragged) == 0)
    panel.keys.run_command(session, "scrub", 0.1)
    assert session.q[6:].any()
    viewer.worker.post(lambda s: s.reset())
    assert wait_for(lambda: not session.q[6:].any())


@pytest.mark.slow
def test_sixty_skinned_bones_reach_the_socket_pose_by_pose():
    """Two messages a pose, whatever the number of bones and of vertices."""
    import viser
    from websockets.sync.client import connect
    from websockets.typing import Subprotocol

    from exactik.studio.viewer.page.scene import FigureScene
    from exactik.studio.viewer.page.server import start_guarded_server, stop_server
    from tests.support.visuals import make_skinned_arm

    figure = make_skinned_arm(60)
    server = start_guarded_server()
    scene = FigureScene(server, figure)
    rng = np.random.default_rng(0)
    steps = 0.05 * rng.standard_normal((30, figure.nv))
    poses = [figure.forward(q) for q in figure.integrate(figure.neutral(), steps)]
    url = f"ws://127.0.0.1:{server.get_port()}"
    protocol = Subprotocol(f"viser-v{viser.__version__}")
    with connect(url, subprotocols=[protocol], max_size=None) as socket:
        received, sent = 0, 0
        while received < 60 and sent < 80:  # the first message brings the scene
            with server.atomic():
                scene.draw(poses[sent % len(poses)])
            server.flush()
            sent += 1
            try:
                message = socket.recv(timeout=0.5, decode=False)
                received += message.count(b"batched_positions")
            except TimeoutError:
                continue
        assert received >= 60
    stop_server(server)


def test_a_figure_is_framed_with_its_meshes_and_stands_on_a_floor():
    from exactik.studio.viewer.page.camera import measure_box
    from tests.support.visuals import make_boxed_arm

    human = ik.human()
    box = measure_box(human.forward(human.neutral()))
    assert box.floor == 0.0
    assert box.middle[2] == pytest.approx(0.88, abs=0.03)
    assert 1.0 < box.size < 2.0
    arm = make_boxed_arm()
    q = arm.neutral()
    for sunk, floor in ((0.01, 0.0), (1.0, -1.0)):
        q[2] = -sunk
        assert measure_box(arm.forward(q)).floor == pytest.approx(floor, abs=0.02)
    bones = [
        ik.Bone(
            f"b{k}",
            parent=None if k == 0 else f"b{k - 1}",
            offset=(0.0, 0.0, 0.0 if k == 0 else 0.5),
            joint=ik.Joint.revolute("y"),
        )
        for k in range(7)
    ]
    chain = ik.Skeleton.build("chain", bones)  # 3 m long, folded up to a stick of 0.5 m
    folded = chain.forward(np.array([0.0, *([np.pi] * 6)]))
    assert measure_box(folded).size == pytest.approx(1.5 * 0.52 * 0.5, rel=0.02)


# --- the figure


def test_a_figure_stands_whatever_its_up_axis_and_another_takes_its_place(tmp_path: Path):
    human = ik.human()
    turned = turn_skeleton(human, cyclic_axes("z", "y"))
    q = human.neutral() + 0.01
    with PoseViewer(turned, q) as viewer:  # by its shape: a head is above its feet
        standing = human.forward(q)
        for name in ("head", "l_foot", "r_hand"):
            place = viewer.session.pose().point(name)
            np.testing.assert_allclose(place[2], standing.point(name)[2], atol=1e-9)
        first = viewer.panel
        ik.save_skeleton(ik.hand(), tmp_path / "hand.npz")
        viewer.surroundings.set_dark(True)
        viewer.open_file(tmp_path / "hand.npz")
        assert viewer.session.skeleton.dof_names == ik.hand().dof_names
        assert viewer.panel is not first and viewer.panel.dark.value
        assert not first.worker._thread.is_alive()
        viewer.worker.drag("wrist", (0.0, 0.0, 0.1))
        assert viewer.worker._thread.is_alive()
    with PoseViewer(turned, up_axis="z") as viewer:  # somebody knows better
        assert abs(np.ptp(viewer.session.pose().positions[:, 2])) < 1.0


def test_a_robot_stands_on_its_feet_if_somebody_says_which_axis_is_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    joint = ik.Joint.revolute("x", limits=(-1.0, 1.0))
    bones = [ik.Bone("trunk"), ik.Bone("leg", parent="trunk", offset=(0, -0.4, 0), joint=joint)]
    path = tmp_path / "robot.urdf"
    ik.save_skeleton(ik.Skeleton.build("robot", bones), path)
    heights: list[float] = []

    def look(viewer: PoseViewer, browser: bool) -> None:
        heights.append(float(viewer.session.pose().point("leg")[2]))
        viewer.close()

    monkeypatch.setattr(pose_command, "serve", look)
    for up in (None, "y"):
        words = [] if up is None else ["--up", up]
        monkeypatch.setattr("sys.argv", ["exactik", "pose", str(path), *words])
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code in (None, 0)
    assert heights == pytest.approx([0.0, -0.4])
