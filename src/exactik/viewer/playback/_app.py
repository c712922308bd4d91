"""A recording in a browser: play, pause, scrub, look at the worst frames."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from exactik.motion import Markers, Motion
from exactik.tracking import Track
from exactik.viewer.page._viewer import Viewer
from exactik.viewer.page._server import start_guarded_server
from exactik.viewer.playback._export import FPS, export, encode_playback
from exactik.viewer.playback._data import PlaybackData
from exactik.viewer.playback._panel import PlayPanel
from exactik.viewer.playback._scene import PlayScene
from exactik.viewer.playback._transport import Transport

__all__ = ["MotionViewer"]

RATE = 60.0  # [Hz] of what is shown, at most
WORDS = 0.1  # [s] between two changes of texts and plots while it plays


class MotionViewer(Viewer):
    """A motion that plays in a browser.

    Attributes:
        footage: what is played, and what stands beside it.
        transport: where it is.
        scene: what is seen.
        panel: the widgets.
        server: viser's.
        url: where the page is.
    """

    def __init__(
        self,
        motion: Motion | Track | PlaybackData,
        *,
        markers: Markers | None = None,
        references: Sequence[Motion] = (),
        host: str = "127.0.0.1",
        port: int = 0,
        expose: bool = False,
    ):
        """Start a server; the page is at `url`.

        Args:
            motion: what to play, turned to z up where it says that another axis is; or a solved
                recording, which comes with its markers, errors and error bars.
            markers: measured ones, to be shown beside a motion.
            references: other motions, to be shown as ghosts at the same times.
            host: where to listen; anything but this machine alone needs `expose`.
            port: 0 for any that is free.
            expose: allow other machines to connect; there is no password.
        """
        self.data = PlaybackData.of(motion, markers=markers, references=references)
        label = f"exactik: {self.data.skeleton.name}"
        super().__init__(start_guarded_server(host, port, expose=expose, label=label), host)
        self.transport = Transport(len(self.data), self.data.motion.rate)
        self._changed = threading.Condition()
        self._changes: list[Callable[[], object]] = []
        self._dirty, self._said = False, 0.0
        self.scene = PlayScene(self.server, self.data)
        self.panel = PlayPanel(self)
        self.show(0)
        self._thread = threading.Thread(target=self._run, name="exactik playing", daemon=True)
        self._thread.start()

    @property
    def motion(self) -> Motion:
        """What is played, z up."""
        return self.data.motion

    @property
    def frame(self) -> int:
        """Index of the frame that is shown."""
        return self.transport.frame

    def play(self, playing: bool = True) -> None:
        """Play, or pause."""
        with self._changed:
            self.transport.play(playing)
            self._redraw()

    def seek(self, frame: int) -> None:
        """Show a frame, by its index."""
        with self._changed:
            self.transport.seek(frame)
            self._redraw()

    def step(self, frames: int) -> None:
        """Pause, and show the frame so many on, or back."""
        with self._changed:
            self.transport.step(frames)
            self._redraw()

    def change(self, do: Callable[[], object]) -> None:
        """Change something of the scene between two frames; what is seen follows in a moment."""
        with self._changed:
            self._changes.append(do)
            self._redraw()

    def _redraw(self) -> None:
        self._dirty = True
        self._changed.notify()

    def export(
        self,
        path: str | os.PathLike[str],
        *,
        fps: float = FPS,
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        """Write what is played to a file, whole or not at all.

        Args:
            path: .html for a page that needs nothing else, with figure, ghosts and markers; .glb
                for the figure alone.
            fps: frames a second, at most those of the motion.
            progress: is called with the number of frames done, and that of all.
        """
        export(self.data, path, fps=fps, progress=progress)

    def send(self, suffix: str, client: Any = None) -> None:
        """Export as ".html" or ".glb" for a page to download; for all pages if None."""
        bar = self.panel.progress
        bar.visible = True

        def progress(done: int, total: int) -> None:
            if done % 100 == 0 or done == total:
                bar.value = 100.0 * done / total

        try:
            content = encode_playback(self.data, suffix, progress=progress)
        finally:
            bar.visible = False
        name = Path(self.motion.source).stem or self.motion.skeleton.name
        (client or self.server).send_file_download(f"{name}{suffix}", content)

    def show(self, frame: int, words: bool = True) -> None:
        """Draw a frame, with or without what is said about it."""
        with self.server.atomic():
            self.scene.draw(frame, words)
            if words:
                self.panel.show(frame)
        self.server.flush()

    def _stop(self) -> None:
        with self._changed:
            self._changed.notify_all()
        self._thread.join(5.0)

    def _run(self) -> None:
        last = time.perf_counter()
        while not self._ended.is_set():
            with self._changed:
                while not (self.transport.playing or self._dirty or self._ended.is_set()):
                    self._changed.wait()
                    last = time.perf_counter()
                now = time.perf_counter()
                frame = self.transport.advance(now - last)
                words = self._dirty or not self.transport.playing or now - self._said > WORDS
                changes, self._changes, self._dirty, last = self._changes, [], False, now
            if self._ended.is_set():
                return
            for do in changes:
                do()
            if words:
                self._said = now
            self.show(frame, words)
            self._ended.wait(max(1.0 / RATE - (time.perf_counter() - now), 0.001))
