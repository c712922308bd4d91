"""Key frames in the panel: add, move, delete, look at, play, download, upload."""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from exactik.errors import ExactikError, one_line
from exactik.motion import Motion
from exactik.typing import Array
from exactik.viewer._limits import compute_limit_state
from exactik.viewer.keyframes import Keyframes
from exactik.viewer.page import GHOST_COLOUR, add_translucent_poses, escape_markdown
from exactik.viewer.posing._scene import HandleScene
from exactik.viewer.posing._session import PosingSession
from exactik.viewer.posing._worker import PosingWorker

__all__ = ["KeyPanel"]


RATE = 60.0  # [Hz] of what is played and of files
FILE_TYPES = ("json", "bvh", "amc", "glb", "npz")
NO_KEY = "none"
MAX_SHOWN_KEYS = 30  # more would hide each other


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
        self._handles, self._key_poses = handles, None
        self._stop = threading.Event()
        self._playing: threading.Thread | None = None
        gui = server.gui
        self.time = gui.add_number("time [s]", 0.0, min=0.0, step=0.1)
        self.key = gui.add_dropdown("key", (NO_KEY,), hint="Choose one to go there.")
        self.text = gui.add_markdown("no keys")
        rows = (("add", "move", "delete"), ("go to key",), ("play", "stop"))
        groups = [gui.add_button_group("", row) for row in rows]
        self.scrub = gui.add_slider("scrub [%]", 0.0, 100.0, 0.5, 0.0)
        self.show_poses = gui.add_checkbox("show the keys", True)
        gui.add_divider()
        kind = gui.add_dropdown("file", FILE_TYPES)
        save, load = gui.add_button("download"), gui.add_upload_button("load keys (json)")

        async def pressed(event: Any) -> None:
            self._post(event.target.value)

        for group in groups:
            group.on_click(pressed)
        self.key.on_update(self._choose_key)
        self.scrub.on_update(self._scrub)
        self.show_poses.on_update(self._toggle_poses)

        @save.on_click
        def _(event: Any) -> None:  # in a thread of its own, since poses are solved
            if event.client is not None:
                self._show_errors(lambda: self._send_files(event.client, kind.value))

        @load.on_upload
        def _(event: Any) -> None:
            self._show_errors(lambda: self._load(event.target.value.content))

    async def _choose_key(self, event: Any) -> None:
        if event.client is not None and self.key.value != NO_KEY:
            self.time.value = float(self.key.value)
            self._post("go to key")

    async def _scrub(self, event: Any) -> None:
        if event.client is not None:
            share = float(self.scrub.value) / 100.0
            self.worker.post(lambda session: self._show_errors(lambda: self.show_at(share)))

    def _post(self, command: str) -> None:
        time = float(self.time.value)
        self.worker.post(
            lambda session: self._show_errors(lambda: self.run_command(session, command, time))
        )

    def run_command(self, session: PosingSession, command: str, time: float) -> None:
        """Run the command of a button, at a time [s]."""
        if command == "add":
            self.keys.add_from(session, time)
        elif command == "move":
            self.keys.move(time if self.key.value == NO_KEY else float(self.key.value), time)
        elif command == "delete":
            self.keys.delete(time)
        elif command == "go to key":
            session.set_pose(self.keys.tween(time)[0])
        elif command == "play":
            self.play()
        elif command == "stop":
            self._stop.set()
        self._show_keys()

    def undo(self) -> bool:
        """Undo the last change of the keys; return whether there was one."""
        undone = self.keys.undo()
        self._show_keys()
        return undone

    def redo(self) -> bool:
        """Redo the change undone last; return whether there was one."""
        redone = self.keys.redo()
        self._show_keys()
        return redone

    def show_at(self, share: float) -> None:
        """Show the pose at a share of the time from the first key to the last; it is not taken."""
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
        self.worker.post(lambda session: None)  # redraws the pose of the session

    def _draw(self, q: Array) -> None:
        skeleton = self.keys.skeleton
        with self.server.atomic():
            self._handles.show(False)
            self._handles.figure.draw(skeleton.forward(q), compute_limit_state(skeleton, q))
        self.server.flush()

    def _send_files(self, client: Any, kind: str) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"keys.{kind}"
            self.keys.save(path, rate=RATE)
            for written in sorted(Path(folder).iterdir()):  # an .amc comes with its .asf
                client.send_file_download(written.name, written.read_bytes(), save_immediately=True)

    def _load(self, content: bytes) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "keys.json")
            Path(path).write_bytes(content)
            self.keys.replace(Keyframes.load(path, self.keys.skeleton))
        self._show_keys()

    def _show_keys(self) -> None:
        times = [f"{time:g}" for time in np.round(self.keys.times, 3)]
        self.text.content = f"keys at {', '.join(times)} s" if times else "no keys"
        now = f"{float(self.time.value):g}"
        self.key.options = tuple(times) or (NO_KEY,)
        if now in times:
            self.key.value = now
        self._show_key_poses()

    async def _toggle_poses(self, _: Any) -> None:
        self.worker.post(lambda session: self._show_key_poses())

    def _show_key_poses(self) -> None:
        """Show the poses of the keys as translucent figures."""
        if self._key_poses is not None:
            self._key_poses.remove()
            self._key_poses = None
        poses = [key.q for key in self.keys.keys]
        if self.show_poses.value and 0 < len(poses) <= MAX_SHOWN_KEYS:
            self._key_poses = add_translucent_poses(
                self.server, self.keys.skeleton, poses, [GHOST_COLOUR] * len(poses), "/keys"
            )

    def _show_errors(self, action: Callable[[], None]) -> None:
        """Run an action; show its error in the panel if it fails."""
        try:
            action()
        except ExactikError as error:
            self.text.content = escape_markdown(one_line(str(error)))
