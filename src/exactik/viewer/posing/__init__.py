"""Posing by hand: a session without a window, a worker that advances it, and the page."""

from exactik.viewer.posing._app import PoseViewer
from exactik.viewer.posing._editable import PosingState
from exactik.viewer.posing._handles import Handle
from exactik.viewer.posing._session import PosingSession, Update
from exactik.viewer.posing._worker import PosingWorker

__all__ = ["Handle", "PoseViewer", "PosingSession", "PosingState", "PosingWorker", "Update"]
