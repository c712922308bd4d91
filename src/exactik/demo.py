"""What `exactik demo` shows: the built-in human reaching for goals by plain Newton iteration."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from exactik.goals import AimGoal, Goal, PoseGoal, PositionGoal, PostureGoal, TermGoal
from exactik.kernels.newton import newton
from exactik.kernels.work import new_work
from exactik.model import Skeleton, human
from exactik.problem import Problem

__all__ = ["Reach", "reach", "reach_goals"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Reach:
    """What happened.

    Attributes:
        problem: what was asked.
        q: coordinates at the end, (nq,).
        history: cost, max |gradient| and damping after each pass, (passes + 1, 3).
        seconds: time of all passes, compiled code only.
    """

    problem: Problem
    q: Array
    history: Array
    seconds: float

    @property
    def missed(self) -> list[tuple[str, float, str]]:
        """Each goal on a bone, by how much it is missed, and whether that is "m" or "rad"."""
        r, rows, missed = self.problem.residual(self.q), self.problem.rows, []
        for goal in (goal for goal in self.problem.goals if isinstance(goal, TermGoal)):
            first, rest = r[rows[goal.label]][:3], r[rows[goal.label]][3:]
            unit = "m" if isinstance(goal, PositionGoal | PoseGoal) else "rad"
            missed.append((goal.label, float(np.linalg.norm(first)), unit))
            if isinstance(goal, PoseGoal):
                missed.append((f"{goal.label}, turned", float(np.linalg.norm(rest)), "rad"))
        return missed

    @property
    def errors(self) -> dict[str, float]:
        """The same without units."""
        return {name: error for name, error, _ in self.missed}

    @property
    def reached(self) -> bool:
        """Whether every goal on a bone is within 1 mm or 1 mrad."""
        return all(error <= 1e-3 for error in self.errors.values())


def reach_goals(figure: Skeleton) -> list[Goal]:
    """Return the goals: feet planted, one hand at a cup, one at a high shelf, eyes on the cup."""
    rest = figure.neutral()
    pose = figure.forward(rest)
    goals: list[Goal] = []
    for foot, side in (("l_foot", "left"), ("r_foot", "right")):
        k = figure.bone_index(foot)
        planted = np.eye(4)
        planted[:3, :3], planted[:3, 3] = pose.rotations[k], pose.positions[k]
        goals.append(PoseGoal(foot, planted, name=f"{side} foot planted"))
    cup, shelf = np.array([0.40, -0.25, 1.05]), np.array([0.30, 0.35, 1.65])
    goals.append(PositionGoal("r_hand", cup, name="right hand at the cup"))
    goals.append(PositionGoal("l_hand", shelf, name="left hand at the shelf"))
    goals.append(AimGoal("head", (1.0, 0.0, 0.0), cup, weight=0.2, name="eyes on the cup"))
    trunk = ("pelvis", "lower_back", "upper_back", "thorax")
    weight = [1e-3 if dof.split(".")[0] in trunk else 1e-4 for dof in figure.dof_names]
    goals.append(PostureGoal(rest, weight=weight, name="stay relaxed"))
    return goals


def reach(passes: int = 100, tolerance: float = 1e-10) -> Reach:
    """Solve the demo's problem from the rest pose until max |gradient| ≤ tolerance."""
    figure = human()
    problem = Problem(figure, reach_goals(figure), limits="soft")
    q, work = figure.neutral(), new_work(figure.tree)
    trial, step = np.empty_like(q), np.empty(figure.nv)
    history = np.zeros((passes + 1, 3))
    goals, strength = problem.packed.arrays, problem.strength

    def run(q: Array, count: int) -> int:
        return newton(figure.tree, goals, q, strength, count, tolerance, history, trial, step, work)

    run(q.copy(), 0)  # compile, or load what was compiled before
    start = time.perf_counter()
    made = run(q, passes)
    return Reach(problem, q, history[: made + 1], time.perf_counter() - start)
