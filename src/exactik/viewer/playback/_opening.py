"""A file that is opened from the page: markers, a motion, or a figure to solve markers with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from exactik.errors import FileError
from exactik.io import find_content, readable_suffixes
from exactik.pipeline import LoadedSkeleton, read_motion, read_recording, read_skeleton
from exactik.viewer.playback._data import PlaybackData, UnsolvedRecording

__all__ = ["FIGURE_SUFFIXES", "SHOWN_SUFFIXES", "OpenedFile", "open_figure", "open_shown_file"]

FIGURE_SUFFIXES = readable_suffixes("skeleton")
SHOWN_SUFFIXES = tuple(
    dict.fromkeys((*readable_suffixes("markers"), *readable_suffixes("motion"), *FIGURE_SUFFIXES))
)


class OpenedFile(NamedTuple):
    """What a file holds: something to play, or a figure; the other one is None."""

    playback: PlaybackData | None = None
    figure: LoadedSkeleton | None = None


def open_shown_file(path: Path, figures: Sequence[LoadedSkeleton] = ()) -> OpenedFile:
    """Return what is in a file.

    Args:
        path: of any format that exactik reads.
        figures: that were opened before; the last one is taken for a motion that has none.
    """
    content = find_content(path)
    if content == "markers":
        read = read_recording(path, "z", align=False)
        markers = replace(read.markers, source=path.name)  # where it lies is not the user's
        recording = UnsolvedRecording(markers, notes=tuple(read.notes))
        return OpenedFile(playback=PlaybackData.of(recording))
    if content == "skeleton":
        return OpenedFile(figure=open_figure(path))
    try:
        loaded = read_motion(str(path))
    except FileError as error:
        if error.code not in ("no-skeleton", "malformed") or len(figures) == 0:
            raise error.renamed(lambda _: "its figure first") from None
        loaded = read_motion(str(path), figures[-1].skeleton, figure_up=figures[-1].up)
    return OpenedFile(playback=PlaybackData.of(loaded.motion))


def open_figure(path: Path) -> LoadedSkeleton:
    """Return the figure in a file."""
    return read_skeleton(str(path))
