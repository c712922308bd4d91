"""Playback as a file: a page that needs nothing else, or a GLB."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from html import escape
from pathlib import Path

import numpy as np

from exactik.errors import FileError, UsageError
from exactik.io import open_atomic, save_motion
from exactik.io.formats import BVH, GLB, NPZ
from exactik.model import Pose
from exactik.recordings.pipeline import write_motion
from exactik.studio.player.data import LookLimits
from exactik.studio.player.page import render_player_page
from exactik.studio.player.plates import ShownPlate, show_plates
from exactik.studio.player.scene import Ghost, PlayerScene, carry_quality, pose_figure
from exactik.studio.report import render_report
from exactik.studio.viewer.playback._data import PlaybackData, TimeAligned
from exactik.typing import Array, IntArray

FPS = 30.0
# A file of its own may be larger than a report: characters with their images, robots as they are.
LOOK_LIMITS = LookLimits(vertices=300_000, image_bytes=20_000_000)
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
        fps: frames a second, at most those of the motion.
        progress: called with the number of frames done, and of all.
    """
    frames, _ = choose_frames(len(playback), playback.rate, fps)
    scene = _compose_player_scene(playback, frames)
    if progress is not None:
        progress(len(frames), len(frames))
    return render_player_page(scene, limits=LOOK_LIMITS, plays=True)


def _compose_player_scene(playback: PlaybackData, frames: IntArray) -> PlayerScene:
    """Return figure, ghosts, markers and force plates at some frames.

    Args:
        frames: which, ascending, (K,).
    """
    pose = None
    if playback.has_figure:
        shown = [playback.frame_with_pose(int(frame)) for frame in frames]
        pose = pose_figure(playback.skeleton, playback.figure_motion.q[shown])
    columns = _choose_columns(playback)
    names = ()
    if playback.recorded is not None:
        names = tuple(playback.recorded.content.names[k] for k in columns)
    bones, points = _place_markers(playback, names, frames)
    return PlayerScene(
        name=playback.title,
        rate=playback.rate,
        length=len(playback),
        frames=frames,
        pose=pose,
        measured=np.array([playback.targets(int(frame))[columns] for frame in frames]),
        marker_names=names,
        marker_bones=bones,
        marker_points=points,
        first=int(frames[0]),
        first_number=playback.played.first_frame,
        ghosts=tuple(_make_ghost(playback, timed, frames) for timed in playback.references),
        plates=_show_plates(playback, frames),
        quality=None
        if playback.joint_quality is None
        else carry_quality(playback.skeleton, playback.joint_quality[frames]),
    )


def _choose_columns(playback: PlaybackData) -> list[int]:
    """Return the recorded markers that are shown: not what is computed beside measured ones."""
    overview = playback.overview
    if overview is None:
        return []
    every = not overview.measured.any()
    used = set(playback.marker_matches)
    names = overview.markers.names
    return [k for k, name in enumerate(names) if every or name in used or not overview.computed[k]]


def _show_plates(playback: PlaybackData, frames: IntArray) -> tuple[ShownPlate, ...]:
    """Return the force plates of the recording; nothing is on them outside of it."""
    if playback.recorded is None:
        return ()
    at = [playback.recorded_frame(int(frame)) for frame in frames]
    inside = np.array([[t is not None] for t in at])
    rows = np.array([0 if t is None else t for t in at], dtype=np.int64)
    plates = show_plates(playback.recorded.content, rows, np.eye(3))
    return tuple(
        plate._replace(
            feet=np.where(inside, plate.feet, np.nan), tips=np.where(inside, plate.tips, np.nan)
        )
        for plate in plates
    )


def _place_markers(
    playback: PlaybackData, names: tuple[str, ...], frames: IntArray
) -> tuple[IntArray, Array]:
    """Return bone, −1 for none, (M,), and place on it [m], (M, 3) or (K, M, 3), of each marker."""
    bones, points = np.full(len(names), -1, dtype=np.int64), np.zeros((len(names), 3))
    columns = [names.index(name) for name in playback.marker_matches]
    for column, name in zip(columns, playback.names, strict=True):
        bone, points[column] = playback.skeleton.marker(name)
        bones[column] = playback.skeleton.bone_index(bone)
    if playback.track is not None:
        own = playback.track.marker_points
        moving = np.tile(points, (len(frames) if len(own) > 1 else 1, 1, 1))
        moving[:, columns] = own[frames] if len(own) > 1 else own
        points = moving if len(own) > 1 else moving[0]
    return bones, points


def _make_ghost(playback: PlaybackData, timed: TimeAligned, frames: IntArray) -> Ghost:
    q = timed.content.q
    at = [timed.frame_at(int(frame) / playback.rate) for frame in frames]
    present = np.array([t is not None and bool(np.isfinite(q[t]).all()) for t in at])
    any_pose = int(np.argmax(np.isfinite(q).all(axis=1)))
    rows = [t if there else any_pose for t, there in zip(at, present, strict=True)]
    pose = pose_figure(timed.content.skeleton, q[rows])
    to_the_left = np.array([0.0, playback.aside, 0.0])
    return Ghost(Pose(pose.skeleton, pose.positions + to_the_left, pose.rotations), present)


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


# --- playback inside a notebook, without server or network, wherever the notebook is opened


def is_notebook() -> bool:
    """Return whether this is the kernel of a notebook, whose cells show what they return."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return type(shell).__name__ == "ZMQInteractiveShell"


class EmbeddedView:
    """A playback that a notebook shows.

    Attributes:
        data: what is shown.
        fps: frames a second, at most those of the motion.
        height: of the frame in the notebook [pixels].
    """

    def __init__(self, data: PlaybackData, *, fps: float = FPS, height: int = 480):
        """Keep the data; the page is made when it is shown."""
        self.data, self.fps, self.height = data, fps, height

    def __repr__(self) -> str:
        return f"<EmbeddedView of {self.data.played!r}>"

    @cached_property
    def html(self) -> str:
        """The page, with all that it needs."""
        return render_html(self.data, fps=self.fps)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to .html, or the figure to .glb."""
        export_playback(self.data, path, fps=self.fps)

    def _repr_html_(self) -> str:
        style = f"width:100%;height:{self.height}px;border:1px solid #ddd"
        page = escape(self.html)
        return f'<iframe srcdoc="{page}" style="{style}" sandbox="allow-scripts"></iframe>'
