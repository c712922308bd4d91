"""Solvers: every method a small file over one loop; the answer, its proof and its error bars."""

from exactik.solvers._certificate import Certificate
from exactik.solvers._loop import CompiledMethod, History, PythonMethod, Stepper
from exactik.solvers._method import Method
from exactik.solvers._methods import solvers
from exactik.solvers._result import Result
from exactik.solvers._solve import solve
from exactik.solvers._uncertainty import Covariance
from exactik.solvers._verdict import STATUSES
from exactik.solvers._view import Place, View
from exactik.solvers.methods._auto import Auto
from exactik.solvers.methods._bfgs import BFGS
from exactik.solvers.methods._ccd import CCD
from exactik.solvers.methods._damped_least_squares import DampedLeastSquares
from exactik.solvers.methods._gauss_newton import GaussNewton
from exactik.solvers.methods._jacobian_transpose import JacobianTranspose
from exactik.solvers.methods._l_bfgs import LBFGS
from exactik.solvers.methods._levenberg_marquardt import LevenbergMarquardt
from exactik.solvers.methods._newton import Newton
from exactik.solvers.methods._newton_higham import NewtonHigham
from exactik.solvers.methods._newton_pcg import NewtonPCG
from exactik.solvers.methods._projected_cg import ProjectedCG
from exactik.solvers.methods._projected_gradient import ProjectedGradient
from exactik.solvers.methods._pseudo_inverse import PseudoInverse

__all__ = [
    "BFGS",
    "CCD",
    "LBFGS",
    "STATUSES",
    "Auto",
    "Certificate",
    "CompiledMethod",
    "Covariance",
    "DampedLeastSquares",
    "GaussNewton",
    "History",
    "JacobianTranspose",
    "LevenbergMarquardt",
    "Method",
    "Newton",
    "NewtonHigham",
    "NewtonPCG",
    "Place",
    "ProjectedCG",
    "ProjectedGradient",
    "PseudoInverse",
    "PythonMethod",
    "Result",
    "Stepper",
    "View",
    "solve",
    "solvers",
]
