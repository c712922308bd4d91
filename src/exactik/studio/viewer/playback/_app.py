"""The playback page: play, pause, scrub, go to the worst frames; open files, solve markers."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from exactik.errors import ExactikError, FileError
from exactik.model.motion import Markers, Motion
from exactik.recordings.pipeline import LoadedSkeleton
from exactik.recordings.tracking import Track
from exactik.studio.viewer.page.camera import keep_in_view
from exactik.studio.viewer.page.server import start_guarded_server
from exactik.studio.viewer.page.upload import Uploads, describe_error
from exactik.studio.viewer.page.viewer import Viewer
from exactik.studio.viewer.playback._data import PlaybackData
from exactik.studio.viewer.playback._export import FPS, encode_playback, export_playback
from exactik.studio.viewer.playback._opening import open_shown_file
from exactik.studio.viewer.playback._panel import PlayPanel
from exactik.studio.viewer.playback._scene import PlayScene

log = logging.getLogger("exactik.studio.viewer")

MAX_RATE = 60.0  # [Hz] of drawn frames
DETAILS_PERIOD_S = 0.1  # between two changes of texts and plots while it plays


class MotionViewer(Viewer):
    """A motion, or markers alone, that play in a browser.

    Attributes:
        figures: from files, with which markers can be solved.
    """

    def __init__(
        self,
        motion: Motion | Track | Markers | PlaybackData,
        *,
        markers: Markers | None = None,
        references: Sequence[Motion] = (),
        figures: Sequence[LoadedSkeleton] = (),
        host: str = "127.0.0.1",
        port: int = 0,
        expose: bool = False,
    ):
        """Start a server; the page is at `url`.

        Args:
            motion: what to play, turned to z up where it says that another axis is; or a solved
                recording, which comes with its markers, errors and error bars; or markers, which
                can be solved from the page.
            markers: measured ones, to be shown beside a motion.
            references: other motions, to be shown as ghosts at the same times.
            figures: with which markers can be solved, besides the built-in human.
            host: where to listen; anything but this machine alone needs `expose`.
            port: 0 for any that is free.
            expose: allow other machines to connect; there is no password.
        """
        self.data = PlaybackData.of(motion, markers=markers, references=references)
        self.figures = tuple(figures)
        label = f"exactik: {self.data.title}"
        super().__init__(start_guarded_server(host, port, expose=expose, label=label), host)
        self.uploads = Uploads()
        self._changed = threading.Condition()
        self._changes: list[Callable[[], object]] = []
        self._dirty, self._last_details = False, 0.0
        self._build()
        self.show(0)
        keep_in_view(self.server, lambda: self.scene.surroundings.framing)
        self.server.scene.on_click()(self._click)
        self._thread = threading.Thread(target=self._run, name="exactik playing", daemon=True)
        self._thread.start()

    def _build(self) -> None:
        """Make scene and panel for the data."""
        self.transport = Transport(len(self.data), self.data.rate)
        self.scene = PlayScene(self.server, self.data)
        self.panel = PlayPanel(self)
        framing = self.scene.surroundings.framing
        framing.covered = self.panel.timeline_size
        framing.covered_when_low = self.panel.low_timeline_size
        framing.set_initial(self.server)

    def show_data(self, data: PlaybackData) -> None:
        """Show something else on the same page, from its first frame, or from where it was.

        The frame stays where the markers do, as when they have been solved.
        """
        self.change(lambda: self._replace(data))

    def _replace(self, data: PlaybackData) -> None:
        same = data.unsolved is not None and data.unsolved is self.data.unsolved
        frame, playing = (self.frame, self.transport.playing) if same else (0, True)
        dark = self.scene.surroundings.dark
        if self.panel.solve is not None:
            self.panel.solve.close()
        with self.server.atomic():
            self.server.scene.reset()
            self.server.gui.reset()
            self.data = data
            self._build()
            self.scene.surroundings.set_dark(dark)
        if not same:
            for client in self.server.get_clients().values():
                self.scene.surroundings.framing.aim(client)
        self.transport.seek(frame)
        self.transport.play(playing)

    def open_file(self, path: str | os.PathLike[str]) -> None:
        """Show a recording or a motion from a file, or offer its figure to solve markers with."""
        opened = open_shown_file(Path(path), self.figures)
        if opened.playback is not None:
            self.show_data(opened.playback)
        elif opened.figure is not None and self.panel.solve is not None:
            self.panel.solve.add_figure(opened.figure)
        else:
            self.figures = (*self.figures, *([] if opened.figure is None else [opened.figure]))
            raise FileError(path, "holds a figure and no motion; open markers to solve with it")

    def say(self, sentence: str) -> None:
        """Show a sentence below the button that opens files, on whatever is shown by then."""
        self.change(lambda: self.panel.say(sentence))

    async def _click(self, event: Any) -> None:
        if self.panel.recording is not None:
            places = self.data.targets(self.frame) + self.scene.shift
            self.panel.recording.click(event, places)

    @property
    def motion(self) -> Motion | None:
        """What is played, z up; None of markers alone."""
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

    def change(self, action: Callable[[], object]) -> None:
        """Change something of the scene between two frames; the next frame shows it."""
        with self._changed:
            self._changes.append(action)
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
            progress: called with the number of frames done, and of all.
        """
        export_playback(self.data, path, fps=fps, progress=progress)

    def send(self, suffix: str, client: Any = None) -> None:
        """Send an export to a page, to be downloaded; to all pages if None.

        Args:
            suffix: ".html", ".glb", ".bvh" or ".npz"; or `REPORT_ENDING`, of a track.
        """
        bar = self.panel.progress
        bar.visible = True

        def progress(done: int, total: int) -> None:
            if done % 100 == 0 or done == total:
                bar.value = 100.0 * done / total

        try:
            content = encode_playback(self.data, suffix, progress=progress)
        finally:
            bar.visible = False
        name = Path(self.data.played.source).stem or self.data.title
        (client or self.server).send_file_download(f"{name}{suffix}", content)

    def show(self, frame: int, details: bool = True) -> None:
        """Draw a frame; with or without details: error bars, texts and the error curve."""
        with self.server.atomic():
            self.scene.draw(frame, details)
            if details:
                self.panel.show(frame)
        self.server.flush()

    def _stop(self) -> None:
        with self._changed:
            self._changed.notify_all()
        self._thread.join(5.0)
        if self.panel.solve is not None:
            self.panel.solve.close()
        self.uploads.close()

    def _run(self) -> None:
        last = time.perf_counter()
        while not self._closed.is_set():
            with self._changed:
                while not (self.transport.playing or self._dirty or self._closed.is_set()):
                    self._changed.wait()
                    last = time.perf_counter()
                now = time.perf_counter()
                frame = self.transport.advance(now - last)
                details_due = now - self._last_details > DETAILS_PERIOD_S
                details = self._dirty or not self.transport.playing or details_due
                changes, self._changes, self._dirty, last = self._changes, [], False, now
            if self._closed.is_set():
                return
            for action in changes:
                try:
                    action()
                except ExactikError as error:
                    self.panel.say(describe_error(error))
                except Exception:  # whatever it is, the page goes on
                    log.exception("a change of what is shown failed")
            if details:
                self._last_details = now
            self.show(self.frame if len(changes) > 0 else frame, details)
            self._closed.wait(max(1.0 / MAX_RATE - (time.perf_counter() - now), 0.001))


