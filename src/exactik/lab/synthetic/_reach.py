"""`exactik demo --reach`: the built-in human reaches for goals, with the solver's verdict."""

from __future__ import annotations

import numpy as np

from exactik.goals import AimGoal, Goal, PoseGoal, PositionGoal, PostureGoal
from exactik.model import Skeleton, human
from exactik.problem import Problem
from exactik.solvers import Result, solve


def make_reach_goals(figure: Skeleton) -> list[Goal]:
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


def solve_reach() -> Result:
    """Solve the demo's problem from the rest pose; with a history."""
    figure = human()
    problem = Problem(figure, make_reach_goals(figure))
    solve(problem, history=True)  # compile, or load what was compiled before
    return solve(problem, history=True)
