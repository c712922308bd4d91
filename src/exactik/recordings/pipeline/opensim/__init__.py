"""OpenSim's tools, run from their own set-up files: inverse kinematics and scaling."""

from exactik.recordings.pipeline.opensim._ik import SolvedSetup, solve_ik_setup, write_ik_results
from exactik.recordings.pipeline.opensim._imu import (
    SolvedOrientations,
    solve_imu_setup,
    write_imu_results,
)
from exactik.recordings.pipeline.opensim._scale import (
    ScaledSubject,
    load_marked_skeleton,
    save_calibrated_model,
    scale_model,
)
from exactik.recordings.pipeline.opensim._tasks import TaskSetup, track_tasks
