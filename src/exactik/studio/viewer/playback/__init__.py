"""Playback of motions, with their markers, errors and references."""

from exactik.studio.viewer.playback._app import MotionViewer, Transport
from exactik.studio.viewer.playback._bookmarks import (
    Bookmark,
    find_error_peaks,
    find_missing_poses,
    merge_bookmarks,
)
from exactik.studio.viewer.playback._data import PlaybackData, UnsolvedRecording
from exactik.studio.viewer.playback._export import (
    REPORT_ENDING,
    EmbeddedView,
    check_export_path,
    choose_frames,
    encode_playback,
    export_playback,
    is_notebook,
)
from exactik.studio.viewer.playback._opening import open_shown_file
from exactik.studio.viewer.playback._residuals import draw_error_curve, find_worst
from exactik.studio.viewer.playback._scene import LIMITS, UNCERTAINTY
from exactik.studio.viewer.playback._solving import SolveJob, make_solved_playback
from exactik.studio.viewer.playback._uncertainty import (
    colour_quality,
    colour_uncertainty,
    compute_joint_deviations,
    describe_least_certain,
)
