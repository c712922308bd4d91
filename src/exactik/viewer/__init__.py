"""Posing by hand, key frames, playback; with or without a browser."""

from exactik.viewer._embedded import EmbeddedView
from exactik.viewer._footage import Footage
from exactik.viewer._handles import Handle
from exactik.viewer._held import Hold, Key
from exactik.viewer._history import Undo
from exactik.viewer._keyframes import Keyframes
from exactik.viewer._limits import LimitState
from exactik.viewer._play_app import MotionViewer
from exactik.viewer._pose_app import PoseViewer
from exactik.viewer._session import PosingSession, Update
from exactik.viewer._state import PosingState
from exactik.viewer._view import view
from exactik.viewer._worker import PosingWorker

__all__ = [
    "EmbeddedView",
    "Footage",
    "Handle",
    "Hold",
    "Key",
    "Keyframes",
    "LimitState",
    "MotionViewer",
    "PoseViewer",
    "PosingSession",
    "PosingState",
    "PosingWorker",
    "Undo",
    "Update",
    "view",
]
