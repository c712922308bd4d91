"""All methods, in the order in which `solvers()` lists them; a new one gets a line here."""

from __future__ import annotations

from exactik.errors import UnknownNameError
from exactik.solvers._method import Method
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

__all__ = ["METHODS", "resolve_method", "solvers"]

METHODS: dict[str, type[Method]] = {
    method.name: method
    for method in (
        *(Auto, Newton, NewtonPCG, NewtonHigham, LevenbergMarquardt, GaussNewton, BFGS, LBFGS),
        *(ProjectedGradient, ProjectedCG, JacobianTranspose, PseudoInverse, DampedLeastSquares),
        CCD,
    )
}


def solvers() -> tuple[str, ...]:
    """Return the names of all solvers; `solve(…, solver=name)` takes one with default options."""
    return tuple(METHODS)


def resolve_method(solver: str | Method) -> Method:
    """Return the method itself, or the one of this name with default options."""
    if isinstance(solver, Method):
        return solver
    if not isinstance(solver, str) or solver not in METHODS:
        raise UnknownNameError("solver", str(solver), tuple(METHODS))
    return METHODS[solver]()
