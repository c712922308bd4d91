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

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from exactik._arrays import as_floats, freeze, require_shape
from exactik.errors import GoalError
from exactik.model import Skeleton
from exactik.problem import Problem
from exactik.solvers import Method, Result
from exactik.spatial import is_rotation, nearest_rotation
from exactik.typing import Array
from exactik.viewer.posing._compare import compared, judged, stated
from exactik.viewer.posing._editable import EditableFigure
from exactik.viewer.posing._goals import InteractiveGoals
from exactik.viewer.posing._handles import Handle
from exactik.viewer.posing._solver import InteractiveSolver
from exactik.viewer.posing._state import PosingState

__all__ = ["PosingSession", "Update"]


STILL = 2e-5  # [rad or m] an update that changes less than this changes nothing
SETTLED = 3  # such updates, and the figure rests


class Update(NamedTuple):
    """What an update did.

    Attributes:
        q: the pose, (nq,), a copy.
        moved: largest change of a dof [rad or m].
        seconds: spent on it.
        cost: of the goals and of staying near the pose before, ½ rᵀWr.
        resting: whether nothing will change until something is asked for.
        misses: handle that is held or pinned → distance of its point from its target [m].
    """

    q: Array
    moved: float
    seconds: float
    cost: float
    resting: bool
    misses: Mapping[str, float]


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
            q: first pose, (nq,), moved into the limits; the neutral one if None.
            solver: a name of `exactik.solvers()`, or a method with options.
            glide: time constant with which targets are followed [s]; 0 to follow at once.
            budget: longest time of an update of a solver written in Python [s].
        """
        super().__init__(skeleton, q, solver, glide)
        self.budget = float(budget)
        self._drags, self._quiet = 0, SETTLED
        self._before = self._state.q  # where the last drag began, also after its end
        self._let_go: tuple[Array, Problem] | None = None  # pose and goals when a drag ended
        self._live: InteractiveSolver | None = None
        self._at: tuple[Array, Array, Array] | None = None  # pose, and where it has the handles

    @property
    def resting(self) -> bool:
        """Whether nothing will change until something is asked for."""
        return self._quiet >= SETTLED

    # --- dragging

    def begin(self, name: str) -> None:
        """Take hold of a handle: a drag begins, which will be one step of undo."""
        with self._lock:
            self._handle(name)
            if len(self._dragged) == 0:
                self._drags += 1
                self._remember(("drag", self._drags))
                self._start = self._before = self._state.q
            if name not in self._dragged:
                self._dragged.add(name)
                self._place(name)
                self._changed()

    def grab(self, bone: str, place: ArrayLike | None = None, *, name: str = "grab") -> str:
        """Take hold of a bone anywhere; return the name of the handle, gone when released.

        Args:
            bone: its name.
            place: where on it [m, world], (3,); its origin if None.
            name: of the handle; numbered where that is taken.
        """
        with self._lock:
            pose, k = self.pose(), self.skeleton.bone_index(bone)
            at = pose.positions[k] if place is None else require_shape("place", place, 3)
            x, y, z = (pose.rotations[k].T @ (at - pose.positions[k])).tolist()
            unused, count = name, 1
            while unused in self._state.handles:
                count += 1
                unused = f"{name} {count}"
            turn = pose.rotations[k]
            self._put(Handle(unused, bone, (x, y, z), "grab", False, False, 1.0, at, turn))
            self.begin(unused)
            return unused

    def drag(
        self, name: str, position: ArrayLike | None = None, rotation: ArrayLike | None = None
    ) -> None:
        """Move the target of a handle; one that is not held yet is taken hold of.

        A target that is not finite is ignored: a pointer that leaves the scene must not take the
        figure with it.

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
            self._quiet = 0

    def release(self, name: str | None = None) -> None:
        """Let go of a handle, or of all: a pinned one stays where it is now, others are free."""
        with self._lock:
            make_handle_goals = self.problem()
            for one in [name] if name is not None else list(self._dragged):
                if one not in self._dragged:
                    continue
                self._dragged.discard(one)
                if self._handle(one).kind == "grab":
                    others = {k: h for k, h in self._state.handles.items() if k != one}
                    self._state = replace(self._state, handles=others)
                else:
                    self._place(one)
            if len(self._dragged) == 0:
                if make_handle_goals is not None:
                    self._let_go = self._state.q, make_handle_goals
                self._place_all()  # no tension is left: nothing moves by itself
                self._undo.close()
            self._changed()

    def advance(self, seconds: float = 1.0 / 60.0) -> Update:
        """Let time pass: targets glide, the body follows. Where it rests, that costs nothing.

        Args:
            seconds: since the last update.
        """
        with self._lock:
            active = self._active()
            if self.resting or len(active) == 0:
                self._quiet = SETTLED
                return Update(self.q, 0.0, 0.0, 0.0, True, self._misses(active))
            live, q = self._solver(active), self._state.q.copy()
            places, turns = self._places(live, q)
            position, rotation, arrived = self._glide.follow(active, seconds)
            live.goals.aim(position, rotation, places, turns)
            found, cost, spent = live.update(q)
            step = found - q if len(q) == self.skeleton.nv else self.skeleton.difference(found, q)
            moved = float(np.abs(step).max(initial=0.0))
            self._quiet = self._quiet + 1 if moved < STILL and arrived else 0
            self._state = replace(self._state, q=found)
            return Update(found, moved, spent, cost, self.resting, self._misses(active))

    def settle(self, most: int = 600) -> Update:
        """Advance until the figure rests, by at most so many updates of 1/60 s."""
        update = self.advance()
        for _ in range(most - 1):
            if update.resting:
                break
            update = self.advance()
        return update

    # --- judgement

    def problem(self) -> Problem | None:
        """Return what is asked now, at the true targets, as a problem; None if nothing is."""
        with self._lock:
            active = self._active()
            if len(active) == 0:
                return None
            return stated(self.skeleton, self._state, active, self._dragged, self._start)

    def verdict(self) -> Result | None:
        """Return what became of the goals, for a figure that rests; `.why` says it in words.

        After a drag has ended, while nothing else has moved: of its goals.
        """
        problem, q = self._judged(), self.q
        return None if problem is None else judged(problem, q)

    def compare(
        self, names: Iterable[str] | None = None, seconds: float = 1.0
    ) -> dict[str, Result]:
        """Return what each solver makes of the goals from where the drag began, with histories.

        After a drag has ended, while nothing else has moved: of its goals.

        Args:
            names: of solvers; all if None.
            seconds: longest time of each.
        """
        problem = self._judged()
        return {} if problem is None else compared(problem, self._before, names, seconds)

    def _judged(self) -> Problem | None:
        """What is asked; where nothing is held, what was when the last drag ended in this pose."""
        with self._lock:
            if len(self._dragged) == 0 and self._let_go is not None:
                q, problem = self._let_go
                if np.array_equal(q, self._state.q):
                    return problem
            return self.problem()

    # --- inside; the lock is held

    def _active(self) -> list[Handle]:
        """Handles that ask for anything: held or pinned."""
        handles = self._state.handles.values()
        return [handle for handle in handles if handle.pinned or handle.name in self._dragged]

    def _solver(self, active: list[Handle]) -> InteractiveSolver:
        if self._live is None:
            state = self._state
            settings = {"limits": state.limits, "lock": state.locked, "strength": state.strength}
            goals = InteractiveGoals(self.skeleton, active, self._dragged, self._start, **settings)
            self._live = InteractiveSolver(goals, self._methods[state.solver], self.budget)
            self._glide.keep(handle.name for handle in active)
        return self._live

    def _places(self, live: InteractiveSolver, q: Array) -> tuple[Array, Array]:
        if self._at is None or not np.array_equal(self._at[0], q):
            self._at = (q.copy(), *live.places(q))
        return self._at[1:]

    def _misses(self, active: list[Handle]) -> dict[str, float]:
        if len(active) == 0:
            return {}
        places, _ = self._places(self._solver(active), self._state.q.copy())
        away = places - np.array([handle.position for handle in active])
        far = np.sqrt(np.einsum("ij,ij->i", away, away)).tolist()
        return dict(zip((handle.name for handle in active), far, strict=True))

    def _take(self, state: PosingState) -> None:
        super()._take(state)
        self._quiet = SETTLED  # it rested when it was kept: to the last bit what it was

    def _changed(self) -> None:
        self._live, self._at, self._quiet = None, None, 0
