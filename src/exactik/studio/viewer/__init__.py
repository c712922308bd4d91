"""Posing by hand, key frames, playback; with or without a browser.

Imports point one way: `page` (what both apps share) knows neither app, `keyframes` lies below
posing's panel, and `playback` stands beside `posing`.
"""

from exactik.studio.viewer._balance import (
    compute_balance,
    describe_balance,
    find_convex_hull,
    measure_margin,
)
from exactik.studio.viewer._history import UndoHistory, UndoOrder
from exactik.studio.viewer._limits import AT_LIMIT, NEAR_LIMIT, LimitState, compute_limit_state
from exactik.studio.viewer._live import LiveViewer
from exactik.studio.viewer._view import view
from exactik.studio.viewer.keyframes import (
    BoneLock,
    Key,
    Keyframes,
    KeyframesState,
    Mirror,
    PinConstraint,
)
from exactik.studio.viewer.playback import (
    Bookmark,
    EmbeddedView,
    MotionViewer,
    PlaybackData,
    UnsolvedRecording,
    check_export_path,
    export_playback,
)
from exactik.studio.viewer.posing import (
    Handle,
    PoseViewer,
    PosingSession,
    PosingState,
    PosingWorker,
    Update,
)

__all__ = [
    "AT_LIMIT",
    "NEAR_LIMIT",
    "BoneLock",
    "Bookmark",
    "EmbeddedView",
    "Handle",
    "Key",
    "Keyframes",
    "KeyframesState",
    "LimitState",
    "LiveViewer",
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
    "compute_balance",
    "compute_limit_state",
    "describe_balance",
    "export_playback",
    "find_convex_hull",
    "measure_margin",
    "view",
]
