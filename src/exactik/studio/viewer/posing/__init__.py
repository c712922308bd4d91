"""Posing by hand: a session without a window, a worker that advances it, and the page."""

from exactik.studio.viewer.posing._app import PoseViewer
from exactik.studio.viewer.posing._autosave import find_state_folder
from exactik.studio.viewer.posing._editable import PosingState
from exactik.studio.viewer.posing._gizmo import (
    GIZMO_AXES,
    CameraView,
    Gizmo,
    find_active_axes,
    limit_target_move,
)
from exactik.studio.viewer.posing._handles import Handle, choose_handles
from exactik.studio.viewer.posing._robots import (
    BEND_RAD,
    MAX_FINGER_DOFS,
    SINGULAR,
    bend_arm,
    choose_first_pose,
    find_tools,
    measure_dexterity,
    release_walker,
)
from exactik.studio.viewer.posing._session import PosingSession, Update
from exactik.studio.viewer.posing._worker import PosingWorker
from exactik.studio.viewer.posing.panel import REACHED, PoseWords
