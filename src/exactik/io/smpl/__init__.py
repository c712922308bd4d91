"""Motions of the SMPL family: AMASS, SMPL, SMPL-H, SMPL-X, and what pose estimators make.

Models are their users' own and never shipped. Nothing in a file is executed.
"""

from exactik.io.smpl._model import SmplModel, read_smpl_model
from exactik.io.smpl._names import FAMILY, SMPL, SMPL_H, SMPL_X
from exactik.io.smpl._proportions import STATURE, place_average_joints
from exactik.io.smpl._read import (
    make_smpl_skeleton,
    read_npz_content,
    read_npz_motion,
    read_npz_up_axis,
)
