"""OpenSim: models, coordinates over time, and the set-up files of its tools.

Written by hand rather than with OpenSim's own library, which is the judge in the tests: it is
large, and gives neither lines of the file nor derivatives of joints. What is read is kinematics.
"""

from exactik.io.opensim._description import FramePlace, OpenSimMarker, OpenSimModel
from exactik.io.opensim._geometry import read_opensim_visuals
from exactik.io.opensim._ik_setup import (
    CoordinateTask,
    IkSetup,
    ImuSetup,
    OrientationTable,
    is_ik_setup,
    is_imu_setup,
    load_ik_setup,
    load_imu_setup,
    load_orientations,
)
from exactik.io.opensim._model import describe_opensim_model, load_opensim_model
from exactik.io.opensim._skeleton import build_skeleton, read_opensim_skeleton
