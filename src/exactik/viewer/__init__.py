"""Posing by hand, key frames, playback; with or without a browser.

Imports point one way: `page` (what both apps share) knows neither app, `keyframes` lies below
posing's panel, and `playback` stands beside `posing`.
"""

from exactik.viewer._history import UndoHistory, UndoOrder
from exactik.viewer._limits import LimitState
from exactik.viewer._view import view
from exactik.viewer.keyframes import (
    BoneLock,
    Key,
    Keyframes,
    KeyframesState,
    Mirror,
    PinConstraint,
)
from exactik.viewer.playback import (
    Bookmark,
    EmbeddedView,
    MotionViewer,
    PlaybackData,
    UnsolvedRecording,
    check_export_path,
    export_playback,
)
from exactik.viewer.posing import (
    Handle,
    PoseViewer,
    PosingSession,
    PosingState,
    PosingWorker,
    Update,
)

__all__ = [
    "BoneLock",
    "Bookmark",
    "EmbeddedView",
    "Handle",
    "Key",
    "Keyframes",
    "KeyframesState",
    "LimitState",
    "Mirror",
    "MotionViewer",
    "PinConstraint",
    "PlaybackData",
    "PoseViewer",
    "PosingSession",
    "PosingState",
    "PosingWorker",
    "UndoHistory",
    "UndoOrder",
    "UnsolvedRecording",
    "Update",
    "check_export_path",
    "export_playback",
    "view",
]
