"""All experiments, in the order of the page. A new one is a module beside this and a line here."""

from __future__ import annotations

from exactik.errors import UnknownNameError
from exactik_papers.exact_hessian import (
    convergence,
    fig8,
    figa10,
    frames,
    hessian,
    hybrid,
    indefinite,
    protocol,
    table3,
    table4,
)
from exactik_papers.experiment import Experiment
from exactik_papers.line_search import jitter, jump, leg, objective, redundancy, step
from exactik_papers.recipe import limits, passes, solvers, trim

__all__ = ["EXPERIMENTS", "find_experiments"]

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in (
        table3.EXPERIMENT,
        table4.EXPERIMENT,
        frames.FIGURE_2,
        convergence.FIGURE_3,
        convergence.FIGURE_4,
        convergence.FIGURE_5,
        frames.FIGURE_6,
        convergence.FIGURE_7,
        fig8.EXPERIMENT,
        figa10.EXPERIMENT,
        indefinite.EXPERIMENT,
        hessian.EXPERIMENT,
        protocol.EXPERIMENT,
        hybrid.EXPERIMENT,
        redundancy.EXPERIMENT,
        leg.EXPERIMENT,
        jump.EXPERIMENT,
        step.EXPERIMENT,
        objective.FIGURE_08,
        objective.FIGURE_09,
        objective.FIGURE_10,
        jitter.EXPERIMENT,
        trim.EXPERIMENT,
        passes.EXPERIMENT,
        limits.EXPERIMENT,
        solvers.EXPERIMENT,
    )
}


def find_experiments(name: str) -> list[Experiment]:
    """Return the experiment of a name, or all of them for "all"."""
    if name == "all":
        return list(EXPERIMENTS.values())
    if name not in EXPERIMENTS:
        raise UnknownNameError("table or figure", name, ("all", *EXPERIMENTS))
    return [EXPERIMENTS[name]]
