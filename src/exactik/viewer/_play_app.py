"""A recording in a browser: play, pause, scrub."""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np

from exactik.errors import ModelError
from exactik.motion import Motion
from exactik.motion._axes import quarter_turn
from exactik.viewer._handles import reach_of
from exactik.viewer._limits import limit_state
from exactik.viewer._scene import FigureScene, light
from exactik.viewer._server import guarded_server

__all__ = ["MotionViewer"]

RATE = 60.0  # [Hz] of what is shown, at most


class MotionViewer:
    """A motion that plays in a browser.

    Attributes:
        motion: what is played.
        server: viser's.
        url: where the page is.
    """

    def __init__(
        self, motion: Motion, *, host: str = "127.0.0.1", port: int = 0, expose: bool = False
    ):
        """Start a server; the page is at `url`.

        Args:
            motion: what to play; turned to z up where it says that another axis is.
            host: where to listen; anything but this machine alone needs `expose`.
            port: 0 for any that is free.
            expose: allow other machines to connect; there is no password.
        """
        if motion.up_axis not in (None, "z"):
            motion = motion.turned(quarter_turn(motion.up_axis, "z"))
        present = np.flatnonzero(np.isfinite(motion.q).all(axis=1))
        if len(present) == 0:
            raise ModelError("the motion has no frame to show")
        self.motion, self._present = motion, present
        skeleton = motion.skeleton
        self.server = guarded_server(host, port, expose=expose, label=f"exactik: {skeleton.name}")
        first = skeleton.forward(motion.q[present[0]])
        middle = 0.5 * (first.positions.min(axis=0) + first.positions.max(axis=0))
        light(self.server, reach_of(skeleton), middle)
        self.figure = FigureScene(self.server, skeleton)
        self._changed = threading.Condition()
        self._ended, self._playing, self._frame = threading.Event(), False, 0.0
        self._widgets()
        self.url = f"http://{host}:{self.server.get_port()}"
        self._show(0)
        self._thread = threading.Thread(target=self._run, name="exactik playing", daemon=True)
        self._thread.start()

    @property
    def frame(self) -> int:
        """Index of the frame that is shown."""
        return int(self._frame)

    def play(self, playing: bool = True) -> None:
        """Play, or pause."""
        with self._changed:
            if playing and self.frame >= len(self.motion) - 1:
                self._frame = 0.0
            self._playing = playing
            self._button.label = "pause" if playing else "play"
            self._changed.notify()

    def seek(self, frame: int) -> None:
        """Show a frame, by its index."""
        with self._changed:
            self._frame = float(min(max(frame, 0), len(self.motion) - 1))
        self._show(self.frame)

    def wait(self) -> None:
        """Return when `close` is called, or Ctrl-C is pressed."""
        try:
            self._ended.wait()
        except KeyboardInterrupt:
            pass

    def close(self) -> None:
        """Stop the thread and the server."""
        self._ended.set()
        with self._changed:
            self._changed.notify_all()
        self._thread.join(5.0)
        self.server.stop()

    def __enter__(self) -> MotionViewer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _widgets(self) -> None:
        gui, last = self.server.gui, max(len(self.motion) - 1, 1)
        self._text = gui.add_markdown("")
        self._button = gui.add_button("play")
        self._slider = gui.add_slider("frame", 0, last, 1, 0)
        self._speed = gui.add_slider("speed", 0.1, 4.0, 0.1, 1.0)
        self._loop = gui.add_checkbox("again and again", True)
        command = gui.add_command("Play or pause", hotkey="space")

        async def toggle(_: Any) -> None:
            self.play(not self._playing)

        self._button.on_click(toggle)
        command.on_trigger(toggle)

        @self._slider.on_update
        async def _(event: Any) -> None:
            if event.client is not None:
                self.play(False)
                self.seek(int(self._slider.value))

    def _run(self) -> None:
        last = time.perf_counter()
        while not self._ended.is_set():
            with self._changed:
                if not self._playing:
                    self._changed.wait()
                    last = time.perf_counter()
                    continue
                now = time.perf_counter()
                self._frame += (now - last) * self.motion.rate * float(self._speed.value)
                last, end = now, len(self.motion) - 1
                over = self._frame > end
                if over:
                    self._frame = self._frame % max(end, 1) if self._loop.value else float(end)
            self._show(self.frame)
            if over and not self._loop.value:
                self.play(False)
            self._ended.wait(1.0 / RATE)

    def _show(self, frame: int) -> None:
        """Draw a frame; the one before it that is there, if it is missing."""
        k = max(int(np.searchsorted(self._present, frame, side="right")) - 1, 0)
        own = int(self._present[k])
        q, skeleton = self.motion.q[own], self.motion.skeleton
        missing = "" if own == frame else " (missing)"
        seconds = frame / self.motion.rate
        with self.server.atomic():
            self.figure.draw(skeleton.forward(q), limit_state(skeleton, q))
            self._slider.value = frame
            number = frame + self.motion.first_frame
            self._text.content = f"frame {number}, {seconds:.2f} s{missing}"
        self.server.flush()
