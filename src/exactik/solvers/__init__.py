"""Solvers: every method over one loop; the answer, its proof and its error bars."""

import sys as _sys

from exactik._renamed import answer_calls as _answer_calls
from exactik.solvers._certificate import (
    CONVERGED_GRADIENT,
    MAX_POLISH,
    Certificate,
    compute_flat_curvature,
    find_active_dofs,
    find_stationary_point,
    make_certificate,
)
from exactik.solvers._compiled_solve import can_solve_compiled, count_problems_per_call
from exactik.solvers._critical_cone import find_descent_in_cone
from exactik.solvers._descend import (
    ENDED_WORDS,
    Cancelled,
    Descent,
    History,
    count_iterations,
    descend,
)
from exactik.solvers._goal_errors import compute_goal_errors, compute_term_tolerances
from exactik.solvers._method import CompiledMethod, Method, PythonMethod, Stepper
from exactik.solvers._reachability import bound_reach
from exactik.solvers._registry import METHODS, list_solvers, resolve_method
from exactik.solvers._result import Result
from exactik.solvers._solve import SolveOptions, solve, solve_until_stopped
from exactik.solvers._solver import Solver
from exactik.solvers._uncertainty import Covariance, backpropagate_result
from exactik.solvers._verdict import STATUSES
from exactik.solvers._view import Iterate, View
from exactik.solvers.methods import (
    BFGS,
    CCD,
    LBFGS,
    Auto,
    DampedLeastSquares,
    GaussNewton,
    JacobianTranspose,
    LevenbergMarquardt,
    Newton,
    NewtonHigham,
    NewtonPCG,
    ProjectedCG,
    ProjectedGradient,
    PseudoInverse,
)
from exactik.solvers.starts import count_threads, make_start_table, require_count

__all__ = [
    "BFGS",
    "CCD",
    "CONVERGED_GRADIENT",
    "ENDED_WORDS",
    "LBFGS",
    "MAX_POLISH",
    "METHODS",
    "STATUSES",
    "Auto",
    "Cancelled",
    "Certificate",
    "CompiledMethod",
    "Covariance",
    "DampedLeastSquares",
    "Descent",
    "GaussNewton",
    "History",
    "Iterate",
    "JacobianTranspose",
    "LevenbergMarquardt",
    "Method",
    "Newton",
    "NewtonHigham",
    "NewtonPCG",
    "ProjectedCG",
    "ProjectedGradient",
    "PseudoInverse",
    "PythonMethod",
    "Result",
    "SolveOptions",
    "Solver",
    "Stepper",
    "View",
    "backpropagate_result",
    "bound_reach",
    "can_solve_compiled",
    "compute_flat_curvature",
    "compute_goal_errors",
    "compute_term_tolerances",
    "count_iterations",
    "count_problems_per_call",
    "count_threads",
    "descend",
    "find_active_dofs",
    "find_descent_in_cone",
    "find_stationary_point",
    "list_solvers",
    "make_certificate",
    "make_start_table",
    "require_count",
    "resolve_method",
    "solve",
    "solve_until_stopped",
]

_answer_calls(_sys.modules[__name__], "exactik.solvers()", "exactik.list_solvers()", list_solvers)
