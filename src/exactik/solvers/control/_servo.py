"""Control loops: the same solve inside what limits, speeds and accelerations leave of one step."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from exactik._arrays import freeze, is_number
from exactik._text import join_names
from exactik.errors import UsageError
from exactik.kernels.calculus.workspace import Goals
from exactik.kernels.descent.results import RESULT_COST, RESULT_REACHED, RESULT_SIZE
from exactik.kernels.descent.speed_limits import SpeedLimits, bound_step, end_step
from exactik.kernels.goals.terms import BOX, DISTANCE, LEVEL, SEGMENTS
from exactik.problem import Problem, compute_dof_bounds
from exactik.solvers._certificate import measure_levers
from exactik.solvers._compiled_solve import CompiledSolve, can_solve_compiled
from exactik.solvers._goal_errors import compute_goal_errors
from exactik.solvers._method import CompiledMethod, Method
from exactik.solvers._registry import resolve_method
from exactik.solvers.loops import ClosingSteps, make_exact
from exactik.solvers.methods import Auto
from exactik.solvers.starts import require_start
from exactik.typing import Array, BoolArray

STEP_METHOD = Auto(initial_damping=1e-3, tolerance=1e-7)
"""Of steps, which end near where they start: with the damping and tolerance of `Auto` itself they
take 1.2 to 1.5 times as long, and no column of benchmarks/servo.py changes."""
DAMPING = 1e-4  # ten times more or less changes no column of benchmarks/servo.py by 3 %
RECENTRING_TIME = 1.0  # s: while goals are missed, a step costs least that leads this way
AT_BOUND = 1e-9  # share of its largest step within which a dof moves as fast as it may
MAX_NAMES = 3  # in a sentence


class Servo:
    """A figure that follows targets step by step, no joint faster than it may be.

        servo = ik.Servo(problem, dt=0.002)     # speeds of the robot's file
        while True:
            q = servo.step({"tool": T})

    Each step solves the problem, with exact curvature, among the poses that the figure can be in
    after dt: inside its limits, and within speed and acceleration of where it is. There always is
    one, and from where an acceleration is bounded it can brake before its limits. Near singular
    poses a step is that of any other: it ends where the goals are met best, and of two ways out of
    one it takes that to the middle of the limits. Closed loops stay closed; one that cannot, since
    the figure starts with it open or brakes, closes as soon as speeds and accelerations let it.

    A `Servo` is for one thread. Nothing of size is allocated in a step.

    Attributes:
        problem: with the targets of the last step.
        dt: duration of a step [s].
        max_speed: of each dof [rad/s or m/s], (nv,).
        max_acceleration: of each dof [rad/s² or m/s²], (nv,); infinite where not bounded.
    """

    def __init__(
        self,
        problem: Problem,
        dt: float,
        *,
        q0: ArrayLike | None = None,
        max_speed: float | ArrayLike | Mapping[str, float] | None = None,
        max_acceleration: float | ArrayLike | Mapping[str, float] | None = None,
        damping: float = DAMPING,
        solver: str | Method = "auto",
    ):
        """Prepare, at rest.

        Args:
            problem: what is asked, without goals in Python.
            dt: duration of a step [s].
            q0: where the figure is, (nq,), perhaps outside its limits; the neutral pose if None.
            max_speed: one for all dofs, one for each (nv,), or name or pattern → speed [rad/s or
                m/s]; `Skeleton.max_speed` if None, and where a mapping says nothing.
            max_acceleration: likewise [rad/s² or m/s²]; not bounded if None. Joints with a
                quaternion cannot have one.
            damping: what a step costs, ½ damping·weight·lever² a squared radian, with the largest
                weight of a goal, but for bounds, and the longest lever [m] on one. It keeps a step
                from going far for next to nothing; where the figure comes to rest it costs nothing.
            solver: a compiled method; its `max_iterations` bounds the time of a step. "auto" is
                damped less at first than that of `solve`, and ends at 1e-7.
        """
        if not isinstance(problem, Problem):
            raise UsageError(f"a Servo needs a Problem, not {type(problem).__name__}")
        if not is_number(dt) or not 0.0 < dt < np.inf:
            raise UsageError(f"dt is {dt!r}; expected the duration of a step in seconds")
        skeleton, solved = problem.skeleton, problem
        method = STEP_METHOD if solver == "auto" else resolve_method(solver)
        self._closing = None
        if len(skeleton.loops) > 0:
            self._closing, method = ClosingSteps(problem), make_exact(method)
            solved = self._closing.problem
        if not isinstance(method, CompiledMethod) or not can_solve_compiled(solved, method):
            raise UsageError(
                f"solver {method.name!r} cannot solve this problem in compiled code alone "
                "(methods and goals in Python, coupling weights and time limits cannot)"
            )
        self.problem, self.dt = problem, float(dt)
        known = skeleton.max_speed
        given = known if max_speed is None else max_speed
        self.max_speed = freeze(compute_dof_bounds(skeleton, "max_speed", given, known))
        if not np.isfinite(self.max_speed[~problem.locked]).any():
            raise UsageError(f"no speed of {skeleton.name!r} is known; give max_speed=")
        none = np.full(skeleton.nv, np.inf)
        given = none if max_acceleration is None else max_acceleration
        bounds = compute_dof_bounds(skeleton, "max_acceleration", given, none)
        bounds[skeleton.plain_q < 0] = np.inf
        self.max_acceleration = freeze(bounds)
        box = problem.box
        own = {name: getattr(box, name).copy() for name in ("lower", "upper", "free")}
        self._box = box._replace(**own)
        if not is_number(damping) or not 0.0 <= damping < np.inf:
            raise UsageError(f"damping is {damping!r}; expected a number ≥ 0")
        lever, pull = measure_levers(problem)[0], _find_pull(problem)
        self._step_cost = damping * pull * np.where(skeleton.turns, lever**2, 1.0)
        self._step_cost *= box.inverse_square_strength
        self._recentring = min(self.dt / RECENTRING_TIME, 1.0)
        self._middle = _find_middle(problem)
        self._rest, self._goals = _add_rest(solved.packed.copy_arrays(), self._step_cost)
        self._solve = CompiledSolve(
            solved, method, 1, 0, box=self._box, goals=self._goals, detour=False
        )
        self._results = np.zeros((1, RESULT_SIZE))
        self._term_errors = np.zeros((1, self._solve.term_count))
        self._scratch = np.zeros(skeleton.nq)
        self._limits = SpeedLimits(
            lower=problem.lower,
            upper=problem.upper,
            max_step=self.max_speed * self.dt,
            max_change=self.max_acceleration * self.dt**2,
            q=np.zeros(skeleton.nq),
            step=np.zeros(skeleton.nv),
        )
        self.reset(q0)

    def reset(self, q0: ArrayLike | None = None) -> None:
        """Put the figure somewhere, (nq,), at rest."""
        self._limits.q[:] = require_start(self.problem, q0)
        self._limits.step[:] = 0.0
        self._results[:] = 0.0
        if self._closing is not None:
            self._closing.forget()

    def step(self, targets: Mapping[str, ArrayLike] | None = None) -> Array:
        """Return the pose after dt, (nq,), the caller's own.

        Args:
            targets: new ones, as for `Problem.with_targets`; goals that it does not name keep
                theirs.
        """
        if targets is not None:
            self.problem = self.problem.with_targets(targets)
            if self._closing is not None:
                self._closing.retarget(self.problem)
        limits, box, tree = self._limits, self._box, self.problem.skeleton.tree
        bound_step(box.coordinate, limits, box.lower, box.upper)
        q = limits.q.copy()
        self._rest[-1] = q
        if not self.reached:
            self._rest[-1] += self._recentring * np.nan_to_num(self._middle - q)
        here, closing, results = limits.q.copy(), self._closing, (self._results, self._term_errors)
        if closing is None:
            self._solve.run(self.problem, q[None], *results)
        else:
            closing.run(self._solve, self._goals, q[None], *results)
        shortened = end_step(tree, box.coordinate, limits, q, self._scratch)
        if shortened and closing is not None:
            # Loops close again by what has bounds; turns of quaternions are as fast as they may be.
            free = box.free.copy()
            for each in (box.free, self._goals.free):
                each[box.coordinate < 0] = 0.0
            closing.run(self._solve, self._goals, q[None], *results)
            for each in (box.free, self._goals.free):
                each[:] = free
            limits.q[:] = here
            end_step(tree, box.coordinate, limits, q, self._scratch)
        if shortened or closing is not None:
            errors = compute_goal_errors(self.problem, q)
            tolerances = [part.tolerance for part in self.problem.packed.error_parts]
            self._results[0, RESULT_COST] = self.problem.cost(q) + self._cost_of_step()
            self._results[0, RESULT_REACHED] = float((errors <= tolerances).all())
        if closing is not None:
            self._results[0, RESULT_REACHED] *= closing.why == ""
        return q

    @property
    def q(self) -> Array:
        """Where the figure is, (nq,), a copy."""
        return self._limits.q.copy()

    @property
    def speed(self) -> Array:
        """How fast its dofs moved in the last step [rad/s or m/s], (nv,)."""
        return self._limits.step / self.dt

    @property
    def cost(self) -> float:
        """½ rᵀWr after the last step."""
        return max(float(self._results[0, RESULT_COST]) - self._cost_of_step(), 0.0)

    @property
    def reached(self) -> bool:
        """Whether the last step ended with every goal within its tolerance."""
        return bool(self._results[0, RESULT_REACHED] != 0.0)

    @property
    def gaps(self) -> dict[str, float]:
        """Name of each closed loop → by how much the last step left it open [m]."""
        return {} if self._closing is None else dict(self._closing.gaps)

    @property
    def at_max_speed(self) -> tuple[str, ...]:
        """Dofs that moved as fast as they may in the last step."""
        bound = self._limits.max_step * (1.0 - AT_BOUND)
        return self._name(np.abs(self._limits.step) >= bound)

    @property
    def outside(self) -> dict[str, float]:
        """Dofs that are outside their limits → by how much [rad or m]; they are coming back."""
        value, index = self._limits.q, self.problem.box.coordinate
        value = np.where(index >= 0, value[index], 0.0)
        beyond = np.maximum(self.problem.lower - value, value - self.problem.upper)
        beyond[index < 0] = 0.0
        return {name: float(beyond[self._dof(name)]) for name in self._name(beyond > 0.0)}

    @property
    def why(self) -> str:
        """What the last step came to, one sentence."""
        parts = self.problem.packed.error_parts
        if len(self.outside) > 0:
            names = join_names(list(self.outside), MAX_NAMES, last=", ", rest=" and {} more")
            return f"coming back inside the limits of {names}"
        if self._closing is not None and self._closing.why != "":
            return self._closing.why
        if self.reached:
            return "reached: every goal is within its tolerance"
        errors = compute_goal_errors(self.problem, self.q)
        worst = int(np.argmax([e / p.tolerance for e, p in zip(errors, parts, strict=True)]))
        missed = f"{parts[worst].name} is {parts[worst].describe(errors[worst])} away"
        fast = self.at_max_speed
        if len(fast) == 0:
            return f"{missed}, and nothing moves at its full speed"
        names = join_names(list(fast), MAX_NAMES, last=", ", rest=" and {} more")
        return f"on the way: {missed}, {names} at full speed"

    def _cost_of_step(self) -> float:
        moved = self.problem.skeleton.difference(self._limits.q, self._rest[-1])
        return 0.5 * float(self._step_cost @ moved**2)

    def _name(self, which: BoolArray) -> tuple[str, ...]:
        return tuple(self.problem.skeleton.dof_names[i] for i in np.flatnonzero(which))

    def _dof(self, name: str) -> int:
        return self.problem.skeleton.dof_names.index(name)


def _add_rest(goals: Goals, weight: Array) -> tuple[Array, Goals]:
    """Return goals with one more pose to be near, by weights (nv,); and where that is written."""
    rest = goals.coordinates
    poses = np.concatenate([rest.rest, np.zeros((1, rest.rest.shape[1]))])
    rest = rest._replace(
        rest=poses,
        rest_weight=np.concatenate([rest.rest_weight, weight[None]]),
        rest_row=np.append(rest.rest_row, np.uint32(0)),
    )
    # What loops change: lengths, and which dofs are free.
    terms = goals.terms._replace(axis=goals.terms.axis.copy())
    return poses, goals._replace(coordinates=rest, terms=terms, free=goals.free.copy())


def _find_pull(problem: Problem) -> float:
    """Return the largest weight of a goal that is not a bound: these are firm, and seldom pull."""
    terms = problem.packed.arrays.terms
    one_sided = (terms.kind == DISTANCE) & (terms.axis[:, 1] != 0.0)
    bounds = np.isin(terms.kind, (LEVEL, SEGMENTS, BOX)) | one_sided
    if bounds.all():
        return measure_levers(problem)[1]
    return float(np.abs(terms.weight[~bounds]).max())


def _find_middle(problem: Problem) -> Array:
    """Return coordinates midway between limits, (nq,); NaN where there are none."""
    middle = np.full(problem.skeleton.nq, np.nan)
    ranged = (problem.box.coordinate >= 0) & np.isfinite(problem.lower) & np.isfinite(problem.upper)
    between = 0.5 * (problem.lower[ranged] + problem.upper[ranged])
    middle[problem.box.coordinate[ranged]] = between
    return middle
