"""Posing by hand and key frames: all of the viewer that needs no window."""

from exactik.viewer._handles import Handle
from exactik.viewer._held import Hold, Key
from exactik.viewer._history import Undo
from exactik.viewer._keyframes import Keyframes
from exactik.viewer._limits import LimitState
from exactik.viewer._session import PosingSession, Update
from exactik.viewer._state import PosingState
from exactik.viewer._worker import PosingWorker

__all__ = [
    "Handle",
    "Hold",
    "Key",
    "Keyframes",
    "LimitState",
    "PosingSession",
    "PosingState",
    "PosingWorker",
    "Undo",
    "Update",
]
