"""Blender without a window: the arm as an armature, an IK constraint with rotation on the tool.

A bone for every joint (`papers/src/exactik_papers/armature.py`), posed at the start, evaluated by
the dependency graph and read back, all of which is in the time. "Standard" is Blender's solver with
its defaults; "iTaSC" is its other one, damped by SDLS, 500 steps to a precision of 1e-4. The
simulation of iTaSC does not start where it is told to and was left out.
"""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

from benchmarks.peers.protocol import Arm, Array, Attempts, is_reached
from benchmarks.peers.tree import Tree

TITLE, PACKAGE = "Blender", "bpy"
REQUIREMENTS = ("bpy==5.0.*",)
ARMATURE = Path(__file__).parents[3] / "papers" / "src" / "exactik_papers" / "armature.py"


def make_armature(task: Arm, solver: str) -> tuple[Any, Tree]:
    """Return the armature of an arm, and the same arm in numpy."""
    tree = Tree(task.urdf, task.joints, [task.tool])
    assert not tree.slides.any()
    armature = runpy.run_path(str(ARMATURE))["Armature"]
    parts = tree.parent, tree.constant, task.limits, tree.carrier, tree.place
    return armature(*parts, turned=True, solver=solver), tree


class _Arm(Attempts):
    def __init__(self, task: Arm, solver: str) -> None:
        self.task, self.solver = task, solver
        self.armature: Any = None

    def attempt(self, target: Array, start: Array) -> tuple[Array, bool]:
        if self.armature is None:  # a scene holds one; the rows come one after the other
            self.armature, self.tree = make_armature(self.task, self.solver)
        q = self.armature.solve(target[None], start)
        return q, is_reached(self.tree.poses(q)[0], target, self.task.tolerance)


def arms(task: Arm) -> dict[str, _Arm]:
    return {"standard": _Arm(task, "LEGACY"), "iTaSC": _Arm(task, "ITASC")}
