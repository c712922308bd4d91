"""OpenSim's scale tool: its set-up files, and models whose text is changed to a scaled one."""

from exactik.io.opensim.scaling._scaled_model import (
    GenericModel,
    default_pose,
    write_marker_set,
    write_scale_set,
)
from exactik.io.opensim.scaling._setup import (
    MarkerPlacing,
    ModelScaling,
    ScaleSetup,
    is_scale_setup,
    load_scale_setup,
)
