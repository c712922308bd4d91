"""Key frames in the panel and on the timeline: add, move, delete, mirror, play, files."""

from __future__ import annotations

import os
import tempfile
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from exactik.errors import ExactikError, FileError, one_line
from exactik.model.motion import Motion
from exactik.studio.viewer._limits import compute_limit_state
from exactik.studio.viewer.keyframes import Keyframes, PlayClock
from exactik.studio.viewer.page.widgets import add_hotkey, escape_markdown, on_press, on_value
from exactik.studio.viewer.posing._editable import PosingState
from exactik.studio.viewer.posing._scene import HandleScene
from exactik.studio.viewer.posing._session import PosingSession
from exactik.studio.viewer.posing._worker import PosingWorker
from exactik.studio.viewer.posing.panel._timeline import (
    ONION_CHOICES,
    LockPanel,
    OnionSkins,
    TimelineBar,
)
from exactik.typing import Array

RATE = 60.0  # [Hz] of what is played and of files
FILE_TYPES = ("json", "bvh", "amc", "glb", "npz")
SAME_POSE = 1e-3  # [rad or m] by which a pose may differ and still be that of the playhead
SAME_TIME_S = 1e-3  # a key so near to the playhead is at it; the timeline rounds to hundredths
TIMELINE_PERIOD_S = 0.05  # between two changes of the timeline while it plays
COMMAND_KEYS = {
    "play or pause": "space",
    "add": "K",
    "previous key": "arrowleft",
    "next key": "arrowright",
}


