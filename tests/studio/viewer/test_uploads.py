"""What is sent to a viewer's port: it goes on, keeps little, and says what it refuses.

The campaign is `make fuzz ARGS="--only upload"`.
"""

from __future__ import annotations

import threading
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import exactik as ik
from exactik.errors import UsageError
from exactik.studio.viewer import MotionViewer, PoseViewer
from exactik.studio.viewer.page.upload import (
    MAX_FILES,
    MAX_UPLOAD_BYTES,
    Uploads,
    is_transfer_sound,
)
from tests.support.browser import wait_for
from tests.support.fuzz_upload import UploadFuzzer, ask, host_of
from tests.support.mesh_files import write_stl

RUNS = 60


@pytest.mark.full
def test_random_requests_leave_a_server_as_it_was():
    with UploadFuzzer() as fuzzer:
        outcomes = Counter(fuzzer.run(f"upload/0/{k}") for k in range(RUNS))
    assert outcomes["refused"] > 0 and outcomes["opened"] > 0 and outcomes["knock 403"] > 0


def test_few_files_are_kept_however_small_they_are():
    uploads = Uploads()
    for k in range(MAX_FILES + 9):
        uploads.store(f"{k}", b"")
    kept = sorted(int(path.name) for path in uploads.folder.iterdir())
    assert kept == list(range(9, MAX_FILES + 9))
    uploads.close()


def test_a_figure_from_a_page_refers_to_nothing_but_what_came_with_it():
    uploads = Uploads()
    stray = uploads.folder.parents[1] / f"stray-{uploads.folder.parent.name}.stl"
    write_stl(stray)
    try:
        urdf = '<robot name="r"><link name="a"><visual><geometry><mesh filename="{}"/></geometry>'
        urdf += "</visual></link></robot>"
        for name in (f"../{stray.name}", f"../../{stray.name}", str(stray), f"file://{stray}"):
            path = uploads.store("robot.urdf", urdf.format(name).encode())
            figure = ik.load_skeleton(path)
            assert len(figure.visuals.rigid) == 0 and len(figure.visuals.notes) == 1
        uploads.store("own.stl", stray.read_bytes())
        path = uploads.store("robot.urdf", urdf.format("own.stl").encode())
        assert len(ik.load_skeleton(path).visuals.rigid) == 1
    finally:
        stray.unlink()
        uploads.close()


def test_files_may_come_from_several_threads_at_once():
    uploads, failed = Uploads(), []

    def store(k: int) -> None:
        try:
            for n in range(30):
                uploads.store(f"{n % 7}", bytes(k))
        except OSError as error:
            failed.append(error)

    threads = [threading.Thread(target=store, args=(k,)) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == [] and len(list(uploads.folder.iterdir())) == 7
    uploads.close()


@pytest.mark.parametrize(
    ("wrong", "sound"),
    [
        ({}, True),
        ({"size_bytes": 0, "part_count": 0}, True),
        ({"size_bytes": MAX_UPLOAD_BYTES, "part_count": MAX_UPLOAD_BYTES >> 19}, True),
        ({"part_count": 2}, False),  # of a few bytes each: a dictionary of millions
        ({"part_count": -1}, False),
        ({"part_count": 0}, False),
        ({"size_bytes": -1}, False),
        ({"filename": "x" * 1001}, False),
        ({"filename": 7}, False),
        ({"transfer_uuid": []}, False),
    ],
)
def test_only_what_a_page_sends_begins_a_file(wrong: dict[str, Any], sound: bool):
    plain = {"source_component_uuid": "a", "transfer_uuid": "b", "filename": "c.c3d"}
    message = {**plain, "mime_type": "", "size_bytes": 9, "part_count": 1, **wrong}
    assert is_transfer_sound(SimpleNamespace(**message)) is sound


def test_a_sentence_reaches_the_panel_that_is_there_by_then(tmp_path: Path):
    """One file replaces the panel, another is refused by the button of the old one."""
    figure = ik.human()
    ik.save_skeleton(figure, tmp_path / "one.npz")
    with PoseViewer(figure) as viewer:
        old = viewer.panel
        viewer.open_file(tmp_path / "one.npz")
        viewer._say("late")
        assert viewer.panel is not old and viewer.panel.message.content == "late"
    markers = ik.Markers(np.random.default_rng(1).random((5, 4, 3)), tuple("ABCD"), 30.0)
    markers.save(tmp_path / "two.c3d")
    with MotionViewer(markers) as player:
        old_panel = player.panel
        player.open_file(tmp_path / "two.c3d")
        player.say("late")
        assert wait_for(lambda: player.panel is not old_panel)
        assert wait_for(lambda: player.panel.message.content == "late")


def test_a_figure_too_large_for_any_camera_is_refused_and_the_old_one_stays(tmp_path: Path):
    bones = [ik.Bone("a"), ik.Bone("b", parent="a", offset=(0.0, 0.0, 1e20))]
    ik.save_skeleton(ik.Skeleton("far", bones), tmp_path / "far.npz")
    with PoseViewer(ik.human()) as viewer:
        panel = viewer.panel
        with pytest.raises(UsageError, match=r"reaches 1e\+20 m; nothing as far is shown"):
            viewer.open_file(tmp_path / "far.npz")
        assert viewer.panel is panel and viewer.session.skeleton.name == "human"


@pytest.mark.parametrize(
    ("path", "origin", "status"),
    [
        ("/", "", b"200"),
        ("/", "http://[::1", b"403"),  # no address at all
        ("/", "http://example.invalid", b"403"),
        (f"/{'a' * 300}", "", b"404"),  # no file system takes it
        ("/../../etc/passwd", "", b"404"),
    ],
)
def test_odd_requests_are_answered_and_do_not_fail(path: str, origin: str, status: bytes):
    with MotionViewer(ik.Markers(np.zeros((1, 1, 3)), ("A",), 30.0)) as viewer:
        head = f"GET {path} HTTP/1.1\r\nHost: {host_of(viewer)}\r\n"
        head += f"Origin: {origin}\r\n" if origin else ""
        assert ask(viewer, f"{head}\r\n".encode())[9:12] == status
