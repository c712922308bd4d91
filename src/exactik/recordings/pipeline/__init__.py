"""From a recording as it was read to a judged motion: all that `exactik solve` does in between.

In their order: computed points and rigid objects are left out, subjects separated, unnamed markers
labelled, markers mapped to the figure's, the up axis and the unit settled, the figure fitted, the
recording tracked. What was decided on the way is kept as the track's `context`.
"""

from exactik.recordings.pipeline._files import (
    BUILT_IN,
    LoadedMotion,
    LoadedRecording,
    LoadedSkeleton,
    rate_columns,
    read_motion,
    read_recording,
    read_skeleton,
    read_trial,
    write_motion,
)
from exactik.recordings.pipeline._handedness import measure_handedness
from exactik.recordings.pipeline._match import MatchedRecording, attach_from_take, match_recording
from exactik.recordings.pipeline._options import (
    FigureOptions,
    RecordingOptions,
    check_names,
    resolve_weights,
)
from exactik.recordings.pipeline._prepare import PreparedSkeleton, prepare_skeleton
from exactik.recordings.pipeline._solve import SolvedRecording, solve_recording
from exactik.recordings.pipeline._subjects import ALL_SUBJECTS, choose_subjects
from exactik.recordings.pipeline._truth import TruthComparison, compare_with_truth
from exactik.recordings.pipeline._units import correct_unit
from exactik.recordings.pipeline._up_axis import (
    align_up_axis,
    find_motion_up,
    find_upright,
    find_upright_person,
    stand_up,
)
from exactik.recordings.pipeline.opensim import (
    ScaledSubject,
    SolvedOrientations,
    SolvedSetup,
    TaskSetup,
    load_marked_skeleton,
    save_calibrated_model,
    scale_model,
    solve_ik_setup,
    solve_imu_setup,
    track_tasks,
    write_ik_results,
    write_imu_results,
)

__all__ = [
    "ALL_SUBJECTS",
    "BUILT_IN",
    "FigureOptions",
    "LoadedMotion",
    "LoadedRecording",
    "LoadedSkeleton",
    "MatchedRecording",
    "PreparedSkeleton",
    "RecordingOptions",
    "ScaledSubject",
    "SolvedOrientations",
    "SolvedRecording",
    "SolvedSetup",
    "TaskSetup",
    "TruthComparison",
    "align_up_axis",
    "attach_from_take",
    "check_names",
    "choose_subjects",
    "compare_with_truth",
    "correct_unit",
    "find_motion_up",
    "find_upright",
    "find_upright_person",
    "load_marked_skeleton",
    "match_recording",
    "measure_handedness",
    "prepare_skeleton",
    "rate_columns",
    "read_motion",
    "read_recording",
    "read_skeleton",
    "read_trial",
    "resolve_weights",
    "save_calibrated_model",
    "scale_model",
    "solve_ik_setup",
    "solve_imu_setup",
    "solve_recording",
    "stand_up",
    "track_tasks",
    "write_ik_results",
    "write_imu_results",
    "write_motion",
]