class KeyPanel:
    """Widgets for the key frames of a session, and the timeline below the scene.

    Attributes:
        clock: where the playhead is.
    """

    def __init__(
        self,
        server: Any,
        session: PosingSession,
        worker: PosingWorker,
        handles: HandleScene,
        timeline: TimelineBar,
    ):
        """Add the widgets to a viser server; the figure of `handles` plays."""
        self.server, self.worker = server, worker
        self.keys, self.clock = Keyframes(session.skeleton), PlayClock()
        self.on_change: Callable[[], None] = lambda: None
        self._handles, self._timeline = handles, timeline
        self.onion_skins = OnionSkins(server, session.skeleton)
        self._stop = threading.Event()
        self._playing: threading.Thread | None = None
        self._shown: PosingState | None = None  # as the playhead left it
        self._left: tuple[float, PosingState] | None = None  # without a key, and when
        timeline.on_command(self._post)
        gui = server.gui
        self.time = gui.add_number("time [s]", 0.0, min=0.0, step=0.01)
        self.text = gui.add_markdown("no keys")
        self.keep = gui.add_button("keep", visible=False, hint="Adds the key that was missing.")
        rows = (("add", "delete", "mirror key"), ("previous key", "next key"), ("play or pause",))
        groups = [gui.add_button_group("", row) for row in rows]
        self.onion = gui.add_dropdown("onion skins", ONION_CHOICES)
        gui.add_divider()
        self.locks = LockPanel(server, self.keys, self.clock, handles, self.post)
        gui.add_divider()
        kind = gui.add_dropdown("file", FILE_TYPES)
        save, load = (
            gui.add_button("download"),
            gui.add_upload_button("load keys (json)", mime_type=".json"),
        )
        for group in groups:
            on_press(group, self._post)
        on_press(self.keep, lambda _: self._post("keep"))
        for command, key in COMMAND_KEYS.items():
            name = "Add key" if command == "add" else command.capitalize()
            add_hotkey(gui, name, key, partial(self._post, command))
        on_value(self.time, lambda time: self._post("scrub", float(time)), by_page=True)
        on_value(self.onion, lambda _: self.post(lambda session: None))

        # In threads of their own, since poses are solved and files may be large.
        @save.on_click
        def _(event: Any) -> None:
            if event.client is not None:
                self._post_errors(lambda: self._send_files(event.client, kind.value))

        @load.on_upload
        def _(event: Any) -> None:
            file = event.target.value
            self._post_errors(lambda: self._load(file.name, file.content))

    # --- commands

    def post(self, action: Callable[[PosingSession], None]) -> None:
        """Run a function with the session in the worker's thread; show keys or its error."""

        def run(session: PosingSession) -> None:
            if self._show_errors(lambda: action(session)):
                self.refresh()

        self.worker.post(run)

    def _post(self, command: str, *times: float) -> None:
        self.post(lambda session: self.run_command(session, command, *times))

    def run_command(
        self, session: PosingSession, command: str, at: float | None = None, to: float | None = None
    ) -> None:
        """Run a command of a button or of the timeline.

        Args:
            at: when [s]; at the playhead if None.
            to: where a key is moved [s].
        """
        now = self.clock.time if at is None else at
        if command == "add":
            self.keys.add_from(session, now)
            self.clock.time = now
            self._shown, self._left = session.state, None
        elif command == "move" and to is not None:
            self.keys.move(now, to)
            self.keys.end_step()
            if abs(self.clock.time - now) < SAME_TIME_S:
                self.clock.time = to  # the playhead is at the key, and stays there
        elif command == "delete":
            self.keys.delete(now)
        elif command == "mirror key":
            self.keys.mirror(now)
            self.scrub(session, now)
        elif command == "scrub":
            self.scrub(session, now)
        elif command in ("previous key", "next key"):
            step = -1 if command == "previous key" else 1
            beyond = [t for t in self.keys.times.tolist() if step * (t - now) > SAME_TIME_S]
            if len(beyond) > 0:
                self.scrub(session, beyond[0] if step > 0 else beyond[-1])
        elif command == "play or pause":
            if self.clock.playing:
                self.scrub(session, self.clock.time)
            else:
                self._note_unkeyed(session)
                self.play()
        elif command == "keep" and self._left is not None:
            time, state = self._left
            self.keys.add(time, state.q, self.keys.holds(state.q, state.handles))
            self.scrub(session, self.clock.time)
            self._left = None
        elif command == "loop":
            self.clock.loop = not self.clock.loop
        self.refresh()

    def undo(self) -> bool:
        """Undo the last change of the keys; return whether there was one."""
        undone = self.keys.undo()
        self.refresh()
        return undone

    def redo(self) -> bool:
        """Redo the change undone last; return whether there was one."""
        redone = self.keys.redo()
        self.refresh()
        return redone

    def scrub(self, session: PosingSession, time: float) -> None:
        """Go to a time [s] and take the pose there; successive ones are one step of undo."""
        self.close()
        if time != self.clock.time:
            self._note_unkeyed(session)
        self.clock.time = time
        if len(self.keys) > 0:
            session.set_pose(self.keys.tween(time)[0], step="scrub")
        self._shown = session.state

    def _note_unkeyed(self, session: PosingSession) -> None:
        """Remember the pose at the playhead if it has no key, and is not that of its neighbours."""
        if len(self.keys) == 0 or self._shown is None:
            return
        step = self.keys.skeleton.difference(session.q, self._shown.q)
        if np.abs(step).max(initial=0.0) > SAME_POSE:
            self._left, self._shown = (self.clock.time, session.state), session.state

    # --- playing

    def play(self) -> None:
        """Play from the playhead on; the figure of the session is not changed until it ends."""
        self.close()
        motion, times = self.keys.bake(RATE), self.keys.times
        self.clock.play(float(times[0]), float(times[-1]))
        self._stop = threading.Event()
        self._playing = threading.Thread(
            target=self._run, args=(motion, float(times[0]), self._stop), daemon=True
        )
        self._playing.start()

    def close(self) -> None:
        """Stop playing."""
        self._stop.set()
        if self._playing is not None and self._playing is not threading.current_thread():
            self._playing.join(5.0)
        self._playing, self.clock.playing = None, False

    def _run(self, motion: Motion, first: float, stop: threading.Event) -> None:
        last, shown = first + (len(motion) - 1) / motion.rate, 0.0
        before = time.perf_counter()
        while self.clock.playing and not stop.wait(1.0 / motion.rate):
            now = time.perf_counter()
            at, before = self.clock.advance(now - before, first, last), now
            self._draw(motion.q[min(round((at - first) * motion.rate), len(motion) - 1)])
            if now - shown > TIMELINE_PERIOD_S:
                shown = now
                self._timeline.show(self.keys, self.clock)
        if not stop.is_set():  # it came to its end, or there was nothing to play
            self._post("scrub", self.clock.time)

    def _draw(self, q: Array) -> None:
        skeleton = self.keys.skeleton
        with self.server.atomic():
            self._handles.show(False)
            self._handles.figure.draw(skeleton.forward(q), compute_limit_state(skeleton, q))

    def _send_files(self, client: Any, kind: str) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"keys.{kind}"
            self.keys.save(path, rate=RATE)
            for written in sorted(Path(folder).iterdir()):  # an .amc comes with its .asf
                client.send_file_download(written.name, written.read_bytes(), save_immediately=True)

    def _load(self, name: str, content: bytes) -> None:
        """Load keys from a file of the user, whose name errors have."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "keys.json")
            Path(path).write_bytes(content)
            try:
                loaded = Keyframes.load(path, self.keys.skeleton)
            except FileError as error:
                raise error.about(name) from None
        self.post(lambda session: self.keys.replace(loaded))

    def refresh(self) -> None:
        """Show keys, locks and time as they are."""
        times = [f"{time:g}" for time in np.round(self.keys.times, 3)]
        text = f"keys at {', '.join(times)} s" if times else "no keys"
        if self._left is not None:
            text += f". The pose that you left at {self._left[0]:g} s has no key."
        self.keep.visible = self._left is not None
        self.text.content = text
        self.time.value = round(self.clock.time, 3)
        self._timeline.show(self.keys, self.clock)
        self.onion_skins.show(self.keys, self.clock.time, self.onion.value)
        self.locks.show()
        self.on_change()

    def _show_errors(self, action: Callable[[], None]) -> bool:
        """Run an action and return whether it went well; else show its error in the panel."""
        try:
            action()
        except ExactikError as error:
            self._say(str(error))
            return False
        return True

    def _post_errors(self, action: Callable[[], None]) -> None:
        """Run an action in any thread; its error is shown in the worker's.

        Another file may replace this panel meanwhile, and the worker ends before that.
        """
        try:
            action()
        except ExactikError as error:
            sentence = str(error)
            self.worker.post(lambda session: self._say(sentence))

    def _say(self, sentence: str) -> None:
        self.text.content = escape_markdown(one_line(sentence))
