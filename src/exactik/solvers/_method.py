"""What every method shares: a name, and when to stop.

A method is compiled (`CompiledMethod`): it names a rule of `kernels.descent` and sets its options;
or it is written in Python (`PythonMethod`): it makes a stepper, which leads from place to place.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import ClassVar, Protocol

import numpy as np

from exactik._arrays import is_number
from exactik.errors import UsageError
from exactik.goals import DEFAULT_POSITION_TOLERANCE
from exactik.kernels.descent.options import (
    GRADIENT_TOLERANCE,
    INITIAL_STEP_LENGTH,
    INITIAL_TRUST_RADIUS,
    LAYOUT,
    MAX_ITERATIONS,
    MAX_STEP_ENTRY,
    NEGLIGIBLE_COST,
    OPTIONS_SIZE,
    TRY_DETOUR,
)
from exactik.kernels.descent.state import DAMPING
from exactik.kernels.linear.articulated import JOINT_BLOCKS, MIN_ARTICULATED_DOFS
from exactik.problem import Problem
from exactik.solvers._goal_errors import compute_term_tolerances
from exactik.solvers._view import Iterate, View
from exactik.typing import Array


@dataclass(frozen=True, kw_only=True)
class Method:
    """Options of a solver; it holds no state, so that one object serves any number of problems.

    Attributes:
        max_iterations: accepted steps after which to stop.
        max_seconds: time after which to stop; None for no limit.
        tolerance: stop when the projected gradient, relative as in `Certificate`, is below this.
        small_cost: stop when the cost is below that of the lightest goal missed by √(2 · this) [m],
            which is 1.4e-9 m by default, or as much of its tolerance.
    """

    name: ClassVar[str] = ""
    max_iterations: int = 500
    max_seconds: float | None = None
    tolerance: float = 1e-10
    small_cost: float = 1e-18

    @property
    def takes_detours(self) -> bool:
        """Whether to try once more without limits first where limits stop a descent short."""
        return False

    def __post_init__(self) -> None:
        """Check the options that are numbers or switches; numpy's become Python's."""
        for entry in fields(self):
            value = getattr(self, entry.name)
            if isinstance(value, np.bool_ | np.number):
                value = value.item()
                object.__setattr__(self, entry.name, value)
            if isinstance(entry.default, bool):
                fits, wanted = isinstance(value, bool), "True or False"
            elif is_number(entry.default) or entry.default is None:
                # None and arrays are left alone where they are allowed.
                fits = "None" in str(entry.type) and not isinstance(value, bool | str)
                fits, wanted = value >= 0 if is_number(value) else fits, "a number ≥ 0"
            else:
                continue  # a choice by name, which its method checks
            if not fits:
                raise UsageError(f"{type(self).__name__}({entry.name}={value!r}): must be {wanted}")


class Stepper(Protocol):
    """The memory of one run of a method written in Python.

    Attributes:
        control: damping, radius or length of the last step, for the history.
    """

    control: float

    def step(self, iterate: Iterate) -> Iterate | None:
        """Return the next iterate, or None if no step lowers the cost. Limits must be kept."""
        ...


@dataclass(frozen=True, kw_only=True)
class PythonMethod(Method):
    """A method whose loop is in Python, over compiled evaluations."""

    def stepper(self, view: View) -> Stepper:
        """Return a fresh stepper for one run."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class CompiledMethod(Method):
    """A method that is a rule of `kernels.descent`."""

    def settings(self) -> dict[int, float]:
        """Return the entries of the kernel's options that this method sets."""
        raise NotImplementedError

    @property
    def takes_detours(self) -> bool:
        """Whether to try once more without limits first where limits stop a descent short."""
        return self.settings().get(TRY_DETOUR, 0.0) != 0.0

    def options(self, problem: Problem) -> Array:
        """Return the kernel's options, (OPTIONS_SIZE,)."""
        options = np.zeros(OPTIONS_SIZE)
        options[GRADIENT_TOLERANCE], options[MAX_ITERATIONS] = self.tolerance, self.max_iterations
        options[NEGLIGIBLE_COST] = compute_negligible_cost(problem, self.small_cost)
        options[INITIAL_TRUST_RADIUS] = options[INITIAL_STEP_LENGTH] = 1.0
        options[MAX_STEP_ENTRY] = np.inf
        for index, value in self.settings().items():
            options[index] = value
        skeleton = problem.skeleton
        on_tree = len(skeleton.couplings) == 0  # couplings of dofs have whole rows only
        if problem.compiled and on_tree and skeleton.nv >= MIN_ARTICULATED_DOFS:
            options[LAYOUT] = JOINT_BLOCKS
        return options

    def control(self, state: Array) -> float:
        """Return what the method steers by, for the history."""
        return float(state[DAMPING])


def compute_negligible_cost(problem: Problem, share: float) -> float:
    """Return the cost below which nothing is left to gain.

    What the goal that is easiest to overlook would cost if it were missed by √(2 share) metres, or
    by as much of its tolerance as that is of a millimetre.
    """

    def find_lightest() -> float:
        terms, tolerance = problem.packed.arrays.terms, compute_term_tolerances(problem)
        weight = np.array([np.diag(block).max(initial=0.0) for block in terms.weight])
        worth = (weight * (tolerance / DEFAULT_POSITION_TOLERANCE) ** 2)[weight > 0.0]
        largest_weights = [np.abs(block).max(initial=0.0) for block in problem.packed.weights]
        return float(worth.min()) if len(worth) > 0 else float(max(largest_weights))

    return share * problem.remember("lightest goal", find_lightest)
