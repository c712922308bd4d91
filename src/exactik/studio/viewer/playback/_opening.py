"""A file that is opened from the page: markers, a motion, or a figure to solve markers with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from exactik.errors import FileError, UsageError
from exactik.io import find_content, find_format, readable_suffixes
from exactik.recordings.pipeline import (
    LoadedMotion,
    LoadedSkeleton,
    read_motion,
    read_recording,
    read_skeleton,
)
from exactik.studio.viewer.playback._data import PlaybackData, UnsolvedRecording

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
        form = find_format(path)
        if form is None or not form.needs_skeleton or len(figures) == 0:
            raise error.renamed(lambda _: "its figure first") from None
        loaded = _read_with_figure(path, figures[-1], error)
    try:
        return OpenedFile(playback=PlaybackData.of(loaded.motion))
    except UsageError as error:  # nothing in it to show
        raise FileError(path, str(error)) from None


def _read_with_figure(path: Path, figure: LoadedSkeleton, first: FileError) -> LoadedMotion:
    """Return a motion that could not be read, or not with what lies beside it, with a figure.

    Args:
        first: why it could not be read; raised again if the figure does not help, unless all that
            was missing was a figure.
    """
    try:
        read = read_motion(str(path), figure.skeleton, figure_up=figure.up)
    except FileError as error:
        raise (error if first.code == "no-skeleton" else first) from None
    if not np.isfinite(read.motion.q).all(axis=1).any():  # another figure's: no frame fits
        raise first
    return read


def open_figure(path: Path) -> LoadedSkeleton:
    """Return the figure in a file."""
    return read_skeleton(str(path))
