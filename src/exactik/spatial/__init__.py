"""Rotations and rigid fits: a numpy face for everybody, compiled twins for the kernels."""

from exactik.spatial._jit import inlined, jit, pasted, unlocked
from exactik.spatial._rigid_fit import RigidTransforms, fit_rigid_transforms
from exactik.spatial._rotations import (
    axis_rotation,
    euler_angles,
    exp_rotation,
    is_rotation,
    log_rotation,
    matrix_from_wxyz,
    nearest_rotation,
    rotation_taking_z_to,
    skew,
    wxyz_from_matrix,
)
from exactik.spatial._sincos import sincos
from exactik.spatial._so3 import (
    cross,
    exp_coefficients,
    left_jacobian_derivative,
    log_coefficients,
    log_vector,
)

__all__ = [
    "RigidTransforms",
    "axis_rotation",
    "cross",
    "euler_angles",
    "exp_coefficients",
    "exp_rotation",
    "fit_rigid_transforms",
    "inlined",
    "is_rotation",
    "jit",
    "left_jacobian_derivative",
    "log_coefficients",
    "log_rotation",
    "log_vector",
    "matrix_from_wxyz",
    "nearest_rotation",
    "pasted",
    "rotation_taking_z_to",
    "sincos",
    "skew",
    "unlocked",
    "wxyz_from_matrix",
]
