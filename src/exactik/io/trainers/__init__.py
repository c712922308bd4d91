"""Files from which trainers of robots learn: joints, and poses and velocities of bodies.

What each layout is was read in the sources of its trainer: HybridRobotics/whole_body_tracking
(scripts/csv_to_npz.py), mujocolab/mjlab (the same), YanjieZe/GMR (scripts/*_to_robot_dataset.py),
xbpeng/MimicKit (anim/motion.py, anim/mjcf_char_model.py), NVlabs/ProtoMotions (simulator_state.py,
motion_lib.py). A wrong order of joints or bodies is not noticed by any of them. So every file has
their names too, in keys that its trainer does not read.

Pickles are written as data, by hand; none is ever read, for opening one runs what it says.
"""

from exactik.io.trainers._write import (
    write_beyondmimic,
    write_gmr,
    write_mimickit,
    write_mjlab,
    write_protomotions,
    write_unitree_csv,
)
