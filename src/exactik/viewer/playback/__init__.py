"""Playback of motions, with their markers, errors and references."""

from exactik.viewer.playback._app import MotionViewer
from exactik.viewer.playback._bookmarks import Bookmark
from exactik.viewer.playback._data import PlaybackData, UnsolvedRecording
from exactik.viewer.playback._export import check_export_path, export_playback
from exactik.viewer.playback._notebook import EmbeddedView, is_notebook
from exactik.viewer.playback._solving import make_solved_playback

__all__ = [
    "Bookmark",
    "EmbeddedView",
    "MotionViewer",
    "PlaybackData",
    "UnsolvedRecording",
    "check_export_path",
    "export_playback",
    "is_notebook",
    "make_solved_playback",
]
