"""All methods, in the order in which `list_solvers()` lists them; a new one gets a line here."""

from __future__ import annotations

from functools import cache

from exactik.errors import UnknownNameError, UsageError
from exactik.solvers._method import Method
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

METHODS: dict[str, type[Method]] = {
    method.name: method
    for method in (
        Auto,
        Newton,
        NewtonPCG,
        NewtonHigham,
        LevenbergMarquardt,
        GaussNewton,
        BFGS,
        LBFGS,
        ProjectedGradient,
        ProjectedCG,
        JacobianTranspose,
        PseudoInverse,
        DampedLeastSquares,
        CCD,
    )
}


def list_solvers() -> tuple[str, ...]:
    """Return the names of all solvers; `solve(…, solver=name)` takes one with default options."""
    return tuple(METHODS)


def resolve_method(solver: str | Method) -> Method:
    """Return the method itself, or the one of this name with default options."""
    if isinstance(solver, Method):
        return solver
    if not isinstance(solver, str) or solver not in METHODS:
        if isinstance(solver, type):
            raise UsageError(f"solver is the class {solver.__name__}; give {solver.__name__}()")
        raise UnknownNameError("solver", str(solver), tuple(METHODS))
    return _make_default(solver)


@cache
def _make_default(name: str) -> Method:
    return METHODS[name]()
