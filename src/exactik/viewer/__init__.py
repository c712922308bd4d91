"""Posing by hand and key frames, with or without a browser."""

from exactik.viewer._handles import Handle
from exactik.viewer._held import Hold, Key
from exactik.viewer._history import Undo
from exactik.viewer._keyframes import Keyframes
from exactik.viewer._limits import LimitState
from exactik.viewer._pose_app import PoseViewer
from exactik.viewer._session import PosingSession, Update
from exactik.viewer._state import PosingState
from exactik.viewer._worker import PosingWorker

__all__ = [
    "Handle",
    "Hold",
    "Key",
    "Keyframes",
    "LimitState",
    "PoseViewer",
    "PosingSession",
    "PosingState",
    "PosingWorker",
    "Undo",
    "Update",
]
