"""Key frames in the panel: add, move, delete, look at, play, take home, bring back."""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from exactik.errors import ExactikError
from exactik.motion import Motion
from exactik.typing import Array
from exactik.viewer.keyframes._keyframes import Keyframes
from exactik.viewer.page._colours import GHOST
from exactik.viewer.page._overlay import add_translucent_poses
from exactik.viewer.page._scene import HandleScene
from exactik.viewer._limits import compute_limit_state
from exactik.viewer.posing._session import PosingSession
from exactik.viewer.posing._worker import PosingWorker

__all__ = ["KeyPanel"]


RATE = 60.0  # [Hz] of what is played and of files
FILES = ("json", "bvh", "amc", "glb", "npz")
NONE = "none"
MOST_SKINS = 30  # keys; more would hide each other


class KeyPanel:
    """Widgets for the key frames of a session.

    Attributes:
        keys: the key frames.
    """

    def __init__(
        self, server: Any, session: PosingSession, worker: PosingWorker, handles: HandleScene
    ):
        """Add the widgets to a viser server; the figure of `handles` plays."""
        self.server, self.worker = server, worker
        self.keys = Keyframes(session.skeleton)
        self._handles, self._skins = handles, None
        self._stop = threading.Event()
        self._playing: threading.Thread | None = None
        gui = server.gui
        self.time = gui.add_number("time [s]", 0.0, min=0.0, step=0.1)
        self.key = gui.add_dropdown("key", (NONE,), hint="Choose one to go there.")
        self.listed = gui.add_markdown("no keys")
        rows = (("add", "move", "delete"), ("undo", "redo", "go there"), ("play", "stop"))
        groups = [gui.add_button_group("", row) for row in rows]
        self.scrub = gui.add_slider("look at [%]", 0.0, 100.0, 0.5, 0.0)
        self.skins = gui.add_checkbox("show the keys", True)
        gui.add_divider()
        kind = gui.add_dropdown("file", FILES)
        save, load = gui.add_button("download"), gui.add_upload_button("bring back keys (json)")

        async def pressed(event: Any) -> None:
            self._post(event.target.value)

        for group in groups:
            group.on_click(pressed)
        self.key.on_update(self._chosen)
        self.scrub.on_update(self._scrubbed)
        self.skins.on_update(self._skin)

        @save.on_click
        def _(event: Any) -> None:  # in a thread of its own: poses are solved for
            if event.client is not None:
                self._safely(lambda: self._send(event.client, kind.value))

        @load.on_upload
        def _(event: Any) -> None:
            self._safely(lambda: self._take(event.target.value.content))

    async def _chosen(self, event: Any) -> None:
        if event.client is not None and self.key.value != NONE:
            self.time.value = float(self.key.value)
            self._post("go there")

    async def _scrubbed(self, event: Any) -> None:
        if event.client is not None:
            share = float(self.scrub.value) / 100.0
            self.worker.post(lambda session: self._safely(lambda: self.look(share)))

    def _post(self, what: str) -> None:
        at = float(self.time.value)
        self.worker.post(lambda session: self._safely(lambda: self.act(session, what, at)))

    def act(self, session: PosingSession, what: str, at: float) -> None:
        """Do what a button says, at a time [s]."""
        if what == "add":
            self.keys.add_from(session, at)
        elif what == "move":
            self.keys.move(at if self.key.value == NONE else float(self.key.value), at)
        elif what == "delete":
            self.keys.delete(at)
        elif what == "undo":
            self.keys.undo()
        elif what == "redo":
            self.keys.redo()
        elif what == "go there":
            session.set_pose(self.keys.tween(at)[0])
        elif what == "play":
            self.play()
        elif what == "stop":
            self._stop.set()
        self._list()

    def look(self, share: float) -> None:
        """Show the pose at a share of the time from the first key to the last; nothing changes."""
        self.close()
        times = self.keys.times if len(self.keys) > 0 else np.zeros(1)
        q = self.keys.tween(times[0] + share * (times[-1] - times[0]))[0]
        self._draw(q)

    def play(self) -> None:
        """Play from the first key to the last, once; the figure itself is not changed."""
        self.close()
        motion = self.keys.bake(RATE)
        self._stop = threading.Event()
        self._playing = threading.Thread(target=self._run, args=(motion, self._stop), daemon=True)
        self._playing.start()

    def close(self) -> None:
        """Stop playing."""
        self._stop.set()
        if self._playing is not None:
            self._playing.join(5.0)

    def _run(self, motion: Motion, stop: threading.Event) -> None:
        for q in motion.q:
            self._draw(q)
            if stop.wait(1.0 / motion.rate):
                break
        self.worker.post(lambda session: None)  # the pose itself is drawn again

    def _draw(self, q: Array) -> None:
        skeleton = self.keys.skeleton
        with self.server.atomic():
            self._handles.show(False)
            self._handles.figure.draw(skeleton.forward(q), compute_limit_state(skeleton, q))
        self.server.flush()

    def _send(self, client: Any, kind: str) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"keys.{kind}"
            self.keys.save(path, rate=RATE)
            for written in sorted(Path(folder).iterdir()):  # an .amc comes with its .asf
                client.send_file_download(written.name, written.read_bytes(), save_immediately=True)

    def _take(self, content: bytes) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "keys.json")
            Path(path).write_bytes(content)
            brought = Keyframes.load(path, self.keys.skeleton)
        self.keys = brought
        self._list()

    def _list(self) -> None:
        times = [f"{time:g}" for time in np.round(self.keys.times, 3)]
        self.listed.content = f"keys at {', '.join(times)} s" if times else "no keys"
        now = f"{float(self.time.value):g}"
        self.key.options = tuple(times) or (NONE,)
        if now in times:
            self.key.value = now
        self._show_skins()

    async def _skin(self, _: Any) -> None:
        self.worker.post(lambda session: self._show_skins())

    def _show_skins(self) -> None:
        """Show the poses of the keys, see-through, behind the figure."""
        if self._skins is not None:
            self._skins.remove()
            self._skins = None
        poses = [key.q for key in self.keys.keys]
        if self.skins.value and 0 < len(poses) <= MOST_SKINS:
            self._skins = add_translucent_poses(
                self.server, self.keys.skeleton, poses, [GHOST] * len(poses), "/keys"
            )

    def _safely(self, action: Callable[[], None]) -> None:
        """Do it, or say why it cannot be done."""
        try:
            action()
        except ExactikError as error:
            self.listed.content = " ".join(str(error).replace("`", "'").split())
