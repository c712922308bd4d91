"""Playback as a file: a page that needs nothing else, or a GLB."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from exactik.errors import FileError, UsageError
from exactik.io import open_atomic, save_motion
from exactik.io.formats import BVH, GLB, NPZ
from exactik.pipeline import write_motion
from exactik.report import render_report
from exactik.typing import IntArray
from exactik.viewer.page import add_driver, start_guarded_server, stop_server
from exactik.viewer.playback._data import PlaybackData
from exactik.viewer.playback._scene import PlayScene

__all__ = [
    "FPS",
    "MOTION_SUFFIXES",
    "REPORT_ENDING",
    "check_export_path",
    "choose_frames",
    "encode_playback",
    "export_playback",
    "render_html",
]

FPS = 30.0
SUFFIXES = (".html", ".htm", GLB.suffix)
MOTION_SUFFIXES = (BVH.suffix, NPZ.suffix)
REPORT_ENDING = "-report.html"  # of the name of a file

Progress = Callable[[int, int], None]


def check_export_path(path: str | os.PathLike[str]) -> str:
    """Return the path if a playback can be exported to it; raise before any work otherwise."""
    path = os.fspath(path)
    if Path(path).suffix.lower() not in SUFFIXES:
        suffix = Path(path).suffix or "names without suffix"
        raise FileError(path, f"no export as {suffix}; expected .html or .glb")
    if os.path.isdir(path):
        raise FileError(path, "is a folder; expected the name of a file")
    return path


def choose_frames(count: int, rate: float, fps: float) -> tuple[IntArray, float]:
    """Return the frames to keep for a rate of at most fps [Hz], and the rate [Hz]."""
    if not 0.0 < fps < np.inf:
        raise UsageError(f"fps is {fps!r}; it must be a number > 0")
    if fps >= rate:
        return np.arange(count), rate
    kept = np.floor(np.arange(0.0, count - 1e-9, rate / fps) + 1e-9)
    return np.minimum(kept, count - 1).astype(np.int64), fps


def render_html(
    playback: PlaybackData, *, fps: float = FPS, progress: Progress | None = None
) -> str:
    """Return a page that plays without a server or a network.

    Args:
        playback: what is shown: figure, ghosts, markers.
        fps: frames a second, at most those of the motion.
        progress: called with the number of frames done, and of all.
    """
    frames, rate = choose_frames(len(playback), playback.rate, fps)
    # A private server: the page replays the messages that its clients would get.
    server = start_guarded_server(label=playback.title)
    try:
        scene = PlayScene(server, playback)
        scene.draw(int(frames[0]), details=False)
        serializer = server.get_scene_serializer()
        for done, frame in enumerate(frames):
            scene.draw(int(frame), details=False)
            if len(frames) > 1:  # a still picture needs no controls
                serializer.insert_sleep(1.0 / rate)
            if progress is not None:
                progress(done + 1, len(frames))
        return add_driver(serializer.as_html())
    finally:
        stop_server(server)


def encode_playback(
    playback: PlaybackData, suffix: str, *, fps: float = FPS, progress: Progress | None = None
) -> bytes:
    """Return the bytes of a file, by its suffix, or by `REPORT_ENDING`.

    A page and a GLB have some of the frames; a motion as BVH or NPZ, and a report, have all.
    """
    if suffix == REPORT_ENDING:
        if playback.track is None:
            raise UsageError("a report is about a solved recording; there is none")
        return render_report(playback.track).encode()
    if suffix in MOTION_SUFFIXES:
        return _encode_motion(playback, suffix)
    if suffix.lower() in (".html", ".htm"):
        return render_html(playback, fps=fps, progress=progress).encode()
    if suffix.lower() == GLB.suffix:
        frames, rate = choose_frames(len(playback), playback.rate, fps)
        if playback.motion is None:
            raise UsageError("markers alone have no figure to write as .glb; expected .html")
        motion = replace(playback.motion, q=playback.motion.q[frames], rate=rate)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "motion.glb"
            save_motion(motion, path)
            return path.read_bytes()
    raise UsageError(f"no export as {suffix or 'a file without suffix'}; expected .html or .glb")


def _encode_motion(playback: PlaybackData, suffix: str) -> bytes:
    """Return a motion as a file; that of a track in the axes in which it was solved."""
    motion = playback.figure_motion if playback.track is None else playback.track.motion
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"motion{suffix}"
        write_motion(motion, path)
        return path.read_bytes()


def export_playback(
    playback: PlaybackData,
    path: str | os.PathLike[str],
    *,
    fps: float = FPS,
    progress: Progress | None = None,
) -> None:
    """Write a playback to .html or .glb, whole or not at all; see `render_html`."""
    path = check_export_path(path)
    with open_atomic(path, "wb") as file:  # opened first: a bad path fails before the work
        file.write(encode_playback(playback, Path(path).suffix, fps=fps, progress=progress))
