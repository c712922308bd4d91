"""Posing a figure by hand, without a window: handles are dragged, the body follows.

    session = PosingSession(human())
    session.drag("r_hand", (0.4, -0.2, 1.3))     # or a bone: session.grab("r_forearm", place)
    while not session.advance(1 / 60).resting:
        ...                                      # draw session.q
    session.release("r_hand")
    print(session.verdict().why)

All methods may be called from any thread; none of them but `verdict` and `compare` takes longer
than an update.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from exactik._arrays import as_floats, freeze, require_shape
from exactik.errors import GoalError
from exactik.goals import Goal
from exactik.model import Skeleton
from exactik.problem import Problem
from exactik.solvers import METHODS, Auto, Method, Result, solve
from exactik.spatial import is_rotation, nearest_rotation
from exactik.studio.viewer.posing._editable import EditableFigure, PosingState
from exactik.studio.viewer.posing._goals import (
    InteractiveGoals,
    make_comfort_goal,
    make_handle_goals,
)
from exactik.studio.viewer.posing._handles import Handle
from exactik.studio.viewer.posing._relations import (
    make_balance_goal,
    make_body_goal,
    make_join_goals,
)
from exactik.studio.viewer.posing._solver import InteractiveSolver, make_warm_method
from exactik.typing import Array

REST_STEP = 2e-5  # [rad or m] updates that change all dofs by less are still
SEARCH_STARTS = 20  # of a search: a tenth of a second for a human
BETTER_SHARE = 0.9  # of the cost: what is hardly better is no other pose
REST_UPDATES = 3  # successive still updates after which the figure rests


class Update(NamedTuple):
    """Result of an update.

    Attributes:
        q: the pose, (nq,), a copy.
        moved: largest change of a dof [rad or m].
        seconds: spent on it.
        cost: of the goals and of staying near the pose before, ½ rᵀWr.
        resting: whether nothing will change until the next command.
        handle_errors: dragged or pinned handle → distance of its point from its target [m].
    """

    q: Array
    moved: float
    seconds: float
    cost: float
    resting: bool
    handle_errors: Mapping[str, float]


class PosingSession(EditableFigure):
    """A figure that is being posed.

    Attributes:
        skeleton: the figure.
        budget: longest time of an update of a solver written in Python [s].
    """

    def __init__(
        self,
        skeleton: Skeleton,
        q: ArrayLike | None = None,
        *,
        solver: str | Method = "auto",
        glide: float = 0.035,
        budget: float = 0.01,
    ):
        """Begin to pose.

        Args:
            skeleton: the figure.
            q: first pose, (nq,), moved into the limits. If None the neutral one, but for robots:
                their dofs are away from limits, and single arms are bent where they are singular.
            solver: a name of `exactik.list_solvers()`, or a method with options.
            glide: time constant with which targets are followed [s]; 0 to follow at once.
            budget: longest time of an update of a solver written in Python [s].
        """
        super().__init__(skeleton, q, solver, glide)
        self.budget = float(budget)
        self._drag_count, self._still_updates = 0, REST_UPDATES
        self._drag_start = self._state.q  # where the last drag began, also after its end
        # Pose and goals when a drag ended, until something else is done.
        self._released: tuple[Array, Problem] | None = None
        self._solver: InteractiveSolver | None = None
        # Pose, and positions and rotations of the active handles in it.
        self._handle_poses: tuple[Array, Array, Array] | None = None

    @property
    def resting(self) -> bool:
        """Whether nothing will change until the next command."""
        return self._still_updates >= REST_UPDATES

    # --- dragging

    def begin(self, name: str) -> None:
        """Begin to drag a handle; the whole drag is one step of undo."""
        with self._lock:
            self._handle(name)
            if len(self._dragged) == 0:
                self._drag_count += 1
                self._record(("drag", self._drag_count))
                self._rest = self._drag_start = self._state.q
            if name not in self._dragged:
                self._dragged.add(name)
                self._find_support()
                self._reset_targets(name)
                self._on_change()

    def grab(self, bone: str, place: ArrayLike | None = None, *, name: str = "grab") -> str:
        """Begin to drag a bone at any point; return the name of the handle, removed on release.

        Args:
            bone: its name.
            place: where on it [m, world], (3,); its origin if None.
            name: of the handle; numbered where that is taken.
        """
        with self._lock:
            pose, k = self.pose(), self.skeleton.bone_index(bone)
            position = pose.positions[k] if place is None else require_shape("place", place, 3)
            x, y, z = (pose.rotations[k].T @ (position - pose.positions[k])).tolist()
            unused, count = name, 1
            while unused in self._state.handles:
                count += 1
                unused = f"{name} {count}"
            handle = Handle(
                name=unused,
                bone=bone,
                point=(x, y, z),
                kind="grab",
                pinned=False,
                oriented=False,
                weight=1.0,
                position=position,
                rotation=pose.rotations[k],
            )
            self._put(handle)
            self.begin(unused)
            return unused

    def drag(
        self, name: str, position: ArrayLike | None = None, rotation: ArrayLike | None = None
    ) -> None:
        """Move the target of a handle; its drag begins if it has not yet.

        A target that is not finite is ignored: browsers send one when the pointer leaves the scene.

        Args:
            name: of the handle.
            position: where its point should be [m, world], (3,).
            rotation: R_world_bone, (3, 3); counts if the handle is `oriented`.
        """
        with self._lock:
            self.begin(name)
            handle = self._handle(name)
            if position is not None and np.isfinite(as_floats("position", position)).all():
                place = require_shape("position", position, 3).copy()
                handle = replace(handle, position=freeze(place))
            if rotation is not None and np.isfinite(as_floats("rotation", rotation)).all():
                matrix = require_shape("rotation", rotation, 3, 3)
                if not is_rotation(matrix):
                    raise GoalError("rotation is no rotation matrix (orthonormal, determinant +1)")
                handle = replace(handle, rotation=freeze(nearest_rotation(matrix).copy()))
            self._put(handle)
            self._still_updates = 0

    def release(self, name: str | None = None) -> None:
        """End the drag of a handle, or of all: a pinned one stays where it is, others are free."""
        with self._lock:
            problem = self.problem()
            for released in [name] if name is not None else list(self._dragged):
                if released not in self._dragged:
                    continue
                self._dragged.discard(released)
                if self._handle(released).kind == "grab":
                    others = {k: h for k, h in self._state.handles.items() if k != released}
                    self._state = replace(self._state, handles=others)
                else:
                    self._reset_targets(released)
            if len(self._dragged) == 0:
                if problem is not None:
                    self._released = self._state.q, problem
                self._reset_all_targets()  # so that nothing moves by itself
                self._history.end_step()
            self._on_change()
            if len(self._dragged) == 0:
                self._still_updates = REST_UPDATES  # what was let go stays

    def advance(self, seconds: float = 1.0 / 60.0) -> Update:
        """Advance by one update: targets glide, the body follows. At rest this costs nothing.

        Args:
            seconds: since the last update.
        """
        with self._lock:
            active = self._get_active_handles()
            if self.resting or len(active) == 0:
                self._still_updates = REST_UPDATES
                return Update(
                    q=self.q,
                    moved=0.0,
                    seconds=0.0,
                    cost=0.0,
                    resting=True,
                    handle_errors=self._compute_handle_errors(active),
                )
            solver, q = self._get_solver(active), self._state.q.copy()
            handle_positions, handle_rotations = self._get_handle_poses(solver, q)
            position, rotation, arrived = self._target_filter.advance(active, seconds)
            targets = solver.goals.choose_targets(
                position, rotation, handle_positions, handle_rotations
            )
            next_q, cost, spent = solver.update(q, targets)
            plain = len(q) == self.skeleton.nv
            step = next_q - q if plain else self.skeleton.difference(next_q, q)
            moved = float(np.abs(step).max(initial=0.0))
            self._still_updates = self._still_updates + 1 if moved < REST_STEP and arrived else 0
            self._state = replace(self._state, q=next_q)
            return Update(
                q=next_q,
                moved=moved,
                seconds=spent,
                cost=cost,
                resting=self.resting,
                handle_errors=self._compute_handle_errors(active),
            )

    def settle(self, most: int = 600) -> Update:
        """Advance until the figure rests, by at most so many updates of 1/60 s."""
        update = self.advance()
        for _ in range(most - 1):
            if update.resting:
                break
            update = self.advance()
        return update

    # --- verdict

    def problem(self) -> Problem | None:
        """Return the goals at their true targets, without damping; None if there are none."""
        with self._lock:
            active = self._get_active_handles()
            if len(active) == 0:
                return None
            goals = make_handle_goals(self.skeleton, active, self._dragged)
            return Problem(
                self.skeleton,
                [*goals, *self._make_relations(), make_comfort_goal(self.skeleton, self._rest)],
                limits="hard" if self._state.limits else "off",
                lock=self._state.locked,
                strength=self._state.strength,
            )

    def verdict(self) -> Result | None:
        """Return how well a resting figure meets the goals; `.why` says it in words.

        After a drag has ended, while nothing else has moved: of its goals.
        """
        last = self._get_last_problem()
        if last is None:
            return None
        q, problem = last
        # No other pose is searched for: the verdict is about the one that is shown.
        method = Auto(metric="dof", detour=False, escape=False)
        return solve(problem, q0=q, solver=method)

    def search(self) -> bool:
        """Take a better pose elsewhere for the goals of `verdict`, if there is one; return that."""
        last = self._get_last_problem()
        if last is None:
            return False
        q, problem = last
        found = solve(problem, q0=q, solver=Auto(metric="dof"), starts=SEARCH_STARTS)
        if found.cost > BETTER_SHARE * problem.cost(q):
            return False
        with self._lock:
            self._take("search", found.q)
            self._history.end_step()
            self._released = self._state.q, problem
        return True

    def compare(
        self, names: Iterable[str] | None = None, seconds: float = 1.0
    ) -> dict[str, Result]:
        """Return the result of each solver from where the drag began, with histories.

        That is near to where it ends, so `auto` begins with as little damping as in updates.

        After a drag has ended, while nothing else has moved: of its goals.

        Args:
            names: of solvers; all if None.
            seconds: longest time of each.
        """
        last, start = self._get_last_problem(), self._drag_start
        if last is None:
            return {}
        (_, problem), results = last, {}
        for name in METHODS if names is None else names:
            method = make_warm_method(name)
            compiling = replace(method, max_iterations=1)  # its time does not count
            solve(problem, q0=start, solver=compiling, history=True)
            timed = replace(method, max_seconds=seconds)
            results[name] = solve(problem, q0=start, solver=timed, history=True)
        return results

    def _get_last_problem(self) -> tuple[Array, Problem] | None:
        """Return pose and goals; those of the last drag until something else is done."""
        with self._lock:
            if len(self._dragged) == 0 and self._released is not None:
                return self._released
            problem = self.problem()
            return None if problem is None else (self._state.q, problem)

    # --- private; the lock is held

    def _get_active_handles(self) -> list[Handle]:
        """Return the handles that have goals: dragged or pinned."""
        handles = self._state.handles.values()
        return [handle for handle in handles if handle.pinned or handle.name in self._dragged]

    def _make_relations(self) -> list[Goal]:
        """Return the goals of joined handles and of balance."""
        state = self._state
        goals = make_join_goals(self.skeleton, state.joins, state.handles)
        if self._support is not None:
            goals.append(make_balance_goal(self._support))
        if state.apart:
            goals.append(make_body_goal(self.skeleton))
        return goals

    def _get_solver(self, active: list[Handle]) -> InteractiveSolver:
        if self._solver is None:
            state = self._state
            goals = InteractiveGoals(
                self.skeleton,
                active,
                self._dragged,
                self._rest,
                limits=state.limits,
                lock=state.locked,
                strength=state.strength,
                others=self._make_relations(),
            )
            self._solver = InteractiveSolver(goals, self._methods[state.solver], self.budget)
            self._target_filter.keep_only(handle.name for handle in active)
        return self._solver

    def _get_handle_poses(self, solver: InteractiveSolver, q: Array) -> tuple[Array, Array]:
        if self._handle_poses is None or not np.array_equal(self._handle_poses[0], q):
            self._handle_poses = (q.copy(), *solver.compute_handle_poses(q))
        return self._handle_poses[1:]

    def _compute_handle_errors(self, active: list[Handle]) -> dict[str, float]:
        if len(active) == 0:
            return {}
        positions, _ = self._get_handle_poses(self._get_solver(active), self._state.q.copy())
        error = positions - np.array([handle.position for handle in active])
        distances = np.sqrt(np.einsum("ij,ij->i", error, error)).tolist()
        return dict(zip((handle.name for handle in active), distances, strict=True))

    def _record(self, key: Hashable = None) -> None:
        self._released = None
        super()._record(key)

    def _restore(self, state: PosingState) -> None:
        self._released = None
        super()._restore(state)
        self._still_updates = REST_UPDATES  # it rested when it was recorded: keep it to the bit

    def _on_change(self) -> None:
        self._solver, self._handle_poses, self._still_updates = None, None, 0
