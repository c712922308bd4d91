"""Posing by hand, key frames, playback; with or without a browser."""

from exactik.viewer._view import view
from exactik.viewer.keyframes._held import Hold, Key
from exactik.viewer.keyframes._keyframes import Keyframes
from exactik.viewer.playback._app import MotionViewer
from exactik.viewer.playback._embedded import EmbeddedView
from exactik.viewer.playback._footage import Footage
from exactik.viewer.posing._app import PoseViewer
from exactik.viewer.posing._handles import Handle
from exactik.viewer.posing._history import Undo
from exactik.viewer.posing._limits import LimitState
from exactik.viewer.posing._session import PosingSession, Update
from exactik.viewer.posing._state import PosingState
from exactik.viewer.posing._worker import PosingWorker

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
