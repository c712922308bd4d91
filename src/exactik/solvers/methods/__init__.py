"""The methods: compiled ones in one file, each family of those written in Python in one."""

from exactik.solvers.methods._compiled import (
    CCD,
    Auto,
    GaussNewton,
    LevenbergMarquardt,
    Newton,
    ProjectedGradient,
)
from exactik.solvers.methods._damped_least_squares import DampedLeastSquares, solve_damped
from exactik.solvers.methods._jacobian_transpose import JacobianTranspose
from exactik.solvers.methods._newton_higham import NewtonHigham
from exactik.solvers.methods._newton_pcg import NewtonPCG
from exactik.solvers.methods._projected_cg import ProjectedCG
from exactik.solvers.methods._pseudo_inverse import PseudoInverse
from exactik.solvers.methods._quasi_newton import BFGS, LBFGS

__all__ = [
    "BFGS",
    "CCD",
    "LBFGS",
    "Auto",
    "DampedLeastSquares",
    "GaussNewton",
    "JacobianTranspose",
    "LevenbergMarquardt",
    "Newton",
    "NewtonHigham",
    "NewtonPCG",
    "ProjectedCG",
    "ProjectedGradient",
    "PseudoInverse",
    "solve_damped",
]
