"""Footage as a file: a page that needs nothing else, or a GLB."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from exactik.errors import FileError, ModelError
from exactik.io import save_motion, writing
from exactik.typing import IntArray
from exactik.viewer.page._server import guarded_server, stop
from exactik.viewer.playback._footage import Footage
from exactik.viewer.playback._scene import PlayScene

__all__ = ["FPS", "check_path", "export", "exported", "frames_at", "html_of"]

FPS = 30.0
SUFFIXES = (".html", ".htm", ".glb")

Progress = Callable[[int, int], None]


def check_path(path: str | os.PathLike[str]) -> str:
    """Return a path that can be exported to; refuse others before there is any work."""
    path = os.fspath(path)
    if Path(path).suffix.lower() not in SUFFIXES:
        found = Path(path).suffix or "names without suffix"
        raise FileError(path, f"no export as {found}; expected .html or .glb")
    if os.path.isdir(path):
        raise FileError(path, "is a folder; expected the name of a file")
    return path


def frames_at(count: int, rate: float, fps: float) -> tuple[IntArray, float]:
    """Return which frames to keep for so many a second, and how many that are; never more."""
    if not 0.0 < fps < np.inf:
        raise ModelError(f"fps is {fps!r}; it must be a number > 0")
    if fps >= rate:
        return np.arange(count), rate
    kept = np.floor(np.arange(0.0, count - 1e-9, rate / fps) + 1e-9)
    return np.minimum(kept, count - 1).astype(np.int64), fps


def html_of(footage: Footage, *, fps: float = FPS, progress: Progress | None = None) -> str:
    """Return a page with the scene in it, that plays, without a server or a network.

    Args:
        footage: what is shown: figure, ghosts, markers.
        fps: frames a second, at most those of the motion.
        progress: is called with the number of frames done, and that of all.
    """
    frames, rate = frames_at(len(footage), footage.motion.rate, fps)
    # A server of its own, that nobody is told of: what is recorded is what is sent to its pages.
    server = guarded_server(label=footage.skeleton.name)
    try:
        scene = PlayScene(server, footage)
        scene.draw(int(frames[0]), words=False)
        recording = server.get_scene_serializer()
        for done, frame in enumerate(frames):
            scene.draw(int(frame), words=False)
            if len(frames) > 1:  # a still picture needs no controls
                recording.insert_sleep(1.0 / rate)
            if progress is not None:
                progress(done + 1, len(frames))
        return recording.as_html()
    finally:
        stop(server)


def exported(
    footage: Footage, suffix: str, *, fps: float = FPS, progress: Progress | None = None
) -> bytes:
    """Return the bytes of a file, by its suffix."""
    if suffix.lower() in (".html", ".htm"):
        return html_of(footage, fps=fps, progress=progress).encode()
    if suffix.lower() == ".glb":
        frames, rate = frames_at(len(footage), footage.motion.rate, fps)
        motion = replace(footage.motion, q=footage.motion.q[frames], rate=rate)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "motion.glb"
            save_motion(motion, path)
            return path.read_bytes()
    raise ModelError(f"no export as {suffix or 'a file without suffix'}; expected .html or .glb")


def export(
    footage: Footage,
    path: str | os.PathLike[str],
    *,
    fps: float = FPS,
    progress: Progress | None = None,
) -> None:
    """Write footage to .html or .glb, whole or not at all; see `html_of`."""
    path = check_path(path)
    with writing(path, "wb") as file:  # opened first: a bad path fails before the work
        file.write(exported(footage, Path(path).suffix, fps=fps, progress=progress))
