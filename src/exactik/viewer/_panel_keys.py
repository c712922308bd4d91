"""Key frames in the panel: add, delete, look at, play, take home as a file, bring back."""

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
from exactik.viewer._keyframes import Keyframes
from exactik.viewer._scene import FigureScene
from exactik.viewer._session import PosingSession
from exactik.viewer._worker import PosingWorker

__all__ = ["KeyPanel"]

RATE = 60.0  # [Hz] of what is played and of files
FILES = ("json", "bvh", "glb", "npz")


class KeyPanel:
    """Widgets for the key frames of a session.

    Attributes:
        keys: the key frames.
    """

    def __init__(self, server: Any, session: PosingSession, worker: PosingWorker, scene: Any):
        """Add the widgets to a viser server; `scene` is the `FigureScene` that plays."""
        self.server, self.worker = server, worker
        self.keys = Keyframes(session.skeleton)
        self._scene: FigureScene = scene
        self._stop = threading.Event()
        self._playing: threading.Thread | None = None
        gui = server.gui
        self.time = gui.add_number("time [s]", 0.0, min=0.0, step=0.1)
        self.listed = gui.add_markdown("no keys")
        changes = gui.add_button_group("", ("add", "delete", "undo", "redo"))
        looks = gui.add_button_group("", ("go there", "play", "stop"))
        kind = gui.add_dropdown("file", FILES)
        save, load = gui.add_button("download"), gui.add_upload_button("bring back keys (json)")

        @changes.on_click
        async def _(event: Any) -> None:
            self._post(event.target.value)

        @looks.on_click
        async def _(event: Any) -> None:
            self._post(event.target.value)

        @save.on_click
        def _(event: Any) -> None:  # in a thread of its own: poses are solved for
            if event.client is not None:
                self._safely(lambda: self._send(event.client, kind.value))

        @load.on_upload
        def _(event: Any) -> None:
            self._safely(lambda: self._take(event.target.value.content))

    def _post(self, what: str) -> None:
        at = float(self.time.value)
        self.worker.post(lambda session: self._safely(lambda: self.act(session, what, at)))

    def act(self, session: PosingSession, what: str, at: float) -> None:
        """Do what a button says, at a time [s]."""
        if what == "add":
            self.keys.add_from(session, at)
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
            with self.server.atomic():
                self._scene.draw(motion.skeleton.forward(q))
            self.server.flush()
            if stop.wait(1.0 / motion.rate):
                break
        self.worker.post(lambda session: None)  # the pose itself is drawn again

    def _send(self, client: Any, kind: str) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"keys.{kind}"
            self.keys.save(path, rate=RATE)
            client.send_file_download(path.name, path.read_bytes())

    def _take(self, content: bytes) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "keys.json")
            Path(path).write_bytes(content)
            brought = Keyframes.load(path, self.keys.skeleton)
        self.keys = brought
        self._list()

    def _list(self) -> None:
        shown = ", ".join(f"{time:g}" for time in np.round(self.keys.times, 3))
        self.listed.content = f"keys at {shown} s" if shown else "no keys"

    def _safely(self, action: Callable[[], None]) -> None:
        """Do it, or say why it cannot be done."""
        try:
            action()
        except ExactikError as error:
            self.listed.content = " ".join(str(error).replace("`", "'").split())
