"""Motions of the SMPL family: AMASS, SMPL, SMPL-H, SMPL-X, and what pose estimators make.

Models are their users' own and never shipped. Nothing in a file is executed.
"""

from exactik.io.smpl._model import FAMILY, read_smpl_model
from exactik.io.smpl._read import (
    make_smpl_skeleton,
    place_average_joints,
    read_npz_content,
    read_npz_motion,
    read_npz_up_axis,
)
