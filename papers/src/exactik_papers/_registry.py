"""All experiments, in the order of the page. A new one is a module beside this and a line here."""

from __future__ import annotations

from exactik.errors import UnknownNameError
from exactik_papers._experiment import Experiment
from exactik_papers.exact_hessian import (
    _convergence,
    _fig8,
    _figa10,
    _frames,
    _hessian,
    _hybrid,
    _indefinite,
    _protocol,
    _table3,
    _table4,
)
from exactik_papers.line_search import (
    _jitter as _pls_jitter,
)
from exactik_papers.line_search import (
    _jump as _pls_jump,
)
from exactik_papers.line_search import (
    _leg as _pls_leg,
)
from exactik_papers.line_search import (
    _objective as _pls_objective,
)
from exactik_papers.line_search import (
    _redundancy as _pls_redundancy,
)
from exactik_papers.line_search import (
    _step as _pls_step,
)
from exactik_papers.recipe import (
    _limits as _recipe_limits,
)
from exactik_papers.recipe import (
    _passes as _recipe_passes,
)
from exactik_papers.recipe import (
    _solvers as _recipe_solvers,
)
from exactik_papers.recipe import (
    _trim as _recipe_trim,
)

__all__ = ["EXPERIMENTS", "experiments_named"]

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in (
        _table3.EXPERIMENT,
        _table4.EXPERIMENT,
        _frames.FIGURE_2,
        _convergence.FIGURE_3,
        _convergence.FIGURE_4,
        _convergence.FIGURE_5,
        _frames.FIGURE_6,
        _convergence.FIGURE_7,
        _fig8.EXPERIMENT,
        _figa10.EXPERIMENT,
        _indefinite.EXPERIMENT,
        _hessian.EXPERIMENT,
        _protocol.EXPERIMENT,
        _hybrid.EXPERIMENT,
        _pls_redundancy.EXPERIMENT,
        _pls_leg.EXPERIMENT,
        _pls_jump.EXPERIMENT,
        _pls_step.EXPERIMENT,
        _pls_objective.FIGURE_08,
        _pls_objective.FIGURE_09,
        _pls_objective.FIGURE_10,
        _pls_jitter.EXPERIMENT,
        _recipe_trim.EXPERIMENT,
        _recipe_passes.EXPERIMENT,
        _recipe_limits.EXPERIMENT,
        _recipe_solvers.EXPERIMENT,
    )
}


def experiments_named(name: str) -> list[Experiment]:
    """Return the experiment of a name, or all of them for "all"."""
    if name == "all":
        return list(EXPERIMENTS.values())
    if name not in EXPERIMENTS:
        raise UnknownNameError("table or figure", name, ("all", *EXPERIMENTS))
    return [EXPERIMENTS[name]]
