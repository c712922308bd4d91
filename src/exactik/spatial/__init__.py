"""Rotations, in numpy and compiled for the kernels; rigid fits."""

from exactik.spatial._rigid_fit import RigidTransforms, fit_rigid_transforms
from exactik.spatial._rotations import (
    angle_between,
    axis_rotation,
    euler_angles,
    exp_rotation,
    is_rotation,
    log_rotation,
    matrix_from_wxyz,
    nearest_rotation,
    other_euler_angles,
    rotation_taking_z_to,
    skew,
    wrap_angles,
    wxyz_from_matrix,
)
from exactik.spatial._sincos import sincos, sincos_of
from exactik.spatial._so3 import (
    cross,
    exp_coefficients,
    left_jacobian_derivative,
    log_coefficients,
    log_vector,
)

__all__ = [
    "RigidTransforms",
    "angle_between",
    "axis_rotation",
    "cross",
    "euler_angles",
    "exp_coefficients",
    "exp_rotation",
    "fit_rigid_transforms",
    "is_rotation",
    "left_jacobian_derivative",
    "log_coefficients",
    "log_rotation",
    "log_vector",
    "matrix_from_wxyz",
    "nearest_rotation",
    "other_euler_angles",
    "rotation_taking_z_to",
    "sincos",
    "sincos_of",
    "skew",
    "wrap_angles",
    "wxyz_from_matrix",
]