# --- the current frame of a playback and how it goes on; time is given from outside


class Transport:
    """The current frame of a motion, and how it goes on.

    Attributes:
        count: number of frames.
        rate: frames a second [Hz].
        speed: times that of the recording.
        loop: whether it begins again at its end.
    """

    def __init__(self, count: int, rate: float):
        """Begin at the first frame, paused."""
        self.count, self.rate = count, rate
        self.playing, self.speed, self.loop = False, 1.0, True
        self._frame = 0.0

    @property
    def frame(self) -> int:
        """Index of the frame, from 0."""
        return int(self._frame)

    @property
    def last(self) -> int:
        """Index of the last frame."""
        return self.count - 1

    def play(self, playing: bool = True) -> None:
        """Play or pause; from the beginning, if it is at the end."""
        if playing and self.frame >= self.last:
            self._frame = 0.0
        self.playing = playing and self.last > 0

    def seek(self, frame: int) -> None:
        """Go to a frame, the nearest one there is."""
        self._frame = float(min(max(int(frame), 0), self.last))

    def step(self, frames: int) -> None:
        """Pause, and go some frames on or back."""
        self.playing = False
        self.seek(self.frame + frames)

    def advance(self, seconds: float) -> int:
        """Let time pass if it is playing; return the frame."""
        if self.playing:
            self._frame += seconds * self.rate * self.speed
            if self._frame > self.last:
                if self.loop:
                    self._frame %= float(self.count)
                else:
                    self._frame, self.playing = float(self.last), False
        return self.frame
