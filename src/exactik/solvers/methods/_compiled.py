"""The methods that are rules of the compiled descent, `kernels.descent`: each sets options."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from exactik.errors import UsageError
from exactik.kernels.descent.options import (
    COORDINATE_DESCENT,
    CURVATURE,
    CURVATURE_OF_DOF,
    CURVATURE_OF_KIND,
    DAMPED,
    ESCAPE_SADDLES,
    FLETCHER,
    GRADIENT_DESCENT,
    HYBRID,
    INITIAL_DAMPING,
    INITIAL_STEP_LENGTH,
    INITIAL_TRUST_RADIUS,
    LINE_SEARCH,
    MAX_STEP_ENTRY,
    METRIC,
    RULE,
    TRUST_REGION,
    TRY_DETOUR,
)
from exactik.kernels.descent.state import STEP_LENGTH, TRUST_RADIUS
from exactik.problem import EXACT, GAUSS_NEWTON, Problem
from exactik.solvers._method import CompiledMethod
from exactik.typing import Array


@dataclass(frozen=True, kw_only=True)
class Auto(CompiledMethod):
    """Damped Newton with exact curvature and a detour around limits; the default.

    Attributes:
        initial_damping: μ of the first step, relative to the curvature.
        metric: what damping holds back: "kind", all turns alike and all shifts alike, which finds
            more of the solutions of a figure from afar; or "dof", each dof by its own curvature,
            which is quicker from nearby and finds more of those of an arm; "auto" is "kind" where a
            root moves and "dof" where all are fixed.
        escape: leave saddles along a direction of negative curvature.
        detour: where limits stop the descent short of the goals, try once more from the same start
            without limits first.
    """

    name: ClassVar[str] = "auto"
    initial_damping: float = 1.0
    metric: Literal["auto", "kind", "dof"] = "auto"
    escape: bool = True
    detour: bool = True

    def __post_init__(self) -> None:
        """Check the options."""
        super().__post_init__()
        if self.metric not in ("auto", "kind", "dof"):
            raise UsageError(f"Auto(metric={self.metric!r}): must be 'auto', 'kind' or 'dof'")

    def settings(self) -> dict[int, float]:
        """Damping, both curvatures."""
        return {
            RULE: DAMPED,
            CURVATURE: HYBRID,
            INITIAL_DAMPING: self.initial_damping,
            ESCAPE_SADDLES: float(self.escape),
            TRY_DETOUR: float(self.detour),
        }

    def options(self, problem: Problem) -> Array:
        """Return the kernel's options, (OPTIONS_SIZE,)."""
        options, tree = super().options(problem), problem.skeleton.tree
        root_moves = bool((tree.shift_count[1:][tree.parent[1:] == 0] == 3).any())
        by_kind = root_moves if self.metric == "auto" else self.metric == "kind"
        options[METRIC] = CURVATURE_OF_KIND if by_kind else CURVATURE_OF_DOF
        return options


@dataclass(frozen=True, kw_only=True)
class Newton(CompiledMethod):
    """Newton with the exact Hessian in a trust region, whose sub-problem is solved exactly.

    Attributes:
        initial_radius: length of the longest first step [rad or m], measured over the strengths.
    """

    name: ClassVar[str] = "newton"
    initial_radius: float = 1.0

    def settings(self) -> dict[int, float]:
        """A radius, exact curvature."""
        return {
            RULE: TRUST_REGION,
            CURVATURE: EXACT,
            INITIAL_TRUST_RADIUS: self.initial_radius,
        }

    def control(self, state: Array) -> float:
        """Return the radius."""
        return float(state[TRUST_RADIUS])


@dataclass(frozen=True, kw_only=True)
class LevenbergMarquardt(CompiledMethod):
    """(JᵀWJ + λ diag(JᵀWJ)) s = −g inside the limits, λ by Fletcher's rule.

    As in the exact-Hessian paper.

    Attributes:
        initial_damping: λ of the first step.
    """

    name: ClassVar[str] = "levenberg-marquardt"
    initial_damping: float = 1.0

    def settings(self) -> dict[int, float]:
        """Fletcher's damping, Gauss–Newton's curvature."""
        return {
            RULE: FLETCHER,
            CURVATURE: GAUSS_NEWTON,
            INITIAL_DAMPING: self.initial_damping,
        }


@dataclass(frozen=True, kw_only=True)
class GaussNewton(CompiledMethod):
    """JᵀWJ s = −g inside the limits, without damping: full steps, halved where the cost rises.

    Where JᵀWJ is singular, as in every redundant figure, it is damped just enough to be factored.
    """

    name: ClassVar[str] = "gauss-newton"

    def settings(self) -> dict[int, float]:
        """A line search, Gauss–Newton's curvature."""
        return {RULE: LINE_SEARCH, CURVATURE: GAUSS_NEWTON}

    def control(self, state: Array) -> float:
        """Return the length of the step."""
        return float(state[STEP_LENGTH])


@dataclass(frozen=True, kw_only=True)
class ProjectedGradient(CompiledMethod):
    """q ← clip(q − τ g), τ halved until the cost falls enough and doubled for the next step.

    Armijo's back-tracking, as in the projected line search paper.

    Attributes:
        initial_step: first τ tried.
        max_step: largest change of a dof in one step [rad or m].
    """

    name: ClassVar[str] = "projected-gradient"
    max_iterations: int = 5000
    tolerance: float = 1e-6
    initial_step: float = 1.0
    max_step: float = np.inf

    def settings(self) -> dict[int, float]:
        """Gradients only; the curvature serves the stopping test."""
        return {
            RULE: GRADIENT_DESCENT,
            CURVATURE: GAUSS_NEWTON,
            INITIAL_STEP_LENGTH: 0.5 * self.initial_step,
            MAX_STEP_ENTRY: self.max_step,
        }

    def control(self, state: Array) -> float:
        """Return τ."""
        return float(state[STEP_LENGTH])


@dataclass(frozen=True, kw_only=True)
class CCD(CompiledMethod):
    """Cyclic coordinate descent: one dof at a time, from the tips to the root.

    Each dof goes to its exact minimiser (`descent.coordinate_descent`); an iteration is a sweep
    over all dofs. Strengths make no difference.
    """

    name: ClassVar[str] = "ccd"
    max_iterations: int = 1000
    tolerance: float = 1e-6

    def settings(self) -> dict[int, float]:
        """One dof at a time; exact curvature."""
        return {RULE: COORDINATE_DESCENT, CURVATURE: EXACT}

    def control(self, state: Array) -> float:
        """Return the length of the step."""
        return float(state[STEP_LENGTH])
